"""What happened at a scripted server, on disk: one line for each call that arrived and each effect it had.

Nothing else is remembered, so a server that dies and is started again goes on where it was, and several processes can
serve one script at once: what a call meets follows from its place among the lines.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

from .script import Fault, Script, Tool

FILE: Final = "events.jsonl"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that arrived: `attempt` counts the calls under the same key from 1, `fault` is what it met."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    key: str
    attempt: int
    fault: Fault | None
    when: datetime


@dataclass(frozen=True, slots=True)
class RecordedEffect:
    """An effect that a call had: all of it, or only a part."""

    call: Call
    part: bool
    when: datetime

    @property
    def tool(self) -> str:
        return self.call.tool

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.call.arguments

    @property
    def attempt(self) -> int:
        return self.call.attempt


class Ledger:
    """The events of one directory, as far as they were read."""

    def __init__(self, directory: Path, script: Script) -> None:
        self.script = script
        self.calls: dict[str, Call] = {}
        self.effects: list[RecordedEffect] = []
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._done: Counter[tuple[str, str]] = Counter()
        self._read = 0
        # Appending is one write to a file that is opened for it: lines of two processes never mix.
        self._file = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        self._file = -1

    def arrive(self, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Note that a call has arrived; its place in the file says which attempt it is."""
        id = os.urandom(8).hex()
        self._append({"event": "call", "id": id, "tool": tool, "arguments": dict(arguments)})
        self.catch_up()
        return self.calls[id]

    def take_effect(self, call: Call, *, part: bool = False) -> None:
        """Note that a call has had its effect."""
        self._append({"event": "effect", "call": call.id, "part": part})

    def sync(self) -> None:
        """Nothing that was noted is lost from here on, even if the machine goes down."""
        os.fsync(self._file)

    def times(self, tool: str, key: str) -> int:
        """How often a tool took effect under a key."""
        self.catch_up()
        return self._done[tool, key]

    def catch_up(self) -> None:
        """Read what was appended since, by whomever; nothing more once the ledger is closed."""
        data = b""
        if self._file < 0:
            return
        while more := os.pread(self._file, 1 << 20, self._read + len(data)):
            data += more
        # A line that is being written is left for the next time.
        end = data.rfind(b"\n") + 1
        self._read += end
        for line in data[:end].splitlines():
            event = json.loads(line)
            when = datetime.fromtimestamp(event["when"], UTC)
            if event["event"] == "call":
                self._called(event, when)
            else:
                call = self.calls[event["call"]]
                self.effects.append(RecordedEffect(call, event["part"], when))
                self._done[call.tool, call.key] += 1

    def _called(self, event: Mapping[str, Any], when: datetime) -> None:
        # A directory may be older than the script.
        tool = self.script.tools.get(event["tool"]) or Tool(event["tool"])
        key = tool.key_of(event["arguments"])
        self._attempts[tool.name, key] += 1
        attempt = self._attempts[tool.name, key]
        fault = tool.fault(key, attempt)
        self.calls[event["id"]] = Call(event["id"], tool.name, event["arguments"], key, attempt, fault, when)

    def _append(self, event: dict[str, Any]) -> None:
        os.write(self._file, json.dumps({**event, "when": time.time()}).encode() + b"\n")
