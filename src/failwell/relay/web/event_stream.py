"""Events of a stream (`text/event-stream`): bytes in, whole events out, and back."""

from __future__ import annotations

from typing import Final, NamedTuple

from failwell.relay.frames import LONGEST, TooLong

_HEAD: Final = 4_096


class ServerEvent(NamedTuple):
    """One event: what it holds, its id, and after how many milliseconds to come back."""

    data: bytes
    id: str = ""
    retry: int | None = None
    size: int = 0
    """How large it was, where that was too much to be kept."""


class EventReader:
    """Takes a stream apart."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = b""
        self._parts: list[bytes] = []
        self._held = 0
        """What has come of a line that is not at its end, and how much."""
        self._data: list[bytes] = []
        self._size = 0
        self._id = ""
        self._retry: int | None = None

    def feed(self, data: bytes) -> list[ServerEvent]:
        found: list[ServerEvent] = []
        self._parts.append(data)
        self._held += len(data)
        if b"\n" not in data and self._held <= self._longest:
            # A large event comes in many parts, which are put together once.
            return found
        *lines, self._rest = b"".join(self._parts).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line:
                self._take(line)
            elif (event := self._taken()) is not None:
                found.append(event)
        if len(self._rest) > self._longest:
            self._size += len(self._rest)
            self._data, self._rest = [self._rest[:_HEAD]], b""
        self._parts, self._held = [self._rest], len(self._rest)
        return found

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._size += len(value)
            if self._size <= self._longest:
                self._data.append(value)
            else:
                self._data = [b"".join(self._data)[:_HEAD] or value[:_HEAD]]
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self._retry = int(value)

    def _taken(self) -> ServerEvent | None:
        if not self._data and not self._id and self._retry is None:
            return None
        size = self._size if self._size > self._longest else 0
        event = ServerEvent(b" ".join(self._data), self._id, self._retry, size)
        self._data, self._size = [], 0
        return event


def framed(data: bytes) -> bytes:
    """A JSON text as a frame: on one line, since bare line ends mean nothing in JSON."""
    data = data.strip()
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\n", b" ").replace(b"\r", b" ")
    return data + b"\n"


def frame_of(event: ServerEvent) -> bytes | TooLong:
    return TooLong(event.data, event.size) if event.size else framed(event.data)


def event(frame: bytes) -> bytes:
    """A frame as an event."""
    return b"event: message\r\ndata: " + frame.strip() + b"\r\n\r\n"


PING: Final = b": ping\r\n\r\n"
