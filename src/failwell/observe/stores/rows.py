"""One attempt at a call as a row, and what rows say of each other: who recovered, what is in doubt, what is a loop."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from failwell.model import HELD, IN_DOUBT, ToolError
from failwell.observe.events import CallEvent
from failwell.observe.identity import keyed_fingerprint
from failwell.redact import DEFAULT

from .tables import COLUMNS, COUNTERS, DAY, HOUR, KEY, OPERATOR, SEATS

WITHIN: Final = 5
"""Within how many further calls of a tool one has to work for a failure to count as recovered."""
_DOUBT: Final = frozenset(str(effect.value) for effect in IN_DOUBT) - {"done"}
_LONGEST_NAME: Final = 100
_LONGEST_MESSAGE: Final = 500
_LONGEST_ERROR: Final = 16_000


@dataclass(slots=True, kw_only=True)
class Row:
    """One attempt, by the columns of the table."""

    id: int = 0
    at: int = 0
    session: str = ""
    server: str = ""
    client: str = ""
    tool: str = ""
    kind: str = ""
    code: str = ""
    decision: str = ""
    outcome: str = "ok"
    doubt: str = ""
    seats: int = 0
    attempt: int = 1
    failed: int = 0
    made: int = 1
    prevented: int = 0
    after: int = 0
    seconds: float = 0.0
    waited: float | None = None
    call_id: str | None = None
    print: str | None = None
    effect: str | None = None
    format: str | None = None
    correlation: str | None = None
    trace: str | None = None
    message: str | None = None
    error: str | None = None
    verify: str | None = None
    verify_print: str | None = None


VALUES: Final = attrgetter(*COLUMNS)
_key: Final = attrgetter(*KEY)
_counted: Final = tuple(COUNTERS.values())


def add_to_totals(totals: dict[tuple[Any, ...], list[float]], row: Row, sign: int) -> None:
    """Add a row to the counters of its hour and day, or take it back. Nothing but the row decides."""
    counts = [int(each(row)) for each in _counted]
    for step in (HOUR, DAY):
        key = (step, row.at // step * step, *_key(row))
        total = totals.get(key)
        if total is None:
            total = totals[key] = [0] * len(counts) + [0.0]
        for index, count in enumerate(counts):
            if count:
                total[index] += sign * count
        total[-1] += sign * row.seconds


class EventRows:
    """Makes rows of events, for one store.

    messages: whether the words of failures are kept, redacted; without that no text of anybody's is.
    """

    def __init__(self, key: bytes, now: Callable[[], int], *, messages: bool = False) -> None:
        self._key, self._now, self._messages = key, now, messages
        self._labels: dict[str, str] = {}

    def of(self, event: CallEvent) -> list[Row]:
        """The attempts that an event tells of, the oldest first."""
        try:
            # Nothing is from the future: its clock is wrong, and it would stand before everything that comes.
            end = min(int(event.at.timestamp() * 1000), self._now())
        except (OverflowError, ValueError, OSError):
            end = 0
        spent = sum(each.seconds + (each.waited or 0.0) for each in event.tried)
        seconds = max(0.0, event.seconds - spent) if event.tried else event.seconds
        last = self._row(event, event.error, event.call_id, event.ok)
        last.at, last.seconds, last.made, last.decision = end, seconds, int(event.made), event.decision or ""
        last.prevented = int(event.prevented)
        if last.outcome == "ok" and event.asked:
            last.outcome = "asked"
        rows = [last]
        at = end - int(seconds * 1000)
        # Backwards in time, since only the end of the whole is told.
        for each in reversed(event.tried):
            at -= int((each.waited or 0.0) * 1000)
            row = self._row(event, each.error, each.call_id, False)
            row.at, row.seconds, row.made, row.decision = at, each.seconds, int(each.made), each.decision or ""
            row.waited = each.waited
            rows.append(row)
            at -= int(each.seconds * 1000)
        rows.reverse()
        for row in rows:
            is_in_doubt = row.failed and row.made and row.effect in _DOUBT
            row.doubt = "open" if is_in_doubt or row.outcome == "held" else ""
        return rows

    def _row(self, event: CallEvent, error: ToolError | None, call_id: str | None, ok: bool) -> Row:
        label = self._label
        row = Row(
            session=event.session or "",
            server=label(event.server),
            client=label(event.client),
            tool=label(event.tool),
            seats=SEATS.get(event.seat or "", 0),
            call_id=call_id,
            print=event.fingerprint,
            trace=event.trace_id,
        )
        if ok:
            return row
        row.failed, row.outcome, row.kind, row.format = 1, "unknown", "(unknown)", event.format
        if error is None:
            return row
        row.kind, row.code = error.kind.value, label(error.code)
        row.effect = None if error.effect is None else error.effect.value
        row.correlation = None if error.correlation_id is None else DEFAULT.label(error.correlation_id)[:64]
        if row.code == HELD:
            row.failed, row.outcome = 0, "held"
        if error.verify is not None and row.effect in _DOUBT:
            row.verify = label(error.verify.tool)
            if error.verify.arguments:
                # Without them any call of it tells: the author has not said which.
                row.verify_print = keyed_fingerprint(error.verify.tool, error.verify.arguments, self._key)
        if self._messages:
            redacted = DEFAULT(error)
            row.message = _storable(redacted.message[:_LONGEST_MESSAGE])
            written = json.dumps(redacted.to_dict(), separators=(",", ":"))
            row.error = written if len(written) <= _LONGEST_ERROR else None
        return row

    def _label(self, text: str | None) -> str:
        """A name that a stranger may have made up, as it may be kept; most were seen before."""
        if text is None:
            return ""
        found = self._labels.get(text)
        if found is None:
            if len(self._labels) >= 10_000:
                self._labels.clear()
            found = self._labels[text] = _storable(DEFAULT.label(text)[:_LONGEST_NAME])
        return found


def _storable(text: str) -> str:
    """No database keeps a NUL, and PostgreSQL no half of a character."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def merge(row: Row, told: Row) -> None:
    """Another seat tells of the same attempt: take what it knows more."""
    row.seats |= told.seats
    for name in ("server", "client", "decision", "format", "correlation", "trace", "effect", "message", "error"):
        if getattr(row, name) in (None, ""):
            setattr(row, name, getattr(told, name))
    row.prevented = max(row.prevented, told.prevented)
    row.waited = told.waited if row.waited is None else row.waited
    if row.outcome == "ok" and told.failed:
        # The server has done it, and the answer never came.
        for name in ("failed", "outcome", "kind", "code", "effect", "doubt", "verify", "verify_print"):
            setattr(row, name, getattr(told, name))


