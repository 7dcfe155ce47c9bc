"""What there is to see: one function for each page, from a store to its cards, chart and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

import failwell as fw
from failwell.observe import Reading

from .chart import STACKED, bars
from .figures import count, duration, share, stamp
from .query import Query
from .sheets import Column, Row, Sheet

MEANS: Final = {
    "failed": "Calls that ended in a failure. A call that was held is not one, and a question to the user is not one.",
    "recovered": (
        "Failures after which one of the next five calls of the tool in the session worked, or the call that tells was "
        "made. The share that recovers goes with correct answers (.41 to .84), the share that fails hardly does "
        "(arXiv 2602.00456)."
    ),
    "lost": "Failures after which the session went on, and none of the next five calls of the tool worked.",
    "unknown": "Failures after which nothing came in the session, and calls in doubt that nobody has looked at.",
    "doubt": "Calls of a write that failed and may have been done. Nobody has looked since.",
    "held": "Identical calls that were not run, because the call before them was in doubt.",
    "loops": "The same call that failed three times in a row in a session.",
    "failure_rate": "The share of calls that failed.",
    "recovery_rate": "The share of failures that recovered.",
}
"""The numbers, each in one or two sentences: the documentation has the same."""
NAMES: Final = {
    "failed": "Failed",
    "recovered": "Recovered",
    "lost": "Not recovered",
    "unknown": "Unknown",
    "doubt": "In doubt",
    "held": "Held",
    "loops": "Loops",
    "failure_rate": "Failure rate",
    "recovery_rate": "Recovery rate",
}
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Card:
    """One number, large. parts: what it is made of, each with its tone, text and address."""

    title: str
    value: str
    note: str = ""
    tone: str = ""
    href: str | None = None
    means: str = ""
    parts: Sequence[tuple[str, float, str, str]] = ()


@dataclass(slots=True)
class Page:
    """name: its path, under which it stands in the navigation. chart: the picture, with
    links or without. words: what the model read, on the page of a failure."""

    name: str
    title: str
    lead: str = ""
    cards: list[Card] = field(default_factory=list)
    chart: Callable[[bool], str] | None = None
    ends: tuple[str, ...] = ()
    tables: list[Sheet] = field(default_factory=list)
    words: str = ""
    notes: list[str] = field(default_factory=list)
    has_filter: bool = True

    @property
    def section(self) -> str:
        """Where it stands in the navigation."""
        first = self.name.partition("/")[0]
        return "failures" if first == "failure" else first


def overview(reading: Reading, query: Query) -> Page:
    selection = query.selection
    numbers = reading.numbers(selection)
    page = Page("", "Overview", "How agents fare with your tools: not only what failed, but whether they got through.")
    page.cards = _cards(numbers, query)
    _draw(page, reading, query)
    newest = reading.with_next(reading.calls(replace(selection, outcome="failed"), most=10))
    page.tables.append(calls_table(newest, query, "Newest failures", outcome="failed"))
    page.tables.append(_failures_table(reading, query, 8, "What fails most"))
    return page


def _cards(numbers: Row, query: Query) -> list[Card]:
    def calls(outcome: str) -> str:
        return query.address("/calls", outcome=outcome)

    failed, held = numbers["failed"], numbers["held"]
    parts = [
        (tone, numbers[name] / failed if failed else 0.0, f"{count(numbers[name])} {label}", calls(name))
        for name, tone, label in STACKED
    ]
    what = ", ".join(f"{count(numbers[f'held_{how}'])} {word}" for how, word in _AFTER_A_HOLD)
    return [
        Card("Calls", count(numbers["calls"]), duration(numbers["seconds"]) + " in all", href=calls("")),
        Card(
            "Failed",
            count(failed),
            f"{share(numbers['failure_rate'])} of calls",
            href=calls("failed"),
            means=MEANS["failed"],
        ),
        Card(
            "Recovered",
            share(numbers["recovery_rate"]),
            "" if failed else "nothing has failed",
            _tone(numbers["recovery_rate"]),
            means=" ".join(f"{NAMES[name]}: {MEANS[name]}" for name, _, _ in STACKED),
            parts=parts if failed else (),
        ),
        Card(
            "In doubt",
            count(numbers["doubt_open"]),
            f"of {count(numbers['doubt'])}: {count(numbers['doubt_looked'])} looked up, "
            f"{count(numbers['doubt_again'])} run again, {count(numbers['doubt_confirmed'])} confirmed",
            "poor" if numbers["doubt_open"] else "good",
            query.address("/doubt"),
            MEANS["doubt"],
        ),
        Card("Held", count(held), what if held else "no call was repeated", "", calls("held"), MEANS["held"]),
        Card("Loops", count(numbers["loops"]), "", "poor" if numbers["loops"] else "good", means=MEANS["loops"]),
    ]


_AFTER_A_HOLD: Final = (
    ("looked", "looked up"),
    ("confirmed", "confirmed"),
    ("again", "run again"),
    ("open", "expired or still held"),
)


def _tone(rate: float | None) -> str:
    return "" if rate is None else "good" if rate >= 0.7 else "fair" if rate >= 0.4 else "poor"


def _draw(page: Page, reading: Reading, query: Query) -> None:
    selection = query.selection
    parts = reading.over_time(selection)
    step = parts[1][0] - parts[0][0] if len(parts) > 1 else selection.until - selection.since

    def address(at: int) -> str:
        ends = {"since": _written(max(at, selection.since)), "until": _written(min(at + step, selection.until))}
        return query.address("/calls", **{"outcome": "failed", **ends})

    page.chart = lambda has_links: bars(parts, address if has_links else None)
    minutes = step // 60_000
    wide = f"{max(1, minutes)} min" if minutes < 60 else f"{minutes // 60} h" if minutes < 1440 else "a day"
    page.ends = (f"{stamp(parts[0][0])[:16]} UTC", f"a bar is {wide}", f"{stamp(parts[-1][0] + step)[:16]} UTC")


def _written(at: int) -> str:
    return stamp(at).replace(" ", "T").removesuffix("Z")


def failures(reading: Reading, query: Query) -> Page:
    page = Page("failures", "Failures", "The same failure grouped, with the newest of its messages.")
    page.tables.append(_failures_table(reading, query, _MOST, "Failures"))
    return page


def _failures_table(reading: Reading, query: Query, most: int, title: str) -> Sheet:
    def one(row: Row) -> str:
        return query.address("/failure", **{name: row[name] for name in ("server", "tool", "kind", "code")})

    columns = (
        Column("tool", "tool", "code", link=one),
        Column("code", "code", "code", link=one),
        Column("message", "newest message", is_minor=True),
        Column("server", "server"),
        Column("client", "client", is_minor=True),
        Column("kind", "kind", "words", is_minor=True),
        *_counts(query, ("server", "tool", "kind", "code"), ("failed", "recovered", "lost", "unknown")),
        Column("first_at", "first seen", "ago", is_minor=True),
        Column("last_at", "last seen", "ago", is_minor=True),
        Column("new", "new", is_minor=True),
    )
    rows = [{**each, "new": "new" if each["new"] else ""} for each in reading.failures(query.selection, most=most)]
    note = f"The {most} most frequent." if len(rows) == most else ""
    return Sheet("failures", title, columns, rows, "/failures", "Nothing has failed.", note)


def _counts(query: Query, by: Sequence[str], names: Sequence[str]) -> list[Column]:
    """Columns of counters, each with the calls behind it."""
    outcomes = {"calls": "", "failed": "failed", "recovered": "recovered", "lost": "lost", "unknown": "unknown"}
    outcomes |= {"held": "held", "doubt_open": "doubt"}

    def link(outcome: str) -> Callable[[Row], str]:
        return lambda row: query.address("/calls", **{name: row[name] for name in by}, outcome=outcome)

    means = {**MEANS, "doubt_open": MEANS["doubt"]}
    named = {"lost": "not recovered", "doubt_open": "in doubt"}
    return [
        Column(name, named.get(name, name), "count", means.get(name, ""), link(outcomes[name]), name == "held")
        for name in names
    ]


def failure(reading: Reading, query: Query) -> Page | None:
    """One failure: its numbers, its last twenty occurrences, the words that the model read, and what stood around."""
    if not (query.tool or query.code):
        return None
    selection = replace(query.selection, outcome="failed")
    found = reading.calls(selection, most=20)
    if not found:
        return None
    numbers = reading.numbers(selection)
    server = f" of {query.server}" if query.server else ""
    page = Page("failure", f"{query.tool}: {query.code or query.kind}", f"{query.kind.replace('_', ' ')}{server}.")
    page.cards = _cards(numbers, query)[1:4]
    # Only failures have a code, so that there is no rate.
    page.cards[0] = replace(page.cards[0], note=f"of {numbers['client'] or 'a client that does not say who it is'}")
    _draw(page, reading, query)
    shown = next((each for each in found if str(each["id"]) == query.at), found[0])
    page.words = words(shown)
    around = reading.around(shown, before=6, after=6)
    page.tables.append(
        calls_table(around, query, "Before and after it", style="timeline", session=shown["session"], now=shown["id"])
    )
    occurrences = calls_table(reading.with_next(found), query, "The last twenty", outcome="failed")
    occurrences.columns = [
        Column("at", "time (UTC)", "time", link=lambda row: query.address("/failure", at=row["id"])),
        *occurrences.columns[1:],
    ]
    page.tables.append(occurrences)
    page.has_filter = False
    return page


def words(call: Row) -> str:
    """What the model read of a failure, in the form in which it left."""
    error = fw.parse(call["error"]) if call["error"] else None
    if not isinstance(error, fw.ToolError):
        return call["message"] or ""
    try:
        return str(fw.to_result(error, call["format"] or "text")["content"][0]["text"])
    except (ValueError, LookupError):
        return str(fw.render(error, "text"))


def calls_table(calls: list[Row], query: Query, title: str, *, style: str = "", now: int = 0, **changes: str) -> Sheet:
    """Calls as they were made: of what, what came of them, and what the agent did next."""
    started = min((each["at"] for each in calls), default=0)

    def of_call(row: Row) -> str:
        if row["failed"]:
            names = {name: row[name] for name in ("server", "tool", "kind", "code")}
            return query.address("/failure", **names, client="", session="", outcome="", q="", at=row["id"])
        return query.address("/calls", tool=row["tool"])

    rows = [
        {
            **row,
            "next": _next(row),
            "since_start": (row["at"] - started) / 1000,
            "now": row["id"] == now,
            "trying": row["attempt"] if row["attempt"] > 1 else None,
            "message": row["message"] or (row["code"] if row["failed"] else ""),
        }
        for row in calls
    ]
    columns = [
        Column("at", "time (UTC)", "time", link=of_call),
        Column("tool", "tool", "code", link=of_call),
        Column("outcome", "outcome", "outcome"),
        Column("message", "message"),
        Column("server", "server", link=lambda row: query.address("/calls", server=row["server"])),
        Column("client", "client", is_minor=True, link=lambda row: query.address("/calls", client=row["client"])),
        Column("trying", "attempt", "count", "How often in a row this very call has failed.", is_minor=True, sort=""),
        Column("seconds", "took", "seconds", is_minor=True),
        Column("waited", "then waited", "seconds", "Before the next attempt, by whoever repeats.", is_minor=True),
    ]
    if any("next_tool" in row for row in calls):
        columns.insert(4, Column("next", "the agent did next", sort=""))
    if style:
        columns.insert(1, Column("since_start", "after", "seconds", is_minor=True, sort=""))
    else:
        columns.append(Column("session", "session", "code", link=lambda row: _session(query, row["session"])))
    table = Sheet("calls", title, columns, rows, "/calls", "No calls.", style=style)
    table.changes = changes
    return table


def _session(query: Query, name: str) -> str | None:
    return f"/sessions/{quote(name, safe='')}" if name else None


def _next(row: Row) -> str:
    if "next_tool" not in row or not row["failed"]:
        return ""
    if row["next_tool"] is None:
        return "nothing since"
    what = "the same again" if row["next_is_same"] else f"{row['next_tool']}"
    how = {"ok": "worked", "held": "was held", "asked": "asked", "operator": "operator"}.get(
        row["next_outcome"], "failed"
    )
    return f"{what}: {how}"


def calls(reading: Reading, query: Query) -> Page:
    order, is_rising = query.order
    page = Page("calls", "Calls", "Each attempt at a call, the latest first.")
    found = reading.calls(query.selection, most=100, order=order or "at", is_rising=is_rising and bool(order))
    table = calls_table(reading.with_next(found), query, "Calls")
    table.note = "The latest hundred." if len(found) == 100 and not order else ""
    table.is_sorted = True
    page.tables.append(table)
    return page


def totals(name: str, title: str, by: tuple[str, ...]) -> Callable[[Reading, Query], Page]:
    """A page of the numbers by some of server, client, tool, kind and code."""

    def made(reading: Reading, query: Query) -> Page:
        def narrowed(row: Row) -> str:
            return query.address("/failures", **{column: row[column] for column in by})

        page = Page(name, title, f"Each {' of each '.join(by)}, those that fail most first.")
        rest = [each for each in ("server", "client", "tool") if each not in by]
        counted = ("failed", "recovered", "lost", "unknown", "doubt_open", "held")
        columns = (
            *(Column(each, each, "words" if each == "kind" else "code", link=narrowed) for each in by),
            *(Column(each, each, is_minor=each != "server") for each in rest),
            *(() if "code" in by else _counts(query, by, ("calls",))),
            *_counts(query, by, counted),
            *(() if "code" in by else [Column("failure_rate", "failure rate", "share", MEANS["failure_rate"])]),
            Column("recovery_rate", "recovery rate", "share", MEANS["recovery_rate"], is_minor=True),
            Column("loops", "loops", "count", MEANS["loops"], is_minor=True),
        )
        rows = reading.totals(query.selection, by, most=_MOST)
        page.tables.append(Sheet(name, title, columns, rows, f"/{name}", "No calls." if rest else "Nothing."))
        return page

    return made


def sessions(reading: Reading, query: Query) -> Page:
    page = Page("sessions", "Sessions", "The latest first. A session is one client's time with a server.")
    order, is_rising = query.order
    rows = reading.sessions(query.selection, order=order or "last_at", is_rising=is_rising and bool(order))
    columns = (
        Column("name", "session", "code", link=lambda row: _session(query, row["name"])),
        Column("client", "client"),
        Column("server", "server"),
        *(Column(name, name, "count", is_minor=name == "unknown") for name in ("calls", "failed", "recovered")),
        Column("lost", "not recovered", "count", MEANS["lost"]),
        Column("unknown", "unknown", "count", MEANS["unknown"], is_minor=True),
        Column("doubt", "were in doubt", "count", is_minor=True),
        Column("held", "held", "count", is_minor=True),
        Column("first_at", "first call", "ago", is_minor=True),
        Column("last_at", "last call", "ago"),
    )
    note = "A hundred of them." if len(rows) == 100 else ""
    page.tables.append(
        Sheet("sessions", "Sessions", columns, rows, "/sessions", "None in this time.", note, is_sorted=True)
    )
    return page


def session(reading: Reading, query: Query, name: str) -> Page | None:
    """The calls of one session as a timeline."""
    whole = replace(Query(now=query.now), since="1970-01-01", session=name)
    found = reading.sessions(whole.selection)
    if not found:
        return None
    (one,) = found
    rows = reading.calls(replace(whole.selection, since=one["first_at"], until=one["last_at"] + 1), most=500)
    who = " · ".join(filter(None, (one["client"], one["server"]))) or "A client that does not say who it is"
    page = Page(f"sessions/{name}", f"Session {name[:16]}", f"{who}, {stamp(one['first_at'])}.")
    lasted = duration((one["last_at"] - one["first_at"]) / 1000)
    page.cards = [
        Card("Calls", count(one["calls"]), f"in {lasted}"),
        *(Card(NAMES[key], count(one[key]), means=MEANS[key]) for key in ("failed", "recovered", "lost", "held")),
    ]
    table = calls_table([*reversed(rows)], whole, "What it did", style="timeline", session=name, since="1970-01-01")
    table.note = f"The latest {len(rows)} of {one['calls']} calls." if one["calls"] > len(rows) else ""
    page.tables.append(table)
    page.has_filter = False
    return page


def doubt(reading: Reading, query: Query) -> Page:
    numbers = reading.numbers(query.selection)
    page = Page("doubt", "In doubt", MEANS["doubt"] + " This page calls nothing and changes nothing.")
    page.cards = [
        Card("Nobody has looked", count(numbers["doubt_open"]), "", "poor" if numbers["doubt_open"] else "good"),
        Card("Looked up", count(numbers["doubt_looked"]), "the call that tells was made"),
        Card("Confirmed", count(numbers["doubt_confirmed"]), "by the operator"),
        Card("Run again", count(numbers["doubt_again"]), "the identical call was made"),
    ]
    rows = [
        {
            **each,
            "verify": each["verify"] or "none: ask whoever knows",
            "hold": "while the hold lasts" if each["is_held"] else "expired",
            "resolve": f"failwell resolve {each['id']} done|not-done",
        }
        for each in reading.doubts(query.selection)
    ]
    columns = (
        Column("at", "when", "ago"),
        Column("tool", "tool", "code"),
        Column("message", "message", is_minor=True),
        Column("verify", "the call that tells", "code", "The call that only looks, and tells whether it was done."),
        Column("resolve", "when you know", "code", "Ends the hold, too: with --state, the store of keys.", sort=""),
        Column("server", "server"),
        Column("client", "client", is_minor=True),
        Column("hold", "hold", is_minor=True, sort=""),
        Column("session", "session", "code", link=lambda row: _session(query, row["session"])),
    )
    note = f"The latest {_MOST} of {count(numbers['doubt_open'])}." if len(rows) == _MOST else ""
    page.tables.append(Sheet("doubt", "Nobody has looked", columns, rows, "/doubt", "None. All is known.", note))
    return page


PAGES: Final[dict[str, Callable[[Reading, Query], Page | None]]] = {
    "": overview,
    "failures": failures,
    "calls": calls,
    "tools": totals("tools", "Tools", ("tool", "server")),
    "servers": totals("servers", "Servers", ("server",)),
    "clients": totals("clients", "Clients", ("client",)),
    "codes": totals("codes", "Codes", ("code", "kind")),
    "sessions": sessions,
    "doubt": doubt,
    "failure": failure,
}
"""By the path of the page."""
NAVIGATION: Final = {
    "": "Overview",
    "failures": "Failures",
    "calls": "Calls",
    "tools": "Tools",
    "servers": "Servers",
    "clients": "Clients",
    "codes": "Codes",
    "sessions": "Sessions",
    "doubt": "In doubt",
}
