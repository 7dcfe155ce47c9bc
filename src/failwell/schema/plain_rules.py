"""What arguments break of a schema that only names them and says their types: found without a validator.

Most tools have such a schema, and most mistakes are of this kind. What is found is what jsonschema finds, in the order
of the schema's own keywords. Each schema is read once. Where it says more than is understood here, or something was
sent that has parts, the validator is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .by_schema import BySchema
from .certainty import DRAFTS
from .nodes import IS, known_names, properties_of
from .problems import BrokenRule
from .refs import REMARKS, Schema, resolve

Arguments = Mapping[str, Any]
Finder = Callable[[Arguments], Sequence[BrokenRule] | None]
"""Finds what is broken of one keyword; None where the validator has to be asked."""

_SINGLE: Final = frozenset({str, int, float, bool, type(None)})
# A draft, and where a schema is kept, may change what the rest of it means.
_SILENT: Final = REMARKS - {"$schema", "$id"}


def plainly_broken(schema: Schema, arguments: Arguments) -> list[BrokenRule] | None:
    """The rules that are broken; None where only a validator can tell.

    >>> schema = {"properties": {"a": {"type": "integer"}}, "required": ["a", "b"]}
    >>> [(each.rule, each.path) for each in plainly_broken(schema, {"a": "x"})]
    [('type', ('a',)), ('required', ('b',))]
    """
    finders = _FINDERS(schema)
    if finders is None:
        return None
    found: list[BrokenRule] = []
    for find in finders:
        broken = find(arguments)
        if broken is None:
            return None
        found += broken
    return found


def _finders(schema: Schema) -> tuple[Finder, ...] | None:
    made: list[Finder] = []
    for word, limit in schema.items():
        if word not in _SILENT:
            finder = _KEYWORDS[word](limit, schema) if word in _KEYWORDS else None
            if finder is None:
                return None
            made.append(finder)
    return tuple(made)


_FINDERS: Final = BySchema(_finders)


def _nothing(arguments: Arguments) -> Sequence[BrokenRule]:
    return ()


def _draft(limit: object, schema: Schema) -> Finder | None:
    return _nothing if isinstance(limit, str) and limit.rstrip("#") in DRAFTS else None


def _type(limit: object, schema: Schema) -> Finder | None:
    return _nothing if limit == "object" else None


def _properties(limit: object, schema: Schema) -> Finder | None:
    if not isinstance(limit, dict):
        return None
    known = {name: _limits(node) for name, node in limit.items()}

    def find(arguments: Arguments) -> list[BrokenRule] | None:
        found: list[BrokenRule] = []
        for name, limits in known.items():
            if name in arguments:
                value = arguments[name]
                if limits is None or type(value) not in _SINGLE:
                    return None
                found += [
                    BrokenRule(each.rule, (name,), value, each.limit, limit[name])
                    for each in limits
                    if not each.holds(value)
                ]
        return found

    return find


def _required(limit: object, schema: Schema) -> Finder | None:
    if not isinstance(limit, list) or not all(isinstance(name, str) for name in limit):
        return None
    described = properties_of(schema)
    missing = {name: BrokenRule("required", (name,), node=resolve(described.get(name), schema)) for name in limit}
    return lambda arguments: [broken for name, broken in missing.items() if name not in arguments]


def _additional(limit: object, schema: Schema) -> Finder | None:
    if not isinstance(limit, bool):
        return None
    known = known_names(schema)

    def find(arguments: Arguments) -> list[BrokenRule]:
        names = [name for name in arguments if name not in known]
        return [BrokenRule("additionalProperties", (), limit=names, node=schema)] if names else []

    return _nothing if limit else find


_KEYWORDS: Final[dict[str, Callable[[Any, Schema], Finder | None]]] = {
    "$schema": _draft,
    "type": _type,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
}


class _Limit(NamedTuple):
    """What one keyword asks of a single value: the rule it stands for, what that asks for, and whether it holds."""

    rule: str
    limit: Any
    holds: Callable[[Any], bool]


def _limits(node: object) -> tuple[_Limit, ...] | None:
    """What a schema asks of an argument; None where it says more than is understood here."""
    if not isinstance(node, dict):
        return () if node is True else None
    made = [_SAID[word](limit) if word in _SAID else None for word, limit in node.items() if word not in _SILENT]
    return tuple(each for each in made if each is not None) if None not in made else None


def _typed(limit: Any) -> _Limit | None:
    if isinstance(limit, str) and limit in IS:
        return _Limit("type", limit, IS[limit])
    if not isinstance(limit, list) or not all(isinstance(name, str) and name in IS for name in limit):
        return None
    return _Limit("type", " | ".join(limit), lambda value: any(IS[name](value) for name in limit))


def _counted(limit: Any) -> _Limit | None:
    # true is not 1, and which numbers are the same is for the validator to say.
    if not isinstance(limit, list) or not limit or not all(isinstance(option, str) for option in limit):
        return None
    return _Limit("enum", limit, lambda value: value in limit)


_SAID: Final[dict[str, Callable[[Any], _Limit | None]]] = {"type": _typed, "enum": _counted}
