"""One text to one ToolError: what SDKs put in front is taken off, then JSON is read, then a status, then the words.

What comes of it is a label, for counters and for read calls that are made again. It says nothing about what was done:
no word decides that.
"""

from __future__ import annotations

from collections.abc import Mapping
from re import IGNORECASE
from typing import Any, Final, NamedTuple

from failwell.model import Kind, Strategy, ToolError, find, pattern, positive
from failwell.model import text as clean
from failwell.readers.traces import trace_line
from failwell.readers.waits import Wait

from . import json_errors, phrases, statuses
from .json_errors import STATED, UNKNOWN, Finding

WORDED: Final = 0.65
GUESSED: Final = 0.4
_LONGEST: Final = 20_000
_DEEPEST: Final = 3
_NOTHING_SAID: Final = "The tool failed and gave no reason."

# What the numbers of JSON-RPC say where the text says nothing. -32603 is sent for anything, and those from -32000 up to
# -32099 mean something else in each SDK.
_NUMBERS: Final[Mapping[int, str]] = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
}
# Whoever refused is a person, or has set the rule: they can be asked, and nobody is to find a way around them.
_STRATEGIES: Final = {"POLICY_DENIED": Strategy.USER_ACTION}
_ARGUMENTS_FOR: Final = pattern(r"arguments for (?:tool )?['\"`]?([\w./-]{1,100}?)['\"`]?:", IGNORECASE)
_DELAY: Final = pattern(
    r"(?:retry[- _]?after|(?:try again|another (?:go|try)) (?:in|after)|retry (?:in|after)|wait(?: for)?|available in"
    r"|reset(?:s)? in)['\"]?[:=]?\s?"
    r"(?:at least |about |another )?(\d{1,7}(?:\.\d{1,6})?)\s?(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m"
    r"|hours?|h)?\b",
    IGNORECASE,
)
_UNITS: Final = {"ms": 0.001, "mil": 0.001, "m": 60, "h": 3600, "s": 1}
# All that Python says about a key that is not there is the key.
_KEY: Final = pattern(r"(?:KeyError: ?)?'[^'\s]{1,100}'")


def read(text: str, is_error: bool | None, number: int | None) -> ToolError | None:
    """What an error text means; None for a text that is no error."""
    if len(text) > _LONGEST:
        # What happened stands at the beginning or at the end.
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    if is_error is not True and is_page(text.lstrip()):
        return None
    wrapped = unwrap(clean(text))
    found = _find(wrapped, is_error)
    if found is None:
        return None
    number = number if number is not None else wrapped.number
    if number is not None and 400 <= number < 600 and found.http_status is None and found.confidence <= WORDED:
        found = found._replace(code=statuses.code_with(number, found.code), confidence=STATED, http_status=number)
    return _error(found, wrapped, number)


class Unwrapped(NamedTuple):
    """A text without what SDKs put in front. `announced` says that this called it an error."""

    text: str
    tool: str | None = None
    number: int | None = None
    announced: bool = False


_MOST_WRAPS: Final = 8
_IN_BRACKETS: Final = pattern(r"\[(-?\d{1,6})\]\s{1,3}|mcp error (-?\d{1,6}):\s{0,3}", IGNORECASE)
_TOOL: Final = pattern(
    r"error (?:executing|calling|running|invoking) tool:? ['\"`]?([\w./:-]{1,100}?)['\"`]?(?::\s{1,3}|[.!]?$)"
    r"|tool ['\"`]([^'\"`\n]{1,100})['\"`] (?:execution )?failed:\s{1,3}"
    r"|tool execution failed:\s{1,3}|tool (?:call )?(?:error|failed):\s{1,3}|toolerror:\s{1,3}|mcperror:\s{1,3}",
    IGNORECASE,
)
_MARK: Final = r"[\s#>*_❌✖✗⚠️🚫🛑⛔❗️-]{0,12}"
_ERROR: Final = pattern(rf"{_MARK}error\b[*_]{{0,3}}\s?(?::[*_]{{0,3}}\s{{0,3}}|\n{{1,3}}|$)", IGNORECASE)
# A remark about the call, before what came of it.
_REMARK: Final = pattern(r"[^\n]{0,400}\b(?:was|were|is|are|been|be) ignored\b[^\n]{0,1000}\n(?=[^\n])", IGNORECASE)


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
    for _ in range(_MOST_WRAPS):
        if found := _IN_BRACKETS.match(text):
            number = number or int(found[1] or found[2])
            # A number in brackets is a footnote as often as an error.
            announced = announced or found[2] is not None or number <= -32000
        elif found := _TOOL.match(text):
            tool = tool or found[1] or found[2]
            announced = True
        elif found := _ERROR.match(text):
            announced = True
        elif "\n" not in text or (found := _REMARK.match(text)) is None:
            break
        text = text[found.end() :]
    return Unwrapped(text.strip(), tool, number, announced)


