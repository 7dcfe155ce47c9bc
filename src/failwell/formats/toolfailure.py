"""`toolfailure`: an open proposal to the MCP specification (pull request 3313). Experimental, and only on request.

It travels in the `_meta` of a result, next to a text that carries the message, and its key lies under a prefix that
belongs to the MCP project. It may change or go away with the proposal.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from failwell.model import IN_DOUBT, Form, Json, Kind, ToolError, compact, instant

from .crosswalk import default_code
from .text import next_action
from .wire import Format, Sign, build

META_KEY: Final = "io.modelcontextprotocol/toolFailure"

_CLASS_OF_KIND: Final = {
    Kind.NOT_FOUND: "capability",
    Kind.CONFLICT: "capability",
    Kind.VALIDATION: "capability",
    Kind.INTERNAL: "capability",
    Kind.TRANSIENT: "reliability",
    Kind.PERMISSION: "governance",
}
_KIND_OF_CLASS: Final = {
    "capability": Kind.VALIDATION,
    "reliability": Kind.TRANSIENT,
    "governance": Kind.PERMISSION,
}
# The proposal's own words for what the core catalogue calls otherwise.
_WORD_OF_CODE: Final = {
    "NOT_FOUND": "resource_not_found",
    "VALIDATION_ERROR": "invalid_input",
    "UNSUPPORTED": "capability_unsupported",
    "UNAVAILABLE": "retryable_transient_error",
    "UNAUTHORIZED": "auth_required",
    "FORBIDDEN": "permission_denied",
    "POLICY_DENIED": "policy_blocked",
}
_CODE_OF_WORD: Final = {word: code for code, word in _WORD_OF_CODE.items()}


def dump(error: ToolError, *, now: datetime | str | None = None) -> dict[str, Json]:
    """The proposal's object. `now` turns a delay into the instant it wants; without it only `reset_at` is used."""
    code, kind = error.code or default_code(error), error.kind
    if error.info is None and error.effect in IN_DOUBT:
        # Of a code that nobody knows only the class is left, and that would say that the call can be corrected.
        code = "OUTCOME_UNKNOWN"
    wire: dict[str, Json] = {"class": _CLASS_OF_KIND[kind], "code": _WORD_OF_CODE.get(code, code)}
    if kind is Kind.TRANSIENT:
        wire["retryable"] = error.retryable
        moment = error.reset_at
        start = None if now is None else instant(now)
        if now is not None and start is None:
            raise ValueError("now is an instant: a datetime, or a text such as 2026-07-28T12:00:00Z.")
        if moment is None and start is not None and error.retry_after is not None:
            moment = start + timedelta(seconds=error.retry_after)
        if moment is not None and error.retryable:
            wire["retryNotBefore"] = int(moment.timestamp() * 1000)
    # The proposal demands one; where the server has none, equal failures share one.
    wire["correlationId"] = error.correlation_id or _digest(error)
    # The text beside it has the whole call.
    if guidance := " ".join(next_action(error, whole_call=False)):
        wire["agentGuidance"] = guidance
    return wire


def _digest(error: ToolError) -> str:
    return f"{zlib.crc32(f'{error.code} {error.message}'.encode()):08x}"


def sniff(data: Mapping[str, Any]) -> bool:
    return data.get("class") in _KIND_OF_CLASS and isinstance(data.get("code"), str) and "correlationId" in data


def load(data: Mapping[str, Any], clean: bool = False, message: str = "") -> ToolError | None:
    if not sniff(data):
        return None
    code = _CODE_OF_WORD.get(data["code"], data["code"])
    guidance, before = data.get("agentGuidance"), data.get("retryNotBefore")
    fields = {"code": code, "correlation_id": data["correlationId"], "suggestion": guidance}
    if isinstance(before, (int, float)) and abs(before) < 1e15:
        fields["reset_at"] = instant(before / 1000)
    error = build(
        "toolfailure",
        message or guidance or "",
        fields,
        retryable=data.get("retryable", False),
        clean=clean,
    )
    if error._info is None:
        error = error.replace(kind=_KIND_OF_CLASS[data["class"]])
    return error


FORMAT: Final = Format(
    "toolfailure",
    "MCP proposal 3313, experimental",
    dump,
    load,
    compact,
    options=("now",),
    catalog="toolfailure",
    signs=(Sign(60, "class", load),),
    gate="markdown",
    gated=False,
    meta_key=META_KEY,
    again=Form(flagged=True),
)
