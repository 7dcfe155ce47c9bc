"""Any outcome of a tool call, read: a result, a response, an exception of the SDKs or of a transport.

What comes back is None for a call that worked, a `NeedsInput`, or a `ToolError` that says where it comes from
(`origin`) and what became of the call (`delivery`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from failwell.classify import classify, from_http, is_order
from failwell.classify.chain import chain
from failwell.classify.telling import said
from failwell.formats import Outcome, parse
from failwell.model.error import ToolError
from failwell.model.fields import Delivery
from failwell.model.kinds import Effect
from failwell.model.needs import NeedsInput

# What the Python SDK says about its own side, with the numbers it says it with. A peer may use the same numbers, but
# not with these words and without data.
_LOCAL: Final = (
    (-32001, "timed out", "TIMEOUT", "The server did not answer in time.", "unanswered"),
    (-32000, "Connection closed", "NETWORK_ERROR", "The connection to the server was closed.", "unanswered"),
    (-32000, "SSE stream ended", "NETWORK_ERROR", "The connection to the server broke off.", "unanswered"),
    (-32600, "Session terminated", "UNAVAILABLE", "The server has forgotten the session.", "never_sent"),
    (-32600, "not supported", "UNSUPPORTED", "This client cannot do what the server asks of it.", "answered"),
)
_UNHELPFUL: Final = "Server returned an error response"


class Http(NamedTuple):
    """What the HTTP layer saw of a call, which the SDK does not pass on."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""


def read(outcome: object, *, http: Http | None = None) -> Outcome | None:
    """What an outcome of a call means; None if the call worked.

    `outcome` is a result or a response, as an object of an SDK or as its JSON, or the exception that came instead. An
    order to stop, such as KeyboardInterrupt, is no outcome, and is raised again. `http` is what the HTTP layer saw.
    """
    if isinstance(outcome, BaseException):
        return _raised(outcome, http)
    found = parse(outcome)
    if isinstance(found, NeedsInput):
        return found
    if isinstance(found, ToolError) and not found.legacy:
        return _from_peer(found)
    return _prose(outcome, found)


def _from_peer(error: ToolError) -> ToolError:
    return error.replace(origin="peer", delivery="answered")


def _prose(outcome: object, found: ToolError | None) -> ToolError | None:
    """A result whose text is all there is: an error if the result says so, or if the text leaves no doubt."""
    from failwell.classify.prose import from_text

    text, is_error = _text_of(outcome)
    if not text:
        return None if found is None else _from_peer(found)
    read = from_text(text, is_error=True if is_error or found is not None else None)
    return None if read is None else _from_peer(read)


def _text_of(outcome: object) -> tuple[str, bool]:
    """The text of a result, and whether it says that it is an error."""
    if isinstance(outcome, str):
        return outcome, False
    data = outcome if isinstance(outcome, Mapping) else _dumped(outcome)
    result = data.get("result") if "jsonrpc" in data and isinstance(data.get("result"), Mapping) else data
    assert isinstance(result, Mapping)
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
    return "\n".join(texts), result.get("isError", result.get("is_error")) is True


def _dumped(outcome: object) -> Mapping[str, Any]:
    dump = getattr(outcome, "model_dump", None)
    try:
        data = dump(by_alias=True, mode="json", exclude_none=True) if callable(dump) else None
    except Exception:
        data = None
    return data if isinstance(data, Mapping) else {}


def _raised(exc: BaseException, http: Http | None) -> Outcome:
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    for leaf in _leaves(exc):
        if is_order(leaf) and not isinstance(leaf, asyncio.CancelledError):
            raise leaf
        for each in chain(leaf):
            found = _known(each, http)
            if found is not None:
                return found
    if http is not None:
        return _from_peer(_answered(http))
    if isinstance(exc, asyncio.CancelledError):
        return _local("NETWORK_ERROR", "The connection to the server broke off.", "unanswered")
    error = classify(exc)
    return error.replace(origin="local", delivery=_delivery(error), debug=error.debug)


def _leaves(exc: BaseException) -> list[BaseException]:
    """The exceptions in a group, however deep; a task group wraps even one."""
    if not isinstance(exc, BaseExceptionGroup):
        return [exc]
    return [leaf for inner in exc.exceptions[:100] for leaf in _leaves(inner)]


def _known(exc: BaseException, http: Http | None) -> Outcome | None:
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    name = type(exc).__name__
    if name == "MCPError" and isinstance(getattr(exc, "code", None), int):
        return _protocol(exc, http)
    if name == "ToolError" and type(exc).__module__.startswith("fastmcp"):
        return _prose({"content": [{"type": "text", "text": said(exc)}], "isError": True}, None)
    return None


def _protocol(exc: Any, http: Http | None) -> Outcome:
    """A JSON-RPC error: the peer's, or what the SDK says in the peer's words about its own side."""
    message = said(exc)
    if exc.data is None:
        for number, words, code, text, delivery in _LOCAL:
            if exc.code == number and words in message:
                return _local(code, text, delivery)  # type: ignore[arg-type]
        if http is not None and (message == _UNHELPFUL or http.status >= 400):
            return _from_peer(_answered(http))
    found = parse({"code": exc.code, "message": message, "data": exc.data}, format="jsonrpc")
    if isinstance(found, ToolError) and found.info is None and exc.data is None:
        from failwell.classify.prose import from_text

        return _from_peer(from_text(message, is_error=True, number=exc.code) or found)
    return found if isinstance(found, NeedsInput) else _from_peer(found or ToolError(message))


def _answered(http: Http) -> ToolError:
    return from_http(http.status, dict(http.headers), http.body)


def _local(code: str, message: str, delivery: Delivery) -> ToolError:
    effect = Effect.UNKNOWN if delivery == "unanswered" else Effect.NONE
    return ToolError(message, code=code, effect=effect, origin="local", delivery=delivery)


def _delivery(error: ToolError) -> Delivery:
    """What the meaning of a transport's exception says about the call."""
    return "never_sent" if error.effect is Effect.NONE else "unanswered"
