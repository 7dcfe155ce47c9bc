"""Whether a pattern can be trusted with hostile text: bounded everywhere, and unambiguous where it repeats."""

from __future__ import annotations

import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

MAX_REPEAT: Final = 1000
MAX_WAYS: Final = 4_000
"""How many ways to match one stretch of text a pattern may try before it gives up."""


def checked(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """The compiled pattern; ValueError with the reason and the remedy when it could run for ever.

    >>> checked(r"corp-[0-9]{6}").pattern
    'corp-[0-9]{6}'
    """
    source = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    try:
        compiled = re.compile(pattern)
        tree = parser.parse(source, compiled.flags & ~re.UNICODE)
    except (re.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"The pattern {source!r} is not a regular expression: {problem}.") from None
    if tree.getwidth()[0] == 0:
        raise ValueError(f"The pattern {source!r} can match nothing at all; it would mask the gaps between letters.")
    if compiled.search("[redacted]") is not None:
        raise ValueError(f"The pattern {source!r} matches the mask itself; make it more particular.")
    ways = _ways(tree, source)
    if ways > MAX_WAYS:
        raise ValueError(
            f"The pattern {source!r} can match the same text in {ways:.0e} ways, so hostile text could stall it; "
            "make its repetitions shorter or put something fixed between them."
        )
    return compiled


def _ways(items: Any, source: str) -> float:
    """An upper bound on the ways to match one stretch of text."""
    ways = 1.0
    for node, value in items:
        if node in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, body = value
            if most > MAX_REPEAT:
                raise ValueError(
                    f"The pattern {source!r} repeats something without an end; write a limit such as {{0,200}} "
                    "instead of * or +."
                )
            inner = _ways(body, source)
            ways *= (most - least + 1) * (inner ** min(most, 64) if inner > 1 else 1.0)
        elif node is op.GROUPREF:
            raise ValueError(f"The pattern {source!r} refers back to a group, which takes too long on hostile text.")
        elif node is op.BRANCH:
            ways *= sum(_ways(branch, source) for branch in value[1])
        elif node is op.SUBPATTERN:
            ways *= _ways(value[-1], source)
        elif node in (op.ASSERT, op.ASSERT_NOT):
            ways *= _ways(value[1], source)
        elif node is op.ATOMIC_GROUP:
            ways *= _ways(value, source)
        elif node is op.GROUPREF_EXISTS:
            ways *= sum(_ways(branch, source) for branch in value[1:] if branch)
        if ways > 1e30:
            return ways
    return ways
