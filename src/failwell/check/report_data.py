"""What was found of one server: each rule that is broken, by tool, with the exchange that shows it, and the score."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from .discretion import Discretion
from .observation import Observation
from .probes import ProbedTool
from .rubric import RULES, VERSION, CheckRule
from .score import SERVER, RuleTally, grade

UNGRADED: Final = "none"
_SEVERITIES: Final = ("critical", "high", "medium", "low")


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A rule that is broken, on a tool or on the server as a whole."""

    rule: str
    tool: str | None
    message: str
    request: Any
    answer: Any
    reproduce: str
    probe: str
    era: str
    fix: str = ""
    count: int = 1
    """How many probes show it."""

    @property
    def severity(self) -> str:
        return RULES[self.rule].severity

    @property
    def key(self) -> str:
        """By which the same finding is known in another run."""
        return f"{self.rule}:{self.tool or ''}"

    @property
    def line(self) -> str:
        return f"{self.tool or 'server'} {self.rule}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        fields = ("rule", "tool", "message", "fix", "request", "answer", "reproduce", "probe", "era", "count")
        return {"severity": self.severity, **{name: getattr(self, name) for name in fields}}


@dataclass
class Examined:
    """All that is known of a server while it is examined, and at the end."""

    rules: Iterable[CheckRule]
    reproduce: Callable[[str], str]
    """A command, from a frame."""
    discretion: Discretion = field(default_factory=Discretion)
    tally: RuleTally = field(default_factory=RuleTally)
    tools: list[ProbedTool] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    probes: dict[str, int] = field(default_factory=dict)
    worked: set[str] = field(default_factory=set)
    """Tools of which a valid call was seen to work."""
    eras: list[str] = field(default_factory=list)
    server: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    reason: str | None = None
    """Why it did not start."""
    is_partial: bool = False
    """Whether it ended before everything was asked."""
    is_interrupted: bool = False
    _found: dict[tuple[str, str], CheckFinding] = field(default_factory=dict)

    def judge(self, seen: Observation) -> None:
        tool, told = seen.probe.tool or SERVER, self.discretion
        for rule in self.rules:
            said = rule.judge(seen)
            if said is None:
                continue
            self.tally.add(rule.id, seen, said)
            if not isinstance(said, str):
                continue
            known = self._found.get((rule.id, tool))
            if known is not None:
                self._found[rule.id, tool] = replace(known, count=known.count + 1)
                continue
            name, answer = told.name(tool) if tool else None, seen.reply.raw
            shown = told.frame(answer) if answer else f"({seen.reply.state})"
            where = (rule.id, name, told.line(said), told.frame(seen.frame), shown)
            self._found[rule.id, tool] = CheckFinding(*where, self.reproduce(seen.frame), seen.kind, seen.era)

    @property
    def findings(self) -> list[CheckFinding]:
        """The worst first, in an order that is the same each time."""
        found = [replace(each, fix=RULES[each.rule].fix_in(self.language)) for each in self._found.values()]
        return sorted(found, key=lambda each: (_SEVERITIES.index(each.severity), each.rule, each.tool or ""))


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found of one server."""

    target: str
    examined: Examined

    @property
    def is_graded(self) -> bool:
        """Whether there was anything to grade: a server without a tool to call has neither failed nor passed."""
        return self.examined.reason is not None or bool(self.examined.probes.keys() - {SERVER}) or not self._lists

    @property
    def _lists(self) -> bool:
        return not self.examined.tally.share("harm.starts")

    @property
    def refusals_only(self) -> bool:
        """Whether no valid call was seen to work, so that the grade is based on refusals alone."""
        return not self.examined.worked

    @property
    def score(self) -> int:
        return self.examined.tally.total(refusals_only=self.refusals_only) if self.is_graded else 0

    @property
    def grade(self) -> str:
        return grade(self.score) if self.is_graded else UNGRADED

    @property
    def findings(self) -> list[CheckFinding]:
        return self.examined.findings

    @property
    def lost(self) -> dict[str, float]:
        return self.examined.tally.lost() if self.is_graded else {}

    @property
    def limited_by(self) -> str | None:
        limit, by = self.examined.tally.limit(refusals_only=self.refusals_only)
        return by if self.is_graded and by is not None and self.score == limit else None

    @property
    def tools(self) -> list[dict[str, Any]]:
        found, examined = [], self.examined
        for tool in examined.tools:
            probes = examined.probes.get(tool.name, 0)
            full = tool.freely and tool.name in examined.worked
            found.append(
                {
                    "name": examined.discretion.name(tool.name),
                    "nature": tool.nature.value,
                    "probes": probes,
                    "scope": "all" if full else "refusals" if probes else "none",
                    "score": examined.tally.total(tool=tool.name) if probes else None,
                }
            )
        return found

    @property
    def graded(self) -> dict[str, int]:
        """How many of the tools were graded: fully, and by calls alone that were refused."""
        tools = self.tools
        count = {scope: sum(tool["scope"] == scope for tool in tools) for scope in ("all", "refusals", "none")}
        left = len(set(self.examined.left_out) - {tool.name for tool in self.examined.tools})
        return {"tools": len(tools) + left, "fully": count["all"], "refusals": count["refusals"], "none": count["none"]}

    def first_to_fix(self, most: int = 3) -> list[tuple[str, float, list[CheckFinding]]]:
        """The root causes that cost most, with their findings; what limits the whole comes first."""
        by_rule: dict[str, list[CheckFinding]] = {}
        for finding in self.findings:
            by_rule.setdefault(finding.rule, []).append(finding)
        order = sorted(by_rule, key=lambda rule: (RULES[rule].floor is None, -self.lost.get(rule, 0.0), rule))
        return [(rule, self.lost.get(rule, 0.0), by_rule[rule]) for rule in order[:most]]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON: what `failwell schema check` describes."""
        examined = self.examined
        asked = examined.tally.asked().keys()
        unsure = examined.tally.inconclusive()
        return {
            "failwell_check": 2,
            "rubric": VERSION,
            "target": self.target,
            "server": examined.discretion.data(dict(examined.server)),
            "language": examined.language,
            "eras": list(examined.eras),
            "started": examined.reason is None,
            "reason": examined.reason,
            "partial": examined.is_partial,
            "score": self.score,
            "grade": self.grade,
            "basis": "refusals only" if self.refusals_only else "all calls",
            "limited_by": self.limited_by,
            "lost": {rule: round(cost, 1) for rule, cost in self.lost.items()},
            "passed": sorted(asked - {finding.rule for finding in self.findings}),
            "inconclusive": unsure,
            "not_applicable": sorted({rule.id for rule in examined.rules} - asked - set(unsure)),
            "graded": self.graded,
            "tools": self.tools,
            "probes": sum(examined.probes.values()),
            "duration_s": round(examined.seconds, 3),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [*map(examined.discretion.line, examined.notes)],
        }


class NoReport(Exception):
    """Why a file is no report: one line that says what to do."""


def load_baseline(path: str) -> frozenset[str]:
    """The findings of a report that was written as JSON, by their keys; it raises `NoReport`."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoReport(f"there is no {path}; write it with: failwell check --output json={path} …") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise NoReport(f"cannot read {path}: {problem}") from None
    findings = data.get("findings") if isinstance(data, dict) else None
    if not isinstance(findings, list) or not all(isinstance(each, dict) and "rule" in each for each in findings):
        raise NoReport(f"{path} is no report of failwell check --output json")
    return frozenset(f"{each['rule']}:{each.get('tool') or ''}" for each in findings)
