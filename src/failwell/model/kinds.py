"""The closed sets: what kind of failure it is, how bad, what to do, whether it changed anything."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class _Choice(StrEnum):
    @classmethod
    def of(cls, value: object) -> Self | None:
        """The member named by `value`, in any case; None for anything else."""
        if type(value) is not str:
            if isinstance(value, cls):
                return value
            if not isinstance(value, str):
                return None
        members = cls._value2member_map_
        return members.get(value) or members.get(value.lower())  # type: ignore[return-value]


class Kind(_Choice):
    """What an agent does next depends on this, and on nothing finer."""

    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    VALIDATION = "validation"
    PERMISSION = "permission"
    TRANSIENT = "transient"
    INTERNAL = "internal"


class Severity(_Choice):
    """How bad it is. Only a `warning` is sent as a success (`isError: false`)."""

    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class Strategy(_Choice):
    """How the failure is meant to be overcome."""

    RETRY = "retry_with_backoff"
    FIX = "fix_and_retry"
    USER_ACTION = "user_action_required"
    ABORT = "report_and_abort"


class Effect(_Choice):
    """Whether the failed call may have changed something."""

    NONE = "none"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    DONE = "done"


# What follows from the kind alone, where neither the code nor the author says otherwise.
STRATEGY_OF_KIND: dict[Kind, Strategy] = {
    Kind.NOT_FOUND: Strategy.FIX,
    Kind.CONFLICT: Strategy.FIX,
    Kind.VALIDATION: Strategy.FIX,
    Kind.PERMISSION: Strategy.USER_ACTION,
    Kind.TRANSIENT: Strategy.RETRY,
    Kind.INTERNAL: Strategy.ABORT,
}

# These kinds say that the call was turned down before it did anything. The others say nothing.
EFFECT_OF_KIND: dict[Kind, Effect] = {
    Kind.NOT_FOUND: Effect.NONE,
    Kind.CONFLICT: Effect.NONE,
    Kind.VALIDATION: Effect.NONE,
    Kind.PERMISSION: Effect.NONE,
}

# After these the same call must not be made again by anybody who only knows this: it may have been done.
IN_DOUBT: frozenset[Effect] = frozenset({Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE})
