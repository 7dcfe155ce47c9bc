"""pydantic's ValidationError as broken rules. It says where; the tool's schema says what is wrong there.

What the schema does not know, such as a validator of the author's, is said in pydantic's own words.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from failwell.model import UNSET, Path

from .checked_call import LONGEST_WORDS, MOST_READ, BrokenRule, CheckedCall, cut
from .nodes import at as node_at
from .nodes import step_into, value_at
from .problems import Problems, explain
from .validator import find_broken

_LONGEST_JSON: Final = 100_000
_MOST_VALUES: Final = 2_000
_MOST_ERRORS: Final = 100
_MISSING: Final = frozenset(
    "missing missing_argument missing_keyword_only_argument missing_positional_only_argument".split()
)
_UNKNOWN: Final = frozenset("extra_forbidden unexpected_keyword_argument".split())
_AUTHORS: Final = frozenset("value_error assertion_error".split())


def pydantic_problems(exc: object, call: CheckedCall, at: Path = ()) -> Problems:
    """What a pydantic ValidationError says about the arguments, or about the part of them that lies at a path."""
    errors = errors_of(exc)
    read, inner = errors[:MOST_READ], value_at(call.arguments, at)
    # Below a path the data are validated by something else than the tool's own schema.
    broken = [] if at or not call.schema else _by_schema(read, call)
    left = [error for error in read if not _is_explained(error, broken, inner)]
    return explain([*broken, *_by_words(left, call, at, inner)], call, max(len(errors) - MOST_READ, 0))


def _by_schema(errors: list[Mapping[str, Any]], call: CheckedCall) -> list[BrokenRule]:
    """What the schema has against the places that pydantic names. Elsewhere pydantic took what the schema refuses."""
    # Servers read a JSON text where an object is wanted, and so does this.
    heads = {loc[0] for loc in map(loc_of, errors) if len(loc) > 1}
    texts = {name: read for name in heads if (read := decoded(step_into(call.arguments, name))) is not UNSET}
    if texts:
        call = CheckedCall(call.schema, {**call.arguments, **texts}, call.secrets)
    try:
        broken = find_broken(call, formats=True) or []
    except RecursionError:
        return []
    # In the order of pydantic.
    order = {
        id(each): index for index, error in [*enumerate(errors)][::-1] for each in broken if _is_about(error, each)
    }
    named = sorted((each for each in broken if id(each) in order), key=lambda each: order[id(each)])
    return [each._replace(in_text=True) if each.path[:1] and each.path[0] in texts else each for each in named]


def _is_about(error: Mapping[str, Any], broken: BrokenRule) -> bool:
    """Whether the `loc` of an error, which also names the branches of unions, leads to what is broken, or above or
    below it. A name that pydantic knows, such as an alias, is none that the tool does not have."""
    is_unknown = broken.rule == "additionalProperties"
    if is_unknown != (error.get("type") in _UNKNOWN):
        return False
    path = (*broken.path, *broken.limit[:1]) if is_unknown else broken.path
    short, long = sorted((path, loc_of(error)), key=len)
    rest = iter(long)
    return bool(short) and short[0] == long[0] and all(step in rest for step in short)


def _is_explained(error: Mapping[str, Any], broken: list[BrokenRule], inner: object) -> bool:
    """Whether the schema says what is wrong there: of a union it says it of the branch that was meant."""
    union = _place(error, inner).union
    return any(_is_about(error, each) or (union is not None and each.path[: len(union)] == union) for each in broken)


def _by_words(errors: list[Mapping[str, Any]], call: CheckedCall, at: Path, inner: object) -> list[BrokenRule]:
    """What pydantic says itself, once for each place. Where the author of a validator says something, only that."""
    found: dict[tuple[str, Path], BrokenRule] = {}
    said: dict[Path, dict[str, bool]] = {}
    for error in errors:
        place, kind = _place(error, inner), error.get("type")
        path = (*at, *place.path)
        if kind in _MISSING:
            found["required", path] = BrokenRule("required", path, node=node_at(call.schema, path))
        elif kind in _UNKNOWN and path:
            key = "additionalProperties", path[:-1]
            names = found[key].limit if key in found else []
            found[key] = BrokenRule(*key, limit=[*names, path[-1]])
        else:
            words = cut(error.get("msg", ""), LONGEST_WORDS).removeprefix("Value error, ")
            said.setdefault(path, {})[words.removeprefix("Assertion failed, ") or "Invalid input"] = kind in _AUTHORS
            is_key = loc_of(error)[-1:] == ("[key]",)
            sent = error.get("input", UNSET) if inner is UNSET or is_key else place.value
            authors = [words for words, is_authors in said[path].items() if is_authors]
            found["custom", path] = BrokenRule(
                "custom", path, sent, cut("; ".join(authors or said[path]), LONGEST_WORDS)
            )
    return list(found.values())


def errors_of(exc: object) -> list[Mapping[str, Any]]:
    """The errors of a pydantic ValidationError; none when it does not tell."""
    try:
        found: object = exc.errors(include_url=False)  # type: ignore[attr-defined]
    except Exception:
        return []
    return found if isinstance(found, list) and all(isinstance(each, Mapping) for each in found[:1]) else []


def loc_of(error: Mapping[str, Any]) -> Path:
    loc = error.get("loc", ())
    parts = loc if isinstance(loc, (list, tuple)) else (loc,)
    return tuple(part if isinstance(part, (str, int)) else str(part) for part in parts)


class _Place(NamedTuple):
    """Where an error is in some data, what is there, and where the last union is on the way, if there is one."""

    path: Path
    value: Any
    union: Path | None = None


def _place(error: Mapping[str, Any], value: object) -> _Place:
    """Where an error is: what the data do not hold of its `loc` are names of branches. Without data it is the `loc`."""
    loc = loc_of(error)
    if value is UNSET:
        return _Place(loc, UNSET)
    last = loc[-1:] if error.get("type") in _MISSING or error.get("type") in _UNKNOWN else ()
    path: Path = ()
    union: Path | None = None
    for part in loc[: len(loc) - len(last)]:
        below = step_into(value, part)
        if below is UNSET and (held := decoded(value)) is not UNSET:
            below = step_into(held, part)
        if below is not UNSET:
            path, value = (*path, part), below
        else:
            union = path
    return _Place((*path, *last), value, union)


def decoded(value: object) -> Any:
    """What a text holds that is JSON; UNSET for others."""
    if isinstance(value, str) and len(value) <= _LONGEST_JSON and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return UNSET
    return UNSET


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
    path, found, union = _place(error, value)
    rejected = error.get("input", UNSET)
    is_missing = error.get("type") in _MISSING
    if (is_missing and step_into(found, path[-1]) is not UNSET) or not (
        union is None or isinstance(value, (dict, list))
    ):
        return False
    if error.get("type") in _UNKNOWN:
        found = step_into(found, path[-1])
    # A value that is found in two places by chance proves nothing, nor do arguments of which there are none.
    is_stepped = len(path) > is_missing
    is_held = isinstance(found, (dict, list)) and (at != () or found is rejected)
    is_telling = len(found) >= 3 if isinstance(found, str) else found not in (None, 0, 1, [], {})
    try:
        return (is_stepped or is_held or is_telling) and type(found) is type(rejected) and found == rejected
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
