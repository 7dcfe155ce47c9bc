"""The changes that certainly put a call's arguments right; none where there are two ways to read them.

A change is certain when the call with it breaks nothing there: each one is tried out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from failwell.model import UNSET, Json, Patch, Path, Unset, shown, text

from .checked_call import LONGEST_NAME, BrokenRule, CheckedCall, cut
from .coercion import restraint
from .nodes import Schema, at, known_names, options_of, step_into, types_of, value_at
from .spelling import LONGEST, is_certain, nearest
from .validator import at_or_below, find_broken

MOST_PROBLEMS: Final = 20
# A call that is fixed is a small one: larger texts are data, not arguments that were written down wrongly.
_LONGEST_JSON: Final = 20_000
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
# A text with separators in it may be several items, and one with a bracket a list that was written down wrongly.
_SEVERAL: Final = re.compile(r"[,;|\n\t]|^\s*[\[{]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")


def mend(broken: BrokenRule, call: CheckedCall) -> tuple[list[Patch], list[str]]:
    """The certain changes, and questions about what only may have been meant."""
    if broken.rule == "additionalProperties":
        return _mend_names(broken, call)
    if broken.rule in ("enum", "const", "discriminator"):
        return _mend_option(broken, call)
    if broken.rule == "required":
        return _only(_given(broken.node), broken.path, call), []
    if broken.rule == "type":
        node = broken.node or {"type": broken.limit}
        options = options_of(node)
        values = [as_option(broken.sent, options)] if options else _as_types(broken.sent, node)
        return _only(values, broken.path, call), []
    return [], []


def _only(values: Iterable[Json | Unset], path: Path, call: CheckedCall, *before: Patch) -> list[Patch]:
    """The one value that may stand at a path; none where there are two, or one that would show a secret."""
    found: list[Patch] = []
    for value in values:
        if value is UNSET or not path or call.secrets.may_hide(value, path):
            continue
        try:
            change = Patch("set", path, value)
            is_kept = change.value == value and change.path == path
        except RecursionError:
            continue
        is_new = not any(_same(value, each.value) for each in found)
        if is_kept and is_new and _is_right([*before, change], call, is_found=not before):
            found.append(change)
    return found if len(found) == 1 else []


def _same(one: object, other: object) -> bool:
    """Equality as JSON has it: true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_right(patch: list[Patch], call: CheckedCall, *, is_found: bool) -> bool:
    """Whether the schema finds something at the place of the last change without it, and nothing with it."""
    path = patch[-1].path
    if not call.schema:
        return True
    before = _found(call) if is_found else []
    after = _found(call, patch)
    if before is None or after is None or (is_found and not at_or_below(before, path[:1])):
        return False
    known = {(each.rule, each.path) for each in before} if is_found else set()
    return not at_or_below(after, path) and (not is_found or {(each.rule, each.path) for each in after} <= known)


def _found(call: CheckedCall, patch: Sequence[Patch] = ()) -> list[BrokenRule] | None:
    """The rules that are broken once the changes are made; None where nobody can tell."""
    try:
        return find_broken(call.changed(patch) if patch else call, formats=True) if call.is_small() else None
    except RecursionError:
        return None


def _mend_option(broken: BrokenRule, call: CheckedCall) -> tuple[list[Patch], list[str]]:
    if call.secrets.hides(broken.path):
        return [], []
    options = broken.limit if broken.rule != "const" else [broken.limit]
    words = [text(option) for option in options if isinstance(option, str)]
    near = nearest(broken.sent, words) if isinstance(broken.sent, str) else None
    hints = [_question(near, broken.sent)] if near is not None and near != broken.sent else []
    return _only([as_option(broken.sent, options)], broken.path, call), hints


def as_option(value: object, options: Sequence[Json]) -> Json | Unset:
    """The option that was certainly meant: the same in another spelling, or in another type."""
    if isinstance(value, str):
        words = [option for option in options if isinstance(option, str)]
        meant = nearest(value, words)
        if meant is not None and is_certain(value, meant, words):
            return meant
    written = _written(value)
    found = [option for option in options if _written(option) == written]
    return found[0] if written is not None and len(found) == 1 else UNSET


