"""Whether a validator that reads values as the types it wants could take arguments that break the schema it lists.

Pydantic does, unless it is told not to be lax, and the SDKs for Python decode texts that are JSON: a tool gets 5 where
"5" was sent. What is not understood here counts as taken, the opposite of `certainty`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .certainty import CHECKS
from .nodes import IS, properties_of, types_of
from .refs import DEEPEST, Schema, targets

_MOST: Final = 2_000
_LONGEST: Final = 20_000
_YES_OR_NO: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"})
# Moments and spans may be numbers: seconds.
_TEMPORAL: Final = frozenset({"date", "date-time", "time", "duration"})


def _numbers(value: object, node: Schema) -> Iterator[object]:
    if isinstance(value, bool):
        yield int(value)
    elif isinstance(value, str) and len(value) <= _LONGEST:
        for read in (int, float):
            try:
                yield read(value)
            except ValueError:
                continue
            return


def _whole_numbers(value: object, node: Schema) -> Iterator[object]:
    return (each for each in _numbers(value, node) if not isinstance(each, float) or each.is_integer())


def _booleans(value: object, node: Schema) -> Iterator[object]:
    if isinstance(value, str) and value.strip().casefold() in _YES_OR_NO:
        yield value.strip().casefold() in ("true", "t", "yes", "y", "on", "1")
    elif isinstance(value, (int, float)) and value in (0, 1):
        yield bool(value)


def _strings(value: object, node: Schema) -> Iterator[object]:
    if isinstance(value, (int, float)) and node.get("format") in _TEMPORAL:
        yield str(value)


def _decoded(value: object, node: Schema) -> Iterator[object]:
    if isinstance(value, str) and len(value) <= _LONGEST:
        try:
            yield json.loads(value)
        except (ValueError, RecursionError):
            return


_READINGS: Final[dict[str, Callable[[object, Schema], Iterator[object]]]] = {
    "integer": _whole_numbers,
    "number": _numbers,
    "boolean": _booleans,
    "string": _strings,
    "array": _decoded,
    "object": _decoded,
    "null": _decoded,
}
# A set takes the same thing twice.
_HELD: Final = {word: check for word, check in CHECKS.items() if word != "uniqueItems"}
_UNIONS: Final[dict[str, Callable[[Iterator[bool]], bool]]] = {"anyOf": any, "oneOf": any, "allOf": all}


class _Look:
    def __init__(self, root: Schema) -> None:
        self.root = root
        self.left = _MOST

    def takes(self, value: object, node: object, depth: int = 0) -> bool:
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            return True
        if not isinstance(node, Mapping):
            return node is not False
        try:
            return any(self._allows(each, node, depth) for each in _readings(value, node))
        except Exception:
            # A schema that is not one.
            return True

    def _allows(self, value: object, node: Schema, depth: int) -> bool:
        return (
            all(check(value, node[word]) for word, check in _HELD.items() if word in node)
            and all(
                rule(self.takes(value, branch, depth + 1) for branch in node[word])
                for word, rule in _UNIONS.items()
                if word in node
            )
            and all(self.takes(value, each, depth + 1) for each in targets(node, self.root))
            and all(self.takes(item, below, depth + 1) for item, below in _parts(value, node))
        )


def _readings(value: object, node: Schema) -> Iterator[object]:
    """The value in each type that the schema names, where it has it or can be read as it."""
    names = types_of(node)
    if not names:
        yield value
    for name in names:
        if IS[name](value):
            yield value
        else:
            yield from (each for each in _READINGS[name](value, node) if IS[name](each))


def _parts(value: object, node: Schema) -> Iterator[tuple[object, object]]:
    if isinstance(value, list):
        first = node.get("prefixItems", [])
        for place, item in enumerate(value):
            yield item, first[place] if place < len(first) else node.get("items", True)
    elif isinstance(value, dict):
        known = properties_of(node)
        for key, item in value.items():
            yield item, known[key] if key in known else node.get("additionalProperties", True)


def may_take(arguments: Mapping[str, Any], schema: Schema) -> bool:
    """Whether a lax validator may have taken these arguments, so that the tool has run.

    >>> schema = {"properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    >>> [may_take(each, schema) for each in ({"amount": "5"}, {"amount": "much"}, {})]
    [True, False, False]
    """
    return _Look(schema).takes(dict(arguments), schema)
