"""The call that a model is to make after it was told what is wrong with its arguments: the whole of it.

That was measured: after "call T with {all arguments, the wrong one corrected}" models make that call, after "fix the
fields above" they make the same one again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from failwell.model import UNSET, FieldError, Json, Patch, Path, ToolError, apply_patch, compact, place_of
from failwell.redact import MASK
from failwell.schema import restraint

from .wrong_argument import holder_of, is_missing, placeholder, strange_names

# A longer call is not copied, but made anew: then what changes is named alone.
_LONGEST: Final = 600
_MEANT: Final = re.compile(r"Did you mean '([^']+)' instead of '([^']+)'\?")
_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def next_call(error: ToolError, problems: Sequence[FieldError] | None = None) -> str:
    """What to call next, with the arguments corrected as far as that is certain; empty where nothing is known of them.

    >>> next_call(ToolError(tool="find", sent={"q": "x"}, fields=[FieldError("limit", "Required", rule="required")]))
    'Next: call find with {"q": "x", "limit": "<limit>"}.'
    """
    problems = error.fields if problems is None else problems
    if not problems and not error.patch:
        return ""
    changes = [change for change in error.patch if is_whole(change)]
    open_problems = [problem for problem in problems if not _is_reached(problem, changes)] if changes else [*problems]
    meant = _meant(error)
    strange = _unplaced(meant, open_problems, changes)
    tool = error.tool or "it"
    whole = _whole(error, changes, open_problems, strange, meant)
    if whole is not None:
        return f"Next: call {tool} with {whole}."
    alone = [_change(change) for change in changes]
    alone += [
        f"{place_of(each.path)} = {_encode(placeholder(each))}"
        for each in open_problems
        if each.path and not strange_names(each)
    ]
    alone += _replaced(strange)
    parts = [f"with {', '.join(alone)}"] if alone else []
    parts += [f"without {', '.join(_unlike(strange))}"] if _unlike(strange) else []
    if not parts:
        return f"Next: call {tool} with the arguments corrected."
    return f"Next: call {tool} {', '.join(parts)}, and the rest unchanged."


def mends_all(error: ToolError) -> bool:
    """Whether the known changes are enough: one for each problem, or for the unknown name that caused it."""
    return all(_is_reached(problem, error.patch) for problem in error.fields)


def is_whole(change: Patch) -> bool:
    """Whether a change says all that it needs, and nothing that was masked."""
    if not change.path:
        return False
    if change.op == "set":
        return change.value is not UNSET and MASK not in compact(change.value)
    return change.op == "remove" or change.to is not None


def changed(error: ToolError) -> list[str]:
    """What is known to be changed, each change by itself."""
    return [_change(change) for change in error.patch if is_whole(change)]


def _is_reached(problem: FieldError, changes: Sequence[Patch]) -> bool:
    """Whether the changes do away with a problem: where it is about strange names, with each of them."""
    changed = {change.path for change in changes}
    if names := strange_names(problem):
        return all((*holder_of(problem), name) in changed for name in names)
    brought = {(*change.path[:-1], change.to) for change in changes if change.to is not None}
    return problem.path in changed or (is_missing(problem) and problem.path in brought)


def _unplaced(meant: Mapping[str, str], open_problems: list[FieldError], changes: Sequence[Patch]) -> list[str]:
    """The strange names for which nobody knows what was meant, unless that stands in the next call already."""
    asked = {problem.path for problem in open_problems}
    changed = {change.path for change in changes}
    return [
        name
        for problem in open_problems
        for name in strange_names(problem)
        if (*holder_of(problem), name) not in changed
        and (name not in meant or (*holder_of(problem), meant[name]) not in asked)
    ]


def _unlike(strange: list[str]) -> list[str]:
    """The names that resemble none of the tool's, and are best left out."""
    return [name for name in strange if restraint(name) is None]


def _replaced(strange: list[str]) -> list[str]:
    """What is said of names that promise restraint: without them the call would do more than was asked for."""
    kept = [name for name in strange if restraint(name) is not None]
    trial = [name for name in kept if restraint(name) == "trial"]
    said = f"an argument it has in place of {', '.join(kept)}"
    said += f", or without {', '.join(trial)} if it may be done in earnest" if trial else ""
    return [said] if kept else []


def _meant(error: ToolError) -> dict[str, str]:
    """What was probably meant by which name."""
    said = error.suggestion
    return {name: target for target, name in _MEANT.findall(said)} if said else {}


def _whole(
    error: ToolError,
    changes: list[Patch],
    open_problems: list[FieldError],
    strange: list[str],
    meant: Mapping[str, str],
) -> str | None:
    """All the arguments of the next call; None where they cannot be shown."""
    sent = error.sent
    if sent is None:
        return None
    given: dict[str, Any] = {**sent.arguments, **dict.fromkeys(sent.long, UNSET)}
    arguments = apply_patch(given, changes)
    renamed: dict[Path, Any] = {}
    for problem in open_problems:
        if names := strange_names(problem):
            holder = _at(arguments, holder_of(problem))
            if not isinstance(holder, dict):
                return None
            for name in names:
                if name not in holder:
                    continue
                value = holder.pop(name)
                kind = restraint(name)
                if kind != "confirmed" and name in meant:
                    # The value goes with the name that was meant; without it the call would do more than was asked for.
                    renamed[(*holder_of(problem), meant[name])] = value
                    strange = [each for each in strange if each != name]
                elif kind == "trial":
                    return None
        elif not problem.path or not _put(arguments, problem.path, placeholder(problem)):
            return None
    for path, value in renamed.items():
        # In place of what only says what belongs there, but not of what was sent.
        if path in {problem.path for problem in open_problems} or _at(arguments, path) is None:
            _put(arguments, path, value)
    long = [name for name, value in arguments.items() if value is UNSET]
    written = _encode({name: value for name, value in arguments.items() if value is not UNSET})
    if len(written) > _LONGEST or len(long) > 3:
        return None
    if not long and not strange:
        return written
    same = [f"the same {name}" for name in long]
    without = f", without {', '.join(unlike)}" if (unlike := _unlike(strange)) else ""
    return " and ".join([written, *same, *_replaced(strange)]) + without


def _at(value: Any, path: Path) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _put(arguments: dict[str, Any], path: Path, value: Json) -> bool:
    """Put a value in its place; whether there is such a place."""
    holder, last = _at(arguments, path[:-1]), path[-1]
    is_item = isinstance(holder, list) and isinstance(last, int) and 0 <= last < len(holder)
    if not is_item and not isinstance(holder, dict):
        return False
    holder[last] = value
    return True


def _change(change: Patch) -> str:
    name = place_of(change.path)
    if change.op == "rename":
        return f"{change.to} in place of {name}"
    return f"{name} left out" if change.op == "remove" else f"{name} = {_encode(change.value)}"
