"""What a model is told about a failed call, and the waits before the same call is made again.

The bridges to the agent frameworks share it: each brings only how its framework runs a tool and how it marks an error.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from failwell.classify.refusal import refusal
from failwell.formats import Outcome, render
from failwell.model.decide import Decision, Next, Policy, decide
from failwell.model.effects import marked_effect, marking
from failwell.model.error import ToolError
from failwell.model.kinds import IN_DOUBT
from failwell.model.tool import ADVICE, Traits

from .attempts import has_escaped, in_all, spread
from .clock import SYSTEM, Clock
from .reading import read

T = TypeVar("T")


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
    is_spent = decision is not None and decision.next is Next.GIVE_UP and decision.delay is None and attempts > 1
    if isinstance(outcome, ToolError) and is_spent and outcome.may_repeat:
        spent = f"It failed {attempts} times in a row. Do something else, or tell the user."
        outcome = outcome.replace(retry_after=None, reset_at=None, next_steps=[*outcome.next_steps, spent])
    return render(outcome, "text")


def failure(outcome: object) -> Outcome | None:
    """What an outcome means, or None where the call worked, be it with a remark.

    A plain value is what a tool returned: it worked, whatever the value looks like.
    """
    found = read(outcome if isinstance(outcome, BaseException) or _is_answer(outcome) else _returned(outcome))
    return None if isinstance(found, ToolError) and not found.is_error else found


def _is_answer(value: object) -> bool:
    """Whether it is a result or a response, of an SDK or as JSON."""
    if isinstance(value, Mapping):
        return isinstance(value.get("content"), list) or "jsonrpc" in value
    return isinstance(getattr(value, "content", None), list) or hasattr(value, "jsonrpc")


def _returned(value: object) -> dict[str, Any]:
    """A value as the result that an MCP server would make of it."""
    texts = [{"type": "text", "text": value}] if isinstance(value, str) else []
    return {"content": texts, "structuredContent": value if isinstance(value, Mapping) else None, "isError": False}


def settle(outcome: Outcome, *, tool: object = None, policy: Policy | None = None) -> Told:
    """What to tell about a call that nobody makes again."""
    rules = policy or Policy()
    traits = Traits.of(tool).known(trusted=rules.trust_annotations)
    known = _in_all(outcome, traits)
    decision = decide(known, tool=traits, policy=rules)
    return Told(known, decision, told(known, decision))


def _in_all(outcome: Outcome, tool: Traits, earlier: Sequence[ToolError] = ()) -> Outcome:
    if not isinstance(outcome, ToolError):
        return outcome
    return in_all(outcome if outcome.tool or not tool.name else outcome.replace(tool=tool.name), tool, earlier)


class Attempts:
    """The attempts at one call: after each failure, how long to wait before the next one, or what to tell."""

    def __init__(self, tool: object, policy: Policy | None, clock: Clock) -> None:
        self._policy = policy or Policy()
        self._tool = Traits.of(tool).known(trusted=self._policy.trust_annotations)
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
        known = _in_all(outcome, self._tool, failures)
        if isinstance(known, ToolError) and known.effect in IN_DOUBT:
            # What is decided is what is told.
            decision = decide(known, tool=self._tool, history=failures, policy=policy, now=clock.now())
        return Told(known, decision, told(known, decision, attempts=len(failures) + 1))


def raised(exc: Exception, *, transport: bool = False) -> Outcome:
    """What an exception means; `transport` says that it can only be of the transport that carries the call.

    Out of a function it may be the author's own refusal, which keeps its words.
    """
    found = read(exc, transport=transport)
    assert found is not None  # an exception is never a success
    outcome = (refusal(exc) or found) if has_escaped(found) else found
    place = marked_effect(exc)
    if place is None or not isinstance(outcome, ToolError) or outcome.origin == "peer" or outcome.given("effect"):
        return outcome
    # A refusal that stands before the marks is as good as one that was said.
    advice = dict.fromkeys(ADVICE) if place in IN_DOUBT and outcome is found else {}
    return outcome.replace(effect=place, standing=None, **advice)


def _none(exc: Exception) -> bool:
    return False


async def attempted(
    call: Callable[[], Awaitable[T]],
    *,
    tool: object = None,
    policy: Policy | None = None,
    clock: Clock = SYSTEM,
    passes: Callable[[Exception], bool] = _none,
    transport: bool = False,
) -> T | Told:
    """What the call returns, made again as long as `decide` says so, or what to tell about its failure.

    `call` raises what went wrong, also the `ToolError` that it read from a result. `passes` says which exceptions are
    no failures, but a framework's way to say something else.
    """
    attempts = Attempts(tool, policy, clock)
    while True:
        with marking():
            try:
                return await call()
            except Exception as exc:
                if passes(exc):
                    raise
                verdict = attempts.failed(raised(exc, transport=transport))
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
        with marking():
            try:
                return call()
            except Exception as exc:
                if passes(exc):
                    raise
                verdict = attempts.failed(raised(exc))
        if isinstance(verdict, Told):
            return verdict
        time.sleep(verdict)
