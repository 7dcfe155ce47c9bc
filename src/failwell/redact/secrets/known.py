"""Secrets that are known word for word, out of a text: also where something parts them that is gone when it is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Final

from failwell.model import pattern
from failwell.redact.visibility import uncoloured

# The end of a line, with what stands before the next one where it is quoted; and the mark for a control character.
_BREAK: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}|\ufffd")
# A shorter one is found at the end of a line and the beginning of the next by chance.
_SHORTEST_PARTED: Final = 8
# As JSON writes characters inside a text, which whoever reads it makes characters of again.
_ESCAPED: Final = pattern(r"\\u([0-9a-fA-F]{4})")
# A shorter one is a part of ids by chance, and a word of fewer letters a part of other words.
_SHORTEST_ANYWHERE: Final = 8
_SHORTEST_LONG_WORD: Final = 10
# What ends in a letter or a digit, and is no part of the word that follows: an escape in code, in an address or in
# mail, a colour, the option that a password is glued to.
_ESCAPE_BEFORE: Final = pattern(
    r"(?:\\(?:[abefnrtv0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3})|%(?:25){0,3}[0-9a-fA-F]{2}|=3D"
    r"|\[[0-9;]{0,12}m|(?<![\w-])-[A-Za-z])\Z"
)
_LONGEST_ESCAPE: Final = 16


def without_values(text: str, values: Sequence[str], mask: str) -> str:
    """`text` with these values masked. They are given the longest first, since one may be part of another.

    >>> without_values("no hunter\\u200b2hunter2 here", ["hunter2hunter2"], "…")
    'no … here'
    >>> without_values("orangeade with an orange", ["orange"], "…")
    'orangeade with an …'
    """
    for value in values:
        if value in text:
            text = _without(text, value, mask)
    if not values or _is_as_it_looks(text):
        return text
    shown = _shown(text)
    told = shown
    for value in values:
        if value in told:
            told = _without(told, value, mask)
    told = _unparted(told, values, mask)
    return told if told != shown else text


def _without(text: str, value: str, mask: str) -> str:
    if not _is_part_by_chance(value):
        return text.replace(value, mask)
    told, end, start = "", 0, text.find(value)
    while start >= 0:
        stop = start + len(value)
        if _stands_alone(text, start, stop):
            told += text[end:start] + mask
            end = stop
        start = text.find(value, max(end, start + 1))
    return told + text[end:]


def _is_part_by_chance(value: str) -> bool:
    """Whether longer words and ids may hold it for another reason, as `orangeade` does: a short one, a plain word, one
    sign over and over. No form of a secret that is none of these is one of them."""
    if len(value) < _SHORTEST_ANYWHERE:
        return True
    if len(value) < _SHORTEST_LONG_WORD and value.isalpha():
        # All in capitals it may be base32; and scripts that have none have no space between words either.
        return value.islower() or value.istitle()
    return value.count(value[0]) == len(value)


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether what stands there in a text is no part of a longer word or id."""
    if _goes_on(text[max(stop - 1, 0) : stop]) and _goes_on(text[stop : stop + 1]):
        return False
    if not (_goes_on(text[start : start + 1]) and _goes_on(text[max(start - 1, 0) : start])):
        return True
    return _ESCAPE_BEFORE.search(text[max(start - _LONGEST_ESCAPE, 0) : start]) is not None


def _goes_on(sign: str) -> bool:
    """Whether a word goes on with it: not with what is written in another script, without a space between."""
    return sign.islower() or sign.isupper() or sign.isdigit()


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
            text = _phrase(value).sub(partial(_masked_phrase, _is_part_by_chance(value), mask), text)
    joined = _BREAK.sub("", text)
    if joined == text:
        return text
    parted = [value for value in values if len(value) >= _SHORTEST_PARTED and value in joined]
    return _masked_across(text, joined, parted, mask) if parted else text


# A key in a file is a value for each of its lines, and each is looked for in three dozen forms.
@lru_cache(maxsize=4096)
def _least(value: str) -> int:
    """How long a text is at least that holds the words of a value; 0 where it is one word."""
    words = value.split()
    return sum(map(len, words)) + len(words) - 1 if len(words) > 1 else 0


def _may_say(text: str, words: Sequence[str]) -> bool:
    """Whether a text has each of several words: most have not, and to look for them in their order takes longer."""
    return all(word in text for word in words)


def _masked_phrase(is_part: bool, mask: str, found: re.Match[str]) -> str:
    return found[0] if is_part and not _stands_alone(found.string, found.start(), found.end()) else mask


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
        (places[one.start()], places[one.end() - 1] + 1, _is_part_by_chance(value))
        for value in values
        for one in re.finditer(re.escape(value), joined)
    )
    told, end = "", 0
    for start, stop, is_part in found:
        if is_part and not _stands_alone(text, start, stop):
            continue
        if start >= end:
            told += text[end:start] + mask
        end = max(end, stop)
    return told + text[end:]
