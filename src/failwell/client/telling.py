"""What a model is told about a failed call, and the waits before the same call is made again.

The bridges to the agent frameworks share it: each brings only how its framework runs a tool and how it marks an error.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from failwell.formats import Outcome, render
from failwell.model.decide import Decision, Next, Policy, Traits, decide
from failwell.model.error import ToolError
from failwell.model.kinds import Effect

from .attempts import in_all, spread
from .clock import SYSTEM, Clock
from .reading import read

T = TypeVar("T")

_TOUCHED: Final = frozenset({Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE})


@dataclass(frozen=True, slots=True)
class Told:
    """A failure that is settled: what to do about it, and the text in which a model reads all of it."""

    outcome: Outcome
    decision: Decision
    text: str

    @property
    def is_error(self) -> bool:
        """Whether it is to be marked as an error. A question is none, and neither is a remark."""
        return isinstance(self.outcome, ToolError) and self.outcome.is_error


def told(outcome: Outcome, decision: Decision | None = None, *, attempts: int = 1) -> str:
    """The text for a model. It is guarded, it is enough by itself, and it never invites what the decision forbids.

    `attempts` is how often the call was made.

    >>> print(told(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)))
    Too many requests. Wait 30 seconds, then make the same call again.
    """
    if isinstance(outcome, ToolError) and decision is not None:
        if decision.doubtful and outcome.effect not in _TOUCHED:
            outcome = outcome.replace(effect=Effect.UNKNOWN)
        elif decision.next is Next.GIVE_UP and decision.delay is None and attempts > 1:
            spent = f"It failed {attempts} times in a row; do not make the same call again now."
            steps = [*outcome.next_steps, spent]
            outcome = outcome.replace(retry_after=None, reset_at=None, next_steps=steps)
    return render(outcome, "text")


def failure(outcome: object) -> Outcome | None:
    """What an outcome means, or None where the call worked, be it with a remark."""
    found = read(outcome)
    return None if isinstance(found, ToolError) and not found.is_error else found


def settle(outcome: Outcome, *, tool: object = None, policy: Policy | None = None) -> Told:
    """What to tell about a call that nobody makes again."""
    traits, rules = Traits.of(tool), policy or Policy()
    decision = decide(outcome, tool=traits, policy=rules)
    known = _in_all(outcome, traits, rules)
    return Told(known, decision, told(known, decision))


def _in_all(outcome: Outcome, tool: Traits, policy: Policy, earlier: Sequence[ToolError] = ()) -> Outcome:
    return in_all(outcome, tool, policy, earlier) if isinstance(outcome, ToolError) else outcome


class Attempts:
    """The attempts at one call: after each failure, how long to wait before the next one, or what to tell."""

    def __init__(self, tool: object, policy: Policy | None, clock: Clock) -> None:
        self._tool = Traits.of(tool)
        self._policy = policy or Policy()
        self._clock = clock
        self._ends = clock.monotonic() + self._policy.deadline
        self._failures: list[ToolError] = []

    def failed(self, outcome: Outcome) -> float | Told:
        policy, failures, clock = self._policy, self._failures, self._clock
        decision = decide(outcome, tool=self._tool, history=failures, policy=policy, now=clock.now())
        if decision.repeats and isinstance(outcome, ToolError):
            wait = spread(decision.delay or 0.0, outcome, random.random())
            if clock.monotonic() + wait <= self._ends:
                failures.append(outcome)
                return wait
            decision = Decision(Next.GIVE_UP, f"It would take longer than {policy.deadline:g} seconds in all.")
        known = _in_all(outcome, self._tool, policy, failures)
        return Told(known, decision, told(known, decision, attempts=len(failures) + 1))


def raised(exc: Exception) -> Outcome:
    """What an exception means."""
    found = read(exc)
    assert found is not None  # an exception is never a success
    return found


def _none(exc: Exception) -> bool:
    return False


async def attempted(
    call: Callable[[], Awaitable[T]],
    *,
    tool: object = None,
    policy: Policy | None = None,
    clock: Clock = SYSTEM,
    passes: Callable[[Exception], bool] = _none,
) -> T | Told:
    """What the call returns, made again as long as `decide` says so, or what to tell about its failure.

    `call` raises what went wrong, also the `ToolError` that it read from a result. `passes` says which exceptions are
    no failures, but a framework's way to say something else.
    """
    attempts = Attempts(tool, policy, clock)
    while True:
        try:
            return await call()
        except Exception as exc:
            if passes(exc):
                raise
            verdict = attempts.failed(raised(exc))
        if isinstance(verdict, Told):
            return verdict
        await clock.sleep(verdict)


def attempted_sync(
    call: Callable[[], T],
    *,
    tool: object = None,
    policy: Policy | None = None,
    passes: Callable[[Exception], bool] = _none,
) -> T | Told:
    """`attempted` for a call that blocks."""
    attempts = Attempts(tool, policy, SYSTEM)
    while True:
        try:
            return call()
        except Exception as exc:
            if passes(exc):
                raise
            verdict = attempts.failed(raised(exc))
        if isinstance(verdict, Told):
            return verdict
        time.sleep(verdict)
