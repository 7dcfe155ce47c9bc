"""Faults on the way to the server, made on purpose: to see what an agent does about them.

It stands between the desk and the server, so that the desk meets what it would meet.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from .messages import key_of, params_of, read_frame, written

KINDS: Final = ("text", "protocol", "raw", "error", "garbage", "crash", "hang", "twice", "noise", "cut", "late")
"""The kinds of fault that can be made here."""


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault for the calls of some tools. `fault` is a row of `failwell.testing.Fault.to_dict()`."""

    tool: str
    fault: Mapping[str, Any]
    answer: Mapping[str, Any] | None = None
    """What is answered instead, without an id."""
    times: int | None = 1
    """How often; None for always."""


class Late(NamedTuple):
    """A frame that was held up."""

    frame: bytes
    request: object
    is_answer: bool


class Injection:
    """What becomes of frames on their way."""

    def __init__(self, faults: Sequence[Injected], clock: Callable[[], float] = time.monotonic) -> None:
        self._left = [[fault, fault.times] for fault in faults]
        self._waiting: dict[bytes, Injected] = {}
        self._clock = clock
        self._late: list[tuple[float, Late]] = []

    def another(self) -> Injection:
        """One for another client: the faults are the same, and are made as often for all of them together."""
        made = Injection((), self._clock)
        made._left = self._left
        return made

    @property
    def wakes_at(self) -> float | None:
        """When something that comes late is due."""
        return min((when for when, _ in self._late), default=None)

    def due(self) -> list[Late]:
        """What comes late, and comes now."""
        now = self._clock()
        found = [late for when, late in self._late if when <= now]
        self._late = [each for each in self._late if each[0] > now]
        return found

    def lost(self) -> None:
        """The server is gone, and with it what was on the way."""
        self._late, self._waiting = [], {}

    def _delay(self, chosen: Injected, late: Late) -> None:
        self._late.append((self._clock() + float(chosen.fault["seconds"]), late))

    def to_server(self, frame: bytes, request: object = None) -> tuple[bytes | None, list[bytes], bool]:
        """The frame that goes on, what comes back at once, and whether the server dies."""
        if b"tools/call" not in frame:
            return frame, [], False
        message = read_frame(frame)
        tool = params_of(message).get("name") if isinstance(message, dict) else None
        chosen = self._chosen(tool) if isinstance(tool, str) else None
        if chosen is None:
            return frame, [], False
        if chosen.fault["fault"] == "late" and chosen.fault.get("at") == "before":
            self._delay(chosen, Late(frame, request, is_answer=False))
            return None, [], False
        if chosen.fault.get("at", "before") == "before":
            back, dies = self._made(chosen, message["id"], b"")
            return None, back, dies
        self._waiting[key_of(message["id"])] = chosen
        return frame, [], False

    def from_server(self, frame: bytes) -> tuple[list[bytes], bool]:
        """The frames that come instead, and whether the server dies."""
        if not self._waiting:
            return [frame], False
        message = read_frame(frame)
        chosen = self._waiting.pop(key_of(message.get("id")), None) if isinstance(message, dict) else None
        if chosen is not None and chosen.fault["fault"] == "late":
            self._delay(chosen, Late(frame, None, is_answer=True))
            return [], False
        return ([frame], False) if chosen is None else self._made(chosen, message["id"], frame)

    def _chosen(self, tool: str) -> Injected | None:
        for row in self._left:
            fault, left = row
            if isinstance(fault, Injected) and fnmatchcase(tool, fault.tool) and left != 0:
                row[1] = None if left is None else left - 1  # type: ignore[operator]
                return fault
        return None

    def _made(self, chosen: Injected, id: object, frame: bytes) -> tuple[list[bytes], bool]:
        kind = chosen.fault["fault"]
        if chosen.answer is not None:
            return [written({"jsonrpc": "2.0", "id": id, **chosen.answer})], False
        if kind == "garbage":
            return [str(chosen.fault["text"]).encode() + b"\n"], False
        if kind == "twice":
            return [frame, frame], False
        if kind == "noise":
            return [str(chosen.fault["text"]).encode() + b"\n", frame], False
        return [], kind in ("crash", "cut")


def described(fault: Injected) -> str:
    return f"{fault.tool}: {json.dumps(dict(fault.fault))}"