def _find(wrapped: Unwrapped, is_error: bool | None, depth: int = 0) -> Finding | None:
    """What the text says; None where it is no error."""
    text = wrapped.text
    sure = is_error is True or (wrapped.announced and len(text) <= 2 * _LONGEST_PLAIN)
    lead, data = json_errors.split(text)
    if data is not None and (sure or not lead or is_plain(lead)) and (found := _in_json(lead, data, sure, depth)):
        return found
    if not sure and data is not None and not lead:
        return None
    if (sure or text.startswith("Traceback")) and (line := trace_line(text)) is not None:
        inner = unwrap(line)
        return (_worded(inner.text) or Finding("INTERNAL_ERROR", STATED))._replace(message=inner.text or line)
    if not sure and not is_plain(text):
        return None
    return _worded(text) or Finding(None, UNKNOWN)


def _worded(text: str) -> Finding | None:
    """What a sentence says, and the status in it."""
    if _KEY.fullmatch(text):
        return Finding("INTERNAL_ERROR", STATED)
    status, found = statuses.status_in(text), phrases.code_in(text)
    if status is not None:
        return Finding(statuses.code_with(status, found[0] if found else None), STATED, http_status=status)
    return None if found is None else Finding(found[0], WORDED - found[1] / 10)


def _in_json(lead: str, data: object, sure: bool, depth: int) -> Finding | None:
    found = json_errors.issues(data)
    if found is None and isinstance(data, Mapping):
        inner = json_errors.inner_text(data)
        if inner is not None and depth < _DEEPEST:
            held = data.get("toolResult", data)
            failed = True if sure or (isinstance(held, Mapping) and held.get("isError") is True) else None
            unwrapped = unwrap(inner)
            found = _find(unwrapped, failed, depth + 1)
            return found and found._replace(message=found.message or unwrapped.text)
        if not (json_errors.is_failure(data) or (sure and json_errors.sentence(data))):
            return None
        layers = json_errors.layers_of(data)
        found = json_errors.listed(layers) or _object(data, layers, depth)
        # The words before the object: "API error 404: {…}".
        before = _worded(lead) if lead else None
        if before is not None and (found.code is None or before.http_status is not None):
            found = found._replace(code=before.code, confidence=before.confidence, http_status=before.http_status)
    return found and found._replace(message=f"{lead} {found.message or ''}".strip() or None)


def _object(data: Mapping[str, Any], layers: list[Mapping[str, Any]], depth: int) -> Finding:
    said = json_errors.message_of(data, layers)
    if said is None:
        return json_errors.read(data, layers, None)
    # The message may itself be wrapped, or be JSON.
    wrapped = unwrap(said)
    worded = (_find(wrapped, True, depth + 1) if depth < _DEEPEST else _worded(wrapped.text)) or Finding(None, UNKNOWN)
    is_trace = worded.message is not None and trace_line(said) is not None
    return json_errors.read(data, layers, worded._replace(message=worded.message if is_trace else wrapped.text or said))


def _error(found: Finding, wrapped: Unwrapped, number: int | None) -> ToolError:
    code, confidence = found.code, found.confidence
    if code is None:
        code = _NUMBERS.get(number) if number is not None else None
        confidence = GUESSED if code else UNKNOWN
    info = find(code)
    called = _ARGUMENTS_FOR.search(wrapped.text[:400])
    # Of a text that says nothing, not even a code is certain.
    error = ToolError(
        clean(found.message or wrapped.text or _NOTHING_SAID),
        code=code,
        kind=info.kind if info else Kind.INTERNAL,
        fields=found.fields,
        http_status=found.http_status,
        suggestion=found.suggestion,
        strategy=_STRATEGIES.get(code or ""),
        tool=wrapped.tool or (called[1] if called else None),
        legacy=True,
        origin="peer",
        format="text",
        confidence=confidence,
    )
    if info is not None and info.retryable and error.retryable:
        wait = found.wait if found.wait != Wait() else Wait(_delay(wrapped.text))
        error.retry_after, error.reset_at = (None, wait.reset_at) if wait.reset_at else (wait.retry_after, None)
    return error


def _delay(text: str) -> float | int | None:
    found = _DELAY.search(text)
    if found is None:
        return None
    unit = (found[2] or "s").lower()
    return positive(float(found[1]) * next(length for name, length in _UNITS.items() if unit.startswith(name)))


