"""Writes attempts into a store: new rows, what they say of earlier ones, and the sums of it all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from .rows import VALUES, Row, add_to_totals, merge, settle
from .store_url import BadStore
from .tables import COLUMNS, COUNTERS, EVENT, OPERATOR, SESSION, TOTAL, Database

_LOOKED_AT: Final = 60
"""How many of the latest calls of a session a new one may say something of."""
_CHUNK: Final = 500
_REVISED: Final = (
    *("seats", "server", "client", "attempt", "failed", "outcome", "doubt", "kind", "code", "effect", "decision"),
    *("prevented", "after", "waited", "format", "correlation", "trace", "message", "error", "verify", "verify_print"),
)
_NEW: Final = COLUMNS[1:]
_TALLIED: Final = ("calls", "failed", "recovered", "lost", "unknown", "doubt", "held")
_UPDATE: Final = (
    sa.update(EVENT)
    .where(EVENT.c.id == sa.bindparam("b_id"))
    .values({name: sa.bindparam(f"b_{name}") for name in _REVISED})
)
_TAIL: Final = (
    sa.select(EVENT)
    .where(EVENT.c.session == sa.bindparam("name"))
    .order_by(EVENT.c.at.desc(), EVENT.c.id.desc())
    .limit(_LOOKED_AT)
)


def write(database: Database, to: sa.Connection, rows: Sequence[Row]) -> None:
    """Write a batch. The order that counts is that of time, whichever process tells of a call first."""
    _Batch(database, to).write(rows)


def resolve(database: Database, id: str, *, is_done: bool) -> Row:
    """The operator says what became of a call in doubt: by the number of the call, or the id that the user was told.
    It gives that call, and raises `BadStore`."""
    with database.transaction() as to:
        matching = EVENT.c.id == int(id) if id.isdecimal() and len(id) < 19 else EVENT.c.correlation == id
        found = to.execute(sa.select(EVENT).where(matching, EVENT.c.doubt != "").order_by(EVENT.c.id.desc())).first()
        if found is None:
            raise BadStore(f"there is no call in doubt by the id {id[:40]!r} in {database.address}")
        if found.doubt != "open":
            raise BadStore(f"the call {id[:40]} is not in doubt any more: {found.doubt.replace('_', ' ')}")
        batch = _Batch(database, to)
        return batch.resolve(found, "done" if is_done else "not_done")


class _Batch:
    def __init__(self, database: Database, to: sa.Connection) -> None:
        self._database, self._to = database, to
        self._before: dict[int, tuple[Row, Row]] = {}
        """The rows that were stored, and how they stood, by their ids."""
        self._new: list[Row] = []
        self._sessions: dict[str, dict[int, Row]] = {}
        """The rows of each session that may say something of each other, by their identity."""

    def write(self, rows: Sequence[Row]) -> None:
        names = {row.session for row in rows if row.session}
        known = {name for (name,) in self._in(sa.select(SESSION.c.name), SESSION.c.name, names)}
        for name in sorted(known):
            self._load(self._to.execute(_TAIL, {"name": name}))
        if known:
            self._load(self._in(sa.select(EVENT).where(EVENT.c.doubt == "open"), EVENT.c.session, known))
        # Of calls longer ago only what another seat knows of them is new, and nothing that they say of others.
        others = self._in(sa.select(EVENT), EVENT.c.call_id, {row.call_id for row in rows if row.call_id})
        told = {row.call_id: row for row in [*self._load(others, is_tail=False), *self._stored()] if row.call_id}
        for row in rows:
            same = told.get(row.call_id) if row.call_id else None
            if same is not None and not same.seats & row.seats:
                merge(same, row)
                continue
            if same is not None:
                # One seat tells of each attempt once.
                row.call_id = None
            elif row.call_id:
                told[row.call_id] = row
            self._add(row)
        self._save()

    def resolve(self, found: Any, word: str) -> Row:
        (row,) = self._load([found])
        if row.session:
            self._load(self._to.execute(_TAIL, {"name": row.session}))
            self._load(self._in(sa.select(EVENT).where(EVENT.c.doubt == "open"), EVENT.c.session, {row.session}))
        for each in self._stored():
            if each.doubt == "open" and (each.id == row.id or (each.print == row.print and each.print is not None)):
                each.doubt = word
        about = {name: getattr(row, name) for name in ("session", "server", "client", "tool", "print", "correlation")}
        decision = f"the operator says: {word.replace('_', ' ')}"
        now = int(time.time() * 1000)
        self._add(Row(at=now, outcome="operator", made=0, seats=OPERATOR, decision=decision, **about))
        self._save()
        return row

    def _in(self, statement: Any, column: Any, values: Iterable[Any]) -> Iterator[Any]:
        listed = sorted(values)
        for start in range(0, len(listed), _CHUNK):
            yield from self._to.execute(statement.where(column.in_(listed[start : start + _CHUNK]))).all()

    def _stored(self) -> Iterator[Row]:
        return (row for row, _ in self._before.values())

    def _load(self, found: Iterable[Any], *, is_tail: bool = True) -> list[Row]:
        loaded = []
        for values in found:
            named = values._asdict()
            if named["id"] in self._before:
                continue
            row = Row(**named)
            self._before[row.id] = row, Row(**named)
            if is_tail and row.session:
                self._sessions.setdefault(row.session, {})[id(row)] = row
            loaded.append(row)
        return loaded

    def _add(self, row: Row) -> None:
        self._new.append(row)
        if row.session:
            self._sessions.setdefault(row.session, {})[id(row)] = row

    def _save(self) -> None:
        for rows in self._sessions.values():
            # New ones, which have no number yet, in the order in which they came.
            settle(sorted(rows.values(), key=lambda row: (row.at, row.id or 2**63)))
        changed = [(row, before) for row, before in self._before.values() if VALUES(row) != VALUES(before)]
        totals: dict[tuple[Any, ...], list[float]] = {}
        tallies: dict[str, dict[str, Any]] = {}
        for row, before in [*changed, *((row, None) for row in self._new)]:
            add_to_totals(totals, row, 1)
            if before is not None:
                add_to_totals(totals, before, -1)
            if row.session:
                _tally(tallies, row, before)
        to = self._to
        if self._new:
            to.execute(sa.insert(EVENT), [{name: getattr(row, name) for name in _NEW} for row in self._new])
        if changed:
            revised = [{f"b_{name}": getattr(row, name) for name in ("id", *_REVISED)} for row, _ in changed]
            to.execute(_UPDATE, revised)
        if sums := {key: total for key, total in totals.items() if any(total)}:
            insert = self._database.insert(TOTAL)
            added = {name: TOTAL.c[name] + insert.excluded[name] for name in (*COUNTERS, "seconds")}
            insert = insert.on_conflict_do_update(index_elements=list(TOTAL.primary_key), set_=added)
            names = [column.name for column in TOTAL.columns]
            # In one order for everybody.
            to.execute(insert, [dict(zip(names, (*key, *sums[key]), strict=True)) for key in sorted(sums)])
        if tallies:
            insert = self._database.insert(SESSION)
            new, old = insert.excluded, SESSION.c
            added = {name: old[name] + new[name] for name in _TALLIED}
            added |= {name: sa.case((old[name] == "", new[name]), else_=old[name]) for name in ("server", "client")}
            added["first_at"] = sa.case((new.first_at < old.first_at, new.first_at), else_=old.first_at)
            added["last_at"] = sa.case((new.last_at > old.last_at, new.last_at), else_=old.last_at)
            insert = insert.on_conflict_do_update(index_elements=[SESSION.c.name], set_=added)
            to.execute(insert, [tallies[name] for name in sorted(tallies)])


def _tally(tallies: dict[str, dict[str, Any]], row: Row, before: Row | None) -> None:
    """Add to the sums of a session what a row says more than before."""
    tally = tallies.get(row.session)
    if tally is None:
        tally = tallies[row.session] = dict.fromkeys(_TALLIED, 0) | {"name": row.session, "server": "", "client": ""}
        tally["first_at"] = tally["last_at"] = row.at
    tally["first_at"], tally["last_at"] = min(tally["first_at"], row.at), max(tally["last_at"], row.at)
    tally["server"], tally["client"] = tally["server"] or row.server, tally["client"] or row.client
    for name in _TALLIED:
        count = COUNTERS[name]
        tally[name] += int(count(row)) - (0 if before is None else int(count(before)))
