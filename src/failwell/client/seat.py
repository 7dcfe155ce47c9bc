"""What is told of the calls of one client, where somebody keeps events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from failwell.formats import Outcome
from failwell.observe import CALL_KEY, Events, Names, current_trace, emit, event_of, hook_of
from failwell.recovery import Report, remembered


class Seat:
    """Where the calls of one agent are seen: in one session, each with an id that travels with it."""

    def __init__(self, events: Events) -> None:
        self._hook = hook_of(events)
        self._names = Names.of(self._hook)

    @classmethod
    def at(cls, events: Events | None) -> Seat | None:
        """The seat of a client that has somewhere to write to."""
        return None if events is None else cls(events)

    def next(self) -> str:
        """The name of a call that begins."""
        return self._names.next()

    def tell(
        self,
        report: Report,
        outcome: Outcome | None,
        name: str | None = None,
        *,
        kept: Report | None = None,
        server: str | None = None,
        era: str | None = None,
        seat: str = "client",
    ) -> None:
        """A call has ended, as the report says; `kept` is the same as it is remembered, if somebody has made that."""
        kept = kept or remembered(report)
        event = event_of(
            kept,
            None if outcome is None else kept.error,
            at=datetime.now(UTC),
            key=self._names.key,
            sent=report.arguments,
            ids=[f"{name}/{number}" for number in range(1, report.calls + 1)] if name is not None else (),
            seat=seat,
            session=self._names.session,
            server=server,
            era=era,
            trace_id=current_trace(),
        )
        emit((self._hook,), event)


def with_id(meta: dict[str, Any], name: str | None, number: int) -> dict[str, Any]:
    """What is sent with a call, with the id by which other seats know it."""
    return meta if name is None else {**meta, CALL_KEY: f"{name}/{number}"}
