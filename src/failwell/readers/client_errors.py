"""What a client meets instead of an answer: exceptions of the transports and the SDKs, and statuses of HTTP.

What it says comes from this side of the connection, so it says what became of the call: never sent, unanswered, or
answered by something that cannot be read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from failwell.formats import Outcome
from failwell.model import Delivery, Effect, NeedsInput, Standing, ToolError, pattern

from .exceptions.chain import chain, exc_text, leaves
from .exceptions.exception_table import is_stop_request, operation
from .http import from_http

BAD_ANSWER: Final = "The server's answer is no valid result."
_UNREADABLE: Final = "The server answered, but its answer cannot be read."
_UNABLE: Final = "This client cannot do what the server asks of it."
_CLOSED: Final = "The connection to the server was closed."
_LATE: Final = "The server did not answer in time."
_NO_CONNECTION: Final = "There is no connection to the server."
# What the Python SDK says about its own side, and we about frames that are none, with the numbers that go with it. A
# peer may use the same numbers, but not with these words and without data.
_LOCAL: Final = (
    (-32001, "timed out", "TIMEOUT", _LATE, "unanswered"),
    (408, "Timed out while waiting", "TIMEOUT", _LATE, "unanswered"),
    (-32001, "Timed out after", "TIMEOUT", _LATE, "unanswered"),
    (-32000, "Connection closed", "NETWORK_ERROR", _CLOSED, "unanswered"),
    (-32000, "SSE stream ended", "NETWORK_ERROR", "The connection to the server broke off.", "unanswered"),
    (-32600, "Redirect to", "NOT_CONFIGURED", "The address of the server leads elsewhere.", "unreadable"),
    (-32600, "with 202 Accepted", "UPSTREAM_ERROR", "The server says that no answer will come.", "unanswered"),
    # Who asks the client for something is at work on the call.
    (-32600, "not supported", "UNSUPPORTED", _UNABLE, "unreadable"),
    (-32600, "has no back-channel", "UNSUPPORTED", _UNABLE, "unreadable"),
    (-32600, "Unexpected content type", "UPSTREAM_ERROR", _UNREADABLE, "unreadable"),
    (-32700, "Failed to parse", "UPSTREAM_ERROR", _UNREADABLE, "unreadable"),
    (-32603, BAD_ANSWER, "UPSTREAM_ERROR", _UNREADABLE, "unreadable"),
)
# What the SDKs say by a bare RuntimeError.
_RUNTIME: Final = (
    ("Client is not connected", "NETWORK_ERROR", _NO_CONNECTION, "never_sent"),
    ("must be used within an async context", "NETWORK_ERROR", _NO_CONNECTION, "never_sent"),
    ("session was closed unexpectedly", "NETWORK_ERROR", _CLOSED, "unanswered"),
    ("Session task completed", "NETWORK_ERROR", _CLOSED, "unanswered"),
    ("Invalid structured content", "UPSTREAM_ERROR", "It worked, but its result breaks the tool's schema.", "worked"),
    ("has an output schema but did not", "UPSTREAM_ERROR", "It worked, but its result is missing.", "worked"),
)
# What became of a call, and what that says about its effect. An answer in somebody's words says nothing.
_BECAME: Final[dict[str, tuple[Delivery, Effect | None]]] = {
    "never_sent": ("never_sent", Effect.NONE),
    "unanswered": ("unanswered", Effect.UNKNOWN),
    "answered": ("answered", None),
    "unreadable": ("answered", Effect.UNKNOWN),
    "worked": ("answered", Effect.DONE),
}
# What a transport's exceptions mean to a tool is said of the services behind it; here they are the server's.
_WHOSE: Final = ("A service the tool needs", "The server")
_OF_SERVER: Final[dict[tuple[str | None, str], str]] = {
    ("TIMEOUT", "unanswered"): "No answer came in time.",
    ("TIMEOUT", "never_sent"): "The server could not be reached in time.",
    ("NETWORK_ERROR", "unanswered"): "The connection broke before the answer was complete.",
}
_BROKEN_STREAMS: Final = frozenset({"ClosedResourceError", "BrokenResourceError", "EndOfStream"})
# By the names that the two generations of the SDK have for it.
_PROTOCOL_ERRORS: Final = frozenset({"MCPError", "McpError"})
_UNHELPFUL: Final = "Server returned an error response"
# The protocol says 404 for a session that is not known. Servers and gateways also say it in words.
_NO_SESSION: Final = pattern(
    r"(?i)(?:no valid|invalid|unknown|expired) session|session (?:was )?(?:not found|terminated|expired)"
    r"|not initialized"
)
_FORGOTTEN: Final = "The server has forgotten the session."
# A task group wraps even one exception; more than these are an attack.
_MOST_LEAVES: Final = 100


class Http(NamedTuple):
    """What the HTTP layer saw of a call, which the SDK does not pass on."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    in_session: bool = False
    """Whether the request named its session: then a 404 means that the session is gone."""


def from_peer(error: ToolError) -> ToolError:
    """The error as the peer's answer. What nobody called an answer, such as a text by itself, is only quoted."""
    return error.replace(origin="peer", delivery="answered", standing=error.standing or "quoted")


