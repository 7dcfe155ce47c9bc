"""Messages that are no requests, and requests that nothing can answer: what they are answered, and one log line."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from failwell.formats import META_KEY, jsonrpc
from failwell.model import FieldError, ToolError, text
from failwell.observe import log_failure
from failwell.readers import from_pydantic
from failwell.schema import nearest
from failwell.sdk import ErrorData, MCPError, client_methods, protocol_error

from .options import Options

log = logging.getLogger("failwell.server")

CLIENT_METHODS: Final = client_methods()

_NAMES: Final = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "JSONRPC_INTERNAL_ERROR",
}
# What the SDK says of parameters that its models do not take, and of any request before the handshake.
SDK_WORDS: Final = "Invalid request parameters"
_DUMPS: Final = ("Parse error", "Validation error: ")
_NO_JSON: Final = "The message is not JSON."
_LONGEST: Final = 200


class Refusal(NamedTuple):
    """What is wrong with a message, whose it is, and whether JSON-RPC has it answered."""

    error: ToolError
    id: Any
    method: str
    is_owed: bool = True


class Request(NamedTuple):
    """A request: enough of it to know another by the same id. Without an id nobody can answer it."""

    id: str | int | None
    method: str


def read_message(raw: str | bytes) -> Request | Refusal | None:
    """What a message is that has not been read by anybody: a request, one that is wrong, or something else."""
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return Refusal(ToolError(_NO_JSON, code="PARSE_ERROR"), None, "")
    refusal = refused(message)
    if refusal is not None:
        return refusal
    is_request = "method" in message and ("id" in message or message["method"] in CLIENT_METHODS)
    return Request(message.get("id"), message["method"]) if is_request else None


def refused(message: Any) -> Refusal | None:
    """What is wrong with a message; None if nothing is, as far as can be told before its method is known."""
    if not isinstance(message, Mapping):
        more = "; send one message at a time" if isinstance(message, list) else ""
        return Refusal(ToolError(f"A request must be a JSON object{more}.", code="INVALID_REQUEST"), None, "")
    if is_answer(message):
        return None
    method, id, params = message.get("method"), message.get("id"), message.get("params")
    # The SDK takes null for no parameters, and what a method wants of them is looked at where it is known.
    error = jsonrpc.check_request({name: message[name] for name in message if name != "params" or params is not None})
    if error is not None and error.code == "INVALID_PARAMS":
        error = None
    if error is None and "id" in message and not is_request_id(id):
        error = ToolError('The field "id" must be a text or a whole number.', code="INVALID_REQUEST")
    if error is None and isinstance(params, list):
        error = ToolError('The field "params" must be an object.', code="INVALID_PARAMS")
    if error is None:
        return None
    named = method if isinstance(method, str) else ""
    # JSON-RPC answers no notification, whatever is wrong with it; without a method it is not even that.
    return Refusal(error, id if can_be_sent(id) else None, named, "id" in message or not named)


def is_answer(message: Any) -> bool:
    """Whether it looks like the answer to a question of the server: its id is the server's own."""
    return isinstance(message, Mapping) and "method" not in message and bool(message.keys() & {"result", "error"})


def can_be_sent(id: object) -> bool:
    """Whether an id can stand in an answer: half a character cannot."""
    return jsonrpc.is_id(id) and not (isinstance(id, str) and any("\ud800" <= each <= "\udfff" for each in id))


