"""Secrets that are known word for word, in each form that programs write them in: in addresses, JSON, code, markup,
base64, base32 and hex, also where something parts them that nobody sees.

The one answer for whatever is masked by its value, whoever was given it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Final

from failwell.model import pattern

from .visibility import uncoloured

# The end of a line, with what stands before the next one where it is quoted; and the mark for a control character.
_BREAK: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}|\ufffd")
# A shorter one is found at the end of a line and the beginning of the next by chance.
_SHORTEST_PARTED: Final = 8
# As JSON writes characters inside a text, which whoever reads it makes characters of again.
_ESCAPED: Final = pattern(r"\\u([0-9a-fA-F]{4})")
# A shorter one is a part of ids by chance, and a word of fewer letters a part of other words.
_SHORTEST_ANYWHERE: Final = 8
_SHORTEST_LONG_WORD: Final = 10
# By so much of its beginning a value is known that was cut: less, where nobody writes it by chance.
_TELLTALE: Final = 24
_SHORTEST_TELLTALE: Final = 8
_LONG_NUMBER: Final = 12
# What ends in a letter or a digit, and is no part of the word that follows: an escape in code, in an address or in
# mail, a colour, the option that a password is glued to.
_ESCAPE_BEFORE: Final = pattern(
    r"(?:\\(?:[abefnrtv0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3})|%(?:25){0,3}[0-9a-fA-F]{2}|=3D"
    r"|\[[0-9;]{0,12}m|(?<![\w-])-[A-Za-z])\Z"
)
_LONGEST_ESCAPE: Final = 16


def without_values(text: str, values: Sequence[str], mask: str) -> str:
    """`text` with these values masked, and what is left of one that was cut. They are given the longest first, since
    one may be part of another.

    >>> without_values("no hunter\\u200b2hunter2 here", ["hunter2hunter2"], "…")
    'no … here'
    >>> without_values("orangeade with an orange", ["orange"], "…")
    'orangeade with an …'
    >>> without_values("no tulip-4711-oak-... here", ["tulip-4711-oak-fern"], "X")
    'no X... here'
    """
    text = _without(text, values, mask)
    # Whether nothing in the text goes, or becomes something else, when it is read and told on one line.
    is_plain = text.isascii() and text.isprintable() and "\\" not in text
    if not values or (is_plain and "  " not in text and "&#" not in text):
        return text
    shown = _shown(text)
    told = _unparted(_without(shown, values, mask), values, mask)
    return told if told != shown else text


def _without(text: str, values: Sequence[str], mask: str) -> str:
    for value in values:
        if value in text:
            text = _masked_spans(text, [found.span() for found in re.finditer(re.escape(value), text)], value, mask)
    # One value in several forms begins alike: what is left of it is as much as any of them tells.
    left: dict[int, int] = {}
    for value in values:
        least = _telltale(value)
        begin = text.find(value[:least]) if len(value) > least else -1
        while begin >= 0:
            size = next((n for n in range(least, len(value)) if text[begin + n : begin + n + 1] != value[n]), 0)
            left[begin] = max(left.get(begin, 0), size)
            begin = text.find(value[:least], begin + 1)
    told, end = "", 0
    for begin, size in sorted(left.items()):
        told += text[end:begin] + mask if size and begin >= end else ""
        end = max(end, begin + size) if size else end
    return told + text[end:]


@lru_cache(maxsize=4096)
def _telltale(value: str) -> int:
    """How long a beginning of a value tells that it is one: three quarters, unless these are letters alone or a number
    that may be another."""
    least = max(_SHORTEST_TELLTALE, ceil(len(value) * 3 / 4))
    begin = value[:least]
    is_number = not any(map(str.isalpha, begin)) and sum(map(str.isdigit, begin)) < _LONG_NUMBER
    return _TELLTALE if is_number or begin.isalpha() else min(_TELLTALE, least)


def _masked_spans(text: str, spans: Iterable[tuple[int, int]], value: str, mask: str) -> str:
    """`text` with a value masked that was found there, but not where it is a part of something else."""
    by_chance = _is_part_by_chance(value)
    told, end = "", 0
    for start, stop in spans:
        if start >= end and not (by_chance and not _stands_alone(text, start, stop)):
            told += text[end:start] + mask
            end = stop
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
        words = _words(value)
        # Most have not all words of one, and to look for them in their order takes longer.
        if words and all(word in text for word in words):
            text = _masked_spans(text, [found.span() for found in _phrase(value).finditer(text)], value, mask)
    joined = _BREAK.sub("", text)
    if joined == text:
        return text
    parted = [value for value in values if len(value) >= _SHORTEST_PARTED and value in joined]
    places: list[int] = []
    end = 0
    for gap in _BREAK.finditer(text) if parted else ():
        places += range(end, gap.start())
        end = gap.end()
    places += range(end, len(text))
    spans = sorted(
        (places[one.start()], places[one.end() - 1] + 1, value)
        for value in parted
        for one in re.finditer(re.escape(value), joined)
    )
    told, end = "", 0
    for start, stop, value in spans:
        if _is_part_by_chance(value) and not _stands_alone(text, start, stop):
            continue
        if start >= end:
            told += text[end:start] + mask
        end = max(end, stop)
    return told + text[end:]


# A key in a file is a value for each of its lines, and each is looked for in three dozen forms.
@lru_cache(maxsize=4096)
def _words(value: str) -> tuple[str, ...]:
    words = value.split()
    return tuple(words) if len(words) > 1 else ()


@lru_cache(maxsize=256)
def _phrase(value: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, value.split())))


# In letters of another size a shorter one may be the name of something, and so may one without digits and spaces.
_SHORTEST_IN_CASE: Final = 12
# Shorter forms are found in pictures by chance.
_SHORTEST_ENCODED: Final = 8
# Each is looked for in three dozen forms, in every text. Of what is beyond that, only the value itself is.
_MOST_VALUES: Final = 50
_MOST_CHARACTERS: Final = 10_000
# What stays as it is where others are escaped: nothing; `/`, as in Python; as in JavaScript, of a part and of a whole;
# as in clients of HTTP, of a path and of a query.
_UNQUOTED: Final = ("", "/", "!*'()", ";/?:@&=+$,#!*'()", "/!$&'()*+,;=:@", "/?!$&'()*+,;=:@")
_PERCENT: Final = re.compile("%[0-9A-F]{2}")
_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")
# What programs put before each byte that they write as two digits, and between these.
_BYTES: Final = (("", ":"), ("", " "), ("%", "%"), ("\\x", "\\x"))


def all_forms(values: Iterable[str]) -> tuple[str, ...]:
    """The forms of all values, the longest first, since one may be part of another.

    What is a form of another value is not written a second time: no form is shorter than its value.

    >>> {"a&b c", "a%26b+c"} <= set(all_forms(["a&b c"]))
    True
    """
    known: dict[str, None] = {}
    written, left = 0, _MOST_CHARACTERS
    for value in sorted(dict.fromkeys(values), key=len):
        if value in known:
            continue
        written, left = written + 1, left - len(value)
        known |= dict.fromkeys(forms_of(value) if written <= _MOST_VALUES and left >= 0 else (value,))
    return tuple(sorted(known, key=len, reverse=True))


def forms_of(value: str) -> tuple[str, ...]:
    """A value as it stands in a text, in an address, in JSON inside a text, in code, in markup, in letters of another
    size, and in base64, base32 and hex; itself first."""
    return tuple(dict.fromkeys(_forms(value)))


def _forms(value: str) -> Iterator[str]:
    yield value
    is_odd = any(map(str.isalpha, value)) and any(each.isdigit() or each.isspace() for each in value)
    if len(value) >= _SHORTEST_IN_CASE and is_odd:
        yield from (value.upper(), value.lower())
    data = value.encode("utf-8", "surrogatepass")
    yield from _quoted(data)
    for is_ascii in (True, False):
        inside = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        # Once more for JSON that is a text in JSON.
        signed = inside.replace("/", "\\/")
        yield from (inside, signed, *(json.dumps(each, ensure_ascii=is_ascii)[1:-1] for each in (inside, signed)))
    for shown in (repr(value)[1:-1], repr(data)[2:-1]):
        yield from (shown, json.dumps(shown)[1:-1])
    yield from _marked_up(value)
    yield from (form for form in _encoded(data) if len(form) >= _SHORTEST_ENCODED)


def _quoted(data: bytes) -> Iterator[str]:
    # Slow to load, and needed only where a value is known.
    from urllib.parse import quote

    in_paths = dict.fromkeys(quote(data, safe=kept) for kept in _UNQUOTED)
    for quoted in dict.fromkeys(form for each in in_paths for form in (each, each.replace("%20", "+"))):
        yield quoted
        if "%" in quoted:
            # With escapes in small letters, in these as a whole, and each as an address in an address.
            for form in dict.fromkeys((quoted, _PERCENT.sub(lambda found: found[0].lower(), quoted), quoted.lower())):
                yield from (form, form.replace("%", "%25"))


def _marked_up(value: str) -> Iterator[str]:
    from html import escape

    whole = escape(value)
    # As XML writes quotes, and as others leave them.
    yield from (whole, whole.replace("&#x27;", "&apos;"), whole.replace("&#x27;", "'"), escape(value, quote=False))


def _encoded(data: bytes) -> Iterator[str]:
    for digits in (data.hex(" "), data.hex(" ").upper()):
        yield digits.replace(" ", "")
        yield from (first + digits.replace(" ", between) for first, between in _BYTES)
    # Alone, and as the part of something longer, where it may begin at any of three places of a group.
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        begin, end = -(-8 * before // 6), 8 * (before + len(data)) // 6
        for form in (whole[begin:end], whole[begin:]):
            yield form
            yield form.translate(_FOR_ADDRESSES)
    yield from _in_base32(data)


def _in_base32(data: bytes) -> Iterator[str]:
    alone = base64.b32encode(data).decode()
    yield from (alone, alone.lower(), alone.rstrip("=").lower())
    # As the part of something longer, at any of five places, as it is mostly written.
    for before in range(5):
        whole = base64.b32encode(bytes(before) + data).decode().rstrip("=")
        begin, end = -(-8 * before // 5), 8 * (before + len(data)) // 5
        yield from (whole[begin:end], whole[begin:])
