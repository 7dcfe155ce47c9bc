"""`read`: anything that tells of a failure, by the one reader that the library, the command line and the clients use.

What comes back is None for a call that worked, a `NeedsInput`, or a `ToolError` that says where it comes from
(`origin`), how it was said (`standing`) and what became of the call (`delivery`). A success is a success, whatever its
body looks like.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from failwell.formats import FORMATS, META_KEY, OBJECT, Outcome, is_prose, is_structured, parse, words_in
from failwell.model import Delivery, Effect, Kind, NeedsInput, Standing, ToolError, form_of, pattern

from .contents import Web, contents, is_answer, object_in, opened, says_failed, web, written
from .exceptions.chain import chain, leaves, said
from .exceptions.exception_table import is_order, operation
from .http import from_http
from .prose import from_paste, from_text
from .waits import Wait, wait_in

# What the Python SDK says about its own side, and we about frames that are none, with the numbers that go with it. A
# peer may use the same numbers, but not with these words and without data.
BAD_ANSWER: Final = "The server's answer is no valid result."
_UNREADABLE: Final = "The server answered, but its answer cannot be read."
_UNABLE: Final = "This client cannot do what the server asks of it."
_LOCAL: Final = (
    (-32001, "timed out", "TIMEOUT", "The server did not answer in time.", "unanswered"),
    (408, "Timed out while waiting", "TIMEOUT", "The server did not answer in time.", "unanswered"),
    (-32001, "Timed out after", "TIMEOUT", "The server did not answer in time.", "unanswered"),
    (-32000, "Connection closed", "NETWORK_ERROR", "The connection to the server was closed.", "unanswered"),
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
_UNHELPFUL: Final = "Server returned an error response"
# The protocol says 404 for a session that is not known. Servers and gateways also say it in words.
_NO_SESSION: Final = pattern(
    r"(?i)(?:no valid|invalid|unknown|expired) session|session (?:was )?(?:not found|terminated|expired)"
    r"|not initialized"
)
_FORGOTTEN: Final = "The server has forgotten the session."
_NUMBER: Final = pattern(r"-?\d{1,10}")
_OF_SESSIONS: Final = frozenset({400, 404})


class Http(NamedTuple):
    """What the HTTP layer saw of a call, which the SDK does not pass on."""

    status: int
    headers: Mapping[str, str] = {}
    body: bytes = b""
    in_session: bool = False
    """Whether the request named its session: then a 404 means that the session is gone."""


def read(
    outcome: object,
    *,
    http: Http | None = None,
    observe: bool = False,
    envelopes: bool = False,
    transport: bool = False,
    format: str | None = None,
) -> Outcome | None:
    """What anything that tells of a failure means; None if it tells of none.

    `outcome` is a result or a response, as an object of an SDK or as its JSON, an error object of any format, what an
    HTTP client received, a text or bytes of any of these, or the exception that came instead. An order to stop, such as
    KeyboardInterrupt, is no outcome, and is raised again. `http` is what the HTTP layer saw. `transport` says that an
    exception is of the transport that carries this very call: then one that says that nothing was sent proves it. The
    same exception out of a tool proves nothing about what the tool did before. With `format`, only that one is tried.

    A result with `isError: false` worked, but for a question, a warning, a whole `toolError:v1`, and the envelope of a
    failure from a server whose successes are `envelopes` too. With `observe`, what looks like a failure in a success is
    shown as well: for those who watch, not for those who act.

    A text by itself is what somebody pasted, who asks because something failed. So any sentence that says how is an
    error, of little `confidence` where it does not also say that it is one. A log, a page, a report of what was done,
    and words that say nothing are None. What was read from words is `quoted`. An error object by itself has no
    `standing`: nobody said how it came, and whoever hands it over as the answer is believed, as `parse` believes them.

    >>> result = {"content": [{"type": "text", "text": "Error: timed out"}], "isError": False}
    >>> read(result), read(result, observe=True).code
    (None, 'TIMEOUT')
    >>> error = read("Request failed with status code 429, retry after 7 seconds")
    >>> error.code, error.retry_after, error.standing
    ('RATE_LIMITED', 7, 'quoted')
    """
    told: object = outcome
    if type(outcome) is not dict:
        if isinstance(outcome, BaseException):
            raised = _raised(outcome, http)
            return raised if transport or isinstance(outcome, (ToolError, NeedsInput)) else _unwitnessed(raised)
        if not observe and format is None and _is_fine(outcome):
            return None
        if (answer := web(outcome)) is not None:
            return _of_web(answer, observe=observe, envelopes=envelopes, format=format)
        told = outcome if isinstance(outcome, str) and is_prose(format) else opened(outcome)
    if format is None and (words := words_in(told)) is not None:
        # Most failures: nothing but words could be found in it.
        prose = from_text(words, is_error=True)
        return None if prose is None else _patient(_quoted(prose), told)
    found = parse(told, format)
    if not observe and _worked(told) and not _counts(found, told, envelopes):
        return None
    if isinstance(found, NeedsInput) or (found is not None and not found.is_error):
        return found
    # What is passed on whole was read from its words by whoever wrote it down: the words do not say it better.
    if isinstance(found, ToolError) and (not found.legacy or form_of(found.format).relayed):
        error = _stated(found, told)
        if not observe and _worked(told):
            # The form says that it failed, the result that it worked: no program repeats a write on that.
            error = error.replace(standing="quoted")
        return _patient(error, told)
    prose = _prose(told, found) if format is None or is_prose(format) else None
    return None if prose is None else _patient(prose, told)


def _stated(found: ToolError, told: object) -> ToolError:
    """What stands in a form, with what its words say where the form says nothing."""
    words = _words_of(found)
    if words == "label" and found.code is None:
        # `{"success": false, "error": "User 7 not found"}`: the form says that it failed, the words say how.
        worded = _prose(told, found)
        if worded is not None and worded.code is not None:
            return worded
    if words == "number" and (number := _bare_number(found, told)) is not None:
        return _quoted(from_text(found.message, is_error=True, number=number) or found)
    error = _worded(found)
    return _from_peer(_surrounded(error, told)) if is_answer(told) else _handed_over(error, told)


def _surrounded(error: ToolError, told: object) -> ToolError:
    """An error that stands in an answer among other words, with these: they may say more of the call than it does."""
    held = contents(told)
    permits = error.retryable or error.given("effect")
    if error.standing != "quoted" or not held.is_error or len(held.texts) < 2 or not permits:
        return error
    plain = [each for each in held.texts if parse(each) is None]
    if len(plain) == len(held.texts):
        # It is none of the texts, but in the structured content.
        return error
    words = [f"{each.strip().rstrip(':.')}." for each in plain if each.strip() and error.message not in each]
    return error.replace(message=" ".join([*words, error.message])) if words else error


def _words_of(error: ToolError) -> str | None:
    """Beside what the words of an error in its format say more than the format does."""
    spec = FORMATS.get(error.format or "")
    return None if spec is None else spec.worded


def _bare_number(found: ToolError, told: object) -> int | None:
    """The number of a JSON-RPC error that means nothing to anybody else, and beside which there are only words."""
    error = told.get("error", told) if isinstance(told, Mapping) else None
    if found.info is not None or not isinstance(error, Mapping):
        return None
    number = error.get("code")
    return number if error.get("data") is None and type(number) is int else None


def _handed_over(error: ToolError, told: object) -> ToolError:
    """An error object by itself. A number and words are for people, whether a response is around them or not."""
    if _words_of(error) != "number" or error.standing is not None or not isinstance(told, Mapping):
        return error
    inner = told.get("error", told)
    return error if is_structured(inner) else error.replace(standing="quoted")


def _of_web(answer: Web, **how: Any) -> Outcome | None:
    """What an HTTP answer means: its status where that is one of a failure, else the JSON-RPC response or the result of
    a tool in its body, and nothing else that may stand there."""
    if answer.status >= 400:
        return _from_peer(from_http(answer.status, answer.headers, answer.body, method=answer.method))
    body = opened(answer.body)
    return read(body, **how) if is_answer(body) else None


def _worked(told: object) -> bool:
    """Whether it is the result of a tool that says that it worked, or does not say that it failed."""
    data = told.get("result") if isinstance(told, OBJECT) and "jsonrpc" in told else told
    return isinstance(data, OBJECT) and isinstance(data.get("content"), list) and not says_failed(data)


def _counts(found: Outcome | None, told: object, envelopes: bool) -> bool:
    """Whether what was found in a success is meant to be there: the contracts know four such things."""
    if found is None or (found.standing == "quoted" and isinstance(found, NeedsInput)):
        return False
    if isinstance(found, NeedsInput) or not found.is_error:
        return True
    # In a success only a contract that says that its object counts without `isError` is stated.
    return found.standing == "stated" or (envelopes and is_envelope(told, False))


def is_envelope(told: object, success: bool = True) -> bool:
    """Whether a result is nothing but contract 003's envelope, of a success or of a failure."""
    held = contents(opened(told))
    data = held.structured if held.structured is not None else object_in(held.text)
    return isinstance(data, Mapping) and data.get("success") is success and ("data" in data or "error" in data)


