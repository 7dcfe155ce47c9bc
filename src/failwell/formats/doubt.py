"""What a model reads about a call that may have been done already.

The words were measured. After "do not repeat it" models repeated it; after a sentence that names the tool, says that it
may have been done already, and gives one next step, none did. The reason stands in brackets, never first, since it may
sound as if it would pass.
"""

from __future__ import annotations

from typing import Final

from failwell.model import HELD, IN_DOUBT, Action, Effect, ToolError, compact

ASK: Final = "Next: ask the user."
_LONGEST_REASON: Final = 500
_STATES: Final = {
    Effect.UNKNOWN: "{tool} failed part-way{reason}, so it may have been done already.",
    Effect.PARTIAL: "{tool} was done in part{reason}.",
    Effect.DONE: "{tool} was done, and failed after that{reason}.",
}
_LOST: Final = "The answer was lost, so {tool} may have been done already."
_TO_SEE: Final = {
    Effect.UNKNOWN: "to see whether it was",
    Effect.PARTIAL: "to see what was done, then do only the rest",
    Effect.DONE: "to see what came of it",
}


def doubt(error: ToolError, *, with_reason: bool = True) -> str:
    """How the call stands; the reason is left out where it stands beside this already."""
    if error.effect not in IN_DOUBT:
        return ""
    if error.code == HELD and error.message:
        return error.message if with_reason else ""
    tool = _name(error)
    if error.effect is Effect.UNKNOWN and error.delivery == "unanswered":
        return _LOST.format(tool=tool)
    # A crash names its tool in front, as the log does.
    reason = " ".join(error.message.split()) if with_reason else ""
    reason = reason.rstrip(".").removeprefix(f"[{tool}] ")
    if len(reason) > _LONGEST_REASON:
        reason = reason[: _LONGEST_REASON - 1] + "…"
    state = _STATES[error.effect].replace("{reason}", f" ({reason})" if reason else "")
    return state.replace("{tool}", tool[:1].upper() + tool[1:] if error.tool is None else tool)


def next_step(error: ToolError) -> str:
    """The one thing to do about it: the call that tells, or to ask."""
    effect = error.effect
    if effect not in IN_DOUBT:
        return ""
    if error.verify is not None and error.verify.tool:
        return f"Next: call {call(error.verify)} {_TO_SEE[effect]}."
    return ASK


def recovery(error: ToolError) -> str:
    """How the call stands, what its author says about that, and one step, for where the reason is told already."""
    said = error.suggestion or ""
    if error.effect not in IN_DOUBT:
        return said
    step = "" if said and error.verify is None else next_step(error)
    if said and step and said[-1] not in ".!?:;…)":
        said += "."
    return " ".join(filter(None, (doubt(error, with_reason=False), said, step)))


def call(action: Action) -> str:
    """A call as a model copies it: the tool, and its arguments as JSON."""
    return f"{action.tool} with {compact(action.arguments)}" if action.arguments else action.tool


def _name(error: ToolError) -> str:
    if error.tool is None:
        return "the call"
    return error.tool if error.action is None else f"{error.tool}/{error.action}"
