"""Which arguments there are, as far as a schema says it in so many words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import snake

from .problems import NO_PROBLEMS, BrokenRule, CheckedCall, Problems, told
from .refs import REFERENCES

# Keywords by which a schema gets properties that are not under `properties`.
_ELSEWHERE: Final = frozenset({*REFERENCES, "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"})


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
    """Which restraint an argument of this name promises: `trial`, `less` or `confirmed`; None for any other."""
    return next((kind for word in snake(name[:200]).split("_") if (kind := _RESTRAINTS.get(word))), None)


def open_ended(schema: object) -> bool:
    """Whether the schema does not say which arguments there are."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return True
    more = schema.get("additionalProperties")
    return more is True or isinstance(more, Mapping) or not _ELSEWHERE.isdisjoint(schema)


def has_names(arguments: Mapping[str, Any], schema: object) -> bool:
    """Whether the schema has all the arguments, or allows others: quickly, since most calls have no others."""
    try:
        return arguments.keys() <= schema["properties"].keys() or open_ended(schema)  # type: ignore[index]
    except (KeyError, TypeError, AttributeError):
        return True


def strange_names(call: CheckedCall) -> Problems:
    """The arguments that the schema does not have."""
    if has_names(call.arguments, call.schema):
        return NO_PROBLEMS
    unknown = [name for name in call.arguments if name not in call.schema["properties"]]
    return told([BrokenRule("additionalProperties", (), limit=unknown, node=call.schema)], call)
