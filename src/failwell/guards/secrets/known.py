"""Secrets that are known word for word, out of a text: also where something parts them that is gone when it is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from failwell.guards.visibility import uncoloured
from failwell.model import pattern

# The end of a line, with what stands before the next one where it is quoted; and the mark for a control character.
_BREAK: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}|\ufffd")
# A shorter one is found at the end of a line and the beginning of the next by chance.
_SHORTEST_PARTED: Final = 8
# As JSON writes characters inside a text, which whoever reads it makes characters of again.
_ESCAPED: Final = pattern(r"\\u([0-9a-fA-F]{4})")


def without_values(text: str, values: Sequence[str], mask: str) -> str:
    """`text` with these values masked. They are given the longest first, since one may be part of another.

    >>> without_values("no hunter\\u200b2hunter2 here", ["hunter2hunter2"], "…")
    'no … here'
    """
    for value in values:
        if value in text:
            text = text.replace(value, mask)
    if not values or _is_as_it_looks(text):
        return text
    shown = _shown(text)
    told = shown
    for value in values:
        if value in told:
            told = told.replace(value, mask)
    told = _unparted(told, values, mask)
    return told if told != shown else text


def _is_as_it_looks(text: str) -> bool:
    """Whether nothing in a text goes, or becomes something else, when it is read and told on one line."""
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    return is_plain and "  " not in text and "&#" not in text


def _shown(text: str) -> str:
    if "\\" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).replace("\\n", "\n")
    if "&#" in text:
        from html import unescape

        text = unescape(text)
    return uncoloured(text)


def _unparted(text: str, values: Sequence[str], mask: str) -> str:
    """`text` without the values that stand in it on more than one line, or with more space between their words."""
    for value in values:
        if 0 < _least(value) <= len(text) and _may_say(text, value.split()):
            text = _phrase(value).sub(lambda _: mask, text)
    joined = _BREAK.sub("", text)
    if joined == text:
        return text
    parted = [value for value in values if len(value) >= _SHORTEST_PARTED and value in joined]
    return _masked_across(text, joined, parted, mask) if parted else text


# A key in a file is a value for each of its lines, and each is looked for in two dozen forms.
@lru_cache(maxsize=4096)
def _least(value: str) -> int:
    """How long a text is at least that holds the words of a value; 0 where it is one word."""
    words = value.split()
    return sum(map(len, words)) + len(words) - 1 if len(words) > 1 else 0


def _may_say(text: str, words: Sequence[str]) -> bool:
    """Whether a text has each of several words: most have not, and to look for them in their order takes longer."""
    return all(word in text for word in words)


@lru_cache(maxsize=256)
def _phrase(value: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, value.split())))


def _masked_across(text: str, joined: str, values: Sequence[str], mask: str) -> str:
    """`text` without the values that stand in the same text without its breaks."""
    places: list[int] = []
    end = 0
    for gap in _BREAK.finditer(text):
        places += range(end, gap.start())
        end = gap.end()
    places += range(end, len(text))
    found = sorted(
        (places[one.start()], places[one.end() - 1] + 1)
        for value in values
        for one in re.finditer(re.escape(value), joined)
    )
    told, end = "", 0
    for start, stop in found:
        if start >= end:
            told += text[end:start] + mask
        end = max(end, stop)
    return told + text[end:]
