"""The input schema of a grouped tool, made of those of its actions: a union, or one flat object."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from failwell.schema import REFERENCES, Schema, properties_of

_DEFS: Final = "#/$defs/"
# Where schemas stand by name, and where data stand, whatever they look like.
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_DATA: Final = frozenset({"const", "default", "enum", "examples"})


def action_schema(field: str, action: str, schema: Schema, description: str = "") -> dict[str, Any]:
    """One action as it is called: its own arguments, and the discriminator that chooses it."""
    others = {name: node for name, node in properties_of(schema).items() if name != field}
    return {
        "title": action,
        **({"description": description} if description else {}),
        "type": "object",
        "properties": {field: {"const": action}, **others},
        "required": [field, *(name for name in schema.get("required", ()) if name != field)],
        "additionalProperties": False,
        **({"$defs": schema["$defs"]} if schema.get("$defs") else {}),
    }


def union(field: str, actions: Mapping[str, Schema]) -> dict[str, Any]:
    """A discriminated union. It accepts just what one of the actions does."""
    branches, defs = _together(actions)
    about = "Decides what is done, and which other arguments there are."
    return {
        "type": "object",
        "properties": {field: {"type": "string", "enum": [*actions], "description": about}},
        "required": [field],
        "oneOf": branches,
        "discriminator": {"propertyName": field},
        **({"$defs": defs} if defs else {}),
    }


def flat(field: str, actions: Mapping[str, Schema]) -> dict[str, Any]:
    """One object with the arguments of all actions, for clients that take no union at the top."""
    branches, defs = _together(actions)
    uses: dict[str, dict[str, Any]] = {}
    words = ["Decides what is done."]
    for action, branch in zip(actions, branches, strict=True):
        _, *needed = branch["required"]
        _, *names = branch["properties"]
        for name in names:
            uses.setdefault(name, {})[action] = branch["properties"][name]
        optional = [name for name in names if name not in needed]
        has = [f"{say} {', '.join(names)}" for say, names in (("needs", needed), ("may have", optional)) if names]
        words.append(f"{action}: {'; '.join(has) or 'no other arguments'}.")
    required = [name for name in uses if all(name in branch["required"] for branch in branches)]
    return {
        "type": "object",
        "properties": {
            field: {"type": "string", "enum": [*actions], "description": " ".join(words)},
            **{name: _merged(used, len(actions)) for name, used in uses.items()},
        },
        "required": [field, *required],
        "additionalProperties": False,
        **({"$defs": defs} if defs else {}),
    }


SHAPES: Final = {"union": union, "flat": flat}


def _merged(used: Mapping[str, Any], all_of_them: int) -> dict[str, Any]:
    """One argument of several actions: what each of them says about it, and which they are."""
    distinct = [node for number, node in enumerate(used.values()) if node not in [*used.values()][:number]]
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
        apart = {name for name, node in defs.items() if merged.get(name, node) != node}
        refs: dict[str, str] = {}
        # What refers to a definition of another meaning means something else, too.
        while len(refs) < len(apart):
            for name in sorted(apart - {ref.removeprefix(_DEFS) for ref in refs}):
                number = next(each for each in count(2) if f"{name}_{each}" not in merged.keys() | defs.keys())
                refs[_DEFS + name] = f"{_DEFS}{name}_{number}"
            apart |= {name for name, node in defs.items() if _renamed(node, refs) != node}
        for name, node in defs.items():
            merged[refs.get(_DEFS + name, _DEFS + name).removeprefix(_DEFS)] = _renamed(node, refs)
        branches.append(_renamed({key: value for key, value in schema.items() if key != "$defs"}, refs))
    return branches, merged


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    """A copy of a schema with other references: what is a key in `names` becomes its value."""
    if isinstance(node, list):
        return [_renamed(each, names) for each in node]
    if not isinstance(node, Mapping):
        return node
    made = {}
    for key, value in node.items():
        if key in _DATA:
            made[key] = value
        elif key in _MAPS and isinstance(value, Mapping):
            made[key] = {name: _renamed(each, names) for name, each in value.items()}
        elif key in REFERENCES and isinstance(value, str):
            made[key] = names.get(value, value)
        elif key == "mapping" and isinstance(value, Mapping):
            # Of a discriminator: the references by tag.
            made[key] = {tag: names.get(ref, ref) if isinstance(ref, str) else ref for tag, ref in value.items()}
        else:
            made[key] = _renamed(value, names)
    return made
