"""pydantic's ValidationError, of either version, as broken rules. Its errors are read by what they look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from failwell.model import UNSET, Json, Path, plain

from .locations import KEY, Place, errors_of, loc_of, place
from .nodes import at, branches_of, options_of, tags_of
from .problems import LONGEST_WORDS, MOST_READ, BrokenRule, CheckedCall, Problems, cut, told, value_at
from .refs import DEEPEST, NOTHING, Schema
from .rule_table import PYDANTIC, Of
from .unions import fitting_names, meant

Placed = tuple[Mapping[str, Any], Place]


def pydantic_problems(exc: object, call: CheckedCall, at: Path = ()) -> Problems:
    """What a pydantic ValidationError says about the arguments, for an adapter that has more to add."""
    errors = errors_of(exc)
    return told(_from_pydantic(errors[:MOST_READ], call, at), call, max(len(errors) - MOST_READ, 0))


def _from_pydantic(errors: Sequence[Mapping[str, Any]], call: CheckedCall, prefix: Path) -> Iterator[BrokenRule]:
    inner = value_at(call.arguments, prefix)
    schema = call.schema or None
    # Below a prefix the data are validated by something else than the tool's own schema.
    places = [place(error, inner, None if prefix else schema) for error in errors]
    yield from _of_branches(list(zip(errors, places, strict=True)), inner, call, prefix, frozenset())


def _of_branches(
    errors: Sequence[Placed], inner: object, call: CheckedCall, prefix: Path, chosen: frozenset[Path]
) -> Iterator[BrokenRule]:
    """The errors, of each union only those of the branch that was meant; `chosen` are unions where it is known."""
    # Most often there is no union.
    unions = _unions(errors, chosen) if any(found.tags for _, found in errors) else {}
    told: set[Path] = set()
    for error, found in errors:
        union = next((where for where in _outer_tags(found.tags) if where in unions), None) if unions else None
        if union is None:
            yield from _of_pydantic(error, found, inner, call, prefix)
        elif union not in told:
            told.add(union)
            tried = [
                list(_of_branches(each, inner, call, prefix, chosen | {union})) if len(chosen) < DEEPEST else []
                for each in unions[union].values()
            ]
            path = (*prefix, *union)
            broken = BrokenRule(
                "anyOf", path, value_at(inner, union), "", _node(call, path, prefix), in_text=found.in_text
            )
            yield from _of_union(broken, tried, call)


def _unions(errors: Sequence[Placed], chosen: frozenset[Path]) -> dict[Path, dict[str, list[Placed]]]:
    """The unions of which no branch fits, with the errors of each that was tried. One tag is a discriminator's choice;
    several are branches."""
    choices: dict[Path, set[str]] = {}
    for _, found in errors:
        for where, tag in _outer_tags(found.tags).items():
            choices.setdefault(where, set()).add(tag)
    several = {where for where, tags in choices.items() if len(tags) > 1} - chosen
    unions: dict[Path, dict[str, list[Placed]]] = {}
    for error, found in errors:
        tags = _outer_tags(found.tags)
        union = next((where for where in tags if where in several), None)
        if union is not None:
            unions.setdefault(union, {}).setdefault(tags[union], []).append((error, found))
    return unions


def _of_union(union: BrokenRule, tried: list[list[BrokenRule]], call: CheckedCall) -> Iterator[BrokenRule]:
    """The errors of the branch that was meant, or that none of them fits."""
    names = [fitting_names(branch, union.sent) for branch in branches_of(union.node, call.schema)]
    index = meant(tried, union.path, names)
    yield from [union] if index is None else tried[index]


def _outer_tags(tags: tuple[tuple[Path, str], ...]) -> dict[Path, str]:
    """The first tag at each place: what comes after it lies inside that branch."""
    found: dict[Path, str] = {}
    for where, tag in tags:
        if tag != KEY:
            found.setdefault(where, tag)
    return found


def _of_pydantic(
    error: Mapping[str, Any], found: Place, inner: object, call: CheckedCall, prefix: Path
) -> Iterator[BrokenRule]:
    path = found.path
    kind = str(error.get("type"))
    context = error.get("ctx")
    context = context if type(context) is dict or isinstance(context, Mapping) else NOTHING
    row = PYDANTIC.get(kind, ("custom", None))
    rule, limit = (row.rule, context.get(row.key)) if isinstance(row, Of) else row
    # What the caller sent, even where the tool has made something else of it before.
    sent = found.value if inner is not UNSET else error.get("input", UNSET)
    said = _said(error)
    if said.startswith("value is not a valid email"):
        rule = "email"
    elif found.tags and any(tag == KEY for _, tag in found.tags):
        rule, sent = "propertyNames", UNSET
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        named = str(context.get("discriminator", ""))
        if named[:1] != "'":
            # A function tells the branches apart; there is no argument to point to.
            rule, limit = "anyOf", None
        else:
            path = (*path, named.strip("'"))
            sent = UNSET if rule == "required" else value_at(inner, path)
            sent = context.get("tag", UNSET) if sent is UNSET and rule != "required" else sent
    elif rule in ("minItems", "maxItems") and isinstance(sent, Mapping):
        rule = rule.replace("Items", "Properties")
    elif rule == "required":
        sent = UNSET
    whole = (*prefix, *path)
    if rule == "additionalProperties":
        name = loc_of(error)[-1:]
        holder = whole[:-1] if path[-1:] == name else whole
        yield BrokenRule(rule, holder, limit=list(name), node=_node(call, holder, prefix), in_text=found.in_text)
        return
    node = _node(call, whole, prefix)
    if kind == "union_tag_not_found":
        node = {"enum": _tags_at(call, whole, prefix)}
    if rule in ("enum", "discriminator"):
        counted = options_of(node) if rule == "enum" else _tags_at(call, whole, prefix)
        limit = counted or _options_in(limit)
    if rule == "custom" or (rule in ("enum", "discriminator") and not limit):
        rule, limit = "custom", said or "Invalid input"
    yield BrokenRule(rule, whole, sent, limit, node, found.in_text)


def _node(call: CheckedCall, path: Path, prefix: Path) -> Schema:
    return at(call.schema, path, call.arguments) if not prefix else NOTHING


def _tags_at(call: CheckedCall, path: Path, prefix: Path) -> list[Json]:
    if not path:
        return []
    return tags_of(branches_of(_node(call, path[:-1], prefix), call.schema), str(path[-1]))


# What pydantic puts before the words of whoever wrote a validator.
_OPENINGS: Final = ("Value error, ", "Assertion failed, ")


def _said(error: Mapping[str, Any]) -> str:
    said = cut(error.get("msg", ""), LONGEST_WORDS)
    return said.partition(", ")[2] if said.startswith(_OPENINGS) else said


def _options_in(expected: object) -> list[Json]:
    """The options as pydantic lists them: `'a', 'b' or 3`."""
    if isinstance(expected, (list, tuple)):
        return [plain(option) for option in expected]
    if not isinstance(expected, str) or len(expected) > 10_000:
        return []
    import ast  # heavy, and only needed without a schema

    first, _, last = expected.rpartition(" or ")
    try:
        return [plain(option) for option in ast.literal_eval(f"[{f'{first}, {last}' if first else last}]")]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
