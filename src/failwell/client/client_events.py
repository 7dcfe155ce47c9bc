"""What is told of the calls of one client: in its log, in a store of events, and in the `_meta` of each call."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import wraps
from inspect import signature
from typing import Any, Final

from failwell.formats import Outcome
from failwell.model import Strategy, ToolError
from failwell.observe import CALL_KEY, Events, Names, current_trace, emit, event_of, hook_of, log_failure
from failwell.recovery import Attempt, Report, shorten_report

log = logging.getLogger("failwell.client")
# A program that has set up no logging wants none of it on its standard error.
log.addHandler(logging.NullHandler())

_LONGEST: Final = 500
_call_id: ContextVar[Mapping[str, Any] | None] = ContextVar("failwell_call_id", default=None)
_ADDS_IDS: Final = "_failwell_adds_ids"


class EventEmitter:
    """Tells of the calls of one agent: in one session, each with an id that travels with it."""

    def __init__(self, events: Events) -> None:
        self._hook = hook_of(events)
        self._names = Names.of(self._hook)

    @classmethod
    def of(cls, events: Events | None) -> EventEmitter | None:
        return None if events is None else cls(events)

    def next_name(self) -> str:
        """The name of a call that begins."""
        return self._names.next()

    def emit(
        self,
        report: Report,
        outcome: Outcome | None,
        name: str | None = None,
        *,
        kept: Report | None = None,
        server: str | None = None,
        era: str | None = None,
    ) -> None:
        """A call has ended, as the report says; `kept` is the same as it is remembered, if somebody has made that."""
        kept = kept or shorten_report(report)
        event = event_of(
            kept,
            None if outcome is None else kept.error,
            at=datetime.now(UTC),
            key=self._names.key,
            sent=report.arguments,
            ids=[f"{name}/{number}" for number in range(1, report.calls + 1)] if name is not None else (),
            seat="client",
            session=self._names.session,
            server=server,
            era=era,
            trace_id=current_trace(),
        )
        emit((self._hook,), event)


def with_id(meta: dict[str, Any], name: str | None, number: int) -> dict[str, Any]:
    """What is sent with a call, with the id by which server and relay know it."""
    return meta if name is None else {**meta, CALL_KEY: f"{name}/{number}"}


@contextmanager
def send_meta(meta: Mapping[str, Any]) -> Iterator[None]:
    """A call that the SDK makes in here has this in its `_meta`: few frameworks let one be given."""
    if not meta:
        yield
        return
    _watch_sessions()
    token = _call_id.set(meta)
    try:
        yield
    finally:
        _call_id.reset(token)


def _watch_sessions() -> None:
    """See to it that the SDK's sessions look for an id, once; where the SDK is not loaded, no call of it is made."""
    kind: Any = getattr(sys.modules.get("mcp.client.session"), "ClientSession", None)
    plain = getattr(kind, "call_tool", None)
    if plain is None or hasattr(plain, _ADDS_IDS) or "meta" not in signature(plain).parameters:
        return

    # No coroutine itself: what it looks for is known to whoever calls, not to whoever awaits.
    @wraps(plain)
    def call_tool(self: Any, *given: Any, **options: Any) -> Any:
        if (meta := _call_id.get()) is not None:
            options["meta"] = {**meta, **(options.get("meta") or {})}
        return plain(self, *given, **options)

    setattr(call_tool, _ADDS_IDS, True)
    kind.call_tool = call_tool


def log_attempt(attempt: Attempt) -> None:
    """Log what contract 000 has an agent log, when it happens: wrong input, what broke, and what nobody can read."""
    if attempt.decision.log and isinstance(attempt.error, ToolError):
        _log(attempt.tool, attempt.error, attempt.decision.log)


def log_ending(report: Report, error: ToolError) -> None:
    """Log what is left of a call, unless its last failure was written down when it happened."""
    if not report.attempts or not report.attempts[-1].decision.log:
        _log(report.tool, error)


def _log(tool: str, error: ToolError, said: str | None = None) -> None:
    level = logging.ERROR if error.strategy is Strategy.ABORT else logging.WARNING
    if said is not None and len(said) > _LONGEST:
        said = said[: _LONGEST - 1] + "…"
    log_failure(log, error, tool=tool, level=level, said=said)
