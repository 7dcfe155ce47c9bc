"""What a batch of attempts changes in a store: new rows, what they say of earlier ones, and the sums of it all.

The sums are a function of the rows: each row adds its `contribution`, and a row that changes takes the old one back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from .event_rows import COLUMNS, COUNTERS, HOUR, KEY, WITHIN, EventRow, contribution
from .tables import ROLLUPS, type_of

_MOST_PASTS: Final = 50_000
# Clocks differ, and a timer may fire a little early.
_EARLY: Final = 0.05
_APART: Final = 3_600_000
# The columns by which an earlier row can change.
_CHANGED: Final = (
    *("seats", "server", "client", "attempt", "ok", "kind", "code", "effect", "decision", "prevented", "declared"),
    *("waited", "waiter", "obeyed", "recovered", "same", "retry", "streak", "correlation", "trace"),
)
_ROLLUP: Final = (
    f"INSERT INTO {{name}} ({', '.join((*KEY, *(f'n_{name}' for name in COUNTERS)))}) "
    f"VALUES ({', '.join('?' * (len(KEY) + len(COUNTERS)))}) ON CONFLICT ({', '.join(KEY)}) DO UPDATE SET "
    + ", ".join(f"n_{name} = {{name}}.n_{name} + excluded.n_{name}" for name in COUNTERS)
)
_GROUP: Final = (
    "INSERT INTO failure (server, tool, kind, code, first_at, last_at, count) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (server, tool, kind, code) DO UPDATE SET count = failure.count + excluded.count, "
    "first_at = CASE WHEN excluded.first_at < failure.first_at THEN excluded.first_at ELSE failure.first_at END, "
    "last_at = CASE WHEN excluded.last_at > failure.last_at THEN excluded.last_at ELSE failure.last_at END"
)
_SESSION: Final = (
    "UPDATE session SET calls = calls + ?, failed = failed + ?, client = CASE WHEN client = '' THEN ? ELSE client END, "
    "first_at = CASE WHEN first_at = 0 OR first_at > ? THEN ? ELSE first_at END, "
    "last_at = CASE WHEN last_at < ? THEN ? ELSE last_at END WHERE id = ?"
)
_DOUBT: Final = (
    "INSERT INTO doubt (event, at, session, server, tool, code, print, verify, verify_print) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_DECLARED: Final = (
    "INSERT INTO declared (server, tool, code, at) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (server, tool, code) DO UPDATE SET at = excluded.at"
)
_UPDATE: Final = f"UPDATE event SET {', '.join(f'{name} = ?' for name in _CHANGED)} WHERE id = ? AND at = ?"
_NAMED: Final = "INSERT INTO session (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
_FOUND: Final = "SELECT name, id FROM session WHERE name IN {values}"
_OPEN: Final = (
    "SELECT session, event, at, print, verify, verify_print FROM doubt "
    "WHERE resolved_at IS NULL AND session IN {values} ORDER BY event"
)
_SAME: Final = f"SELECT {', '.join(COLUMNS)} FROM event WHERE at >= ? AND call_id IN {{values}}"
_REMEMBERED: Final = 2 * WITHIN
"""Of each tool of a session: those that a new one says something of, and as many that may turn out to be later."""
_PAST: Final = (
    f"SELECT {', '.join(COLUMNS)} FROM event WHERE session = ? AND tool = ? ORDER BY id DESC LIMIT {_REMEMBERED}"
)
_AFTER: Final = (
    "SELECT at, tool, print, ok, made, prevented FROM event WHERE session = ? AND id > ? AND at > ? ORDER BY at, id"
)
_BACK: Final = 10_000
"""How many rows may have been written before one that tells of an earlier time."""


class Transaction(Protocol):
    """What a database does for the journal, all of it or nothing. Statements have `?` for values."""

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def among(self, sql: str, values: Sequence[Any], before: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Ask about any number of values, where it says `{values}`; those before have their `?`."""

    def many(self, sql: str, rows: Sequence[Sequence[Any]], types: str = "") -> None:
        """A statement for each row. Of many rows the types of the values, `i`, `f` and `t`, allow to make it one."""

    def ids(self, count: int) -> Sequence[int]:
        """As many numbers for new rows, rising."""

    def insert(self, rows: Sequence[EventRow]) -> None: ...

    @property
    def is_shared(self) -> bool:
        """Whether somebody else has written since the last one."""


