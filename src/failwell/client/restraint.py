"""When a call is better not made: the server is down, its budget is spent, or the same call keeps failing.

Three small counters for one server. They know no client and no protocol, and they take the time from outside. The
libraries for breakers let every waiting caller through when they try again, or read the time themselves; an agent that
is tested with a fake clock, and that has a dozen calls waiting, needs neither.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from failwell.formats.text import USUAL_WAIT
from failwell.model.decide import Policy
from failwell.model.error import ToolError
from failwell.model.kinds import Effect, Kind

_TO_BLAME: Final = frozenset({Kind.TRANSIENT, Kind.INTERNAL})
# As many calls as a loop can have steps, and no more than an agent can make by mistake.
_MOST_CALLS: Final = 1_000


def is_to_blame(error: ToolError) -> bool:
    """Whether a failure says that the server does not work. One that names its own delay is well enough to do so."""
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


@dataclass(slots=True)
class _Repeated:
    error: ToolError
    times: int
    until: float
    changes: int


class LoopGuard:
    """Remembers which calls failed how, so that the same call is not made for ever."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._calls: OrderedDict[bytes, _Repeated] = OrderedDict()
        self._changes = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def changed(self) -> None:
        """Something was done that may have changed how things stand: what failed before may work now."""
        self._changes += 1

    def worked(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._calls.pop(_fingerprint(tool, arguments), None)

    def failed(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often this call has now failed in this way."""
        key = _fingerprint(tool, arguments)
        before = self._known(key, now)
        times = before.times + 1 if before is not None and _same(before.error, error) else 1
        self._calls[key] = _Repeated(error, times, now + self._window(error), self._changes)
        self._calls.move_to_end(key)
        while len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)
        return times

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float) -> tuple[ToolError, int] | None:
        """The failure that a call would only repeat, and how often it was seen; None if the call may be made."""
        if not self._calls:
            return None
        known = self._known(_fingerprint(tool, arguments), now)
        if known is None or known.times < self._policy.loop_after:
            return None
        return known.error, known.times

    def _known(self, key: bytes, now: float) -> _Repeated | None:
        known = self._calls.get(key)
        if known is None or now >= known.until or known.changes != self._changes:
            return None
        return known

    def _window(self, error: ToolError) -> float:
        """A failure that passes is worth another try when its time has come, which is when the text says it is."""
        window = self._policy.loop_window
        if error.kind is not Kind.TRANSIENT:
            return window
        if error.retry_after is not None:
            return min(window, error.retry_after)
        is_harmless = error.retryable and error.effect is Effect.NONE
        return min(window, USUAL_WAIT if is_harmless else self._policy.break_for)


def _same(one: ToolError, other: ToolError) -> bool:
    """Whether two failures are of the same way. Messages differ by the ids in them, so they are not compared."""
    return (
        one.kind is other.kind
        and one.code == other.code
        and [problem.path for problem in one.fields] == [problem.path for problem in other.fields]
    )


def _fingerprint(tool: str, arguments: Mapping[str, Any]) -> bytes:
    """A call without its arguments: nothing that was sent is kept."""
    try:
        written = json.dumps([tool, arguments], sort_keys=True, default=repr, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        written = f"{tool} {arguments!r}"
    return blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).digest()
