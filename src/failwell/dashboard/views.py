"""What there is to see: one function for each view, from a store to what stands on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from failwell.observe import Numbers, Period, Reading

from . import drawings
from .figures import NONE, ago, count, duration, moment, share, stamp
from .measures import MEANS, after_words, meanings_sheet, overview_cards
from .query import HOUR, Query
from .sheets import (
    attempts_sheet,
    cut_note,
    failures_sheet,
    flow_sheet,
    lost_sheet,
    numbers_sheet,
    recovered_cell,
)
from .view import Block, Card, Cards, Cell, Column, Drawing, Paragraph, Sheet, View


def overview(reading: Reading, query: Query) -> View:
    period = query.period
    whole, doubts = reading.numbers(period), reading.doubts(period)
    parts = reading.over_time(period)
    lead = "How agents fare with your tools: not only what failed, but whether they got through."
    old, old_doubts = reading.numbers(query.before), reading.doubts(query.before)
    if old.calls:
        lead += " Arrows compare with as long a time before."
    view = View("", "Overview", lead)
    view.blocks += _lost(reading, period)
    view.blocks.append(Cards(overview_cards(whole, doubts, parts, query, old, old_doubts)))
    view.blocks += _over_time("Failures over time", parts)
    view.blocks.append(failures_sheet(reading, query, most=8, title="What fails most"))
    view.blocks.append(lost_sheet(reading, query, most=8))
    view.blocks.append(flow_sheet(reading, period))
    view.blocks.append(numbers_sheet(reading, "tool", query, most=8, title="Tools"))
    view.blocks.append(meanings_sheet())
    return view


def _over_time(title: str, parts: list[tuple[int, Numbers]]) -> list[Block]:
    svg = drawings.bars(parts)
    if not svg:
        return []
    legend = (("good", "recovered"), ("bad", "not recovered"))
    hours = (parts[1][0] - parts[0][0]) // HOUR if len(parts) > 1 else 1
    wide = (
        "an hour"
        if hours == 1
        else f"{hours} hours"
        if hours < 24
        else "a day"
        if hours == 24
        else f"{hours // 24} days"
    )
    top = count(max(part.failed for _, part in parts))
    first, last = (f"{moment(parts[place][0])[5:16]} UTC" for place in (0, -1))
    ends = (first, f"a bar is {wide}, the highest {top} failures", last)
    return [Drawing(title, svg, legend, ends=ends)]


def failures(reading: Reading, query: Query) -> View:
    view = View("failures", "Failures", "The same failure grouped, the most frequent first.")
    view.blocks.append(failures_sheet(reading, query))
    return view


def failure(reading: Reading, query: Query, id: int) -> View | None:
    """One failure, with examples and what agents did next."""
    found = reading.failure(id)
    if found is None:
        return None
    server, tool, kind, code, first, last = found
    period = query.period
    own = Period(period.since, period.until, server, tool, code)
    numbers, parts = reading.numbers(own), reading.over_time(own)
    view = View(
        f"failures/{id}", f"{tool}: {code or kind}", f"{kind.replace('_', ' ')}{f', of {server}' if server else ''}."
    )
    cards = [
        Card("Failed", count(numbers.failed), f"last {ago(last, query.now)}", series=[p.failed for _, p in parts]),
        Card(
            "Recovered",
            share(numbers.recovery_rate),
            after_words(numbers),
            recovered_cell(numbers).tone,
            means=MEANS["recovery"],
        ),
        Card(
            "First retry works",
            share(numbers.first_retry),
            f"{count(numbers.retried_ok)} of {count(numbers.retried)}"
            if numbers.retried
            else "never made again as it was",
            means=MEANS["first_retry"],
        ),
        Card("First seen", ago(first, query.now), moment(first) + " UTC"),
    ]
    view.blocks.append(Cards(cards))
    view.blocks += _over_time("Over time", parts)
    view.blocks.append(flow_sheet(reading, own))
    examples = reading.examples(tool, code, 30, server=server)
    nexts = [
        (
            Cell(name, is_code=True),
            Cell(count(times)),
            Cell(share(worked / times)),
        )
        for name, times, worked in reading.next_calls(examples)
    ]
    columns = (Column("tool"), Column("calls", is_number=True), Column("worked", is_number=True))
    view.blocks.append(
        Sheet(
            "next", "What agents called next", columns, nexts, "Nothing.", "In the session, after each example below."
        )
    )
    view.blocks.append(attempts_sheet("examples", "The latest examples", examples, query, of_session=True))
    return view


def tools(reading: Reading, query: Query) -> View:
    view = View("tools", "Tools", "Each tool, those that fail most first.")
    view.blocks.append(numbers_sheet(reading, "tool", query))
    return view


def codes(reading: Reading, query: Query) -> View:
    view = View("codes", "Codes", "Each code, and whether agents got through after it.")
    view.blocks.append(numbers_sheet(reading, "code", query))
    whole = reading.numbers(query.period)
    columns = (Column("after"), Column("failures", is_number=True), Column("share of failures", is_number=True))
    note = "Failures that were recovered from: after how many further calls of the tool one worked."
    rows = [
        (
            Cell("the next call" if calls == 1 else f"{calls} calls"),
            Cell(count(number), bar=number / max(1, whole.recovered)),
            Cell(share(number / whole.failed if whole.failed else None)),
        )
        for calls, number in enumerate(whole.after, 1)
    ]
    view.blocks.append(Sheet("after", "After how many calls", columns, rows, note=note))
    return view


def sessions(reading: Reading, query: Query) -> View:
    view = View("sessions", "Sessions", "The latest first. A session is one client's time with a server.")
    found = reading.sessions(query.period, 100, failed=bool(query.failed))
    columns = (
        Column("session"),
        Column("client"),
        Column("calls", is_number=True),
        Column("failed", is_number=True),
        Column("lasted", is_number=True, is_minor=True),
        Column("last call"),
    )
    rows = [
        (
            Cell(each.name[:16], each.name, href=f"/sessions/{quote(each.name, safe='')}", is_code=True),
            Cell(each.client or NONE, each.client),
            Cell(count(each.calls)),
            Cell(count(each.failed), tone="poor" if each.failed else "soft"),
            Cell(duration((each.last_at - each.first_at) / 1000)),
            Cell(ago(each.last_at, query.now), stamp(each.last_at), tone="soft"),
        )
        for each in found
    ]
    view.blocks.append(
        Sheet("sessions", "Sessions", columns, rows, "None in this time.", cut_note(len(rows), 100, "latest"))
    )
    return view


def session(reading: Reading, query: Query, name: str) -> View | None:
    """The calls of one session, in their order."""
    found = reading.session(name)
    if found is None:
        return None
    rows = reading.timeline(found)
    view = View(f"sessions/{name}", f"Session {name[:16]}", found.client or "A client that does not say who it is.")
    lost = sum(1 for row in rows if not row["ok"] and not row["recovered"])
    cards = [
        Card("Calls", count(found.calls), duration((found.last_at - found.first_at) / 1000)),
        Card("Failed", count(found.failed), f"{count(lost)} not recovered", "poor" if lost else ""),
        Card("Last call", ago(found.last_at, query.now), moment(found.last_at) + " UTC"),
    ]
    view.blocks.append(Cards(cards))
    legend = (("good", "worked"), ("warn", "failed, and recovered"), ("bad", "failed"))
    view.blocks.append(Drawing("In their order", drawings.strip(rows), legend))
    note = f"The latest {len(rows)} of {found.calls} calls." if found.calls > len(rows) else ""
    view.blocks.append(attempts_sheet("calls", "Calls", rows, query, note=note))
    return view


def unknown(reading: Reading, query: Query) -> View:
    view = View(
        "unknown",
        "Outcome unknown",
        "Calls that failed and may have been done. Nobody has looked since; this page calls nothing.",
    )
    doubts = reading.doubts(query.period)
    cards = [
        Card("Open", count(doubts.open), "nobody has looked", "poor" if doubts.open else "good"),
        Card("Looked at", count(doubts.looked), "the tool that tells was called", "good" if doubts.looked else ""),
        Card("Settled", count(doubts.worked), "the same call worked later"),
        Card("Repeated", count(doubts.repeated), "made again all the same", "poor" if doubts.repeated else "good"),
    ]
    view.blocks.append(Cards(cards))
    columns = (
        Column("when"),
        Column("tool"),
        Column("code", is_minor=True),
        Column("would tell", "The call that only looks, and tells whether it was done."),
        Column("repeated", is_minor=True),
        Column("session"),
    )
    rows = [
        (
            Cell(ago(each.at, query.now), stamp(each.at), tone="soft"),
            Cell(each.tool, is_code=True),
            Cell(each.code or NONE, each.code, is_code=True),
            Cell(each.verify or "ask the user", each.verify, is_code=bool(each.verify)),
            Cell("yes" if each.repeated else "no", tone="poor" if each.repeated else "soft"),
            Cell(
                each.session[:12],
                each.session,
                href=f"/sessions/{quote(each.session, safe='')}" if each.session else None,
                is_code=True,
            ),
        )
        for each in reading.open_doubts(query.period, 200)
    ]
    note = cut_note(len(rows), 200, "latest", doubts.open)
    view.blocks.append(Sheet("unknown", "Nobody has looked", columns, rows, "None. Every outcome is known.", note))
    return view


def drift(reading: Reading, query: Query) -> View:
    view = View("drift", "Drift", "What tools declare with raises(…), against what they send.")
    whole = reading.numbers(query.period)
    told = f"{count(whole.undeclared)} of {count(whole.declared + whole.undeclared)} failures of tools that declare any"
    card = Card("Drift", share(whole.drift), told, means=MEANS["drift"], series=())
    view.blocks.append(Cards([card]))
    rows = [
        (
            Cell(server or NONE, server),
            Cell(tool, is_code=True, under=server),
            Cell(code, is_code=True),
            Cell(count(times)),
        )
        for server, tool, code, times in reading.undeclared(query.period)
    ]
    columns = (Column("server", is_minor=True), Column("tool"), Column("code"), Column("failures", is_number=True))
    empty = "None. Either all are declared, or no tool declares any."
    view.blocks.append(Sheet("drift", "Sent, and not declared", columns, rows, empty, MEANS["drift"]))
    unseen = [
        (Cell(server or NONE, server), Cell(tool, is_code=True, under=server), Cell(code, is_code=True))
        for server, tool, code in reading.unseen(query.period)
    ]
    note = (
        "Of tools that have failed in this time: perhaps nobody has met them yet, perhaps they cannot happen any more."
    )
    empty = "None. Either all were seen, or no tool that failed declares any."
    view.blocks.append(Sheet("unseen", "Declared, and never seen", columns[:3], unseen, empty, note))
    return view


def _lost(reading: Reading, period: Period) -> list[Block]:
    dropped = reading.dropped(period)
    if not dropped:
        return []
    return [
        Paragraph(f"{count(dropped)} events were dropped, since the store was full or could not be written.", "fair")
    ]


VIEWS: Final[dict[str, Callable[[Reading, Query], View]]] = {
    "": overview,
    "failures": failures,
    "tools": tools,
    "codes": codes,
    "sessions": sessions,
    "unknown": unknown,
    "drift": drift,
}
"""By the path of the page."""
