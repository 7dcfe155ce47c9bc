"""`read`: anything that tells of a failure, by the one reader that the library, the command line and the clients use.

It gives None for a call that worked, a `NeedsInput`, or a `ToolError` that says where it comes from (`origin`), how it
was said (`standing`) and what became of the call (`delivery`). A success is a success, whatever its body looks like.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from failwell.formats import FORMATS, META_KEY, OBJECT, Outcome, is_prose, is_structured, parse, read_json, words_in
from failwell.model import Kind, NeedsInput, ToolError, pattern, retry_rules_of

from .client_errors import Http, from_peer, from_raised, unproven
from .error_text import from_paste, from_text
from .exceptions.chain import attribute
from .http import from_response, loaded
from .waits import Wait, wait_in


def read(
    outcome: object,
    *,
    http: Http | None = None,
    observe: bool = False,
    transport: bool = False,
    format: str | None = None,
) -> Outcome | None:
    """What anything that tells of a failure means; None if it tells of none.

    `outcome` is a result or a response, as an object of an SDK or as its JSON, an error object of any format, what an
    HTTP client received, a text or bytes of any of these, or the exception that came instead. An order to stop, such as
    KeyboardInterrupt, is no outcome, and is raised again. `http` is what the HTTP layer saw. `transport` says that an
    exception is of the transport that carries this very call: then one that says that nothing was sent proves it. The
    same exception out of a tool proves nothing about what the tool did before. With `format`, only that one is tried.

    A result with `isError: false` worked, but for a question, a warning, a `toolError:v1`, a failed envelope. With
    `observe`, what looks like a failure in a success is shown as well: for those who watch, not for those who act.

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
    data: object = outcome
    if type(outcome) is not dict:
        if isinstance(outcome, BaseException):
            return _of_exception(outcome, http, transport)
        if not observe and format is None and _is_fine(outcome):
            return None
        if (status := _http_status(outcome)) is not None:
            if status >= 400:
                return from_peer(from_response(status, outcome))
            # Of an answer that worked only a JSON-RPC response or the result of a tool counts.
            body = _loaded(loaded(outcome))
            return read(body, observe=observe, format=format) if _is_answer(body) else None
        data = outcome if isinstance(outcome, str) and is_prose(format) else _loaded(outcome)
    if format is None and (words := words_in(data)) is not None:
        # Most failures: nothing but words could be found in it.
        prose = from_text(words, is_error=True)
        return None if prose is None else _with_wait(_quoted(prose), data)
    found = parse(data, format)
    if not observe and _worked(data) and not _counts(found, data):
        return None
    if isinstance(found, NeedsInput) or (found is not None and not found.is_error):
        return found
    # What is passed on whole was read from its words by whoever wrote it down: the words do not say it better.
    if isinstance(found, ToolError) and (not found.legacy or retry_rules_of(found.format).relayed):
        error = _structured(found, data)
        if not observe and _worked(data):
            # The form says that it failed, the result that it worked: no program repeats a write on that.
            error = error.replace(standing="quoted")
        return _with_wait(error, data)
    prose = _prose(data, found) if format is None or is_prose(format) else None
    return None if prose is None else _with_wait(prose, data)


def _of_exception(exc: BaseException, http: Http | None, transport: bool) -> Outcome | None:
    """What was raised instead of an answer. A JSON-RPC error and the text of a result are read as what they are."""
    raised = from_raised(exc, http)
    if isinstance(raised, Mapping):
        found = read(raised)
        if isinstance(found, ToolError) and "jsonrpc" not in raised:
            # The words of an exception: what else the result held, it does not say.
            found = _quoted(found)
        return found
    return raised if transport or isinstance(exc, (ToolError, NeedsInput)) else unproven(raised)


class _Contents(NamedTuple):
    """The text of a result, its structured content, and whether it says that it is an error."""

    text: str
    structured: Mapping[str, Any] | None = None
    is_error: bool = False


def _contents(data: object) -> _Contents:
    if isinstance(data, str):
        return _Contents(data)
    result = _result(data)
    blocks = result.get("content")
    blocks = blocks if isinstance(blocks, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, OBJECT) and isinstance(block.get("text"), str)]
    structured = result.get("structuredContent", result.get("structured_content"))
    structured = structured if isinstance(structured, OBJECT) else None
    return _Contents("\n".join(texts), structured, _says_failed(result))


def _result(data: object) -> Mapping[str, Any]:
    """The result of a tool: the object, or that in the JSON-RPC response around it."""
    if not isinstance(data, OBJECT):
        return {}
    inner = data.get("result") if "jsonrpc" in data else None
    return inner if isinstance(inner, OBJECT) else data


def _says_failed(result: Mapping[str, Any]) -> bool:
    return result.get("isError", result.get("is_error")) is True


