"""The one walk over a schema: which values it speaks of, and where they stand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from failwell.model import Path

from .refs import Schema, targets

ANY: Final = "*"
"""The step to any item, or to the value under any name."""

_DEEPEST: Final = 12
_MOST: Final = 500

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
        if wanted(node) or len(path) >= _DEEPEST or len(seen) > _MOST:
            found.add(path)
        else:
            left += [((*path, *steps), below) for steps, below in _children(node, root)]
    return frozenset(found)
