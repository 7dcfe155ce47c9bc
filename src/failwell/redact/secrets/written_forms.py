"""How programs write a value that is known word for word: in addresses, JSON, code, markup, base64, base32 and hex.

The one answer for whatever is masked by its value, whoever was given it: what one place knows, the others know as well.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

# In letters of another size a shorter one may be the name of something.
_SHORTEST_IN_CASE: Final = 12
# Shorter forms are found in pictures by chance.
_SHORTEST_ENCODED: Final = 8
# Each is looked for in three dozen forms, in every text. Of what is beyond that, only the value itself is.
_MOST_VALUES: Final = 50
_MOST_CHARACTERS: Final = 10_000
# What stays as it is where others are escaped: nothing; `/`, as in Python; as in JavaScript, of a part and of a whole;
# as in clients of HTTP, of a path and of a query.
_UNQUOTED: Final = ("", "/", "!*'()", ";/?:@&=+$,#!*'()", "/!$&'()*+,;=:@", "/?!$&'()*+,;=:@")
_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")
# What programs put before each byte that they write as two digits, and between these.
_BYTES: Final = (("", ":"), ("", " "), ("%", "%"), ("\\x", "\\x"))


def all_forms(values: Iterable[str]) -> tuple[str, ...]:
    """The forms of all values, the longest first, since one may be part of another.

    What is a form of another value is not written a second time: no form is shorter than its value.

    >>> all_forms(["a&b c"])[-1], "a%26b+c" in all_forms(["a&b c"])
    ('a&b c', True)
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
    if len(value) >= _SHORTEST_IN_CASE and _is_odd(value):
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


def _is_odd(value: str) -> bool:
    """Whether nobody says it by chance in letters of another size: letters with digits, or several words."""
    return any(map(str.isalpha, value)) and any(each.isdigit() or each.isspace() for each in value)


def _quoted(data: bytes) -> Iterator[str]:
    # Slow to load, and needed only where a value is known.
    from urllib.parse import quote

    in_paths = dict.fromkeys(quote(data, safe=kept) for kept in _UNQUOTED)
    for quoted in dict.fromkeys(form for each in in_paths for form in (each, each.replace("%20", "+"))):
        yield quoted
        if "%" in quoted:
            # With escapes in small letters, in these as a whole, and each as an address in an address.
            for form in dict.fromkeys((quoted, _ESCAPE.sub(_in_small, quoted), quoted.lower())):
                yield from (form, form.replace("%", "%25"))


def _in_small(found: re.Match[str]) -> str:
    return found[0].lower()


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
