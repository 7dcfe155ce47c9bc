"""What stands behind a reference. Nothing is fetched: a reference out of the schema leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
NOTHING: Final[Schema] = {}
DEEPEST: Final = 12
CLASH: Final = "not understood"
"""A key that is no keyword: of two schemas that were put together, each limits what the other one limits."""

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_LEADING: Final = frozenset((*REFERENCES, *_UNIONS))
REMARKS: Final = frozenset(
    "title description default examples example deprecated readOnly writeOnly $comment $defs definitions $schema $id "
    "nullable".split()
)
# Where schemas stand by name, and where data stand, whatever they look like.
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
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
        word, inner = _reference(node, root)
        if inner is None:
            word, inner = _only_branch(node)
        if inner is None:
            return node
        # What stands beside a reference adds to it: pydantic writes defaults there.
        node = _together(inner, node, word)
    return NOTHING


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
    if reference.startswith("#/"):
        return _pointed(reference, root)
    return root if reference in ("#", "") else _anchored(reference.removeprefix("#"), root)


def _pointed(reference: str, root: Schema) -> Schema:
    found: object = root
    for step in _steps(reference):
        held = {str(index): each for index, each in enumerate(found)} if isinstance(found, list) else found
        found = held.get(step) if isinstance(held, Mapping) else None
    return found if isinstance(found, Mapping) else NOTHING


def _steps(reference: str) -> list[str]:
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    return [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")]


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


def _reference(node: Schema, root: Schema) -> tuple[str, Schema | None]:
    word = next((word for word in REFERENCES if isinstance(node.get(word), str)), "")
    if not word:
        return "", None
    found = target(node[word], root)
    # What leads nowhere limits the value in a way that nobody here knows.
    return word, found if found is not NOTHING else {CLASH: True}


def _only_branch(node: Schema) -> tuple[str, Schema | None]:
    for word in _UNIONS:
        branches = node.get(word)
        if isinstance(branches, list):
            real = [each for each in branches if not (isinstance(each, Mapping) and each.get("type") == "null")]
            if len(real) == 1 and isinstance(real[0], Mapping):
                return word, real[0]
    return "", None


def _together(inner: Schema, outer: Schema, word: str) -> Schema:
    """Both schemas in one. Where both limit the same, neither is the whole truth, which `fits` must know."""
    rest = {key: value for key, value in outer.items() if key != word}
    clash = any(key in inner and inner[key] != value for key, value in rest.items() if key not in REMARKS)
    return {**inner, **rest, **({CLASH: True} if clash else {})}


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
