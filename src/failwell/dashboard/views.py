"""What there is to see: one function for each view, from a store to what stands on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from failwell.observe import Numbers, Period, Reading

from . import drawings
from .query import Query
from .view import Block, Card, Cards, Cell, Column, Drawing, Paragraph, Sheet, View
from .words import NONE, ago, count, duration, milliseconds, moment, share

_HOUR: Final = 3_600_000
MEANS: Final = {
    "recovery": "The share of failed calls after which one of the next five calls of the tool in the session worked.",
    "first_retry": "The share of first repetitions of a failed call, with the same arguments, that worked.",
    "unknown": "Failed calls that may have been done, and nobody has looked since.",
    "prevented": "Calls that may have been done and were not made again, or were answered from what was kept.",
    "obeyed": "The share of delays that a failure named after which the next call came no earlier.",
    "drift": "The share of failures whose code the tool does not declare, of those of tools that declare any.",
    "loops": "The same call, failing in the same way three times or more in a session; the cost is from the third on.",
    "failure_rate": "The share of calls that failed.",
}
"""The numbers, each in one sentence: the documentation has the same."""
_KIND_COLUMNS: Final = (
    Column("calls", is_number=True),
    Column("failed", is_number=True),
    Column("failure rate", MEANS["failure_rate"], is_number=True, is_minor=True),
    Column("recovered", MEANS["recovery"], is_number=True),
    Column("first retry", MEANS["first_retry"], is_number=True, is_minor=True),
    Column("not repeated", MEANS["prevented"], is_number=True, is_minor=True),
    Column("loops", MEANS["loops"], is_number=True, is_minor=True),
)


def overview(reading: Reading, query: Query) -> View:
    period = query.period
    whole, doubts = reading.numbers(period), reading.doubts(period)
    parts = reading.over_time(period)
    view = View("", "Overview", "How agents fare with your tools: not only what failed, but whether they got through.")
    view.blocks += _lost(reading, period)
    view.blocks.append(Cards(_cards(whole, doubts, parts, query)))
    view.blocks += _over_time("Failures over time", parts)
    view.blocks.append(_failures(reading, query, most=8, title="What fails most"))
    if flow := drawings.flow(reading.flow(period)):
        note = (
            "From the kind of failure, over what Failwell decided, to whether the agent got through. "
            "Where only a server tells of a call, the agent decides."
        )
        view.blocks.append(Drawing("What became of failures", flow, note=note))
    view.blocks.append(_by(reading, "tool", query, most=8, title="Tools"))
    return view


def _over_time(title: str, parts: list[tuple[int, Numbers]]) -> list[Block]:
    svg = drawings.bars(parts)
    if not svg:
        return []
    legend = (("good", "recovered"), ("bad", "not recovered"))
    hours = (parts[1][0] - parts[0][0]) // _HOUR if len(parts) > 1 else 1
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
    ends = (moment(parts[0][0])[5:16], f"a bar is {wide}, the highest {top}", moment(parts[-1][0])[5:16])
    return [Drawing(title, svg, legend, ends=ends)]


def _cards(whole: Numbers, doubts: Any, parts: list[tuple[int, Numbers]], query: Query) -> list[Card]:
    series = [part for _, part in parts]

    def tone(value: float | None, good: float, fair: float) -> str:
        return "" if value is None else "good" if value >= good else "fair" if value >= fair else "poor"

    delays = whole.delays_us + whole.delays_client
    return [
        Card(
            "Recovered",
            share(whole.recovery_rate),
            f"{count(whole.recovered)} of {count(whole.failed)} failures, {_after(whole)}",
            tone(whole.recovery_rate, 0.7, 0.4),
            query.address("/codes"),
            [part.recovery_rate for part in series],
            MEANS["recovery"],
        ),
        Card(
            "First retry works",
            share(whole.first_retry),
            f"{count(whole.retried_ok)} of {count(whole.retried)}",
            tone(whole.first_retry, 0.6, 0.3),
            query.address("/codes"),
            [part.first_retry for part in series],
            MEANS["first_retry"],
        ),
        Card(
            "Outcome unknown",
            count(doubts.open),
            f"{count(doubts.looked)} looked at, {count(doubts.repeated)} repeated all the same",
            "poor" if doubts.open else "good",
            query.address("/unknown"),
            means=MEANS["unknown"],
        ),
        Card(
            "Double effects prevented",
            count(whole.prevented),
            "writes that were not made twice",
            "good" if whole.prevented else "",
            query.address("/tools"),
            [part.prevented for part in series],
            MEANS["prevented"],
        ),
        Card(
            "Delays obeyed",
            share(whole.obeyed),
            f"{count(whole.obeyed_us)} of {count(whole.delays_us)} by us, "
            f"{count(whole.obeyed_client)} of {count(whole.delays_client)} by clients"
            if delays
            else "no failure named one",
            tone(whole.obeyed, 0.9, 0.6),
            None,
            [part.obeyed for part in series],
            MEANS["obeyed"],
        ),
        Card(
            "Drift",
            share(whole.drift),
            f"{count(whole.undeclared)} failures with a code that is not declared"
            if whole.declared + whole.undeclared
            else "no tool declares its codes",
            "" if whole.drift is None else "good" if not whole.drift else "fair",
            query.address("/drift"),
            [part.drift for part in series],
            MEANS["drift"],
        ),
        Card(
            "Loops",
            count(whole.loops),
            f"{count(whole.loop_calls)} calls, {duration(whole.loop_seconds)}, about {count(whole.loop_tokens)} tokens",
            "poor" if whole.loops else "good",
            query.address("/failures"),
            [part.loops for part in series],
            MEANS["loops"],
        ),
        Card(
            "Calls",
            count(whole.calls),
            f"{share(whole.failure_rate)} failed",
            "",
            query.address("/sessions"),
            [part.calls for part in series],
            MEANS["failure_rate"],
        ),
    ]


def _after(numbers: Numbers) -> str:
    if not numbers.recovered:
        return "none at once"
    return f"{share(numbers.after[0] / numbers.recovered)} of these by the next call"


def failures(reading: Reading, query: Query) -> View:
    view = View("failures", "Failures", "The same failure grouped, the most frequent first.")
    view.blocks.append(_failures(reading, query))
    return view


def _failures(reading: Reading, query: Query, most: int = 200, title: str = "Failures") -> Sheet:
    columns = (
        Column("tool"),
        Column("code"),
        Column("server", is_minor=True),
        Column("kind", is_minor=True),
        Column("failed", is_number=True),
        Column("recovered", MEANS["recovery"], is_number=True),
        Column("first seen", is_minor=True),
        Column("last seen", is_minor=True),
    )
    found = reading.failures(query.period, most)
    top = max((each.numbers.failed for each in found), default=1)
    rows = []
    for each in found:
        href = query.address(f"/failures/{each.id}")
        rows.append(
            (
                Cell(each.tool, href=href, is_code=True),
                Cell(each.code or NONE, each.code, href=href, is_code=True),
                Cell(each.server or NONE, each.server, tone="soft"),
                Cell(each.kind.replace("_", " "), each.kind),
                Cell(count(each.numbers.failed), each.numbers.failed, bar=each.numbers.failed / top),
                _recovered(each.numbers),
                Cell(
                    f"{ago(each.first_at, query.now)} · new" if each.is_new else ago(each.first_at, query.now),
                    moment(each.first_at),
                    tone="fair" if each.is_new else "soft",
                ),
                Cell(ago(each.last_at, query.now), moment(each.last_at), tone="soft"),
            )
        )
    return Sheet("failures", title, columns, rows, "Nothing has failed.")


def _recovered(numbers: Numbers) -> Cell:
    rate = numbers.recovery_rate
    tone = "" if rate is None else "good" if rate >= 0.7 else "fair" if rate >= 0.4 else "poor"
    return Cell(share(rate), None if rate is None else round(rate, 4), tone=tone)


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
    after = ", ".join(f"{count(number)} after {calls}" for calls, number in enumerate(numbers.after, 1) if number)
    cards = [
        Card("Failed", count(numbers.failed), f"last {ago(last, query.now)}", series=[p.failed for _, p in parts]),
        Card(
            "Recovered",
            share(numbers.recovery_rate),
            after or "never",
            _recovered(numbers).tone,
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
    if svg := drawings.flow(reading.flow(own)):
        view.blocks.append(Drawing("What became of it", svg))
    examples = reading.examples(tool, code, 30)
    nexts = [
        (
            Cell(name, is_code=True),
            Cell(count(times), times),
            Cell(share(worked / times), round(worked / times, 4)),
        )
        for name, times, worked in reading.next_calls(examples)
    ]
    columns = (Column("tool"), Column("calls", is_number=True), Column("worked", is_number=True))
    view.blocks.append(
        Sheet("next", "What agents called next", columns, nexts, "Nothing.", "After the examples below.")
    )
    view.blocks.append(_attempts("examples", "Examples", examples, query, of_session=True))
    return view


def _attempts(
    id: str, title: str, rows: list[dict[str, Any]], query: Query, *, of_session: bool = False, note: str = ""
) -> Sheet:
    columns = [
        Column("time"),
        *((Column("session"),) if of_session else (Column("tool"), Column("outcome"))),
        Column("attempt", "How often the same call was made.", is_number=True, is_minor=True),
        Column("decided", "What Failwell decided to do next.", is_minor=not of_session),
        Column("effect", "What the failed call may have changed.", is_minor=True),
        Column("waited", "How long it was until the next attempt, where a delay was named.", is_minor=True),
        Column("took", is_number=True),
        Column("recovered", "After how many further calls of the tool one worked.", is_minor=True),
    ]
    if any(row["message"] for row in rows):
        columns.append(Column("message", is_minor=True))
    made = []
    for row in rows:
        cells = [Cell(moment(row["at"])[5:], moment(row["at"]), tone="soft")]
        if of_session:
            name = row["session_name"]
            cells.append(
                Cell(name[:12], name, href=f"/sessions/{quote(name, safe='')}" if name else None, is_code=True)
            )
        else:
            outcome = "asked" if row["asked"] else "worked" if row["ok"] else row["code"] or row["kind"]
            tone = "good" if row["ok"] else "poor" if not row["recovered"] else "fair"
            cells += [Cell(row["tool"], is_code=True), Cell(outcome, tone=tone)]
        waited = ""
        if row["delay"] is not None:
            asked = duration(row["delay"])
            waited = f"{duration(row['waited'])} of {asked}" if row["waited"] is not None else f"asked {asked}"
        decided = row["decision"].replace("_", " ") if row["made"] else "not made"
        if row["prevented"]:
            decided = f"{decided or 'answered'}, not repeated"
        cells += [
            Cell(str(row["attempt"]), row["attempt"]),
            Cell(decided, row["decision"]),
            Cell(row["effect"] or "", tone="poor" if row["effect"] in ("unknown", "partial") else "soft"),
            Cell(waited, row["waited"], tone="poor" if row["obeyed"] == 0 else "good" if row["obeyed"] else ""),
            Cell(duration(row["seconds"]), row["seconds"]),
            Cell(f"after {row['recovered']}" if row["recovered"] else "", row["recovered"]),
        ]
        if len(columns) > len(cells):
            cells.append(Cell(row["message"] or "", tone="soft"))
        made.append(tuple(cells))
    return Sheet(id, title, tuple(columns), made, "None are kept any more.", note)


def tools(reading: Reading, query: Query) -> View:
    view = View("tools", "Tools", "Each tool, those that fail most first.")
    view.blocks.append(_by(reading, "tool", query))
    return view


def codes(reading: Reading, query: Query) -> View:
    view = View("codes", "Codes", "Each code, and whether agents got through after it.")
    view.blocks.append(_by(reading, "code", query))
    whole = reading.numbers(query.period)
    columns = (Column("after"), Column("failures", is_number=True), Column("share", is_number=True))
    rows = [
        (
            Cell("the next call" if calls == 1 else f"{calls} calls", calls),
            Cell(count(number), number, bar=number / max(1, whole.recovered)),
            Cell(share(number / whole.failed if whole.failed else None), number / whole.failed if whole.failed else 0),
        )
        for calls, number in enumerate(whole.after, 1)
    ]
    view.blocks.append(Sheet("after", "After how many calls", columns, rows, note=MEANS["recovery"]))
    return view


def _by(reading: Reading, column: str, query: Query, most: int = 200, title: str = "") -> Sheet:
    rows = []
    for name, numbers in reading.by(column, query.period, most):
        href = query.address("/failures", **{column: name})
        rows.append(
            (
                Cell(name or NONE, name, href=href, is_code=True),
                Cell(count(numbers.calls), numbers.calls),
                Cell(count(numbers.failed), numbers.failed),
                Cell(share(numbers.failure_rate), numbers.failure_rate, bar=numbers.failure_rate),
                _recovered(numbers) if numbers.failed else Cell(NONE, ""),
                Cell(share(numbers.first_retry), numbers.first_retry),
                Cell(count(numbers.prevented) if numbers.prevented else NONE, numbers.prevented),
                Cell(count(numbers.loops) if numbers.loops else NONE, numbers.loops),
            )
        )
    return Sheet(f"{column}s", title or f"{column.title()}s", (Column(column), *_KIND_COLUMNS), rows, "No calls.")


def sessions(reading: Reading, query: Query) -> View:
    view = View("sessions", "Sessions", "The latest first. A session is one client's time with a server.")
    found = reading.sessions(query.period, failed=bool(query.failed))
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
            Cell(count(each.calls), each.calls),
            Cell(count(each.failed), each.failed, tone="poor" if each.failed else "soft"),
            Cell(duration((each.last_at - each.first_at) / 1000), (each.last_at - each.first_at) / 1000),
            Cell(ago(each.last_at, query.now), moment(each.last_at), tone="soft"),
        )
        for each in found
    ]
    view.blocks.append(Sheet("sessions", "Sessions", columns, rows, "None in this time."))
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
    view.blocks.append(_attempts("calls", "Calls", rows, query, note=note))
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
            Cell(ago(each.at, query.now), moment(each.at), tone="soft"),
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
        for each in reading.open_doubts(query.period)
    ]
    view.blocks.append(Sheet("unknown", "Open", columns, rows, "None. Every outcome is known."))
    return view


def drift(reading: Reading, query: Query) -> View:
    view = View("drift", "Drift", "What tools declare with raises(…), against what they send.")
    rows = [
        (Cell(server or NONE, server), Cell(tool, is_code=True), Cell(code, is_code=True), Cell(count(times), times))
        for server, tool, code, times in reading.undeclared(query.period)
    ]
    columns = (Column("server", is_minor=True), Column("tool"), Column("code"), Column("failures", is_number=True))
    empty = "None. Either all are declared, or no tool declares any."
    view.blocks.append(Sheet("drift", "Sent, and not declared", columns, rows, empty, MEANS["drift"]))
    unseen = [
        (Cell(server or NONE, server), Cell(tool, is_code=True), Cell(code, is_code=True))
        for server, tool, code in reading.unseen(query.period)
    ]
    note = (
        "Of tools that have failed in this time: perhaps nobody has met them yet, perhaps they cannot happen any more."
    )
    empty = "None. Either all were seen, or no tool that failed declares any."
    view.blocks.append(Sheet("unseen", "Declared, and never seen", columns[:3], unseen, empty, note))
    return view


def compare(reading: Reading, query: Query) -> View:
    """Before and after: a deploy at `at`, or this time against the one before it."""
    view = View("compare", "Before and after", "Did the change help?")
    after = query.period
    if query.at:
        at = milliseconds(query.at, query.now) // _HOUR * _HOUR
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
    "compare": compare,
}
"""By the path of the page."""
