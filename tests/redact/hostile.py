"""Texts made to keep the rules busy: the beginnings of what every rule looks for, again and again.

For each pattern one text that it matches is made from the pattern itself, so that a new rule is tried without anybody
thinking of it. Each beginning of that text, repeated, is a text in which the rule has something to do at every step
and never gets to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import failwell.redact.fence as fence
import failwell.redact.visibility as visible
from failwell.redact import assignments, looks, redactor, sentences
from failwell.redact import secret_rules as rules

_MODULES = (rules, assignments, looks, sentences, redactor, fence, visible)
_CANDIDATES = "a1=A:_-/. \"'x0+~\n,;<>[](){}@|\\$%&`"


def _chosen(items: Any, flags: int) -> str:
    """A character of a set."""
    pattern = []
    for node, value in items:
        if node is op.NEGATE:
            pattern.append(None)
        elif node is op.LITERAL:
            pattern.append({chr(value)})
        elif node is op.RANGE:
            pattern.append({chr(code) for code in range(value[0], min(value[1], value[0] + 200) + 1)})
        elif node is op.CATEGORY:
            pattern.append({each for each in _CANDIDATES if _in_category(each, value)})
    if pattern and pattern[0] is None:
        taken = set().union(*(each for each in pattern if each))
        return next((each for each in _CANDIDATES if each not in taken), "é")
    have = set().union(*(each for each in pattern if each)) or {"a"}
    return next((each for each in _CANDIDATES if each in have), min(have))


def _in_category(character: str, category: Any) -> bool:
    names = {
        op.CATEGORY_DIGIT: str.isdigit,
        op.CATEGORY_SPACE: str.isspace,
        op.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    }
    for name, test in names.items():
        if category is name:
            return bool(test(character))
    return not (
        character.isdigit()
        if category is op.CATEGORY_NOT_DIGIT
        else character.isspace()
        if category is op.CATEGORY_NOT_SPACE
        else character.isalnum() or character == "_"
    )


def _samples(items: Any, flags: int, pick: int) -> list[str]:
    """The parts of a text that the pattern matches, as far as that can be told without trying."""
    parts: list[str] = []
    for node, value in items:
        if node is op.LITERAL:
            parts.append(chr(value))
        elif node is op.NOT_LITERAL:
            parts.append("a" if chr(value) != "a" else "b")
        elif node is op.ANY:
            parts.append("a")
        elif node is op.IN:
            parts.append(_chosen(value, flags))
        elif node in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, body = value
            times = max(least, 1) if most else 0
            parts += _samples(body, flags, pick) * min(times, 40)
        elif node is op.SUBPATTERN:
            parts += _samples(value[-1], flags, pick)
        elif node is op.ATOMIC_GROUP:
            parts += _samples(value, flags, pick)
        elif node is op.BRANCH:
            parts += _samples(value[1][pick % len(value[1])], flags, pick)
        elif (node is op.ASSERT and value[0] < 0) or node is op.GROUPREF_EXISTS:
            parts += _samples(value[1], flags, pick)
    return parts


def _patterns() -> Iterator[str]:
    yield from (rule.source for rule in rules.PLACES.values())
    yield from (source for _, source in rules.SHAPES)
    yield from (rules.token(mark).pattern for mark in rules.MARKS.values())
    for module in _MODULES:
        for held in vars(module).values():
            for each in held if isinstance(held, tuple) else held.values() if isinstance(held, dict) else (held,):
                if isinstance(each, re.Pattern) or type(each).__name__ == "_Pattern":
                    yield each.pattern


def beginnings(picks: int = 4) -> list[str]:
    """Every beginning of a text for every rule."""
    found: dict[str, None] = {}
    for source in dict.fromkeys(_patterns()):
        tree = parser.parse(source)
        for pick in range(picks):
            parts = _samples(tree, tree.state.flags, pick)
            for end in range(1, len(parts) + 1):
                found["".join(parts[:end])] = None
    return list(found)
