"""Asking the user instead of failing, by whatever means the era of the protocol has.

The handshake era sends a request in the middle of the call and waits; the stateless one answers with the question, and
the client makes the call again with the answer. Either way the tool runs again from its beginning, with the answer
among its arguments.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from failwell.formats import MODERN_ERA, Outcome
from failwell.model import Denied, NeedsInput, ToolError
from failwell.redact import Guard
from failwell.schema import branches_of, known_names, open_ended, resolve
from failwell.sdk import ElicitResult, InputRequiredResult

from .served_call import ServedCall

log = logging.getLogger("failwell.server")

KEY: Final = "failwell"
"""Names our question among those a result may hold, and marks the state that comes back as ours."""
ROUNDS: Final = 3
"""So often is asked within one call; who still needs something then tells the model."""
_STATE: Final = {KEY: int, "rounds": int, "answers": dict, "asked": list, "message": str}
# What a form may say about a value. The specification knows flat forms of primitive values.
_KEPT: Final = ("title", "description", "enum", "format", "minLength", "maxLength", "minimum", "maximum")
_PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean"})
_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
_REFUSALS: Final = {"decline": "declined to answer", "cancel": "dismissed the question"}


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user has said so far, and how often they were asked."""

    values: Mapping[str, Any]
    rounds: int


def can_ask(call: ServedCall) -> bool:
    """Whether the client puts forms to its user, and can be reached."""
    capabilities = call.request.session.client_capabilities
    offered = capabilities.elicitation if capabilities is not None else None
    if offered is None or (offered.form is None and offered.url is not None):
        return False
    return call.era >= MODERN_ERA or bool(call.request.session.can_send_request)


async def elicit(
    call: ServedCall, key: str, message: str, form: dict[str, Any], state: dict[str, Any]
) -> ElicitResult | InputRequiredResult | None:
    """The user's answer; the question, where the protocol has it answered by another call; None if it failed."""
    if call.era >= MODERN_ERA:
        from mcp_types import ElicitRequest, ElicitRequestFormParams

        params = ElicitRequestFormParams(message=message, requested_schema=form)
        return InputRequiredResult(
            input_requests={key: ElicitRequest(params=params)}, request_state=json.dumps(state, ensure_ascii=False)
        )
    try:
        answer: ElicitResult = await call.request.session.elicit_form(
            message, form, related_request_id=call.request.request_id
        )
        return answer
    except Exception as exc:
        # It said that it could, and could not. The model is told what is needed instead.
        log.info("%s could not ask the user: %s", call.tool[:200], type(exc).__name__)
        return None


def answer_to(call: ServedCall, key: str) -> ElicitResult | None:
    """What the client sends along when it makes a call again after this question; None if it sends nothing."""
    responses = call.params.get("inputResponses")
    if not call.goes_on or not isinstance(responses, Mapping) or key not in responses:
        return None
    try:
        return ElicitResult.model_validate(responses[key])
    except ValidationError:
        return ElicitResult(action="accept")


def read_answers(call: ServedCall) -> Answers | ToolError | None:
    """The answers of a call that is made again after a question; None for a call made anew, or after a question of the
    tool's own."""
    if call.era < MODERN_ERA or (answer := answer_to(call, KEY)) is None:
        return None
    # Nobody has sealed it: the server gets back whatever the client likes.
    try:
        state = json.loads(call.params.get("requestState") or "")
    except (TypeError, ValueError, RecursionError):
        return None
    is_ours = isinstance(state, dict) and all(isinstance(state.get(name), kind) for name, kind in _STATE.items())
    if not is_ours or not all(isinstance(name, str) for name in state["asked"]):
        return None
    return _read(answer, state["asked"], state["message"], Answers(state["answers"], max(0, state["rounds"])))


async def ask(
    call: ServedCall, question: NeedsInput, before: Answers, schema: Mapping[str, Any] | None, guard: Guard
) -> Answers | Outcome | InputRequiredResult:
    """Put the question to the user. Answers go on with the call; anything else ends it."""
    if before.rounds >= ROUNDS or not can_ask(call):
        return question
    asked = guard(question)
    form = form_for(asked, schema, guard)
    if form is None:
        return question
    names = list(form["properties"])
    state = {KEY: 1, "rounds": before.rounds, "answers": dict(before.values), "asked": names, "message": asked.message}
    answer = await elicit(call, KEY, asked.message, form, state)
    if isinstance(answer, ElicitResult):
        return _read(answer, names, asked.message, before)
    return question if answer is None else answer


def _read(answer: ElicitResult, asked: list[str], message: str, before: Answers) -> Answers | ToolError:
    if answer.action != "accept":
        return Denied(
            f"The user {_REFUSALS[answer.action]}: {message}",
            code="INPUT_DECLINED",
            suggestion="Go on without it, or tell the user what cannot be done.",
        )
    given = answer.content or {}
    return Answers({**before.values, **{name: given[name] for name in asked if name in given}}, before.rounds + 1)


def missing_arguments_question(error: Outcome) -> NeedsInput | None:
    """The question behind a failure that is nothing but missing arguments; None for any other.

    What an author's `required` says, the tool said while it ran: an answer would have it run once more.
    """
    if not isinstance(error, ToolError) or not error.fields or error.code == "MISSING_REQUIRED_FIELD":
        return None
    if any(problem.rule != "required" or len(problem.path) != 1 for problem in error.fields):
        return None
    names = [str(problem.path[0]) for problem in error.fields]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return NeedsInput(f"{error.tool} needs {listed}.", fields=names, reason="A required argument is missing")


def form_for(question: NeedsInput, schema: Mapping[str, Any] | None, guard: Guard) -> dict[str, Any] | None:
    """The form for the fields of a question; None if they do not fit in one, or must not be asked for in one."""
    known, root = known_names(schema), schema or {}
    properties: dict[str, Any] = {}
    for name in question.fields:
        # The specification forbids to ask for secrets in a form.
        if guard.secrets.hides((name,)) or (name not in known and not open_ended(schema)):
            return None
        entry: dict[str, Any] = {"type": "string"}
        if (argument := known.get(name)) is not None:
            argument = resolve(argument, root)
            choices = [argument["const"]] if "const" in argument else argument.get("enum")
            kind = argument.get("type")
            if kind is None and all(isinstance(value, str) for value in choices or [0]):
                kind = "string"
            if kind not in _PRIMITIVES or branches_of(argument, root):
                # Lists and objects.
                return None
            kept = {key: argument[key] for key in _KEPT if argument.get(key) is not None}
            entry = {"type": kind, **kept, **({"enum": choices} if choices else {})}
            if entry.get("format") not in _FORMATS:
                entry.pop("format", None)
            if kind != "string":
                entry.pop("enum", None)
        is_only = len(question.fields) == 1
        options = [each for each in question.options if each.field == name or (is_only and not each.field)]
        suggestions = question.suggestions.get(name)
        # Suggestions are examples: who gives some leaves room for another answer.
        closed = options and not suggestions and all(isinstance(option.value, str) for option in options)
        if closed and entry["type"] == "string":
            entry = {key: entry[key] for key in ("type", "title", "description") if key in entry}
            entry["oneOf"] = [{"const": option.value, "title": option.label} for option in options]
        elif suggestions:
            hint = f"For example: {', '.join(str(value) for value in suggestions[:5])}."
            entry["description"] = f"{entry['description']} {hint}" if entry.get("description") else hint
        properties[name] = entry
    return {"type": "object", "properties": properties, "required": list(properties)} if properties else None
