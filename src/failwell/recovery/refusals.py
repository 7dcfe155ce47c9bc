"""What a model is told about a call that failed in the end, or was not made, beyond the error itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from failwell.formats import next_step, own_words, passed_on
from failwell.model import IN_DOUBT, Effect, Kind, Policy, ToolError

from .attempts import is_left_open

NEVER_SENT: Final[dict[str, Any]] = {"origin": "local", "delivery": "never_sent", "effect": Effect.NONE}
"""How an error says that its call was not made."""

# A wait that a model, or its user, can be asked for.
_SOON: Final = 60.0


def sharper(error: ToolError, times: int, policy: Policy, *, is_alike: bool = True) -> str:
    """What must change, for a model that makes the same call again."""
    alike = own_words.ALIKE if is_alike else ""
    if error.kind is Kind.TRANSIENT and error.retryable:
        # It may be made again, in its time.
        return own_words.TOO_SOON.format(times=times_of(times), alike=alike)
    stopped = own_words.STOPPED.format(for_now=_for_now(policy)) if times >= policy.loop_after else ""
    return own_words.AGAIN.format(times=times_of(times), alike=alike, stopped=stopped, way_out=way_out(error))


def _for_now(policy: Policy) -> str:
    """For how long a call is not made: told where that is worth waiting for."""
    return own_words.FOR_NOW.format(seconds=f"{policy.loop_window:g}") if policy.loop_window <= _SOON else ""


def way_out(error: ToolError) -> str:
    if is_left_open(error):
        return own_words.LEFT_OPEN
    what = ", ".join(problem.name for problem in error.fields if problem.name) or "the arguments"
    return own_words.WAYS_OUT[error.kind].format(what=what)


def says_doubt(error: ToolError, content: Iterable[Any]) -> bool:
    """Whether a server's own text says that the call may have been done, and what to do about it."""
    told = " ".join(text for block in content if isinstance(text := getattr(block, "text", None), str))
    return next_step(error) in told and any(words in told for words in _DOUBTS)


_DOUBTS: Final = ("may have been done already", "was done in part", "was done, and failed")


def times_of(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def is_repeated(error: ToolError, times: int, policy: Policy, *, is_alike: bool = True) -> ToolError:
    """The answer to a call that is not made, because it would only fail as it did before."""
    told = passed_on(error)
    if error.effect in IN_DOUBT:
        # Those before may have been done, whatever becomes of this one.
        why = told.message.rstrip(".")
        like_that = own_words.LIKE_THAT if is_alike else ""
        message = why + own_words.AND_NOT_CALLED.format(times=times_of(times), like_that=like_that)
        return told.replace(message=message, origin="local")
    alike = own_words.ALIKE if is_alike else ""
    seen = own_words.FAILED_BEFORE.format(for_now=_for_now(policy), times=times_of(times), alike=alike)
    # Of what is left open, whoever knows the tools names the call that tells.
    steps = told.next_steps if is_left_open(error) else (*told.next_steps, way_out(error))
    return told.replace(message=f"{seen} {told.message}", origin="local", next_steps=steps)


def still_in_doubt(before: ToolError, now: ToolError) -> ToolError:
    """A call that did nothing this time, and may have been done the time before."""
    message = f"{before.message.rstrip('.')}; this time nothing was done: {now.message[:1].lower()}{now.message[1:]}"
    return before.replace(message=message, origin="local")


def is_broken(tool: str, failures: int, wait: float, last: ToolError | None = None) -> ToolError:
    """The answer to a call that is not made, because the tool does not work at present; `last` is how the same call
    failed before, if it was made."""
    if last is not None and last.effect in IN_DOUBT:
        # It must not be made later either, before somebody has looked.
        told = passed_on(last)
        why = told.message.rstrip(".")
        message = why + own_words.AND_LEFT_ALONE.format(tool=tool, times=times_of(failures))
        return told.replace(message=message, origin="local")
    message = own_words.LEFT_ALONE.format(tool=tool, times=times_of(failures))
    return ToolError(message, code="UNAVAILABLE", retry_after=max(0.1, round(wait, 1)), **NEVER_SENT)
