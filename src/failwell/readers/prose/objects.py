"""JSON error objects: those of common APIs, lists of issues, and results inside a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from failwell.model import FieldError, find, label, path_of, pattern
from failwell.model import text as clean
from failwell.readers.waits import Wait, wait_in

from . import field_names as names
from . import pydantic, schemas, statuses, traces, zod
from .clues import EXACT, MOST_FIELDS, STATED, Finding, invalid, path, summary
from .wraps import unwrap


def _plainly(data: object) -> Finding | None:
    """`[{"field": "title", "message": …}]`, as many APIs send it."""
    items = data[:MOST_FIELDS] if isinstance(data, list) else []
    problems = []
    for item in items:
        name = next((item[key] for key in _FIELD_KEYS if key in item), None) if isinstance(item, Mapping) else None
        said = label_of(item) or label(item.get("code")) if name is not None else None
        if said is None or not isinstance(name, (str, list)):
            return None
        rule = "required" if names.code_of(clean(item.get("code") or "")) == "MISSING_REQUIRED_FIELD" else None
        problems.append(FieldError(path(name) if isinstance(name, str) else path_of(name), said, rule=rule))
    return invalid(problems)


def _by_name(data: object) -> Finding | None:
    """`{"title": ["is too short"]}`: what is wrong with each of the arguments, by its name."""
    if not isinstance(data, Mapping) or not data or not _SPOKEN.isdisjoint(data):
        return None
    problems = []
    for name, said in islice(data.items(), MOST_FIELDS):
        name, sentences = clean(name), [said] if isinstance(said, str) else said
        if _FILE.match(name) or not (
            isinstance(sentences, list) and sentences and all(isinstance(each, str) for each in sentences)
        ):
            return None
        problems.append(FieldError(path(name), "; ".join(sentences[:5])))
    found = invalid(problems)
    return found._replace(message=summary(found.fields), plain=True) if found else None


# No argument is called like a file, but for a pointer such as /address/zip.
_FILE: Final = pattern(
    r"(?:file:|~?/(?:home|Users|root|usr|opt|srv|var|tmp|etc|mnt|private|Volumes)/|~/|[A-Za-z]:[\\/]|\\\\"
    r"|[^\n]{0,400}[\\/][^\s\\/]{0,200}\.[A-Za-z]\w{0,4}$)"
)
_LISTS: Final = (zod.issues, pydantic.errors, schemas.ajv_errors, _plainly)
_FIELD_KEYS: Final = ("field", "param", "parameter", "property", "propertyPath", "argument")

_ERROR_KEYS: Final = ("error", "errors", "detail", "details", "issues", "exception", "fault", "err")
_MESSAGE_KEYS: Final = (
    *("message", "msg", "error_message", "errorMessage", "errorMessages"),
    *("error_description", "detail", "description"),
)
_NAMED_KEYS: Final = ("errors", "fieldErrors", "field_errors", "validationErrors", "validation_errors")
_MORE_KEYS: Final = ("title", "reason", "details", "hint", "text")
_CODE_KEYS: Final = ("code", "error_code", "errorCode", "type", "errorType", "error_type", "name", "error", "reason")
_SURE_KEYS: Final = frozenset({"code", "error_code", "errorCode", "errorType", "error_type", "error"})
_ERRORISH: Final = pattern(r"^[A-Z][A-Z0-9]*_[A-Z0-9_]+$|(?:Error|Exception|Fault|Failure)$")
_STATUS_KEYS: Final = ("status", "statusCode", "status_code", "httpStatus", "http_status", "code")
# An object with one of these is the error itself.
_SPOKEN: Final = frozenset({*_MESSAGE_KEYS, *_CODE_KEYS, *_STATUS_KEYS})
_SUGGESTION_KEYS: Final = ("suggestion", "hint", "resolution", "remediation", "fix", "help")
# With something in one of these, an object is an answer that has an error in it, not an error.
_PAYLOAD: Final = ("data", "result", "results", "items", "content", "id", "output", "rows", "tools", "stdout", "value")
_FAILED: Final = frozenset({"error", "fail", "failed", "failure", "err"})
_FLAGS: Final = ("success", "ok", "succeeded")
_WORKED: Final = frozenset({"ok", "success", "succeeded", "successful", "completed"})
# What stands beside a list of errors that is the whole answer.
_AROUND: Final = frozenset(
    """error errors errorMessages message msg code status statusCode status_code detail details title type name success
    ok data result extensions request_id requestId trace_id traceId timestamp path documentation_url instance hint
    suggestion""".split()
)
# An object with one of these tells how often others failed.
_COUNTED: Final = frozenset({"count", "since", "occurrences", "first_seen", "last_seen", "firstSeen", "lastSeen"})
_DEEPEST: Final = 5

_DECODE: Final = json.JSONDecoder().raw_decode
_START: Final = pattern(r"[\[{]\s{0,40}[\"{\]}]")
# More than a sentence before it, and the object is a part of something else.
_LONGEST_LEAD: Final = 400


def split(text: str) -> tuple[str, Any]:
    """The words before the first JSON object or list in a text, and its value; None where there is none."""
    if "{" not in text and "[" not in text:
        return text, None
    for _, match in zip(range(4), _START.finditer(text, 0, _LONGEST_LEAD), strict=False):
        try:
            value, _ = _DECODE(text, match.start())
        except (ValueError, RecursionError):
            continue
        return text[: match.start()].strip(), value
    return text, None


_PAIR: Final = pattern(r"\"(\w{1,40})\"\s{0,8}:\s{0,8}(?:\"((?:[^\"\\]|\\.){1,2000})\"|(\d{3})\b|(false))")


def broken(text: str) -> dict[str, Any] | None:
    """What can be read of an object that was cut off, by whoever thought it too long."""
    if not text.startswith("{"):
        return None
    pairs: dict[str, Any] = {}
    for _, match in zip(range(40), _PAIR.finditer(text, 0, 4_000), strict=False):
        pairs.setdefault(match[1], match[2] or (int(match[3]) if match[3] else False))
    return pairs or None


def listed(data: object) -> Finding | None:
    """A list of what is wrong with which argument, in the form of any validator."""
    for read in _LISTS:
        if (found := read(data)) is not None:
            return found._replace(message=found.message or summary(found.fields), plain=True)
    return None


def is_failure(data: Mapping[str, Any]) -> bool:
    """Whether an object says by itself that it is an error."""
    if any(data.get(key) is True for key in _FLAGS) or _word(data.get("status")) in _WORKED:
        return False
    if any(data.get(key) is False for key in _FLAGS) or data.get("isError") is True:
        return True
    if "jsonrpc" in data and isinstance(data.get("error"), Mapping):
        return True
    status = _number(data)
    if not _COUNTED.isdisjoint(data):
        return False
    if status is not None and (label_of(data) or data.get("error")):
        return True
    if any(data.get(key) for key in _PAYLOAD):
        return False
    if _word(data.get("status")) in _FAILED and (label_of(data) or data.get("error") or _AROUND.issuperset(data)):
        return True
    error = data.get("error") or data.get("error_code") or data.get("errorCode")
    if error is True:
        return label_of(data) is not None
    if isinstance(error, Mapping) and (_word(error.get("message")) in _WORKED or error.get("code") == 0):
        return False
    # Several errors stand in answers about something else as well.
    error = error or (data.get("errors") if _AROUND.issuperset(data) else None)
    return (isinstance(error, (str, Mapping, list)) and bool(error)) or (
        isinstance(data.get("detail"), list) and listed(data["detail"]) is not None
    )


def _word(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None


def contents(data: Mapping[str, Any]) -> str | None:
    """The text of a tool result that came as a text itself."""
    inner = data.get("toolResult", data)
    blocks = inner.get("content") if isinstance(inner, Mapping) else None
    if not isinstance(blocks, list):
        return None
    texts = [block["text"] for block in blocks[:20] if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts) or None


def read(data: Mapping[str, Any], words: Callable[[str], Finding | None]) -> Finding:
    """An error object: its code where that says something, else its status, else its words.

    `words` reads the message. It counts more than a status that services use for anything.
    """
    layers = list(_layers(data))
    for layer in layers:
        for key in _ERROR_KEYS:
            if (found := listed(layer.get(key))) is not None:
                return found
    status = next((number for layer in layers if (number := _number(layer)) is not None), None)
    if status is None or status in statuses.WEAK:
        for layer in layers:
            for key in _NAMED_KEYS:
                if (found := _by_name(layer.get(key))) is not None:
                    return found._replace(http_status=status)
    # The object under `error` speaks of the error; around it stands what it happened to.
    inner = [layer for layer in layers if layer is data.get("error")]
    said = next((text for layer in (*inner, *layers) if (text := label_of(layer))), None)
    finding = words(said) if said else None
    code, confidence = _judged(_named(layers), status or (finding.http_status if finding else None), finding)
    wait = wait_in(data)
    if wait == Wait() and finding is not None:
        wait = Wait(finding.retry_after, finding.reset_at)
    return Finding(
        code,
        confidence,
        _without_frames(said, finding) if said else None,
        finding.fields if finding else (),
        status or (finding.http_status if finding else None),
        wait.retry_after,
        next((text for layer in layers for key in _SUGGESTION_KEYS if (text := _text(layer.get(key)))), None),
        plain=True,
        reset_at=wait.reset_at,
    )


def _without_frames(said: str, finding: Finding | None) -> str:
    """The message as it counts: of a trace, the line that was read."""
    if finding is not None and finding.message and traces.trace_line(said) is not None:
        return finding.message
    return unwrap(said).text or said


# What services answer when they have not looked closer; a sentence beside it says more.
_WEAK: Final = statuses.WEAK | {500, 502}
# The same call will be refused again, whatever the code beside it is called.
_REFUSALS: Final = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 415, 422})


def _judged(named: str | None, status: int | None, finding: Finding | None) -> tuple[str | None, float]:
    worded = finding.code if finding else None
    if named is not None and not (status in _REFUSALS and _is_transient(named)):
        return named, EXACT
    if status is None:
        return worded, finding.confidence if finding else 0.0
    return statuses.code_with(status, worded, _WEAK), STATED


def _is_transient(code: str) -> bool:
    info = find(code)
    return info is not None and info.retryable


def _layers(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The object, and the objects under its error keys, outermost first."""
    waiting: list[tuple[int, object]] = [(0, data)]
    seen = 0
    while waiting and seen < 20:
        depth, each = waiting.pop(0)
        if isinstance(each, list):
            each = each[0] if each else None
        if isinstance(each, Mapping):
            seen += 1
            yield each
            if depth < _DEEPEST:
                waiting += [
                    (depth + 1, each[key]) for key in (*_ERROR_KEYS, "response", "body", "extensions") if key in each
                ]


def label_of(data: Mapping[str, Any]) -> str | None:
    """What an object says in words."""
    for key in (*_MESSAGE_KEYS, *_ERROR_KEYS, *_MORE_KEYS):
        value = data.get(key)
        if isinstance(value, list) and value and isinstance(value[0], str):
            value = "; ".join(each for each in value[:5] if isinstance(each, str))
        if said := _text(value):
            return said
    return None


def _text(value: object) -> str | None:
    return label(clean(value).strip()) if isinstance(value, str) else None


def _number(data: Mapping[str, Any]) -> int | None:
    for key in _STATUS_KEYS:
        value = data.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isdecimal():
            value = int(value)
        if type(value) is int and 400 <= value < 600:
            return value
    return None


def _named(layers: list[Mapping[str, Any]]) -> str | None:
    for depth, layer in enumerate(layers):
        for key in _CODE_KEYS:
            value = layer.get(key)
            # A sentence is no name; and outside of the error the name may be of anything.
            if isinstance(value, str) and len(value) <= 80 and " " not in value.strip():
                code = names.code_of(value.strip()) if depth or key in _SURE_KEYS or _ERRORISH.search(value) else None
                if code is not None:
                    return code
    return None
