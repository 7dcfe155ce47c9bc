"""When to stop: a budget of repetitions, a circuit breaker for each tool, and a guard against loops of one call.

The libraries for breakers let every waiting caller through when they try again, or read the time themselves; an agent
that is tested with a fake clock, and that has a dozen calls waiting, needs neither.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from threading import RLock
from typing import Any, Final

from failwell.formats import Outcome
from failwell.model import Effect, Kind, Policy, ToolError, fingerprint

from .attempts import NEVER_SENT

LOST: Final = frozenset({"NETWORK_ERROR", "UNAVAILABLE"})
"""Failures after which the connection is of no more use."""
DONE_BEFORE: Final = "An earlier try, whose answer was lost, may have done it."
# As many calls as a loop can have steps, and no more than an agent can make by mistake.
_MOST_CALLS: Final = 1_000
# A look that tells that nothing was done is reason for one more call, and not for a loop of looks and calls.
_MOST_LOOKS: Final = 5
# A wait that a model, or its user, can be asked for.
_SOON: Final = 60.0
# What a repetition takes from the budget: a server that asks to wait is well, and one that does not answer in time
# costs everybody the most.
_COSTS: Final = {"RATE_LIMITED": 0.4, "SERVER_BUSY": 0.4, "TIMEOUT": 1.5}
_WAYS_OUT: Final = {
    Kind.VALIDATION: "Change {what} before you call it again.",
    Kind.NOT_FOUND: "Use another one, or look for it first.",
    Kind.CONFLICT: "Look at how things stand first.",
    Kind.PERMISSION: "Ask the user.",
    Kind.TRANSIENT: "Do something else meanwhile, or tell the user.",
    Kind.INTERNAL: "Do something else, or tell the user.",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many failures are enough."""

    budget: float = 20.0
    """Repetitions for a server that does not work. Each success gives a tenth of one back."""
    break_after: int = 5
    """Failures of a tool in a row, for which the server is to blame, after which it is not called for a while."""
    break_for: float = 30.0
    """For how many seconds; then one call tries it. Twice as long each time that call fails."""
    loop_after: int = 2
    """How often the same call may fail in the same way before it is not made any more."""
    loop_window: float = 300.0
    """After how many seconds it may be made again."""


UNLIMITED: Final = Limits(budget=inf, break_after=1 << 62, loop_after=1 << 62)


def is_to_blame(error: ToolError) -> bool:
    """Whether a failure says that the server does not work. One that names its own delay is well enough to do so, and
    words that nobody can place may as well be about what it was asked."""
    if error.legacy and error.code is None:
        return False
    return error.kind in (Kind.TRANSIENT, Kind.INTERNAL) and error.retry_after is None and error.reset_at is None


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

    def fail(self, now: float) -> None:
        self.failures += 1
        if self._trying or (self.closed_at is None and self.failures >= self.after):
            self._span = min(self._span * 2 or self.pause, self.longest)
            self.closed_at, self._trying = now + self._span, False

    def release(self) -> None:
        """The call that tried was given up before it told anything: another one may try."""
        self._trying = False


@dataclass(slots=True)
class _Repeated:
    error: ToolError
    times: int
    until: float
    changes: int
    looks: int = 0


def _way(error: ToolError) -> tuple[object, ...]:
    return (error.kind, error.code, *[problem.path for problem in error.fields])