def is_failing(seen: Outcome | None, result: object) -> bool:
    """Whether what was seen in the result of a success is plainly a failure that passes."""
    return isinstance(seen, ToolError) and seen.retryable and is_plain_failure(seen, result)


def is_plain_failure(seen: Outcome | None, result: object) -> bool:
    """Whether what was seen in the result of a success is plainly a failure, of any kind."""
    if not isinstance(seen, ToolError) or not seen.is_error:
        return False
    return not seen.legacy or (seen.confidence or 0) >= _STRONG or is_envelope(result, False)


_STRONG: Final = 0.8


def text_of(result: object) -> str:
    """The text of a result."""
    return "" if result is None else contents(opened(result)).text


# Without any of these a success holds no question, no warning and no envelope.
_SUSPECT: Final = pattern(r'needsInput:v1|toolError:v1|<\s*tool_error|"success"|needs_input')


def _is_fine(outcome: object) -> bool:
    """Whether a result is beyond doubt one of a call that worked, told by as little as that takes: most are."""
    content = getattr(outcome, "content", None)
    if type(content) is not list:
        return False
    flag = getattr(outcome, "is_error", None)
    if flag is False:
        structured = getattr(outcome, "structured_content", None)
    elif flag is None and getattr(outcome, "isError", None) is False:
        # As the older SDK has it, and the newer one warns about.
        structured = getattr(outcome, "structuredContent", None)
    else:
        return False
    meta = getattr(outcome, "meta", None)
    if meta and META_KEY in meta:
        return False
    if structured is not None and (type(structured) is not dict or not _TELLING.isdisjoint(structured)):
        return False
    return not any(
        type(text) is not str or (text[:100].lstrip("\ufeff \t\r\n")[:1] in ("{", "<", "[") and _SUSPECT.search(text))
        for block in content
        if (text := getattr(block, "text", "")) != ""
    )


