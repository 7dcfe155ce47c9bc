"""One text to one ToolError: unwrapped, held against the shapes in order, then against the words."""

from __future__ import annotations

from collections.abc import Mapping
from re import IGNORECASE
from typing import Final

from failwell.model import Kind, Strategy, ToolError, find, pattern, positive
from failwell.model import text as clean

from . import announcements as announcing
from . import crashes, hosts, objects, pydantic, schemas, sql, statuses, traces, words, zod
from . import field_names as names
from .clues import EXACT, GUESSED, STATED, UNKNOWN, Finding, Parser
from .wraps import Unwrapped, ends, unwrap

# The exact ones first. A text that several could read is read by the first.
SHAPES: Final[tuple[Parser, ...]] = (
    crashes.output,
    pydantic.read,
    zod.one_line,
    schemas.read,
    names.grpc,
    names.system,
    hosts.read,
    sql.read,
    statuses.read,
    crashes.key,
    names.labelled,
    words.read,
    names.token,
)

# Those that can prove an error by themselves, in a text short enough to be one.
_PLAIN_SHAPES: Final[tuple[Parser, ...]] = (pydantic.read, zod.one_line, schemas.read, names.labelled)
_LONGEST_PLAIN: Final = 4_000

# What the numbers of JSON-RPC say where the text says nothing. -32603 is sent for anything, and those from -32000 up to
# -32099 mean something else in each SDK.
_NUMBERS: Final[Mapping[int, str]] = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
}
_TOOL: Final = pattern(r"arguments for (?:tool )?['\"`]?([\w./-]{1,100}?)['\"`]?:", IGNORECASE)
_DELAY: Final = pattern(
    r"(?:retry[- _]?after|(?:try again|another (?:go|try)) (?:in|after)|retry (?:in|after)|wait(?: for)?|available in"
    r"|reset(?:s)? in)['\"]?[:=]?\s?"
    r"(?:at least |about |another )?(\d{1,7}(?:\.\d{1,6})?)\s?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m"
    r"|hours?|h)?\b",
    IGNORECASE,
)
_UNITS: Final = {"ms": 0.001, "mil": 0.001, "m": 60, "h": 3600, "s": 1}
# Whoever refused is a person, or has set the rule: they can be asked, and nobody is to find a way around them.
_STRATEGIES: Final = {"POLICY_DENIED": Strategy.USER_ACTION}
_DEEPEST: Final = 3

_NOTHING_SAID: Final = "The tool failed and gave no reason."


def read(text: str, is_error: bool | None, number: int | None) -> ToolError | None:
    text = clean(ends(text))
    if is_error is not True and announcing.is_shown(text.lstrip()):
        return None
    wrapped = unwrap(text)
    finding = _find(wrapped, is_error)
    if finding is None:
        return None
    number = number if number is not None else wrapped.number
    return _error(statuses.of_number(number, finding), wrapped, number)


def _find(wrapped: Unwrapped, is_error: bool | None, depth: int = 0) -> Finding | None:
    """What the text says; None where it is no error."""
    text = wrapped.text
    sure = is_error is True or (wrapped.announced and len(text) <= _LONGEST_PLAIN)
    lead, data = objects.split(text)
    if data is None and sure:
        data, lead = objects.broken(text), ""
    if data is not None and (found := _in_json(lead, data, sure, depth)) is not None:
        return found
    if data is not None and not lead and not sure:
        return None
    if (sure or text.startswith("Traceback")) and (line := traces.trace_line(text)) is not None:
        inner = unwrap(line)
        found = _shaped(inner.text)
        return (found or Finding("INTERNAL_ERROR", STATED))._replace(message=inner.text or line)
    if not sure and not announcing.is_plain(text):
        found = _shaped(text, _PLAIN_SHAPES) if len(text) <= _LONGEST_PLAIN else None
        return found if found is not None and found.plain else None
    return _shaped(text) or Finding(None, UNKNOWN)


def _in_json(lead: str, data: object, sure: bool, depth: int) -> Finding | None:
    if (found := objects.listed(data)) is not None and (sure or announcing.is_plain(lead)):
        return found._replace(message=f"{lead} {found.message}".strip())
    if not isinstance(data, Mapping):
        return None
    inner = objects.contents(data)
    if inner is not None and depth < _DEEPEST:
        held = data.get("toolResult", data)
        failed = True if sure or (isinstance(held, Mapping) and held.get("isError") is True) else None
        unwrapped = unwrap(inner)
        found = _find(unwrapped, failed, depth + 1)
        return found and found._replace(message=found.message or unwrapped.text)
    if not (objects.is_failure(data) or (sure and objects.label_of(data))):
        return None
    if lead and not sure and not announcing.is_plain(lead):
        return None
    found = objects.read(data, lambda said: _nested(said, depth))
    # The words before the object: "API error 404: {…}".
    before = _shaped(lead) if lead else None
    if before is not None and (found.code is None or before.http_status is not None):
        found = found._replace(code=before.code, confidence=before.confidence, http_status=before.http_status)
    if found.confidence < EXACT and (relayed := hosts.read(unwrap(found.message or "").text)) is not None:
        # What a gateway says in words is more than the status it says it with.
        found = found._replace(code=relayed.code, confidence=relayed.confidence)
    if lead:
        said = f"{lead} {found.message}" if found.message else lead
        found = found._replace(message=said)
    return found


def _nested(said: str, depth: int) -> Finding | None:
    """The message of an error object, which may itself be wrapped, or be JSON."""
    wrapped = unwrap(said)
    return _find(wrapped, True, depth + 1) if depth < _DEEPEST else _shaped(wrapped.text)


def _shaped(text: str, shapes: tuple[Parser, ...] = SHAPES) -> Finding | None:
    for parse in shapes:
        if (found := parse(text)) is not None:
            return found
    return None


def _error(finding: Finding, wrapped: Unwrapped, number: int | None) -> ToolError:
    code, confidence = finding.code, finding.confidence
    if code is None:
        code = _NUMBERS.get(number) if number is not None else None
        confidence = GUESSED if code else UNKNOWN
    info = find(code)
    # Of a text that says nothing, not even a code is certain.
    error = ToolError(
        clean(finding.message or wrapped.text or _NOTHING_SAID),
        code=code,
        kind=info.kind if info else Kind.INTERNAL,
        fields=finding.fields,
        http_status=finding.http_status,
        suggestion=finding.suggestion,
        strategy=_STRATEGIES.get(code or ""),
        tool=wrapped.tool or _tool(wrapped.text),
        legacy=True,
        origin="peer",
        format="text",
        confidence=confidence,
    )
    if info is not None and info.retryable and error.retryable:
        if finding.reset_at is not None:
            error.reset_at = finding.reset_at
        elif (delay := finding.retry_after or _delay(wrapped.text)) is not None:
            error.retry_after = delay
    return error


def _tool(text: str) -> str | None:
    found = _TOOL.search(text[:400])
    return found[1] if found else None


def _delay(text: str) -> float | int | None:
    found = _DELAY.search(text)
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    return positive(float(found[1]) * next(length for name, length in _UNITS.items() if unit.startswith(name)))
