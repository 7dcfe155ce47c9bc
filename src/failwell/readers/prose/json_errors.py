"""JSON in a text: the error objects of APIs, and what validators list about arguments.

Only data is read here, by the names of its members. What its sentences say is left to the phrases.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from failwell.model import FieldError, Path, find, label, pattern, plain
from failwell.model import text as clean
from failwell.readers.waits import Wait, wait_in

from . import phrases, statuses

EXACT: Final = 0.95
STATED: Final = 0.85
UNKNOWN: Final = 0.2
_MOST_FIELDS: Final = 50


class Finding(NamedTuple):
    """What a text says. Without a code it is an error that says nothing about its kind."""

    code: str | None
    confidence: float
    message: str | None = None
    fields: tuple[FieldError, ...] = ()
    http_status: int | None = None
    wait: Wait = Wait()
    suggestion: str | None = None


_DECODE: Final = json.JSONDecoder().raw_decode
_START: Final = pattern(r"[\[{]\s{0,40}[\"{\]}]")
# More than a sentence before it, and the object is a part of something else.
_LONGEST_LEAD: Final = 400


def split(text: str) -> tuple[str, Any]:
    """The words before the first JSON object or list in a text, and its value; None where there is none."""
    if "{" not in text and "[" not in text:
        return text, None
    for match in islice(_START.finditer(text, 0, _LONGEST_LEAD), 4):
        try:
            value, _ = _DECODE(text, match.start())
        except (ValueError, RecursionError):
            continue
        return text[: match.start()].strip(), value
    return text, None


def inner_text(data: Mapping[str, Any]) -> str | None:
    """The text of a tool result that came as a text itself."""
    inner = data.get("toolResult", data)
    blocks = inner.get("content") if isinstance(inner, Mapping) else None
    if not isinstance(blocks, list):
        return None
    texts = [block["text"] for block in blocks[:20] if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts) or None


# Where pydantic, zod, ajv and web APIs say which argument it is about; what is wrong with it; what should have come.
_PLACES: Final = ("path", "loc", "instancePath", "dataPath", "field", "param", "parameter", "property", "argument")
_SENTENCES: Final = ("message", "msg", "detail", "error", "code")
_KINDS: Final = ("keyword", "code", "type")
_OPTIONS: Final = ("options", "values", "allowedValues")
_MISSING: Final = frozenset({"missing", "missing_field", "required", "value_error.missing"})
_RULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_MISSING, "required"),
    **dict.fromkeys(("unrecognized_keys", "extra_forbidden"), "additionalProperties"),
    **dict.fromkeys(("invalid_enum_value", "invalid_value", "invalid_literal", "literal_error", "enum"), "enum"),
    **dict.fromkeys(("invalid_type", "type"), "type"),
    "too_small": "minimum",
    "too_big": "maximum",
}
# Where in the request it stood is no part of the arguments.
_AROUND_ARGUMENTS: Final = frozenset({"body", "query", "header", "params", "arguments", "data"})
_STEPS: Final = pattern(r"[^.\[\]/]{1,200}")


def issues(data: object) -> Finding | None:
    """A list of what is wrong with which argument, as a validator writes it."""
    items = data[:_MOST_FIELDS] if isinstance(data, list) else []
    problems: list[FieldError] = []
    for item in items:
        place = next((item[name] for name in _PLACES if name in item), None) if isinstance(item, Mapping) else None
        if not isinstance(place, (str, list)):
            return None
        said = next((item[name] for name in _SENTENCES if isinstance(item.get(name), str)), None)
        if said is None:
            return None
        problems += _problems(item, _path(place), clean(said).strip())
    return _invalid(problems)


def _problems(issue: Mapping[str, Any], at: Path, said: str) -> Iterator[FieldError]:
    kind = next((kind for name in _KINDS if isinstance(kind := issue.get(name), str)), "")
    params = issue.get("params")
    more: Mapping[str, Any] = {**issue, **params} if isinstance(params, Mapping) else issue
    rule = _RULES.get(kind) or (
        kind if "keyword" in issue else "type" if kind.endswith(("_type", "_parsing")) else None
    )
    if more.get("received") == "undefined" or "received undefined" in said:
        rule = "required"
    expected = next((text for name in ("expected", "type") if isinstance(text := more.get(name), str)), None)
    options = next((found for name in _OPTIONS if isinstance(found := more.get(name), list)), [])
    names = more.get("keys") or [more.get("missingProperty") or more.get("additionalProperty")]
    for name in names[:_MOST_FIELDS] if isinstance(names, list) else [None]:
        yield FieldError(
            (*at, clean(name)) if isinstance(name, str) else at,
            said,
            expected=expected if rule in ("type", "required") and expected != kind else None,
            options=[plain(option) for option in options[:_MOST_FIELDS]],
            rule=rule,
        )


def by_name(data: object) -> Finding | None:
    """`{"title": ["is too short"]}`: what is wrong with each of the arguments, by its name."""
    if not isinstance(data, Mapping) or not data or not _SPOKEN.isdisjoint(data):
        return None
    problems = []
    for name, said in islice(data.items(), _MOST_FIELDS):
        sentences = [said] if isinstance(said, str) else said
        if not (isinstance(sentences, list) and sentences and all(isinstance(each, str) for each in sentences)):
            return None
        if not isinstance(name, str) or _ARGUMENT.fullmatch(name) is None:
            return None
        problems.append(FieldError(_path(name), "; ".join(sentences[:5])))
    return _invalid(problems)


_ARGUMENT: Final = pattern(r"[\w.\[\]-]{1,100}")


def _path(place: str | list[Any]) -> Path:
    """`a.b[0]`, `/a/b/0` or `["body", "a", 0]` as names and indexes."""
    steps: Iterable[object] = _STEPS.findall(place[:200].strip()) if isinstance(place, str) else place[:20]
    found = [step if type(step) is int else clean(step).strip("'\"`") for step in steps]
    while len(found) > 1 and found[0] in _AROUND_ARGUMENTS:
        del found[0]
    return tuple(int(step) if isinstance(step, str) and step.isdecimal() and len(step) < 10 else step for step in found)


def _invalid(problems: list[FieldError]) -> Finding | None:
    fields = tuple(each for at, each in enumerate(problems[:_MOST_FIELDS]) if each not in problems[:at])
    if not fields:
        return None
    missing = all(problem.rule == "required" for problem in fields)
    said = "; ".join(f"{each.name}: {each.message}" if each.path else each.message for each in fields[:5])
    message = f"{said}; and {len(fields) - 5} more" if len(fields) > 5 else said
    return Finding("MISSING_REQUIRED_FIELD" if missing else "VALIDATION_ERROR", EXACT, message, fields)


_ERRORS: Final = ("error", "errors", "detail", "details", "issues", "exception", "fault", "err")
_MESSAGES: Final = (
    *("message", "msg", "error_message", "errorMessage", "errorMessages", "error_description", "detail", "description"),
    *(*_ERRORS, "title", "reason", "hint", "text"),
)
_BY_NAME: Final = ("errors", "fieldErrors", "field_errors", "validationErrors", "validation_errors")
_CODES: Final = ("code", "error_code", "errorCode", "type", "errorType", "error_type", "name", "error", "reason")
_SURE_CODES: Final = frozenset({"code", "error_code", "errorCode", "errorType", "error_type", "error"})
_ERROR_NAME: Final = pattern(r"^[A-Z][A-Z0-9]*_[A-Z0-9_]+$|(?:Error|Exception|Fault|Failure)$")
_STATUSES: Final = ("status", "statusCode", "status_code", "httpStatus", "http_status", "code")
# An object with one of these is the error itself.
_SPOKEN: Final = frozenset({*_MESSAGES[:8], *_CODES, *_STATUSES})
_SUGGESTIONS: Final = ("suggestion", "hint", "resolution", "remediation", "fix", "help")
# With something in one of these, an object is an answer that has an error in it, not an error.
_PAYLOAD: Final = ("data", "result", "results", "items", "content", "id", "output", "rows", "tools", "stdout", "value")
_FLAGS: Final = ("success", "ok", "succeeded")
_FAILED: Final = frozenset({"error", "fail", "failed", "failure", "err"})
_WORKED: Final = frozenset({"ok", "success", "succeeded", "successful", "completed"})
# What stands beside a list of errors that is the whole answer.
_AROUND: Final = frozenset(
    """error errors errorMessages message msg code status statusCode status_code detail details title type name success
    ok data result extensions request_id requestId trace_id traceId timestamp path documentation_url instance hint
    suggestion""".split()
)
# An object with one of these tells how often others failed.
_COUNTED: Final = frozenset({"count", "since", "occurrences", "first_seen", "last_seen", "firstSeen", "lastSeen"})


def is_failure(data: Mapping[str, Any]) -> bool:
    """Whether an object says by itself that it is an error."""
    word = data["status"].lower() if isinstance(data.get("status"), str) else None
    if any(data.get(key) is True for key in _FLAGS) or word in _WORKED:
        return False
    if any(data.get(key) is False for key in _FLAGS) or data.get("isError") is True:
        return True
    error = data.get("error") or data.get("error_code") or data.get("errorCode")
    if "jsonrpc" in data and isinstance(error, Mapping):
        return True
    if not _COUNTED.isdisjoint(data):
        return False
    if _status(data) is not None and (sentence(data) or error):
        return True
    if any(data.get(key) for key in _PAYLOAD):
        return False
    if word in _FAILED and (sentence(data) or error or _AROUND.issuperset(data)):
        return True
    if error is True:
        return sentence(data) is not None
    if isinstance(error, Mapping) and (clean(error.get("message") or "").lower() in _WORKED or error.get("code") == 0):
        return False
    # Several errors stand in answers about something else as well.
    error = error or (data.get("errors") if _AROUND.issuperset(data) else None)
    return (isinstance(error, (str, Mapping, list)) and bool(error)) or issues(data.get("detail")) is not None


def sentence(data: Mapping[str, Any]) -> str | None:
    """What an object says in words."""
    for key in _MESSAGES:
        value = data.get(key)
        if isinstance(value, list):
            value = "; ".join(each for each in value[:5] if isinstance(each, str))
        if (said := _text(value)) is not None:
            return said
    return None


def listed(layers: list[Mapping[str, Any]]) -> Finding | None:
    """What a validator lists under one of the error keys."""
    for layer in layers:
        for key in _ERRORS:
            if (found := issues(layer.get(key))) is not None:
                return found
    status = status_of(layers)
    if status is None or status in statuses.WEAK:
        for layer in layers:
            for key in _BY_NAME:
                if (found := by_name(layer.get(key))) is not None:
                    return found._replace(http_status=status)
    return None


# What services answer when they have not looked closer; a sentence beside it says more.
_WEAK: Final = statuses.WEAK | {500, 502}
# The same call will be refused again, whatever the code beside it is called.
_REFUSALS: Final = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 415, 422})


def read(data: Mapping[str, Any], layers: list[Mapping[str, Any]], worded: Finding | None) -> Finding:
    """An error object: its code where that says something, else its status, else its words (`worded`)."""
    status = status_of(layers) or (worded.http_status if worded else None)
    named = _named(layers)
    code: str | None
    info = find(named) if named is not None else None
    if named is not None and not (status in _REFUSALS and info is not None and info.retryable):
        code, confidence = named, EXACT
    elif status is None:
        code, confidence = (worded.code, worded.confidence) if worded else (None, 0.0)
    else:
        code, confidence = statuses.code_with(status, worded.code if worded else None, _WEAK), STATED
    wait = wait_in(data)
    return Finding(
        code,
        confidence,
        worded.message if worded else None,
        worded.fields if worded else (),
        status,
        worded.wait if worded and wait == Wait() else wait,
        next((said for layer in layers for key in _SUGGESTIONS if (said := _text(layer.get(key)))), None),
    )


def layers_of(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The object, and the objects under its error keys, outermost first."""
    found: list[Mapping[str, Any]] = []
    waiting: list[tuple[int, object]] = [(0, data)]
    while waiting and len(found) < 20:
        depth, each = waiting.pop(0)
        if isinstance(each, list):
            each = each[0] if each else None
        if isinstance(each, Mapping):
            found.append(each)
            if depth < 5:
                waiting += [
                    (depth + 1, each[key]) for key in (*_ERRORS, "response", "body", "extensions") if key in each
                ]
    return found


def message_of(data: Mapping[str, Any], layers: list[Mapping[str, Any]]) -> str | None:
    """What the error itself says; around it stands what it happened to."""
    inner = [layer for layer in layers if layer is data.get("error")]
    return next((said for layer in (*inner, *layers) if (said := sentence(layer))), None)


def status_of(layers: list[Mapping[str, Any]]) -> int | None:
    return next((number for layer in layers if (number := _status(layer)) is not None), None)


def _status(data: Mapping[str, Any]) -> int | None:
    for key in _STATUSES:
        value = data.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isdecimal():
            value = int(value)
        if type(value) is int and 400 <= value < 600:
            return value
    return None


def _named(layers: list[Mapping[str, Any]]) -> str | None:
    for depth, layer in enumerate(layers):
        for key in _CODES:
            value = layer.get(key)
            # A sentence is no name; and outside of the error the name may be of anything.
            if isinstance(value, str) and len(value) <= 80 and " " not in value.strip():
                code = (
                    phrases.code_of(value.strip()) if depth or key in _SURE_CODES or _ERROR_NAME.search(value) else None
                )
                if code is not None:
                    return code
    return None


def _text(value: object) -> str | None:
    return label(clean(value).strip()) if isinstance(value, str) else None