# An object of one of the three has one of these.
_TELLING: Final = frozenset({"kind", "success", "failwell"})


def _from_peer(error: ToolError) -> ToolError:
    # What nobody called an answer, such as a text by itself, is only quoted.
    return error.replace(origin="peer", delivery="answered", standing=error.standing or "quoted")


def _quoted(error: ToolError) -> ToolError:
    return error.replace(origin="peer", delivery="answered", standing="quoted")


def _prose(told: object, found: ToolError | None) -> ToolError | None:
    """A result in no format: an error if the result says so, or if its text leaves no doubt. Its structured content is
    read where the text says nothing."""
    if found is None and not is_answer(told):
        pasted = from_paste(told if isinstance(told, str) else written(told))
        return None if pasted is None else pasted.replace(standing="quoted")
    held = contents(told)
    failed = True if held.is_error or found is not None else None
    read = from_text(held.text, is_error=failed) if held.text else None
    if held.structured and (not held.text or (failed and (read is None or read.code is None))):
        inner = from_text(written(held.structured), is_error=failed)
        read = inner if read is None or (inner is not None and inner.code is not None) else read
    if read is not None:
        return _quoted(read)
    return None if held.text or found is None else _quoted(found)


# What says what to do about an error, and what says nothing about how it failed.
_STATED: Final = frozenset({"kind", "wire_retryable"})
_LITTLE: Final = frozenset({"message", "origin", "format", "code", "severity", "standing"})
# Numbers that the SDKs, and servers after them, give to whatever goes wrong in a tool, with the kinds that their words
# may tell of instead: with -32602 a thing is missing as often as an argument, and gateways answer -32600 for a tool
# that ran behind them.
_BROAD: Final = {
    "INVALID_REQUEST": frozenset(Kind) - {Kind.INTERNAL, Kind.VALIDATION},
    "INVALID_PARAMS": frozenset({Kind.NOT_FOUND, Kind.PERMISSION, Kind.CONFLICT}),
    "JSONRPC_INTERNAL_ERROR": frozenset(Kind) - {Kind.INTERNAL},
}
_ANY: Final = frozenset(Kind)
# The number -32603 in words, as the SDKs write it: that something behind the server failed, nobody said.
_SAME_AS_NUMBER: Final = pattern(r"(?i)internal (?:server )?error[.!]?")


