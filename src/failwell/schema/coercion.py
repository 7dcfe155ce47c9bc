"""What any server refuses: an argument that is missing or misspelt, or of a type that no server makes of what was sent.

Servers take more than their schemas say: "5" for 5, 1 for true, JSON in a text, null for nothing. They cut what is too
long, and many know options that they do not list. All that is theirs to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from failwell.model import snake

from .checked_call import BrokenRule, CheckedCall
from .nodes import branches_of, types_of

_LONGEST: Final = 20_000
# Words for a flag or for nothing.
_WORDS: Final = frozenset({*"true false t f yes no y n on off 1 0 null none".split(), ""})


def _is_number(value: object) -> bool:
    """Whether a number is written in a text, or one of the words for a flag or for nothing."""
    if not isinstance(value, str):
        return isinstance(value, bool)
    if value.strip().lower() in _WORDS or len(value) > _LONGEST:
        return True
    try:
        float(value.replace(",", ""))
    except ValueError:
        return False
    return True


def _is_scalar(value: object) -> bool:
    return isinstance(value, (bool, int, float))


_COERCED: Final[dict[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("integer", "number"), _is_number),
    **dict.fromkeys(("boolean", "null"), lambda value: _is_scalar(value) or _is_number(value)),
    **dict.fromkeys(("array", "object"), lambda value: isinstance(value, str)),
    "string": _is_scalar,
}


def is_refused(broken: BrokenRule, call: CheckedCall, *, is_misspelt: bool) -> bool:
    """Whether no server at all takes the argument that breaks this rule.

    is_misspelt: of names that the schema does not have, whether one is near to one that it has.
    """
    if broken.rule == "required":
        # Some list an argument as required that has a default, and do without it.
        return "default" not in broken.node
    if broken.rule == "additionalProperties":
        return is_misspelt or any(restraint(name) for name in broken.limit if isinstance(name, str))
    if broken.rule not in ("type", "anyOf") or broken.sent is None:
        return False
    types = [types_of(broken.node)] if broken.rule == "type" else map(types_of, branches_of(broken.node, call.schema))
    kinds = [*types]
    return all(kinds) and not any(_COERCED[name](broken.sent) for names in kinds for name in names)


# What whoever sends an argument with one of these words in its name counts on: that nothing is done in earnest, that
# less is done than without it, that something is done only when it is confirmed.
_RESTRAINTS: Final = {
    **dict.fromkeys(
        "dry dryrun simulate simulation preview safe readonly test validate draft noop rollback".split(), "trial"
    ),
    **dict.fromkeys("limit max maximum only until before".split(), "less"),
    **dict.fromkeys("confirm confirmed confirmation".split(), "confirmed"),
}


def restraint(name: str) -> str | None:
    """Which restraint an argument of this name promises: `trial`, `less` or `confirmed`; None for any other.

    A server that ignores such an argument does more than was asked for.
    """
    return next((kind for word in snake(name[:200]).split("_") if (kind := _RESTRAINTS.get(word))), None)
