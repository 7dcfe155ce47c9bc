"""`text`: one or two plain sentences that are enough by themselves.

Many clients show a model nothing but this, and what makes a model recover is a sentence that names the next action:
which call, which argument, how many seconds, or to ask, or to stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from failwell.model import (
    IN_DOUBT,
    Action,
    Effect,
    FieldError,
    Json,
    Kind,
    NeedsInput,
    Option,
    Policy,
    Strategy,
    ToolError,
    compact,
    rfc3339,
)

from .doubt import doubt, next_step
from .next_call import changed, mends_all, next_call
from .wire import FIX_FIELDS, Format, build, whole
from .wrong_argument import ordered, reason, strange_names
from .xml import ROUTING, missing_field

_BY_STRATEGY: Final = {
    Strategy.USER_ACTION: "Ask the user: something has to be changed first.",
    Strategy.ABORT: "Next: end the task and report the failure. Do not call it again.",
}
_BY_KIND: Final = {
    Kind.VALIDATION: "Correct the arguments, then call again.",
    Kind.NOT_FOUND: "Look for another one; the same call will fail again.",
    Kind.CONFLICT: "Look at how things stand before calling again.",
}
_NO_TALK: Final = " Do not explain the error."
# What is said of arguments by ourselves, and by the validators of others, before it is said of each of them.
_OWN_MESSAGE: Final = re.compile(
    r"(?:Invalid arguments(?: for \S+)?|The arguments are invalid)"
    r"(?:: [^\s,]+(?:, [^\s,]+)*(?: and \d+ more)?)?\.(?: (The first \d+ of .+))?"
)
_HINTS: Final = re.compile(
    rf"(?:Did you mean [^?\n]{{1,300}} instead of [^?\n]{{1,300}}\?(?: |$))*(?:{re.escape(FIX_FIELDS)})?"
)
_HINTED: Final = ("Did you mean ", FIX_FIELDS)
_VALIDATORS: Final = re.compile(r"(?:Invalid arguments|Input validation error|\d+ validation errors?)\b")
_CLOSING: Final = ('"', "”", ")")
_ENDS: Final = ".!?:;…"
_USUAL: Final = Policy()


def stands_alone(error: ToolError) -> bool:
    """Whether somebody's words stand as they are. Nobody said what the call has done, so no format adds advice."""
    return bool(error.authored) and error.standing == "quoted" and error.effect not in IN_DOUBT


def dump(error: ToolError) -> str:
    if stands_alone(error):
        # Somebody's words, which stand as they are.
        steps = _usual_steps(error, None)
        words = error.message or f"{error.tool or 'The tool'} failed and gave no reason."
        return " ".join((_sentence(words), *steps)) if steps else words
    if error.effect in IN_DOUBT and error.is_error:
        return " ".join(sentence for sentence in (doubt(error), *_after_doubt(error)) if sentence)
    problems = [ordered(each) for each in error.fields] if error.fields else []
    return " ".join(filter(None, (*_reasons(error, problems), *_usual_steps(error, problems))))


def _reasons(error: ToolError, wrong: Sequence[FieldError]) -> list[str]:
    """What went wrong, each thing once: the message, and what it does not say of the arguments."""
    message = as_prose(error.message)
    problems = [_sentence(reason(each)) for each in wrong if not _is_told(error, each)] if wrong else []
    if not problems:
        return [_sentence(message) or _sentence(error.title)]
    theirs = error.message
    if (listed := _OWN_MESSAGE.fullmatch(theirs)) is not None:
        return [*problems, listed[1] or ""]
    if error.code in ROUTING:
        return problems
    if error.legacy and (
        _VALIDATORS.match(theirs) or any(theirs.startswith(f"{each.name}: ") for each in error.fields)
    ):
        # Other people's words, which were read into the problems.
        return problems
    if len(problems) == 1 and theirs.rstrip(".") in problems[0]:
        return problems
    spoken = theirs.casefold()
    return [_sentence(message), *(each for each in problems if each.casefold().rstrip(".") not in spoken)]


