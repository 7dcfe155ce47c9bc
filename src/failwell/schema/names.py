"""The names of arguments: which there are by a schema, which restrain a call, which a header repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import snake

from .nodes import known_names, open_ended


def has_names(arguments: Mapping[str, Any], schema: object) -> bool:
    """Whether the schema has all the arguments, or allows others: quickly, since most calls have no others."""
    try:
        if arguments.keys() <= schema["properties"].keys():  # type: ignore[index]
            return True
    except (KeyError, TypeError, AttributeError):
        return True
    return open_ended(schema) or not unknown_names(arguments, schema)


def unknown_names(arguments: Mapping[str, Any], schema: object) -> list[str]:
    """The arguments of which the schema does not speak."""
    known = known_names(schema)
    return [name for name in arguments if name not in known]


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
