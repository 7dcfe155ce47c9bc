"""Starts servers of the twins in a blink: a process that has imported everything forks one for whoever knocks.

    python nursery.py SOCKET            waits for knocks, until its input ends
    python -I nursery.py SOCKET ARG…    knocks: its pipes, folder and environment are those of the server it stands for

The one who knocks ends as the server ends, and the server is killed with it, so that a checker sees an ordinary process.
"""

import importlib
import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

_IMPORTED = (
    "anyio._backends._asyncio",
    "fastmcp.server.middleware",
    "fastmcp.tools",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
    "others",
    "twins",
)


def knock(door: str, arguments: list[str]) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(door)
        told = json.dumps({"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)})
        socket.send_fds(connection, [len(told.encode()).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(told.encode())
        # Its own copies would keep the pipes open after the server has closed them.
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        return int(connection.recv(16) or b"1")


def keep(door: str) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    for name in _IMPORTED:
        importlib.import_module(name)
    from desk import FRAMEWORKS, Desk

    for framework in FRAMEWORKS.values():
        framework(Desk())
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(door)
        listening.listen(64)
        print("ready", flush=True)
        owner = threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True)
        owner.start()
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _attend(connection)
                os._exit(0)
            connection.close()


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _attend(connection: socket.socket) -> None:
    """One server for one knock."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, pipes, _, _ = socket.recv_fds(connection, 4, 3)
    length, told = int.from_bytes(size, "big"), b""
    while len(told) < length:
        told += connection.recv(length - len(told))
    child = os.fork()
    if child == 0:
        connection.close()
        os._exit(_serve(json.loads(told), pipes))
    for pipe in pipes:
        os.close(pipe)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)

    def ended() -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(OSError):
            connection.sendall(str(code if code >= 0 else 128 - code).encode())
        os._exit(0)

    waiting = threading.Thread(target=ended)
    waiting.start()
    with suppress(OSError):
        connection.recv(1)
    os.kill(child, signal.SIGKILL)
    waiting.join()


def _serve(told: dict, pipes: list[int]) -> int:
    import others
    import twins

    for standard, pipe in enumerate(pipes):
        os.dup2(pipe, standard)
        os.close(pipe)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    try:
        main = twins.main if told["arguments"][0] in twins.BY_NAME else others.main
        main(told["arguments"])
    except SystemExit as exc:
        print(exc.code or "", file=sys.stderr, flush=True)
        return exc.code if isinstance(exc.code, int) else 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(knock(sys.argv[1], sys.argv[2:]))
    keep(sys.argv[1])