class RetryLimits:
    """What the calls of one server so far say about the next one. Frameworks make blocking calls in several threads."""

    def __init__(self, policy: Policy, limits: Limits) -> None:
        self._policy, self._limits = policy, limits
        self.budget_left = limits.budget
        self._breakers: dict[str, Breaker] = {}
        self._calls: OrderedDict[str, _Repeated] = OrderedDict()
        """Which calls failed how, so that the same call is not made for ever."""
        self._changes = 0
        self._blamed: object = None
        self._lock = RLock()
        self.has_failed = False
        """Whether anything has failed so far. Until then there is nothing to refuse, and nothing to earn."""

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float, *, first: bool) -> ToolError | None:
        """Why a call had better not be made, or None; then it must be."""
        with self._lock:
            known = self._known(fingerprint(tool, arguments), now) if first and self._calls else None
            if known is not None and known.times >= self._limits.loop_after:
                return _refuse_repeat(known.error, known.times, self._limits)
            breaker = self._breakers.get(tool)
            wait = None if breaker is None else breaker.wait(now)
            if breaker is None or wait is None:
                return None
            message = f"Not called: {tool} failed {times_of(breaker.failures)} in a row."
            return ToolError(message, code="UNAVAILABLE", tool=tool, retry_after=max(0.1, round(wait, 1)), **NEVER_SENT)

    def _known(self, key: str, now: float) -> _Repeated | None:
        known = self._calls.get(key)
        return None if known is None or now >= known.until or known.changes != self._changes else known

    def objects(self, tool: str, outcome: Outcome, now: float, wait: float) -> str | None:
        """Why a call is not to be repeated after this wait, or None."""
        if self.budget_left < _cost_of(outcome):
            return "This server was given all the repetitions it is worth at present."
        breaker = self._breakers.get(tool)
        if breaker is not None and (breaker.closed_at or 0.0) > now + wait:
            return f"{tool} failed {times_of(breaker.failures)} in a row, and is left alone for now."
        return None

    def take(self, outcome: Outcome) -> bool:
        """Take a repetition because of this failure from the budget, if there is enough left."""
        self.has_failed = True
        with self._lock:
            cost = _cost_of(outcome)
            if self.budget_left < cost:
                return False
            self.budget_left -= cost
            return True

    def succeed(self, tool: str, arguments: Mapping[str, Any], *, changed: bool) -> None:
        """A call worked. If it may have changed how things stand, what failed before may work now."""
        with self._lock:
            self.budget_left = min(self._limits.budget, self.budget_left + 0.1)
            self._breakers.pop(tool, None)
            self._changes += changed
            if not self._calls:
                return
            key = fingerprint(tool, arguments)
            self._calls.pop(key, None)
            for known in self._calls.values():
                check = known.error.verify
                if check is None or check.tool != tool or not known.times or known.looks >= _MOST_LOOKS:
                    continue
                if fingerprint(tool, check.arguments or {}) == key:
                    # The agent looked, as it was told to: what the call says next is new.
                    known.times -= 1
                    known.looks += 1

    def fail(self, tool: str, outcome: Outcome, connection: object, now: float) -> bool:
        """A call failed, over this connection if one is known. Whether it is better left for a new one.

        What does not answer again and again may be stuck: the one who tries does so over a new connection.
        """
        self.has_failed = True
        with self._lock:
            is_ours = isinstance(outcome, ToolError) and outcome.origin == "local"
            if not isinstance(outcome, ToolError) or not is_to_blame(outcome):
                if is_ours:
                    # The server said nothing, so it is not known to work either.
                    self.release(tool)
                else:
                    self._breakers.pop(tool, None)
                return False
            if is_ours and outcome.code in LOST:
                # A connection that breaks fails all the calls on it, and is still one failure.
                if connection is not None and connection is self._blamed:
                    self.release(tool)
                    return False
                self._blamed = connection
            breaker = self._breakers.get(tool)
            if breaker is None:
                after, pause = self._limits.break_after, self._limits.break_for
                breaker = self._breakers[tool] = Breaker(after, pause, max(pause, self._policy.max_delay))
            breaker.fail(now)
            return breaker.closed_at is not None and is_ours

    def reset_breakers(self) -> None:
        """Another server stands in the place of the one that did not work. What it is asked for too often is another
        matter."""
        with self._lock:
            self._breakers.clear()
            self._blamed = None

    def release(self, tool: str) -> None:
        """A call was given up before it told anything."""
        if (breaker := self._breakers.get(tool)) is not None:
            breaker.release()

    def count(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often a call has now failed in the end, in this way."""
        self.has_failed = True
        with self._lock:
            key = fingerprint(tool, arguments)
            before, times, looks = self._known(key, now), 1, 0
            # Messages differ by the ids in them, so they are not compared.
            if before is not None and _way(before.error) == _way(error):
                times, looks = before.times + 1, before.looks
            self._calls.pop(key, None)
            self._calls[key] = _Repeated(error, times, now + self._window(error), self._changes, looks)
            while len(self._calls) > _MOST_CALLS:
                self._calls.popitem(last=False)
            return times

    def _window(self, error: ToolError) -> float:
        """A failure that passes is worth another try when its time has come, which is when the text says it is."""
        window = self._limits.loop_window
        if error.kind is not Kind.TRANSIENT:
            return window
        if error.retry_after is not None:
            return min(window, error.retry_after)
        is_harmless = error.retryable and error.effect is Effect.NONE
        return min(window, self._policy.first_wait(error) if is_harmless else self._limits.break_for)


def _cost_of(outcome: object) -> float:
    if not isinstance(outcome, ToolError):
        return 1.0
    waits = outcome.retry_after is not None or outcome.reset_at is not None
    return _COSTS["RATE_LIMITED"] if waits else _COSTS.get(outcome.code or "", 1.0)


# What a model is told about a call that was not made, or that failed again, beyond the error itself.


def repeat_note(error: ToolError, times: int, limits: Limits) -> str:
    """What must change, for a model that makes the same call again."""
    if error.kind is Kind.TRANSIENT and error.retryable:
        # It may be made again, in its time.
        return f"The same call has now failed {times_of(times)} in the same way: calling sooner is no use."
    stopped = f" and will not be made again{_for_now(limits)}" if times >= limits.loop_after else ""
    return f"The same call has now failed {times_of(times)} in the same way{stopped}. {way_out(error)}"


def way_out(error: ToolError) -> str:
    what = ", ".join(problem.name for problem in error.fields if problem.name) or "the arguments"
    return _WAYS_OUT[error.kind].format(what=what)


def times_of(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _refuse_repeat(error: ToolError, times: int, limits: Limits) -> ToolError:
    message = f"Not called{_for_now(limits)}: the same call failed {times_of(times)} in the same way. {error.message}"
    return error.replace(message=message, origin="local", authored=None, next_steps=(*error.next_steps, way_out(error)))


def _for_now(limits: Limits) -> str:
    """For how long a call is not made: told where that is worth waiting for."""
    return f" for {limits.loop_window:g} seconds" if limits.loop_window <= _SOON else ""
