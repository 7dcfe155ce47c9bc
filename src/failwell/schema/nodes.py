"""What a JSON Schema says about one value, read as far as it is plain; what is not counts as unknown.

References are followed inside the schema. Nothing is fetched: a reference out of it leads nowhere.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from failwell.model import UNSET, Json, Path

Schema = Mapping[str, Any]
NOTHING: Final[Schema] = {}
DEEPEST: Final = 12

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_LEADING: Final = frozenset((*REFERENCES, *_UNIONS))
_ANCHORS: Final = ("$anchor", "$dynamicAnchor", "$id")
_MOST_LOOKED_AT: Final = 20_000


def resolve(node: object, root: Schema) -> Schema:
    """The schema behind references, and behind `X or null`."""
    if type(node) is dict and _LEADING.isdisjoint(node):
        # Nearly always.
        return node
    for _ in range(DEEPEST):
        if not isinstance(node, Mapping):
            return NOTHING
        word = next((word for word in REFERENCES if isinstance(node.get(word), str)), "")
        inner: Schema | None = target(node[word], root) if word else None
        for union in () if word else _UNIONS:
            branches = node.get(union)
            real = [each for each in branches if not _is_null(each)] if isinstance(branches, list) else []
            if len(real) == 1 and isinstance(real[0], Mapping):
                word, inner = union, real[0]
                break
        if inner is None:
            return node
        # What stands beside a reference adds to it: pydantic writes defaults there.
        node = {**inner, **{key: value for key, value in node.items() if key != word}}
    return NOTHING


def _is_null(branch: object) -> bool:
    return isinstance(branch, Mapping) and branch.get("type") == "null"


def targets(node: Schema, root: Schema) -> Iterator[Schema]:
    """The schemas that a schema refers to."""
    for word in REFERENCES:
        found = target(node.get(word), root)
        if found is not NOTHING:
            yield found


def target(reference: object, root: Schema) -> Schema:
    """The schema that a reference names by a pointer, an anchor or an id."""
    if not isinstance(reference, str):
        return NOTHING
    if not reference.startswith("#/"):
        return root if reference in ("#", "") else _anchored(reference.removeprefix("#"), root)
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    return pointed([step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")], root)


def pointed(steps: Iterable[str | int], root: object) -> Schema:
    """The schema at a JSON pointer."""
    found: object = root
    for step in steps:
        held = {str(index): each for index, each in enumerate(found)} if isinstance(found, list) else found
        found = held.get(str(step)) if isinstance(held, Mapping) else None
    return found if isinstance(found, Mapping) else NOTHING


def _anchored(name: str, root: Schema) -> Schema:
    waiting: list[object] = [root]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            break
        each = waiting.pop()
        if isinstance(each, Mapping):
            if any(each.get(word) == name for word in _ANCHORS):
                return each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return NOTHING


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


ANY: Final = "*"
"""The step to any item, or to the value under any name."""

_MOST_PLACES: Final = 500

# Keywords by what they hold: one schema, a list of them, or one under each name.
_ONE: Final[Mapping[str, Path]] = {
    **dict.fromkeys(("if", "then", "else"), ()),
    **dict.fromkeys(("items", "contains", "additionalItems", "unevaluatedItems"), (ANY,)),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), (ANY,)),
}
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
# In the older drafts a list of schemas under `items` is one for each place.
_BY_INDEX: Final = ("prefixItems", "items")
_NAMED: Final[Mapping[str, Path]] = {"patternProperties": (ANY,), "dependentSchemas": (), "dependencies": ()}


def _children(node: Schema, root: Schema) -> Iterator[tuple[Path, Schema]]:
    """The schemas that a schema is made of, each with the steps from its value to theirs: none for the same value."""
    held: list[tuple[Path, object]] = [((), found) for found in targets(node, root)]
    held += [(steps, node.get(word)) for word, steps in _ONE.items()]
    for word in _BRANCHES:
        held += [((), each) for each in _list(node.get(word))]
    for word in _BY_INDEX:
        held += [((index,), each) for index, each in enumerate(_list(node.get(word)))]
    for word, steps in _NAMED.items():
        held += [(steps, each) for each in _map(node.get(word)).values()]
    held += [((str(name),), each) for name, each in _map(node.get("properties")).items()]
    return ((steps, found) for steps, found in held if isinstance(found, Mapping))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def places(root: Schema, wanted: Callable[[Schema], bool]) -> frozenset[Path]:
    """Where the values stand of which a schema says what is wanted. What lies below such a place is part of it.

    A schema that holds itself is followed so deep, and one of many parts so far, and not further: of what may hold
    something wanted there, everything counts as wanted.
    """
    holders: dict[int, list[int]] = {id(root): []}
    waiting, ends = [root], list[int]()
    while waiting:
        node = waiting.pop()
        ends += [id(node)] if wanted(node) else []
        for _, below in _children(node, root):
            if id(below) not in holders:
                holders[id(below)] = []
                waiting.append(below)
            holders[id(below)].append(id(node))
    # The schemas that lead to one that is wanted: no other way need be walked.
    leading: set[int] = set()
    while ends:
        if (each := ends.pop()) not in leading:
            leading.add(each)
            ends += holders[each]
    found: set[Path] = set()
    seen: set[tuple[Path, int]] = set()
    left: deque[tuple[Path, Schema]] = deque([((), root)])
    while left:
        path, node = left.popleft()
        if id(node) not in leading or (path, id(node)) in seen:
            continue
        seen.add((path, id(node)))
        if wanted(node) or len(path) >= DEEPEST or len(seen) > _MOST_PLACES:
            found.add(path)
        else:
            left += [((*path, *steps), below) for steps, below in _children(node, root)]
    return frozenset(found)
