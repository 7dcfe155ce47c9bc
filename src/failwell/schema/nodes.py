"""What a tool's JSON Schema says about one argument, read as far as it is plain; what is not counts as unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from failwell.model import UNSET, Json, Path

from .refs import DEEPEST, NOTHING, REFERENCES, Schema, resolve


def branches_of(node: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a union that are not null."""
    found: list[Schema] = []
    for word in ("anyOf", "oneOf"):
        branches = node.get(word)
        found += [resolve(each, root) for each in branches] if isinstance(branches, list) else []
    return [each for each in found if each.get("type") != "null"]


def at(root: Schema | None, path: Path, arguments: object = UNSET) -> Schema:
    """The schema of the value at `path`; in a union, of the branch that the arguments chose, or that alone fits."""
    if not (type(root) is dict or isinstance(root, Mapping)) or len(path) > DEEPEST * 4:
        return NOTHING
    node, value = resolve(root, root), arguments
    for step in path:
        node, value = _below(node, step, value, root), step_into(value, step)
    return node


def _below(node: Schema, step: str | int, value: object, root: Schema) -> Schema:
    branches = branches_of(node, root)
    if not branches:
        return _child(node, step, root)
    name = discriminator(node, branches)
    tag = step_into(value, name) if name else UNSET
    chosen = [each for each in branches if tag is not UNSET and tag in _tags(each, name)]
    found = [below for each in chosen or branches if (below := _child(each, step, root)) is not NOTHING]
    return found[0] if len(found) == 1 or (chosen and found) else NOTHING


def properties_of(node: object) -> Schema:
    """The arguments, or the keys of an object, that have a schema of their own."""
    # The exact type first, here and below: asking an abstract class takes longer than the rest.
    found = node.get("properties") if type(node) is dict or isinstance(node, Mapping) else None
    return found if type(found) is dict or isinstance(found, Mapping) else NOTHING


def known_names(node: object) -> Schema:
    """The arguments, or the keys of an object, that a schema speaks of: by their names what it says of each, which is
    nothing for one that it only asks for."""
    described = properties_of(node)
    if not isinstance(node, Mapping):
        return described
    required = node.get("required")
    asked = [*required] if isinstance(required, list) else []
    for name, needed in _needs_of(node):
        asked += [name, *(needed if isinstance(needed, list) else ())]
    return {**described, **{name: NOTHING for name in asked if isinstance(name, str) and name not in described}}


def _needs_of(node: Schema) -> Iterator[tuple[object, object]]:
    """What some arguments make necessary: the name of each, with other names or with a schema."""
    for word in ("dependentRequired", "dependencies"):
        said = node.get(word)
        yield from said.items() if isinstance(said, Mapping) else ()


# Keywords by which a schema gets properties that are not under `properties`.
_ELSEWHERE: Final = frozenset(
    {*REFERENCES, "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties", "propertyNames"}
)
# Keywords that say what becomes of all other arguments.
_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")


def open_ended(schema: object) -> bool:
    """Whether the schema does not say which arguments there are."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return True
    if any(more is True or isinstance(more, Mapping) for more in map(schema.get, _OTHERS)):
        return True
    return not _ELSEWHERE.isdisjoint(schema) or any(isinstance(each, Mapping) for _, each in _needs_of(schema))


def _child(node: Schema, step: str | int, root: Schema) -> Schema:
    if isinstance(step, str):
        if step in (properties := properties_of(node)):
            return resolve(properties[step], root)
        return resolve(node.get("additionalProperties"), root)
    first = node.get("prefixItems")
    if isinstance(first, list) and 0 <= step < len(first):
        return resolve(first[step], root)
    return resolve(node.get("items"), root)


def step_into(value: object, step: object) -> Any:
    """What lies one step further; UNSET when there is nothing."""
    try:
        if type(value) is dict or isinstance(value, Mapping):
            return value.get(step, UNSET)
        if isinstance(value, (list, tuple)) and isinstance(step, int) and 0 <= step < len(value):
            return value[step]
    except Exception:
        # A mapping of somebody else's making, or a step that cannot be a key.
        return UNSET
    return UNSET


def _tags(branch: Schema, name: str | None) -> list[Json]:
    own = properties_of(branch).get(name) if name else None
    return options_of(own) if isinstance(own, Mapping) else []


def discriminator(node: Schema, branches: list[Schema]) -> str | None:
    """The property that tells the branches of a union apart, if there is one."""
    said = node.get("discriminator")
    if isinstance(said, Mapping) and isinstance(said.get("propertyName"), str):
        return str(said["propertyName"])
    if len(branches) < 2:
        return None
    for name in properties_of(branches[0]):
        tags = [json.dumps(tag, default=str) for branch in branches for tag in _tags(branch, name)]
        if all(_tags(branch, name) for branch in branches) and len(set(tags)) == len(tags):
            return str(name)
    return None


def value_at(value: object, path: Path) -> Any:
    """What lies at a path; UNSET when there is nothing."""
    for step in path:
        value = step_into(value, step)
    return value


def tags_of(branches: list[Schema], name: str) -> list[Json]:
    """What the discriminator may be."""
    return [tag for branch in branches for tag in _tags(branch, name)]


def options_of(node: Schema) -> list[Json]:
    """The values that are allowed, where they are counted."""
    if "const" in node:
        return [node["const"]]
    options = node.get("enum")
    return list(options) if isinstance(options, list) else []


_TYPES: Final[dict[type, str]] = {
    **dict.fromkeys((str, bytes), "string"),
    **dict.fromkeys((int, float), "number"),
    **dict.fromkeys((list, tuple, set, frozenset), "array"),
    bool: "boolean",
    type(None): "null",
}
_NAMES: Final = frozenset({*_TYPES.values(), "integer", "object"})


def types_of(node: Schema) -> list[str]:
    """The types a value may have, as far as the schema says it in so many words."""
    said = node.get("type")
    names = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return [name for name in names if isinstance(name, str) and name in _NAMES]


def type_of(value: object) -> str:
    """The JSON type of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "infinity"
    return next((_TYPES[kind] for kind in type(value).__mro__ if kind in _TYPES), "object")
