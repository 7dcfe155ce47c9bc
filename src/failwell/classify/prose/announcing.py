"""Whether a text that nobody called an error is one. A page about errors, a log or a file is none."""

from __future__ import annotations

from re import IGNORECASE
from typing import Final

from failwell.model.lazily import pattern

from . import statuses, words

# Servers say in a few lines what went wrong; longer texts are what was asked for.
_LONGEST: Final = 2_000
_MOST_LINES: Final = 25
_LONGEST_SENTENCE: Final = 300

_MARK: Final = r"[\s#>*_❌✖✗⚠️🚫🛑⛔❗️-]{0,12}"
_FAILURE: Final = pattern(
    rf"{_MARK}(?:"
    # "Error reading x: …", "Network error: …", "nope.md: Error - …"
    r"(?:an? )?(?:\w{1,30} ){0,3}(?:error|exception)\b(?: (?:\w{2,20}ing|while|when|in|during|from|for"
    r"|occurred)\b[^:\n]{0,200})?\s?(?::| -|—)\s"
    r"|(?:an |the )?(?:\w{1,20} )?error (?:occurred|happened)\b"
    r"|[^\s:]{1,200}: error\b"
    r"|(?:failed|unable) to \w|(?:could not|couldn't|cannot|can't) \w|(?:\w{1,20} ){1,3}(?:failed|violation|denied):\s"
    r"|access denied|permission denied|security violation|unauthori[sz]ed\b|\[(?:NOT_FOUND|DENIED|ERROR|FAILED)\]"
    r"|(?:\w{1,30}:? ){0,6}(?:authenti\w{2,10}|authori[sz]ation|login|sign-?in) (?:is )?(?:needed|required)\b"
    # The phrase of an HTTP status, and nothing else before it.
    r"|(?:bad request|forbidden|not found|(?:version )?conflict|unprocessable(?: \w{1,10})?|too many requests"
    r"|rate limit\w{0,3}"
    r"(?: exceeded)?|internal server error|bad gateway|(?:service|temporarily) unavailable"
    r"|gateway time-?out)\s?(?:[:.!]|$)"
    r")",
    IGNORECASE,
)
# A sentence that says it, but might also stand at the beginning of an answer.
_SUBJECT: Final = r"(?:[^\s.]\S{0,80} ){1,12}?"
_STATEMENT: Final = pattern(
    rf"{_MARK}(?:"
    # "Missing values: 3" counts, and "Unknown author, …" begins a list.
    r"(?:invalid|missing|unknown|unsupported|unrecogni[sz]ed) (?!\w{1,30},|[\w ]{1,60}[^s\W]s: \d{1,9}\W?$)\S"
    rf"|{_SUBJECT}(?:was |were |is |are )?(?:not found|does not exist|doesn't exist|already exists)(?=[.:!,;]|$"
    rf"| (?:in|for|or|at|with|on)\b)"
    rf"|{_SUBJECT}(?:(?:has |have )?timed out|(?:is |are )?not (?:allowed|permitted|authori[sz]ed|configured"
    rf"|supported))\b"
    rf"|{_SUBJECT}(?:must be (?:one of|an?|at|between|greater|less|positive|in|valid)|cannot be (?:empty|null"
    rf"|negative))\b"
    r"|\S{1,60} (?:argument |parameter |field )?(?:is|are) (?:a )?required\b|this is a directory\b"
    r"|(?:path )?is not a (?:file|directory)\b"
    r"|(?:request|connection|fetch|query|command|operation|login|authentication) (?:was )?(?:failed|refused"
    r"|rejected|denied|timed out)\b"
    r"|no such \w|no \w{1,30} (?:with|named|called|for) [^\n]{1,100}(?:found|exists)"
    r")",
    IGNORECASE,
)
# A search that found nothing did what it was asked to do.
_EMPTY: Final = pattern(
    rf"{_MARK}(?:no|0) (?:\w{{1,30}} ){{1,4}}(?:were |was )?(?:found|available)\b|{_MARK}(?:found 0|nothing found)",
    IGNORECASE,
)
# A line of a log: a moment, a level, or both.
_MOMENT: Final = r"\[?\d[\d:T.,+Z /-]{4,40}\]?"
_LOGGED: Final = pattern(rf"\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:ERROR|ERR|FATAL|CRITICAL|SEVERE)[\])>|]?[\s:]")
_LEVEL: Final = pattern(rf"\n\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING)[\])>|]?[\s:]")
_SUCCESS: Final = pattern(
    rf"{_MARK}(?:successfully|success\b|done\b|ok\b|created|updated|deleted|saved|found \d)", IGNORECASE
)


def is_plain(text: str) -> bool:
    """Whether the text shows by its beginning that it is an error.

    >>> is_plain("Error reading a.txt: it is locked"), is_plain("No matches found")
    (True, False)
    """
    if len(text) > _LONGEST or text.count("\n") > _MOST_LINES or _SUCCESS.match(text) or _is_log(text):
        return False
    if _FAILURE.match(text):
        return True
    first = text.partition("\n")[0]
    if len(first) > _LONGEST_SENTENCE or text.count("\n") > 6 or _EMPTY.match(first):
        return False
    return _STATEMENT.match(words.masked(first)) is not None and len(statuses.statuses_in(first)) < 2


def _is_log(text: str) -> bool:
    """Whether the first lines are of a log: one with a level other than an error's is not what went wrong."""
    return _LOGGED.match(text) is not None and "\n" in text and _LEVEL.search(text) is not None