def is_request_id(value: object) -> bool:
    """Whether MCP takes `value` for the id of a request."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


class WrongRequests:
    """Answers for a server, by its options."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @staticmethod
    def duplicate_id(request: Request) -> Refusal:
        """A request with the id of one that has no answer yet."""
        said = "Another request with this id has not been answered yet; use a new id."
        return Refusal(ToolError(said, code="INVALID_REQUEST"), request.id, request.method)

    def log_notification(self, method: str) -> None:
        """Write down that a request has no id: a notification, by the letter of JSON-RPC, which is not answered."""
        said = "A message without an id is a notification, and is not answered."
        self._log(ToolError(said, code="INVALID_REQUEST"), method, None)

    def to_error(self, refusal: Refusal) -> dict[str, Any]:
        """The error object that answers it; one line of the log, too."""
        self._log(refusal.error, refusal.method, refusal.id)
        is_own = self._options.form == jsonrpc.FORMAT.name
        return jsonrpc.dump(self._options.guard(refusal.error), actionable=is_own)

    def invalid_params(self, exc: Exception, method: str, params: Any, id: Any) -> MCPError:
        """For parameters that the method does not take; `exc` is pydantic's, whose text would quote them."""
        request = {"jsonrpc": "2.0", "method": method, "params": {} if params is None else params}
        if (error := jsonrpc.check_request(request)) is None:
            fields = [
                # The models of the SDK put everything under one name, which nobody sends twice.
                replace(each, path=each.path[1:]) if each.path[:1] == ("params",) and len(each.path) > 1 else each
                for each in from_pydantic(exc).fields
            ]
            names = ", ".join(each.name for each in fields) or "params"
            error = ToolError(f"Invalid parameters: {names}.", code="INVALID_PARAMS", fields=fields)
        wire = self.to_error(Refusal(error, id, method))
        return protocol_error(wire["code"], wire["message"], wire["data"])

    def complete_error(self, error: ErrorData, method: str, id: Any) -> ErrorData | None:
        """A protocol error of somebody else's with what the contract has in its data; None where nothing is to add."""
        number = -32600 if error.message.startswith(_DUMPS[1]) else error.code
        name = _NAMES.get(number)
        if name is None or (isinstance(error.data, Mapping) and error.data.keys() & {"mcp_error_code", META_KEY}):
            return None
        if method == "tools/call" and isinstance(error.data, Mapping):
            # Of a tool, whose author says what they want to say.
            return None
        said, own = error.message, dict[str, Any]()
        title: str | None = said
        if error.message == SDK_WORDS and not error.data:
            said, title = "The connection is not initialized; send initialize first.", None
        elif error.message.startswith(_DUMPS):
            # Followed by what pydantic says, which quotes what was sent.
            said = _NO_JSON if error.code == -32700 else "The message is neither a request nor an answer."
            title = None
        elif error.code == -32601:
            asked = error.data if isinstance(error.data, str) else method
            said, own = f"The method {asked[:_LONGEST]!r} does not exist.", {"method": asked[:_LONGEST]}
        elif isinstance(error.data, Mapping):
            own = dict(error.data)
        elif error.data:
            own = {"data": error.data}
        whole = ToolError(said, code=name, title=title, details=own)
        wire = self.to_error(Refusal(whole, id, method))
        return ErrorData(code=number, message=wire["message"], data=wire["data"])

    def _log(self, error: ToolError, method: str, id: Any) -> None:
        logger, guard = self._options.logger or log, self._options.guard
        request_id = id if id is None or is_request_id(id) else str(id)
        log_failure(logger, error, tool=text(method) or "request", guard=guard, request_id=request_id)


def no_such(kind: str, name: str, names: Iterable[str]) -> ToolError:
    """The error for something the server does not have, with the nearest that it has.

    >>> no_such("prompt", "sumarize", ["summarize"]).suggestion
    "Did you mean 'summarize'?"
    """
    asked = name[:200]
    meant = nearest(asked, list(names))
    return ToolError(
        f"There is no {kind} {asked!r}.", code="NOT_FOUND", suggestion=f"Did you mean {meant!r}?" if meant else None
    )


def missing_arguments(prompt: Any, arguments: Mapping[str, Any] | None) -> ToolError | None:
    """The error for a prompt that was not given all it needs."""
    given = arguments or {}
    missing = [each.name for each in prompt.arguments or () if each.required and each.name not in given]
    if not missing:
        return None
    return ToolError(
        f"Arguments of the prompt {prompt.name!r} are missing: {', '.join(missing)}.",
        code="VALIDATION_ERROR",
        fields=[
            FieldError((name,), "Required", rule="required", expected="Expected type: string.") for name in missing
        ],
    )
