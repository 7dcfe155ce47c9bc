"""The wire formats: one file each, one table, and the five functions that use it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from failwell.model import Json, NeedsInput, ToolError
from failwell.redact import DEFAULT, Guard

from . import jsonrpc, text
from .detection import META_KEY, careful_of
from .jsonrpc import ERA, MODERN_ERA
from .table import FORMATS
from .wire import Format, Outcome, stated


@dataclass(frozen=True, slots=True)
class Client:
    """One client and what it does with a failed result.

    `structured` is what becomes of `structuredContent`: shown to the model beside the text, dropped, shown `instead` of
    the text, or `checked` against the tool's output schema, with an exception when it does not fit.
    """

    name: str
    structured: Literal["shown", "dropped", "instead", "checked"] = "dropped"
    marks_errors: bool = True
    protocol_errors: Literal["shown", "hidden", "fatal"] = "shown"
    below: tuple[int, ...] | None = None
    """Only versions before this one."""
    chosen: bool = True
    """Whether somebody asked for it. Known by the client's name alone, it leaves a contract's text as it is."""


UNKNOWN: Final = Client("unknown", structured="checked", marks_errors=False, protocol_errors="hidden")
"""A client nobody knows may do the least."""

CLIENTS: Final = (
    Client("claude-code"),
    Client("claude-ai"),
    Client("claude-agent-sdk"),
    Client("openai-agents", marks_errors=False, protocol_errors="hidden"),
    Client("pydantic-ai", structured="instead"),
    Client("langchain-mcp-adapters", protocol_errors="fatal"),
    Client("smolagents", marks_errors=False, protocol_errors="fatal"),
    Client("mcpadapt", marks_errors=False, protocol_errors="fatal"),
    Client("mcp-agent", marks_errors=False),
    Client("fastmcp"),
    # The name of the Python SDK, by which clients connect that give none of their own: four are known, and the row is
    # what suits them all.
    Client("mcp", structured="instead", marks_errors=False, protocol_errors="hidden"),
    Client("mastra", structured="instead", marks_errors=False),
    Client("typescript-sdk", structured="checked", below=(2,)),
    Client("typescript-sdk", structured="shown"),
    Client("mcp-inspector", structured="checked", below=(2,)),
    Client("mcp-inspector", structured="shown"),
    Client("gemini-cli"),
    Client("crewai", marks_errors=False),
    Client("llama-index", marks_errors=False),
    Client("n8n", marks_errors=False),
    Client("elizaos", marks_errors=False),
    Client("nanobot", marks_errors=False),
)


def find_client(named: str | Client | None) -> Client | None:
    """The row for `name/version`, as a client gives it when it connects; what is not in the table counts as unknown."""
    if named is None or isinstance(named, Client):
        return named
    # It is asked of each failure, and a connection has one; a name of any length is not kept.
    return _found(named) if len(named) <= _LONGEST_KEPT else _found.__wrapped__(named)


_LONGEST_KEPT: Final = 200


@lru_cache(maxsize=256)
def _found(named: str) -> Client:
    name, _, version = named.partition("/")
    wanted = re.sub(r"[\s_]+", "-", name.strip().lower())
    number = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:3])
    for client in CLIENTS:
        if client.name == wanted and (client.below is None or (number and number < client.below)):
            return client
    return UNKNOWN


_UNSAID: Final = frozenset({"failwell", "outcome", "notes"})
# How it was said is for its reader to tell, unless it was said to be less than stated.
_READERS: Final = frozenset({"standing"})
_TITLING: Final = frozenset({"code", "kind"})
Gate = Literal["markdown", "json", "both"]
GATES: Final = ("markdown", "json", "both")


def render(
    outcome: Outcome, format: str = "text", *, carry: bool = False, guard: Guard | None = DEFAULT, **options: Any
) -> str:
    """The error as text in one of the formats. With `carry`, what the format cannot say travels along.

    The guard takes out what must not leave; `guard=None` is for texts that stay at home.

    >>> print(render(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30), "xml"))
    <tool_error code="RATE_LIMITED" severity="error">
      <message>Too many requests.</message>
      <retry_after>30 seconds</retry_after>
    </tool_error>
    """
    spec = _spec(format, options)
    return spec.encode(_wire(_guarded(outcome, guard), spec, carry, options))


def to_wire(
    outcome: Outcome, format: str, *, carry: bool = False, guard: Guard | None = DEFAULT, **options: Any
) -> Json:
    """What `render` turns into text: an object, or already a text for `xml` and `text`."""
    return _wire(_guarded(outcome, guard), _spec(format, options), carry, options)


def losses(outcome: Outcome, format: str, *, guard: Guard | None = DEFAULT) -> tuple[str, ...]:
    """The fields that do not survive the format's own form, by their canonical names.

    >>> losses(ToolError("Gone.", code="NOT_FOUND", suggestion="Call list."), "typed")
    ('suggestion',)
    """
    spec = _spec(format, {})
    outcome = _guarded(outcome, guard)
    wire = _wire(outcome, spec, False, {})
    back = spec.load(wire)
    return tuple(_lost(outcome, None if back is None else careful_of(back, wire)))


def unplaced_details(error: ToolError, format: str) -> list[str]:
    """The details that the form of a contract has no place for, though it has one for most."""
    spec = FORMATS[format]
    if spec.room is None:
        return []
    wire = spec.dump(error)
    held = wire.get(spec.room) if isinstance(wire, dict) else None
    given = error.details.items()
    return [name for name, value in given if not isinstance(held, dict) or (name, value) not in held.items()]


def to_result(
    outcome: Outcome,
    format: str = "text",
    *,
    gate: Gate | None = None,
    era: str = "2025-11-25",
    carry: bool = False,
    guard: Guard | None = DEFAULT,
    client: str | Client | None = None,
    output_schema: bool = False,
    meta: bool = True,
    prefix: str = "",
    **options: Any,
) -> dict[str, Json]:
    """The failure as the result of a tool call, ready for the wire.

    `gate` chooses between a block for people, one for programs, or both, whoever asks. `client` is who asked, as
    `name/version`: what it is known to show its model decides which other parts are sent and how much the text says.
    `output_schema` says that the tool declares one: then there is no `structuredContent`, since some clients check it
    and throw. `meta=False` leaves out the canonical error in `_meta`. `prefix` goes before the text for people.
    """
    if gate not in (None, *GATES):
        raise ValueError(f"There is no gate {gate!r}; use 'markdown', 'json' or 'both'.")
    if not ERA.fullmatch(era):
        raise ValueError(f"{era!r} is not a protocol version; it looks like '2025-11-25'.")
    return as_result(
        _guarded(outcome, guard),
        format,
        gate=gate,
        era=era,
        carry=carry,
        client=client,
        output_schema=output_schema,
        meta=meta,
        prefix=prefix,
        **options,
    )


def in_words(outcome: Outcome) -> str:
    """What people read of it, and models where they read nothing else. It has been guarded, or stays at home."""
    return text.ask(outcome) if isinstance(outcome, NeedsInput) else text.dump(outcome)


def as_result(
    outcome: Outcome,
    format: str,
    *,
    words: str | None = None,
    gate: Gate | None = None,
    era: str,
    carry: bool = False,
    client: str | Client | None = None,
    output_schema: bool = False,
    meta: bool = True,
    prefix: str = "",
    form: dict[str, Json] | None = None,
    **options: Any,
) -> dict[str, Json]:
    """`to_result` for an outcome that has been guarded; `words` is what people read, and `form` the object of the
    format, where they are known by now."""
    spec = _spec(format, options)
    if isinstance(outcome, ToolError):
        outcome = stated(outcome, spec)
    if "era" in spec.options:
        options.setdefault("era", era)
    if form is not None:
        wire: Json = form
    elif spec.prose and words is not None:
        wire = words
    else:
        wire = _wire(outcome, spec, carry, options)
    if words is None:
        # The form is the words, or they are put beside it.
        words = wire if spec.prose and isinstance(wire, str) else in_words(outcome)
    known = find_client(client)
    result: dict[str, Json] = {"content": _blocks(outcome, spec, wire, words, gate, prefix, known)}
    if isinstance(wire, dict) and _structured_fits(spec, known, output_schema):
        result["structuredContent"] = wire
    if isinstance(outcome, ToolError):
        result["isError"] = outcome.is_error or spec.is_failure
    elif spec.ask is None:
        result["isError"] = True
    attached: dict[str, Json] = {META_KEY: outcome.to_dict()} if meta else {}
    if attached:
        result["_meta"] = attached
    if era >= MODERN_ERA:
        result["resultType"] = "complete"
    return result


def _structured_fits(spec: Format, client: Client | None, output_schema: bool) -> bool:
    if client is None:
        return not output_schema
    if client.structured == "instead":
        # It replaces the text, so only an object that says everything may go out.
        return spec.whole
    return client.structured != "checked" or not output_schema


def _blocks(
    outcome: Outcome, spec: Format, wire: Json, words: str, gate: Gate | None, prefix: str, client: Client | None
) -> list[Json]:
    hides = client is not None and not client.marks_errors and isinstance(outcome, ToolError) and outcome.is_error
    people: dict[str, Json] = {"type": "text", "text": (prefix or ("Error: " if hides else "")) + words}
    programs: dict[str, Json] = {"type": "text", "text": spec.encode(wire)}
    if spec.dress is not None:
        spec.dress(outcome, people, programs, None if client is not None and client.chosen else prefix)
    if not isinstance(wire, dict):
        return [people] if spec.prose else [programs]
    gate = gate or spec.gate
    if gate == "json":
        return [programs]
    return [people] if gate == "markdown" else [people, programs]


def to_jsonrpc(
    outcome: Outcome,
    id: str | int | float | None = None,
    *,
    carry: bool = False,
    guard: Guard | None = DEFAULT,
    **options: Any,
) -> dict[str, Json]:
    """The failure as a JSON-RPC error response. Options: `era`, `number`, `actionable`, `debug`."""
    if not jsonrpc.is_id(id):
        raise ValueError(f"A JSON-RPC id is a text, a number or None, not {type(id).__name__}.")
    return {"jsonrpc": "2.0", "id": id, "error": to_wire(outcome, "jsonrpc", carry=carry, guard=guard, **options)}


def _guarded(outcome: Outcome, guard: Guard | None) -> Outcome:
    return outcome if guard is None else guard(outcome)


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
        options = {**spec.question, **options}
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
    names += [name for name in theirs if name not in mine and name not in _READERS]
    # A title nobody stated is the code's own, or the kind's, and goes with it.
    follows = isinstance(outcome, ToolError) and outcome.title == outcome.default("title")
    unsaid = _UNSAID | {"title"} if follows and not _TITLING.isdisjoint(names) else _UNSAID
    return [name for name in names if name not in unsaid]
