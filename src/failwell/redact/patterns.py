"""Whether a pattern can be trusted with hostile text: bounded everywhere, and unambiguous where it repeats."""

from __future__ import annotations

import math
import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

MAX_REPEAT: Final = 1000
MAX_WAYS: Final = 4_000
"""How many ways to match one stretch of text a pattern may try before it gives up."""


MAX_STEPS: Final = 4_000_000_000
"""How many from all places of one text, where it is known how long that is: few of them are really tried, so it takes
seconds at the very most."""


def checked(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """The compiled pattern of what is to be masked; ValueError with the reason and the remedy when it could run for
    ever.

    >>> checked(r"corp-[0-9]{6}").pattern
    'corp-[0-9]{6}'
    """
    source = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    compiled, tree = _parsed(pattern, source)
    if tree.getwidth()[0] == 0:
        raise ValueError(f"The pattern {source!r} can match nothing at all; it would mask the gaps between letters.")
    if compiled.search("[redacted]") is not None:
        raise ValueError(f"The pattern {source!r} matches the mask itself; make it more particular.")
    return timely(compiled)


def timely(pattern: str | re.Pattern[str], longest: int | None = None) -> re.Pattern[str]:
    """The compiled pattern; ValueError with the reason and the remedy when hostile text could stall it.

    longest: how many characters a text has at most, where that is known. A repetition without an end ends there; where
    it is not known, there must be none.

    >>> timely("quota .* exceeded", 1_000).pattern
    'quota .* exceeded'
    """
    source = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    compiled, tree = _parsed(pattern, source)
    ways = _ways(tree, source, longest)
    if ways > (MAX_WAYS if longest is None else MAX_STEPS / longest):
        raise ValueError(
            f"The pattern {source!r} can match the same text in {ways:.0e} ways, so hostile text could stall it; "
            "make its repetitions shorter or put something fixed between them."
        )
    return compiled


def _parsed(pattern: str | re.Pattern[str], source: str) -> tuple[re.Pattern[str], Any]:
    try:
        compiled = re.compile(pattern)
        return compiled, parser.parse(source, compiled.flags & ~re.UNICODE)
    except (re.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"The pattern {source!r} is not a regular expression: {problem}.") from None


def _ways(items: Any, source: str, longest: int | None) -> float:
    """An upper bound on the ways to match one stretch of text."""
    ways = 1.0
    for node, value in items:
        if node in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, body = value
            if longest is not None:
                most = max(min(most, longest), least)
            elif most > MAX_REPEAT:
                raise ValueError(
                    f"The pattern {source!r} repeats something without an end; write a limit such as {{0,200}} "
                    "instead of * or +."
                )
            inner = _ways(body, source, longest)
            ways *= (most - least + 1) * _power(inner, min(most, 64))
        elif node is op.GROUPREF:
            raise ValueError(f"The pattern {source!r} refers back to a group, which takes too long on hostile text.")
        elif node is op.BRANCH:
            ways *= sum(_ways(branch, source, longest) for branch in value[1])
        elif node is op.SUBPATTERN:
            ways *= _ways(value[-1], source, longest)
        elif node in (op.ASSERT, op.ASSERT_NOT):
            ways *= _ways(value[1], source, longest)
        elif node is op.ATOMIC_GROUP:
            ways *= _ways(value, source, longest)
        elif node is op.GROUPREF_EXISTS:
            ways *= sum(_ways(branch, source, longest) for branch in value[1:] if branch)
        if ways > 1e30:
            return ways
    return ways


def _power(ways: float, times: int) -> float:
    try:
        return ways**times
    except OverflowError:
        return math.inf
