"""What a model reads about a call that may have been done already.

The words were measured. After "do not repeat it" models repeated it; after a sentence that names the tool, says that it
may have been done already, and gives one next step, none did. A reason that sounds as if it would pass stands in
brackets, never first, and nothing here says what not to do.
"""

from __future__ import annotations

import re
from typing import Final

from failwell.guards import CITATION, cited, in_one_line
from failwell.model import IN_DOUBT, Action, Effect, ToolError, compact

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
    tool = _name(error)
    if error.effect is Effect.UNKNOWN and error.delivery == "unanswered":
        return _LOST.format(tool=tool)
    # A crash names its tool in front, as the log does.
    reason = " ".join(reason_of(error.message).split()) if with_reason else ""
    reason = reason.rstrip(".").removeprefix(f"[{tool}] ")
    if len(reason) > _LONGEST_REASON:
        reason = reason[: _LONGEST_REASON - 1] + "…"
    state = _STATES[error.effect].replace("{reason}", f" ({reason})" if reason else "")
    return state.replace("{tool}", tool[:1].upper() + tool[1:] if error.tool is None else tool)


def reason_of(message: str) -> str:
    """Why, without sentences that have the call made again: a model does what it reads last."""
    kept, end = [], 0
    message = in_one_line(message)
    # What is cited stays so, however much is left of it.
    for cite in CITATION.finditer(message):
        kept += [
            _reason(message[end : cite.start()]),
            cited(_reason(cite["said"] or cite["quoting"] or "", is_cited=True)),
        ]
        end = cite.end()
    if not kept:
        return _reason(message)
    parts = (each.strip() for each in (*kept, _reason(message[end:])))
    return " ".join(filter(None, parts)).replace(" ;", ";").replace('" . ', '". ').replace("” . ", "”. ")


def _reason(message: str, *, is_cited: bool = False) -> str:
    sentences = _SENTENCE.split(" ".join(message.split()))
    kept = [told for sentence in sentences if (told := _told(sentence, is_cited=is_cited))]
    return message if kept == sentences else " ".join(kept)


def _told(sentence: str, *, is_cited: bool) -> str:
    """What a sentence says happened: all of it, or what stands before the advice, as in "Too many calls, try again".

    That nothing was done is no word of ours while that is in doubt; that somebody said so is so.
    """
    if _STEP.match(sentence) or (not is_cited and _DENIES.search(sentence)):
        return ""
    if not _AGAIN.search(sentence):
        return sentence
    head = _before_advice(_CLAUSE.split(sentence, maxsplit=1)[0])
    if not head or (" " not in head and not _CAUSE.fullmatch(head)):
        return ""
    # Who cites half a sentence says so.
    return f"{head} …" if is_cited else head


def _before_advice(clause: str) -> str:
    """What stands in a clause before what is to be done, as in "500 Internal Server Error: Please retry"."""
    kept: list[str] = []
    for part in clause.split(": "):
        if _AGAIN.search(part) or _ORDER.match(part):
            break
        kept.append(part)
    return ": ".join(kept)


def next_step(error: ToolError) -> str:
    """The one thing to do about it: the call that tells, or to ask."""
    effect = error.effect
    if effect not in IN_DOUBT:
        return ""
    if error.verify is not None and error.verify.tool:
        return f"Next: call {call(error.verify)} {_TO_SEE[effect]}."
    return ASK


def to_see(error: ToolError, check: Action | None) -> str:
    """The step that shows what came of a call of which nothing is said; to ask, where no call does."""
    return next_step(error.replace(effect=Effect.DONE, verify=check))


def recovery(error: ToolError) -> str:
    """How the call stands, what its author says about that, and one step, for where the reason is told already."""
    if error.effect not in IN_DOUBT:
        return error.suggestion or ""
    said = harmless(error, error.suggestion)
    step = "" if said and error.verify is None else next_step(error)
    if said and step and said[-1] not in ".!?:;…)":
        said += "."
    return " ".join(filter(None, (doubt(error, with_reason=False), said, step)))


