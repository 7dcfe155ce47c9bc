"""Lists of arguments: read as the command lines that they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from failwell.model import pattern

from .values import Span

_ITEM: Final = r"[bru]?(?:'[^'\r\n]{0,400}'|\"[^\"\r\n]{0,400}\")"
_LIST: Final = pattern(rf"[\[(]\s?{_ITEM}(?:,\s{{0,3}}{_ITEM}){{2,60}}\s?[\])]")
_ARGUMENT: Final = pattern(r"'([^'\r\n]{0,400})'|\"([^\"\r\n]{0,400})\"")


def command_lines(text: str) -> Iterator[tuple[str, list[Span]]]:
    """Each list of arguments as one line, and where each of its words stands in `text`."""
    for found in _LIST.finditer(text):
        words = [Span(*word.span(word.lastindex or 1), True) for word in _ARGUMENT.finditer(text, *found.span())]
        yield " ".join(text[word.start : word.end] for word in words), words


def argument_at(words: list[Span], at: int) -> Span:
    """The argument in which the character of the line at `at` stands, from that character on."""
    for word in words:
        size = word.end - word.start
        if at <= size:
            return Span(word.start + at, word.end, True)
        at -= size + 1
    return Span(0, 0, True)
