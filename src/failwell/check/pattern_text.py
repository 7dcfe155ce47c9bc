"""A text that a pattern matches, written from the pattern itself, part by part.

A pattern of a schema is a peer's program: it is parsed here, and never run. Whoever uses what comes of it holds it
against the schema.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

_CATEGORIES: Final = {"DIGIT": "7", "NOT_DIGIT": "x", "SPACE": " ", "NOT_SPACE": "x", "WORD": "x", "NOT_WORD": "-"}
_TRIED: Final = "xq7_-A ."
_MOST_TIMES: Final = 64
_LONGEST: Final = 4_000
# JSON Schema has the regular expressions of JavaScript, whose named groups look like this.
_NAMED_GROUP: Final = re.compile(r"\(\?<(?![=!])")


class NotWritten(Exception):
    """A pattern of which no text could be written."""


def matching(pattern: str) -> str:
    r"""A text for a pattern; it raises `NotWritten`.

    >>> matching(r"^bk_[0-9]{1,6}$"), matching(r"^(GB|FR)\d{2}[^a-w]?$"), matching(r"(?:a|b)+\.txt")
    ('bk_9', 'GB77x', 'a.txt')
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            return _written(_parser.parse(_NAMED_GROUP.sub("(?P<", pattern)), {})
    except (re.error, RecursionError, OverflowError, KeyError):
        raise NotWritten from None


def _written(parts: Iterable[tuple[Any, Any]], groups: dict[int, str]) -> str:
    """The first text that each part allows."""
    text = ""
    for kind, value in parts:
        name = str(kind)
        if name == "LITERAL":
            text += chr(value)
        elif name == "NOT_LITERAL":
            text += _other_than([(value, value)])
        elif name == "ANY":
            text += "x"
        elif name == "IN":
            text += _member(value)
        elif name == "BRANCH":
            text += _written(value[1][0], groups)
        elif name == "SUBPATTERN":
            inner = _written(value[-1], groups)
            groups[value[0]] = inner
            text += inner
        elif name == "ATOMIC_GROUP":
            text += _written(value, groups)
        elif name == "GROUPREF":
            text += groups[value]
        elif name.endswith("_REPEAT"):
            # As seldom as it may be, but once rather than not at all.
            least, most, part = value
            text += _written(part, groups) * min(max(least, 1), most, _MOST_TIMES)
        elif name not in ("AT", "ASSERT", "ASSERT_NOT"):
            raise NotWritten
        if len(text) > _LONGEST:
            raise NotWritten
    return text


def _member(items: list[tuple[Any, Any]]) -> str:
    """A character of a class: the last of its first range, which is the least likely to be used."""
    ranges: list[tuple[int, int]] = []
    for kind, value in items:
        name = str(kind)
        if name == "CATEGORY":
            found = _CATEGORIES[str(value).removeprefix("CATEGORY_")]
            ranges.append((ord(found), ord(found)))
        elif name != "NEGATE":
            ranges.append(value if name == "RANGE" else (value, value))
    return _other_than(ranges) if str(items[0][0]) == "NEGATE" else chr(ranges[0][1])


def _other_than(ranges: list[tuple[int, int]]) -> str:
    for each in _TRIED:
        if not any(low <= ord(each) <= high for low, high in ranges):
            return each
    raise NotWritten


__all__ = ["NotWritten", "matching"]