class _Doubt:
    __slots__ = ("at", "event", "print", "verify", "verify_print")

    def __init__(self, event: int, at: int, printed: str | None, verify: str | None, verify_print: str | None) -> None:
        self.event, self.at, self.print, self.verify, self.verify_print = event, at, printed, verify, verify_print


class _Seen(NamedTuple):
    """Of an attempt, what tells whether another one was done."""

    at: int
    tool: str
    print: str | None
    ok: int
    made: int
    prevented: int


class Journal:
    """Writes attempts into one store. What it remembers is only for speed: the store has it all."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, int] = OrderedDict()
        self._pasts: OrderedDict[tuple[int, str], list[EventRow]] = OrderedDict()
        self._doubts: OrderedDict[int, list[_Doubt]] = OrderedDict()
        self._declared: OrderedDict[tuple[str, str, tuple[str, ...], int], None] = OrderedDict()
        self._is_alone: bool | None = None
        """Whether nobody else has written since this one began."""

    def forget(self) -> None:
        """What was remembered may not hold any more."""
        self._sessions.clear()
        self._pasts.clear()
        self._doubts.clear()
        self._declared.clear()

    def write(self, rows: list[EventRow], to: Transaction) -> None:
        """Write a batch, in the order in which it came."""
        if to.is_shared:
            self.forget()
            # At first somebody else has always written last.
            self._is_alone = None if self._is_alone is None else False
        _Batch(self, rows, to).write()
        self._is_alone = self._is_alone is not False

    def _kept(self, cache: OrderedDict[Any, Any]) -> None:
        while len(cache) > _MOST_PASTS:
            cache.popitem(last=False)


class _Batch:
    def __init__(self, journal: Journal, rows: list[EventRow], to: Transaction) -> None:
        self._journal, self._rows, self._to = journal, rows, to
        self._new: list[EventRow] = []
        self._before: dict[int, tuple[EventRow, tuple[Any, Any, bool] | None]] = {}
        """The rows that were touched, by their ids, and what they added to the sums before."""
        self._asked: list[tuple[Any, ...]] = []
        self._resolved: list[tuple[Any, ...]] = []
        self._repeated: list[tuple[int]] = []

    def write(self) -> None:
        fresh = self._find_sessions()
        self._find_pasts(fresh)
        known = self._find_known()
        ids = iter(self._to.ids(len(self._rows)))
        for row in self._rows:
            same = self._same_call(row, known)
            if same is not None:
                self._merge(same, row)
                continue
            row.id = next(ids)
            self._before[row.id] = (row, None)
            self._new.append(row)
            if row.call_id is not None:
                known[row.call_id] = row
            if row.session_name:
                self._place(row)
        self._save()
        journal = self._journal
        for cache in (journal._sessions, journal._pasts, journal._doubts, journal._declared):
            journal._kept(cache)

    # What is known already

    def _find_sessions(self) -> set[int]:
        """Give each row the number of its session; those that are new have no past."""
        known, to = self._journal._sessions, self._to
        names = {row.session_name for row in self._rows if row.session_name} - known.keys()
        fresh: set[int] = set()
        found = dict(to.among(_FOUND, sorted(names))) if names else {}
        if missing := sorted(names - found.keys()):
            to.many(_NAMED, [(name,) for name in missing], "t")
            made = dict(to.among(_FOUND, missing))
            fresh.update(made.values())
            found |= made
        known.update(found)
        for row in self._rows:
            row.session = known[row.session_name] if row.session_name else 0
            if row.session_name:
                known.move_to_end(row.session_name)
        return fresh

    def _find_pasts(self, fresh: set[int]) -> None:
        """See to it that the past of each tool in each session is known, and the doubts of the session."""
        pasts, doubts, to = self._journal._pasts, self._journal._doubts, self._to
        missing: set[tuple[int, str]] = set()
        unsure: set[int] = set()
        for row in self._rows:
            if not row.session:
                continue
            pair = (row.session, row.tool)
            if pair in pasts:
                pasts.move_to_end(pair)
            elif row.session in fresh:
                pasts[pair] = []
            else:
                missing.add(pair)
            if row.session in doubts:
                doubts.move_to_end(row.session)
            elif row.session in fresh:
                doubts[row.session] = []
            else:
                unsure.add(row.session)
        for pair in missing:
            found = [EventRow.read(values) for values in reversed(to.all(_PAST, pair))]
            pasts[pair] = sorted(found, key=lambda row: row.at)
        for session in unsure:
            doubts[session] = []
        for session, *rest in to.among(_OPEN, sorted(unsure)) if unsure else ():
            doubts[session].append(_Doubt(*rest))

    def _find_known(self) -> dict[str, EventRow]:
        """The rows of calls that another seat has told of."""
        ids = sorted({row.call_id for row in self._rows if row.call_id is not None})
        known: dict[str, EventRow] = {}
        if ids:
            # They tell of it at about the same time, and a store may have a part for each day.
            since = min(row.at for row in self._rows) - _APART
            for values in self._to.among(_SAME, ids, [since]):
                row = EventRow.read(values)
                known[row.call_id or ""] = self._remembered(row)
        return known

    def _remembered(self, row: EventRow) -> EventRow:
        """The same row as it stands among those of its session, so that there are no two of it."""
        for each in self._journal._pasts.get((row.session, row.tool), ()):
            if each.id == row.id:
                return each
        return row

    # One attempt

    def _same_call(self, row: EventRow, known: dict[str, EventRow]) -> EventRow | None:
        """The row of the same attempt, told of by another seat. One seat tells of each attempt once."""
        if row.call_id is None:
            return None
        found = known.get(row.call_id)
        if found is not None and found.seats & row.seats:
            row.call_id = None
            return None
        return found

    def _merge(self, row: EventRow, told: EventRow) -> None:
        """Another seat tells of the same attempt: what it knows more."""
        self._touch(row)
        row.seats |= told.seats
        for name in ("server", "client", "decision", "correlation", "trace", "declared", "effect"):
            if getattr(row, name) in (None, ""):
                setattr(row, name, getattr(told, name))
        row.prevented = max(row.prevented, told.prevented)
        if row.waiter != "us" and told.waited is not None:
            # Whoever has waited knows it better than the time between two calls.
            row.waited, row.waiter = told.waited, told.waiter
            row.obeyed = None if row.delay is None else int(told.waited >= row.delay - _EARLY)
        if row.ok and not told.ok:
            # The server has done it, and the answer never came.
            row.ok, row.kind, row.code, row.effect, row.streak = 0, told.kind, told.code, told.effect, 1
            row.verify, row.verify_print = told.verify, told.verify_print
            if row.doubtful:
                self._doubt(row)

    def _place(self, row: EventRow) -> None:
        """What a new attempt says of those before it, and they of it.

        The order is that of time, and not the one in which they are told: several processes may write, each when it
        comes to it.
        """
        past = self._journal._pasts[row.session, row.tool]
        if not past or past[-1].at <= row.at:
            past.append(row)
            self._follow(past, len(past) - 1)
        else:
            self._insert(past, row)
        if len(past) > _REMEMBERED:
            del past[0]
        self._look(row)

    def _insert(self, past: list[EventRow], row: EventRow) -> None:
        """An attempt that comes before others that were told of first."""
        place = next(index for index, each in enumerate(past) if each.at > row.at)
        if place < WITHIN and len(past) >= _REMEMBERED:
            # So late that what stood beside it is not remembered: it stands alone.
            self._follow([row], 0)
            return
        self._part(past, place)
        past.insert(place, row)
        for index in range(place, len(past)):
            self._follow(past, index)

    def _part(self, past: list[EventRow], place: int) -> None:
        """Take back what attempts from this place on say of those before it, since one comes in between."""
        for index, each in enumerate(past):
            self._touch(each)
            if index >= place:
                each.retry = None
                continue
            if each.recovered and index + each.recovered >= place:
                each.recovered = each.same = None
            if all(other.print != each.print for other in past[index + 1 : place]):
                each.retry = None
                if each.waiter == "client":
                    each.waited = each.waiter = each.obeyed = None

    def _follow(self, past: list[EventRow], index: int) -> None:
        """What an attempt says of those before it, and they of it."""
        row, earlier = past[index], past[max(0, index - WITHIN) : index]
        before = next((each for each in reversed(earlier) if each.print == row.print and row.print is not None), None)
        row.attempt = before.attempt + 1 if before is not None and not before.ok else 1
        if not row.ok:
            is_same = before is not None and not before.ok and (before.kind, before.code) == (row.kind, row.code)
            row.streak = before.streak + 1 if before is not None and is_same else 1
            if row.delay is not None and row.waited is not None:
                row.obeyed = int(row.waited >= row.delay - _EARLY)
        if before is not None and not before.ok:
            self._repeats(row, before)
        if row.ok and row.made:
            for distance, each in enumerate(reversed(earlier), 1):
                if each.ok:
                    break
                self._touch(each)
                each.recovered, each.same = distance, int(each.print == row.print)

    def _repeats(self, row: EventRow, before: EventRow) -> None:
        """A call that failed is made again."""
        if before.attempt == 1 and before.retry is None:
            self._touch(before)
            before.retry = row.ok
        if before.delay is not None and before.obeyed is None and row.made:
            self._touch(before)
            before.waited = max(0.0, (row.at - before.at) / 1000 - row.seconds)
            before.waiter, before.obeyed = "client", int(before.waited >= before.delay - _EARLY)

    def _look(self, row: EventRow) -> None:
        """Whether an attempt tells what became of another one."""
        if doubts := self._journal._doubts[row.session]:
            seen = _Seen(row.at, row.tool, row.print, row.ok, row.made, row.prevented)
            for doubt in tuple(doubts):
                self._tell(seen, doubt, row.session)
        if row.doubtful:
            self._doubt(row)

    def _tell(self, seen: _Seen, doubt: _Doubt, session: int) -> bool:
        """Whether it is known after this attempt what became of that one."""
        how = None
        if seen.at < doubt.at:
            # It was made before there was a doubt, and only told of later.
            return False
        if seen.ok and seen.tool == doubt.verify and doubt.verify_print in (None, seen.print):
            how = "looked"
        elif seen.print is not None and seen.print == doubt.print and seen.made:
            if not seen.prevented:
                self._repeated.append((doubt.event,))
            how = "worked" if seen.ok else None
        if how is None:
            return False
        self._resolved.append((seen.at, how, doubt.event))
        self._journal._doubts[session].remove(doubt)
        return True

    def _doubt(self, row: EventRow) -> None:
        doubt = _Doubt(row.id, row.at, row.print, row.verify, row.verify_print)
        self._journal._doubts.setdefault(row.session, []).append(doubt)
        about = (row.id, row.at, row.session, row.server, row.tool, row.code, row.print, row.verify, row.verify_print)
        self._asked.append(about)
        if row.session and not self._journal._is_alone:
            # Somebody else may have looked already, and have told of it first.
            for values in self._to.all(_AFTER, (row.session, row.id - _BACK, row.at)):
                if self._tell(_Seen(*values), doubt, row.session):
                    break

    def _touch(self, row: EventRow) -> None:
        if row.id not in self._before:
            self._before[row.id] = (row, (*contribution(row), not row.ok))

    # What is written

    def _save(self) -> None:
        to = self._to
        to.insert(self._new)
        old = [row for row, before in self._before.values() if before is not None]
        if old:
            values = [(*(getattr(row, name) for name in _CHANGED), row.id, row.at) for row in old]
            to.many(_UPDATE, values, "".join(map(type_of, _CHANGED)) + "ii")
        if declared := self._declarations():
            to.many(_DECLARED, declared, "ttti")
        if sums := self._sums():
            by_hour, by_day = ROLLUPS
            types = "i" + "t" * (len(KEY) - 1) + "f" * len(COUNTERS)
            to.many(_ROLLUP.replace("{name}", by_hour), sums, types)
            to.many(_ROLLUP.replace("{name}", by_day), _by_day(sums), types)
        if groups := self._groups():
            to.many(_GROUP, groups, "ttttiii")
        if sessions := self._session_sums():
            to.many(_SESSION, sessions, "iitiiiii")
        if self._asked:
            to.many(_DOUBT, self._asked, "iiitttttt")
        if self._repeated:
            to.many("UPDATE doubt SET repeated = 1 WHERE event = ?", self._repeated, "i")
        if self._resolved:
            to.many("UPDATE doubt SET resolved_at = ?, how = ? WHERE event = ?", self._resolved, "iti")

    def _declarations(self) -> list[tuple[Any, ...]]:
        """What tools declare, once an hour for each."""
        told: dict[tuple[str, str, str], int] = {}
        known = self._journal._declared
        for row in self._rows:
            key = (row.server, row.tool, row.declares, row.at // HOUR)
            if row.declares and key not in known:
                known[key] = None
                told |= {(row.server, row.tool, code): row.at for code in row.declares}
        return [(*key, at) for key, at in sorted(told.items())]

    def _sums(self) -> list[tuple[Any, ...]]:
        sums: dict[tuple[Any, ...], list[float]] = {}
        for row, before in self._before.values():
            _add(sums, *contribution(row), 1)
            if before is not None:
                _add(sums, *before[:2], -1)
        return sorted((*key, *counters) for key, counters in sums.items() if any(counters))

    def _groups(self) -> list[tuple[Any, ...]]:
        groups: dict[tuple[str, str, str, str], list[int]] = {}
        for row, before in self._before.values():
            key = (row.server, row.tool, row.kind, row.code)
            # Whoever told of it first may not have known of which server it is.
            is_counted = before is not None and before[2] and before[0][1] == row.server
            if row.ok or is_counted:
                continue
            group = groups.setdefault(key, [row.at, row.at, 0])
            group[0], group[1], group[2] = min(group[0], row.at), max(group[1], row.at), group[2] + 1
        return sorted((*key, *sums) for key, sums in groups.items())

    def _session_sums(self) -> list[tuple[Any, ...]]:
        sums: dict[int, list[Any]] = {}
        for row, before in self._before.values():
            if not row.session:
                continue
            now = sums.setdefault(row.session, [0, 0, "", row.at, row.at])
            now[0] += before is None
            now[1] += (not row.ok) - (0 if before is None else before[2])
            now[2] = now[2] or row.client
            now[3], now[4] = min(now[3], row.at), max(now[4], row.at)
        return sorted(
            (calls, failed, client, first, first, last, last, session)
            for session, (calls, failed, client, first, last) in sums.items()
        )


def _by_day(sums: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    days: dict[tuple[Any, ...], list[float]] = {}
    for hour, *rest in sums:
        key = (hour - hour % 24, *rest[: len(KEY) - 1])
        counters = rest[len(KEY) - 1 :]
        before = days.get(key)
        days[key] = counters if before is None else [a + b for a, b in zip(before, counters, strict=True)]
    return sorted((*key, *counters) for key, counters in days.items())


def _add(
    sums: dict[tuple[Any, ...], list[float]], key: tuple[Any, ...], adds: list[tuple[int, float]], sign: int
) -> None:
    total = sums.get(key)
    if total is None:
        total = sums[key] = [0.0] * len(COUNTERS)
    for index, value in adds:
        total[index] += sign * value
