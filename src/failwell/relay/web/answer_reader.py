"""Takes an answer of HTTP/1.1 apart as it comes: its head, then its body, then whether another one may follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

LARGEST_HEAD: Final = 100_000
_LONGEST_SIZE: Final = 1_000
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: [^\r\n\0]*)?")
_HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:[ \t]*([^\r\n\0]*?)[ \t]*")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\0]*)?")
_DIGITS: Final = re.compile(rb"\d{1,18}")
_BODILESS: Final = frozenset({204, 304})


class NoAnswer(Exception):
    """What came is no answer of HTTP, or breaks off."""


class AnswerReader:
    """One answer. `status` is 0 until its head is there; what there is of its body is taken from `parts`."""

    def __init__(self, *, is_bodiless: bool = False) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.is_over = False
        self.is_kept = False
        """Whether the connection may be used for another one."""
        self._is_bodiless = is_bodiless
        self._rest = b""
        self._left = 0
        """How much is to come of the body, or of the part of it that has begun."""
        self._step: Callable[[], bool] = self._head

    def feed(self, data: bytes) -> None:
        """Raises `NoAnswer`."""
        self._rest = self._rest + data if self._rest else data
        while self._rest and not self.is_over and self._step():
            pass
        if self.is_over and self._rest:
            # Nobody has asked for that.
            self.is_kept = False

    def end(self) -> None:
        """Nothing more will come. Raises `NoAnswer`."""
        if not self.status:
            raise NoAnswer("Server disconnected without sending a response.")
        if not self.is_over and self._step != self._until_the_end:
            raise NoAnswer("Server disconnected before the end of its response.")
        self.is_over, self.is_kept = True, False

    # Each of these takes what it can, and says whether there may be more for the next one.

    def _head(self) -> bool:
        end = self._rest.find(b"\r\n\r\n")
        width = 4
        if end < 0:
            # Some write no carriage returns.
            end, width = (self._rest.find(b"\n\n"), 2) if b"\r" not in self._rest else (-1, 2)
        if end < 0 or end > LARGEST_HEAD:
            if len(self._rest) > LARGEST_HEAD:
                raise NoAnswer(f"The head of the response has more than {LARGEST_HEAD} bytes.")
            return False
        first, *lines = self._rest[:end].replace(b"\r\n", b"\n").split(b"\n")
        self._rest = self._rest[end + width :]
        found = _STATUS.fullmatch(first)
        if found is None:
            raise NoAnswer("The response does not begin with a status line of HTTP/1.1.")
        status, headers = int(found[2]), _headers(lines)
        if status < 200:
            if status == 101:
                raise NoAnswer("The server speaks another protocol from here on, which nobody asked for.")
            # A word in between.
            return True
        self.status, self.headers = status, headers
        self._begin(is_newest=found[1] == b"1")
        return True

    def _begin(self, *, is_newest: bool) -> None:
        told: dict[bytes, list[bytes]] = {}
        for name, value in self.headers:
            lower = name.lower()
            if lower in _FRAMING:
                told.setdefault(lower, []).extend(each.strip().lower() for each in value.split(b","))
        self.is_kept = is_newest and b"close" not in told.get(b"connection", ())
        coding, lengths = told.get(b"transfer-encoding"), set(told.get(b"content-length", ()))
        if self._is_bodiless or self.status in _BODILESS:
            self.is_over = True
        elif coding is not None:
            if coding != [b"chunked"]:
                raise NoAnswer("The response has a transfer encoding other than chunked.")
            self.is_kept = self.is_kept and not lengths
            self._step = self._size
        elif lengths:
            if len(lengths) > 1 or not _DIGITS.fullmatch(length := lengths.pop()):
                raise NoAnswer("The response says in two ways, or in none, how long it is.")
            self._left = int(length)
            self._step, self.is_over = self._sized, self._left == 0
        else:
            self.is_kept, self._step = False, self._until_the_end

    def _sized(self) -> bool:
        self._take()
        self.is_over = self._left == 0
        return False

    def _until_the_end(self) -> bool:
        self.parts.append(self._rest)
        self._rest = b""
        return False

    def _size(self) -> bool:
        line = self._line()
        if line is None:
            return False
        found = _SIZE.fullmatch(line)
        if found is None:
            raise NoAnswer("A part of the response does not say how long it is.")
        self._left = int(found[1], 16)
        self._step = self._part if self._left else self._trailers
        return True

    def _part(self) -> bool:
        self._take()
        if self._left == 0:
            self._step = self._part_end
        return True

    def _part_end(self) -> bool:
        line = self._line()
        if line is None:
            return False
        if line:
            raise NoAnswer("A part of the response is longer than it says.")
        self._step = self._size
        return True

    def _trailers(self) -> bool:
        line = self._line()
        self.is_over = line == b""
        return line is not None

    def _take(self) -> None:
        rest = self._rest
        part = rest if len(rest) <= self._left else rest[: self._left]
        self._rest = rest[len(part) :]
        self._left -= len(part)
        self.parts.append(part)

    def _line(self) -> bytes | None:
        line, ended, rest = self._rest.partition(b"\n")
        if not ended:
            if len(line) > _LONGEST_SIZE:
                raise NoAnswer("A line of the response does not end.")
            return None
        self._rest = rest
        return line.removesuffix(b"\r")


_FRAMING: Final = frozenset({b"connection", b"content-length", b"transfer-encoding"})


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and headers:
            # The line before goes on.
            name, value = headers[-1]
            headers[-1] = name, value + b" " + line.strip()
            continue
        found = _HEADER.fullmatch(line)
        if found is None:
            raise NoAnswer("The response has a header that is none.")
        headers.append((found[1], found[2]))
    return headers
