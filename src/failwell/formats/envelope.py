"""`envelope`: contract 003, one JSON envelope for successes and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeGuard

from failwell.model import Effect, Json, ToolError, find, instant, positive, rfc3339, snake

from .crosswalk import ROWS, core_code, default_code
from .wire import (
    OBJECT,
    RESERVED,
    Format,
    Places,
    Sign,
    brief,
    build,
    is_text,
    only_if,
    pretty,
    restore,
    stated,
    take_fields,
    whole,
)

Profile = Literal["api", "workflow"]
TOOL_VERSION: Final = "1.0"
MODES: Final = ("autopilot", "composer")
_META: Final = ("pagination", "retry_count", "provider_backend", "correlation_id", "rollback")


def code_of(error: ToolError, strict: bool = False) -> str:
    """The code in snake_case; with `strict`, one of the contract's 27."""
    info = error.info
    if strict:
        if info is not None and info.catalog == "social":
            return info.name
        mapped = ROWS[core_code(error)][1]
        known = find(mapped, exact=True)
        if known is not None and (known.retryable is error.passes or known.effect is error.effect is Effect.PARTIAL):
            return mapped
        return "x_api_error" if error.passes else "serialization_error"
    return snake(error.code or "") or default_code(error).lower()


_PLACES: Final[Places] = {
    "rate_limit_reset": ("reset_at", instant),
    "retry_after_ms": ("retry_after", lambda value: None if (ms := positive(value)) is None else ms / 1000),
    "policy_decision": ("policy_decision", only_if(is_text)),
}


def dump(
    error: ToolError,
    *,
    strict: bool = False,
    profile: Profile | None = None,
    mode: str | None = None,
    approval_mode: bool | None = None,
    elapsed_ms: int | None = None,
) -> dict[str, Json]:
    code = code_of(error, strict)
    known = find(code, exact=True) if strict else None
    reason: dict[str, Json] = {
        "code": code,
        "message": error.message,
        "retryable": error.retryable if known is None else known.retryable,
    }
    own, error = error.details, stated(error, FORMAT)
    if error.reset_at is not None:
        # The contract has it as a text, in either form: an author's own stays in theirs.
        reset = own.get("rate_limit_reset")
        reason["rate_limit_reset"] = str(reset) if instant(reset) == error.reset_at else rfc3339(error.reset_at)
    if error.retry_after is not None:
        reason["retry_after_ms"] = whole(error.retry_after * 1000)
    if error.policy_decision:
        reason["policy_decision"] = error.policy_decision
    wire: dict[str, Json] = {"success": False, "data": own.get("data"), "error": reason}
    attached = dict(error.meta)
    if error.correlation_id is not None:
        attached["correlation_id"] = error.correlation_id
    if meta := build_meta(attached, profile=profile, mode=mode, approval_mode=approval_mode, elapsed_ms=elapsed_ms):
        wire["meta"] = meta
    return wire


def success(data: Json, meta: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Json]:
    """The envelope of a call that worked; `options` as for failures: profile, mode, approval_mode, elapsed_ms."""
    wire: dict[str, Json] = {"success": True, "data": data}
    if attached := build_meta(dict(meta or {}), **options):
        wire["meta"] = attached
    return wire


