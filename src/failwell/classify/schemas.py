"""What a tool's JSON Schema says about one argument, read as far as it is plain; what is not counts as unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from failwell.model.parts import Path
from failwell.model.plain import UNSET, Json

Schema = Mapping[str, Any]
NOTHING: Final[Schema] = {}
_DEEPEST: Final = 12
_CLASH: Final = "not understood"
_REMARKS: Final = frozenset(
    "title description default examples example deprecated readOnly writeOnly $comment $defs definitions $schema $id "
    "nullable".split()
)


def resolve(node: object, root: Schema) -> Schema:
    """The schema behind references, and behind `X or null`."""
    for _ in range(_DEEPEST):
        if not isinstance(node, Mapping):
            return NOTHING
        reference = node.get("$ref")
        if isinstance(reference, str):
            target = _target(reference, root)
            # What stands beside a reference adds to it: pydantic writes defaults there.
            node = _together(target, node, "$ref")
            continue
        word, only = _only_branch(node)
        if only is None:
            return node
        node = _together(only, node, word)
    return NOTHING


def _together(inner: Schema, outer: Schema, word: str) -> Schema:
    """Both schemas in one. Where both limit the same, neither is the whole truth, which `fits` must know."""
    rest = {key: value for key, value in outer.items() if key != word}
    clash = any(key in inner and inner[key] != value for key, value in rest.items() if key not in _REMARKS)
    return {**inner, **rest, **({_CLASH: True} if clash else {})}


def _target(reference: str, root: Schema) -> Schema:
    found: object = root
    for step in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#") else ():
        step = step.replace("~1", "/").replace("~0", "~")
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) and found is not root else NOTHING


def _only_branch(node: Schema) -> tuple[str, Schema | None]:
    for word in ("anyOf", "oneOf", "allOf"):
        branches = node.get(word)
        if isinstance(branches, list):
            real = [each for each in branches if not (isinstance(each, Mapping) and each.get("type") == "null")]
            if len(real) == 1 and isinstance(real[0], Mapping):
                return word, real[0]
    return "", None


def branches_of(node: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a union that are not null."""
    found: list[Schema] = []
    for word in ("anyOf", "oneOf"):
        branches = node.get(word)
        found += [resolve(each, root) for each in branches] if isinstance(branches, list) else []
    return [each for each in found if each.get("type") != "null"]


def at(root: Schema | None, path: Path, arguments: object = UNSET, *, whole: bool = False) -> Schema:
    """The schema of the value at `path`; in a union, of the branch that the arguments chose, or that alone fits.

    With `whole`, only if that is all there is to say about the value: nothing when other parts may have a say in it.
    """
    if not isinstance(root, Mapping) or len(path) > _DEEPEST * 4:
        return NOTHING
    node, value = resolve(root, root), arguments
    for step in path:
        if whole and not _SPREADING.isdisjoint(node):
            return NOTHING
        node = _below(node, step, value, root, whole)
        value = step_into(value, step)
    return node


# Keywords by which a schema speaks of its children beside where it describes them.
_SPREADING: Final = frozenset(["allOf", "if", "not", "dependentSchemas", "dependencies", "patternProperties", _CLASH])


def _below(node: Schema, step: str | int, value: object, root: Schema, whole: bool) -> Schema:
    branches = branches_of(node, root)
    if branches:
        name = discriminator(node, branches)
        tag = step_into(value, name) if name else UNSET
        chosen = [each for each in branches if tag is not UNSET and tag in _tags(each, name)]
        if whole and (len(chosen) != 1 or "properties" in node or not _SPREADING.isdisjoint(chosen[0])):
            return NOTHING
        found = [below for each in chosen or branches if (below := _child(each, step, root)) is not NOTHING]
        return found[0] if len(found) == 1 or (chosen and found) else NOTHING
    return _child(node, step, root)


def properties_of(node: Schema) -> Schema:
    """The arguments, or the keys of an object, that have a schema of their own."""
    found = node.get("properties")
    return found if isinstance(found, Mapping) else NOTHING


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
        if isinstance(value, Mapping):
            return value.get(step, UNSET)
        if isinstance(value, (list, tuple)) and isinstance(step, int) and 0 <= step < len(value):
            return value[step]
    except Exception:
        # A mapping of somebody else's making, or a step that cannot be a key.
        return UNSET
    return UNSET


