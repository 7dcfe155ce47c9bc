"""A tool that fails again and again is left alone for a while.

The libraries for breakers let every waiting caller through when they try again, or read the time themselves; an agent
that is tested with a fake clock, and that has a dozen calls waiting, needs neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from failwell.model import Kind, Policy, ToolError

_TO_BLAME: Final = frozenset({Kind.TRANSIENT, Kind.INTERNAL})


def is_to_blame(error: ToolError) -> bool:
    """Whether a failure says that the server does not work. One that names its own delay is well enough to do so, and
    words that nobody can place may as well be about what it was asked."""
    if error.legacy and error.code is None:
        return False
    return error.kind in _TO_BLAME and error.retry_after is None and error.reset_at is None


@dataclass(slots=True)
class Breaker:
    """Stops calling what fails again and again, and tries with one call at a time whether it works again."""

    after: int
    pause: float
    longest: float
    failures: int = 0
    closed_at: float | None = None
    """When calls are let through again; None while they are."""
    _span: float = 0.0
    _trying: bool = False

    def wait(self, now: float) -> float | None:
        """None if the call may be made, which it then must be, or how many seconds it had better wait."""
        if self.closed_at is None:
            return None
        if now < self.closed_at:
            return self.closed_at - now
        if self._trying:
            return min(self.pause, 1.0)
        self._trying = True
        return None

    def worked(self) -> None:
        self.failures, self.closed_at, self._span, self._trying = 0, None, 0.0, False

    def failed(self, now: float) -> None:
        self.failures += 1
        if self._trying or (self.closed_at is None and self.failures >= self.after):
            self._span = min(self._span * 2 or self.pause, max(self.longest, self.pause))
            self.closed_at, self._trying = now + self._span, False

    def let_go(self) -> None:
        """The call that tried was given up before it told anything: another one may try."""
        self._trying = False


class Breakers:
    """The breakers of one server's tools."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._breakers: dict[str, Breaker] = {}

    def wait(self, tool: str, now: float) -> tuple[int, float] | None:
        """None if a call may be made, which it then must be; or how often the tool failed, and how long to wait."""
        breaker = self._breakers.get(tool)
        wait = breaker.wait(now) if breaker is not None else None
        return None if breaker is None or wait is None else (breaker.failures, wait)

    def shut(self, tool: str, now: float) -> int:
        """How often the tool failed in a row, if it is left alone at that time; else 0."""
        breaker = self._breakers.get(tool)
        return breaker.failures if breaker is not None and (breaker.closed_at or now) > now else 0

    def failed(self, tool: str, now: float) -> bool:
        """The tool failed, and its server is to blame; whether it is left alone from now on."""
        if tool not in self._breakers:
            policy = self._policy
            longest = max(policy.break_for, policy.max_delay)
            self._breakers[tool] = Breaker(policy.break_after, policy.break_for, longest)
        breaker = self._breakers[tool]
        breaker.failed(now)
        return breaker.closed_at is not None

    def worked(self, tool: str) -> None:
        self._breakers.pop(tool, None)

    def let_go(self, tool: str) -> None:
        """A call was given up before it told anything."""
        if (breaker := self._breakers.get(tool)) is not None:
            breaker.let_go()

    def clear(self) -> None:
        self._breakers.clear()
