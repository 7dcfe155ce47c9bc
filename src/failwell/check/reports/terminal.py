"""For people: the score, what it lost, each finding on a line, and how to mend what costs most."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from failwell.check.report_data import CheckReport
from failwell.check.rubric import RULES, VERSION

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS: Final = ((75, "green"), (40, "yellow"), (0, "red"))
_SEVERITY: Final = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan"}
_SHOWN: Final = 3
Part = tuple[str, str]


def show(report: CheckReport, known: Collection[str] | None, out: Console) -> None:
    """On a terminal in its width, with the first findings of each rule; elsewhere all, each on a line of its own."""
    from rich.text import Text

    for line in lines(report, known, _SHOWN if out.is_terminal else None):
        text = "".join(part for part, _ in line).rstrip()
        if not out.is_terminal:
            print(text)
        elif len(text) < out.width:
            out.print(Text.assemble(*line))
        else:
            print(textwrap.fill(text, out.width, subsequent_indent="    ", break_on_hyphens=False))


def lines(report: CheckReport, known: Collection[str] | None = None, most: int | None = None) -> Iterator[list[Part]]:
    score, graded, examined = report.score, report.graded, report.examined
    colour = next(each for least, each in _COLOURS if score >= least)
    shown = (f" {score} ", f" {report.grade}  ") if report.is_graded else (" not graded ", "  ")
    yield [(shown[0], f"bold reverse {colour}"), (shown[1], f"bold {colour}"), (report.target, "bold")]
    if examined.reason is not None:
        yield [("It does not start: ", "red"), (examined.reason, "")]
        return
    told = f"{graded['fully']} of {graded['tools']} tools graded fully, {graded['refusals']} by refusals only"
    if graded["none"]:
        told += f", {graded['none']} not called"
    eras = " and ".join(examined.eras)
    yield [(f"{told}. {sum(examined.probes.values())} calls, {examined.seconds:.1f} s, {eras}.", "dim")]
    yield [(f"Rubric {VERSION}.", "dim")]
    if report.limited_by is not None:
        yield [(f"Held at {score}: {report.limited_by}.", "red")]
    lost = report.lost
    if lost:
        yield [("", "")]
    for rule, cost in lost.items():
        row = RULES[rule]
        yield [(f"{-cost:6.1f} ", ""), (f"{rule:<24}", _SEVERITY[row.severity]), (row.title, "")]
    yield [("", "")]
    if not report.findings:
        yield [("Nothing to fix.", "green")]
    by_rule: dict[str, int] = {}
    for finding in report.findings:
        number = by_rule[finding.rule] = by_rule.get(finding.rule, 0) + 1
        if most is None or number <= most:
            state = "" if known is None or finding.key in known else "new: "
            yield [(state, "bold"), (finding.line, "")]
    hidden = sum(max(0, number - most) for number in by_rule.values()) if most is not None else 0
    if hidden:
        yield [(f"{hidden} more findings: --output json=FILE or html=FILE", "dim")]
    yield [("", "")]
    for rule, _, _ in report.first_to_fix():
        yield [(f"Fix {rule}: ", "green"), (RULES[rule].fix_in(examined.language), "")]
    for note in examined.notes:
        yield [(examined.discretion.line(note), "dim")]
