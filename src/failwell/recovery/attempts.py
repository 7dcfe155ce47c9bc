"""What several attempts at one call have in common: the waits between them, and what they may have done together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from failwell.model import (
    ADVICE,
    IN_DOUBT,
    NOTHING_RAN,
    Effect,
    ToolError,
    Traits,
    effect_of_attempts,
    is_same_tool,
    retry_rules_of,
    withhold_retry,
)

NEVER_SENT: Final[dict[str, Any]] = {"origin": "local", "delivery": "never_sent", "effect": Effect.NONE}
"""How an error says that its call was not made."""


def spread(delay: float, error: ToolError, chance: float) -> float:
    """How long to wait: not earlier than the server says, and not every agent at the same moment; where it says
    nothing, anywhere up to then. `chance` is a number from 0 to 1."""
    if error.retry_after is not None or error.reset_at is not None:
        return delay * (1 + chance / 10)
    # A server that is being started anew takes its time: whoever knocks at once has only used up an attempt.
    return delay * ((1 + chance) / 2 if error.delivery == "never_sent" else chance)


def is_undone(outcome: object) -> bool:
    """Whether a server states that the call did nothing, or it was never sent."""
    if not isinstance(outcome, ToolError) or outcome.effect is not Effect.NONE:
        return False
    return outcome.standing == "stated" or outcome.delivery in NOTHING_RAN


def of_this_call(error: ToolError, tool: str) -> ToolError:
    """The error, unless it names another tool: then it is what a server was told that the called one asked, and was
    passed on. Whoever stands in between may have put a name of their own before that of the tool."""
    if error.tool is None or not tool or error.tool == tool:
        return error
    is_whole = error.origin == "peer" and retry_rules_of(error.format).relayed
    if not is_whole or is_same_tool(tool, error.tool):
        return error
    return error.replace(standing="quoted", effect=None, format=None, tool=tool)


def has_escaped(error: object) -> bool:
    """Whether it was made of an exception that came out of a function, not of an answer, nor of what carries it."""
    return isinstance(error, ToolError) and error.origin == "local" and error.delivery is None


def is_in_words(error: ToolError) -> bool:
    """Whether a peer said only in words how the call failed."""
    return error.origin == "peer" and error.standing == "quoted" and not retry_rules_of(error.format).relayed


def in_all(error: ToolError, tool: Traits, earlier: Sequence[ToolError] = ()) -> ToolError:
    """The last failure, with what all attempts together may have done."""
    effect = effect_of_attempts(error, tool, earlier)
    if effect is not error.effect:
        # Without a word about it, what follows from the kind would speak; and it is no time to propose the next call.
        advice = dict.fromkeys(ADVICE) if effect in IN_DOUBT and error.standing == "quoted" else {}
        verify = {"verify": None} if effect not in IN_DOUBT else {}
        standing = error.standing if effect else "quoted"
        error = error.replace(effect=effect, standing=standing, **advice, **verify)
    if tool.writes and error.effect is None and error.standing == "quoted":
        return withhold_retry(error)
    return error.replace(authored=True) if is_in_words(error) and not error.authored else error
