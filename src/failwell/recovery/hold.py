"""The hold: a write that is in doubt is not run again until the agent has looked.

A call whose outcome is not known is in doubt. While it is, an identical call in the same session is not run. The hold
ends when the agent has made a successful call of a read tool, when the user says yes, or when its time is over; where
it is only not said what was done, any other successful call ends it too, since it may have been the step that was
missing. An agent that changes an argument gets around it: to it that is another call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Final, NamedTuple

from failwell.model import HELD, IN_DOUBT, NOTHING_RAN, Action, Effect, ToolError, fingerprint, retry_rules_of

SECONDS: Final = 300.0
"""How long a hold lasts by default."""
_MOST_HELD: Final = 1_000


class Held(NamedTuple):
    """A call that is in doubt."""

    tool: str
    effect: Effect | None
    """What is known of it; None where nobody said."""
    verify: Action | None
    """The read call that would tell."""
    since: float
    until: float

    def answer(self) -> ToolError:
        """What is told instead of running the call."""
        return ToolError(
            f"{self.tool} was not run again: the call before may have been done already.",
            code=HELD,
            tool=self.tool,
            effect=Effect.UNKNOWN,
            verify=self.verify,
        )

    def with_check(self, check: Callable[[], Action | None]) -> Held:
        """The same with the call that tells, if it is known only that there may be one."""
        return self if self.verify is not None else self._replace(verify=check())

    def question(self) -> str:
        """What the user is asked where no call would tell."""
        return f"{self.tool} may have been done already. Run it again?"


def leaves_in_doubt(error: ToolError) -> bool:
    """Whether an identical call of a write is to be held after this failure."""
    if error.delivery in NOTHING_RAN or not error.is_error:
        return False
    if error.effect in IN_DOUBT:
        return True
    is_own_word = error.origin != "peer" or retry_rules_of(error.format).relayed
    if not is_own_word:
        # A contract's code names a cause; only a word about the effect clears the call.
        return not (error.effect is Effect.NONE and error.given("effect"))
    return error.effect is None and (error.standing == "quoted" or not error.retryable)


class Hold:
    """The calls of one session that are in doubt. Frameworks make calls in several threads."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._lock = RLock()

    def __bool__(self) -> bool:
        return bool(self._held)

    def find(self, tool: str, arguments: Mapping[str, Any], now: float) -> Held | None:
        """The call that an identical one would repeat while it is in doubt."""
        if not self._held:
            return None
        with self._lock:
            key = fingerprint(tool, arguments)
            held = self._held.get(key)
            if held is not None and now >= held.until:
                del self._held[key]
                return None
            return held

    def failed(
        self, tool: str, arguments: Mapping[str, Any], error: ToolError, verify: Action | None, now: float
    ) -> None:
        """A call of a write failed, and that leaves it in doubt. One that was not done says nothing of an identical one
        that was made meanwhile."""
        if not self._seconds:
            return
        known = error.effect if error.effect in IN_DOUBT else None
        with self._lock:
            key = fingerprint(tool, arguments)
            before = self._held.pop(key, None)
            known = known or (before.effect if before is not None and now < before.until else None)
            self._held[key] = Held(tool, known, error.verify or verify, now, now + self._seconds)
            while len(self._held) > _MOST_HELD:
                self._held.popitem(last=False)

    def succeeded(self, began: float, *, reads: bool) -> None:
        """A call worked that began at that time: a read is a look at how things stand, anything else may be the step
        that was missing. What began before a call failed says nothing about it, be it an identical one."""
        if not self._held:
            return
        with self._lock:
            for key, held in [*self._held.items()]:
                if held.since <= began and (reads or held.effect is None):
                    del self._held[key]

    def release(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """The user says that the call may be run again."""
        with self._lock:
            self._held.pop(fingerprint(tool, arguments), None)
