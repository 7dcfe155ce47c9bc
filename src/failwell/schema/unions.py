"""Unions of which no branch fits: the branch that was meant, or what the branches take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from failwell.model import Path, shown

from .nodes import branches_of, known_names, options_of, types_of
from .refs import Schema
from .rule_table import FORMATS, RULES

if TYPE_CHECKING:
    from .problems import BrokenRule

_MOST_NAMES: Final = 3
_MOST_OPTIONS: Final = 5
_MOST_LOOKED_AT: Final = 100
_LONGEST: Final = 160
# Broken at the value itself, these say that the branch is about something else.
_OTHER_KIND: Final = frozenset({"type", "const", "enum"})
_OTHER_TAG: Final = frozenset({"const", "enum"})
_OTHER_NAMES: Final = frozenset({"required", "additionalProperties"})

Branch = Sequence["BrokenRule"]


def meant(branches: Sequence[Branch], path: Path, names: Sequence[int] = ()) -> int | None:
    """The branch whose rules were meant to be kept, by what is broken of each; None where two are as likely.

    names: how many of the names that were sent each branch has, where that is known.
    """
    left = [index for index, broken in enumerate(branches) if not _is_other(broken, path)]
    for unlike in _UNLIKE:
        if len(left) > 1:
            left = [index for index in left if not unlike(branches[index])] or left
    if len(left) > 1 and len(names) == len(branches):
        most = max(names[index] for index in left)
        left = [index for index in left if names[index] == most > 0]
    return left[0] if len(left) == 1 else None


def _is_other(broken: Branch, path: Path) -> bool:
    return any(each.path == path and each.rule in _OTHER_KIND for each in broken)


def _has_other_tag(broken: Branch) -> bool:
    return any(each.rule in _OTHER_TAG for each in broken)


def _has_other_names(broken: Branch) -> bool:
    return any(each.rule in _OTHER_NAMES for each in broken)


# What speaks against a branch, the stronger first.
_UNLIKE: Final[tuple[Callable[[Branch], bool], ...]] = (_has_other_tag, _has_other_names)


def fitting_names(branch: Schema, value: object) -> int:
    """How many of the names in a value a branch has."""
    known = known_names(branch)
    return sum(name in known for name in islice(value, _MOST_LOOKED_AT)) if isinstance(value, Mapping) else 0


def forms(node: Schema, root: Schema, received: str) -> str:
    """What the branches of a union take, in a few words; nothing where that is long, or no answer.

    >>> forms({"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a", "b"]}]}, {}, "string")
    'integer | object with a and b'
    """
    found = [form for branch in branches_of(node, root) for form in _forms(branch) or [""]]
    said = " | ".join(dict.fromkeys(found))
    return said if all(found) and received not in found and len(said) <= _LONGEST else ""


def _forms(branch: Schema) -> Collection[str]:
    if options := options_of(branch):
        return [shown(option) for option in options] if len(options) <= _MOST_OPTIONS else []
    text = RULES[FORMATS.get(branch.get("format", ""), "not")].expected
    if text is not None and "{" not in text:
        return [text]
    needed = branch.get("required")
    types = types_of(branch) or (["object"] if needed else [])
    if types == ["object"] and isinstance(needed, list) and 0 < len(needed) <= _MOST_NAMES:
        return [f"object with {' and '.join(map(str, needed))}"]
    return types