def _worded(error: ToolError) -> ToolError:
    """An error as its words say it, if its code means something else to each server and nothing else is told."""
    given = error._given.keys()
    if _words_of(error) is None or not _STATED.isdisjoint(given):
        return error
    kinds = _ANY if error.info is None else _BROAD.get(error.code or "")
    if kinds is None or (error.info is not None and not given <= _LITTLE):
        return error
    if error.code == "JSONRPC_INTERNAL_ERROR" and _SAME_AS_NUMBER.fullmatch(error.message.strip()):
        return error
    is_number = _NUMBER.fullmatch(error.code or "") is not None or error.code in _BROAD
    text = error.message if is_number or error.code is None else f"{error.code}: {error.message}"
    read = from_text(text, is_error=True)
    if read is None or read.code is None or read.kind not in kinds:
        return error
    code = read.code if is_number else error.code
    # Words prove nothing, whatever they stand in.
    told = {name: value for name in ("http_status", "retry_after", "fields") if (value := getattr(read, name))}
    return error.replace(code=code, kind=read.kind, legacy=True, confidence=read.confidence, standing="quoted", **told)


def _patient(error: ToolError, outcome: object) -> ToolError:
    """The error with the time to wait that stands in the answer under a name that its format does not know."""
    if not error.retryable or error.retry_after is not None or error.reset_at is not None:
        return error
    held = contents(outcome)
    for data in (held.structured, object_in(held.text), outcome if not held.text else None):
        if data is not None and (wait := wait_in(data)) != Wait():
            return error.replace(retry_after=wait.retry_after, reset_at=wait.reset_at)
    return error


def _unwitnessed(found: Outcome) -> Outcome:
    """What an exception says of which nobody knows where it was raised: it may come out of the tool itself."""
    if not isinstance(found, ToolError) or found.origin != "local":
        return found
    if found.delivery == "answered" or (found.delivery == "unanswered" and found.code in _LOST):
        return found
    return found.replace(delivery=None, effect=None, standing="quoted")


# An answer that did not come. Any other exception says nothing about an answer.
_LOST: Final = frozenset({"TIMEOUT", "NETWORK_ERROR"})


def _raised(exc: BaseException, http: Http | None) -> Outcome:
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    for leaf in islice(leaves(exc), _MOST_LEAVES):
        if is_order(leaf) and not _is_cancelled(leaf):
            raise leaf
        for each in chain(leaf):
            found = _known(each, http)
            if found is not None:
                return found
    if http is not None:
        return _from_peer(_answered(http))
    if _is_cancelled(exc):
        return _local("NETWORK_ERROR", "The connection to the server broke off.", "unanswered")
    error = operation(exc)
    delivery = _delivery(error)
    message = _OF_SERVER.get((error.code, delivery)) or error.message.replace(*_WHOSE)
    return error.replace(message=message, origin="local", delivery=delivery, debug=error.debug)


# A task group wraps even one exception; more than these are an attack.
_MOST_LEAVES: Final = 100


def _known(exc: BaseException, http: Http | None) -> Outcome | None:
    if isinstance(exc, (ToolError, NeedsInput)):
        return exc
    name = type(exc).__name__
    is_protocols = any(base.__name__ in _PROTOCOL_ERRORS for base in type(exc).__mro__)
    if is_protocols and isinstance(getattr(sent := getattr(exc, "error", None), "code", None), int):
        return _protocol(exc, sent, http)
    if name == "ValidationError" and type(exc).__module__.startswith("pydantic"):
        # The arguments were checked on the other side, if at all: what a client checks is the answer.
        return _local("UPSTREAM_ERROR", _UNREADABLE, "unreadable")
    if name == "DecodingError":
        return _local("UPSTREAM_ERROR", _UNREADABLE, "unreadable")
    if name in _BROKEN and type(exc).__module__.startswith("anyio"):
        return _local("NETWORK_ERROR", "The connection to the server was closed.", "unanswered")
    if isinstance(exc, UnicodeError):
        return _local("VALIDATION_ERROR", "The arguments cannot be sent: they hold broken text.", "never_sent")
    if isinstance(exc, RuntimeError):
        for words, local in _RUNTIME:
            if words in said(exc):
                return _local(*local)
    if name == "ToolError" and type(exc).__module__.startswith("fastmcp"):
        # The words of an exception: what else the result held, it does not say.
        found = read({"content": [{"type": "text", "text": said(exc)}], "isError": True})
        return _quoted(found) if isinstance(found, ToolError) else found
    return None


