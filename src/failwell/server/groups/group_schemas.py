"""The input schema of a grouped tool, made of those of its actions: a union, or one flat object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.schema import REFERENCES, Schema, properties_of

_DEFS: Final = "#/$defs/"
# Where schemas stand by name, and where data stand, whatever they look like.
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_DATA: Final = frozenset({"const", "default", "enum", "examples"})


def alone(field: str, action: str, schema: Schema, description: str = "") -> dict[str, Any]:
    """One action as it is called: its own arguments, and the discriminator that chooses it."""
    others = {name: node for name, node in properties_of(schema).items() if name != field}
    made: dict[str, Any] = {"title": action}
    if description:
        made["description"] = description
    made |= {
        "type": "object",
        "properties": {field: {"const": action}, **others},
        "required": [field, *_needed(field, schema)],
        "additionalProperties": False,
    }
    if schema.get("$defs"):
        made["$defs"] = schema["$defs"]
    return made


def union(field: str, actions: Mapping[str, Schema]) -> dict[str, Any]:
    """A discriminated union. It takes schemas as `alone` makes them, and accepts just what one of them does."""
    branches, defs = _together(actions)
    chooser = {
        "type": "string",
        "enum": [*actions],
        "description": "Decides what is done, and which other arguments there are.",
    }
    return _whole(field, chooser, defs, {}, [], {"oneOf": branches, "discriminator": {"propertyName": field}})


def flat(field: str, actions: Mapping[str, Schema]) -> dict[str, Any]:
    """One object with the arguments of all actions, for clients that take no union at the top."""
    branches, defs = _together(actions)
    uses: dict[str, dict[str, Any]] = {}
    told = []
    for action, branch in zip(actions, branches, strict=True):
        needed = _needed(field, branch)
        for name, node in branch["properties"].items():
            if name != field:
                uses.setdefault(name, {})[action] = node
        optional = [name for name in branch["properties"] if name != field and name not in needed]
        words = [f"{say} {', '.join(names)}" for say, names in (("needs", needed), ("may have", optional)) if names]
        told.append(f"{action}: {'; '.join(words) or 'no other arguments'}.")
    chooser = {"type": "string", "enum": [*actions], "description": " ".join(["Decides what is done.", *told])}
    properties = {name: _merged(used, len(actions)) for name, used in uses.items()}
    required = [name for name in uses if all(name in branch["required"] for branch in branches)]
    return _whole(field, chooser, defs, properties, required, {"additionalProperties": False})


SHAPES: Final = {"union": union, "flat": flat}


def _whole(
    field: str,
    chooser: dict[str, Any],
    defs: dict[str, Any],
    properties: dict[str, Any],
    required: list[str],
    more: dict[str, Any],
) -> dict[str, Any]:
    made = {
        "type": "object",
        "properties": {field: chooser, **properties},
        "required": [field, *required],
        **more,
    }
    return {**made, "$defs": defs} if defs else made


def _needed(field: str, schema: Schema) -> list[str]:
    return [name for name in schema.get("required", ()) if name != field]


def _merged(used: Mapping[str, Any], all_of_them: int) -> dict[str, Any]:
    """One argument of several actions: what each of them says about it, and which they are."""
    distinct: list[Any] = []
    for node in used.values():
        if node not in distinct:
            distinct.append(node)
    made: dict[str, Any] = dict(distinct[0]) if len(distinct) == 1 else {"anyOf": distinct}
    if len(used) < all_of_them:
        made["description"] = " ".join([*filter(None, [made.get("description")]), f"For {', '.join(used)}."])
    return made


def _together(actions: Mapping[str, Schema]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The actions' schemas over one `$defs`. Two definitions of the same name are one only if they say the same."""
    branches = []
    merged: dict[str, Any] = {}
    for schema in actions.values():
        defs: Mapping[str, Any] = schema.get("$defs", {})
        apart = {name for name, node in defs.items() if name in merged and merged[name] != node}
        while more := {name for name in defs.keys() - apart if _refers(defs[name], apart)}:
            # What refers to a definition of another meaning means something else, too.
            apart |= more
        names = {name: _free(name, merged.keys() | defs.keys()) for name in sorted(apart)}
        refs = {_DEFS + name: _DEFS + new for name, new in names.items()}
        for name, node in defs.items():
            merged[names.get(name, name)] = renamed(node, refs)
        branches.append(renamed({key: value for key, value in schema.items() if key != "$defs"}, refs))
    return branches, merged


def _free(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def _refers(node: Any, names: set[str]) -> bool:
    return bool(renamed(node, {_DEFS + name: "" for name in names}) != node)


def renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A copy of a schema with other references: what is a key in `names` becomes its value."""
    if isinstance(node, list):
        return [renamed(each, names) for each in node]
    if not isinstance(node, Mapping):
        return node
    return {key: _renamed(key, value, names) for key, value in node.items()}


def _renamed(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if key in _DATA:
        return value
    if key in _MAPS and isinstance(value, Mapping):
        return {name: renamed(each, names) for name, each in value.items()}
    if key in REFERENCES and isinstance(value, str):
        return names.get(value, value)
    if key == "mapping" and isinstance(value, Mapping):
        # Of a discriminator: the references by tag.
        return {tag: names.get(ref, ref) if isinstance(ref, str) else ref for tag, ref in value.items()}
    return renamed(value, names)
