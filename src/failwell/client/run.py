"""One call of the agent while it is under way: what was tried, and the key that the server knows it by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from failwell.formats import keys
from failwell.model.error import ToolError

from .connection import Live
from .report import Report

IDEMPOTENCY_KEY: Final = keys.IDEMPOTENCY_KEY
"""The key in the `_meta` of a call under which its idempotency key travels."""
IDEMPOTENCY_STORE: Final = keys.IDEMPOTENCY_INSTANCE
"""The key in the `_meta` of a repeated call under which goes which store of the server has to know it."""


class KeyForgotten(Exception):
    """The server that would know the key of this call is no more."""


@dataclass(slots=True)
class Run:
    """One call of the agent while it is under way."""

    report: Report
    options: dict[str, Any]
    meta: dict[str, Any]
    timeout: float | None
    started: float
    key: str | None = None
    key_at: object = None
    """The store of the server that knows the key."""
    was_keyed: bool = True
    """Whether every call so far carried the key to that store."""
    sent: bool = False
    looked: bool = False
    """Whether the tools were looked for because of this call."""
    questions: int = 0
    observed: bool = False
    """Whether the latest failure was only seen in a success."""
    connected: Live | None = None

    @property
    def is_keyed(self) -> bool:
        """Whether the server knows the call by a key."""
        return self.was_keyed and self.key_at is not None

    @property
    def failures(self) -> list[ToolError]:
        return [attempt.error for attempt in self.report.attempts if isinstance(attempt.error, ToolError)]

    def is_forgotten(self, store: object) -> bool:
        """Whether the server knew this call by a key, and the one that is there now does not."""
        return self.sent and self.is_keyed and store != self.key_at

    def forget(self) -> None:
        """The call may be made twice anyway: whatever comes next knows it by another key."""
        self.meta.pop(IDEMPOTENCY_STORE, None)
        self.key, self.sent = None, False

    def use_key(self, store: object) -> None:
        """Put the key on the next call, where the server honours one."""
        if store is None:
            self.was_keyed = False
            self.meta.pop(IDEMPOTENCY_KEY, None)
        elif not self.sent:
            self.key = self.key or uuid4().hex
            self.key_at = store
            self.meta[IDEMPOTENCY_KEY] = self.key
        elif self.was_keyed:
            # A server behind the same address may be another one by now; then it must not take this for a first call.
            self.meta[IDEMPOTENCY_STORE] = store
