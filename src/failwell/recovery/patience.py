"""How much more one server is worth: the breakers of its tools, its budget, and the calls that keep failing."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any, Final

from failwell.formats import Outcome
from failwell.model import Policy, ToolError

from .breaker import Breakers, is_to_blame
from .budget import Budget, cost_of
from .loops import LoopGuard
from .refusals import refuse_broken, refuse_repeat, times_of

LOST: Final = frozenset({"NETWORK_ERROR", "UNAVAILABLE"})
"""Failures after which the connection is of no more use."""


class Patience:
    """What the calls of a server so far say about the next one. Frameworks make blocking calls in several threads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._budget = Budget(policy.retry_budget)
        self._breakers = Breakers(policy)
        self._loops = LoopGuard(policy)
        self._blamed: object = None
        self._lock = RLock()
        self._has_failed = False

    @property
    def is_tried(self) -> bool:
        """Whether anything has failed so far. Until then there is nothing to refuse, and nothing to earn."""
        return self._has_failed

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float, *, first: bool) -> ToolError | None:
        """Why a call had better not be made, or None; then it must be."""
        with self._lock:
            known = self._loops.refuses(tool, arguments, now) if first else None
            if known is not None:
                return refuse_repeat(*known, self._policy, is_alike=self._loops.is_alike(tool, arguments))
            shut = self._breakers.wait(tool, now)
            return None if shut is None else refuse_broken(tool, *shut)

    def objects(self, tool: str, outcome: Outcome, now: float, wait: float) -> str | None:
        """Why a call is not to be repeated after this wait, or None."""
        if self._budget.left < cost_of(outcome):
            return "This server was given all the repetitions it is worth at present."
        if failures := self._breakers.shut(tool, now + wait):
            return f"{tool} failed {times_of(failures)} in a row, and is left alone for now."
        return None

    def take(self, outcome: Outcome) -> bool:
        """Take a repetition because of this failure from the budget, if there is enough left."""
        self._has_failed = True
        with self._lock:
            return self._budget.take(cost_of(outcome))

    def worked(self, tool: str, arguments: Mapping[str, Any], *, changed: bool) -> None:
        """A call worked. If it may have changed how things stand, what failed before may work now."""
        with self._lock:
            self._budget.earn()
            self._breakers.worked(tool)
            if self._loops:
                self._loops.worked(tool, arguments)
            if changed:
                self._loops.changed()

    def failed(self, tool: str, outcome: Outcome, connection: object, now: float) -> bool:
        """A call failed, over this connection if one is known. Whether it is better left for a new one.

        What does not answer again and again may be stuck: the one who tries does so over a new connection.
        """
        self._has_failed = True
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
            return self._breakers.failed(tool, now) and is_ours

    def _excused(self, tool: str, outcome: Outcome) -> None:
        if isinstance(outcome, ToolError) and outcome.origin == "local":
            # The server said nothing, so it is not known to work either.
            self.let_go(tool)
        else:
            self._breakers.worked(tool)

    def renewed(self) -> None:
        """Another server stands in the place of the one that did not work. What it is asked for too often is another
        matter."""
        with self._lock:
            self._breakers.clear()
            self._blamed = None

    def let_go(self, tool: str) -> None:
        """A call was given up before it told anything."""
        self._breakers.let_go(tool)

    def is_alike(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call that failed again and again did so with the same words."""
        with self._lock:
            return self._loops.is_alike(tool, arguments)

    def times(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often a call has now failed in the end, in this way."""
        self._has_failed = True
        with self._lock:
            return self._loops.failed(tool, arguments, error, now)
