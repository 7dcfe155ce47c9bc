"""`typed`: contract 000, six error types in compact JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Json, Kind, RetryRules, ToolError, compact

from .wire import (
    OBJECT,
    RESERVED,
    Format,
    Sign,
    brief,
    build,
    is_number,
    is_objects,
    is_only_error,
    kept_map,
    placed,
    restore,
    stow_in,
    whole,
)

TYPES: Final = {kind.value.upper(): kind for kind in Kind}


def dump(error: ToolError) -> dict[str, Json]:
    said: dict[str, Json] = {}
    if error.conflicts:
        said["conflicts"] = [conflict.to_dict() for conflict in error.conflicts]
    if error.retry_after is not None:
        said["retry_after"] = whole(error.retry_after)
    wire: dict[str, Json] = {"type": error.type, "message": error.message, "recoverable": error.recoverable}
    if data := {**placed(error, said, "retry_after"), **said}:
        wire["data"] = data
    return wire


def sniff(data: Mapping[str, Any]) -> bool:
    kind = data.get("type")
    if not isinstance(kind, str) or "detail" in data or "title" in data:
        return False
    return "recoverable" in data or (kind in TYPES and "message" in data)


def load(data: Mapping[str, Any]) -> ToolError | None:
    if not sniff(data):
        inner = data.get("error")
        if inner is None or not isinstance(inner, OBJECT) or not sniff(inner):
            return None
        # The form of the system the contract grew out of.
        data = inner
    name: str = data["type"]
    notes: list[str] = []
    context = kept_map(data.get("data"), notes, "data")
    carried = context.pop(RESERVED, None)
    conflicts = context.pop("conflicts") if is_objects(context.get("conflicts")) else None
    delay = context.pop("retry_after") if is_number(context.get("retry_after")) else None
    recoverable = data.get("recoverable")
    if "recoverable" in data and not isinstance(recoverable, bool):
        notes.append("recoverable was not true or false.")
    if name not in TYPES:
        notes.append(f"{brief(name)} is not one of the six types.")
    error = build(
        "typed",
        data.get("message", ""),
        {
            "code": name,
            "recoverable": recoverable,
            "conflicts": conflicts,
            "retry_after": delay,
            "details": context,
        },
        kind=TYPES.get(name),
        notes=notes,
    )
    return restore(error, carried, lambda whole: load(dump(whole)))


FORMAT: Final = Format(
    "typed",
    "000, six error types",
    dump,
    load,
    compact,
    stow=stow_in("data", dump),
    signs=(Sign(40, "type", load), Sign(50, "error", load, is_whole=is_only_error)),
    own_words=frozenset({"recoverable"}),
    terse=True,
    room="data",
    again=RetryRules(final=True),
)
