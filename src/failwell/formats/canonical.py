"""`canonical`: the whole model as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import CANONICAL_VERSION, UNWRITTEN, Fields, Json, Kind, NeedsInput, RetryRules, ToolError, compact

from .wire import OBJECT, RESERVED, Format, Outcome, Sign, brief, build

# Kind and severity are read by themselves; how the error came here, its reader says.
_OTHERWISE: Final = ("kind", "severity", "origin", "delivery", "format", "notes")
FIELDS: Final = frozenset(Fields.__annotations__).difference(_OTHERWISE, UNWRITTEN)
"""What is read as it stands."""
_kind: Final = Kind.of
LISTS: Final = ("next_steps", "actions", "fields", "patch", "conflicts")


def dump(error: ToolError) -> dict[str, Json]:
    return error.to_dict(provenance=False)


def ask(question: NeedsInput) -> dict[str, Json]:
    return question.to_dict()


def sniff(data: Mapping[str, Any]) -> bool:
    return data.get("failwell") == CANONICAL_VERSION and ("message" in data or "kind" in data)


def load(data: Mapping[str, Any]) -> Outcome | None:
    if not sniff(data):
        return None
    if data.get("outcome") == "needs_input":
        suggestions = data.get("suggestions")
        return NeedsInput(
            data.get("message", ""),
            fields=data.get("fields", ()),
            reason=data.get("reason"),
            suggestions=suggestions if isinstance(suggestions, Mapping) else None,
            options=data.get("options", ()),
            format="canonical",
        )
    noted = data.get("notes")
    notes = [note for note in noted if isinstance(note, str)] if isinstance(noted, list) else []
    kind = _kind(data.get("kind"))
    if kind is None and "kind" in data:
        notes.append(f"The kind {brief(data['kind'])} is not one of the six.")
    fields = {"severity": data.get("severity")}
    for name, value in data.items():
        if name in FIELDS and value is not None:
            fields[name] = value  # noqa: PERF403 - joining two maps takes longer
    list_fields(fields, notes)
    for name in ("details", "meta"):
        if name in fields and not isinstance(fields[name], OBJECT):
            notes.append(f"{name} was not an object.")
            fields[name] = {name: fields[name]}
    return build(
        "canonical",
        data.get("message", ""),
        fields,
        kind=kind,
        retryable=data.get("retryable"),
        notes=notes,
    )


def list_fields(fields: dict[str, Json], notes: list[str], names: tuple[str, ...] = LISTS) -> None:
    """Takes out what should have been a list and is none."""
    for name in names:
        if name in fields and not isinstance(fields[name], list):
            notes.append(f"{name} was not a list.")
            del fields[name]


FORMAT: Final = Format(
    "canonical",
    "Failwell's own",
    dump,
    load,
    compact,
    ask=ask,
    signs=(Sign(0, RESERVED, load),),
    gate="markdown",
    whole=True,
    again=RetryRules(relayed=True),
)
