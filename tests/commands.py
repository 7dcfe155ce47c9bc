"""The `failwell` command in a process of its own, started by one that has imported everything already.

The process has the streams, the environment and the folder it is given, as if a shell had started it. What depends on how
Python itself starts or ends is not tried this way: on encodings by locale, on output that cannot be written.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# What the commands import when they run. The examples are not among it: their catalogues would be known to everybody.
BEFOREHAND = (
    "failwell.cli", "failwell.server", "failwell.client", "failwell.manifest",
    "mcp", "mcp.server", "mcp.client.stdio", "mcp.client.streamable_http", "mcp.server.mcpserver", "pydantic", "fastmcp",
)  # fmt: skip


STARTING = ("PYTHONUTF8", "PYTHONCOERCECLOCALE", "LC_ALL", "LANG")
COMMAND = Path(sys.executable).with_name("failwell")


class Started:
    """A command that runs on the given streams."""

    def __init__(
        self, arguments: Sequence[object], stdin: int, stdout: int, stderr: int, environment: Mapping[str, str]
    ) -> None:
        asked = {
            "arguments": [str(each) for each in arguments],
            "environment": dict(environment),
            "folder": os.getcwd(),
        }
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(_door())
        socket.send_fds(self._line, [b"\n"], [stdin, stdout, stderr])
        self._line.sendall(json.dumps(asked).encode())
        self._line.shutdown(socket.SHUT_WR)

    def wait(self) -> int:
        with self._line, self._line.makefile("rb") as answer:
            return int(answer.read() or -1)


def run(
    *arguments: object, source: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, with what it printed. What Python reads from the environment when it starts is for `really`."""
    given = os.environ if environment is None else environment
    if any(given.get(name) != os.environ.get(name) for name in STARTING):
        return really(*arguments, source=source, environment=given)
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(source)
        stdin.seek(0)
        streams = [each.fileno() for each in (stdin, stdout, stderr)]
        code = Started(arguments, *streams, given).wait()
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess([str(each) for each in arguments], code, stdout.read(), stderr.read())


def really(
    *arguments: object, source: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The command as it is installed, by a Python that has just been started."""
    command = [str(COMMAND), *(str(each) for each in arguments)]
    return subprocess.run(command, input=source, capture_output=True, env=environment, check=False, timeout=300)


_known: list[str] = []


def _door() -> str:
    if not _known:
        folder = tempfile.TemporaryDirectory()
        door = str(Path(folder.name) / "door")
        parent = subprocess.Popen([sys.executable, __file__, door], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"

        def end() -> None:
            parent.communicate()
            folder.cleanup()

        atexit.register(end)
        _known.append(door)
    return _known[0]


def _serve(door: str) -> None:
    for name in BEFOREHAND:
        importlib.import_module(name)
    # Nobody asks what became of them: they say it themselves.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(door)
    listening.listen()
    print("ready", flush=True)
    import select

    while True:
        readable, _, _ = select.select([listening, 0], [], [])
        if 0 in readable:
            # Whoever started this has ended.
            os._exit(0)
        line, _ = listening.accept()
        _, streams, _, _ = socket.recv_fds(line, 1, 3)
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            with line.makefile("rb") as asked:
                request = json.loads(asked.read())
            code = _command(streams, **request)
            line.sendall(str(code).encode())
            os._exit(0)
        line.close()
        for each in streams:
            os.close(each)


def _command(streams: list[int], arguments: list[str], environment: dict[str, str], folder: str) -> int:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[1:1] = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    encoding, _, errors = environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    how: dict[str, Any] = {"encoding": encoding or "utf-8", "errors": errors or "strict"}
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), **how)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w")), line_buffering=os.isatty(1), **how)
    loud = {**how, "errors": "backslashreplace"}
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), line_buffering=True, **loud)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.argv = ["failwell", *arguments]
    from failwell.cli import main

    try:
        code: Any = main()
    except SystemExit as exc:
        code = exc.code
    except BaseException:
        traceback.print_exc()
        code = 1
    for each in (sys.stdout, sys.stderr):
        each.flush()
    for number in range(3):
        os.close(number)
    return code if isinstance(code, int) else 0 if code is None else 1


if __name__ == "__main__":
    _serve(sys.argv[1])
