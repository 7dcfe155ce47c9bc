"""`text`: one or two plain sentences that are enough by themselves.

Many clients show a model nothing but this, and what makes a model recover is a sentence that names the next action:
which call, which argument, how many seconds, or to ask, or to stop.
"""

from __future__ import annotations

import re
from typing import Final

from failwell.model import (
    IN_DOUBT,
    UNSET,
    Action,
    Effect,
    FieldError,
    Json,
    Kind,
    NeedsInput,
    Option,
    Patch,
    Path,
    Strategy,
    ToolError,
    compact,
    rfc3339,
)

from .doubt import doubt, effect_in, harmless, next_step
from .wire import Format, build, whole
from .xml_writer import field_text, missing_field

_BY_STRATEGY: Final = {
    Strategy.USER_ACTION: "Ask the user: something has to be changed first.",
    Strategy.ABORT: "Tell the user that it failed.",
}
_BY_KIND: Final = {
    Kind.VALIDATION: "Correct the arguments, then call again.",
    Kind.NOT_FOUND: "Look for another one; the same call will fail again.",
    Kind.CONFLICT: "Look at how things stand before calling again.",
}
_NO_TALK: Final = " Do not explain the error."
USUAL_WAIT: Final = 5
"""How many seconds a model is told to wait where nobody named a delay."""


def dump(error: ToolError) -> str:
    if error.effect in IN_DOUBT and error.is_error:
        return " ".join(sentence for sentence in (doubt(error), *_after_doubt(error)) if sentence)
    sentences = [_sentence(as_prose(error.message)) or _sentence(error.title)]
    problems = [problem for problem in error.fields if not _is_told(error, problem)]
    sentences += [f"{problem.name}: {_sentence(field_text(problem))}" for problem in problems]
    if len(sentences) == 2 and sentences[1].startswith(sentences[0].rstrip(".")):
        # A message that is its one problem in other people's words would say it twice.
        del sentences[0]
    sentences += next_action(error)
    return " ".join(sentence for sentence in sentences if sentence)


def _is_told(error: ToolError, problem: FieldError) -> bool:
    """Whether the message says of an argument all there is to say."""
    return problem.rule == "required" and missing_field(error.code, error.message) == problem.name


def as_prose(message: str) -> str:
    """A message that cannot be taken for an error in one of the other formats."""
    looks_structured = message.lstrip()[:1] in ("{", "<") or message.startswith("Error ")
    return f"Error: {message}" if looks_structured else message


def next_action(error: ToolError) -> list[str]:
    """The sentences that say what to do: the author's, completed with what the fields know and they leave out."""
    if error.effect in IN_DOUBT and error.is_error:
        return [doubt(error, with_reason=False), *_after_doubt(error)]
    said = _advice(error)
    if error._authored and error.standing == "quoted" and not error.patch and not error.actions:
        # What is only guessed from somebody's words is no reason to add to them.
        return said
    told = " ".join(said)
    if error.retry_after is not None and (wait := _seconds(error.retry_after)) not in told:
        said.append(f"Wait {wait}, then make the same call again.")
    elif error.reset_at is not None and error.retry_after is None:
        said.append(f"Wait until {rfc3339(error.reset_at)}, then make the same call again.")
    if changes := _changes(error):
        lead = "Call again with" if mends_all(error) else "Certain so far:"
        said.append(f"{lead} {', '.join(changes)}.")
    if calls := _calls(error, told):
        said.append(f"Call {calls}.")
    if not said:
        said = [_default(error)]
    return [sentence for sentence in said if sentence]


def usual_action(error: ToolError) -> list[str]:
    """What is to be done by the kind of the error, where nobody said anything else."""
    usual = _default(error)
    return [usual] if usual and next_action(error) == [usual] else []


def _advice(error: ToolError) -> list[str]:
    """What the author says to do."""
    # Contract 002 ends its advice so; a text that has a call made again forbids nothing.
    told = (error.suggestion or "").removesuffix(_NO_TALK)
    said = [_sentence(told)] if told else []
    return [*said, *map(_sentence, error.next_steps)]


def _after_doubt(error: ToolError) -> list[str]:
    """What to do about a call that may have been done: what the author says, and one step."""
    said = [sentence for sentence in _advice(error) if harmless(error, sentence)]
    if error.verify is not None and error.verify.tool:
        return [*said, next_step(error)]
    if error.effect is Effect.PARTIAL and (changes := _changes(error)):
        return [*said, f"Next: call {error.tool or 'it'} for the rest, with {', '.join(changes)}."]
    # The call itself is no way out, unless it goes on where it stopped.
    others = error.replace(actions=[each for each in error.actions if error.may_repeat or each.tool != error.tool])
    if calls := _calls(others, " ".join(said)):
        return [*said, f"Next: call {calls}."]
    return said or [next_step(error)]


def _changes(error: ToolError) -> list[str]:
    return [_change(change) for change in error.patch if _is_whole(change)]


def _calls(error: ToolError, told: str) -> str:
    """The calls that help and are not named yet."""
    return " or ".join(call for call in map(_call, error.actions) if call and not _names(told, call))


def _seconds(delay: float) -> str:
    """A delay as people say it, never shorter than it is."""
    number = whole(delay) if delay >= 10 else whole(delay * 10) / 10
    return "1 second" if number == 1 else f"{number:g} seconds"


def _default(error: ToolError) -> str:
    if not error.is_error:
        return ""
    if error.fields:
        return "Correct these arguments and call again."
    if error.retryable and error.recoverable and error.strategy is Strategy.RETRY:
        return f"Wait {USUAL_WAIT} seconds, then make the same call again."
    if holders := ", ".join(dict.fromkeys(conflict.holder for conflict in error.conflicts if conflict.holder)):
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


def mends_all(error: ToolError) -> bool:
    """Whether the known changes are enough: one for each problem, or for the unknown name that caused it."""
    reached: set[Path] = set()
    for change in error.patch:
        parent = change.path[:-1]
        reached.add(change.path)
        if change.to is not None:
            reached.add((*parent, change.to))
        if change.op != "set":
            reached.add(parent)
    return reached.issuperset([problem.path for problem in error.fields])


def _is_whole(change: Patch) -> bool:
    if change.op == "set":
        return bool(change.path) and change.value is not UNSET
    return bool(change.path) and (change.op == "remove" or change.to is not None)


def _change(change: Patch) -> str:
    name = ".".join(map(str, change.path))
    if change.op == "rename":
        return f"{change.to} instead of {name}"
    if change.op == "remove":
        return f"{name} left out"
    return f"{name}={_written(change.value)}"


def _written(value: Json) -> str:
    # The encoder takes a microsecond to set itself up, whatever it is to write.
    return str(value).lower() if type(value) in (bool, int) else compact(value)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?:;…)" else text + "."


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
    # But our own words for a call that may have been done are told by nothing else.
    effect = effect_in(text)
    fields = {"legacy": True} if effect is None else {"legacy": True, "code": "OUTCOME_UNKNOWN", "effect": effect}
    return build("text", text, fields, kind=Kind.INTERNAL)


FORMAT: Final = Format("text", "none, plain sentences", dump, load, str, ask=ask, prose=True, gated=False)
