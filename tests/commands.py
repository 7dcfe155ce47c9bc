"""Commands in a process of their own, started by one that has imported everything already.

    python commands.py SOCKET                  waits for knocks, until its input ends
    python -IS commands.py SOCKET ARGUMENT…    knocks: its streams, folder and environment are those of what it stands for

The process has the streams, the environment and the folder it is given, as if a shell had started it. Whoever knocks ends as
the process ends, and the process is killed with it; signals are passed on. What depends on how Python itself starts or ends
is not tried this way: on encodings by locale, on output that cannot be written.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence
    from typing import Any

# What the commands and the servers of the tests import when they run. The examples are not among it: their catalogues would
# be known to everybody.
BEFOREHAND = (
    "failwell.cli", "failwell.server", "failwell.client", "failwell.manifest", "failwell.relay",
    "failwell.testing.fork_server", "failwell.testing.service",
    "mcp", "mcp.server", "mcp.client.stdio", "mcp.client.streamable_http", "mcp.server.mcpserver", "mcp.server.stdio",
    "mcp.server.lowlevel", "mcp.server.streamable_http_manager", "pydantic", "fastmcp", "fastmcp.server.middleware",
    "fastmcp.tools", "anyio._backends._asyncio", "sqlite3", "uvicorn", "uvicorn.lifespan.on", "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto", "starlette.applications",
)  # fmt: skip


STARTING = ("PYTHONUTF8", "PYTHONCOERCECLOCALE", "LC_ALL", "LANG")
COMMAND = os.path.join(os.path.dirname(sys.executable), "failwell")
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def python(*arguments: object) -> list[str]:
    """A command that does what `python ARGUMENT…` does, sooner: a file, `-c` or `-m`, and what it is given."""
    return [sys.executable, "-IS", __file__, _door(), *(str(each) for each in arguments)]


def failwell(*arguments: object) -> list[str]:
    """The same for `failwell ARGUMENT…`."""
    return python("failwell", *arguments)


def in_parts(command: list[str]) -> dict[str, Any]:
    """A command as `StdioServerParameters` and the likes of it take it."""
    return {"command": command[0], "args": command[1:]}


class Started:
    """What runs on the given streams."""

    def __init__(
        self,
        arguments: Sequence[object],
        stdin: int,
        stdout: int,
        stderr: int,
        environment: Mapping[str, str],
        door: str = "",
    ) -> None:
        asked = {
            "arguments": [str(each) for each in arguments],
            "environment": dict(environment),
            "folder": os.getcwd(),
        }
        told = json.dumps(asked).encode()
        self._line = socket.socket(socket.AF_UNIX)
        self._line.connect(door or _door())
        socket.send_fds(self._line, [len(told).to_bytes(4, "big")], [stdin, stdout, stderr])
        self._line.sendall(told)

    def signal(self, number: int) -> None:
        self._line.sendall(bytes([number]))

    def wait(self) -> int:
        """How it ended: its code, or the signal below 0."""
        with self._line:
            return int(self._line.recv(16) or -signal.SIGKILL)


def _knock(door: str, arguments: list[str]) -> None:
    started = Started(arguments, 0, 1, 2, os.environ, door)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: started.signal(number))
    # Its own copies would keep the pipes open after the process has closed them.
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    code = started.wait()
    if code < 0:
        if -code in PASSED_ON:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def run(
    *arguments: object, source: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, with what it printed. What Python reads from the environment when it starts is for `really`."""
    given = os.environ if environment is None else environment
    if any(given.get(name) != os.environ.get(name) for name in STARTING):
        return really(*arguments, source=source, environment=given)
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(source)
        stdin.seek(0)
        streams = [each.fileno() for each in (stdin, stdout, stderr)]
        code = Started(["failwell", *arguments], *streams, given).wait()
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess([str(each) for each in arguments], code, stdout.read(), stderr.read())


def really(
    *arguments: object, source: bytes = b"", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The command as it is installed, by a Python that has just been started."""
    import subprocess

    command = [COMMAND, *(str(each) for each in arguments)]
    return subprocess.run(command, input=source, capture_output=True, env=environment, check=False, timeout=300)


_known: list[str] = []


def _door() -> str:
    if not _known:
        import atexit
        import subprocess
        import tempfile

        folder = tempfile.TemporaryDirectory()
        door = os.path.join(folder.name, "door")
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
    import gc
    import importlib
    import select

    for name in BEFOREHAND:
        importlib.import_module(name)
    # What is never looked at again is not copied by those who are born here.
    gc.collect()
    gc.freeze()
    # Nobody asks what became of those who attend.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(door)
    listening.listen(64)
    print("ready", flush=True)
    while True:
        readable, _, _ = select.select([listening, 0], [], [])
        if 0 in readable:
            # Whoever started this has ended.
            os._exit(0)
        line, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _attend(line)
            os._exit(0)
        line.close()


def _attend(line: socket.socket) -> None:
    """One process for one knock."""
    import threading

    size, streams, _, _ = socket.recv_fds(line, 4, 3)
    length, told = int.from_bytes(size, "big"), b""
    while len(told) < length:
        told += line.recv(length - len(told))
    child = os.fork()
    if child == 0:
        line.close()
        # With whatever it starts, so that all of it can be ended.
        os.setsid()
        os._exit(_command(streams, **json.loads(told)))
    for each in streams:
        os.close(each)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)

    def ended() -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        try:
            line.sendall(str(code).encode())
        finally:
            os._exit(0)

    waiting = threading.Thread(target=ended)
    waiting.start()
    try:
        while number := line.recv(1):
            os.kill(child, number[0])
    except OSError:
        pass
    os.killpg(child, signal.SIGKILL)
    waiting.join()


def _command(streams: list[int], arguments: list[str], environment: dict[str, str], folder: str) -> int:
    import io
    import traceback

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    # As it stands before anything was imported: the folder of the program comes first.
    sys.path[:1] = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    encoding, _, errors = environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    how: dict[str, Any] = {"encoding": encoding or "utf-8", "errors": errors or "strict"}
    unbuffered = bool(environment.get("PYTHONUNBUFFERED"))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0)), **how)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w")), line_buffering=os.isatty(1), write_through=unbuffered, **how
    )
    loud = {**how, "errors": "backslashreplace"}
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w")), line_buffering=True, **loud)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    try:
        code: Any = _program(arguments)
    except SystemExit as exc:
        code = exc.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    import atexit
    import threading

    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.main_thread():
            thread.join()
    atexit._run_exitfuncs()
    for each in (sys.stdout, sys.stderr):
        each.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


def _program(arguments: list[str]) -> Any:
    """What Python would run."""
    import runpy

    first, *rest = arguments
    if first == "failwell":
        sys.argv = arguments
        from failwell.cli import main

        return main()
    sys.argv = ["-c", *rest[1:]] if first == "-c" else rest if first == "-m" else arguments
    sys.path.insert(
        0, "" if first == "-c" else os.getcwd() if first == "-m" else os.path.dirname(os.path.abspath(first))
    )
    if first == "-c":
        import types

        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), module.__dict__)
    elif first == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(first, run_name="__main__")
    return None


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _knock(sys.argv[1], sys.argv[2:])
    _serve(sys.argv[1])
