"""What was tried for one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from failwell.formats import Outcome
from failwell.model.decide import Decision
from failwell.model.error import ToolError


@dataclass(frozen=True, slots=True)
class Attempt:
    """One failure on the way, and what was made of it."""

    number: int
    tool: str
    arguments: Mapping[str, Any]
    error: Outcome
    decision: Decision
    seconds: float
    """How long the call took."""
    made: bool = True
    """Whether the call was made at all."""
    wait: float | None = None
    """How long was waited before the next one; None if there was none."""


@dataclass(slots=True)
class Report:
    """What was tried for one call, and what came of it."""

    tool: str
    arguments: dict[str, Any]
    """What was sent last."""
    result: Any = None
    """What the client returns."""
    error: Outcome | None = None
    attempts: list[Attempt] = field(default_factory=list)
    """What failed on the way, the last failure included."""
    calls: int = 0
    """How many calls were made."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def failure(self) -> ToolError | None:
        """The error that is left; None if it worked, or if the user has to answer first."""
        return self.error if isinstance(self.error, ToolError) else None

    @property
    def recovered(self) -> bool:
        """Whether it worked, though not at once."""
        return self.error is None and bool(self.attempts)

    def __str__(self) -> str:
        lines = [f"{self.tool}: {'worked' if self.ok else 'failed'} after {count_of(self.calls, 'call')}"]
        for attempt in self.attempts:
            error = attempt.error
            what = error.code or error.kind if isinstance(error, ToolError) else "needs input"
            waited = "" if attempt.wait is None else f" Waited {attempt.wait:.1f} s."
            lines.append(f"  {attempt.number}. {what}: {attempt.decision.reason}{waited}")
        return "\n".join(lines)


def count_of(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
