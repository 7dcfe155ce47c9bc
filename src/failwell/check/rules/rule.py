"""What a rule is: what it looks at, why that matters to an agent, and how to put it right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from failwell.check.observation import Observation

Judged = bool | str | None
"""True where a rule holds, a sentence that says how it is broken, or None where it has nothing to say."""

GROUPS: Final[Mapping[str, int]] = {
    "structure": 20,
    "action": 35,
    "safety": 15,
    "protocol": 5,
    "recovery": 20,
    "cost": 5,
}
"""The groups of rules, with what each counts of a hundred."""
SEVERITIES: Final = ("critical", "high", "medium", "low")
_MOST: Final = {"critical": 59, "high": 88}
"""The highest score of a server that breaks a rule of that severity, be it once."""
_EACH_TIME: Final = {"high": 12, "medium": 6}
"""What such a rule costs beside its weight, if every tool breaks it whenever it fails in some one way."""
_SELDOM: Final = 0.85
"""Where a rule that scales holds in this share of cases, it limits nothing."""


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One rule. `judge` is asked about every observation."""

    id: str
    severity: str
    weight: int
    title: str
    looks_at: str
    why: str
    failwell: str
    """How to put it right with Failwell."""
    plain: str
    """How to put it right without."""
    judge: Callable[[Observation], Judged]
    most: int = 100
    """The highest score of a server that breaks it."""
    scales: bool = False
    """Whether that is meant for a server that breaks it always; what breaks it seldom may score higher."""
    clause: str | None = None
    """Where the protocol says so."""

    def limit(self, share: float) -> float:
        """The highest score of a server on which it holds in that share of cases."""
        if share >= 1:
            return 100
        own = self.most + (100 - self.most) * min(share / _SELDOM, 1) if self.scales else self.most
        return min(own, _MOST.get(self.severity, 100))

    def cost(self, tools: float) -> float:
        """What it costs beside its weight where that share of the tools breaks it each time they fail in one way."""
        return _EACH_TIME.get(self.severity, 0) * tools

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]