def _written(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip().casefold() if len(value) <= LONGEST else None
    if isinstance(value, (bool, int, float)) and not (isinstance(value, int) and value.bit_length() > 64):
        return json.dumps(value)
    return None


def _given(node: Schema) -> Iterator[Json]:
    """What an argument that was left out can only be: the one value there is, or the default.

    A flag that must be true is a confirmation, and confirming is up to the caller.
    """
    options = options_of(node)
    if len(options) == 1:
        yield from () if isinstance(options[0], bool) else options
    elif "default" in node:
        yield node["default"]


def _as_types(value: object, node: Schema) -> Iterator[Json]:
    """The value as each type that the schema names, where it says the same in that type."""
    written = value.strip() if isinstance(value, str) and len(value) <= LONGEST else ""
    for kind in types_of(node):
        if kind == "integer" and _WHOLE.fullmatch(written):
            yield int(written)
        elif kind == "number" and _NUMBER.fullmatch(written):
            yield int(written) if _WHOLE.fullmatch(written) else float(written)
        elif kind == "boolean" and written.casefold() in ("true", "false"):
            yield written.casefold() == "true"
        elif kind == "string" and type(value) in (int, float) and abs(value) < 10**18:  # type: ignore[arg-type]
            if math.isfinite(value):  # type: ignore[arg-type]
                yield json.dumps(value)
        elif kind in ("array", "object"):
            decoded = _decoded(value)
            if isinstance(decoded, list if kind == "array" else dict):
                yield decoded
            elif kind == "array" and isinstance(value, (str, int, float)) and not _SEVERAL.search(str(value)[:LONGEST]):
                yield [value]


def _decoded(value: object) -> Json | Unset:
    if not isinstance(value, str) or len(value) > _LONGEST_JSON or value.lstrip()[:1] not in ("{", "["):
        return UNSET
    try:
        return json.loads(value, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return UNSET


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _without_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len(found := dict(pairs)) < len(pairs):
        # Which of the two was meant, nobody knows.
        raise ValueError
    return found


def _mend_names(broken: BrokenRule, call: CheckedCall) -> tuple[list[Patch], list[str]]:
    holder = value_at(call.arguments, broken.path)
    known = [name for name in known_names(broken.node) if step_into(holder, name) is UNSET]
    asked = broken.node.get("required")
    missing = [name for name in asked if name in known] if isinstance(asked, list) else []
    strange = [name for name in broken.limit[:MOST_PROBLEMS] if isinstance(name, str)]
    near = {name: target for name in strange if (target := nearest(name, known)) is not None}
    meant: dict[str, list[Patch]] = {}
    for name in strange:
        sure = name in near and is_certain(name, near[name], known)
        alike = [near[name]] if sure else _alike(name, near.get(name), known, missing if len(strange) == 1 else [])
        fitting = [moved for each in alike if (moved := _moved(broken.path, name, each, call, is_sure=name in near))]
        meant |= {name: fitting[0]} if len(fitting) == 1 else {}
    targets = [change.to or change.path[-1] for moved in meant.values() for change in moved[-1:]]
    patch = [
        change for moved in meant.values() for change in moved if targets.count(moved[-1].to or moved[-1].path[-1]) == 1
    ]
    # Whoever follows a question takes the value along.
    changed = {change.path[-1] for change in patch}
    renames = {name: Patch("rename", (*broken.path, name), to=target) for name, target in near.items()}
    return patch, [
        _question(near[name], name)
        for name, rename in renames.items()
        if name in changed or brought(rename, call) == []
    ]


def _alike(name: str, near: str | None, known: list[str], missing: list[str]) -> list[str]:
    """What an argument by a strange name may be, by what else there is: the only one that is missing, or one that
    promises the same restraint. A confirmation is given by the caller alone."""
    kind = restraint(name)
    if kind is not None:
        return [each for each in known if restraint(each) == kind and kind != "confirmed"]
    is_free = len(missing) == 1 and restraint(missing[0]) in (None, "less")
    return missing if is_free and near in (None, *missing) else []


def _moved(path: Path, name: str, target: str, call: CheckedCall, *, is_sure: bool) -> list[Patch]:
    """What makes one argument of another, if its value belongs there: in another type, if need be."""
    rename, remove = Patch("rename", (*path, name), to=target), Patch("remove", (*path, name))
    wrong = brought(rename, call)
    if not wrong:
        return [] if wrong is None else [rename]
    node, value = at(call.schema, (*path, target), call.arguments), value_at(call.arguments, rename.path)
    # A number is no name: what only might be meant is not made a text.
    others = [other for other in _as_types(value, node) if is_sure or not isinstance(other, str)]
    setting = _only(others, (*path, target), call, remove)
    return [remove, *setting] if setting else [rename] if is_sure else []


def brought(rename: Patch, call: CheckedCall) -> list[BrokenRule] | None:
    """The rules that a value breaks under its new name; None where that is not known."""
    if not call.schema:
        return []
    after = _found(call, [rename])
    return None if after is None else at_or_below(after, (*rename.path[:-1], rename.to or ""))


def _question(meant: str, sent: object) -> str:
    return f"Did you mean {shown(cut(meant, LONGEST_NAME))} instead of {shown(cut(sent, LONGEST_NAME))}?"
