"""What the formats share: the shape of a format, JSON text, and building an error from what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from failwell.model.codes import find
from failwell.model.error import KIND_CLASSES, ToolError, normalised
from failwell.model.kinds import Kind, Severity
from failwell.model.needs import NeedsInput
from failwell.model.parts import Action, FieldError, Patch
from failwell.model.plain import MAX_DEPTH, Json, plain, text

RESERVED: Final = "failwell"
"""The key under which a format keeps what its contract has no word for."""

compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
pretty: Final = json.JSONEncoder(ensure_ascii=False, indent=2, check_circular=False).encode

Outcome = ToolError | NeedsInput
_DEFAULTS: Final[dict[str, Callable[[ToolError], Any]]] = {
    "recoverable": ToolError.recoverable.derive,
    "strategy": ToolError.strategy.derive,
    "effect": ToolError.effect.derive,
    "title": ToolError.title.derive,
}


@dataclass(frozen=True, slots=True)
class Format:
    """One wire format: how an error becomes a wire value (an object, or a text for `xml` and `text`) and back."""

    name: str
    contract: str
    dump: Callable[..., Json]
    load: Callable[..., Outcome | None]
    encode: Callable[[Any], str]
    options: tuple[str, ...] = ()
    ask: Callable[[NeedsInput], Json] | None = None
    stow: Callable[..., Json] | None = None


_TEXTS: Final = frozenset(
    {"code", "title", "suggestion", "policy_decision", "tool", "action", "tier", "correlation_id"}
)
_MAPS: Final = frozenset({"details", "meta"})
_PARTS: Final[dict[str, Any]] = {"actions": Action, "fields": FieldError, "patch": Patch}


def _read_field(name: str, value: Any, clean: bool) -> Any:
    """`value` as the field keeps it. In clean JSON, what has the right type already is taken as it is."""
    if clean:
        kind = type(value)
        if (kind is str and name in _TEXTS) or (kind is dict and name in _MAPS):
            return value or None
        if kind is list and name in _PARTS and len(value) <= 100:
            read = _PARTS[name].of_clean
            return tuple(found for item in value if (found := read(item)) is not None) or None
    return normalised(name, value)


def build(
    format: str,
    message: object,
    *,
    kind: Kind | None = None,
    retryable: object = None,
    notes: list[str] | tuple[str, ...] = (),
    clean: bool = False,
    **fields: Any,
) -> ToolError:
    """The error a peer sent. `retryable` is the flag on the wire; it counts only for codes nobody knows.

    `clean` says that the values come out of JSON that `is_clean` looked at, so that they need no second look.
    """
    notes = list(notes)
    code = fields.get("code")
    if code is not None and not isinstance(code, str):
        notes.append("The code was not a text.")
        fields["code"] = code = None
    info = find(code)
    flag = retryable if isinstance(retryable, bool) else None
    if kind is None:
        kind = info.kind if info else Kind.TRANSIENT if flag else Kind.INTERNAL
    if not isinstance(message, str):
        notes.append("The message was not a text.")
        message = as_text(message)
    if retryable is not None and flag is None:
        notes.append("The retryable flag was not true or false.")
    if info is not None and flag is not None and flag is not info.retryable:
        notes.append(f"The peer said retryable: {str(flag).lower()}, which the code {info.name} rules out.")
    given: dict[str, Any] = {"message": text(message), "origin": "peer", "format": format}
    for name, value in fields.items():
        if value is not None and (kept := _read_field(name, value, clean)) is not None:
            given[name] = kept
    if "severity" not in fields:
        given["severity"] = Severity.ERROR
    if flag is not None and (info is None or flag is not info.retryable):
        given["wire_retryable"] = flag
    if notes:
        given["notes"] = tuple(notes)
    error = KIND_CLASSES[kind]._blank(given)
    error.args = (given["message"],)
    error._info = info
    _forget_defaults(error)
    return error


def _forget_defaults(error: ToolError) -> None:
    """What follows from the code and the kind anyway was not stated: it would read as if the author insisted."""
    given = error._given
    for name, default in _DEFAULTS.items():
        if name in given and given[name] == default(error):
            del given[name]


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


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else str(number)


_decode = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).decode


def read_json(source: str) -> Json:
    """The JSON value in `source`, or None for anything that is not JSON. What JSON has no number for comes as text."""
    try:
        return _decode(source)
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


def is_clean(source: str) -> bool:
    """Whether what `read_json` makes of `source` is plain data: no halves of characters, no nesting out of proportion.

    It is asked of the text because that is faster than looking at every value.
    """
    return (
        "\\ud" not in source
        and "\\uD" not in source
        and source.count("{") + source.count("[") < MAX_DEPTH
        and (source.isascii() or text(source) == source)
    )


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
    """A delay in whole units, never shorter than it was, but for the noise of floating point."""
    return max(1, math.ceil(round(delay, 6)))


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