def from_raised(exc: BaseException, http: Http | None) -> Outcome | Mapping[str, Any]:
    """What was raised instead of an answer: an outcome, or the response or result that it stands for, to be read."""
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    for leaf in islice(leaves(exc), _MOST_LEAVES):
        if is_stop_request(leaf) and not _is_cancelled(leaf):
            raise leaf
        for each in chain(leaf):
            found = _known(each, http)
            if found is not None:
                return found
    if http is not None:
        return from_peer(_answered(http))
    if _is_cancelled(exc):
        return _local("NETWORK_ERROR", "The connection to the server broke off.", "unanswered")
    error = operation(exc)
    delivery: Delivery = "never_sent" if error.effect is Effect.NONE else "unanswered"
    message = _OF_SERVER.get((error.code, delivery)) or error.message.replace(*_WHOSE)
    return error.replace(message=message, origin="local", delivery=delivery, debug=error.debug)


def unproven(found: Outcome) -> Outcome:
    """What an exception says of which nobody knows where it was raised: it may come out of the tool itself."""
    if not isinstance(found, ToolError) or found.origin != "local":
        return found
    is_lost = found.delivery == "unanswered" and found.code in ("TIMEOUT", "NETWORK_ERROR")
    return (
        found
        if found.delivery == "answered" or is_lost
        else found.replace(delivery=None, effect=None, standing="quoted")
    )


def lost_session(http: Http) -> ToolError | None:
    """What an HTTP answer to a call says if the session is gone; None if it is about something else.

    With a 404 to a request that names its session the protocol says so. That proves nothing about the call: it may have
    been lost with the session, or been passed on before. Other answers say it in words.
    """
    if http.status == 404 and http.in_session and not _is_of_method(http.body):
        return _local("UNAVAILABLE", _FORGOTTEN, "unanswered")
    if http.status in (400, 404) and _NO_SESSION.search(http.body.decode("utf-8", "replace")):
        return _local("UNAVAILABLE", _FORGOTTEN, "answered")
    return None


def from_post(http: Http) -> ToolError:
    """What an HTTP answer says of the call in whose answer's place it stands."""
    return lost_session(http) or from_peer(_answered(http))


def _known(exc: BaseException, http: Http | None) -> Outcome | Mapping[str, Any] | None:
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    name, module = type(exc).__name__, type(exc).__module__
    is_protocols = any(base.__name__ in _PROTOCOL_ERRORS for base in type(exc).__mro__)
    if is_protocols and isinstance(getattr(sent := getattr(exc, "error", None), "code", None), int):
        return _protocol(exc_text(exc), sent, http)
    # Arguments are checked on the other side, if at all: what a client checks is the answer.
    if name == "DecodingError" or (name == "ValidationError" and module.startswith("pydantic")):
        return _local("UPSTREAM_ERROR", _UNREADABLE, "unreadable")
    if name in _BROKEN_STREAMS and module.startswith("anyio"):
        return _local("NETWORK_ERROR", _CLOSED, "unanswered")
    if isinstance(exc, UnicodeError):
        return _local("VALIDATION_ERROR", "The arguments cannot be sent: they hold broken text.", "never_sent")
    if isinstance(exc, RuntimeError):
        for words, *local in _RUNTIME:
            if words in exc_text(exc):
                return _local(*local)
    if name == "ToolError" and module.startswith("fastmcp"):
        return {"content": [{"type": "text", "text": exc_text(exc)}], "isError": True}
    return None


def _protocol(message: str, sent: Any, http: Http | None) -> Outcome | Mapping[str, Any]:
    """A JSON-RPC error: the peer's, or what the SDK says in the peer's words about its own side."""
    lost = lost_session(http) if http is not None else None
    if lost is not None and (sent.data is None or lost.delivery == "unanswered"):
        return lost
    if sent.data is None:
        for number, words, code, text, became in _LOCAL:
            if sent.code == number and words in message:
                return _local(code, text, became)
        if http is None and _NO_SESSION.search(message):
            return _local("UNAVAILABLE", _FORGOTTEN, "answered")
        if http is not None and (message == _UNHELPFUL or http.status >= 400):
            return from_peer(_answered(http))
    error = {"code": sent.code, "message": message, **({} if sent.data is None else {"data": sent.data})}
    return {"jsonrpc": "2.0", "error": error}


def _is_of_method(body: bytes) -> bool:
    """Whether the server does not know the method, which some say with the same status."""
    try:
        message = json.loads(body) if b"-32601" in body else None
    except (ValueError, RecursionError):
        return False
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == -32601


def _answered(http: Http) -> ToolError:
    # A call is a POST: a status that says that something broke does not say before what.
    return from_http(http.status, dict(http.headers), http.body, method="POST")


def _local(code: str, message: str, became: str) -> ToolError:
    delivery, effect = _BECAME[became]
    standing: Standing | None = "quoted" if effect is None else None
    return ToolError(message, code=code, effect=effect, origin="local", delivery=delivery, standing=standing)


def _is_cancelled(exc: BaseException) -> bool:
    # Whoever has not imported asyncio, which takes a while, has cancelled nothing with it.
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(exc, asyncio.CancelledError)
