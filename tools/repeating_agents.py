"""Agents that make the identical call again after it failed: at once, after a look, and never.

Nothing may be done twice before an agent has looked, whatever the agent does. An answer may allow a repetition itself,
since it states that nothing was done or that the call may be retried: that is the word of whoever wrote the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal

Way = Literal["at once", "after a look", "never"]
WAYS: Final[tuple[Way, ...]] = ("at once", "after a look", "never")
TIMES: Final = 3
"""How often an agent repeats a call."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What an agent learns from one answer."""

    ok: bool
    allows: bool = False
    """Whether a failure states that the identical call may be made again."""


@dataclass(slots=True)
class Trail:
    """What one agent did about one call."""

    id: str
    way: Way
    calls: int = 0
    looks: int = 0
    """Successful ones, with which a hold ends."""
    allowed: int = 0
    ok: bool = False

    def wrong(self, effects: int) -> list[str]:
        """What does not hold, given how often the call was really done."""
        if effects <= 1 + self.looks + self.allowed:
            return []
        return [f"{self.id} was done {effects} times, repeated {self.way}, after {self.looks} looks"]


async def repeat(
    id: str, way: Way, write: Callable[[], Awaitable[Answered]], look: Callable[[], Awaitable[bool]]
) -> Trail:
    """Make a call and repeat it in this way until it works."""
    trail = Trail(id, way)
    for number in range(1 if way == "never" else 1 + TIMES):
        # Only the first repetition has a look before it, so that those after it are held again.
        if number == 1 and way == "after a look":
            trail.looks += await look()
        answered = await write()
        trail.calls += 1
        trail.ok = answered.ok
        if answered.ok:
            break
        trail.allowed += answered.allows
    return trail


@dataclass(slots=True)
class Repeats:
    """The figures of many agents."""

    calls: int = 0
    done: int = 0
    looks: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, trail: Trail, effects: int) -> None:
        self.calls += trail.calls
        self.looks += trail.looks
        self.done += effects
        self.wrong += trail.wrong(effects)

    def __str__(self) -> str:
        figures = f"{self.calls} calls of agents that repeat, {self.looks} looks, {self.done} done"
        return f"{figures}: {len(self.wrong)} twice before a look"
