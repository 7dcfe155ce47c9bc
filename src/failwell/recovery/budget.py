"""How many repetitions a server is worth: what keeps many agents from making an overload worse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from failwell.model import ToolError

_COSTS: Final = {"RATE_LIMITED": 0.4, "SERVER_BUSY": 0.4, "TIMEOUT": 1.5}


def cost_of(outcome: object) -> float:
    """What a repetition takes from the budget, by its cause: a server that asks to wait is well, and one that does not
    answer in time costs everybody the most."""
    if not isinstance(outcome, ToolError):
        return 1.0
    if outcome.retry_after is not None or outcome.reset_at is not None:
        return _COSTS["RATE_LIMITED"]
    return _COSTS.get(outcome.code or "", 1.0)


@dataclass(slots=True)
class Budget:
    """How many repetitions are left. Each success gives a tenth of one back."""

    most: float
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.most

    def take(self, cost: float = 1.0) -> bool:
        if self.left < cost:
            return False
        self.left -= cost
        return True

    def earn(self) -> None:
        if self.left < self.most:
            self.left = min(self.most, self.left + 0.1)
