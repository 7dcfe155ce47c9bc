"""The fields of an error: what each accepts, and the form in which it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypedDict, get_args

from .codes import Effect, Kind, Severity, Strategy
from .json_values import instant, label, lines, plain, plain_map, positive, seconds, text
from .parts import Action, Conflicting, FieldError, Patch, all_of
from .tool import SentArguments

Delivery = Literal["never_sent", "refused", "unanswered", "answered"]
Standing = Literal["stated", "quoted"]


class Fields(TypedDict, total=False):
    """Everything an error can be given besides its message. None, and values that make no sense, count as not given;
    an effect that makes none counts as unknown."""

    code: str | None
    kind: Kind | str | None
    title: str | None
    severity: Severity | str | None
    recoverable: bool | None
    strategy: Strategy | str | None
    retry_after: float | timedelta | None
    reset_at: datetime | float | str | None
    suggestion: str | None
    next_steps: Iterable[str] | None
    actions: Iterable[Action | str | Mapping[str, Any]] | None
    fields: Iterable[FieldError | Mapping[str, Any] | tuple[Any, str]] | None
    patch: Iterable[Patch | Mapping[str, Any]] | None
    conflicts: Iterable[Conflicting | Mapping[str, Any] | str] | None
    effect: Effect | str | None
    verify: Action | str | Mapping[str, Any] | None
    details: Mapping[str, Any] | None
    http_status: int | None
    policy_decision: str | None
    tool: str | None
    action: str | None
    tier: str | None
    correlation_id: str | None
    meta: Mapping[str, Any] | None
    origin: Literal["peer", "local"] | None
    standing: Standing | None
    delivery: Delivery | None
    format: str | None
    confidence: float | None
    legacy: bool | None
    notes: Iterable[str] | None
    debug: object
    sent: Mapping[str, Any] | SentArguments | None
    authored: bool | None
    crashed: bool | None
    logged: bool | None
    cause: BaseException | None


DELIVERIES: Final = get_args(Delivery)
"""What became of a call, as the caller knows it. A call that was `refused` was answered before its tool ran."""
NOTHING_RAN: Final = frozenset({"never_sent", "refused"})
"""What the transport saw, or what was proven from the tool's own schema: the call did nothing."""


def _one_of(*choices: str) -> Callable[[object], Any]:
    """Keeps one of a few words."""
    return lambda value: value if isinstance(value, str) and value in choices else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _status(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else None


def _share(value: object) -> float | None:
    number = positive(value)
    return None if number is None or number > 1 else float(number)


def _effect(value: object) -> Effect | None:
    # A misspelt word does not say that nothing was done.
    return Effect.of(value) or (Effect.UNKNOWN if value != "" else None)


def _severity(value: object) -> Severity:
    # An unknown word is no reason to call a failure a success.
    return Severity.of(value) or Severity.ERROR


def _problems(value: object) -> tuple[FieldError, ...]:
    # A map from argument to message is the shortest way to say it.
    if isinstance(value, Mapping) and "message" not in value and "path" not in value:
        value = list(value.items())
    return all_of(FieldError, value)


NORMAL: Final[Mapping[str, Callable[[Any], Any]]] = {
    "message": text,
    "kind": Kind.of,
    "severity": _severity,
    "strategy": Strategy.of,
    "retry_after": seconds,
    "reset_at": instant,
    "effect": _effect,
    "fields": _problems,
    **{
        name: partial(all_of, part)
        for name, part in (("actions", Action), ("patch", Patch), ("conflicts", Conflicting))
    },
    "verify": Action.of,
    "http_status": _status,
    "origin": _one_of("peer", "local"),
    "standing": _one_of("stated", "quoted"),
    "delivery": _one_of(*DELIVERIES),
    "confidence": _share,
    "debug": plain,
    "sent": SentArguments.of,
    **dict.fromkeys(("details", "meta"), plain_map),
    **dict.fromkeys(("next_steps", "notes"), lines),
    **dict.fromkeys("code title suggestion policy_decision tool action tier correlation_id format".split(), label),
    # Only a reader says what the wire said about retrying.
    **dict.fromkeys("recoverable wire_retryable legacy authored crashed logged".split(), _flag),
}
"""How each field is kept; None, and what is empty, counts as not given."""