def reasons(error: ToolError) -> str:
    """The message of an error, or, where it is our own about wrong arguments, what is wrong with each of them."""
    if not error.fields or _OWN_MESSAGE.fullmatch(error.message) is None:
        return error.message
    return " ".join(filter(None, _reasons(error, [ordered(each) for each in error.fields])))


def _is_told(error: ToolError, problem: FieldError) -> bool:
    """Whether the message says of an argument all there is to say."""
    return problem.rule == "required" and missing_field(error.code, error.message) == problem.name


def as_prose(message: str) -> str:
    """A message that cannot be taken for an error in one of the other formats."""
    looks_structured = message.lstrip()[:1] in ("{", "<") or message.startswith("Error ")
    return f"Error: {message}" if looks_structured else message


def next_action(
    error: ToolError, *, whole_call: bool = True, problems: Sequence[FieldError] | None = None
) -> list[str]:
    """The sentences that say what to do: the author's, completed with what the fields know and they leave out.

    `whole_call` says that a call with other arguments is written out; `problems` are those of the error, in order.
    """
    if error.effect in IN_DOUBT and error.is_error:
        return [doubt(error, with_reason=False), *_after_doubt(error)]
    return _usual_steps(error, problems, whole_call=whole_call)


def _usual_steps(error: ToolError, problems: Sequence[FieldError] | None, *, whole_call: bool = True) -> list[str]:
    """The same of a call that was not done."""
    said = _advice(error)
    if stands_alone(error) and not error.patch and not error.actions and error.sent is None:
        # Of a write that may have been done nobody knows what to do next but whoever wrote the words.
        return said
    told = " ".join(said)
    if error.retry_after is not None and (wait := _seconds(error.retry_after)) not in told:
        said.append(f"Wait {wait}, then make the same call again.")
    elif error.reset_at is not None and error.retry_after is None:
        moment = rfc3339(error.reset_at)
        # A code that is not retryable may still know when it ends, such as contract 003's policy_denied_rate_limited.
        ends = error.strategy in (Strategy.ABORT, Strategy.USER_ACTION) and not error.retryable
        said.append(f"Not before {moment}." if ends else f"Wait until {moment}, then make the same call again.")
    # Our own words that were read back have it already.
    is_corrected = whole_call and bool(error.fields or error.patch) and error.is_error and "Next: " not in told
    step = next_call(error, problems) if is_corrected else ""
    # The whole call takes the place of the choices that its own tool offers.
    others = [each for each in error.actions if not step or each.tool != error.tool]
    if others and (calls := _calls(others, "" if told.endswith("?") else told)):
        # A question alone is no step.
        said.append(f"Next: call {calls}." if told.endswith("?") else f"Call {calls}.")
    if step:
        said.append(step)
    if not said:
        said = [_default(error)]
    return [sentence for sentence in said if sentence]


def usual_action(error: ToolError, policy: Policy = _USUAL) -> tuple[str, str] | None:
    """What is to be done by the kind of the error, where nobody said anything else: by default, and for whoever waits
    by `policy`."""
    usual = _default(error)
    return (usual, _default(error, policy)) if usual and next_action(error) == [usual] else None


def wait_step(error: ToolError, policy: Policy) -> str:
    """How long to wait before the same call is made again."""
    if error.reset_at is not None and error.retry_after is None:
        return f"Wait until {rfc3339(error.reset_at)}, then make the same call again."
    seconds = policy.first_wait(error) if error.retry_after is None else error.retry_after
    return f"Wait {_seconds(seconds)}, then make the same call again."


def _advice(error: ToolError) -> list[str]:
    """What the author says to do."""
    told, steps = error.suggestion or "", error.next_steps
    if not told and not steps:
        return []
    if error.fields and told.startswith(_HINTED) and _HINTS.fullmatch(told):
        # The next call says the same, unless a name has to be found for it.
        hints = told.removesuffix(FIX_FIELDS).strip()
        told = hints if any(map(strange_names, error.fields)) and not mends_all(error) else ""
    elif error.fields and error.code in ROUTING:
        told = ""
    # A text that has a call made again forbids nothing.
    told = told.removesuffix(_NO_TALK)
    said = [_sentence(told)] if told else []
    return [*said, *map(_sentence, steps)]


