"""`v1`: contract 001, `toolError:v1` and `needsInput:v1`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Json, NeedsInput, RetryRules, ToolError, each, find, seconds

from .crosswalk import ROWS, core_code
from .text import as_prose
from .wire import (
    RESERVED,
    Blocks,
    Format,
    Outcome,
    Places,
    Sign,
    build,
    kept_map,
    only_if,
    open_details,
    pretty,
    restore,
    stated,
    stow_in,
    take_fields,
)

ERROR: Final = "toolError:v1"
QUESTION: Final = "needsInput:v1"


def _is_status(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


_PLACES: Final[Places] = {"statusCode": ("http_status", only_if(_is_status)), "retryAfter": ("retry_after", seconds)}


def code_of(error: ToolError) -> str:
    """The code as contract 001 writes it: one of its six for core codes, unless that would change `retryable`."""
    info = error.info
    if error.code is not None and (info is None or info.catalog != "core"):
        return error.code
    mapped = ROWS[core_code(error)][0]
    known = find(mapped)
    if error.code is not None and known is not None and known.retryable is not error.passes:
        return error.code
    return mapped


def strict_code_of(error: ToolError) -> str:
    """One of the six codes, by the letter of the contract: a status decides, and 429 is the client's mistake."""
    status = error.http_status
    if error.code is not None and (info := error.info) is not None and info.catalog == "v1":
        return error.code
    if status is not None and status >= 400:
        return _BY_STATUS.get(status) or ("SERVER_ERROR" if status >= 500 else "CLIENT_ERROR")
    return ROWS[core_code(error)][0]


_BY_STATUS: Final = {401: "AUTHENTICATION_ERROR", 403: "AUTHENTICATION_ERROR", 404: "NOT_FOUND"}


def dump(error: ToolError, *, strict: bool = False) -> dict[str, Json]:
    """The object. With `strict` the code is one of the contract's six, and `retryable` what the contract says of it,
    unless the call may have been done already."""
    code = strict_code_of(error) if strict else code_of(error)
    known = find(code) if strict else None
    context, error = open_details(error), stated(error, FORMAT)
    said: dict[str, Json] = {}
    if error.http_status is not None:
        said["statusCode"] = error.http_status
    if error.given("retry_after"):
        # Of a call that may have been done it is a fact; the flag forbids.
        said["retryAfter"] = error._given["retry_after"]
    wire: dict[str, Json] = {
        "kind": ERROR,
        "code": code,
        "message": error.message,
        "retryable": error.retryable if known is None else known.retryable and error.may_repeat,
    }
    # The contract leaves out what is not known, and its schema refuses null.
    if details := {name: value for name, value in {**said, **context, **said}.items() if value is not None}:
        wire["details"] = details
    return wire


def ask(question: NeedsInput) -> dict[str, Json]:
    needs: dict[str, Json] = {"fields": list(question.fields), "reason": question.reason or question.message}
    if question.suggestions:
        needs["suggestions"] = question.suggestions
    wire: dict[str, Json] = {
        "kind": QUESTION,
        "type": "elicitation",
        "message": question.message,
        "needsInput": needs,
    }
    if question.options:
        wire["options"] = [option.to_dict() for option in question.options]
    return wire


def load(data: Mapping[str, Any]) -> Outcome | None:
    kind = data.get("kind")
    if kind == QUESTION:
        return _load_question(data)
    if kind != ERROR:
        return None
    notes: list[str] = []
    details = kept_map(data.get("details"), notes, "details")
    carried = details.pop(RESERVED, None)
    fields = take_fields(details, _PLACES)
    code = data.get("code")
    if not isinstance(code, str):
        notes.append("The code was not a text.")
    error = build(
        "v1",
        data.get("message", ""),
        {"code": code if isinstance(code, str) else None, "details": details, **fields},
        retryable=data.get("retryable"),
        notes=notes,
    )
    return restore(error, carried, _again, ({}, {"strict": True}, {"own": True}))


def _again(error: ToolError, *, strict: bool = False, own: bool = False) -> Outcome | None:
    wire = dump(error, strict=strict)
    if own and error.code is not None:
        # Which codes are the author's own, only the writer knows for certain.
        wire["code"] = error.code
    return load(wire)


def _load_question(data: Mapping[str, Any]) -> NeedsInput:
    needs = data.get("needsInput")
    needs = needs if isinstance(needs, Mapping) else {}
    reason = needs.get("reason")
    suggestions = needs.get("suggestions")
    message = data.get("message", "")
    return NeedsInput(
        message,
        fields=[name for name in each(needs.get("fields")) if isinstance(name, str)],
        reason=None if reason == message else reason,
        suggestions=suggestions if isinstance(suggestions, Mapping) else None,
        options=data.get("options", ()),
        format="v1",
    )


def _dress(outcome: Outcome, people: Blocks, programs: Blocks, prefix: str | None) -> None:
    programs["mimeType"] = "application/json"
    if isinstance(outcome, NeedsInput):
        people["annotations"] = {"priority": 1, "audience": ["user"]}
        return
    people["mimeType"] = "text/markdown"
    if prefix is not None:
        people["text"] = prefix + as_prose(outcome.message)


FORMAT: Final = Format(
    "v1",
    "001, toolError:v1",
    dump,
    load,
    pretty,
    ("strict",),
    ask,
    stow_in("details", dump),
    _PLACES,
    signs=(Sign(20, "kind", load),),
    last_counts=True,
    unflagged=True,
    marked=True,
    gate="markdown",
    terse=True,
    room="details",
    dress=_dress,
    # Contract 001 says of what is not retryable that the user has to act, without exception.
    again=RetryRules(asks=True),
)