def _is_answer(data: object) -> bool:
    """Whether it is what came back from a call: the result of a tool, or a JSON-RPC response."""
    return isinstance(data, OBJECT) and ("jsonrpc" in data or isinstance(data.get("content"), list))


def _worked(data: object) -> bool:
    """Whether it is the result of a tool that says that it worked, or does not say that it failed."""
    result = data.get("result") if isinstance(data, OBJECT) and "jsonrpc" in data else data
    return isinstance(result, OBJECT) and isinstance(result.get("content"), list) and not _says_failed(result)


_BLANK: Final = "\ufeff \t\r\n"


def _loaded(outcome: object) -> object:
    """An outcome as its JSON, or as its text. A result is taken apart by hand, since most are short."""
    if isinstance(outcome, (bytes, bytearray, memoryview)):
        outcome = bytes(outcome).decode("utf-8", "replace")
    if isinstance(outcome, str):
        data = read_json(outcome.lstrip(_BLANK)) if outcome.lstrip(_BLANK)[:1] in ("{", "[") else None
        return outcome if data is None else data
    if isinstance(outcome, Mapping):
        return outcome
    try:
        content = getattr(outcome, "content", None)
        if isinstance(content, list) and hasattr(outcome, "is_error"):
            return {
                "content": [_block(block) for block in content],
                "structuredContent": getattr(outcome, "structured_content", None),
                "_meta": getattr(outcome, "meta", None),
                "isError": outcome.is_error,
            }
        return _dumped(outcome)
    except Exception:
        return {}


def _block(block: Any) -> object:
    return {"type": "text", "text": block.text} if getattr(block, "type", None) == "text" else _dumped(block)


def _dumped(outcome: object) -> object:
    dump = getattr(outcome, "model_dump", None)
    return dump(by_alias=True, mode="json", exclude_none=True) if callable(dump) else outcome