# By the names that the two generations of the SDK have for it.
_PROTOCOL_ERRORS: Final = frozenset({"MCPError", "McpError"})


def _protocol(exc: Any, sent: Any, http: Http | None) -> Outcome:
    """A JSON-RPC error: the peer's, or what the SDK says in the peer's words about its own side."""
    message = said(exc)
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
            return _from_peer(_answered(http))
    error = {"code": sent.code, "message": message, **({} if sent.data is None else {"data": sent.data})}
    return read({"jsonrpc": "2.0", "error": error}) or _from_peer(ToolError(message))


def lost_session(http: Http) -> ToolError | None:
    """What an HTTP answer to a call says if the session is gone; None if it is about something else.

    With a 404 to a request that names its session the protocol says so. That proves nothing about the call: it may have
    been lost with the session, or been passed on before. Other answers say it in words.
    """
    if http.status == 404 and http.in_session and not _is_of_method(http.body):
        return _local("UNAVAILABLE", _FORGOTTEN, "unanswered")
    if http.status in _OF_SESSIONS and _NO_SESSION.search(http.body.decode("utf-8", "replace")):
        return _local("UNAVAILABLE", _FORGOTTEN, "answered")
    return None


def _is_of_method(body: bytes) -> bool:
    """Whether the server does not know the method, which some say with the same status."""
    if b"-32601" not in body:
        return False
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == -32601


def of_post(http: Http) -> ToolError:
    """What an HTTP answer says of the call in whose answer's place it stands."""
    return lost_session(http) or _from_peer(_answered(http))


def _answered(http: Http) -> ToolError:
    # A call is a POST: a status that says that something broke does not say before what.
    return from_http(http.status, dict(http.headers), http.body, method="POST")


# What a transport's exceptions mean to a tool is said of the services behind it; here they are the server's.
_WHOSE: Final = ("A service the tool needs", "The server")
_OF_SERVER: Final[dict[tuple[str | None, str], str]] = {
    ("TIMEOUT", "unanswered"): "No answer came in time.",
    ("TIMEOUT", "never_sent"): "The server could not be reached in time.",
    ("NETWORK_ERROR", "unanswered"): "The connection broke before the answer was complete.",
}
_BROKEN: Final = frozenset({"ClosedResourceError", "BrokenResourceError", "EndOfStream"})
# What the SDKs say by a bare RuntimeError.
_RUNTIME: Final = (
    ("Client is not connected", ("NETWORK_ERROR", "There is no connection to the server.", "never_sent")),
    ("must be used within an async context", ("NETWORK_ERROR", "There is no connection to the server.", "never_sent")),
    ("session was closed unexpectedly", ("NETWORK_ERROR", "The connection to the server was closed.", "unanswered")),
    ("Session task completed", ("NETWORK_ERROR", "The connection to the server was closed.", "unanswered")),
    ("Invalid structured content", ("UPSTREAM_ERROR", "It worked, but its result breaks the tool's schema.", "worked")),
    ("has an output schema but did not", ("UPSTREAM_ERROR", "It worked, but its result is missing.", "worked")),
)
# What became of a call, and what that says about its effect. An answer in somebody's words says nothing.
_BECAME: Final[dict[str, tuple[Delivery, Effect | None]]] = {
    "never_sent": ("never_sent", Effect.NONE),
    "unanswered": ("unanswered", Effect.UNKNOWN),
    "answered": ("answered", None),
    "unreadable": ("answered", Effect.UNKNOWN),
    "worked": ("answered", Effect.DONE),
}


def _local(code: str, message: str, became: str) -> ToolError:
    delivery, effect = _BECAME[became]
    standing: Standing | None = "quoted" if effect is None else None
    return ToolError(message, code=code, effect=effect, origin="local", delivery=delivery, standing=standing)


def _delivery(error: ToolError) -> Delivery:
    """What the meaning of a transport's exception says about the call."""
    return "never_sent" if error.effect is Effect.NONE else "unanswered"


def _is_cancelled(exc: BaseException) -> bool:
    # Whoever has not imported asyncio, which takes a while, has cancelled nothing with it.
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(exc, asyncio.CancelledError)
