"""What a store tells: totals from the counters that are kept while writing, and the calls themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import sqlalchemy as sa

from .store_url import address_of
from .tables import COUNTERS, DAY, DROPPED, EVENT, HOUR, KEY, SESSION, TOTAL, Database

Numbers = dict[str, Any]
"""A row of totals: what it is of, the counters of the store, and the shares that follow from them."""

_EXACT: Final = 6 * HOUR
"""Up to such a time everything is counted from the calls themselves, to the millisecond; beyond it by whole hours."""
_MOST_COUNTED: Final = 100_000
"""Unless there are more of them."""
_SCANNED: Final = 100_000
"""Among how many of the latest calls one is looked for by what no index knows."""
_STEPS: Final = ((2 * HOUR, 60_000), (_EXACT, 300_000), (3 * DAY, HOUR), (14 * DAY, 6 * HOUR))
_FAILED: Final = ("recovered", "lost", "unknown")
_HOLD: Final = 300_000
"""How long a hold lasts by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Of which calls something is told: from when to when, in milliseconds, and of what; empty is everything.

    text: what a name, a code or a message holds. outcome: one of a call; `failed` is any of a failure, `doubt` one
    that is in doubt.
    """

    since: int = 0
    until: int = 2**62
    server: str = ""
    client: str = ""
    tool: str = ""
    kind: str = ""
    code: str = ""
    session: str = ""
    outcome: str = ""
    text: str = ""

    def named(self, columns: Any, names: Sequence[str] = KEY) -> list[Any]:
        """The conditions on names."""
        found = [columns[name] == value for name in names if (value := getattr(self, name))]
        if self.text:
            texts = [name for name in (*names, "message") if name in columns and name != "kind"]
            found.append(sa.or_(*(columns[name].icontains(self.text, autoescape=True) for name in texts)))
        return found


class Reading:
    """A store that is read, by one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.url = str(database.address)
        self._exact: dict[tuple[int, int], bool] = {}

    @classmethod
    def of(cls, url: str) -> Self:
        """The store at an address. It raises `BadStore`."""
        return cls(Database(address_of(url), is_reading=True))

    def close(self) -> None:
        self._database.close()

    # Totals

    def totals(self, selection: Selection, by: Sequence[str] = (), *, most: int = 1_000) -> list[Numbers]:
        """The numbers of all that is selected, or of each value of some of server, client, tool, kind and code, those
        that fail most first. What the rows are not of is named where there is one, and else counted."""
        table, conditions = self._source(selection)
        columns = [table.c[name] for name in by]
        rest = [name for name in ("server", "client", "tool") if name not in by]
        asked = [*columns, *_sums(table)]
        asked += [sa.func.max(table.c[name]) for name in rest]
        asked += [sa.func.count(sa.distinct(table.c[name])) for name in rest]
        statement = sa.select(*asked).where(*conditions)
        if by:
            # What was told of a call may have changed what it is of.
            statement = statement.group_by(*columns).having(asked[len(by)] > 0)
        if "code" in by or "kind" in by:
            # A success has neither.
            statement = statement.where(table.c.kind != "")
        failed, calls = asked[len(by) + 1], asked[len(by)]
        found = self._database.all(statement.order_by(failed.desc(), calls.desc(), *columns).limit(most))
        made = []
        for row in found:
            values = list(row)
            numbers = dict(zip(by, values, strict=False)) | _numbers(values[len(by) :])
            for name, value, count in zip(rest, values[-2 * len(rest) :], values[-len(rest) :], strict=False):
                numbers[name] = value if count == 1 else f"{count} {name}s" if count else ""
            made.append(numbers)
        return made

    def numbers(self, selection: Selection) -> Numbers:
        """The numbers of all that is selected."""
        return self.totals(selection)[0]

    def over_time(self, selection: Selection) -> list[tuple[int, Numbers]]:
        """The numbers of each part of the time; the parts without calls are there too."""
        length = selection.until - selection.since
        step = next((step for most, step in _STEPS if length <= most), DAY)
        table, conditions = self._source(selection, is_hourly=step < DAY)
        step = step if table is EVENT else max(step, HOUR)
        part = (table.c.at if table is EVENT else table.c.start) // step
        found = self._database.all(sa.select(part, *_sums(table)).where(*conditions).group_by(part))
        known = {int(at): _numbers(rest) for at, *rest in found}
        nothing = _numbers([0] * (len(COUNTERS) + 1))
        first, last = selection.since // step, max(selection.since, selection.until - 1) // step
        return [(at * step, known.get(at, nothing)) for at in range(first, last + 1)]

    def failures(self, selection: Selection, *, most: int = 200) -> list[Numbers]:
        """The same failure grouped by server, tool, kind and code: with the newest of its messages, when it was first
        and last seen, and whether it is new in this time."""
        groups = self.totals(selection, ("server", "tool", "kind", "code"), most=most)
        by = [TOTAL.c[name] for name in ("server", "tool", "kind", "code")]
        first_days = self._database.all(
            sa.select(*by, sa.func.min(TOTAL.c.start)).where(TOTAL.c.step == DAY, TOTAL.c.failed > 0).group_by(*by)
        )
        first = {tuple(key): int(day) for *key, day in first_days}
        extent = self.extent()
        # The first day may have begun late.
        young = (extent[0] if extent else 0) + 2 * DAY
        for each in groups:
            own = replace(selection, outcome="failed", **{name: each[name] for name in ("server", "tool", "kind")})
            newest = self.calls(replace(own, code=each["code"], text=""), most=1)
            each["message"] = newest[0]["message"] if newest else None
            each["last_at"] = newest[0]["at"] if newest else None
            each["first_at"] = first.get((each["server"], each["tool"], each["kind"], each["code"]))
            each["new"] = each["first_at"] is not None and each["first_at"] >= max(young, selection.since // DAY * DAY)
        return groups

    def _source(self, selection: Selection, *, is_hourly: bool = False) -> tuple[Any, list[Any]]:
        """Where totals are read from, and under which conditions: the calls, or the counters of whole days with those
        of the hours before and after them."""
        since, until = selection.since, selection.until
        if self._is_exact(since, until):
            return EVENT, [EVENT.c.at >= since, EVENT.c.at < until, *selection.named(EVENT.c)]
        first, last = since // HOUR * HOUR, min(-(-until // HOUR) * HOUR, 2**62)
        day, end = -(-first // DAY) * DAY, last // DAY * DAY
        ranges = [(HOUR, first, day), (DAY, day, end), (HOUR, end, last)]
        if is_hourly or day >= end:
            ranges = [(HOUR, first, last)]
        c = TOTAL.c
        in_time = [sa.and_(c.step == step, c.start >= begin, c.start < stop) for step, begin, stop in ranges]
        return TOTAL, [sa.or_(*in_time), *selection.named(c)]

    def _is_exact(self, since: int, until: int) -> bool:
        if until - since > _EXACT:
            return False
        if (since, until) not in self._exact:
            some = sa.select(EVENT.c.at).where(EVENT.c.at >= since, EVENT.c.at < until).limit(_MOST_COUNTED)
            ((count,),) = self._database.all(sa.select(sa.func.count()).select_from(some.subquery()))
            self._exact = {(since, until): count < _MOST_COUNTED}
        return self._exact[since, until]

    # Calls

    def calls(
        self, selection: Selection, *, most: int = 100, order: str = "at", is_rising: bool = False
    ) -> list[dict[str, Any]]:
        """Calls of a time, the latest first; in another order, and by what no index knows, those among the latest."""
        c = EVENT.c
        conditions = [c.at >= selection.since, c.at < selection.until]
        outcome = selection.outcome
        if outcome == "doubt":
            conditions += [c.doubt == "open", c.failed == 1]
        elif outcome == "failed" or outcome in _FAILED:
            conditions.append(c.failed == 1)
        is_rare = bool(outcome) and outcome not in ("failed", "doubt")
        indexed = (*KEY, "session") if selection.code or selection.session else ("session",)
        conditions += [c[name] == value for name in indexed if (value := getattr(selection, name))]
        rest = [name for name in KEY if name not in indexed and getattr(selection, name)]
        newest = (c.at.desc(), c.id.desc())
        if not rest and not is_rare and not selection.text and order == "at" and not is_rising:
            return self._rows(sa.select(EVENT).where(*conditions).order_by(*newest).limit(most))
        latest = sa.select(EVENT).where(*conditions).order_by(*newest).limit(_SCANNED).subquery()
        column = latest.c[order if order in latest.c else "at"]
        ordered = (column if is_rising else column.desc(), latest.c.id.desc())
        named = selection.named(latest.c, (*KEY, "session"))
        if is_rare:
            named.append(latest.c.outcome == outcome)
        return self._rows(sa.select(latest).where(*named).order_by(*ordered).limit(most))

    def call(self, id: int) -> dict[str, Any] | None:
        found = self._rows(sa.select(EVENT).where(EVENT.c.id == id))
        return found[0] if found else None

    def around(self, call: dict[str, Any], before: int = 5, after: int = 5) -> list[dict[str, Any]]:
        """A call with those before and after it in its session."""
        if not call["session"]:
            return [call]
        c, place = EVENT.c, sa.tuple_(EVENT.c.at, EVENT.c.id)
        own = sa.select(EVENT).where(c.session == call["session"])
        at = sa.tuple_(sa.literal(call["at"]), sa.literal(call["id"]))
        earlier = self._rows(own.where(place < at).order_by(c.at.desc(), c.id.desc()).limit(before))
        return [*reversed(earlier), call, *self._rows(own.where(place > at).order_by(c.at, c.id).limit(after))]

    def with_next(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Calls with what the agent did next: the tool and outcome of the call that came after it in its session."""
        made = []
        for call in calls:
            later = self.around(call, before=0, after=1)[1:]
            followed = later[0] if later else {"tool": None, "outcome": None, "print": None}
            is_same = followed["print"] is not None and followed["print"] == call["print"]
            made.append(
                {**call, "next_tool": followed["tool"], "next_outcome": followed["outcome"], "next_is_same": is_same}
            )
        return made

    def doubts(self, selection: Selection, *, most: int = 200) -> list[dict[str, Any]]:
        """The calls of which nobody knows whether they were done, the latest first; `is_held` while the hold lasts."""
        found = self.calls(replace(selection, outcome="doubt"), most=most)
        return [{**each, "is_held": selection.until - each["at"] < _HOLD} for each in found]

    def sessions(
        self, selection: Selection, *, most: int = 100, order: str = "last_at", is_rising: bool = False
    ) -> list[dict[str, Any]]:
        """The sessions that reach into the time, the latest first."""
        c = SESSION.c
        conditions = [c.last_at >= selection.since, c.first_at < selection.until]
        conditions += [c[name] == value for name in ("server", "client") if (value := getattr(selection, name))]
        if selection.session:
            conditions.append(c.name == selection.session)
        if selection.outcome == "failed":
            conditions.append(c.failed > 0)
        if selection.text:
            texts = (c.name, c.server, c.client)
            conditions.append(sa.or_(*(each.icontains(selection.text, autoescape=True) for each in texts)))
        column = c[order if order in c else "last_at"]
        ordered = (column if is_rising else column.desc(), c.name)
        return self._rows(sa.select(SESSION).where(*conditions).order_by(*ordered).limit(most))

    # In the order in which they were written

    def after(self, id: int, most: int = 200) -> list[dict[str, Any]]:
        """The attempts that were written after one."""
        return self._rows(sa.select(EVENT).where(EVENT.c.id > id).order_by(EVENT.c.id).limit(most))

    def before_latest(self, count: int, *, failed: bool = False) -> int:
        """After which attempt the latest so many were written; failed: so many that failed."""
        latest = sa.select(EVENT.c.id).order_by(EVENT.c.id.desc()).limit(count)
        if failed:
            latest = latest.where(EVENT.c.failed == 1)
        ((first,),) = self._database.all(sa.select(sa.func.min(latest.subquery().c.id)))
        return self.last() if first is None else int(first) - 1

    def last(self) -> int:
        """The number of the latest attempt."""
        return int(self._database.all(sa.select(sa.func.coalesce(sa.func.max(EVENT.c.id), 0)))[0][0])

    def extent(self) -> tuple[int, int] | None:
        """The first and the last day of which something is known; None of an empty store."""
        days = sa.select(sa.func.min(TOTAL.c.start), sa.func.max(TOTAL.c.start)).where(TOTAL.c.step == DAY)
        ((first, last),) = self._database.all(days)
        return None if first is None else (int(first), int(last) + DAY)

    def names(self, column: str, most: int = 200) -> list[str]:
        """The servers or clients that the store knows."""
        named = sa.select(TOTAL.c[column]).where(TOTAL.c.step == DAY, TOTAL.c[column] != "").distinct()
        return [name for (name,) in self._database.all(named.order_by(TOTAL.c[column]).limit(most))]

    def dropped(self, selection: Selection) -> int:
        """How many events could not be kept."""
        told = DROPPED.c.at.between(selection.since, selection.until)
        ((count,),) = self._database.all(sa.select(sa.func.coalesce(sa.func.sum(DROPPED.c.count), 0)).where(told))
        return int(count)

    def _rows(self, statement: Any) -> list[dict[str, Any]]:
        return [dict(row._mapping) for row in self._database.all(statement)]


def _sums(table: Any) -> list[Any]:
    """The counters, and the seconds after them."""
    counted: list[Any]
    if table is TOTAL:
        counted = [table.c[name] for name in COUNTERS]
    else:
        counted = [sa.cast(condition(table.c), sa.Integer) for condition in COUNTERS.values()]
    return [sa.func.coalesce(sa.func.sum(each), 0) for each in (*counted, table.c.seconds)]


def _numbers(values: Sequence[Any]) -> Numbers:
    found: Numbers = {name: int(value) for name, value in zip(COUNTERS, values, strict=False)}
    found["seconds"] = float(values[len(COUNTERS)])
    calls, failed = found["calls"], found["failed"]
    found["failure_rate"] = failed / calls if calls else None
    found["recovery_rate"] = found["recovered"] / failed if failed else None
    for name in ("doubt", "held"):
        ended = sum(found[f"{name}_{how}"] for how in ("looked", "again", "confirmed"))
        found[f"{name}_open"] = found[name] - ended
    return found
