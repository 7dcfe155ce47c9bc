"""How messages are told apart in a stream of bytes: one line each, as long as a line may be.

Framing stands behind one interface, since the standard plans another one for stdio: `feed` takes bytes and gives the
frames that are complete, each as it came, with whatever ends it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

LONGEST: Final = 100_000_000
"""How many bytes a frame may have. Above that, somebody's memory would be full before the message is."""
_HEAD: Final = 4_096


class TooLong(NamedTuple):
    """A frame that was not kept: how it began, and how long it was."""

    head: bytes
    size: int


class Framing(Protocol):
    """Bytes in, frames out."""

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The frames that are complete by now."""

    def rest(self) -> bytes:
        """What came after the last complete frame, when no more comes."""


class Lines:
    """One JSON message per line, as MCP frames it on stdio."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._cut = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        end = data.find(b"\n") + 1
        if not self._parts and end == len(data) and end and end <= self._longest:
            # Nearly always: one message, whole.
            return [data]
        frames: list[bytes | TooLong] = []
        start = 0
        while end:
            self._keep(data[start:end])
            frames.append(self._taken())
            start, end = end, data.find(b"\n", end) + 1
        if start < len(data):
            self._keep(data[start:])
        return frames

    def rest(self) -> bytes:
        taken = self._taken() if self._size else b""
        return taken.head if isinstance(taken, TooLong) else taken

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
        elif not self._cut:
            # What is too long is only counted from here on.
            self._parts = [(b"".join(self._parts) + part)[:_HEAD]]
            self._cut = True

    def _taken(self) -> bytes | TooLong:
        whole, size, cut = b"".join(self._parts), self._size, self._cut
        self._parts, self._size, self._cut = [], 0, False
        return TooLong(whole, size) if cut else whole
