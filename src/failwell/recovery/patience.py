"""How much more one server is worth: the breakers of its tools, its budget, and the calls that keep failing."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any, Final

from failwell.formats import Outcome
from failwell.model import Policy, ToolError

from .breaker import Breaker, is_to_blame
from .budget import Budget, cost_of
from .loops import LoopGuard
from .refusals import is_broken, is_repeated, times_of

LOST: Final = frozenset({"NETWORK_ERROR", "UNAVAILABLE"})
"""Failures after which the connection is of no more use."""


class Patience:
    """What the calls of a server so far say about the next one. Frameworks make blocking calls in several threads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._budget = Budget(policy.retry_budget)
        self._breakers: dict[str, Breaker] = {}
        self._loops = LoopGuard(policy)
        self._blamed: object = None
        self._lock = RLock()
        self.is_tried = False
        """Whether anything has failed so far. Until then there is nothing to refuse, and nothing to earn."""

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float, *, first: bool) -> ToolError | None:
        """Why a call had better not be made, or None; then it must be."""
        with self._lock:
            known = self._loops.refuses(tool, arguments, now) if first else None
            if known is not None:
                return is_repeated(*known, self._policy)
            breaker = self._breakers.get(tool)
            wait = breaker.wait(now) if breaker is not None else None
            if breaker is None or wait is None:
                return None
            return is_broken(tool, breaker.failures, wait, self._loops.last(tool, arguments))

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
        with self._lock:
            return self._budget.take(cost_of(outcome))

    def worked(self, tool: str, arguments: Mapping[str, Any], *, changed: bool) -> None:
        """A call worked. If it may have changed how things stand, what failed before may work now."""
        with self._lock:
            self._budget.earn()
            self._breakers.pop(tool, None)
            if self._loops:
                self._loops.worked(tool, arguments)
            if changed:
                self._loops.changed()

    def failed(self, tool: str, outcome: Outcome, connection: object, now: float) -> bool:
        """A call failed, over this connection if one is known. Whether it is better left for a new one.

        What does not answer again and again may be stuck: the one who tries does so over a new connection.
        """
        self.is_tried = True
        with self._lock:
            if not isinstance(outcome, ToolError) or not is_to_blame(outcome):
                self._excused(tool, outcome)
                return False
            is_ours = outcome.origin == "local"
            if is_ours and outcome.code in LOST:
                # A connection that breaks fails all the calls on it, and is still one failure.
                if connection is not None and connection is self._blamed:
                    self.let_go(tool)
                    return False
                self._blamed = connection
            breaker = self._breakers.setdefault(tool, self._breaker())
            breaker.failed(now)
            return is_ours and breaker.closed_at is not None

    def _excused(self, tool: str, outcome: Outcome) -> None:
        if isinstance(outcome, ToolError) and outcome.origin == "local":
            # The server said nothing, so it is not known to work either.
            self.let_go(tool)
        else:
            self._breakers.pop(tool, None)

    def _breaker(self) -> Breaker:
        policy = self._policy
        return Breaker(policy.break_after, policy.break_for, max(policy.break_for, policy.max_delay))

    def renewed(self) -> None:
        """Another server stands in the place of the one that did not work. What it is asked for too often is another
        matter."""
        with self._lock:
            self._breakers.clear()
            self._blamed = None

    def let_go(self, tool: str) -> None:
        """A call was given up before it told anything."""
        with self._lock:
            breaker = self._breakers.get(tool)
            if breaker is not None:
                breaker.let_go()

    def times(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often a call has now failed in the end, in this way."""
        self.is_tried = True
        with self._lock:
            return self._loops.failed(tool, arguments, error, now)