def _after_doubt(error: ToolError) -> list[str]:
    """What to do about a call that may have been done: what the author says, and one step."""
    # What mends wrong arguments is for a call that was not done.
    said = [] if error.fields else _advice(error)
    if error.verify is not None and error.verify.tool:
        return [*said, next_step(error)]
    if error.effect is Effect.PARTIAL and (changes := changed(error)):
        return [*said, f"Next: call {error.tool or 'it'} for the rest, with {', '.join(changes)}."]
    # The call itself is no way out, unless it goes on where it stopped.
    others = [each for each in error.actions if error.may_repeat or each.tool != error.tool]
    if calls := _calls(others, " ".join(said)):
        return [*said, f"Next: call {calls}."]
    return said or [next_step(error)]


def _calls(actions: Iterable[Action], told: str) -> str:
    """The calls that help and are not named yet."""
    return " or ".join(call for call in map(_call, actions) if call and not _names(told, call))


def _seconds(delay: float) -> str:
    """A delay as people say it, never shorter than it is."""
    number = whole(delay) if delay >= 10 else whole(delay * 10) / 10
    return "1 second" if number == 1 else f"{number:g} seconds"


def _default(error: ToolError, policy: Policy = _USUAL) -> str:
    if not error.is_error:
        return ""
    if error.fields or error.patch:
        return _BY_KIND[Kind.VALIDATION]
    if error.retryable and error.recoverable and error.strategy is Strategy.RETRY:
        return f"Wait {_seconds(policy.first_wait(error))}, then make the same call again."
    conflicts = error.conflicts
    if conflicts and (holders := ", ".join(dict.fromkeys(each.holder for each in conflicts if each.holder))):
        return f"It is held by {holders}; ask for it to be released."
    if error.kind is Kind.TRANSIENT:
        return _BY_STRATEGY[Strategy.ABORT]
    if error.code is None and error.kind is Kind.INTERNAL:
        # An author's bare sentence: it may say what to do, and nothing is known that could be added.
        return ""
    return _BY_STRATEGY.get(error.strategy) or _BY_KIND.get(error.kind, "")


def _call(action: Action) -> str:
    if not action.arguments:
        return action.tool
    arguments = ", ".join([f"{name}={_written(value)}" for name, value in action.arguments.items()])
    return f"{action.tool}({arguments})" if action.tool else arguments


def _names(told: str, call: str) -> bool:
    return call in told and re.search(rf"(?<![\w.]){re.escape(call)}(?!\w)", told) is not None


def _written(value: Json) -> str:
    # The encoder takes a microsecond to set itself up, whatever it is to write.
    return str(value).lower() if type(value) in (bool, int) else compact(value)


def _sentence(text: str) -> str:
    text = text.strip()
    # A sentence may end inside quotes or brackets.
    last = text[-2:-1] if text[-1:] in _CLOSING else text[-1:]
    return text if not text or last in _ENDS else text + "."


def ask(question: NeedsInput) -> str:
    sentences = [_sentence(question.message) or "The call needs an answer from the user."]
    for name, values in question.suggestions.items():
        sentences.append(f"{name} can be: {', '.join(str(value) for value in values)}.")
    if question.options:
        sentences.append(f"Options: {', '.join(_option(option) for option in question.options)}.")
    if question.fields:
        sentences.append(f"Ask the user for {', '.join(question.fields)}, then call again with the answer.")
    return " ".join(sentence for sentence in sentences if sentence)


def _option(option: Option) -> str:
    """What to send, and what it is called where that is something else."""
    value = option.value if isinstance(option.value, str) else _written(option.value)
    return value if option.label in ("", value) else f"{value} ({option.label})"


def load(text: str) -> ToolError | None:
    """Prose says nothing a program may rely on, so it counts as the kind that is given up."""
    if not text.strip():
        return None
    return build("text", text, {"legacy": True}, kind=Kind.INTERNAL)


FORMAT: Final = Format("text", "none, plain sentences", dump, load, str, ask=ask, prose=True, gated=False)
