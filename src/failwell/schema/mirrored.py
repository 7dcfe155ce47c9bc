"""Arguments that a request over HTTP repeats in its headers, by the word `x-mcp-header` of a tool's schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from .refs import Schema

_WORD: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
_DEEPEST: Final = 12


def header_arguments(schema: Schema) -> list[tuple[tuple[str, ...], str, str]]:
    """The arguments by their paths, each with the name of its header and its type; none if the schema breaks the rules
    for them, since nobody sends any then.

    >>> header_arguments({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
    [(('region',), 'Region', 'string')]
    """
    found = []
    names: set[str] = set()
    for path, node in _below(schema, ()):
        token, kind = node.get(_WORD), node.get("type")
        if token is None:
            continue
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or kind not in _TYPES or token.lower() in names:
            return []
        names.add(token.lower())
        found.append((path, token, str(kind)))
    return found


def _below(node: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    held = node.get("properties")
    for name, below in held.items() if isinstance(held, Mapping) and len(path) < _DEEPEST else ():
        if isinstance(below, Mapping):
            yield (*path, str(name)), below
            yield from _below(below, (*path, str(name)))
