"""What a store tells: each number is one query over the sums that are kept while writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from failwell.model import upper_snake

from .event_rows import COLUMNS, COUNTERS, HOUR, WITHIN, tokens
from .numbers import Doubts, Failure, Flow, Numbers, OpenDoubt, Period, SessionLine
from .store_url import address_of
from .writer import Database

_SUMS: Final = ", ".join(f"coalesce(sum(n_{name}), 0)" for name in COUNTERS)
_RECOVERED: Final = " + ".join(f"sum(n_r{number})" for number in range(1, WITHIN + 1))
_MOST: Final = 200
_LOOKED_THROUGH: Final = 20_000
_HALF_A_DAY: Final = 12
_DAY: Final = 24 * HOUR


@dataclass(slots=True)
class Reading:
    """A store that is read, by one thread."""

    database: Database
    url: str = ""
    _names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str) -> Reading:
        """The store at an address. It raises `BadStore`."""
        from . import database

        address = address_of(url)
        return cls(database(address, is_reading=True), str(address))

    def close(self) -> None:
        self.database.close()

    # The numbers

    def numbers(self, period: Period) -> Numbers:
        """All of it together."""
        sums, values = period.sums()
        (found,) = self.database.all(f"SELECT {_SUMS} FROM {sums}", values)
        return _numbers(found)

    def by(self, column: str, period: Period, most: int = _MOST) -> list[tuple[str, Numbers]]:
        """The same for each `tool`, `code`, `server` or `kind`, those that fail most first."""
        if column not in ("tool", "code", "server", "kind"):
            raise ValueError(f"There are no numbers by {column!r}.")
        sums, values = period.sums()
        # A success has neither code nor kind.
        failed = " WHERE n_failed > 0" if column in ("code", "kind") else ""
        found = self.database.all(
            f"SELECT {column}, {_SUMS} FROM {sums}{failed} GROUP BY {column} "
            f"ORDER BY sum(n_failed) DESC, sum(n_calls) DESC, {column} LIMIT ?",
            [*values, most],
        )
        return [(name, _numbers(sums)) for name, *sums in found]

    def over_time(self, period: Period, steps: int = 48) -> list[tuple[int, Numbers]]:
        """The same for each part of the period, of whole hours or days; the parts without calls are there too."""
        hours = max(1, -(-((period.until - period.since) // HOUR) // steps))
        if hours > _HALF_A_DAY:
            hours = -(-hours // 24) * 24
        sums, values = period.sums(hourly=hours < 24)
        found = self.database.all(f"SELECT hour / {hours}, {_SUMS} FROM {sums} GROUP BY hour / {hours}", values)
        known = {int(part): _numbers(rest) for part, *rest in found}
        first, last = period.since // HOUR // hours, max(period.since, period.until - 1) // HOUR // hours
        return [(part * hours * HOUR, known.get(part, Numbers())) for part in range(first, last + 1)]

    def failures(self, period: Period, most: int = _MOST, *, is_lost_first: bool = False) -> list[Failure]:
        """The failures of the period, each once, the most frequent first.

        is_lost_first: those first that most often were not recovered from."""
        sums, values = period.sums()
        order = f"sum(n_failed) - ({_RECOVERED})" if is_lost_first else "sum(n_failed)"
        rows = self.database.all(
            f"SELECT server, tool, kind, code, {_SUMS} FROM {sums} WHERE n_failed > 0 "
            f"GROUP BY server, tool, kind, code ORDER BY {order} DESC, server, tool, kind, code LIMIT ?",
            [*values, most],
        )
        known = {
            tuple(key): rest
            for *key, id, first, last in self.database.all(
                "SELECT server, tool, kind, code, id, first_at, last_at FROM failure WHERE last_at >= ?", [period.since]
            )
            for rest in [(id, first, last)]
        }
        extent = self.extent()
        newest = max(period.since, (extent[0] if extent is not None else 0) + _DAY)
        found = []
        for server, tool, kind, code, *rest in rows:
            id, first, last = known.get((server, tool, kind, code), (0, period.since, period.until))
            found.append(Failure(id, server, tool, kind, code, first, last, _numbers(rest), first >= newest))
        return found

    def failure(self, id: int) -> tuple[str, str, str, str, int, int] | None:
        """Server, tool, kind and code of a failure, and when it was first and last seen."""
        found = self.database.all("SELECT server, tool, kind, code, first_at, last_at FROM failure WHERE id = ?", [id])
        return found[0] if found else None

    def flow(self, period: Period) -> list[Flow]:
        """What was decided about failures, and what came of it."""
        sums, values = period.sums()
        found = self.database.all(
            f"SELECT kind, decision, {_RECOVERED}, sum(n_failed) FROM {sums} WHERE n_failed > 0 "
            "GROUP BY kind, decision ORDER BY sum(n_failed) DESC",
            values,
        )
        return [Flow(kind, decision, int(good), int(all - good)) for kind, decision, good, all in found]

    def undeclared(self, period: Period, most: int = _MOST) -> list[tuple[str, str, str, int]]:
        """Codes that tools send and do not declare: server, tool, code, how often."""
        sums, values = period.sums()
        return [
            (server, tool, code, int(count))
            for server, tool, code, count in self.database.all(
                f"SELECT server, tool, code, sum(n_undeclared) FROM {sums} WHERE n_undeclared > 0 "
                "GROUP BY server, tool, code ORDER BY sum(n_undeclared) DESC LIMIT ?",
                [*values, most],
            )
        ]

    def unseen(self, period: Period, most: int = _MOST) -> list[tuple[str, str, str]]:
        """Codes that tools which failed declare, and that none of their failures had: server, tool, code."""
        where, values = period.where("at", period.since // HOUR * HOUR, period.until)
        declared = self.database.all(
            f"SELECT server, tool, code FROM declared WHERE {where} ORDER BY server, tool, code", values
        )
        sums, values = replace(period, code=None).sums()
        asked = f"SELECT DISTINCT server, tool, code FROM {sums} WHERE n_failed > 0"
        seen = {(server, tool, upper_snake(code)) for server, tool, code in self.database.all(asked, values)}
        return [(s, t, code) for s, t, code in declared if (s, t, upper_snake(code)) not in seen][:most]

    # What stands behind them

    def doubts(self, period: Period) -> Doubts:
        where, values = period.where("at", period.since, period.until)
        ((open, looked, worked, repeated),) = self.database.all(
            "SELECT coalesce(sum(CASE WHEN how IS NULL THEN 1 ELSE 0 END), 0), "
            "coalesce(sum(CASE WHEN how = 'looked' THEN 1 ELSE 0 END), 0), "
            "coalesce(sum(CASE WHEN how = 'worked' THEN 1 ELSE 0 END), 0), coalesce(sum(repeated), 0) "
            f"FROM doubt WHERE {where}",
            values,
        )
        return Doubts(int(open), int(looked), int(worked), int(repeated))

    def open_doubts(self, period: Period, most: int = _MOST) -> list[OpenDoubt]:
        """The calls of which nobody knows yet whether they were done, the latest first."""
        where, values = period.where("at", period.since, period.until)
        found = self.database.all(
            "SELECT event, at, session, server, tool, code, verify, repeated FROM doubt "
            f"WHERE how IS NULL AND {where} ORDER BY at DESC, event DESC LIMIT ?",
            [*values, most],
        )
        names = self._session_names([row[2] for row in found])
        return [
            OpenDoubt(event, at, names.get(session, ""), server, tool, code, verify, bool(repeated))
            for event, at, session, server, tool, code, verify, repeated in found
        ]

    def sessions(self, period: Period, most: int = 100, *, failed: bool = False) -> list[SessionLine]:
        """The latest sessions that reach into the period."""
        only = " AND failed > 0" if failed else ""
        found = self.database.all(
            "SELECT id, name, client, first_at, last_at, calls, failed FROM session "
            f"WHERE last_at >= ? AND first_at < ?{only} ORDER BY id DESC LIMIT ?",
            [period.since, period.until, most],
        )
        return [SessionLine(*row) for row in found]

    def session(self, name: str) -> SessionLine | None:
        found = self.database.all(
            "SELECT id, name, client, first_at, last_at, calls, failed FROM session WHERE name = ?", [name]
        )
        return SessionLine(*found[0]) if found else None

    def timeline(self, session: SessionLine, most: int = 500) -> list[dict[str, Any]]:
        """The latest attempts of a session, in their order."""
        columns = ", ".join(COLUMNS)
        found = self.database.all(
            f"SELECT {columns} FROM event WHERE session = ? AND at >= ? AND at <= ? ORDER BY id DESC LIMIT ?",
            [session.id, session.first_at, session.last_at, most],
        )
        return sorted((dict(zip(COLUMNS, row, strict=True)) for row in found), key=lambda row: (row["at"], row["id"]))

    def examples(self, tool: str, code: str, most: int = 20, *, server: str | None = None) -> list[dict[str, Any]]:
        """The latest attempts that failed so, and the names of their sessions.

        Those of one server are looked for among the latest of all, since the index does not tell them apart."""
        columns = ", ".join(COLUMNS)
        only, values = ("", []) if server is None else ("WHERE server = ? ", [server])
        found = self.database.all(
            f"SELECT {columns} FROM (SELECT {columns} FROM event WHERE tool = ? AND code = ? AND ok = 0 "
            f"ORDER BY id DESC LIMIT ?) AS latest {only}ORDER BY id DESC LIMIT ?",
            [tool, code, max(most, _LOOKED_THROUGH), *values, most],
        )
        return self._with_sessions(found)

    def next_calls(self, examples: Sequence[dict[str, Any]]) -> list[tuple[str, int, int]]:
        """What agents called after these failures, within a day: the tool, how often, and how often it worked."""
        counted: dict[str, list[int]] = {}
        for row in examples:
            found = self.database.all(
                "SELECT tool, ok FROM event WHERE session = ? AND id > ? AND at >= ? AND at < ? ORDER BY id LIMIT 1",
                [row["session"], row["id"], row["at"] - HOUR, row["at"] + _DAY],
            )
            for tool, ok in found:
                total = counted.setdefault(tool, [0, 0])
                total[0] += 1
                total[1] += ok
        return sorted(((tool, *total) for tool, total in counted.items()), key=lambda each: -each[1])  # type: ignore[misc]

    def after(self, id: int, most: int = 200) -> list[dict[str, Any]]:
        """The attempts that came in after one."""
        columns = ", ".join(COLUMNS)
        found = self.database.all(f"SELECT {columns} FROM event WHERE id > ? ORDER BY id LIMIT ?", [id, most])
        return self._with_sessions(found)

    def before_latest(self, count: int, *, failed: bool = False) -> int:
        """After which attempt the latest so many came in; failed: so many that failed."""
        only = " WHERE ok = 0" if failed else ""
        ((first,),) = self.database.all(
            f"SELECT min(id) FROM (SELECT id FROM event{only} ORDER BY id DESC LIMIT ?) AS latest", [count]
        )
        return self.last() if first is None else int(first) - 1

    def last(self) -> int:
        """The number of the latest attempt."""
        ((last,),) = self.database.all("SELECT coalesce(max(id), 0) FROM event")
        return int(last)

    def extent(self) -> tuple[int, int] | None:
        """The first and the last hour of which something is known; None of an empty store."""
        ((first, last),) = self.database.all("SELECT (SELECT min(hour) FROM rollup), (SELECT max(hour) FROM rollup)")
        return None if first is None else (int(first) * HOUR, (int(last) + 1) * HOUR)

    def dropped(self, period: Period) -> int:
        """How many events could not be kept."""
        ((count,),) = self.database.all(
            "SELECT coalesce(sum(count), 0) FROM dropped WHERE at >= ? AND at < ?", [period.since, period.until]
        )
        return int(count)

    def _with_sessions(self, found: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        """Attempts by their columns, with the names of their sessions."""
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in found]
        names = self._session_names([row["session"] for row in rows])
        return [{**row, "session_name": names.get(row["session"], "")} for row in rows]

    def _session_names(self, ids: Sequence[int]) -> dict[int, str]:
        missing = sorted({id for id in ids if id and id not in self._names})
        if missing:
            marks = ", ".join("?" * len(missing))
            self._names.update(dict(self.database.all(f"SELECT id, name FROM session WHERE id IN ({marks})", missing)))
        return self._names


def _numbers(sums: Sequence[Any]) -> Numbers:
    by = dict(zip(COUNTERS, sums, strict=True))
    return Numbers(
        calls=int(by["calls"]),
        failed=int(by["failed"]),
        asked=int(by["asked"]),
        refused=int(by["refused"]),
        seconds=float(by["seconds"]),
        after=tuple(int(by[f"r{number}"]) for number in range(1, WITHIN + 1)),
        same=int(by["same"]),
        retried=int(by["retried"]),
        retried_ok=int(by["retried_ok"]),
        delays_us=int(by["us"]),
        obeyed_us=int(by["us_obeyed"]),
        delays_client=int(by["client"]),
        obeyed_client=int(by["client_obeyed"]),
        prevented=int(by["prevented"]),
        declared=int(by["declared"]),
        undeclared=int(by["undeclared"]),
        loops=int(by["loops"]),
        loop_calls=int(by["loop_calls"]),
        loop_seconds=float(by["loop_seconds"]),
        loop_tokens=tokens(by["loop_size"]),
    )
