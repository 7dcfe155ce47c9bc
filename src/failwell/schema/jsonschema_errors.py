"""jsonschema's ValidationErrors as broken rules. They are read by their attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from failwell.model import UNSET, Path

from .nodes import branch_of, discriminator, known_names, properties_of, tags_of
from .problems import MOST_READ, BrokenRule, CheckedCall, Problems, step_of, told
from .refs import Schema, resolve
from .rule_table import FORMATS, KEYWORDS, RULES
from .unions import fitting_names, meant

_EXCLUDES: Final = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


def jsonschema_problems(errors: object, call: CheckedCall) -> Problems:
    """What jsonschema's errors say about the arguments, for an adapter that has more to add."""
    one = hasattr(errors, "validator") and hasattr(errors, "absolute_path")
    read: list[object] = []
    # Validation that breaks on hostile data has told what it could.
    with suppress(Exception):
        # A validator looks for the next mistake only when it is asked for it: asking for all may take for ever.
        read.extend(islice([errors] if one else errors, MOST_READ + 1))  # type: ignore[call-overload]
    broken = (each for error in read[:MOST_READ] for each in _of_jsonschema(error, call))
    return told(broken, call, more=len(read) > MOST_READ)


def _of_jsonschema(error: Any, call: CheckedCall) -> Iterator[BrokenRule]:
    node = resolve(getattr(error, "schema", None), call.schema)
    path = tuple(getattr(error, "absolute_path", ()))
    word = getattr(error, "validator", None)
    rule = KEYWORDS.get(word, word) if isinstance(word, str) else "not"
    if rule in _EXCLUDES and node.get(_EXCLUDES[rule]) is True:
        # In draft 4 a flag beside the limit says that it is not to be reached.
        rule = _EXCLUDES[rule]
    read = _READERS.get(rule)
    where = list(getattr(error, "absolute_schema_path", ()))
    if where[-2:-1] == ["propertyNames"] and where[-3:-2] != ["properties"]:
        yield BrokenRule("propertyNames", (*path, step_of(error.instance)), UNSET, "", node)
    elif read is not None:
        yield from read(error, path, node, call)
    elif rule in RULES:
        yield BrokenRule(rule, path, error.instance, error.validator_value, node)
    else:
        yield BrokenRule("not", path, error.instance, "", node)


def _required(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    names = error.validator_value
    if isinstance(names, Mapping):
        # What one argument makes necessary.
        names = [name for key, needed in names.items() if key in error.instance for name in _list(needed)]
    for name in _list(names):
        if name not in error.instance:
            own = resolve(properties_of(node).get(name), call.schema)
            yield BrokenRule("required", (*path, name), UNSET, None, own)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _unknown(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    if error.validator_value is not False:
        yield BrokenRule("not", path, error.instance, "", node)
        return
    patterns = node.get("patternProperties")
    # What a schema asks for it has, even where it forbids all that it does not describe.
    known = known_names(node)
    names = [
        name
        for name in error.instance
        if name not in known and not any(re.search(pattern, name) for pattern in patterns or ())
    ]
    if error.validator == "unevaluatedProperties":
        # Which ones it means is known only to the validator, and told only in its words.
        told = str(error.message)
        names = [name for name in names if repr(name) in told]
    if names:
        yield BrokenRule("additionalProperties", path, limit=names, node=node)


def _format(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    said = str(error.validator_value)
    rule = FORMATS.get(said, "format")
    yield BrokenRule(rule, path, error.instance, said if rule == "format" else "", node)


def _enum(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    options = _list(error.validator_value)
    one = len(options) == 1
    yield BrokenRule("const" if one else "enum", path, error.instance, options[0] if one else options, node)


def _type(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    said = error.validator_value
    limit = " | ".join(map(str, said)) if isinstance(said, list) else str(said)
    yield BrokenRule("type", path, error.instance, limit, node)


def _items(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    yield BrokenRule("maxItems", path, error.instance, len(_list(node.get("prefixItems"))), node)


def _union(error: Any, path: Path, node: Schema, call: CheckedCall) -> Iterator[BrokenRule]:
    context = list(getattr(error, "context", None) or ())
    if not context:
        # Several of them fit, where one alone may.
        rule = "oneOf" if error.validator == "oneOf" else "not"
        yield BrokenRule(rule, path, error.instance, "", node)
        return
    branches = [resolve(each, call.schema) for each in _list(error.validator_value)]
    real = [index for index, branch in enumerate(branches) if branch.get("type") != "null"]
    formats = {FORMATS.get(each.validator_value) for each in context if each.validator == "format"}
    if formats == {"ipv4", "ipv6"} and all(each.validator == "format" for each in context):
        yield BrokenRule("ip", path, error.instance, "", node)
        return
    chosen = real[0] if len(real) == 1 else None
    name = discriminator(error.schema, [branches[index] for index in real])
    if chosen is None and name is not None and isinstance(error.instance, Mapping):
        tag = error.instance.get(name, UNSET)
        if tag is UNSET:
            options = {"enum": tags_of(branches, name)}
            yield BrokenRule("required", (*path, name), UNSET, None, options)
            return
        chosen = branch_of(branches, name, tag)
        if chosen is None:
            yield BrokenRule("discriminator", (*path, name), tag, tags_of(branches, name))
            return
    parts: dict[int, list[BrokenRule]] = {index: [] for index in real if chosen in (None, index)}
    for each in context:
        index = next(iter(each.relative_schema_path), None)
        if index in parts:
            parts[index] += _of_jsonschema(each, call)
    if chosen is None:
        names = [fitting_names(branches[index], error.instance) for index in parts]
        found = meant(list(parts.values()), path, names)
        chosen = None if found is None else list(parts)[found]
    yield from [BrokenRule("anyOf", path, error.instance, "", node)] if chosen is None else parts[chosen]


_READERS: Final[dict[str, Callable[[Any, Path, Schema, CheckedCall], Iterator[BrokenRule]]]] = {
    "required": _required,
    "additionalProperties": _unknown,
    "format": _format,
    "enum": _enum,
    "type": _type,
    "items": _items,
    "anyOf": _union,
}
