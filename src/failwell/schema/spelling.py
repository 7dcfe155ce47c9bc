"""The name somebody meant: for arguments, options and tools that were misspelt.

Near is good enough for a question (`Did you mean …?`); only a certain match may change a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

# Longer than any name that a person gave; whoever sends more is not misspelling one.
LONGEST: Final = 100
_MOST: Final = 2_000
_ENOUGH: Final = 0.7

# Between words a separator is spelling; between digits, and in front, it is a sign or a point.
_SEPARATORS: Final = re.compile(r"(?<=[^\W\d_])[\s_./-]+(?=\w)|(?<=\w)[\s_./-]+(?=[^\W\d_])")
_DIGITS: Final = re.compile(r"\d+")


def normal(word: str) -> str:
    """A name without what people disagree about: case, and how words are put together.

    >>> normal("User-ID"), normal("userId"), normal("user_id"), normal("-1")
    ('userid', 'userid', 'userid', '-1')
    """
    return word.casefold() if word.isalnum() else _SEPARATORS.sub("", word.strip().strip("_")).casefold()


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant; None when nothing is near.

    >>> nearest("limt", ["offset", "limit"]), nearest("frobnicate", ["offset", "limit"])
    ('limit', None)
    """
    return next(iter(ranked(word, words, _ENOUGH)), None)


def ranked(word: str, words: Iterable[str], enough: float = 0.0, most: int = 1) -> list[str]:
    """The nearest words, the best first."""
    if not isinstance(word, str) or len(word) > LONGEST:
        return []
    key, keys = normal(word), _keys(words)
    found = [each for each, other in keys.items() if other == key]
    # One letter of two is no typing mistake.
    found += [each for each, other in keys.items() if min(len(key), len(other)) > 2 and one_edit(key, other)]
    if len(found) < most:
        from difflib import get_close_matches

        left: dict[str, list[str]] = {}
        for each in keys.keys() - {*found}:
            left.setdefault(keys[each], []).append(each)
        for other in get_close_matches(key, left, n=most, cutoff=enough) if left else ():
            found += left[other]
    return found[:most]


def is_certain(word: str, match: str, words: Iterable[str] = ()) -> bool:
    """Whether `word` can only have meant `match`, among all the `words` there are.

    Equal but for case and separators, or one typing mistake apart, and nothing else as near. A mistake in a digit is
    none: `v1` is not a misspelt `v2`.

    >>> is_certain("limt", "limit"), is_certain("lst", "list"), is_certain("us-east-1", "us-east-2")
    (True, True, False)
    """
    if len(word) > LONGEST or len(match) > LONGEST:
        return False
    key, target = normal(word), normal(match)
    others = [other for each, other in _keys(words).items() if each != match]
    if key == target:
        return key not in others
    return (
        (min(len(key), len(target)) >= 4 or _lacks_one_inside(*sorted((key, target), key=len)))
        and _DIGITS.findall(key) == _DIGITS.findall(target)
        and one_edit(key, target)
        and not any(key == other or one_edit(key, other) for other in others)
    )


def _lacks_one_inside(short: str, long: str) -> bool:
    """Whether a word of three letters is one of four without one inside: `lst` is `list`, `one` is not `none`."""
    return len(short) == 3 and len(long) == 4 and (short[0], short[-1]) == (long[0], long[-1])


def one_edit(a: str, b: str) -> bool:
    """Whether one insertion, deletion, substitution or swap of neighbours turns one word into the other.

    >>> one_edit("destory", "destroy"), one_edit("destory", "destroys")
    (True, False)
    """
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest, other = a[start:], b[start:]
    if len(rest) != len(other):
        return rest[1:] == other or rest == other[1:]
    return rest[1:] == other[1:] or (rest[2:] == other[2:] and rest[:2] == other[:2][::-1])


def _keys(words: Iterable[str]) -> dict[str, str]:
    return {each: normal(each) for each in islice(words, _MOST) if isinstance(each, str) and len(each) <= LONGEST}
