"""The event of a call that somebody has made as often as the engine let them: a client, a bridge, a relay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any

from failwell.formats import Outcome
from failwell.model import HELD, IN_DOUBT, NeedsInput, ToolError
from failwell.recovery import Attempt, Report

from .events import CallEvent, Try
from .identity import keyed_fingerprint


def event_of(
    report: Report,
    outcome: Outcome | None,
    *,
    at: datetime,
    key: bytes | None = None,
    sent: Mapping[str, Any] = MappingProxyType({}),
    ids: Sequence[str] = (),
    **about: Any,
) -> CallEvent:
    """What to tell of a call, with all the attempts at it.

    outcome: the failure that is left, guarded, as are those of the report. key, sent: that of the store, and
    the arguments, whole, for whoever keeps events. ids: by which other seats know the calls
    that were made, in their order. about: further fields of the event.
    """
    failed = report.attempts
    if failed and (outcome is not None or report.tries <= sum(each.made for each in failed)):
        # What only looked like a failure in the last answer was a success after all.
        last, failed = failed[-1], failed[:-1]
    else:
        last = None
    given = chain(ids, repeat(None))
    tried = tuple(_try(each, next(given) if each.made else None) for each in failed)
    error = outcome if isinstance(outcome, ToolError) else None
    made = report.calls > 0
    return CallEvent(
        tool=report.tool,
        ok=error is None,
        seconds=report.seconds,
        at=at,
        error=error,
        asked=isinstance(outcome, NeedsInput),
        correlation_id=None if error is None else error.correlation_id,
        attempts=report.tries,
        call_id=next(given) if last is None or last.made else None,
        fingerprint=None if key is None else keyed_fingerprint(report.tool, sent, key),
        tried=tried,
        decision=last.decision.next.value if outcome is not None and last is not None else None,
        prevented=error is not None and (error.code == HELD or (made and error.effect in IN_DOUBT)),
        made=made if last is None else last.made,
        **about,
    )


def _try(attempt: Attempt, call_id: str | None) -> Try:
    error = attempt.error if isinstance(attempt.error, ToolError) else None
    return Try(
        error=error,
        seconds=attempt.seconds,
        decision=attempt.decision.next.value,
        waited=attempt.wait,
        made=attempt.made,
        call_id=call_id,
    )
