"""Values held against JSON Schema by jsonschema-rs, which is imported when it is first used.

Without that package nothing is checked and nothing is proposed: every value passes, and no correction is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from failwell.model import UNSET, Path, plain

from .checked_call import MOST_READ, BrokenRule, CheckedCall, step_of
from .nodes import Schema, discriminator, known_names, pointed, properties_of, resolve, step_into, tags_of, value_at
from .rule_table import FORMATS, KEYWORDS, RULES

T = TypeVar("T")
_MOST_SCHEMAS: Final = 500
# The validator calls itself for each level, and where there is no stack left it takes the process along.
_DEEPEST: Final = 200
_WIDEST: Final = 50_000


class BySchema(Generic[T]):
    """What `make` made of each schema, as long as it is the same object."""

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[Schema, T]] = {}

    def __call__(self, schema: Schema) -> T:
        known = self._known.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._known) >= _MOST_SCHEMAS:
                self._known.clear()
            # With the schema itself: else another one could come to lie in its place.
            known = self._known[id(schema)] = schema, self._make(schema)
        return known[1]


class Checker:
    """One schema, compiled once. A schema that cannot be compiled forbids nothing."""

    def __init__(self, schema: Schema, *, formats: bool = False) -> None:
        """formats: whether `format` is held against values; as the SDKs have it, it is only a remark."""
        self.schema = schema
        self._validator = _compiled(schema, formats)
        self._is_valid = getattr(self._validator, "is_valid", None)
        self.is_compiled = self._validator is not None

    def fits(self, value: object) -> bool:
        if self._is_valid is None:
            return True
        try:
            return bool(self._is_valid(value))
        except Exception:
            # Not JSON at all.
            return False

    def errors(self, value: object) -> list[Any]:
        """The validator's first errors. A value that is nested too deeply raises RecursionError."""
        if self._validator is None:
            return []
        if _is_deep(value):
            raise RecursionError
        try:
            return list(islice(self._validator.iter_errors(value), MOST_READ + 1))
        except Exception:
            # Not JSON at all: read as what JSON makes of it.
            return list(islice(self._validator.iter_errors(plain(value)), MOST_READ + 1))


def _compiled(schema: Schema, formats: bool) -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        return None
    # Many a schema of the seventh draft does not say that it is one.
    makers = [jsonschema_rs.validator_for] + ([] if "$schema" in schema else [jsonschema_rs.Draft7Validator])
    for make in makers:
        with suppress(Exception):
            return make(dict(schema), validate_formats=formats, retriever=_nothing_fetched)
    return None


def _nothing_fetched(address: str) -> Any:
    raise LookupError(address)


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        below = [each.values() if isinstance(each, Mapping) else each for each in level]
        level = [each for held in below for each in held if isinstance(each, (Mapping, list, tuple))]  # type: ignore[attr-defined]
        if not level or len(level) > _WIDEST:
            break
    return bool(level)


class Checkers(BySchema[Checker]):
    """The checkers of a server's schemas, by the schema itself."""

    def __init__(self) -> None:
        super().__init__(Checker)


_PLAIN: Final = Checkers()
_WITH_FORMATS: Final = BySchema(lambda schema: Checker(schema, formats=True))


def fits(value: object, node: object, root: Schema) -> bool:
    """Whether a value is known to satisfy a part of a schema, formats included."""
    if not isinstance(node, Mapping):
        return node is True
    # What references lead to.
    named = {word: root[word] for word in ("$schema", "$defs", "definitions") if word in root}
    checker = Checker({**named, **node}, formats=True)
    return checker.is_compiled and checker.fits(value)


def find_broken(call: CheckedCall, *, formats: bool = False) -> list[BrokenRule] | None:
    """The rules that the arguments break, in the order of the tool's own arguments; None where nobody can tell.

    Arguments that are nested too deeply raise RecursionError.
    """
    checker = (_WITH_FORMATS if formats else _PLAIN)(call.schema)
    if not checker.is_compiled:
        return None
    found = checker.errors(call.arguments if type(call.arguments) is dict else dict(call.arguments or ()))
    broken = [each for error in found for each in _broken(error, call)]
    order = {name: index for index, name in enumerate(properties_of(call.schema))}
    return sorted(broken, key=lambda each: order.get(str(each.path[0]), len(order)) if each.path else len(order))