def build_meta(
    known: dict[str, Json],
    *,
    profile: Profile | None = None,
    mode: str | None = None,
    approval_mode: bool | None = None,
    elapsed_ms: int | None = None,
) -> dict[str, Json]:
    """The contract's metadata. The `api` profile never has `mode` and `approval_mode`, `workflow` always has both."""
    if profile not in (None, "api", "workflow"):
        raise ValueError(f"There is no profile {profile!r}; use 'api' or 'workflow'.")
    if profile == "api":
        if mode is not None or approval_mode is not None:
            raise ValueError("The api profile has no mode and no approval_mode; leave them out or use 'workflow'.")
        known.pop("mode", None)
        known.pop("approval_mode", None)
    if mode is not None and mode not in MODES:
        raise ValueError(f"There is no mode {mode!r}; use 'autopilot' or 'composer'.")
    if approval_mode is not None and not isinstance(approval_mode, bool):
        raise ValueError("approval_mode is True or False.")
    if elapsed_ms is not None and not _is_count(elapsed_ms):
        raise ValueError("elapsed_ms is a number of milliseconds, not below zero.")
    # What the error itself carries is a value, not an option: where it makes no sense it does not count.
    mode = mode or next((word for word in MODES if word == known.get("mode")), None)
    approval_mode = known.get("approval_mode") if approval_mode is None else approval_mode
    if profile == "workflow" and (mode is None or not isinstance(approval_mode, bool)):
        raise ValueError("The workflow profile needs a mode and an approval_mode.")
    elapsed = known.get("elapsed_ms") if elapsed_ms is None else elapsed_ms
    meta: dict[str, Json] = {}
    if _is_count(elapsed):
        meta["elapsed_ms"] = int(elapsed)
    meta |= {name: known[name] for name in _META if known.get(name) is not None}
    if mode is not None and isinstance(approval_mode, bool):
        # Both or neither: the contract knows no half of a workflow.
        meta |= {"mode": mode, "approval_mode": approval_mode}
    if not meta and profile is None and "tool_version" not in known:
        return {}
    return {"tool_version": TOOL_VERSION, **meta}


def _is_count(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1 << 64


def sniff(data: Mapping[str, Any]) -> bool:
    return data.get("success") is False and ("error" in data or isinstance(data.get("message"), str))


def load(data: Mapping[str, Any]) -> ToolError | None:
    if not sniff(data):
        return None
    notes: list[str] = []
    reason = data.get("error")
    if not isinstance(reason, OBJECT):
        # What most servers that have no contract send: the reason as a text.
        reason = {"message": reason if reason is not None else data.get("message"), "code": data.get("code")}
    attached = data.get("meta")
    meta: dict[str, Json] = {}
    if isinstance(attached, OBJECT):
        meta = dict(attached)
    elif attached is not None:
        notes.append("meta was not an object.")
    carried = meta.pop(RESERVED, None)
    correlation = meta.pop("correlation_id", None)
    if set(meta) <= {"tool_version"}:
        # Written for the key that was just taken out.
        meta = {} if correlation is not None or carried is not None else meta
    fields = take_fields(dict(reason), _PLACES)
    if (reset := reason.get("rate_limit_reset")) is not None and "reset_at" not in fields:
        notes.append(f"rate_limit_reset {brief(reset)} is no instant.")
    code = reason.get("code")
    # What was done beside the failure, or came with it.
    done = data.get("data")
    error = build(
        "envelope",
        reason.get("message", ""),
        {
            "code": code if isinstance(code, str) else None,
            "details": None if done is None else {"data": done},
            "correlation_id": correlation,
            "meta": meta,
            **fields,
        },
        retryable=reason.get("retryable"),
        notes=notes,
    )
    if carried is None:
        return error
    return restore(
        error,
        carried,
        lambda whole, **way: load(dump(whole, **way)),
        ({}, {"strict": True}),
        # How long it took, and the like, is the server's, not the error's.
        {"meta": None},
    )


def _stow(error: ToolError, carried: dict[str, Json], **options: Any) -> Json:
    # The error object is closed, so the metadata is the only open place.
    wire = dump(error, **options)
    wire["meta"] = {"tool_version": TOOL_VERSION, **wire.get("meta", {}), RESERVED: carried}
    return wire


def _is_whole(data: Mapping[str, Any]) -> bool:
    """Whether it is the contract's own, which has `data`, null in it, and a code. Anything else is what any web service
    answers, perhaps about something that the tool did last."""
    error = data.get("error")
    has_code = isinstance(error, OBJECT) and isinstance(error.get("code"), str)
    return has_code and data.keys() <= {"success", "data", "error", "meta"} and data.get("data", ...) is None


FORMAT: Final = Format(
    "envelope",
    "003, typed envelope",
    dump,
    load,
    pretty,
    options=("strict", "profile", "mode", "approval_mode", "elapsed_ms"),
    stow=_stow,
    places=_PLACES,
    # The contract has a reset in either of two forms: the author's own stays in the details, too.
    take=lambda context, places: take_fields(dict(context), places),
    signs=(Sign(30, "success", load, is_whole=_is_whole),),
    unflagged=True,
    worded="label",
    terse=True,
    is_failure=True,
)
