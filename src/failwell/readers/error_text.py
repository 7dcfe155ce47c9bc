"""What an error text says about its cause: SDK prefixes come off, then JSON, an HTTP status and the words are read.

The result is a label, for counters and for reads that are made again. No word decides what was done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

from failwell.model import Kind, Strategy, ToolError, find, pattern, positive
from failwell.model import text as clean

from . import json_errors, phrases
from .http import code_for
from .traces import trace_line
from .waits import Wait, wait_in

# How sure a reading is: a code that was named, a status or a trace, words, advice, nothing.
_NAMED: Final = 0.95
_STATED: Final = 0.85
_WORDED: Final = 0.65
_GUESSED: Final = 0.4
_UNKNOWN: Final = 0.2
_LONGEST: Final = 20_000
_DEEPEST: Final = 3

# What the numbers of JSON-RPC say where the text says nothing. -32603 is sent for anything, and those from -32000 up to
# -32099 mean something else in each SDK.
_NUMBERS: Final[Mapping[int, str]] = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
}
_DELAY: Final = pattern(
    r"(?:retry[- _]?after|(?:try again|another (?:go|try)) (?:in|after)|retry (?:in|after)|wait(?: for)?|available in"
    r"|resets? in)['\"]?[:=]?\s?(?:at least |about |another )?(\d{1,7}(?:\.\d{1,6})?)\s?"
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)?\b",
    re.IGNORECASE,
)
_UNITS: Final = {"ms": 0.001, "mil": 0.001, "m": 60, "h": 3600, "s": 1}


class _Finding(NamedTuple):
    """What a text says. Without a code it is an error that says nothing about its kind."""

    code: str | None = None
    confidence: float = _UNKNOWN
    message: str | None = None
    status: int | None = None
    wait: Wait = Wait()


def from_text(text: str, *, is_error: bool | None = None, number: int | None = None) -> ToolError | None:
    """What an error text means; None for a text that is no error.

    `is_error` is what the result says about itself: unless it is True, only a text that shows plainly that it is an
    error counts as one. `number` is the code of a JSON-RPC error; it decides only where the text says nothing.

    >>> error = from_text("MCP error -32603: Failed to draw: Request failed with status code 429")
    >>> error.code, error.message, error.http_status
    ('RATE_LIMITED', 'Failed to draw: Request failed with status code 429', 429)
    >>> from_text("3 files were written.") is None
    True
    """
    if len(text) > _LONGEST:
        # What happened stands at the beginning or at the end.
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    if is_error is not True and is_page(text.lstrip()):
        return None
    wrapped = unwrap(clean(text))
    sure = is_error is True or (wrapped.announced and len(wrapped.text) <= 2 * _LONGEST_PLAIN)
    found = _find(wrapped.text, sure)
    if found is None:
        return None
    number = number if number is not None else wrapped.number
    code, confidence, status = found.code, found.confidence, found.status
    if number is not None and 400 <= number < 600 and status is None and confidence <= _WORDED:
        code, confidence, status = code_with(number, code), _STATED, number
    if code is None and (code := _NUMBERS.get(number or 0)) is not None:
        confidence = _GUESSED
    info = find(code)
    error = ToolError(
        clean(found.message or wrapped.text or "The tool failed and gave no reason."),
        code=code,
        kind=info.kind if info else Kind.INTERNAL,
        http_status=status,
        # Whoever refused is a person, or has set the rule: nobody is to find a way around them.
        strategy=Strategy.USER_ACTION if code == "POLICY_DENIED" else None,
        tool=wrapped.tool,
        legacy=True,
        origin="peer",
        format="text",
        confidence=confidence,
    )
    if info is not None and info.retryable and error.retryable:
        wait = found.wait if found.wait != Wait() else Wait(_delay(wrapped.text))
        error.retry_after, error.reset_at = (None, wait.reset_at) if wait.reset_at else (wait.retry_after, None)
    return error


def from_paste(text: str) -> ToolError | None:
    """What a text means to whoever pasted it and asks; None for one that tells of no failure.

    What nobody called an error, and what does not call itself one, is believed less.

    >>> from_paste("Transport closed").code, from_paste("All 12 checks passed.") is None
    ('NETWORK_ERROR', True)
    """
    found = from_text(text)
    if found is not None or is_report(text):
        return found
    found = from_text(text, is_error=True)
    if found is None or found.code is None:
        return None
    return found.replace(confidence=min(found.confidence or _GUESSED, _GUESSED))


class Unwrapped(NamedTuple):
    """A text without what SDKs put in front. `announced` says that this called it an error."""

    text: str
    tool: str | None = None
    number: int | None = None
    announced: bool = False


_MOST_PREFIXES: Final = 8
_IN_BRACKETS: Final = pattern(r"\[(-?\d{1,6})\]\s{1,3}|mcp error (-?\d{1,6}):\s{0,3}", re.IGNORECASE)
_TOOL: Final = pattern(
    r"error (?:executing|calling|running|invoking) tool:? ['\"`]?([\w./:-]{1,100}?)['\"`]?(?::\s{1,3}|[.!]?$)"
    r"|tool execution failed:\s{1,3}|tool (?:call )?(?:error|failed):\s{1,3}|(?:tool|mcp)error:\s{1,3}",
    re.IGNORECASE,
)
_MARK: Final = r"[\s#>*_❌✖✗⚠️🚫🛑⛔❗️-]{0,12}"
_ERROR: Final = pattern(rf"{_MARK}error\b[*_]{{0,3}}\s?(?::[*_]{{0,3}}\s{{0,3}}|\n{{1,3}}|$)", re.IGNORECASE)


def unwrap(text: str) -> Unwrapped:
    """Take off what the SDKs put in front, often twice.

    >>> unwrap("Error executing tool add: MCP error -32602: Error: Error: no")
    Unwrapped(text='no', tool='add', number=-32602, announced=True)

    A name alone says nothing about how its tool failed:

    >>> unwrap("Error executing tool find_missing").text
    ''
    """
    text = text.strip("\ufeff \t\r\n")
    tool: str | None = None
    number: int | None = None
    announced = False
    for _ in range(_MOST_PREFIXES):
        if found := _IN_BRACKETS.match(text):
            number = number or int(found[1] or found[2])
            # A number in brackets is a footnote as often as an error.
            announced = announced or found[2] is not None or number <= -32000
        elif found := _TOOL.match(text):
            tool, announced = tool or found[1], True
        elif found := _ERROR.match(text):
            announced = True
        else:
            break
        text = text[found.end() :]
    return Unwrapped(text.strip(), tool, number, announced)


def _find(text: str, sure: bool, depth: int = 0) -> _Finding | None:
    """What the text says; None where it is no error."""
    lead, data = json_errors.split(text)
    if (
        isinstance(data, Mapping)
        and (sure or not lead or is_plain(lead))
        and (found := _in_json(lead, data, sure, depth))
    ):
        return found
    if not sure and data is not None and not lead:
        return None
    if (sure or text.startswith("Traceback")) and (line := trace_line(text)) is not None:
        inner = unwrap(line).text
        return (_worded(inner) or _Finding("INTERNAL_ERROR", _STATED))._replace(message=inner or line)
    if not sure and not is_plain(text):
        return None
    return _worded(text) or _Finding()


def _worded(text: str) -> _Finding | None:
    """What a sentence says, and the status in it."""
    status, found = status_in(text), phrases.code_in(text)
    if status is not None:
        return _Finding(code_with(status, found[0] if found else None), _STATED, status=status)
    return None if found is None else _Finding(found[0], _WORDED - found[1] / 10)


def _in_json(lead: str, data: object, sure: bool, depth: int) -> _Finding | None:
    """An error object: its status where that says something, else its code, else its words."""
    layers = json_errors.layers_of(data)
    if not (json_errors.is_failure(layers[0]) or (sure and json_errors.sentence(layers[0]))):
        return None
    said = json_errors.message_in(layers)
    # The message may itself be wrapped, or be JSON.
    inner = unwrap(said or "").text
    worded = (_find(inner, True, depth + 1) if depth < _DEEPEST else _worded(inner)) or _Finding()
    status = json_errors.status_in(layers) or worded.status
    named = next((code for name in json_errors.names_in(layers) if (code := phrases.code_of(name))), None)
    code, confidence = (named, _NAMED) if named else (worded.code, worded.confidence)
    if status is not None and not (named and status in _WEAK | {500, 502}):
        code, confidence = code_with(status, code, _WEAK | {500, 502}), _STATED
    wait = wait_in(data)
    # The words before the object: "API error 404: {…}".
    before = _worded(lead) if lead else None
    if before is not None and (code is None or before.status is not None):
        code, confidence, status = before.code, before.confidence, before.status
    message = f"{lead} {worded.message or inner or said or ''}".strip() or None
    return _Finding(code, confidence, message, status, worded.wait if wait == Wait() else wait)


def _delay(text: str) -> float | int | None:
    found = _DELAY.search(text)
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    return positive(float(found[1]) * next(length for name, length in _UNITS.items() if unit.startswith(name)))


_PHRASES: Final = "|".join(
    [
        *(re.escape(status.phrase) for status in HTTPStatus if status >= 400),
        *("(?:Payload|Content) Too Large", "Unprocessable Content", "Gateway Time-out", "Client Error", "Server Error"),
    ]
)
# Those that services use. Other numbers of three digits are codes of somebody's own.
_CODE: Final = r"(4(?:0\d|1[0-8]|2[1-9]|31|51)|5(?:0[0-8]|1[01]|2\d|30))"
_STATUS: Final = pattern(
    # A word that a status follows.
    r"\b(?:status(?:[ _-]?code)?|https?(?:/\d(?:\.\d)?)?(?: error| status| response)?(?: code)?|error(?: code)?"
    r"|fail(?:ed|ure)|returned|responded|response|answered|replied|received|got|code|reason"
    r"|\w{0,30}(?:error|exception))\b"
    rf"['\"]?[\s:=(\[#'\"-]{{0,4}}(?:with |an? |of |the |http |error |status |code |was |is ){{0,4}}[('\"\[]?{_CODE}"
    r"(?![\w%]|[.,:]\d| ?(?:ms|seconds?|bytes?|rows?|items?|characters?|tokens?|results?|lines?|px)\b)"
    # A status that its own phrase follows.
    rf"|\b{_CODE}[\s:-]{{1,3}}\(?(?:{_PHRASES})\b",
    re.IGNORECASE,
)
_DIGITS: Final = pattern(r"[45]\d\d")
_URL: Final = pattern(r"https?://[^\s'\"<>)]{1,500}", re.IGNORECASE)


def status_in(text: str) -> int | None:
    """The HTTP status that a text speaks of.

    >>> status_in("API request failed: 401"), status_in("Client error '404 Not Found' for url"), status_in("room 404")
    (401, 404, None)
    """
    text = text[:4_000]
    # Nearly all texts speak of none, and are told by that.
    found = _STATUS.search(_URL.sub("URL", text)) if _DIGITS.search(text) else None
    return int(next(filter(None, found.groups()))) if found else None


# What services answer when they have not looked closer; a sentence beside it says more.
_WEAK: Final = frozenset({400, 422})
# What a sentence may say instead of these: a limit is not always 429, and waiting does not lift every one that is.
_INSTEAD: Final = {403: "RATE_LIMITED", 404: "UNKNOWN_TOOL", 429: "FORBIDDEN"}


def code_with(status: int, worded: str | None, weak: frozenset[int] = _WEAK) -> str:
    """The code for a status with a sentence beside it, which stands for the code `worded`.

    >>> code_with(422, "CONFLICT"), code_with(404, "CONFLICT"), code_with(403, "RATE_LIMITED")
    ('CONFLICT', 'NOT_FOUND', 'RATE_LIMITED')
    """
    if worded is not None and _INSTEAD.get(status) == worded:
        return worded
    if worded is not None and status in weak and worded != "INTERNAL_ERROR":
        # An upstream's refusal is not the tool's crash, and will not pass.
        info = find(worded)
        if info is None or not info.retryable:
            return worded
    return code_for(status)


# Whether a text that nobody called an error is one. Servers say in a few lines what went wrong; longer texts, logs,
# pages, files and tables are what was asked for.
_LONGEST_PLAIN: Final = 2_000
_MOST_LINES: Final = 25
# A second line as logs and changes have it, or a chapter.
_MOMENT: Final = r"\[?\d[\d:T.,+Z /-]{4,40}\]?"
_PAGE: Final = pattern(
    rf"\n(?:\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:trace|debug|info|notice|warn|warning)\b|{_MOMENT}\s|[-+]\S"
    r"|#{1,4} (?:description|examples?|overview|introduction|syntax|usage|steps|background)\b)",
    re.IGNORECASE,
)
_ANNOUNCED: Final = pattern(
    rf"{_MARK}(?!(?:no|zero|without|any) )(?:"
    # "Error reading x: …", "Network error: …", "nope.md: Error - …", "Failed to draw", "[NOT_FOUND] x"
    r"(?:an? )?(?:\w{1,30} ){0,3}(?:error|exception)\b(?! (?:handling|reporting|tracking)(?::| in\b))"
    r"(?: (?:\w{2,20}ing|while|when|in|during|from|for|occurred)\b[^:\n]{0,200})?\s?(?::| -|—)\s"
    r"|\d{1,6} validation errors? for |[^\s:(]{1,200}: error\b"
    r"|(?:(?:failed|unable) to|could not|couldn't|cannot|can't) (?-i:[a-z]\w)"
    r"|(?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception): [^\n]{1,300}$"
    r"|(?-i:[A-Z]{3,20}(?:_[A-Z]{2,20}){1,4}): |\[(?-i:[A-Z_]{4,20})\] (?!is\b)"
    rf"|(?:{_PHRASES}|access denied|permission denied)\s?(?:[:.!,-]|$))",
    re.IGNORECASE,
)
# Not a heading over a list, and no title in capitals.
_STATEMENT: Final = pattern(
    r"(?!class |[^\n:]{1,60}[^s\W]s: )[^\s\w]{0,12}"
    r"(?:[A-Z]?[a-z]{1,20}|[/\\~][^\n ]{1,200})(?!\w)(?! (?:[A-Z][a-z]{1,20}){1,2}\b)[^\n]{0,180}$"
)
# It went on, or it is the title of something, or a value, or what was looked for.
_AFTER_ALL: Final = pattern(
    r"[,;] (?:so|but|and|the|s?he|they|we|it)\b|\b(?:any ?more|succeeded|passed|removed: \d)\b"
    r"|(?<!not )(?<!nothing )\b(?:was|were|been) (?:\w{3,12}ed|written|made)\b"
    r"|^[^:\n]{1,60}: (?:(?:yes|no|none|true|false)(?=\W{0,3}$|\W{0,2}[,;(])|\d[\d.]{0,9}(?:,| ?%| of\b)"
    r"|(?:how|what|why|a) \w)"
    rf"|^{_MARK}(?:(?:no|0) (?!such )|(?:nothing|successfully|success|done|ok|created|updated|deleted|saved)\b"
    r"|(?:warning|note|commit|issue|title|rule|feat|fix)\b)",
    re.IGNORECASE,
)


def is_page(text: str) -> bool:
    """Whether a text is a log, a change or a page, which speaks of errors that are not this call's.

    >>> is_page("Error: refused\\nInfo: connected"), is_page("Error: refused")
    (True, False)
    """
    return _PAGE.search(text, 0, _LONGEST_PLAIN) is not None


def is_plain(text: str) -> bool:
    """Whether the text shows by its beginning that it is an error.

    >>> is_plain("Error reading a.txt: it is locked"), is_plain("No matches found")
    (True, False)
    """
    if len(text) > _LONGEST_PLAIN or text.count("\n") > _MOST_LINES or is_page(text):
        return False
    first = phrases.first_sentence(text)
    if _AFTER_ALL.search(first):
        return False
    if _ANNOUNCED.match(text):
        return True
    # A short statement that says how it failed.
    if _STATEMENT.match(first) is None or text.count("\n") > 6:
        return False
    return phrases.code_of(phrases.masked(first)) is not None or status_in(first) is not None


def is_report(text: str) -> bool:
    """Whether a text plainly tells of something else than one failure: of what was done, found or written, or JSON.

    >>> is_report("Account 7 was not found, so a new one was created."), is_report("Transport closed")
    (True, False)
    """
    text = text.strip()
    too_long = len(text) > _LONGEST_PLAIN or text.count("\n") > _MOST_LINES
    return (
        too_long
        or text[:1] in ("{", "[")
        or is_page(text)
        or _AFTER_ALL.search(phrases.first_sentence(text)) is not None
    )
