"""Where in the arguments a pydantic error is: its `loc` also names branches of unions, which are no places."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from failwell.model import UNSET, Path, Unset

from .nodes import at, step_into
from .refs import NOTHING, Schema
from .rule_table import PYDANTIC

KEY: Final = "[key]"
_LONGEST_TEXT: Final = 100_000
_MOST_VALUES: Final = 2_000
_MOST_ERRORS: Final = 100
_MOST_COMPARED: Final = 1_000
_SHORT: Final = 16


class Place(NamedTuple):
    """A path of the arguments, the tags that were taken out of it, and whether it leads into a JSON text."""

    path: Path
    tags: tuple[tuple[Path, str], ...] = ()
    in_text: bool = False
    value: Any = UNSET


def errors_of(exc: object) -> list[Mapping[str, Any]]:
    """The errors of a pydantic ValidationError, of either version; none when it does not tell."""
    tell: Any = getattr(exc, "errors", None)
    found: object = ()
    # The first version takes no keywords.
    for keywords in ({"include_url": False}, {}):
        try:
            found = tell(**keywords)
            break
        except Exception:
            continue
    return found if isinstance(found, list) and all(isinstance(each, Mapping) for each in found[:1]) else []


def loc_of(error: Mapping[str, Any]) -> tuple[str | int, ...]:
    loc = error.get("loc", ())
    parts = loc if isinstance(loc, (list, tuple)) else (loc,)
    # The first version of pydantic calls the whole model `__root__`.
    return tuple(part if isinstance(part, (str, int)) else str(part) for part in parts if part != "__root__")


def is_missing(error: Mapping[str, Any]) -> bool:
    row = PYDANTIC.get(str(error.get("type")))
    return isinstance(row, tuple) and row[0] == "required" and error.get("type") != "union_tag_not_found"


def place(error: Mapping[str, Any], arguments: object = UNSET, schema: Schema | None = None) -> Place:
    """The place of an error in the arguments, by what they hold and, failing that, by the schema."""
    loc, missing = loc_of(error), is_missing(error)
    found = _walk(loc, missing, arguments, schema)
    rejected = error.get("input", UNSET)
    if arguments is UNSET or rejected is UNSET or len(loc) > _SHORT or alike(found.value, rejected):
        return found
    # An argument may be called like a type. Where the value is not the rejected one, a step was none.
    for index, part in enumerate(loc[:-1] if missing else loc):
        if isinstance(part, str):
            other = _walk(loc, missing, arguments, schema, tag=index)
            if alike(other.value, rejected):
                return other
    return found


def _walk(
    loc: tuple[str | int, ...], missing: bool, arguments: object, schema: Schema | None, tag: int | None = None
) -> Place:
    path: Path = ()
    tags: tuple[tuple[Path, str], ...] = ()
    value, in_text = arguments, False
    for index, part in enumerate(loc):
        if missing and index == len(loc) - 1:
            # The parent's value: that is what lacks it.
            return Place((*path, part), tags, in_text, value)
        below = step_into(value, part) if index != tag else UNSET
        if below is UNSET and index != tag and (held := decoded(value)) is not UNSET:
            # Servers read a JSON text where an object is wanted, and so does this.
            below = step_into(held, part)
            in_text = in_text or below is not UNSET
        if below is not UNSET or (index != tag and _known(path, part, value, schema)):
            path, value = (*path, part), below
        else:
            tags = (*tags, (path, str(part)))
    return Place(path, tags, in_text, value)


def _known(path: Path, part: str | int, value: object, schema: Schema | None) -> bool:
    """Whether a step leads on though the arguments do not have it."""
    if schema is not None and len(path) <= _SHORT and at(schema, (*path, part)) is not NOTHING:
        return True
    # Nobody to ask: a name counts as one unless it looks like a type.
    return value is UNSET and schema is None and not looks_like_tag(part)


_LABELS: Final = re.compile(
    r"\[key\]|.*[\[(].*|(?:function|constrained|lax|json|is|nullable|tagged|literal|enum|model|dataclass|typed)-.*"
    r"|int|str|float|bool|bytes|date|time|datetime|timedelta|none|decimal|uuid|url|list|dict|set|tuple|any|callable",
    re.DOTALL,
)


def looks_like_tag(part: str | int) -> bool:
    """Whether a part of a `loc` is what pydantic calls the branch of a union, rather than a name."""
    return isinstance(part, str) and (part[:1].isupper() or _LABELS.fullmatch(part[:1_000]) is not None)


def decoded(value: object) -> Any:
    """What a text holds that is JSON; UNSET for others."""
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return UNSET
    return UNSET


def alike(a: object, b: object, left: list[int] | None = None) -> bool:
    """Whether two values are the same data, as far as `left` comparisons can tell."""
    left = left or [_MOST_COMPARED]
    waiting = [(a, b)]
    while waiting and left[0] > 0:
        one, other = waiting.pop()
        left[0] -= 1
        if one is other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            keys = list(islice(one, _MOST_COMPARED))
            if len(one) != len(other) or not all(key in other for key in keys):
                return False
            waiting += [(one[key], other[key]) for key in keys]
        elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            if len(one) != len(other):
                return False
            waiting += list(zip(one[:_MOST_COMPARED], other[:_MOST_COMPARED], strict=True))
        elif type(one) is not type(other) or isinstance(one, Unset) or not _equal(one, other):
            return False
    return True


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other) or (one != one and other != other)
    except Exception:
        return False


def anchored(exc: object, arguments: Mapping[str, Any]) -> Path | None:
    """Where in the arguments lies what a pydantic error rejected; None when it is not the caller's data.

    An error that a tool's own code runs into is the caller's mistake only if the rejected data came with the call.
    """
    errors = errors_of(exc)[:_MOST_ERRORS]
    if not errors:
        return None
    left = [100 * _MOST_COMPARED]
    for path, value in _values(arguments):
        if all(_holds(value, error, path, left) for error in errors):
            # What was not compared to the end is not proven.
            return path if left[0] > 0 else None
    return None


def _holds(value: object, error: Mapping[str, Any], at: Path, left: list[int]) -> bool:
    """Whether `value` is what was validated, as far as this error can tell."""
    if "input" not in error:
        return False
    loc, missing = loc_of(error), is_missing(error)
    parts = loc[:-1] if missing else loc
    stepped = False
    for part in parts:
        below = step_into(value, part)
        if below is not UNSET:
            value, stepped = below, True
        elif not (looks_like_tag(part) or _is_tag_of(part, value)):
            return False
    if missing and step_into(value, loc[-1]) is not UNSET:
        return False
    # An empty object that was sent as an argument is likely to be the one; that nothing was sent proves nothing.
    held = isinstance(value, (dict, list)) and (at != () or value is error["input"])
    return (stepped or held or _telling(value)) and alike(value, error["input"], left)


def _is_tag_of(part: str | int, value: object) -> bool:
    return isinstance(value, dict) and any(part == tag for tag in value.values() if isinstance(tag, (str, int)))


def _telling(value: object) -> bool:
    """Whether a value is one that is not found in two places by chance."""
    if isinstance(value, str):
        return len(value) >= 3
    if value is None or isinstance(value, bool):
        return False
    return value not in (0, 1) if isinstance(value, (int, float)) else bool(value)


def _values(arguments: object) -> Iterator[tuple[Path, object]]:
    """The arguments and everything in them, the outermost first."""
    waiting: deque[tuple[Path, object]] = deque([((), arguments)])
    seen: set[int] = set()
    left = _MOST_VALUES
    while waiting and left > 0:
        path, value = waiting.popleft()
        left -= 1
        yield path, value
        if isinstance(value, (dict, list)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, step), below) for step, below in islice(items, _MOST_VALUES)]