def _object_in(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is."""
    data = read_json(text) if text.lstrip()[:1] == "{" else None
    return data if isinstance(data, dict) else None


def _json_text(data: object) -> str:
    try:
        return json.dumps(data, default=str) if isinstance(data, Mapping) else "{}"
    except (TypeError, ValueError, RecursionError):
        # An object that no wire could carry says nothing.
        return "{}"


def _http_status(outcome: object) -> int | None:
    """The status of the answer of an HTTP client: httpx, requests, aiohttp and urllib call it by these names."""
    if isinstance(outcome, (str, bytes, Mapping, list, type(None))) or attribute(outcome, "headers") is None:
        return None
    found = (attribute(outcome, name) for name in ("status_code", "status"))
    return next((status for status in found if type(status) is int and 100 <= status < 600), None)


def text_of(result: object) -> str:
    """The text of a result."""
    return "" if result is None else _contents(_loaded(result)).text


# Without any of these a success holds no question, no warning and no envelope.
_SUSPECT: Final = pattern(r'needsInput:v1|toolError:v1|<\s*tool_error|"success"|needs_input')
# An object of one of them has one of these.
_SUSPECT_MEMBERS: Final = frozenset({"kind", "success", "failwell"})


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
    if structured is not None and (type(structured) is not dict or not _SUSPECT_MEMBERS.isdisjoint(structured)):
        return False
    return not any(
        type(text) is not str or (text[:100].lstrip(_BLANK)[:1] in ("{", "<", "[") and _SUSPECT.search(text))
        for block in content
        if (text := getattr(block, "text", "")) != ""
    )


def _counts(found: Outcome | None, data: object) -> bool:
    """Whether what was found in a success is meant to be there: the contracts know four such things."""
    if found is None or (found.standing == "quoted" and isinstance(found, NeedsInput)):
        return False
    if isinstance(found, NeedsInput) or not found.is_error:
        return True
    # In a success only a contract that says that its object counts without `isError` is stated.
    if found.standing == "stated" or not (spec := FORMATS[found.format or "text"]).marked:
        return found.standing == "stated"
    # Contract 001 looks for the block of its kind, whatever stands beside it.
    texts = [str(block.get("text")) for block in _result(data).get("content") or () if isinstance(block, OBJECT)]
    held = [spec.load(_object_in(text) or {}) for text in texts]
    return any(isinstance(one, ToolError) and one.message == found.message for one in held)


def is_failing(seen: Outcome | None, result: object) -> bool:
    """Whether what was seen in the result of a success is plainly a failure that passes."""
    return isinstance(seen, ToolError) and seen.retryable and is_plain_failure(seen, result)


def is_plain_failure(seen: Outcome | None, result: object) -> bool:
    """Whether what was seen in the result of a success is plainly a failure, of any kind."""
    if not isinstance(seen, ToolError) or not seen.is_error:
        return False
    if not seen.legacy or (seen.confidence or 0) >= _STRONG:
        return True
    # An envelope that says that the call was no success.
    held = _contents(_loaded(result))
    data = held.structured if held.structured is not None else _object_in(held.text)
    return isinstance(data, Mapping) and data.get("success") is False and ("data" in data or "error" in data)


_STRONG: Final = 0.8


# What says what to do about an error, and what says nothing about how it failed.
_DECIDING: Final = frozenset({"kind", "wire_retryable"})
_LITTLE: Final = frozenset({"message", "origin", "format", "code", "severity", "standing"})
# Numbers that the SDKs, and servers after them, give to whatever goes wrong in a tool, with the kinds that their words
# may tell of instead: with -32602 a thing is missing as often as an argument, and gateways answer -32600 for a tool
# that ran behind them.
_BROAD: Final = {
    "INVALID_REQUEST": frozenset(Kind) - {Kind.INTERNAL, Kind.VALIDATION},
    "INVALID_PARAMS": frozenset({Kind.NOT_FOUND, Kind.PERMISSION, Kind.CONFLICT}),
    "JSONRPC_INTERNAL_ERROR": frozenset(Kind) - {Kind.INTERNAL},
}
_SAME_AS_NUMBER: Final = pattern(r"(?i)internal (?:server )?error[.!]?")
_NUMBER: Final = pattern(r"-?\d{1,10}")


def _structured(found: ToolError, data: object) -> ToolError:
    """What stands in a form, with what its words say where the form says nothing."""
    spec = FORMATS.get(found.format or "")
    words = None if spec is None else spec.worded
    if words == "label" and found.code is None:
        # `{"success": false, "error": "User 7 not found"}`: the form says that it failed, the words say how.
        worded = _prose(data, found)
        if worded is not None and worded.code is not None:
            return worded
    if words == "number":
        inner = data.get("error", data) if isinstance(data, Mapping) else None
        number = inner.get("code") if isinstance(inner, Mapping) and inner.get("data") is None else None
        if found.info is None and type(number) is int:
            # A number that means nothing to anybody else, and only words beside it.
            return _quoted(from_text(found.message, is_error=True, number=number) or found)
    error = _worded(found) if words is not None else found
    if _is_answer(data):
        return from_peer(_with_words_around(error, data))
    if words == "number" and error.standing is None and isinstance(data, Mapping):
        # A number and words are for people, whether a response is around them or not.
        return error if is_structured(data.get("error", data)) else error.replace(standing="quoted")
    return error


def _with_words_around(error: ToolError, data: object) -> ToolError:
    """An error that stands in an answer among other texts, with these: they may say more of the call than it does."""
    permits = error.retryable or error.given("effect")
    if error.standing != "quoted" or not permits or not _says_failed(_result(data)):
        return error
    blocks = _result(data).get("content")
    texts = [str(block.get("text", "")) for block in blocks if isinstance(block, OBJECT)] if blocks else []
    plain = [text for text in texts if text.strip() and parse(text) is None]
    if not plain or len(plain) == len(texts):
        return error
    around = [f"{text.strip().rstrip(':.')}." for text in plain if error.message not in text]
    return error.replace(message=" ".join([*around, error.message]))


def _worded(error: ToolError) -> ToolError:
    """An error as its words say it, if its code means something else to each server and nothing else is told."""
    given = error._given.keys()
    kinds = frozenset(Kind) if error.info is None else _BROAD.get(error.code or "")
    if kinds is None or not _DECIDING.isdisjoint(given) or (error.info is not None and not given <= _LITTLE):
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
    more = {name: value for name in ("http_status", "retry_after") if (value := getattr(read, name))}
    return error.replace(code=code, kind=read.kind, legacy=True, confidence=read.confidence, standing="quoted", **more)


def _quoted(error: ToolError) -> ToolError:
    return error.replace(origin="peer", delivery="answered", standing="quoted")


def _prose(data: object, found: ToolError | None) -> ToolError | None:
    """A result in no format: an error if the result says so, or if its text leaves no doubt. Its structured content is
    read where the text says nothing."""
    if found is None and not _is_answer(data):
        pasted = from_paste(data if isinstance(data, str) else _json_text(data))
        return None if pasted is None else pasted.replace(standing="quoted")
    held = _contents(data)
    failed = True if held.is_error or found is not None else None
    read = from_text(held.text, is_error=failed) if held.text else None
    if held.structured and (not held.text or (failed and (read is None or read.code is None))):
        inner = from_text(_json_text(held.structured), is_error=failed)
        read = inner if read is None or (inner is not None and inner.code is not None) else read
    if read is not None:
        return _quoted(read)
    return None if held.text or found is None else _quoted(found)


def _with_wait(error: ToolError, data: object) -> ToolError:
    """The error with the time to wait that stands in the answer under a name that its format does not know."""
    if not error.retryable or error.retry_after is not None or error.reset_at is not None:
        return error
    held = _contents(data)
    for each in (held.structured, _object_in(held.text), data if not held.text else None):
        if each is not None and (wait := wait_in(each)) != Wait():
            return error.replace(retry_after=wait.retry_after, reset_at=wait.reset_at)
    return error
