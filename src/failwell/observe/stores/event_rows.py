"""One attempt at a call as a row, and what it adds to the sums."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from failwell.model import HELD, IN_DOUBT, ToolError
from failwell.observe.events import CallEvent, Try
from failwell.observe.identity import keyed_fingerprint
from failwell.redact import DEFAULT

SEATS: Final = {"server": 1, "relay": 2, "client": 4}
COLUMNS: Final = (
    *("id", "at", "session", "seats", "server", "client", "era", "tool", "call_id", "print", "size", "attempt"),
    *("ok", "asked", "made", "kind", "code", "effect", "decision", "prevented", "declared", "seconds", "delay"),
    *("waited", "waiter", "obeyed", "recovered", "same", "retry", "streak", "correlation", "trace", "message"),
)
"""Of one attempt, in the order of the table.

at: when it ended, in milliseconds. print: the call's fingerprint. delay: what the failure asked for; waited: how long
it was until the next attempt, by the waiter, `us` or `client`; obeyed: whether that was long enough. recovered: after
how many further calls of the tool one worked; same: whether that had the same arguments. retry: whether the first
repetition worked. streak: how often the call has now failed in this way.
"""
COUNTERS: Final = (
    *("calls", "failed", "asked", "refused", "seconds", "r1", "r2", "r3", "r4", "r5", "same", "retried", "retried_ok"),
    *("us", "us_obeyed", "client", "client_obeyed", "prevented", "declared", "undeclared"),
    *("loops", "loop_calls", "loop_seconds", "loop_size"),
)
_CALLS, _FAILED, _ASKED, _REFUSED, _SECONDS, _R1 = range(6)
_SAME, _RETRIED, _RETRIED_OK, _US, _CLIENT, _PREVENTED, _DECLARED, _UNDECLARED, _LOOPS = map(
    COUNTERS.index, "same retried retried_ok us client prevented declared undeclared loops".split()
)
KEY: Final = ("hour", "server", "tool", "kind", "code", "decision")
LOOP: Final = 3
"""How often the same call fails in the same way before it is a loop."""
WITHIN: Final = 5
"""Within how many further calls of a tool one has to work for a failure to count as recovered."""
HOUR: Final = 3_600_000
_LONGEST_CLIENT: Final = 100
_LONGEST_MESSAGE: Final = 500
_MOST_CODES: Final = 100
_TOKEN: Final = 4
"""About how many characters a token has."""


class EventRow:
    """One attempt, as it is stored. What is not set is NULL."""

    id: int = 0
    at: int = 0
    session: int = 0
    seats: int = 0
    server: str = ""
    client: str = ""
    era: str | None = None
    tool: str = ""
    call_id: str | None = None
    print: str | None = None
    size: int = 0
    attempt: int = 0
    ok: int = 0
    asked: int = 0
    made: int = 1
    kind: str = ""
    code: str = ""
    effect: str | None = None
    decision: str = ""
    prevented: int = 0
    declared: int | None = None
    seconds: float = 0.0
    delay: float | None = None
    waited: float | None = None
    waiter: str | None = None
    obeyed: int | None = None
    recovered: int | None = None
    same: int | None = None
    retry: int | None = None
    streak: int = 0
    correlation: str | None = None
    trace: str | None = None
    message: str | None = None
    session_name: str = ""
    declares: tuple[str, ...] = ()
    verify: str | None = None
    """The tool that tells whether the call was done, and the fingerprint of the call of it."""
    verify_print: str | None = None

    @classmethod
    def read(cls, values: tuple[Any, ...]) -> EventRow:
        """A row that comes out of a store."""
        row = cls()
        row.__dict__.update(zip(COLUMNS, values, strict=True))
        return row

    @property
    def doubtful(self) -> bool:
        """Whether the call failed, and may have been done. One that was held adds no doubt."""
        return not self.ok and bool(self.made) and self.effect in _DOUBT and self.code != HELD


VALUES: Final = attrgetter(*COLUMNS)
_DOUBT: Final = frozenset(str(effect.value) for effect in IN_DOUBT) - {"done"}


def contribution(row: EventRow) -> tuple[tuple[Any, ...], list[tuple[int, float]]]:
    """What a row adds to the sums, by the index of the counter, and under which key.

    Nothing but the row decides, so that the sums can be made anew."""
    key = (row.at // HOUR, row.server, row.tool, row.kind, row.code, row.decision)
    adds: list[tuple[int, float]] = [(_CALLS, 1), (_SECONDS, row.seconds)]
    if row.prevented:
        adds.append((_PREVENTED, 1))
    if row.ok:
        if row.asked:
            adds.append((_ASKED, 1))
        return key, adds
    adds.append((_FAILED, 1))
    if not row.made:
        adds.append((_REFUSED, 1))
    if row.recovered:
        adds.append((_R1 + row.recovered - 1, 1))
        if row.same:
            adds.append((_SAME, 1))
    if row.retry is not None:
        adds += [(_RETRIED, 1), (_RETRIED_OK, row.retry)]
    if row.obeyed is not None:
        place = _US if row.waiter == "us" else _CLIENT
        adds += [(place, 1), (place + 1, row.obeyed)]
    if row.declared is not None:
        adds.append((_DECLARED if row.declared else _UNDECLARED, 1))
    if row.streak >= LOOP:
        adds += [(_LOOPS, int(row.streak == LOOP)), (_LOOPS + 1, 1), (_LOOPS + 2, row.seconds), (_LOOPS + 3, row.size)]
    return key, adds


class Labels:
    """Names that a stranger may have made up, as they may be kept; most were seen before."""

    def __init__(self, most: int = 10_000) -> None:
        self._known: dict[str, str] = {}
        self._most = most

    def __call__(self, text: str | None) -> str:
        if text is None:
            return ""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= self._most:
                self._known.clear()
            found = self._known[text] = DEFAULT.label(text)[:_LONGEST_CLIENT]
        return found


class EventRows:
    """Makes rows of events, for one store.

    messages: whether what a failure says is kept, guarded; without that no text of anybody's is.
    """

    def __init__(self, key: bytes, now: Callable[[], int], *, messages: bool = False) -> None:
        self._key, self._now, self._messages = key, now, messages
        self._label = Labels()

    def of(self, event: CallEvent) -> list[EventRow]:
        """The attempts that an event tells of, the oldest first."""
        # Nothing is from the future: its clock is wrong, and it would stand before everything that comes.
        end = min(_milliseconds(event.at), self._now())
        rows = []
        left = event.seconds
        for each in event.tried:
            left -= each.seconds + (each.waited or 0.0)
        # Backwards in time, since only the end of the whole is told.
        at = end - int(max(0.0, left) * 1000)
        for each in reversed(event.tried):
            at -= int((each.waited or 0.0) * 1000)
            rows.append(self._tried(event, each, at))
            at -= int(each.seconds * 1000)
        rows.reverse()
        rows.append(self._last(event, end, max(0.0, left) if event.tried else event.seconds))
        return rows

    def _tried(self, event: CallEvent, each: Try, at: int) -> EventRow:
        row = self._row(event, each.error, at, each.seconds, each.call_id)
        row.ok, row.made, row.decision = 0, int(each.made), each.decision or ""
        row.waited, row.waiter = each.waited, None if each.waited is None else "us"
        return row

    def _last(self, event: CallEvent, at: int, seconds: float) -> EventRow:
        row = self._row(event, event.error, at, seconds, event.call_id)
        row.ok, row.made, row.decision = int(event.ok), int(event.made), event.decision or ""
        row.asked, row.prevented = int(event.asked), int(event.prevented)
        row.declared = None if event.declared is None else int(event.declared)
        row.declares = tuple(map(self._label, event.declares[:_MOST_CODES]))
        return row

    def _row(self, event: CallEvent, error: ToolError | None, at: int, seconds: float, call_id: str | None) -> EventRow:
        label = self._label
        row = EventRow()
        row.at, row.seats, row.seconds, row.call_id = at, SEATS.get(event.seat or "", 0), seconds, call_id
        row.session_name = event.session or ""
        row.server, row.client, row.era = label(event.server), label(event.client), event.era
        row.tool, row.print, row.size = label(event.tool), event.fingerprint, event.size
        row.trace = event.trace_id
        if error is not None:
            row.kind, row.code = error.kind.value, label(error.code)
            row.effect = None if error.effect is None else error.effect.value
            row.delay, row.correlation = error.retry_after, _short(error.correlation_id)
            row.size += len(error.message)
            if self._messages:
                row.message = DEFAULT.plain(error.message)[:_LONGEST_MESSAGE]
            if error.verify is not None and row.effect in _DOUBT:
                row.verify = label(error.verify.tool)
                if error.verify.arguments:
                    # Without them any call of it tells: the author has not said which.
                    row.verify_print = keyed_fingerprint(error.verify.tool, error.verify.arguments, self._key).text
        elif not event.ok:
            row.kind = "(unknown)"
        return row


def tokens(size: float) -> int:
    """About how many tokens so many characters are."""
    return round(size / _TOKEN)


def _short(text: str | None) -> str | None:
    return None if text is None else DEFAULT.label(text)[:64]


def _milliseconds(at: datetime) -> int:
    try:
        return int(at.timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return 0
