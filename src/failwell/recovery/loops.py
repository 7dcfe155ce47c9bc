"""The same call that keeps failing in the same way is not made for ever."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from failwell.model import Effect, Kind, Policy, ToolError, fingerprint

# As many calls as a loop can have steps, and no more than an agent can make by mistake.
_MOST_CALLS: Final = 1_000
# A look that tells that nothing was done is reason for one more call, and not for a loop of looks and calls.
_MOST_LOOKS: Final = 5
_MOST_PRINTS: Final = 32
_MOST_SAID: Final = 300
_ID: Final = re.compile(r"[^\W\d]{0,300}\d\S{0,300}")


@dataclass(slots=True)
class _Repeated:
    error: ToolError
    times: int
    until: float
    changes: int
    looks: int = 0
    check: str | None = None
    """The tool of the call that would tell how it stands."""
    is_alike: bool = True
    """Whether it was told in the same words each time."""


class LoopGuard:
    """Remembers which calls failed how, so that the same call is not made for ever."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._calls: OrderedDict[str, _Repeated] = OrderedDict()
        self._checks: Counter[str] = Counter()
        """How many of them name a call that would tell, by its tool: most name none, and need no looking through."""
        self._changes = 0
        self._prints: dict[int, tuple[Mapping[str, Any], str, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def changed(self) -> None:
        """Something was done that may have changed how things stand: what failed before may work now."""
        self._changes += 1

    def print_of(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The fingerprint of a call: asked for before the call is made and after it, so it is kept meanwhile, and no
        longer: what was sent may be large, or secret."""
        known = self._prints.get(id(arguments))
        if known is None or known[0] is not arguments or known[1] != tool:
            if len(self._prints) >= _MOST_PRINTS:
                self._prints.clear()
            # With what it is of: else another one could come to lie in its place.
            known = self._prints[id(arguments)] = arguments, tool, fingerprint(tool, arguments)
        return known[2]

    def worked(self, tool: str, arguments: Mapping[str, Any]) -> None:
        key = self.print_of(tool, arguments)
        self._prints.pop(id(arguments), None)
        self._forget(key)
        if not self._checks[tool]:
            return
        for known in self._calls.values():
            if known.times and known.looks < _MOST_LOOKS and _is_checked_by(known.error, tool, key):
                # Whoever looked, as told, knows how things stand: what the call says next is new.
                known.times -= 1
                known.looks += 1

    def failed(self, tool: str, arguments: Mapping[str, Any], error: ToolError, now: float) -> int:
        """How often this call has now failed in this way."""
        key = self.print_of(tool, arguments)
        self._prints.pop(id(arguments), None)
        before = self._known(key, now)
        is_same = before is not None and _same(before.error, error)
        times, looks = (before.times + 1, before.looks) if before is not None and is_same else (1, 0)
        is_alike = before is None or not is_same or (before.is_alike and _is_alike(before.error, error))
        self._forget(key)
        check = None if error.verify is None else error.verify.tool
        self._calls[key] = _Repeated(error, times, now + self.window(error), self._changes, looks, check, is_alike)
        if check is not None:
            self._checks[check] += 1
        while len(self._calls) > _MOST_CALLS:
            self._forget(next(iter(self._calls)))
        return times

    def _forget(self, key: str) -> None:
        known = self._calls.pop(key, None)
        if known is not None and known.check is not None:
            self._checks[known.check] -= 1
            if not self._checks[known.check]:
                del self._checks[known.check]

    def refuses(self, tool: str, arguments: Mapping[str, Any], now: float) -> tuple[ToolError, int] | None:
        """The failure that a call would only repeat, and how often it was seen; None if the call may be made."""
        if not self._calls:
            return None
        known = self._known(self.print_of(tool, arguments), now)
        if known is None or known.times < self._policy.loop_after:
            return None
        return known.error, known.times

    def is_alike(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this call failed with the same words each time, as far as it was seen here."""
        known = self._calls.get(self.print_of(tool, arguments))
        return known is None or known.is_alike

    def _known(self, key: str, now: float) -> _Repeated | None:
        known = self._calls.get(key)
        if known is None or now >= known.until or known.changes != self._changes:
            return None
        return known

    def window(self, error: ToolError) -> float:
        """A failure that passes is worth another try when its time has come, which is when the text says it is."""
        window = self._policy.loop_window
        if error.kind is not Kind.TRANSIENT:
            return window
        if error.retry_after is not None:
            return min(window, error.retry_after)
        is_harmless = error.retryable and error.effect is Effect.NONE
        return min(window, self._policy.first_wait(error) if is_harmless else self._policy.break_for)


def _is_checked_by(error: ToolError, tool: str, key: str) -> bool:
    check = error.verify
    return check is not None and check.tool == tool and fingerprint(tool, check.arguments or {}) == key


def _is_alike(one: ToolError, other: ToolError) -> bool:
    """Whether two messages say the same, but for the ids and the times in them."""
    return one.message == other.message or _said(one) == _said(other)


def _said(error: ToolError) -> str:
    return _ID.sub("#", error.message[:_MOST_SAID].lower())


def _same(one: ToolError, other: ToolError) -> bool:
    """Whether two failures are of the same way. Messages differ by the ids in them, so they are not compared."""
    return (
        one.kind is other.kind
        and one.code == other.code
        and [problem.path for problem in one.fields] == [problem.path for problem in other.fields]
    )
