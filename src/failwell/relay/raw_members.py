"""The members of JSON as the bytes that came, read or not: a number may have too many digits for Python, and lists may
lie too deep in each other, and others read both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SIGN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)


def closing(data: bytes, start: int) -> int | None:
    """Where an object that begins at `start` has ended; None if it never does."""
    depth = 0
    for sign in _SIGN.finditer(data, start):
        what = sign[0]
        depth += (what in (b"{", b"[")) - (what in (b"}", b"]"))
        if not depth:
            return sign.end()
    return None


def spans(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The parts of an object or of a list: the name of each, as it is written, and where it begins and ends."""
    depth, name, start = 0, b"", 0
    for sign in _SIGN.finditer(data):
        what = sign[0]
        if what in (b"{", b"["):
            depth += 1
            start = sign.end() if depth == 1 else start
        elif what in (b"}", b"]"):
            if depth == 1 and data[start : sign.start()].strip():
                yield name, start, sign.start()
            if depth <= 1:
                return
            depth -= 1
        elif depth == 1 and what == b":":
            name, start = data[start : sign.start()].strip(), sign.end()
        elif depth == 1 and what == b",":
            yield name, start, sign.start()
            name, start = b"", sign.end()
