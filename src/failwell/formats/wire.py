"""What the formats share: the shape of a format, JSON text, and building an error from what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from failwell.model.codes import find
from failwell.model.error import KIND_CLASSES, ToolError
from failwell.model.kinds import Kind
from failwell.model.needs import NeedsInput
from failwell.model.plain import Json, plain

RESERVED: Final = "failwell"
"""The key under which a format keeps what its contract has no word for."""

compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
pretty: Final = json.JSONEncoder(ensure_ascii=False, indent=2, check_circular=False).encode

Outcome = ToolError | NeedsInput


@dataclass(frozen=True, slots=True)
class Format:
    """One wire format: how an error becomes a wire value (an object, or a text for `xml` and `text`) and back."""

    name: str
    contract: str
    dump: Callable[..., Json]
    load: Callable[[Any], Outcome | None]
    encode: Callable[[Any], str]
    options: tuple[str, ...] = ()
    ask: Callable[[NeedsInput], Json] | None = None
    stow: Callable[..., Json] | None = None


def build(
    format: str, message: object, *, kind: Kind | None = None, retryable: object = None, **fields: Any
) -> ToolError:
    """The error a peer sent. `retryable` is the flag on the wire; it counts only for codes nobody knows."""
    notes = list(fields.pop("notes", ()))
    if fields.get("code") is not None and not isinstance(fields["code"], str):
        notes.append("The code was not a text.")
        fields["code"] = None
    info = find(fields.get("code"))
    flag = retryable if isinstance(retryable, bool) else None
    if kind is None:
        kind = info.kind if info else Kind.TRANSIENT if flag else Kind.INTERNAL
    if not isinstance(message, str):
        notes.append("The message was not a text.")
    if retryable is not None and flag is None:
        notes.append("The retryable flag was not true or false.")
    if info is not None and flag not in (None, info.retryable):
        notes.append(f"The peer said retryable: {str(flag).lower()}, which the code {info.name} rules out.")
    error = KIND_CLASSES[kind]._blank({})
    fields.update(origin="peer", format=format, notes=notes, wire_retryable=None if info else flag)
    error.__init__(as_text(message), **fields)  # type: ignore[misc]
    _forget_defaults(error)
    return error


def _forget_defaults(error: ToolError) -> None:
    """What follows from the code and the kind anyway was not stated: it would read as if the author insisted."""
    given = error._given
    for name in ("recoverable", "strategy", "effect", "title"):
        if name in given:
            stated = given.pop(name)
            if getattr(error, name) != stated:
                given[name] = stated


def restore(error: ToolError, carried: object) -> ToolError:
    """`error` with the fields that travelled under the reserved key put back."""
    if not isinstance(carried, Mapping) or not carried:
        return error
    from . import canonical

    data = error.to_dict()
    if "title" in carried or "code" in carried:
        data.pop("title", None)
    for name, value in carried.items():
        if value is None:
            data.pop(name, None)
        else:
            data[name] = value
    data[RESERVED] = 1
    whole = canonical.load(data)
    if not isinstance(whole, ToolError):
        return error
    return whole.replace(format=error.format, notes=(*error.notes, *whole.notes) if error.notes else whole.notes)


def read_json(source: str) -> Json:
    """The JSON value in `source`, or None for anything that is not JSON."""
    try:
        return json.loads(source)
    except RecursionError:
        return None
    except ValueError as problem:
        if "integer string conversion" not in str(problem):
            return None
    try:
        # Python refuses to read integers of thousands of digits; as texts they do no harm.
        return json.loads(source, parse_int=lambda digits: int(digits) if len(digits) < 1000 else digits)
    except (ValueError, RecursionError):
        return None


def as_text(value: object) -> str:
    """A text, whatever stood in its place."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(plain(value))


def brief(value: object) -> str:
    """A value in a note: short, whatever it is."""
    shown = repr(value) if isinstance(value, str) else as_text(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


def whole(delay: float) -> int:
    """A delay in whole seconds, never shorter than it was."""
    return math.ceil(delay)


def spread(error: ToolError, own: Container[str]) -> dict[str, Json]:
    """The details that may stand beside the contract's own keys: those that could not be taken for one of them."""
    return {name: value for name, value in error.details.items() if name != RESERVED and name not in own}


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def is_texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(is_text(item) for item in value)


def is_objects(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def kept_map(value: object, notes: list[str], name: str) -> dict[str, Json]:
    """`value` where an object belongs; anything else is kept under its key, with a note."""
    if isinstance(value, Mapping):
        return dict(value)
    if value is None:
        return {}
    notes.append(f"{name} was not an object.")
    return {name: value}


def stow_in(key: str, dump: Callable[..., dict[str, Json]]) -> Callable[..., Json]:
    """`dump` with what the format cannot say kept in the object under `key`."""

    def stow(error: ToolError, carried: dict[str, Json], **options: Any) -> Json:
        wire = dump(error, **options)
        wire[key] = {**(wire.get(key) or {}), RESERVED: carried}
        return wire

    return stow
