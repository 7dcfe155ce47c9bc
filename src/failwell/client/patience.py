"""How much more one server is worth: the breakers of its tools, its budget, and the calls that keep failing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.formats import Outcome
from failwell.model.decide import Policy
from failwell.model.error import ToolError

from .connection import Live
from .restraint import Breaker, Budget, LoopGuard, cost_of, is_to_blame
from .wording import is_broken, is_repeated, times_of

LOST: Final = frozenset({"NETWORK_ERROR", "UNAVAILABLE"})
"""Failures after which the connection is of no more use."""


class Patience:
    """What the calls of a server so far say about the next one."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._budget = Budget(policy.retry_budget)
        self._breakers: dict[str, Breaker] = {}
        self._loops = LoopGuard(policy)
        self._blamed: Live | None = None
        self.is_tried = False
        """Whether anything has failed so far. Until then there is nothing to refuse, and nothing to earn."""

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float, *, first: bool) -> ToolError | None:
        """Why a call had better not be made, or None; then it must be."""
        known = self._loops.refuses(tool, arguments, now) if first else None
        if known is not None:
            return is_repeated(*known)
        breaker = self._breakers.get(tool)
        wait = breaker.wait(now) if breaker is not None else None
        return None if breaker is None or wait is None else is_broken(tool, breaker.failures, wait)

    def objects(self, tool: str, outcome: Outcome, now: float, wait: float) -> str | None:
        """Why a call is not to be repeated after this wait, or None."""
        if self._budget.left < cost_of(outcome):
            return "This server was given all the repetitions it is worth at present."
        breaker = self._breakers.get(tool)
        if breaker is not None and breaker.closed_at is not None and breaker.closed_at > now + wait:
            return f"{tool} failed {times_of(breaker.failures)} in a row, and is left alone for now."
        return None

    def take(self, outcome: Outcome) -> bool:
        """Take a repetition because of this failure from the budget, if there is enough left."""
        self.is_tried = True
        return self._budget.take(cost_of(outcome))

    def worked(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._budget.earn()
        if self._breakers:
            self._breakers.pop(tool, None)
        if self._loops:
            self._loops.worked(tool, arguments)

    def changed(self) -> None:
        """Something was done that may have changed how things stand: what failed before may work now."""
        self._loops.changed()

    def failed(self, tool: str, outcome: Outcome, live: Live | None, now: float) -> None:
        """A call failed, over this connection if there was one."""
        self.is_tried = True
        if not isinstance(outcome, ToolError) or not is_to_blame(outcome):
            if isinstance(outcome, ToolError) and outcome.origin == "local":
                # The server said nothing, so it is not known to work either.
                self.let_go(tool)
            else:
                self._breakers.pop(tool, None)
            return
        if outcome.origin == "local" and outcome.code in LOST:
            # A connection that breaks fails all the calls on it, and is still one failure.
            if live is not None and live is self._blamed:
                self.let_go(tool)
                return
            self._blamed = live
        policy = self._policy
        breaker = self._breakers.setdefault(
            tool, Breaker(policy.break_after, policy.break_for, max(policy.break_for, policy.max_delay))
        )
        breaker.failed(now)
        if breaker.closed_at is not None and outcome.origin == "local" and live is not None:
            # What does not answer again and again may be stuck: the one who tries does so over a new connection.
            live.retire()

    def let_go(self, tool: str) -> None:
        """A call was given up before it told anything."""
        breaker = self._breakers.get(tool)
        if breaker is not None:
            breaker.let_go()

    def times(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often a call has now failed in the end, in this way."""
        self.is_tried = True
        return self._loops.failed(tool, arguments, error, now)
