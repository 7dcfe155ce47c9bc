"""The same as one file, for whoever reads it once a week; as JSON, for programs; as a verdict, for CI; as lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final, NamedTuple

from failwell.observe import Doubts, Failure, Numbers, Reading
from failwell.redact import visible

from . import markup, views
from .figures import duration, moment, share, stamp
from .query import Query
from .view import Cards, Sheet, View

VERSION: Final = 1
_MOST: Final = 100


class Limit(NamedTuple):
    """A condition under which a report fails: `recovery<0.5`."""

    name: str
    is_less: bool
    bound: float

    def __str__(self) -> str:
        return f"{self.name}{'<' if self.is_less else '>'}{self.bound:g}"


class BadLimit(ValueError):
    """A condition that cannot be read, in one line."""


_COUNTS: Final = ("unknown", "repeated", "loops")
_MEASURES: Final[dict[str, Callable[[Numbers, Doubts], float | None]]] = {
    "recovery": lambda numbers, doubts: numbers.recovery_rate,
    "first-retry": lambda numbers, doubts: numbers.first_retry,
    "unknown": lambda numbers, doubts: doubts.open,
    "repeated": lambda numbers, doubts: doubts.repeated,
    "obeyed": lambda numbers, doubts: numbers.obeyed,
    "drift": lambda numbers, doubts: numbers.drift,
    "loops": lambda numbers, doubts: numbers.loops,
    "failure-rate": lambda numbers, doubts: numbers.failure_rate,
}


def limit_of(text: str) -> Limit:
    """A condition as it is written. It raises `BadLimit`.

    >>> limit_of("recovery<0.5")
    Limit(name='recovery', is_less=True, bound=0.5)
    """
    for mark in "<>":
        name, found, bound = (part.strip() for part in text.partition(mark))
        if not found:
            continue
        if name not in _MEASURES:
            raise BadLimit(f"there is no number {name!r}; there are {', '.join(_MEASURES)}")
        is_percent = bound.endswith("%")
        if is_percent and name in _COUNTS:
            raise BadLimit(f"{name} is a count, and no share; write it as '{name}>0'")
        try:
            number = float(bound.removesuffix("%"))
        except ValueError:
            break
        if isfinite(number):
            return Limit(name, mark == "<", number / 100 if is_percent else number)
        break
    raise BadLimit(f"{text!r} is no condition; write it as 'recovery<0.5', 'unknown>0' or 'drift>5%'")


def broken(limits: Sequence[Limit], numbers: Numbers, doubts: Doubts) -> list[tuple[Limit, float]]:
    """The conditions that hold, and so fail the report. What there is no number for fails nothing."""
    found = []
    for limit in limits:
        value = _MEASURES[limit.name](numbers, doubts)
        if value is not None and (value < limit.bound if limit.is_less else value > limit.bound):
            found.append((limit, value))
    return found


def data(reading: Reading, query: Query) -> dict[str, Any]:
    """The report for programs."""
    period = query.period
    doubts = reading.doubts(period)
    return {
        "failwell": VERSION,
        "store": reading.url,
        "since": _instant(period.since),
        "until": _instant(period.until),
        "numbers": reading.numbers(period).to_dict(),
        "unknown": {name: getattr(doubts, name) for name in ("open", "looked", "worked", "repeated")},
        "dropped": reading.dropped(period),
        "tools": {name: numbers.to_dict() for name, numbers in reading.by("tool", period, _MOST)},
        "codes": {name: numbers.to_dict() for name, numbers in reading.by("code", period, _MOST)},
        "failures": [
            {
                "server": each.server,
                "tool": each.tool,
                "kind": each.kind,
                "code": each.code,
                "failed": each.numbers.failed,
                "recovery_rate": each.numbers.recovery_rate,
                "first_seen": _instant(each.first_at),
                "last_seen": _instant(each.last_at),
                "new": each.is_new,
            }
            for each in reading.failures(period, _MOST)
        ],
        "undeclared": [
            {"server": server, "tool": tool, "code": code, "failures": count}
            for server, tool, code, count in reading.undeclared(period, _MOST)
        ],
        "unseen": [
            {"server": server, "tool": tool, "code": code} for server, tool, code in reading.unseen(period, _MOST)
        ],
    }


def text(reading: Reading, query: Query) -> str:
    """The report in a few lines."""
    period = query.period
    if reading.extent() is None:
        filled = f"`failwell wrap --events {reading.url} -- CMD`, install(hooks=…) or Recovering(events=…)"
        return f"There are no events in {reading.url} yet; fill it with {filled}."
    numbers, doubts = reading.numbers(period), reading.doubts(period)
    lines = [
        f"{moment(period.since)[:16]} to {moment(period.until)[:16]} UTC: {numbers.calls} calls, "
        f"{numbers.failed} failed ({share(numbers.failure_rate)})",
        f"  recovered             {share(numbers.recovery_rate):>8}  {numbers.recovered} of {numbers.failed}",
        f"  first retry works     {share(numbers.first_retry):>8}  {numbers.retried_ok} of {numbers.retried}",
        f"  outcome unknown       {doubts.open:>8}  {doubts.looked} looked at, {doubts.repeated} repeated",
        f"  double effects prevented {numbers.prevented:>5}",
        f"  delays obeyed         {share(numbers.obeyed):>8}",
        f"  drift                 {share(numbers.drift):>8}",
        f"  loops                 {numbers.loops:>8}  {numbers.loop_calls} calls, about {numbers.loop_tokens} tokens",
    ]
    if dropped := reading.dropped(period):
        lines.append(f"  events dropped        {dropped:>8}  the store was full, locked or away")
    worst = reading.failures(period, 5)
    if worst:
        lines.append("what fails most:")
        lines += [_line(each) for each in worst]
    return "\n".join(lines)


def _line(each: Failure) -> str:
    server = f"{each.server}/" if each.server else ""
    told = f"  {each.numbers.failed:>6}  {server}{each.tool} {each.code or each.kind}"
    return f"{told}, recovered {share(each.numbers.recovery_rate)}{', new' if each.is_new else ''}"


def document(reading: Reading, query: Query) -> str:
    """The report as one HTML file that needs nothing else."""
    shown = [views.overview, views.failures, views.codes, views.unknown, views.drift]
    made = [_plain(make(reading, query)) for make in shown]
    period = query.period
    lead = f"{reading.url}, {moment(period.since)[:16]} to {moment(period.until)[:16]} UTC."
    return markup.document(made, query, "Report", lead)


def _plain(view: View) -> View:
    """Without addresses, which lead nowhere in a file."""
    for index, block in enumerate(view.blocks):
        if isinstance(block, Cards):
            view.blocks[index] = Cards([replace(card, href=None) for card in block.cards])
        elif isinstance(block, Sheet):
            rows = [[replace(cell, href=None) for cell in row] for row in block.rows]
            view.blocks[index] = replace(block, rows=rows)
    return view


def _instant(at: int) -> str:
    return moment(at).replace(" ", "T") + "Z"


def line_of(row: dict[str, Any]) -> str:
    """What an attempt was and what came of it."""
    if row["ok"]:
        outcome = "asked" if row["asked"] else "ok"
    else:
        outcome = row["code"] or row["kind"]
        if row["effect"] in ("unknown", "partial", "done"):
            outcome += f" effect={row['effect']}"
        if row["decision"]:
            outcome += f" -> {row['decision']}"
        if not row["made"]:
            outcome += " (not made)"
    again = f" #{row['attempt']}" if row["attempt"] > 1 else ""
    server = f"{row['server']}/" if row["server"] else ""
    told = f"{stamp(row['at'])}  {server}{row['tool']}{again}  {outcome}  {duration(row['seconds'])}"
    return visible(told)
