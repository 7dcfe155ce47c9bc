"""What a list of tools holds beside tools: entries that are none, and schemas that nobody can use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from failwell.schema import branches_of, properties_of

_TYPES: Final = frozenset("string integer number boolean array object null".split())
_DEEPEST: Final = 6
Tool = Mapping[str, Any]


def named_tools(entries: Iterable[object]) -> tuple[list[Tool], list[str]]:
    """The tools of a list, each once, and what is said of all other entries."""
    found: dict[str, Tool] = {}
    odd: list[str] = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, Mapping):
            odd.append(f"number {number} is {_kind(entry)}")
            continue
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            odd.append(f"number {number} has no name" if not name else f"number {number} has {_kind(name)} for a name")
        elif name in found:
            if entry != found[name]:
                odd.append(f"{name} stands there twice, with different words")
            elif f"{name} stands there twice" not in odd:
                odd.append(f"{name} stands there twice")
        else:
            found[name] = entry
    return list(found.values()), odd


def _kind(value: object) -> str:
    return "a text" if isinstance(value, str) else "a number" if isinstance(value, int | float) else "no object"


def broken_schema(schema: object) -> str | None:
    """Why a tool's schema cannot be used as it is; None where it can."""
    if not isinstance(schema, Mapping):
        return "it has none" if schema is None else "it is no object"
    import jsonschema_rs

    with suppress(RecursionError):
        if (told := _odd(schema, schema, 0)) is not None:
            return told
    try:
        # Everything that it points to must be in it.
        jsonschema_rs.validator_for(dict(schema), retriever=_nothing_fetched)
    except Exception as problem:
        return _told(problem)
    return None


def _odd(node: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str | None:
    """What a validator accepts, and no value can be made for."""
    if depth > _DEEPEST:
        return None
    said = node.get("type")
    for name in said if isinstance(said, list) else [said] if said is not None else []:
        if name not in _TYPES:
            return f"there is no type {str(name)[:20]!r}"
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")):
        least, most = node.get(low), node.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            return f"{low} {least} is above {high} {most}"
    for child in (*properties_of(node).values(), *branches_of(node, root)):
        if isinstance(child, Mapping) and (told := _odd(child, root, depth + 1)) is not None:
            return told
    return None


def _nothing_fetched(address: str) -> Any:
    raise LookupError(f"it points to {address[:80]}, which is not fetched")


def _told(problem: Exception) -> str:
    first = str(problem).strip().splitlines()[0]
    return first if len(first) <= 100 else f"{first[:99]}…"


__all__ = ["broken_schema", "named_tools"]
