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
# What a form may say about a value. The specification knows flat forms of primitive values.
_KEPT: Final = (
    *("title", "description", "enum", "format"),
    *("minLength", "maxLength", "minimum", "maximum"),
)
_PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean"})
_FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})
_SAID: Final = {"decline": "declined to answer", "cancel": "dismissed the question"}


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


def read_answers(call: ServedCall) -> Answers | ToolError | None:
    """What the client sends along when it makes a call again after a question; None for a call made anew."""
    if "inputResponses" not in call.params or call.era < MODERN_ERA:
        return None
    state = _state(call.params.get("requestState"))
    responses = call.params["inputResponses"]
    if state is None or not isinstance(responses, Mapping) or KEY not in responses:
        # The question was the tool's own.
        return None
    try:
        answer = ElicitResult.model_validate(responses[KEY])
    except ValidationError:
        answer = ElicitResult(action="accept")
    return _read(answer, state["asked"], str(state["message"]), Answers(state["answers"], state["rounds"]))


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
    if call.era >= MODERN_ERA:
        state = {
            KEY: 1,
            "rounds": before.rounds,
            "answers": dict(before.values),
            "asked": list(form["properties"]),
            "message": asked.message,
        }
        from mcp_types import ElicitRequest, ElicitRequestFormParams

        params = ElicitRequestFormParams(message=asked.message, requested_schema=form)
        return InputRequiredResult(
            input_requests={KEY: ElicitRequest(params=params)}, request_state=json.dumps(state, ensure_ascii=False)
        )
    try:
        answer = await call.request.session.elicit_form(asked.message, form, related_request_id=call.request_id)
    except Exception as exc:
        # It said that it could, and could not. The model is told what is needed instead.
        log.info("%s could not ask the user: %s", call.tool[:200], type(exc).__name__)
        return question
    return _read(answer, list(form["properties"]), asked.message, before)


def _read(answer: ElicitResult, asked: list[str], message: str, before: Answers) -> Answers | ToolError:
    if answer.action != "accept":
        return Denied(
            f"The user {_SAID[answer.action]}: {message}",
            code="INPUT_DECLINED",
            suggestion="Go on without it, or tell the user what cannot be done.",
        )
    given = answer.content or {}
    return Answers({**before.values, **{name: given[name] for name in asked if name in given}}, before.rounds + 1)


def _state(sent: object) -> dict[str, Any] | None:
    """Our state, if it is ours and whole: a server that does not seal it gets back whatever the client likes."""
    try:
        state = json.loads(sent) if isinstance(sent, str) else None
    except (ValueError, RecursionError):
        return None
    wanted = {KEY: int, "rounds": int, "answers": dict, "asked": list, "message": str}
    if not isinstance(state, dict) or any(not isinstance(state.get(name), kind) for name, kind in wanted.items()):
        return None
    state["rounds"] = max(0, state["rounds"])
    return state if all(isinstance(name, str) for name in state["asked"]) else None


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
    known = known_names(schema)
    properties: dict[str, Any] = {}
    for name in question.fields:
        if guard.secrets.hides((name,)):
            # The specification forbids to ask for secrets in a form.
            return None
        if name not in known and not open_ended(schema):
            return None
        entry = _entry(known.get(name), schema)
        if entry is None:
            return None
        choices = [
            option
            for option in question.options
            if option.field == name or (not option.field and len(question.fields) == 1)
        ]
        suggestions = question.suggestions.get(name)
        # Suggestions are examples: who gives some leaves room for another answer.
        closed = choices and not suggestions and all(isinstance(option.value, str) for option in choices)
        if closed and entry["type"] == "string":
            entry = {key: entry[key] for key in ("type", "title", "description") if key in entry}
            entry["oneOf"] = [{"const": option.value, "title": option.label} for option in choices]
        elif suggestions:
            hint = f"For example: {', '.join(str(value) for value in suggestions[:5])}."
            entry["description"] = f"{entry['description']} {hint}" if entry.get("description") else hint
        properties[name] = entry
    return {"type": "object", "properties": properties, "required": list(properties)} if properties else None


def _entry(schema: object, root: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """One value of a form, out of the argument's own schema; None for lists and objects."""
    if schema is None:
        return {"type": "string"}
    schema = resolve(schema, root or {})
    if branches_of(schema, root or {}):
        return None
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    kind = schema.get("type")
    if kind is None and all(isinstance(value, str) for value in schema.get("enum", [0])):
        kind = "string"
    if kind not in _PRIMITIVES:
        return None
    entry = {key: schema[key] for key in _KEPT if schema.get(key) is not None}
    if entry.get("format") not in _FORMATS:
        entry.pop("format", None)
    if kind != "string":
        entry.pop("enum", None)
    return {"type": kind, **entry}
