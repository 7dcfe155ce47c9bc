"""The process that scripted servers are forks of: it imports everything once.

Over HTTP it holds the port and starts a new server as soon as one dies. Over stdio a client starts `stdio_shim.py`,
which hands its stdin, stdout and stderr over to a fork, so that a fresh server costs milliseconds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from .ledger import Ledger
from .script import Script


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m failwell.testing.scripted", description="A server with a script.")
    parser.add_argument("directory", metavar="DIR", help="where script.json is, and where events.jsonl is written")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this loopback port; 0 takes a free one")
    parser.add_argument("--restart-after", type=float, default=0.0, metavar="SECONDS", help="stay away after a crash")
    parser.add_argument("--socket", help=argparse.SUPPRESS)
    parser.add_argument("--attached", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    directory = Path(asked.directory)
    listener: socket.socket | None = None
    try:
        script = Script.load(directory)
        if asked.socket is not None:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(asked.socket)
            listener.listen(128)
        elif asked.http is not None:
            listener = _listen(asked.http)
            asked.http = listener.getsockname()[1]
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        sys.exit(f"failwell.testing.scripted: {problem}")
    with Ledger(directory, script) as ledger, contextlib.suppress(KeyboardInterrupt):
        # This is what takes long, and is over before anybody is told where to come.
        from . import service

        if listener is None:
            service.serve_stdio(ledger)
        server = _ForkServer(ledger, listener, asked)
        if asked.socket is None:
            print(json.dumps({"url": f"http://127.0.0.1:{asked.http}/mcp"}), flush=True)
            server.keep_one(service.serve_http)
        else:
            print(json.dumps({"socket": asked.socket}), flush=True)
            server.fork_for_each(service.serve_stdio)


def _listen(port: int) -> socket.socket:
    # Said in full, since asyncio sends small packets at once only where it is sure of TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    return listener


class _ForkServer:
    def __init__(self, ledger: Ledger, listener: socket.socket, asked: Any) -> None:
        self.ledger = ledger
        self.listener = listener
        self.asked = asked
        # Whoever started this with --attached holds the other end of stdin, and we go when it goes.
        self.owner = [0] if asked.attached else []
        # The servers go when we go: nobody else holds the other end of this.
        self.life, self._alive = os.pipe()
        # Nobody asks how a server ended, so nobody has to be told.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def keep_one(self, serve: Callable[..., NoReturn]) -> None:
        """A server at a time, and another as soon as it is gone."""
        while True:
            gone = self._fork(lambda: serve(self.ledger, self.listener, (self.life,)))
            ended, _, _ = select.select([gone, *self.owner], [], [])
            # A server that dies as the script says just ends; one that is broken says so, and would break again.
            broken = gone in ended and os.read(gone, 1)
            os.close(gone)
            if broken or 0 in ended:
                return
            if self.asked.restart_after > 0:
                # Away means away: connections are refused, not kept waiting.
                self.listener.close()
                if select.select(self.owner, [], [], self.asked.restart_after)[0]:
                    return
                self.listener = _listen(self.asked.http)

    def fork_for_each(self, serve: Callable[..., NoReturn]) -> None:
        """A server for each client that connects, on the streams that it hands over."""
        while True:
            ready, _, _ = select.select([self.listener.fileno(), *self.owner], [], [])
            if 0 in ready:
                return
            client, _ = self.listener.accept()
            streams: list[int] = []
            # A client may be gone before it is heard.
            with contextlib.suppress(OSError):
                _, streams, _, _ = socket.recv_fds(client, 1, 3)
            if len(streams) == 3:
                os.close(self._fork(lambda: self._serve_client(client, streams, serve)))  # noqa: B023 - run at once
            client.close()
            for stream in streams:
                os.close(stream)

    def _serve_client(self, client: socket.socket, streams: list[int], serve: Callable[..., NoReturn]) -> NoReturn:
        self.listener.close()
        # Whoever started the fork server reads from its stdout when the last of us is gone.
        os.dup(1)
        for standard, stream in enumerate(streams):
            os.dup2(stream, standard)
            os.close(stream)

        def leave(code: int) -> NoReturn:
            with contextlib.suppress(OSError):
                client.send(bytes([code & 0xFF]))
            os._exit(code)

        serve(self.ledger, leave, (self.life, client.fileno()))

    def _fork(self, work: Callable[[], NoReturn]) -> int:
        """Do the work in a process of its own; the descriptor that comes back ends with it."""
        # What happened so far is read here, so that no server has to read it again.
        self.ledger.catch_up()
        gone, held = os.pipe()
        if os.fork():
            os.close(held)
            return gone
        try:
            os.close(gone)
            os.close(self._alive)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            work()
        except Exception:
            traceback.print_exc()
            os.write(held, b"!")
        finally:
            os._exit(70)
