"""What was found: each rule that is broken on each tool, once, with the exchange that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from .discretion import Discretion
from .observation import Observation
from .rules import RULES, SEVERITIES, CheckRule
from .score import SERVER, RuleTally


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
    count: int = 1
    """How many probes show it."""

    @property
    def group(self) -> str:
        return RULES[self.rule].group

    @property
    def severity(self) -> str:
        return RULES[self.rule].severity

    @property
    def fix(self) -> str:
        return f"{RULES[self.rule].plain} With Failwell: {RULES[self.rule].failwell}"

    @property
    def key(self) -> str:
        """By which the same finding is known in another run."""
        return f"{self.rule}:{self.tool or ''}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "group": self.group,
            "severity": self.severity,
            "tool": self.tool,
            "message": self.message,
            "fix": self.fix,
            "request": self.request,
            "answer": self.answer,
            "reproduce": self.reproduce,
            "probe": self.probe,
            "era": self.era,
            "count": self.count,
        }


@dataclass
class Judgements:
    """Judges observations and keeps what came of it."""

    rules: Iterable[CheckRule]
    reproduce: Callable[[str, str], str]
    """A command, from a frame and the era it was sent in."""
    discretion: Discretion = field(default_factory=Discretion)
    tally: RuleTally = field(default_factory=RuleTally)
    _found: dict[tuple[str, str], CheckFinding] = field(default_factory=dict)

    def judge(self, seen: Observation) -> None:
        tool = seen.probe.tool or SERVER
        for rule in self.rules:
            said = rule.judge(seen)
            if said is None:
                continue
            self.tally.add(rule.id, tool, seen.category, said is True)
            if said is not True:
                self._keep(rule, tool, str(said), seen)

    def _keep(self, rule: CheckRule, tool: str, said: str, seen: Observation) -> None:
        known = self._found.get((rule.id, tool))
        if known is not None:
            self._found[rule.id, tool] = replace(known, count=known.count + 1)
            return
        told = self.discretion
        self._found[rule.id, tool] = CheckFinding(
            rule.id,
            told.name(tool) if tool else None,
            told.line(said),
            told.frame(seen.frame),
            told.frame(seen.reply.raw) if seen.reply.raw else f"({seen.reply.state})",
            self.reproduce(seen.frame, seen.era),
            seen.kind,
            seen.era,
        )

    def findings(self) -> list[CheckFinding]:
        """The worst first, in an order that is the same each time."""
        return sorted(
            self._found.values(), key=lambda each: (SEVERITIES.index(each.severity), each.rule, each.tool or "")
        )