def _tags(branch: Schema, name: str | None) -> list[Json]:
    own = properties_of(branch).get(name) if name else None
    if not isinstance(own, Mapping):
        return []
    if "const" in own:
        return [own["const"]]
    options = own.get("enum")
    return options if isinstance(options, list) else []


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


def tags_of(branches: list[Schema], name: str) -> list[Json]:
    """What the discriminator may be."""
    return [tag for branch in branches for tag in _tags(branch, name)]


def branch_of(branches: list[Schema], name: str, tag: object) -> int | None:
    """Which branch the discriminator's value chooses."""
    return next((i for i, branch in enumerate(branches) if tag in _tags(branch, name)), None)


def options_of(node: Schema) -> list[Json]:
    """The values that are allowed, where they are counted."""
    if "const" in node:
        return [node["const"]]
    options = node.get("enum")
    return list(options) if isinstance(options, list) else []


# A JSON Schema type, and whether a Python value has it. A bool is no number, though Python thinks so.
_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and (isinstance(value, int) or value == value // 1)
    ),
}


def types_of(node: Schema) -> list[str]:
    """The types a value may have, as far as the schema says it in so many words."""
    said = node.get("type")
    names = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return [name for name in names if isinstance(name, str) and name in _IS]


def type_of(value: object) -> str:
    """The JSON type of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "infinity"
    return next(
        (name for name, holds in _IS.items() if name != "integer" and holds(value)), _ELSE.get(type(value), "object")
    )


_ELSE: Final[dict[type, str]] = {tuple: "array", set: "array", frozenset: "array", bytes: "string"}


def same(a: object, b: object) -> bool:
    """Equality as JSON has it: true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _unique(items: list[Any]) -> bool:
    return len({json.dumps(item, sort_keys=True, default=str) for item in items}) == len(items)


# What is checked before a value is called right. A keyword that is not here is not understood, so nothing is certain.
_CHECKS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "enum": lambda value, options: any(same(value, option) for option in options),
    "const": lambda value, only: same(value, only),
    "minimum": lambda value, limit: not _IS["number"](value) or value >= limit,
    "maximum": lambda value, limit: not _IS["number"](value) or value <= limit,
    "exclusiveMinimum": lambda value, limit: not _IS["number"](value) or value > limit,
    "exclusiveMaximum": lambda value, limit: not _IS["number"](value) or value < limit,
    "multipleOf": lambda value, step: not isinstance(value, int) or (isinstance(step, int) and value % step == 0),
    "minLength": lambda value, least: not isinstance(value, str) or len(value) >= least,
    "maxLength": lambda value, most: not isinstance(value, str) or len(value) <= most,
    "minItems": lambda value, least: not isinstance(value, list) or len(value) >= least,
    "maxItems": lambda value, most: not isinstance(value, list) or len(value) <= most,
    "uniqueItems": lambda value, wanted: not (wanted and isinstance(value, list)) or _unique(value),
    "minProperties": lambda value, least: not isinstance(value, dict) or len(value) >= least,
    "maxProperties": lambda value, most: not isinstance(value, dict) or len(value) <= most,
    "required": lambda value, names: not isinstance(value, dict) or all(name in value for name in names),
}
_STRUCTURE: Final = frozenset({"type", "properties", "additionalProperties", "items"})


def fits(value: object, node: object, root: Schema, depth: int = 0) -> bool:
    """Whether `value` certainly satisfies the schema. A keyword nobody here understands makes it uncertain."""
    if node is True or node == NOTHING:
        return True
    if depth > _DEEPEST or not isinstance(node, Mapping):
        return False
    node = resolve(node, root)
    if not node or not node.keys() <= _CHECKS.keys() | _STRUCTURE | _REMARKS:
        return False
    types = types_of(node)
    if "type" in node and not any(_IS[name](value) for name in types):
        return False
    try:
        if not all(check(value, node[word]) for word, check in _CHECKS.items() if word in node):
            return False
    except Exception:
        # A schema that is not one: a limit that is a text, say.
        return False
    return all(fits(item, below, root, depth + 1) for item, below in _parts(value, node))


def _parts(value: object, node: Schema) -> Iterator[tuple[object, object]]:
    if isinstance(value, list):
        for item in value:
            yield item, node.get("items", True)
    elif isinstance(value, dict):
        known = properties_of(node)
        for key, item in value.items():
            yield item, known[key] if key in known else node.get("additionalProperties", True)
