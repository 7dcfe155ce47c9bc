"""Whether arguments that break the schema which a server lists could be taken all the same.

There are two grades of it. Pydantic reads values as the types it wants, unless it is told not to be lax, and the SDKs
for Python decode texts that are JSON: a tool gets 5 where "5" was sent. That is known to the letter. Of any server
nothing is known, and what one of them might read counts as taken: null for nothing, other capitals, "1,000", a name in
another spelling, and a number that is cut to its bounds.
What is not understood here counts as taken, the opposite of `certainty`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from failwell.model import FieldError

from .certainty import CHECKS
from .nodes import IS, known_names, properties_of, types_of
from .refs import DEEPEST, Schema, targets
from .spelling import LONGEST, normal

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
    """What Pydantic takes."""

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
            self._keeps(value, node)
            and all(
                rule(self.takes(value, branch, depth + 1) for branch in node[word])
                for word, rule in _UNIONS.items()
                if word in node
            )
            and all(self.takes(value, each, depth + 1) for each in targets(node, self.root))
            and all(self.takes(item, below, depth + 1) for item, below in _parts(value, node))
        )

    def _keeps(self, value: object, node: Schema) -> bool:
        return all(check(value, node[word]) for word, check in _HELD.items() if word in node)


def _is_written_number(value: object) -> bool:
    """Whether a text is a number to anybody, or one of the words for a flag or for nothing."""
    if not isinstance(value, str):
        return False
    if value.strip().lower() in _FLAGS or len(value) > _LONGEST:
        return True
    try:
        float(value.replace(",", ""))
    except ValueError:
        return False
    return True


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, float))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_FLAGS: Final = frozenset({*_YES_OR_NO, "null", "none", ""})
# What some server or other reads as each type: seconds for a time, 1 for true, JSON in a text; but no 5 for a list.
_HOPED: Final[dict[str, Callable[[object], bool]]] = {
    "integer": lambda value: isinstance(value, bool) or _is_written_number(value),
    "number": lambda value: isinstance(value, bool) or _is_written_number(value),
    "boolean": lambda value: _is_plain(value) or _is_written_number(value),
    "null": lambda value: _is_plain(value) or _is_written_number(value),
    "string": _is_plain,
    "array": _is_text,
    "object": _is_text,
}


def _among(value: object, options: list[Any]) -> bool:
    """Whether a value is one of the options to somebody: in other capitals, or by its number where all are texts."""
    if isinstance(value, str):
        return value.strip().casefold() in {str(option).casefold() for option in options}
    return CHECKS["enum"](value, options) or (_is_plain(value) and all(isinstance(each, str) for each in options))


# Bounds and lengths are none of them: who does not validate cuts to them, 500 to the 100 that are given at most.
_HOPED_HELD: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "enum": _among,
    "const": lambda value, only: _among(value, [only]),
}


class _AnyServer(_Look):
    """What any server might take. Of the arguments as a whole nothing is asked: only of each by itself."""

    def __init__(self, root: Schema, arguments: Mapping[str, Any]) -> None:
        super().__init__(root)
        self.arguments = arguments

    def takes(self, value: object, node: object, depth: int = 0) -> bool:
        if value is None:
            return True
        names = types_of(node) if isinstance(node, Mapping) else []
        if names and not any(IS[name](value) for name in names):
            return any(_HOPED[name](value) for name in names)
        return super().takes(value, node, depth)

    def _allows(self, value: object, node: Schema, depth: int) -> bool:
        is_part = isinstance(value, dict) and value is not self.arguments
        return super()._allows(respelt(value, node) if is_part else value, node, depth)

    def _keeps(self, value: object, node: Schema) -> bool:
        if value is self.arguments:
            return True
        needed = [name for name in node.get("required", ()) if not has_default(name, node)]
        return CHECKS["required"](value, needed) and all(
            check(value, node[word]) for word, check in _HOPED_HELD.items() if word in node
        )


def respelt(value: Any, node: Schema) -> Any:
    """An object with the names that its schema requires, where it has them in another spelling; itself, if it has none.

    A server takes both names, or refuses the call for the one that is missing.

    >>> respelt({"user_id": 1, "more": 2}, {"properties": {"userId": {}}, "required": ["userId"]})
    {'userId': 1, 'more': 2}
    """
    missing = {normal(name): name for name in node.get("required", ()) if isinstance(name, str) and name not in value}
    if not missing:
        return value
    known = known_names(node)
    meant = {
        name: missing.pop(key)
        for name in value
        if name not in known and len(name) <= LONGEST and (key := normal(name)) in missing
    }
    return {meant.get(name, name): held for name, held in value.items()} if meant else value


def has_default(name: object, node: Schema) -> bool:
    """Whether an argument that the schema requires has a default: some list it so, and do without it."""
    own = properties_of(node).get(name)  # type: ignore[call-overload]
    return isinstance(own, Mapping) and "default" in own


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


# The rules of which is known here who may let them pass. Of others it is not known that anybody does.
_FORGIVEN: Final = frozenset({*CHECKS, "type", "anyOf", "oneOf", "additionalProperties"})


def is_hopeless(problem: FieldError, arguments: Mapping[str, Any], schema: Schema) -> bool:
    """Whether no server at all would take the argument that breaks this rule.

    >>> schema = {"properties": {"amount": {"type": "integer"}}}
    >>> broken = FieldError("amount", "", rule="type")
    >>> [is_hopeless(broken, {"amount": sent}, schema) for sent in ("1,000", "much")]
    [False, True]
    """
    name = problem.path[0] if problem.path else None
    if name not in arguments:
        return problem.rule != "required" or len(problem.path) != 1 or not has_default(name, schema)
    alone = {str(name): arguments[str(name)]}
    return problem.rule not in _FORGIVEN or not _AnyServer(schema, alone).takes(alone, schema)
