"""The examples as processes of their own, and clients that speak raw JSON-RPC to them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

# The clients are those of the tests of the adapters.
sys.path.append(str(Path(__file__).parents[1] / "server"))

from wire import ERAS, LEGACY, MODERN, PATIENCE, Answer, Client, Http, NoAnswer, Process, Stdio, User, nobody

import commands
from failwell.examples import EXAMPLES
from snapshots import Snapshots

SETTINGS: Final = tuple(f"{name.upper()}_" for name in EXAMPLES)


class Example(Process):
    """`failwell example NAME`, or a script, on stdio or over HTTP. Only the given settings reach it."""

    def __init__(
        self, name: str, errors: Path, settings: Mapping[str, str], *, http: bool = False, script: Path | None = None
    ) -> None:
        self.errors = errors
        self._at = _free_port() if http else 0
        more = ["--http", str(self._at)] if http else []
        kept = {key: value for key, value in os.environ.items() if not key.startswith(SETTINGS)}
        with errors.open("wb") as file:
            self._child = subprocess.Popen(
                [sys.executable, str(script), *more] if script else commands.failwell("example", name, *more),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**kept, **settings},
            )
        self.reader, self.writer = _pipe(self._child.stdout), _pipe(self._child.stdin)

    @property
    def port(self) -> int:
        """Where it listens, once it does."""
        last = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._at), timeout=1):
                return self._at
            if self._child.poll() is not None or time.monotonic() > last:
                raise NoAnswer(f"The server did not start.\n{self.complaint()}")
            time.sleep(0.05)

    def end(self) -> None:
        with suppress(OSError):
            self.writer.close()
        if self._at:
            self._child.terminate()
        try:
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def opened(
    process: Process, era: str, *, http: bool, capabilities: dict[str, Any] | None = None, user: User = nobody
) -> Client:
    """A client that has greeted the server. One that listens may have many."""
    client = (Http if http else Stdio)(process, era, None, capabilities, user)
    client.open()
    return client


@contextmanager
def talking(process: Process, era: str, *, http: bool, **more: Any) -> Iterator[Client]:
    """A client of its own; on stdio the process is its alone, and ends with it."""
    client = opened(process, era, http=http, **more)
    try:
        yield client
    finally:
        if isinstance(client, Http):
            client._connection.close()
        else:
            client.close()


SNAPSHOTS: Final = Snapshots(Path(__file__).with_name("snapshots"))
compare: Final = SNAPSHOTS.compare


__all__ = ["ERAS", "LEGACY", "MODERN", "Answer", "Client", "Example", "Process", "compare", "opened", "talking"]
