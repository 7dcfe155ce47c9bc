"""A first look: whether a text may hold anything for the guard to do. Mostly it does not, and that must be cheap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from typing import Final

from failwell.redact.fence import MARKS, WORDS

from .rows import ROWS
from .secret_names import SHORT, STEMS, without_class

# How often a character comes up among a thousand of JSON with English in it; what is not here hardly does.
_OFTEN: Final = {
    letter: count
    for count, letters in {
        3: "(=",
        5: "k-[",
        6: ".",
        8: "vw_/{",
        9: "b",
        10: "y",
        11: "f",
        12: "g",
        18: "pm",
        20: "uh",
        25: ",",
        28: "dl",
        30: "c:",
        45: "snio",
        50: "ra",
        55: "t",
        80: 'e "',
    }.items()
    for letter in letters
}
_RARE: Final = 10
# A short name is a whole word, or stands before one of those that `secret_names` overlooks.
_TAIL: Final = r"(?:(?![a-z])|(?=code|conf|repeat|again|new|old|curr|hash|value|raw|plain|text|data|base|pem|uniq|v))"
# What is a name in a query, and letters written as numbers.
_MORE: Final = ("sig=", "sas=", "code=", "%2", "%3", "%4", "%5", "%6", "%7", "\\u00")


Search = Callable[[str], object]


def searches(words: Iterable[str], whole: Iterable[str] = ()) -> tuple[Search, ...]:
    """Searches that together find every one of the words.

    Python looks for a character far faster than for a word. So each word is looked for by a rare character in it, and
    the words with the same one share a search; all characters that hardly ever come up share one.
    """
    wanted = {(word, "") for word in words if word.isascii()} | {(word, _TAIL) for word in whole}
    # A word with another one in it is found with the other; the short ones are looked for first, and drop the most.
    plain: list[str] = []
    for word in sorted((word for word, tail in wanted if not tail), key=len):
        if not any(other in word for other in plain):
            plain.append(word)
    left = {(word, "") for word in plain}
    left |= {
        (word, tail) for word, tail in wanted if tail and not any(other in word and other != word for other in plain)
    }
    rare: list[str] = []
    common: list[str] = []
    while left:
        # The character that does the most for what it costs.
        found = Counter(chain.from_iterable(set(word) for word, _ in left))
        letter = max(sorted(found), key=lambda letter: found[letter] / (2 + _OFTEN.get(letter, 0)) ** 1.5)
        having = sorted(pair for pair in left if letter in pair[0])
        left.difference_update(having)
        row = f"{re.escape(letter)}(?:{'|'.join(_around(letter, *one) for one in having)})"
        (rare if _OFTEN.get(letter, 0) <= _RARE else common).append(row)
    return tuple(re.compile(pattern).search for pattern in ("|".join(rare), *common) if pattern)


def _around(letter: str, word: str, tail: str) -> str:
    at = word.index(letter)
    # What follows the character first: a wrong one is told by one comparison, a wrong beginning by looking back.
    return re.escape(word[at + 1 :]) + (f"(?<={re.escape(word)})" if at else "") + tail


@cache
def _all(fences: bool) -> tuple[Search, ...]:
    posing = (*WORDS, *MARKS) if fences else ()
    return searches(chain(STEMS, _MORE, posing, *(row.words for row in ROWS.values())), SHORT)


def suspicious(lower: str, fences: bool = True) -> bool:
    """Whether a word is in the text, in ASCII and in lower case, that one of the rules begins with."""
    lower = without_class(lower)
    # A plain loop: this is asked of every text, and it is the fastest way to ask.
    for search in _all(fences):  # noqa: SIM110
        if search(lower):
            return True
    return False
