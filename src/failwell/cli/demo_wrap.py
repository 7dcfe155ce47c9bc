"""The last part of the demo: a server that cannot be changed, as it is and behind `failwell wrap`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

TITLE: Final = "A server that you did not write, which dies in the middle of a call"
SENDS: Final = ("send_reminder", {"customer": "ada"})
LOOKS: Final = ("list_reminders", {"customer": "ada"})
_SERVER: Final = str(Path(__file__).with_name("demo_foreign.py"))


@dataclass(frozen=True)
class Foreign:
    """The server while it runs, wrapped or not."""

    process: subprocess.Popen[str]
    sent: Path

    def call(self, tool: str, arguments: dict[str, Any]) -> list[str]:
        """What a model reads of a call; nothing if nobody answers."""
        request = {"id": tool, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
            self.process.stdin.flush()
        except OSError:
            return []
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return [block["text"] for block in json.loads(line)["result"]["content"]] if line else []

    @property
    def count(self) -> int:
        return len(self.sent.read_text(encoding="utf-8").split())


@contextmanager
def both() -> Iterator[tuple[Foreign, Foreign]]:
    """The server as it is and wrapped, each in a process of its own for as long as the `with` lasts."""
    with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder, ExitStack() as running:
        servers = []
        for name, relay in (("plain", ()), ("wrapped", ("-m", "failwell", "wrap", "--", sys.executable))):
            sent = Path(folder) / name
            process = subprocess.Popen(
                [sys.executable, *relay, "-S", _SERVER, str(sent)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
            )  # fmt: skip
            running.callback(_end, process)
            servers.append(Foreign(process, sent))
        yield servers[0], servers[1]


def _end(process: subprocess.Popen[str]) -> None:
    """Hang up, which ends what is wrapped too; what could not be written to a dead one is nobody's loss."""
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            pipe.close()  # type: ignore[union-attr]
    process.terminate()
    process.wait()


def met(server: Foreign) -> list[tuple[str, list[str]]]:
    """What the agent calls, and what it reads."""
    return [(f"{tool} {json.dumps(arguments)}", server.call(tool, arguments)) for tool, arguments in (SENDS, LOOKS)]
