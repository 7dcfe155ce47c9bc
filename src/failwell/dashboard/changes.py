"""Before and after: what a change to a server made better, and what worse."""

from __future__ import annotations

from failwell.observe import Numbers, Period, Reading

from .figures import NONE, BadTime, count, milliseconds, moment, share
from .measures import moved, per_thousand
from .query import HOUR, Query
from .view import Cell, Column, Paragraph, Sheet, View


def compare(reading: Reading, query: Query) -> View:
    """Before and after: a deploy at `at`, or this time against the one before it."""
    view = View("compare", "Before and after", "Did the change help?")
    after = query.period
    if query.at:
        at = milliseconds(query.at, query.now) // HOUR * HOUR
        if not after.since < at < after.until:
            told = f"{moment(after.since)[:16]} and {moment(after.until)[:16]} UTC"
            raise BadTime(f"{query.at[:40]!r} does not lie between {told}; choose a longer time, or another deploy")
        before = Period(after.since, at, after.server, after.tool, after.code)
        after = Period(at, after.until, after.server, after.tool, after.code)
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
        (Cell("Calls"), Cell(count(old.calls), old.calls), Cell(count(new.calls), new.calls), Cell("")),
        _change("Failure rate", old.failure_rate, new.failure_rate, better=-1),
        _change("Recovered", old.recovery_rate, new.recovery_rate),
        _change("First retry works", old.first_retry, new.first_retry),
        _change("Delays obeyed", old.obeyed, new.obeyed),
        _change("Drift", old.drift, new.drift, better=-1),
        _change(
            "Loops per 1 000 calls",
            per_thousand(old.loops, old),
            per_thousand(new.loops, new),
            better=-1,
            is_share=False,
        ),
        _change(
            "Unknown per 1 000 calls",
            per_thousand(doubts[0], old),
            per_thousand(doubts[1], new),
            better=-1,
            is_share=False,
        ),
    ]
    columns = (Column("number"), *(Column(name, is_number=True) for name in ("before", "after", "change")))
    view.blocks.append(Paragraph(_verdict(rows)))
    view.blocks.append(Sheet("compare", "The numbers", columns, rows))
    if old.calls and new.calls:
        # Where one side is empty, everything would be new, or gone.
        view.blocks.append(_changed_failures(reading, before, after, query, old, new))
    return view


def _verdict(rows: list[tuple[Cell, ...]]) -> str:
    """What has become better and what worse, in a line."""
    named = {tone: [row[0].text.lower() for row in rows if row[-1].tone == tone] for tone in ("good", "poor")}
    said = [
        f"{word}: {', '.join(named[tone])}" for tone, word in (("good", "Better"), ("poor", "Worse")) if named[tone]
    ]
    return (
        f"{'. '.join(said)}." if said else "Nothing to tell apart: there are no calls on one side, or all is the same."
    )


def _change(
    name: str, old: float | None, new: float | None, *, better: int = 1, is_share: bool = True
) -> tuple[Cell, ...]:
    def said(value: float | None) -> str:
        return share(value) if is_share else NONE if value is None else f"{value:.2f}"

    change, tone = moved(old, new, better=better, is_share=is_share)
    return Cell(name), Cell(said(old), old), Cell(said(new), new), Cell(change, tone=tone)


def _changed_failures(
    reading: Reading, before: Period, after: Period, query: Query, old: Numbers, new: Numbers
) -> Sheet:
    were = {(f.server, f.tool, f.kind, f.code): f for f in reading.failures(before)}
    rows = []
    for each in reading.failures(after):
        was = were.pop((each.server, each.tool, each.kind, each.code), None)
        then, now = 0 if was is None else was.numbers.failed, each.numbers.failed
        rate = (per_thousand(then, old) or 0.0, per_thousand(now, new) or 0.0)
        tone = "poor" if rate[1] > rate[0] * 1.1 else "good" if rate[1] < rate[0] * 0.9 else "soft"
        rows.append((rate[1] - rate[0], each, then, now, "new" if was is None else "", tone))
    for was in were.values():
        gone = was.numbers.failed
        rows.append((-(per_thousand(gone, old) or 0.0), was, gone, 0, "gone", "good"))
    rows.sort(key=lambda row: -abs(row[0]))
    columns = (
        Column("tool"),
        Column("code"),
        Column("server", is_minor=True),
        Column("before", "How often it failed before, in a thousand calls of any tool.", is_number=True, is_minor=True),
        Column("after", "How often it failed after, in a thousand calls of any tool.", is_number=True),
        Column("change", is_number=True),
    )
    cells = [
        (
            Cell(each.tool, href=query.address(f"/failures/{each.id}"), is_code=True, under=each.server),
            Cell(each.code or NONE, each.code, is_code=True),
            Cell(each.server or NONE, each.server, tone="soft"),
            _rate(then, old),
            _rate(now, new),
            Cell(f"{said} {'▲' if change > 0 else '▼'} {abs(change):.2f}".strip(), round(change, 4), tone=tone),
        )
        for change, each, then, now, said, tone in rows[:100]
    ]
    note = "Failures in a thousand calls of any tool, since there may have been more calls on one side."
    return Sheet("changed", "Failures that changed most", columns, cells, "Nothing has failed.", note)


def _rate(failed: int, numbers: Numbers) -> Cell:
    rate = per_thousand(failed, numbers)
    return Cell(NONE if rate is None else f"{rate:.2f}", rate)
