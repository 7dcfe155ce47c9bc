"""What a failed call may have changed: decided here, for server, client and relay, and by mechanism only.

Where a call was refused, what its tool is, the author's marks, what the transport saw and the author's own word decide.
No word of a message does: a tool that has paid and then raises `ValueError("bad amount")` looks like one that refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from .codes import IN_DOUBT, Effect, Strategy
from .fields import NOTHING_RAN
from .tool import Nature, Traits
from .tool_error import ToolError


class Source(Enum):
    """Where a failure inside a tool comes from."""

    STATED = 1
    """The author raised a `ToolError`, or mapped the exception to one."""
    REFUSED = 2
    """The author's own code raised a plain exception on purpose, or an upstream service answered 4xx."""
    ESCAPED = 3
    """Anything else: a timeout, a lost connection, a crash."""


HELD: Final = "CALL_IN_DOUBT"
"""The code of an answer that was given instead of running a call again."""
CERTAIN: Final = frozenset({Effect.PARTIAL, Effect.DONE})
_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)
# After these statuses the service may have done its work, or may do it later.
_PASSING_STATUSES: Final = frozenset({408, 425, 429})


def is_refusal_status(status: int | None) -> bool:
    """Whether an upstream service refused a request by this status."""
    return status is not None and 400 <= status < 500 and status not in _PASSING_STATUSES


def effect_of_escape(nature: Nature) -> Effect | None:
    """What an exception that escaped a tool says: it proves nothing about what the tool did before."""
    if nature is Nature.READ:
        return Effect.NONE
    return Effect.UNKNOWN if nature is Nature.WRITE else None


def effect_of_raise(error: ToolError, nature: Nature, source: Source, marked: Effect | None) -> Effect | None:
    """What a failure inside a tool says of its call; None where nobody said. `marked` is what the marks say."""
    if source is Source.STATED and error.given("effect"):
        # Only marks can prove it false.
        return marked if error.effect is Effect.NONE and marked in CERTAIN else error.effect
    if nature is Nature.READ and marked not in IN_DOUBT:
        return Effect.NONE
    if source is Source.STATED and marked not in IN_DOUBT:
        return error.effect or marked
    if marked is not None:
        # It does not matter what was done of what may be done twice.
        return None if nature is Nature.IDEMPOTENT and marked is not Effect.NONE else marked
    if source is Source.REFUSED:
        return None
    return error.effect if error.effect in CERTAIN else effect_of_escape(nature)


def effect_seen(error: ToolError, tool: Traits) -> Effect | None:
    """What a failure that was seen from outside says of its call: what the transport saw or the server stated."""
    effect = error.effect
    if error.delivery in NOTHING_RAN:
        return Effect.NONE
    if effect is Effect.NONE and error.standing == "quoted":
        # Somebody's words.
        return None
    if effect in IN_DOUBT and effect not in CERTAIN and tool.repeatable:
        return Effect.NONE if tool.nature is Nature.READ else None
    return effect


def withhold_retry(error: ToolError, *, as_written: bool = True, **changes: Any) -> ToolError:
    """The failure of a write of which nobody says what it did: the words stand as they are, and no program is invited
    to make the same call again. `changes` are made in it, too."""
    changes |= {"authored": True} if as_written else {}
    if error.strategy is Strategy.RETRY:
        changes |= {"strategy": Strategy.USER_ACTION, "recoverable": False}
    return error.replace(**(changes | {"retry_after": None, "reset_at": None}))


def effect_of_attempts(error: ToolError, tool: Traits, earlier: Iterable[ToolError]) -> Effect | None:
    """What all attempts at one call may have done together, where `error` is the last."""
    last = effect_seen(error, tool)
    effects = [effect_seen(each, tool) for each in earlier if each is not error]
    if tool.nature is Nature.READ and last not in CERTAIN:
        return Effect.NONE
    if worst := next((each for each in _WORST_FIRST if each is last or each in effects), None):
        return worst
    # That nothing was done has to be so of each of them.
    return last if all(each is Effect.NONE for each in effects) else None
