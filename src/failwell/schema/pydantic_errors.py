"""pydantic's ValidationError as broken rules, and where in the arguments it lies. It is read by what it looks like."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from failwell.model import UNSET, Json, Path, plain

from .checked_call import LONGEST_WORDS, MOST_READ, BrokenRule, CheckedCall, cut
from .nodes import DEEPEST, NOTHING, Schema, at, branches_of, options_of, step_into, tags_of, value_at
from .problems import Problems, explain
from .rule_table import PYDANTIC, ErrorRow
from .validator import choose

_KEY: Final = "[key]"
_LONGEST_JSON: Final = 100_000
_MOST_VALUES: Final = 2_000
_MOST_ERRORS: Final = 100


class _Place(NamedTuple):
    """A path, the branches of unions on the way, whether it leads into a JSON text, and what is there."""

    path: Path
    tags: tuple[tuple[Path, str], ...]
    in_text: bool
    value: Any


Placed = tuple[Mapping[str, Any], _Place]


def pydantic_problems(exc: object, call: CheckedCall, at: Path = ()) -> Problems:
    """What a pydantic ValidationError says about the arguments, or about the part of them that lies at a path."""
    errors = errors_of(exc)
    inner = value_at(call.arguments, at)
    # Below a path the data are validated by something else than the tool's own schema.
    schema = None if at else call.schema or None
    placed = [(error, _place(error, inner, schema)) for error in errors[:MOST_READ]]
    return explain(_of_branches(placed, call, at, inner, 0), call, max(len(errors) - MOST_READ, 0))


def errors_of(exc: object) -> list[Mapping[str, Any]]:
    """The errors of a pydantic ValidationError; none when it does not tell."""
    try:
        found: object = exc.errors(include_url=False)  # type: ignore[attr-defined]
    except Exception:
        return []
    return found if isinstance(found, list) and all(isinstance(each, Mapping) for each in found[:1]) else []


def loc_of(error: Mapping[str, Any]) -> tuple[str | int, ...]:
    loc = error.get("loc", ())
    parts = loc if isinstance(loc, (list, tuple)) else (loc,)
    return tuple(part if isinstance(part, (str, int)) else str(part) for part in parts)


def _row(error: Mapping[str, Any]) -> ErrorRow:
    return PYDANTIC.get(str(error.get("type")), ErrorRow("custom"))


def _is_missing(error: Mapping[str, Any]) -> bool:
    return _row(error).rule == "required" and error.get("type") != "union_tag_not_found"


def _place(error: Mapping[str, Any], value: object, schema: Schema | None) -> _Place:
    """Where an error is, by what the arguments hold and, failing that, by the schema: a `loc` names branches, too."""
    path: Path = ()
    tags: tuple[tuple[Path, str], ...] = ()
    in_text = False
    *parents, last = loc_of(error) or ("",)
    is_missing = _is_missing(error)
    for part in parents if is_missing else loc_of(error):
        below = step_into(value, part)
        if below is UNSET and (held := decoded(value)) is not UNSET:
            # Servers read a JSON text where an object is wanted, and so does this.
            below = step_into(held, part)
            in_text = in_text or below is not UNSET
        is_known = below is not UNSET or (
            at(schema, (*path, part)) is not NOTHING
            if schema is not None and len(path) < DEEPEST
            # Nobody to ask: a name counts as one unless it looks like a type.
            else value is UNSET and schema is None and not _looks_like_tag(part)
        )
        if is_known:
            path, value = (*path, part), below
        else:
            tags = (*tags, (path, str(part)))
    # What is missing is missing from its parent, whose value that is.
    return _Place((*path, last) if is_missing else path, tags, in_text, value)


_LABELS: Final = re.compile(
    r"\[key\]|.*[\[(].*|(?:function|constrained|lax|json|is|nullable|tagged|literal|enum|model|dataclass|typed)-.*"
    r"|int|str|float|bool|bytes|date|time|datetime|timedelta|none|decimal|uuid|url|list|dict|set|tuple|any|callable",
    re.DOTALL,
)


def _looks_like_tag(part: str | int) -> bool:
    """Whether a part of a `loc` is what pydantic calls the branch of a union, rather than a name."""
    return isinstance(part, str) and (part[:1].isupper() or _LABELS.fullmatch(part[:1_000]) is not None)


def decoded(value: object) -> Any:
    """What a text holds that is JSON; UNSET for others."""
    if isinstance(value, str) and len(value) <= _LONGEST_JSON and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return UNSET
    return UNSET


def _of_branches(
    placed: Sequence[Placed], call: CheckedCall, prefix: Path, inner: object, level: int
) -> list[BrokenRule]:
    """The errors, of each union only those of the branch that was meant. One tag at a place is a choice by it."""
    found: list[BrokenRule] = []
    unions: dict[Path, dict[str, list[Placed]]] = {}
    for error, place in placed:
        tags = [each for each in place.tags if each[1] != _KEY]
        if len(tags) <= level or level > DEEPEST:
            found.append(_broken(error, place, call, prefix, inner))
        else:
            unions.setdefault(tags[level][0], {}).setdefault(tags[level][1], []).append((error, place))
    for where, branches in unions.items():
        tried = [_of_branches(each, call, prefix, inner, level + 1) for each in branches.values()]
        path, in_text = (*prefix, *where), any(place.in_text for each in branches.values() for _, place in each)
        node = at(call.schema, path, call.arguments) if not prefix else NOTHING
        union = BrokenRule("anyOf", path, value_at(inner, where), "", node, in_text=in_text)
        found += tried[0] if len(tried) == 1 else choose(union, tried, branches_of(node, call.schema))
    return found


def _broken(error: Mapping[str, Any], place: _Place, call: CheckedCall, prefix: Path, inner: object) -> BrokenRule:
    given = error.get("ctx")
    context: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    rule, fixed, key = _row(error)
    limit: Any = context.get(key) if key else fixed
    path, kind = place.path, error.get("type")
    # What the caller sent, even where the tool has made something else of it before.
    sent = place.value if inner is not UNSET else error.get("input", UNSET)
    said = cut(error.get("msg", ""), LONGEST_WORDS)
    if said.startswith("value is not a valid email"):
        rule = "email"
    elif any(tag == _KEY for _, tag in place.tags):
        rule, sent = "propertyNames", UNSET
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        named = str(context.get("discriminator", ""))
        if named[:1] != "'":
            # A function tells the branches apart; there is no argument to point to.
            rule, limit = "anyOf", None
        else:
            path = (*path, named.strip("'"))
            sent = context.get("tag", UNSET)
    elif rule in ("minItems", "maxItems") and isinstance(sent, Mapping):
        rule = rule.replace("Items", "Properties")
    elif rule == "additionalProperties":
        name = loc_of(error)[-1:]
        path, limit, sent = path[:-1] if path[-1:] == name else path, list(name), UNSET
    sent = UNSET if rule == "required" else sent
    whole = (*prefix, *path)
    node = at(call.schema, whole, call.arguments) if not prefix else NOTHING
    if path and kind in ("union_tag_invalid", "union_tag_not_found"):
        holder = at(call.schema, whole[:-1], call.arguments) if not prefix else NOTHING
        tags = tags_of(branches_of(holder, call.schema), str(path[-1]))
        node, limit = {"enum": tags}, tags or _options_in(limit)
    elif rule == "enum":
        limit = options_of(node) or _options_in(limit)
    if rule == "custom" or (rule in ("enum", "discriminator") and not limit):
        # What pydantic puts before the words of the author of a validator.
        rule, limit = "custom", said.removeprefix("Value error, ").removeprefix("Assertion failed, ") or "Invalid input"
    return BrokenRule(rule, whole, sent, limit, node, in_text=place.in_text)


def _options_in(expected: object) -> list[Json]:
    """The options as pydantic lists them: `'a', 'b' or 3`."""
    if not isinstance(expected, str) or len(expected) > 10_000:
        return []
    import ast  # heavy, and only needed without a schema

    first, _, last = expected.rpartition(" or ")
    try:
        return [plain(option) for option in ast.literal_eval(f"[{f'{first}, {last}' if first else last}]")]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []


def anchored(exc: object, arguments: Mapping[str, Any]) -> Path | None:
    """Where in the arguments lies what a pydantic error rejected; None when it is not the caller's data.

    An error that a tool's own code runs into is the caller's mistake only if the rejected data came with the call.
    """
    errors = errors_of(exc)[:_MOST_ERRORS]
    for path, value in _values(arguments) if errors else ():
        if all(_holds(value, error, path) for error in errors):
            return path
    return None


def _holds(value: object, error: Mapping[str, Any], at: Path) -> bool:
    """Whether `value` is what was validated, as far as this error can tell."""
    found = _place(error, value, None)
    rejected = error.get("input", UNSET)
    if _is_missing(error) and step_into(found.value, loc_of(error)[-1]) is not UNSET:
        return False
    for where, tag in found.tags:
        chosen = value_at(value, where)
        named = [each for each in chosen.values() if isinstance(each, str)] if isinstance(chosen, dict) else []
        if not _looks_like_tag(tag) and tag not in named:
            return False
    # A value that is found in two places by chance proves nothing, nor do arguments of which there are none.
    is_stepped = len(found.path) > _is_missing(error)
    is_held = isinstance(found.value, (dict, list)) and (at != () or found.value is rejected)
    is_telling = len(found.value) >= 3 if isinstance(found.value, str) else found.value not in (None, 0, 1, [], {})
    try:
        return (is_stepped or is_held or is_telling) and type(found.value) is type(rejected) and found.value == rejected
    except Exception:
        return False


def _values(arguments: object) -> Iterator[tuple[Path, object]]:
    """The arguments and everything in them, the outermost first."""
    waiting: deque[tuple[Path, object]] = deque([((), arguments)])
    seen: set[int] = set()
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        path, value = waiting.popleft()
        yield path, value
        if isinstance(value, (dict, list)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, step), below) for step, below in items][:_MOST_VALUES]
