"""Before and after: what a change to a server made better, and what worse."""

from __future__ import annotations

from failwell.observe import Numbers, Period, Reading

from .query import HOUR, Query
from .view import Cell, Column, Paragraph, Sheet, View
from .words import NONE, count, milliseconds, moment, share


def compare(reading: Reading, query: Query) -> View:
    """Before and after: a deploy at `at`, or this time against the one before it."""
    view = View("compare", "Before and after", "Did the change help?")
    after = query.period
    if query.at:
        at = milliseconds(query.at, query.now) // HOUR * HOUR
        before = Period(after.since, max(after.since + 1, at), after.server, after.tool, after.code)
        after = Period(at, max(at + 1, after.until), after.server, after.tool, after.code)
    else:
        before = query.before
    view.blocks.append(
        Paragraph(
            f"Before: {moment(before.since)[:16]} to {moment(before.until)[:16]} UTC. "
            f"After: {moment(after.since)[:16]} to {moment(after.until)[:16]} UTC."
        )
    )
    old, new = reading.numbers(before), reading.numbers(after)
    doubts = reading.doubts(before).open, reading.doubts(after).open
    rows = [
        _change("Failure rate", old.failure_rate, new.failure_rate, better=-1),
        _change("Recovered", old.recovery_rate, new.recovery_rate),
        _change("First retry works", old.first_retry, new.first_retry),
        _change("Delays obeyed", old.obeyed, new.obeyed),
        _change("Drift", old.drift, new.drift, better=-1),
        _change("Loops per 1 000 calls", _per(old.loops, old), _per(new.loops, new), better=-1, is_share=False),
        _change("Unknown per 1 000 calls", _per(doubts[0], old), _per(doubts[1], new), better=-1, is_share=False),
    ]
    columns = (Column(""), Column("before", is_number=True), Column("after", is_number=True), Column("change"))
    view.blocks.append(Sheet("compare", "The numbers", columns, rows))
    view.blocks.append(_changed_failures(reading, before, after, query, old, new))
    return view


def _per(value: float, numbers: Numbers) -> float | None:
    return 1000 * value / numbers.calls if numbers.calls else None


def _change(
    name: str, old: float | None, new: float | None, *, better: int = 1, is_share: bool = True
) -> tuple[Cell, ...]:
    def said(value: float | None) -> str:
        return share(value) if is_share else NONE if value is None else f"{value:.2f}"

    change, tone = "", "soft"
    if old is not None and new is not None:
        moved = new - old
        size = abs(moved) * (100 if is_share else 1)
        change = "same" if size < 0.05 else f"{'▲' if moved > 0 else '▼'} {size:.1f}{' points' if is_share else ''}"
        tone = "soft" if size < 0.05 else "good" if moved * better > 0 else "poor"
    return Cell(name), Cell(said(old), old), Cell(said(new), new), Cell(change, tone=tone)


def _changed_failures(
    reading: Reading, before: Period, after: Period, query: Query, old: Numbers, new: Numbers
) -> Sheet:
    were = {(f.server, f.tool, f.kind, f.code): f for f in reading.failures(before)}
    rows = []
    for each in reading.failures(after):
        was = were.pop((each.server, each.tool, each.kind, each.code), None)
        then, now = 0 if was is None else was.numbers.failed, each.numbers.failed
        rate = (_per(then, old) or 0.0, _per(now, new) or 0.0)
        tone = "poor" if rate[1] > rate[0] * 1.1 else "good" if rate[1] < rate[0] * 0.9 else "soft"
        rows.append((rate[1] - rate[0], each, then, now, "new" if was is None else "", tone))
    for was in were.values():
        gone = was.numbers.failed
        rows.append((-(_per(gone, old) or 0.0), was, gone, 0, "gone", "good"))
    rows.sort(key=lambda row: -abs(row[0]))
    columns = (
        Column("tool"),
        Column("code"),
        Column("server", is_minor=True),
        Column("before", is_number=True),
        Column("after", is_number=True),
        Column("per 1 000 calls"),
    )
    cells = [
        (
            Cell(each.tool, href=query.address(f"/failures/{each.id}"), is_code=True),
            Cell(each.code or NONE, each.code, is_code=True),
            Cell(each.server or NONE, each.server, tone="soft"),
            Cell(count(then), then),
            Cell(count(now), now),
            Cell(f"{'▲' if moved > 0 else '▼'} {abs(moved):.2f} {said}".strip(), round(moved, 4), tone=tone),
        )
        for moved, each, then, now, said, tone in rows[:100]
    ]
    return Sheet("changed", "Failures that changed most", columns, cells, "Nothing has failed.")