# Whether a text that nobody called an error is one. Servers say in a few lines what went wrong; longer texts, logs,
# pages, files and tables are what was asked for.
_LONGEST_PLAIN: Final = 2_000
_MOST_LINES: Final = 25
_MOMENT: Final = r"\[?\d[\d:T.,+Z /-]{4,40}\]?"
_PAGE: Final = pattern(
    rf"\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:ERROR|FATAL|CRITICAL)[\])>|]?[\s:][^\n]{{0,500}}"
    rf"\n\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING)\b"
    rf"|error:[^\n]{{1,300}}\n(?:info|debug|warning|warn|notice|trace): |{_MOMENT}\s[^\n]{{0,300}}\n{_MOMENT}\s"
    r"|diff --git |[-+][^\s+-][^\n]{0,300}\n[-+]\S|@@ -\d",
    IGNORECASE,
)
_HEADING: Final = pattern(
    r"\n#{1,4} (?:description|examples?|overview|introduction|syntax|usage|steps|background)\b", IGNORECASE
)
_ANNOUNCED: Final = pattern(
    rf"{_MARK}(?!(?:no|zero|without|any) )(?:"
    # "Error reading x: …", "Network error: …", "nope.md: Error - …", "Failed to draw", "[NOT_FOUND] x"
    r"(?:an? )?(?:\w{1,30} ){0,3}(?:error|exception)\b(?! (?:handling|reporting|tracking|logging|checking|monitoring)"
    r"(?::| in\b))(?: (?:\w{2,20}ing|while|when|in|during|from|for|occurred)\b[^:\n]{0,200})?\s?(?::| -|—)\s"
    r"|\d{1,6} validation errors? for |error(?: \([\w .-]{1,40}\)\s?:| \d{1,5}(?::| \(| connecting\b))"
    r"|(?:an |the )?(?:\w{1,20} )?error (?:occurred|happened)\b|[^\s:(]{1,200}: error\b"
    r"|(?:failed|unable) to (?-i:[a-z]\w|[A-Z]{2})|(?:could not|couldn't|cannot|can't) (?-i:[a-z]\w)"
    r"|(?:\w{1,20} ){1,3}(?:failed|violation|denied): (?!\d)"
    r"|(?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception): (?!raised|thrown|documentation)[^\n]{1,300}$"
    r"|(?-i:[A-Z]{3,20}(?:_[A-Z]{2,20}){1,4}): |\[(?-i:[A-Z_]{4,20})\] (?!is\b)"
    rf"|(?:{statuses.PHRASES}|access denied|permission denied)\s?(?:[:.!,-]|$))",
    IGNORECASE,
)
# Not a name, a title in capitals or a heading over a list.
_STATED: Final = pattern(
    r"(?!(?:class|def|throw|raise|import) |[^\n:]{1,60}[^s\W]s: )[^\s\w]{0,12}"
    r"(?:[A-Z]?[a-z]{1,20}|[/\\~][^\n ]{1,200})(?!\w)(?! (?:[A-Z][a-z]{1,20}){1,2}\b)[^\n]{0,180}$"
)
# It went on: what was missing was made, what failed was tried again, or it is what was looked for; or it is a title.
_AFTER_ALL: Final = pattern(
    r"[,;] (?:so|but|and|the|she|he|they|we|it|therefore|now)\b"
    r"|\b(?:any ?more|anything wrong|how to|means? (?:that|the)|succeeded|passed|removed: \d)\b"
    r"|(?<!not )(?<!nothing )\b(?:was|were|been) (?:\w{3,12}ed|written|made|rebuilt)\b"
    r"|^[^:\n]{1,60}: (?:(?:yes|no|none|true|false)(?=\W{0,3}$|\W{0,2}[,;(])|\d[\d.]{0,9}(?:,| ?%| of\b)"
    r"|(?:how|what|why|a) \w)"
    rf"|^{_MARK}(?:(?:no|0) (?!such )|(?:found \d|nothing|successfully|success|done|ok|created|updated|deleted|saved)\b"
    r"|(?:warning|note|notice|info|hint|tip|commit|issue|ticket|bug|task|title|subject|rule|feat|fix|result \d)\b)",
    IGNORECASE,
)


def is_page(text: str) -> bool:
    """Whether a text is a log, a change or a page, which speaks of errors that are not this call's.

    >>> is_page("Error: refused\\nInfo: connected"), is_page("Error: refused")
    (True, False)
    """
    return "\n" in text and (_PAGE.match(text) is not None or _HEADING.search(text) is not None)


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
    if _STATED.match(first) is None or text.count("\n") > 6:
        return False
    return phrases.code_of(phrases.masked(first)) is not None or statuses.status_in(first) is not None


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
