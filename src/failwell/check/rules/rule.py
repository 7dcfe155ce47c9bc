"""What a rule is: what it looks at, why that matters to an agent, and how to put it right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..observation import Observation

Judged = bool | str | None
"""True where a rule holds, a sentence that says how it is broken, or None where it has nothing to say."""

GROUPS: Final[Mapping[str, int]] = {
    "structure": 15,
    "action": 30,
    "safety": 20,
    "protocol": 10,
    "recovery": 20,
    "cost": 5,
}
"""The groups of rules, with what each counts of a hundred."""
SEVERITIES: Final = ("critical", "high", "medium", "low")


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
    clause: str | None = None
    """Where the protocol says so."""

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]
