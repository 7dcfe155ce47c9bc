"""Which arguments there are, as far as a schema says it in so many words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from typing import Any, Final

from failwell.model import snake

from .nodes import known_names, open_ended
from .problems import NO_PROBLEMS, BrokenRule, CheckedCall, Problems, told
from .refs import DEEPEST, Schema, resolve
from .restraints import restraint
from .spelling import nearest


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


def strange_names(call: CheckedCall) -> Problems:
    """The arguments that the schema does not have."""
    if has_names(call.arguments, call.schema):
        return NO_PROBLEMS
    unknown = unknown_names(call.arguments, call.schema)
    return told([BrokenRule("additionalProperties", (), limit=unknown, node=call.schema)], call)


def without_unheeded(value: Any, schema: Schema, node: object = None, depth: int = 0) -> Any:
    """Arguments without the names that closed objects do not have: itself, if there are none.

    Zod lists every object as closed, and drops what it does not know. What resembles a name that is not there, or
    promises a restraint, stays: who drops that does something else than what was asked for.

    >>> schema = {"properties": {"id": {}, "name": {}}, "additionalProperties": False}
    >>> without_unheeded({"id": 1, "why": "", "nmae": 2, "dry_run": True}, schema)
    {'id': 1, 'nmae': 2, 'dry_run': True}
    """
    held = resolve(schema if node is None else node, schema)
    if depth > DEEPEST or not isinstance(held, Mapping):
        return value
    if isinstance(value, list):
        items = [without_unheeded(each, schema, held.get("items", True), depth + 1) for each in value]
        return value if all(map(is_, items, value)) else items
    if not isinstance(value, dict) or not isinstance(held.get("properties"), Mapping):
        return value
    known = known_names(held)
    is_closed = held.get("additionalProperties") is False
    kept = {
        name: without_unheeded(part, schema, known[name], depth + 1) if name in known else part
        for name, part in value.items()
        if name in known or not is_closed or _means_something(name, known)
    }
    return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept


# What narrows down what is done, or asks for leave: whoever drops one of these does more than was asked for.
_NARROWING: Final = frozenset(
    """after approval approve budget cap commit condition conditions count except exclude filter filters first from if
    include match newer older page per range scope simulated since size top undo unless what where""".split()
)


def _means_something(name: str, known: Iterable[str]) -> bool:
    """Whether a name that there is not promises a restraint, narrows something down, or is another one misspelt: be it
    one that was sent as well."""
    if restraint(name) is not None or not _NARROWING.isdisjoint(snake(name[:200]).split("_")):
        return True
    return nearest(name, known) is not None
