"""The sheets that several views have: failures, numbers by tool or code, and single attempts."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from failwell.observe import Numbers, Period, Reading

from .figures import NONE, ago, count, duration, moment, share, stamp
from .measures import MEANS
from .query import Query
from .view import Cell, Column, Sheet

_NUMBERS: Final = (
    Column("calls", is_number=True),
    Column("failed", is_number=True),
    Column("failure rate", MEANS["failure_rate"], is_number=True, is_minor=True),
    Column("recovered", MEANS["recovery"], is_number=True),
    Column("first retry", MEANS["first_retry"], is_number=True, is_minor=True),
    Column("not repeated", MEANS["prevented"], is_number=True, is_minor=True),
    Column("loops", MEANS["loops"], is_number=True, is_minor=True),
)


def failures_sheet(reading: Reading, query: Query, most: int = 200, title: str = "Failures") -> Sheet:
    """The failures, the most frequent first."""
    columns = (
        Column("tool"),
        Column("code"),
        Column("server", is_minor=True),
        Column("kind", is_minor=True),
        Column("failed", is_number=True),
        Column("recovered", MEANS["recovery"], is_number=True),
        Column("time spent", "How long the calls that failed took together.", is_number=True, is_minor=True),
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
                Cell(each.tool, href=href, is_code=True, under=each.server),
                Cell(each.code or NONE, each.code, href=href, is_code=True),
                Cell(each.server or NONE, each.server, tone="soft"),
                Cell(each.kind.replace("_", " "), each.kind),
                Cell(count(each.numbers.failed), bar=each.numbers.failed / top),
                recovered_cell(each.numbers),
                Cell(duration(each.numbers.seconds)),
                Cell(
                    f"{ago(each.first_at, query.now)} · new" if each.is_new else ago(each.first_at, query.now),
                    stamp(each.first_at),
                    tone="fair" if each.is_new else "soft",
                ),
                Cell(ago(each.last_at, query.now), stamp(each.last_at), tone="soft"),
            )
        )
    return Sheet("failures", title, columns, rows, "Nothing has failed.", cut_note(len(rows), most, "most frequent"))


def lost_sheet(reading: Reading, query: Query, most: int) -> Sheet:
    """The failures after which agents did not get through, the most frequent first."""
    columns = (
        Column("tool"),
        Column("code"),
        Column("server", is_minor=True),
        Column("not recovered", "Failures after which none of the next five calls of the tool worked.", is_number=True),
        Column("failed", is_number=True, is_minor=True),
        Column("recovered", MEANS["recovery"], is_number=True),
    )
    found = [
        (each, each.numbers.failed - each.numbers.recovered)
        for each in reading.failures(query.period, most, is_lost_first=True)
    ]
    top = max((lost for _, lost in found), default=1)
    rows = []
    for each, lost in found:
        if not lost:
            break
        href = query.address(f"/failures/{each.id}")
        rows.append(
            (
                Cell(each.tool, href=href, is_code=True, under=each.server),
                Cell(each.code or NONE, each.code, href=href, is_code=True),
                Cell(each.server or NONE, each.server, tone="soft"),
                Cell(count(lost), bar=lost / top),
                Cell(count(each.numbers.failed)),
                recovered_cell(each.numbers),
            )
        )
    return Sheet("lost", "What agents do not recover from", columns, rows, "Nothing. They got through every time.")


def flow_sheet(reading: Reading, period: Period) -> Sheet:
    """What was decided about failures, and what came of it."""
    columns = (
        Column("kind"),
        Column("decided", "What Failwell decided; where only a server tells of a call, the agent decides."),
        Column("failed", is_number=True),
        Column("recovered", MEANS["recovery"], is_number=True),
    )
    rows = []
    for each in reading.flow(period):
        failed = each.recovered + each.left
        rate = each.recovered / failed if failed else None
        rows.append(
            (
                Cell(each.kind.replace("_", " "), each.kind),
                Cell(each.decision.replace("_", " ") or "left to the agent", each.decision),
                Cell(count(failed)),
                rate_cell(rate),
            )
        )
    return Sheet("flow", "What was decided", columns, rows, "Nothing has failed.")


def cut_note(shown: int, most: int, which: str, all: int | None = None) -> str:
    """What to say of a table that may not hold everything."""
    if shown < most or shown == all:
        return ""
    return f"The {which} {shown}{f' of {count(all)}' if all is not None else ''}."


def numbers_sheet(reading: Reading, column: str, query: Query, most: int = 200, title: str = "") -> Sheet:
    """The numbers of each tool, or of each code, which only failures have."""
    rows = []
    skipped = ("calls", "failure rate") if column == "code" else ()
    kept = [index for index, each in enumerate(_NUMBERS) if each.name not in skipped]
    for name, numbers in reading.by(column, query.period, most):
        href = query.address("/failures", **{column: name})
        cells = (
            Cell(count(numbers.calls)),
            Cell(count(numbers.failed)),
            Cell(share(numbers.failure_rate), bar=numbers.failure_rate),
            recovered_cell(numbers) if numbers.failed else Cell(NONE),
            Cell(share(numbers.first_retry)),
            Cell(count(numbers.prevented) if numbers.prevented else NONE),
            Cell(count(numbers.loops) if numbers.loops else NONE),
        )
        rows.append((Cell(name or NONE, name, href=href, is_code=True), *(cells[index] for index in kept)))
    columns = (Column(column), *(_NUMBERS[index] for index in kept))
    empty = "No calls." if column == "tool" else "Nothing has failed."
    return Sheet(f"{column}s", title or f"{column.title()}s", columns, rows, empty, cut_note(len(rows), most, "first"))


def attempts_sheet(
    id: str, title: str, rows: list[dict[str, Any]], query: Query, *, of_session: bool = False, note: str = ""
) -> Sheet:
    columns = [
        Column("time (UTC)"),
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
        cells = [Cell(moment(row["at"])[5:], stamp(row["at"]), tone="soft")]
        if of_session:
            name = row["session_name"]
            cells.append(
                Cell(name[:12], name, href=f"/sessions/{quote(name, safe='')}" if name else None, is_code=True)
            )
        else:
            outcome = "asked" if row["asked"] else "worked" if row["ok"] else row["code"] or row["kind"]
            tone = "good" if row["ok"] else "poor" if not row["recovered"] else "fair"
            cells += [Cell(row["tool"], is_code=True), Cell(outcome, tone=tone, is_code=not row["ok"])]
        waited = ""
        if row["delay"] is not None:
            asked = duration(row["delay"])
            waited = f"{duration(row['waited'])} of {asked}" if row["waited"] is not None else f"asked {asked}"
        decided = row["decision"].replace("_", " ") if row["made"] else "not made"
        if row["prevented"]:
            decided = f"{decided or 'answered'}, not repeated"
        cells += [
            Cell(str(row["attempt"])),
            Cell(decided or ("" if row["ok"] else "by the agent"), row["decision"], tone="" if decided else "soft"),
            Cell(row["effect"] or "", tone="poor" if row["effect"] in ("unknown", "partial") else "soft"),
            Cell(waited, tone="poor" if row["obeyed"] == 0 else "good" if row["obeyed"] else ""),
            Cell(duration(row["seconds"])),
            Cell(f"after {row['recovered']}" if row["recovered"] else ""),
        ]
        if len(columns) > len(cells):
            cells.append(Cell(row["message"] or "", tone="soft"))
        made.append(tuple(cells))
    return Sheet(id, title, tuple(columns), made, "None are kept any more.", note)


def recovered_cell(numbers: Numbers) -> Cell:
    return rate_cell(numbers.recovery_rate)


def rate_cell(rate: float | None) -> Cell:
    """A share of which more is better."""
    tone = "" if rate is None else "good" if rate >= 0.7 else "fair" if rate >= 0.4 else "poor"
    return Cell(share(rate), tone=tone)
