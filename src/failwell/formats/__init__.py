"""The wire formats: one file each, one table, and the five functions that use it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from failwell.model.error import ToolError
from failwell.model.needs import NeedsInput
from failwell.model.plain import Json

from . import canonical, envelope, jsonrpc, text, typed, v1, xml
from .jsonrpc import MODERN_ERA
from .reading import META_KEY, parse
from .wire import Format, Outcome, pretty

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {module.FORMAT.name: module.FORMAT for module in (typed, v1, xml, envelope, jsonrpc, text, canonical)}
)

Gate = Literal["markdown", "json", "both"]
GATES: Final = ("markdown", "json", "both")
_ERA = re.compile(r"\d{4}-\d\d-\d\d")


def render(outcome: Outcome, format: str = "text", *, carry: bool = False, **options: Any) -> str:
    """The error as text in one of the formats. With `carry`, what the format cannot say travels along.

    >>> print(render(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30), "xml"))
    <tool_error code="RATE_LIMITED" severity="error">
      <message>Too many requests.</message>
      <retry_after>30 seconds</retry_after>
    </tool_error>
    """
    spec = _spec(format, options)
    return spec.encode(_wire(outcome, spec, carry, options))


def to_wire(outcome: Outcome, format: str, *, carry: bool = False, **options: Any) -> Json:
    """What `render` turns into text: an object, or already a text for `xml` and `text`."""
    return _wire(outcome, _spec(format, options), carry, options)


def losses(outcome: Outcome, format: str) -> tuple[str, ...]:
    """The fields that do not survive the format's own form, by their canonical names.

    >>> losses(ToolError("Gone.", code="NOT_FOUND", suggestion="Call list."), "typed")
    ('suggestion',)
    """
    spec = _spec(format, {})
    return tuple(_lost(outcome, spec.load(_wire(outcome, spec, False, {}))))


def to_result(
    outcome: Outcome,
    format: str = "text",
    *,
    gate: Gate | None = None,
    era: str = "2025-11-25",
    carry: bool = False,
    output_schema: bool = False,
    meta: bool = True,
    prefix: str = "",
    **options: Any,
) -> dict[str, Json]:
    """The failure as the result of a tool call, ready for the wire.

    `gate` chooses between a block for people, one for programs, or both. `output_schema` says that the tool declares
    one: then there is no `structuredContent`, since some clients check it and throw. `meta=False` leaves out the
    canonical error in `_meta`. `prefix` goes before the text for people.
    """
    if gate not in (None, *GATES):
        raise ValueError(f"There is no gate {gate!r}; use 'markdown', 'json' or 'both'.")
    if not _ERA.fullmatch(era):
        raise ValueError(f"{era!r} is not a protocol version; it looks like '2025-11-25'.")
    if format == "jsonrpc":
        options.setdefault("era", era)
    spec = _spec(format, options)
    wire = _wire(outcome, spec, carry, options)
    asking = isinstance(outcome, NeedsInput) and (spec.ask is not None)
    result: dict[str, Json] = {"content": _blocks(outcome, spec, wire, gate, prefix)}
    if isinstance(wire, dict) and not output_schema:
        result["structuredContent"] = wire
    if not asking:
        result["isError"] = outcome.is_error if isinstance(outcome, ToolError) else True
    if meta:
        result["_meta"] = {META_KEY: canonical.ask(outcome) if isinstance(outcome, NeedsInput) else outcome.to_dict()}
    if era >= MODERN_ERA:
        result["resultType"] = "complete"
    return result


def _blocks(outcome: Outcome, spec: Format, wire: Json, gate: Gate | None, prefix: str) -> list[Json]:
    if spec.name == "v1":
        people: dict[str, Json] = {"type": "text", "text": prefix + outcome.message, "mimeType": "text/markdown"}
        if isinstance(outcome, NeedsInput):
            people = {
                "type": "text",
                "text": prefix + text.ask(outcome),
                "annotations": {"priority": 1, "audience": ["user"]},
            }
        programs: dict[str, Json] = {"type": "text", "text": spec.encode(wire), "mimeType": "application/json"}
        gate = gate or "markdown"
    else:
        people = {"type": "text", "text": prefix + render(outcome, "text")}
        programs = {"type": "text", "text": spec.encode(wire)}
        gate = gate or ("markdown" if spec.name == "canonical" else "json")
        if not isinstance(wire, dict):
            people = programs
    return (
        [people] if gate == "markdown" else [programs] if gate == "json" or people is programs else [people, programs]
    )


def to_jsonrpc(outcome: Outcome, id: str | int | float | None = None, **options: Any) -> dict[str, Json]:
    """The failure as a JSON-RPC error response. Options: `era`, `number`, `actionable`, `debug`, `carry`."""
    carry = bool(options.pop("carry", False))
    if not jsonrpc.is_id(id):
        raise ValueError(f"A JSON-RPC id is a text, a number or None, not {type(id).__name__}.")
    return {"jsonrpc": "2.0", "id": id, "error": to_wire(outcome, "jsonrpc", carry=carry, **options)}


def _spec(format: str, options: Mapping[str, Any]) -> Format:
    spec = FORMATS.get(format)
    if spec is None:
        raise ValueError(f"There is no format {format!r}; use one of: {', '.join(FORMATS)}.")
    for name in options:
        if name not in spec.options:
            known = f"; it has {', '.join(spec.options)}" if spec.options else ""
            raise ValueError(f"The format {format!r} has no option {name!r}{known}.")
    return spec


def _wire(outcome: Outcome, spec: Format, carry: bool, options: Mapping[str, Any]) -> Json:
    if isinstance(outcome, NeedsInput):
        if spec.ask is not None:
            return spec.ask(outcome)
        outcome = outcome.to_error()
    wire = spec.dump(outcome, **options)
    if not carry or spec.stow is None:
        return wire
    names = _lost(outcome, spec.load(wire))
    while names:
        data = outcome._says()
        wire = spec.stow(outcome, {name: data.get(name) for name in names}, **options)
        # Keeping one field can uncover another that only looked right because the first was lost.
        more = [name for name in _lost(outcome, spec.load(wire)) if name not in names]
        if not more:
            break
        names += more
    return wire


def _lost(outcome: Outcome, back: Outcome | None) -> list[str]:
    if isinstance(outcome, NeedsInput):
        mine = outcome.to_dict()
        theirs = back.to_dict() if isinstance(back, NeedsInput) else {}
    else:
        mine = outcome._says()
        theirs = back._says() if isinstance(back, ToolError) else {}
    names = [name for name in mine if mine[name] != theirs.get(name)]
    return names + [name for name in theirs if name not in mine and name != "notes"]


__all__ = [
    "FORMATS",
    "GATES",
    "META_KEY",
    "Format",
    "Outcome",
    "losses",
    "parse",
    "pretty",
    "render",
    "to_jsonrpc",
    "to_result",
    "to_wire",
]
