"""Whether a value certainly fits a schema, without running anything that the schema's author wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from .nodes import IS, properties_of, types_of
from .refs import DEEPEST, NOTHING, REMARKS, Schema, resolve


def same(a: object, b: object) -> bool:
    """Equality as JSON has it: true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _unique(items: list[Any]) -> bool:
    return len({json.dumps(item, sort_keys=True, default=str) for item in items}) == len(items)


# What is checked before a value is called right. A keyword that is not here is not understood, so nothing is certain.
CHECKS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "enum": lambda value, options: any(same(value, option) for option in options),
    "const": lambda value, only: same(value, only),
    "minimum": lambda value, limit: not IS["number"](value) or value >= limit,
    "maximum": lambda value, limit: not IS["number"](value) or value <= limit,
    "exclusiveMinimum": lambda value, limit: not IS["number"](value) or value > limit,
    "exclusiveMaximum": lambda value, limit: not IS["number"](value) or value < limit,
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
_STRUCTURE: Final = frozenset({"type", "properties", "additionalProperties", "items", "anyOf", "oneOf", "allOf"})
_KNOWN: Final = CHECKS.keys() | _STRUCTURE | REMARKS
# A program of the schema's author, which may take for ever, or a name for one: none is run here.
_PROGRAMS: Final = ("pattern", "format")
_MOST: Final = 2_000


# What every validator reads in the same way, whichever language it is written in, and in every draft that is named so.
_AGREED: Final = (_KNOWN | {"$ref"}) - {"multipleOf", "uniqueItems", "$id", "nullable"}
DRAFTS: Final = frozenset(
    f"{scheme}://json-schema.org/{draft}"
    for scheme in ("http", "https")
    for draft in ("draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema", "draft-06/schema")
)
_NAMED: Final = ("properties", "$defs", "definitions")
_LISTED: Final = ("anyOf", "oneOf", "allOf")
_SINGLE: Final = ("items", "additionalProperties")


def is_agreed(schema: object, depth: int = 0) -> bool:
    """Whether a schema has nothing in it that validators are at odds about: expressions, formats, and the like.

    >>> is_agreed({"type": "object", "properties": {"a": {"type": "integer"}}}), is_agreed({"pattern": "a"})
    (True, False)
    """
    if isinstance(schema, bool):
        return True
    if depth > DEEPEST or not isinstance(schema, Mapping) or not _AGREED.issuperset(schema):
        return False
    if str(schema.get("$schema", "https://json-schema.org/draft/2020-12/schema")).rstrip("#") not in DRAFTS:
        return False
    if not str(schema.get("$ref", "#/$defs/")).startswith(("#/$defs/", "#/definitions/")):
        return False
    named = [schema.get(word, NOTHING) for word in _NAMED]
    listed = [schema.get(word, []) for word in _LISTED]
    if not all(isinstance(each, Mapping) for each in named) or not all(isinstance(each, list) for each in listed):
        return False
    inner = [node for each in named for node in each.values()] + [node for each in listed for node in each]
    inner += [schema[word] for word in _SINGLE if word in schema]
    return all(is_agreed(node, depth + 1) for node in inner)


class _Look:
    """One look at a value: where references lead, what the value has passed before, and how much may still be asked."""

    def __init__(self, root: Schema, passed: object) -> None:
        self.root = root
        self.passed = passed if isinstance(passed, Mapping) else NOTHING
        self.left = _MOST

    def fits(self, value: object, node: object, depth: int = 0) -> bool:
        self.left -= 1
        if node is True or node == NOTHING:
            return True
        if depth > DEEPEST or self.left < 0 or not isinstance(node, Mapping):
            return False
        node = self._unproven(resolve(node, self.root))
        try:
            return (
                node is not None
                and ("type" not in node or any(IS[name](value) for name in types_of(node)))
                and all(check(value, node[word]) for word, check in CHECKS.items() if word in node)
                and all(rule(self._each(value, node[word], depth)) for word, rule in _UNIONS.items() if word in node)
                and all(self.fits(item, below, depth + 1) for item, below in _parts(value, node))
            )
        except Exception:
            # A schema that is not one: a limit that is a text, say.
            return False

    def _unproven(self, node: Schema) -> Schema | None:
        """The schema without what the value has passed before; None if something in it is not understood."""
        if not node:
            return None
        proven = [word for word in _PROGRAMS if word in node and node[word] == self.passed.get(word)]
        left = {word: limit for word, limit in node.items() if word not in proven}
        return left if all(word in _KNOWN or word.startswith("x-") for word in left) else None

    def _each(self, value: object, branches: list[object], depth: int) -> Iterator[bool]:
        return (self.fits(value, branch, depth + 1) for branch in branches)


_UNIONS: Final[dict[str, Callable[[Iterator[bool]], bool]]] = {
    "anyOf": any,
    "oneOf": lambda fitting: sum(fitting) == 1,
    "allOf": all,
}


def fits(value: object, node: object, root: Schema, passed: object = NOTHING) -> bool:
    """Whether `value` certainly satisfies the schema. A keyword nobody here understands makes it uncertain.

    passed: a schema that the value was held against before. An expression of somebody else's may take for ever, but the
    one that the value has passed need not be run again.
    """
    return _Look(root, passed).fits(value, node)


def _parts(value: object, node: Schema) -> Iterator[tuple[object, object]]:
    if isinstance(value, list):
        for item in value:
            yield item, node.get("items", True)
    elif isinstance(value, dict):
        known = properties_of(node)
        for key, item in value.items():
            yield item, known[key] if key in known else node.get("additionalProperties", True)
