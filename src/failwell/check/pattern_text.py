"""A text that a pattern matches, written from the pattern itself, part by part.

A pattern of a schema is a peer's program, so that none is run here. Whoever uses what comes of it holds it against the
schema.
"""

from __future__ import annotations

from typing import Final

_CLASSES: Final = {"d": "7", "w": "x", "s": " ", "D": "x", "W": "-", "S": "x", "h": " "}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_EDGES: Final = frozenset("bBAzZG")
_PROPERTIES: Final = {"L": "x", "Ll": "x", "Lu": "X", "N": "7", "Nd": "7", "P": "-", "S": "+", "Z": " ", "Zs": " "}
_TRIED: Final = "xq7_-A ."
_MOST_TIMES: Final = 64
_LONGEST: Final = 4_000
_DEEPEST: Final = 40


class NotWritten(Exception):
    """A pattern of which no text could be written."""


def matching(pattern: str) -> str:
    r"""A text for a pattern; it raises `NotWritten`.

    >>> matching(r"^bk_[0-9]{1,6}$"), matching(r"^(GB|FR)\d{2}[^a-w]?$"), matching(r"(?:a|b)+\.txt")
    ('bk_9', 'GB77x', 'a.txt')
    """
    reader = _Reader(pattern)
    text = reader.options(0)
    if reader.at < len(pattern):
        raise NotWritten
    return text


class _Reader:
    """Reads a pattern from left to right, and writes the first text that each part allows."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    @property
    def next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self, count: int = 1) -> str:
        taken = self.pattern[self.at : self.at + count]
        if len(taken) < count:
            raise NotWritten
        self.at += count
        return taken

    def until(self, end: str) -> str:
        found = self.pattern.find(end, self.at)
        if found < 0:
            raise NotWritten
        taken, self.at = self.pattern[self.at : found], found + len(end)
        return taken

    def options(self, depth: int) -> str:
        """The first of some alternatives; the others are read and dropped."""
        if depth > _DEEPEST:
            raise NotWritten
        first = self.sequence(depth)
        while self.next == "|":
            self.take()
            self.sequence(depth)
        return first

    def sequence(self, depth: int) -> str:
        written = ""
        while self.next not in ("", "|", ")"):
            written += self.times(self.part(depth))
            if len(written) > _LONGEST:
                raise NotWritten
        return written

    def times(self, part: str) -> str:
        """A part as often as what follows it says: as seldom as it may be, but once rather than not at all."""
        mark = self.next
        least = 1
        if mark and mark in "*+?":
            self.take()
        elif mark == "{" and (bounds := self._bounds()) is not None:
            least = max(bounds[0], 1) if bounds[1] != 0 else 0
        else:
            return part
        if self.next in ("?", "+") and self.next:
            self.take()
        return part * min(least, _MOST_TIMES)

    def _bounds(self) -> tuple[int, int | None] | None:
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not low.isdigit() or not (high.isdigit() or not high):
            # No bounds, but a brace.
            return None
        self.at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def part(self, depth: int) -> str:
        mark = self.take()
        if mark == "(":
            return self.group(depth)
        if mark == "[":
            return self.one_of()
        if mark == "\\":
            return self.escaped()
        if mark in "^$":
            return ""
        if mark in "*+?":
            raise NotWritten
        return "x" if mark == "." else mark

    def group(self, depth: int) -> str:
        kept = True
        if self.next == "?":
            self.take()
            mark = self.take()
            if mark == "P":
                mark = self.take()
            if mark == "<" and self.next in ("=", "!"):
                mark = self.take()
            if mark in ("=", "!"):
                kept = False
            elif mark == "<":
                self.until(">")
            elif mark != ":":
                raise NotWritten
        written = self.options(depth + 1)
        if self.take() != ")":
            raise NotWritten
        return written if kept else ""

    def escaped(self) -> str:
        mark = self.take()
        if mark in _EDGES:
            return ""
        if mark in ("x", "u"):
            return self._by_number(mark)
        if mark in ("p", "P"):
            named = self.until("}").lstrip("{") if self.next == "{" else self.take()
            return "x" if mark == "P" else _PROPERTIES.get(named.rpartition("=")[2], "x")
        if mark.isdigit() and mark != "0":
            # What a group matched is not kept.
            raise NotWritten
        return _CLASSES.get(mark) or _CONTROLS.get(mark, mark)

    def _by_number(self, mark: str) -> str:
        digits = self.until("}")[1:] if self.next == "{" else self.take(2 if mark == "x" else 4)
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise NotWritten from None

    def one_of(self) -> str:
        """A character of a class: the last of its first range, which is the least likely to be used."""
        is_negated = self.next == "^"
        if is_negated:
            self.take()
        allowed: list[tuple[str, str]] = []
        while self.next != "]" or not allowed:
            first = self._member()
            if self.next == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.take()
                allowed.append((first, self._member()))
            else:
                allowed.append((first, first))
        self.take()
        if not is_negated:
            return allowed[0][1]
        for each in _TRIED:
            if not any(low <= each <= high for low, high in allowed):
                return each
        raise NotWritten

    def _member(self) -> str:
        mark = self.take()
        found = self.escaped() if mark == "\\" else mark
        return found or "\b"


__all__ = ["NotWritten", "matching"]