def author_of(recovery: str) -> str | None:
    """What the author says in a text that `recovery` made; all of it where it was somebody else's."""
    stands = _STANDS.match(recovery)
    if stands is None:
        return recovery or None
    said, step, _ = recovery[stands.end() :].rpartition("Next: ")
    return (said if step else recovery[stands.end() :]).strip() or None


def effect_in(text: str) -> Effect | None:
    """What a text says of its call in the words that are used here; None where it does not."""
    if " done" not in text:
        return None
    return next((effect for words, effect in _SAID if words in text), None)


_SAID: Final = (
    (" may have been done already.", Effect.UNKNOWN),
    (" was done in part", Effect.PARTIAL),
    (" was done, and failed after that", Effect.DONE),
)


def harmless(error: ToolError, said: str | None) -> str:
    """What an author says to do, unless it is to do again, or not to, what may have been done: models repeat both."""
    return said if said and (error.may_repeat or not _AGAIN.search(said)) else ""


# What has a call made again, by the language it is said in.
_INVITES: Final = {
    "English": (
        r"again|repeat(?:ed)?|once more|did you mean|re-?(?:try|tried|trying|send|submit|run)",
        r"re-?(?:issue|invoke|execute|attempt)|re-(?:do|call)|(?:a second|one more) time|another (?:try|go)",
        r"safe to (?:\w{1,20} ){0,2}twice|(?:call|run|make|send|do) (?:it|this) twice",
    ),
    "German": (r"erneut|nochmals?|noch ?ein ?mal|wiederhol(?:en|e)", r"(?:ein )?(?:zweites|weiteres) mal"),
    "French": (r"r[ée]essay(?:ez|er|e)|(?:à|de) nouveau|recommence[rz]|renvoye[rz]|encore une fois",),
    "Spanish": (r"reintent(?:e|ar|elo|arlo)|de nuevo|otra vez|vuelv[ae] a|nuevamente|repita(?:lo)?",),
}
_AGAIN: Final = re.compile(rf"(?i)\b(?:{'|'.join('|'.join(rows) for rows in _INVITES.values())})\b")
_DENIES: Final = re.compile(r"(?i)\bnothing (?:was|has been) (?:done|changed|written|sent|charged)\b")
_SENTENCE: Final = re.compile(r"(?<=[.!?]) ")
_CLAUSE: Final = re.compile(r"[,;(] ?| [-\u2013\u2014] ")
# What says in one word why: a name of an error, or a state.
_CAUSE: Final = re.compile(
    r"[A-Z][A-Z0-9_]{3,40}|(?i:\w{1,60}(?:error|exception)|\w{0,60}(?:time-?out|conflict|deadlock|overloaded|unavailable"
    r"|busy|locked|aborted|throttled|crashed))"
)
_ORDER: Final = re.compile(r"(?i)(?:please|wait|just|if|when|to|you|in|after)\b")
# A sentence that is nothing but a step. Elsewhere the same words may be the cause: "a call with the same arguments".
_STEP: Final = re.compile(
    r"(?i)next: |(?:please |now |then |just )?(?:call|run|invoke|send|submit) \S{1,60} with the (?:very )?same\b"
)
_STANDS: Final = re.compile(
    r"(?:.{1,200}? (?:failed part-way, so it may have been done already|was done in part|was done, and failed after "
    r"that)|The answer was lost, so .{1,200}? may have been done already)\. ?"
)


def call(action: Action) -> str:
    """A call as a model copies it: the tool, and its arguments as JSON."""
    return f"{action.tool} with {compact(action.arguments)}" if action.arguments else action.tool


def _name(error: ToolError) -> str:
    if error.tool is None:
        return "the call"
    return error.tool if error.action is None else f"{error.tool}/{error.action}"