def settle(rows: Sequence[Row]) -> None:
    """Say of each call of a session what became of it. The rows are in the order of time; those that were stored come
    with what was said of them, and nothing is known of calls before the first one."""
    last: dict[tuple[str, str], Row] = {}
    doubts: list[Row] = []
    for row in rows:
        if row.seats == OPERATOR:
            continue
        if row.print is not None:
            before = last.get((row.tool, row.print))
            if before is not None:
                row.attempt = 1 if before.outcome in ("ok", "asked") else before.attempt + 1
            last[row.tool, row.print] = row
        for each in [*doubts]:
            is_same = row.tool == each.tool and row.print is not None and row.print == each.print
            if row.outcome == "ok" and row.tool == each.verify and each.verify_print in (None, row.print):
                each.doubt = "looked"
            elif is_same and row.made and row.outcome != "held":
                each.doubt = "again"
            else:
                continue
            doubts.remove(each)
        if row.doubt == "open":
            doubts.append(row)
    later: dict[str, deque[bool]] = {}
    has_later = False
    for row in reversed(rows):
        if row.outcome in ("held", "operator"):
            continue
        ahead = later.setdefault(row.tool, deque(maxlen=WITHIN))
        if row.failed:
            row.after = next((number for number, worked in enumerate(ahead, 1) if worked), 0)
            if row.doubt == "open":
                row.outcome = "unknown"
            elif row.after or row.doubt in ("looked", "done"):
                row.outcome = "recovered"
            else:
                row.outcome = "lost" if has_later else "unknown"
        ahead.appendleft(row.outcome == "ok" and bool(row.made))
        has_later = True
