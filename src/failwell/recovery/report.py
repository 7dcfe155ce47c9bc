"""What was tried for one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from failwell.formats import Outcome
from failwell.model import Decision, ToolError, budget_left
from failwell.redact import DEFAULT

# Of what was sent with one call, as it is remembered: in all, in one argument that is too long, and how many of those.
_ROOM: Final = 4_000
_LONGEST: Final = 400
_MOST: Final = 20


class Attempt(NamedTuple):
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
    """How many calls were sent, further rounds included."""
    seconds: float = 0.0
    rounds: int = 0
    """How many of the calls carried an answer to what the server asked in its result: the protocol's own repetition."""

    @property
    def tries(self) -> int:
        """How many calls were made, each with all its rounds."""
        return self.calls - self.rounds

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
        asked = f", {self.rounds} with input that the server asked for" if self.rounds else ""
        lines = [f"{self.tool}: {'worked' if self.ok else 'failed'} after {count_of(self.calls, 'call')}{asked}"]
        for attempt in self.attempts:
            error = attempt.error
            what = error.code or error.kind if isinstance(error, ToolError) else "needs input"
            waited = "" if attempt.wait is None else f" Waited {attempt.wait:.1f} s."
            lines.append(f"  {attempt.number}. {what}: {attempt.decision.reason}{waited}")
        return "\n".join(lines)


def shorten_report(report: Report) -> Report:
    """The report as it is kept for later: without the result, and with nothing else that is large.

    Errors are guarded as they are on every way out, and what they were made from is let go.
    """
    tool, arguments = report.tool, _short(report.arguments)
    if report.error is None and not report.attempts:
        return Report(tool[:_LONGEST], arguments, calls=report.calls, seconds=report.seconds, rounds=report.rounds)
    attempts = [
        each._replace(tool=tool[:_LONGEST], arguments=_short(each.arguments), error=_guarded(each.error))
        for each in report.attempts
    ]
    error = None if report.error is None else _guarded(report.error)
    return Report(tool[:_LONGEST], arguments, None, error, attempts, report.calls, report.seconds, report.rounds)


def _guarded(outcome: Outcome) -> Outcome:
    outcome = DEFAULT(outcome)
    # A cause holds what was being done when it was raised.
    return outcome.replace(cause=None, debug=None) if isinstance(outcome, ToolError) else outcome


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    if budget_left(values, _ROOM) >= 0:
        return dict(values)
    return {str(name)[:_LONGEST]: _cut(value) for name, value in list(values.items())[:_MOST]}


def _cut(value: object) -> object:
    if budget_left(value, _LONGEST) >= 0:
        return value
    if isinstance(value, str):
        return f"{value[:_LONGEST]} …({len(value) - _LONGEST} characters cut)…"
    count = f" of {len(value)}" if isinstance(value, (list, tuple, Mapping)) else ""
    return f"({type(value).__name__}{count}, cut)"


def count_of(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
