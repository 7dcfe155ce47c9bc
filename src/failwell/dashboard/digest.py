"""The same as one file, for whoever reads it once a week; as JSON, for programs; as a verdict, for CI; as lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from failwell.observe import Numbers, Reading
from failwell.redact import visible

from . import pages
from .figures import count, duration, share, stamp
from .query import Query

VERSION: Final = 2
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


_MEASURES: Final = {
    "recovery": "recovery_rate",
    "failure-rate": "failure_rate",
    "failures": "failed",
    "not-recovered": "lost",
    "in-doubt": "doubt_open",
    "run-again": "doubt_again",
    "loops": "loops",
    "dropped": "dropped",
}
_SHARES: Final = ("recovery", "failure-rate")


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
        if is_percent and name not in _SHARES:
            raise BadLimit(f"{name} is a count, and no share; write it as '{name}>0'")
        try:
            number = float(bound.removesuffix("%"))
        except ValueError:
            break
        if isfinite(number):
            return Limit(name, mark == "<", number / 100 if is_percent else number)
        break
    raise BadLimit(f"{text!r} is no condition; write it as 'recovery<0.5', 'in-doubt>0' or 'failure-rate>5%'")


def broken(limits: Sequence[Limit], reading: Reading, query: Query) -> list[tuple[Limit, float]]:
    """The conditions that hold, and so fail the report. What there is no number for fails nothing."""
    numbers = reading.numbers(query.selection) | {"dropped": reading.dropped(query.selection)}
    found = []
    for limit in limits:
        value = numbers[_MEASURES[limit.name]]
        if value is not None and (value < limit.bound if limit.is_less else value > limit.bound):
            found.append((limit, value))
    return found


def data(reading: Reading, query: Query) -> dict[str, Any]:
    """The report for programs."""
    selection = query.selection
    shown = ("failures", "tools", "servers", "clients", "codes", "doubt")
    tables = {name: page.tables[0].to_json()[:_MOST] for name in shown if (page := pages.PAGES[name](reading, query))}
    return {
        "failwell": VERSION,
        "store": reading.url,
        "since": _instant(selection.since),
        "until": _instant(selection.until),
        "numbers": {name: value for name, value in reading.numbers(selection).items() if not isinstance(value, str)},
        "dropped": reading.dropped(selection),
        **tables,
    }


def text(reading: Reading, query: Query) -> str:
    """The report in a few lines."""
    selection = query.selection
    if reading.extent() is None:
        filled = f"`failwell wrap --events {reading.url} -- CMD`, install(hooks=…) or Recovering(events=…)"
        return f"There are no events in {reading.url} yet; fill it with {filled}."
    n = reading.numbers(selection)
    lines = [
        f"{stamp(selection.since)[:16]} to {stamp(selection.until)[:16]} UTC: {n['calls']} calls, "
        f"{n['failed']} failed ({share(n['failure_rate'])})",
        f"  recovered      {n['recovered']:>8}  {share(n['recovery_rate'])} of the failures",
        f"  not recovered  {n['lost']:>8}",
        f"  unknown        {n['unknown']:>8}",
        f"  in doubt       {n['doubt_open']:>8}  of {n['doubt']}: {n['doubt_looked']} looked up, "
        f"{n['doubt_again']} run again, {n['doubt_confirmed']} confirmed",
        f"  held           {n['held']:>8}  identical calls that were not run",
        f"  loops          {n['loops']:>8}",
    ]
    if dropped := reading.dropped(selection):
        lines.append(f"  events dropped {dropped:>8}  too many waited, or the store could not be written")
    if worst := reading.failures(selection, most=5):
        lines.append("what fails most:")
        lines += [_line(each) for each in worst]
    return "\n".join(lines)


def _line(each: Numbers) -> str:
    server = f"{each['server']}/" if each["server"] else ""
    told = f"  {each['failed']:>6}  {server}{each['tool']} {each['code'] or each['kind']}"
    said = f": {each['message']}" if each["message"] else ""
    new = ", new" if each["new"] else ""
    return visible(f"{told}, recovered {share(each['recovery_rate'])}{new}{said}"[:200])


def document(reading: Reading, query: Query) -> str:
    """The report as one HTML file that needs nothing else."""
    from . import markup

    made = [pages.PAGES[name](reading, query) for name in ("", "failures", "tools", "servers", "clients", "doubt")]
    selection = query.selection
    lead = f"{reading.url}, {stamp(selection.since)[:16]} to {stamp(selection.until)[:16]} UTC."
    shown = [page for page in made if page is not None]
    shown[0].notes += lost(reading, query)
    return markup.document(shown, query, lead)


def lost(reading: Reading, query: Query) -> list[str]:
    """What to say of events that are not there."""
    dropped = reading.dropped(query.selection)
    if not dropped:
        return []
    return [f"{count(dropped)} events were dropped: too many waited, or the store could not be written."]


def _instant(at: int) -> str:
    return stamp(at).replace(" ", "T")


def line_of(row: dict[str, Any]) -> str:
    """What an attempt was and what came of it."""
    outcome = row["outcome"]
    if row["failed"] or outcome == "held":
        outcome = row["code"] or row["kind"]
        if row["effect"] in ("unknown", "partial", "done"):
            outcome += f" effect={row['effect']}"
        if row["decision"]:
            outcome += f" -> {row['decision']}"
        if not row["made"]:
            outcome += " (not made)"
        if row["message"]:
            outcome += f": {row['message']}"
    elif outcome == "operator":
        outcome = row["decision"]
    again = f" #{row['attempt']}" if row["attempt"] > 1 else ""
    server = f"{row['server']}/" if row["server"] else ""
    return visible(f"{stamp(row['at'])}  {server}{row['tool']}{again}  {outcome}  {duration(row['seconds'])}")
