"""The report of a check, as data: what every way of showing it is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .discretion import Discretion
from .examined import Examined
from .findings import CheckFinding
from .rules import GROUPS, RULES
from .score import grade, group_scores, limited_by, lost, total

VERSION: Final = 1
UNGRADED: Final = "none"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found of one server."""

    target: str
    examined: Examined

    @property
    def discretion(self) -> Discretion:
        """How it tells what the server said."""
        return self.examined.ledger.discretion

    @property
    def rates(self) -> dict[str, float]:
        return self.examined.ledger.tally.rates()

    @property
    def is_graded(self) -> bool:
        """Whether there was anything to grade: a server without a tool to call has neither failed nor passed."""
        examined = self.examined
        return examined.reason is not None or bool(examined.probed_tools) or not examined.lists_tools

    @property
    def score(self) -> int:
        return total(self.examined.ledger.tally) if self.is_graded else 0

    @property
    def grade(self) -> str:
        return grade(self.score) if self.is_graded else UNGRADED

    @property
    def findings(self) -> list[CheckFinding]:
        return self.examined.findings

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        scores = group_scores(self.rates)
        return {
            group: {
                "score": None if scores[group] is None else int(round(scores[group] or 0.0, 6)),
                "weight": weight,
                "findings": sum(finding.group == group for finding in self.findings),
            }
            for group, weight in GROUPS.items()
        }

    @property
    def tools(self) -> list[dict[str, Any]]:
        findings = self.findings
        tally = self.examined.ledger.tally
        found: list[dict[str, Any]] = []
        for tool in self.examined.tools:
            rates = tally.rates(tool.name)
            probes, name = self.examined.probes.get(tool.name, 0), self.discretion.name(tool.name)
            found.append(
                {
                    "name": name,
                    "nature": tool.nature.value,
                    "probes": probes,
                    "scope": "all" if tool.freely and probes else "refusals" if probes else "none",
                    "score": total(tally, tool.name) if probes and rates else None,
                    "findings": sum(finding.tool == name for finding in findings),
                }
            )
        return found

    @property
    def graded(self) -> dict[str, int]:
        """How many of the tools could be graded: with any call, and only with calls that must be refused."""
        tools = self.tools
        return {
            "tools": len(tools) + len(set(self.examined.left_out) - {tool.name for tool in self.examined.tools}),
            "graded": sum(tool["scope"] != "none" for tool in tools),
            "fully": sum(tool["scope"] == "all" for tool in tools),
            "not_called": sum(tool["scope"] == "none" for tool in tools),
        }

    def first_to_fix(self, most: int = 3) -> list[tuple[str, float, Sequence[CheckFinding]]]:
        """The rules that cost most, with their findings: those that hold the score down come first."""
        rates, tally = self.rates, self.examined.ledger.tally
        by_rule: dict[str, list[CheckFinding]] = {}
        for finding in self.findings:
            by_rule.setdefault(finding.rule, []).append(finding)

        def urgency(rule: str) -> tuple[bool, float, float, str]:
            row = RULES[rule]
            return row.severity != "critical", min(row.limit(rates[rule]), 90), -lost(row, tally), rule

        order = sorted(by_rule, key=urgency)
        return [(rule, lost(RULES[rule], tally), by_rule[rule]) for rule in order[:most]]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON: what `failwell schema check` describes."""
        return {
            "failwell_check": VERSION,
            "target": self.target,
            "server": self.discretion.data(dict(self.examined.server)),
            "eras": list(self.examined.eras),
            "started": self.examined.reason is None,
            "reason": self.examined.reason,
            "score": self.score,
            "grade": self.grade,
            "limited_by": limited_by(self.examined.ledger.tally) if self.is_graded else None,
            "groups": self.groups,
            "graded": self.graded,
            "tools": self.tools,
            "probes": sum(self.examined.probes.values()),
            "duration_s": round(self.examined.seconds, 3),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [*map(self.discretion.line, self.examined.notes)],
        }
