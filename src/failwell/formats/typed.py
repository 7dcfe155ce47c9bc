"""`typed`: contract 000, six error types in compact JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Json, Kind, RetryRules, ToolError, compact

from .wire import (
    OBJECT,
    RESERVED,
    Format,
    Places,
    Sign,
    brief,
    build,
    is_number,
    is_objects,
    is_only_error,
    kept_map,
    only_if,
    open_details,
    restore,
    stated,
    stow_in,
    take_fields,
    whole,
)

TYPES: Final = {kind.value.upper(): kind for kind in Kind}


_PLACES: Final[Places] = {
    "conflicts": ("conflicts", only_if(is_objects)),
    "retry_after": ("retry_after", only_if(is_number)),
}


def dump(error: ToolError) -> dict[str, Json]:
    data, error = open_details(error), stated(error, FORMAT)
    if error.conflicts:
        data["conflicts"] = [conflict.to_dict() for conflict in error.conflicts]
    if error.given("retry_after"):
        # Of a call that may have been done it is a fact; the flag forbids.
        data["retry_after"] = whole(error._given["retry_after"])
    wire: dict[str, Json] = {"type": error.type, "message": error.message, "recoverable": error.recoverable}
    return {**wire, "data": data} if data else wire


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
    fields = take_fields(context, _PLACES)
    recoverable = data.get("recoverable")
    if "recoverable" in data and not isinstance(recoverable, bool):
        notes.append("recoverable was not true or false.")
    if name not in TYPES:
        notes.append(f"{brief(name)} is not one of the six types.")
    error = build(
        "typed",
        data.get("message", ""),
        {"code": name, "recoverable": recoverable, "details": context, **fields},
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
    places=_PLACES,
    signs=(Sign(40, "type", load), Sign(50, "error", load, is_whole=is_only_error)),
    own_words=frozenset({"recoverable"}),
    terse=True,
    room="data",
    again=RetryRules(final=True),
)