def _broken(error: Any, call: CheckedCall) -> Iterator[BrokenRule]:
    keyword, where, path = error.kind.name, error.schema_path, tuple(error.instance_path)
    node, sent = pointed(where[:-1], call.schema), value_at(call.arguments, path)
    rule = KEYWORDS.get(keyword, keyword)
    limit = error.kind.value
    if type(error.kind).__name__ in _GIVEN_UP or (rule == "required" and step_into(sent, limit) is not UNSET):
        # An expression that takes too long says nothing; and a closed object counts what it forbids as missing.
        return
    if rule == "required":
        named = resolve(properties_of(node).get(limit), call.schema)
        yield BrokenRule("required", (*path, limit), node=named, holder=node)
    elif rule == "additionalProperties":
        # What a schema asks for it has, even where it forbids all that it does not describe.
        known = known_names(node)
        if names := [name for name in limit if name not in known]:
            yield BrokenRule(rule, path, limit=names, node=node)
    elif keyword in ("additionalItems", "unevaluatedItems") or (keyword == "falseSchema" and where[-1:] == ["items"]):
        path, fixed = path[:-1] if keyword == "falseSchema" else path, node.get("prefixItems", node.get("items"))
        yield BrokenRule("maxItems", path, value_at(call.arguments, path), len(fixed or ()), node)
    elif rule == "anyOf":
        listed = node.get(keyword)
        branches = [resolve(each, call.schema) for each in listed] if isinstance(listed, list) else []
        yield from _union(error, BrokenRule("anyOf", path, sent, "", node), branches, call)
    elif rule == "type":
        said = node.get("type", limit)
        yield BrokenRule(rule, path, sent, " | ".join(map(str, said)) if isinstance(said, list) else str(said), node)
    elif rule == "enum":
        yield BrokenRule(rule, path, sent, node.get("enum", limit), node)
    elif rule == "format":
        rule = FORMATS.get(limit, rule)
        yield BrokenRule(rule, path, sent, limit if rule == "format" else "", node)
    elif rule == "propertyNames":
        yield BrokenRule(rule, (*path, step_of(limit.instance)), UNSET, "", node)
    else:
        is_told = rule in RULES and "{limit}" in f"{RULES[rule].message}{RULES[rule].expected}"
        yield BrokenRule(rule if rule in RULES else "not", path, sent, limit if is_told else "", node)


_GIVEN_UP: Final = ("BacktrackLimitExceeded", "RegexEngineFailure")


def _union(error: Any, union: BrokenRule, branches: list[Schema], call: CheckedCall) -> Sequence[BrokenRule]:
    """What is broken of the branch that was meant."""
    context = error.kind.value
    if not any(context):
        # Several of them fit, where one alone may.
        return [union._replace(rule="oneOf" if error.kind.name == "oneOf" else "not")]
    real = [index for index, branch in enumerate(branches[: len(context)]) if branch.get("type") != "null"]
    name = discriminator(union.node, [branches[index] for index in real])
    if name is not None and isinstance(union.sent, Mapping):
        tag, path, tags = union.sent.get(name, UNSET), (*union.path, name), tags_of(branches, name)
        if tag is UNSET:
            return [BrokenRule("required", path, node={"enum": tags})]
        if tag not in tags:
            return [BrokenRule("discriminator", path, tag, tags)]
        real = [index for index in real if tag in tags_of([branches[index]], name)][:1]
    tried = [[each for inner in context[index] for each in _broken(inner, call)] for index in real]
    if {each.rule for broken in tried for each in broken} == {"ipv4", "ipv6"}:
        return [union._replace(rule="ip")]
    return tried[0] if len(tried) == 1 else choose(union, tried, [branches[index] for index in real])


# Broken at the value itself, these say that the branch is about something else.
_OTHER_KIND: Final = frozenset({"type", "const", "enum"})
_OTHER_TAG: Final = frozenset({"const", "enum"})
_OTHER_NAMES: Final = frozenset({"required", "additionalProperties"})


def choose(
    union: BrokenRule, tried: Sequence[Sequence[BrokenRule]], branches: Sequence[Schema]
) -> Sequence[BrokenRule]:
    """What is broken of the branch that is the nearest to the value; the union itself where two are as near."""
    sent = union.sent if isinstance(union.sent, Mapping) else ()
    ranked = []
    for index, broken in enumerate(tried):
        if not any(each.path == union.path and each.rule in _OTHER_KIND for each in broken):
            known = known_names(branches[index]) if len(branches) == len(tried) else ()
            rules = {each.rule for each in broken}
            shared = sum(name in known for name in islice(sent, 100))
            ranked.append((not rules.isdisjoint(_OTHER_TAG), not rules.isdisjoint(_OTHER_NAMES), -shared, index))
    ranked.sort()
    is_sure = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][:3] != ranked[1][:3])
    return tried[ranked[0][3]] if is_sure else [union]


def at_or_below(broken: Sequence[BrokenRule], path: Path) -> list[BrokenRule]:
    """The broken rules of the value at a path, and of what is in it."""
    return [each for each in broken if each.path[: len(path)] == path]
