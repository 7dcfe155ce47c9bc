"""What a model is told about a call that was not made, or that failed again, beyond the error itself."""

from __future__ import annotations

from typing import Final

from failwell.model import Kind, Policy, ToolError

from .attempts import NEVER_SENT

# A wait that a model, or its user, can be asked for.
_SOON: Final = 60.0
_WAYS_OUT: Final = {
    Kind.VALIDATION: "Change {what} before you call it again.",
    Kind.NOT_FOUND: "Use another one, or look for it first.",
    Kind.CONFLICT: "Look at how things stand first.",
    Kind.PERMISSION: "Ask the user.",
    Kind.TRANSIENT: "Do something else meanwhile, or tell the user.",
    Kind.INTERNAL: "Do something else, or tell the user.",
}
DONE_BEFORE: Final = "An earlier try, whose answer was lost, may have done it."


def repeated(error: ToolError, times: int, policy: Policy, *, is_alike: bool = True) -> str:
    """What must change, for a model that makes the same call again."""
    alike = " in the same way" if is_alike else ""
    if error.kind is Kind.TRANSIENT and error.retryable:
        # It may be made again, in its time.
        return f"The same call has now failed {times_of(times)}{alike}: calling sooner is no use."
    stopped = f" and will not be made again{_for_now(policy)}" if times >= policy.loop_after else ""
    return f"The same call has now failed {times_of(times)}{alike}{stopped}. {way_out(error)}"


def _for_now(policy: Policy) -> str:
    """For how long a call is not made: told where that is worth waiting for."""
    return f" for {policy.loop_window:g} seconds" if policy.loop_window <= _SOON else ""


def way_out(error: ToolError) -> str:
    what = ", ".join(problem.name for problem in error.fields if problem.name) or "the arguments"
    return _WAYS_OUT[error.kind].format(what=what)


def times_of(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def refuse_repeat(error: ToolError, times: int, policy: Policy, *, is_alike: bool = True) -> ToolError:
    """The answer to a call that is not made, because it would only fail as it did before."""
    alike = " in the same way" if is_alike else ""
    message = f"Not called{_for_now(policy)}: the same call failed {times_of(times)}{alike}. {error.message}"
    return error.replace(message=message, origin="local", authored=None, next_steps=(*error.next_steps, way_out(error)))


def refuse_broken(tool: str, failures: int, wait: float) -> ToolError:
    """The answer to a call that is not made, because the tool does not work at present."""
    message = f"Not called: {tool} failed {times_of(failures)} in a row."
    return ToolError(message, code="UNAVAILABLE", tool=tool, retry_after=max(0.1, round(wait, 1)), **NEVER_SENT)
