"""The names of arguments: which there are by a schema, which restrain a call, which a header repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from failwell.model import snake

from .nodes import known_names, open_ended, properties_of
from .refs import DEEPEST, Schema


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


_HEADER: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_HEADER_TYPES: Final = frozenset({"string", "integer", "boolean"})


def header_arguments(schema: Schema) -> list[tuple[tuple[str, ...], str, str]]:
    """The arguments that a request over HTTP repeats in a header: path, name of the header, type.

    None if the schema breaks the rules for them, since no client sends any then.

    >>> header_arguments({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
    [(('region',), 'Region', 'string')]
    """
    found = []
    names: set[str] = set()
    for path, node in _described(schema, ()):
        token, kind = node.get(_HEADER), node.get("type")
        if token is None:
            continue
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or kind not in _HEADER_TYPES:
            return []
        if token.lower() in names:
            return []
        names.add(token.lower())
        found.append((path, token, str(kind)))
    return found


def _described(node: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name, below in properties_of(node).items() if len(path) < DEEPEST else ():
        if isinstance(below, Mapping):
            yield (*path, str(name)), below
            yield from _described(below, (*path, str(name)))
