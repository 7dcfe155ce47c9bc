"""A client of a wrapped server that knows nothing but lines of JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PLAIN = str(Path(__file__).with_name("plain_server.py"))
SERVER = [sys.executable, "-S", PLAIN]
# With arguments that have blanks in them, and one behind.
GIVEN = [*SERVER, "--header", "Authorization: Bearer birch-fern-4711-oak", "--verbose"]
WRAP = [sys.executable, "-m", "failwell", "wrap"]


class Wrapped:
    """A wrapped server while it runs."""

    def __init__(self, ledger: Path, *options: str, command: Sequence[str] = SERVER, greet: bool = True) -> None:
        ledger.touch()
        self.ledger = ledger
        self.process = subprocess.Popen(
            [*WRAP, *options, *(["--", *command] if command else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LEDGER": str(ledger)},
            bufsize=0,
        )
        self._rest = b""
        if greet:
            client = {"name": "test", "version": "1"}
            params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            self.ask("hello", "initialize", params)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        while data:
            data = data[self.process.stdin.write(data) or 0 :]

    def read(self, patience: float = 60.0) -> Any:
        """The next message; None if there is none any more."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], patience)[0], "nothing came"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ask(self, id: object, method: str, params: Any = None) -> Any:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})})
        answer = self.read()
        assert answer["id"] == id, answer
        return answer

    def call(self, id: object, tool: str, /, **arguments: Any) -> Any:
        return self.ask(id, "tools/call", {"name": tool, "arguments": arguments})

    def text(self, id: object, tool: str, /, **arguments: Any) -> str:
        text: str = self.call(id, tool, **arguments)["result"]["content"][0]["text"]
        return text

    def done(self) -> list[str]:
        return self.ledger.read_text("utf-8").split()

    def close(self) -> tuple[int, str]:
        """Hang up; its exit code, and what it said on stderr."""
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors.decode()

    def __enter__(self) -> Wrapped:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.process.communicate(timeout=60)


def lives(pid: int) -> bool:
    """Whether a process is there, and not only its grave."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
