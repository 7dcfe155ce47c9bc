"""For people: a view that fits a screen, and leads with what to fix first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from failwell.check.report_data import CheckReport
from failwell.check.rules import RULES

if TYPE_CHECKING:
    from rich.console import Console

_BAR: Final = 20
_COLOURS: Final = ((90, "green"), (70, "yellow"), (0, "red"))
_SEVERITY: Final = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}


def show(report: CheckReport, out: Console) -> None:
    """On a terminal one line for each, cut at its edge, so that it fits a screen; elsewhere all of it."""
    from rich.text import Text

    for line in lines(report):
        if out.is_terminal:
            out.print(Text.assemble(*line), overflow="ellipsis", no_wrap=True)
        else:
            print("".join(text for text, _ in line).rstrip())


Part = tuple[str, str]


def lines(report: CheckReport) -> Iterator[list[Part]]:
    score, graded = report.score, report.graded
    data = report.to_dict()
    shown = (f" {score} ", f" {report.grade}  ") if report.is_graded else (" not graded ", "  ")
    yield [(shown[0], f"bold reverse {_colour(score)}"), (shown[1], f"bold {_colour(score)}"), (report.target, "bold")]
    if data["reason"] is not None:
        yield [("It does not start: ", "red"), (data["reason"], "")]
        return
    yield [(_scope(graded, data), "dim")]
    if data["limited_by"] is not None:
        yield [(f"Held at {score} while {data['limited_by']} is broken.", "red")]
    yield [("", "")]
    for group, told in data["groups"].items():
        yield _group(group, told)
    yield [("", "")]
    fixes = report.first_to_fix()
    if not fixes:
        yield [("Nothing to fix.", "green")]
    else:
        yield [("Fix first", "bold")]
    for number, (rule, points, findings) in enumerate(fixes, 1):
        row = RULES[rule]
        where = sorted({finding.tool or "the server" for finding in findings})
        named = ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")
        yield [(f"{number}. ", "bold"), (row.title, "bold"), (f"  {rule}, {row.severity}", _SEVERITY[row.severity])]
        yield [(f"   {findings[0].message}", "")]
        yield [(f"   on {named}", "dim"), (f", {points:.1f} points" if points >= 0.05 else "", "dim")]
        yield [("   Fix: ", "green"), (f"{row.plain} With Failwell: {row.failwell}", "")]
    yield [("", "")]
    count = len(data["findings"])
    yield [
        (f"{count} finding{'s' if count != 1 else ''} in all: --json, --html FILE, --sarif FILE, --junit FILE", "dim")
    ]
    for note in data["notes"][:3]:
        yield [(note, "dim")]


def _scope(graded: Mapping[str, int], data: Mapping[str, Any]) -> str:
    total = graded["tools"]
    refusals = graded["graded"] - graded["fully"]
    told = f"{graded['graded']} of {total} tools graded"
    if refusals:
        told += f", {refusals} of them only by calls that must be refused (--allow-writes for more)"
    if graded["not_called"]:
        told += f", {graded['not_called']} not called: they may write, and require nothing"
    return f"{told}. {data['probes']} probes, {data['duration_s']:.1f} s, {' and '.join(data['eras'])}."


def _group(group: str, told: Mapping[str, Any]) -> list[Part]:
    score = told["score"]
    if score is None:
        return [(f"{group:<10}", ""), ("nothing to look at", "dim")]
    filled = round(score * _BAR / 100)
    found = told["findings"]
    return [
        (f"{group:<10}", ""),
        ("█" * filled, _colour(score)),
        ("░" * (_BAR - filled), "dim"),
        (f" {score:>3}", _colour(score)),
        (f"  {found} finding{'s' if found != 1 else ''}" if found else "", "dim"),
    ]


def _colour(score: int) -> str:
    return next(colour for least, colour in _COLOURS if score >= least)
