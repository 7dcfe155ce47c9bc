"""What stands behind a reference. Nothing is fetched: a reference out of the schema leads nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

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
