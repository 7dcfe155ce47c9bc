"""Whether a text that nobody called an error is one. A page about errors, a log or a file is none."""

from __future__ import annotations

from re import IGNORECASE
from typing import Final

from failwell.model import pattern

from . import statuses, words

# Servers say in a few lines what went wrong; longer texts are what was asked for.
_LONGEST: Final = 2_000
_MOST_LINES: Final = 25
_LONGEST_SENTENCE: Final = 300

_MARK: Final = r"[\s#>*_❌✖✗⚠️🚫🛑⛔❗️-]{0,12}"
# What follows words that also stand in titles: the end, a reason, or whom it happened to.
_THEN: Final = (
    r"(?=\s?(?:[:.!,;(\[]|$|\n| - | – |—)| (?:to|for|by|when|while|with|on|at|from|due|because|after|in|as)\b)"
)
# The film is written with a capital letter, and the verb is not, but for those of HTTP.
_VERB: Final = r"(?-i:[a-z]\w|[A-Z]{2})"
_FAILURE: Final = pattern(
    rf"{_MARK}(?!(?:no|zero|without|any) )(?:"
    # "Error reading x: …", "Network error: …", "nope.md: Error - …"
    r"(?:an? )?(?:\w{1,30} ){0,3}(?:error|exception)\b(?! (?:handling|reporting|tracking|logging|checking|monitoring)"
    r"(?::| in\b))(?: (?:\w{2,20}ing|while|when|in|during|from|for"
    r"|occurred)\b[^:\n]{0,200})?\s?(?::| -|—)\s"
    r"|error(?: \([\w .-]{1,40}\)\s?:| \d{1,5}(?::| \(| connecting\b))"
    r"|(?:an |the )?(?:\w{1,20} )?error (?:occurred|happened)\b"
    # A compiler tells of the place, and did what it was asked to do.
    r"|[^\s:(]{1,200}(?:\([^\s:)]{0,40}\D\))?: error\b"
    rf"|(?:failed|unable) to {_VERB}|(?:could not|couldn't|cannot|can't) {_VERB}"
    r"|(?:\w{1,20} ){1,3}(?:failed|violation|denied):\s"
    rf"|(?:access denied|permission denied|security violation|unauthori[sz]ed\b){_THEN}"
    r"|\[(?:NOT_FOUND|DENIED|ERROR|FAILED)\](?! is\b)"
    r"|(?:\w{1,30}:? ){0,6}(?:authenti\w{2,10}|authori[sz]ation|login|sign-?in) (?:is )?(?:needed|required)\b"
    # The phrase of an HTTP status, and nothing else before it.
    r"|(?:bad request|forbidden|not found|(?:version )?conflict|unprocessable(?: \w{1,10})?|too many requests"
    r"|rate limit\w{0,3}"
    r"(?: exceeded)?|internal server error|bad gateway|(?:service|temporarily) unavailable"
    r"|gateway time-?out)\s?(?:[:.!,]|$)"
    r")",
    IGNORECASE,
)
# All that Python and Node say about an exception; with more lines it is a page about exceptions.
_RAISED: Final = pattern(
    r"(?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception): (?!raised|thrown|documentation)[^\n]{1,300}"
)
# A sentence that says it, but might also stand at the beginning of an answer.
_SUBJECT: Final = r"(?:[^\s.]\S{0,80} ){1,12}?"
_STATEMENT: Final = pattern(
    rf"{_MARK}(?!(?:warning|note|notice|info|hint|tip|commit|issue|ticket|bug|task|title|subject|rule|nothing|fix|feat"
    r"|chore|docs|refactor|test)\b)(?:"
    # "Missing values: 3" counts, "Missing translations: de, fr" and "Unknown author, …" begin a list.
    r"(?:invalid|missing|unknown|unsupported|unrecogni[sz]ed) (?!\w{1,30},|from\b|in\b|[\w ]{1,60}[^s\W]s: \d{1,9}\W?$"
    rf"|(?!{words.THING}|scope|permission|credential|file|column|environment|required)\w{{1,30}}[^s\W]s:)"
    rf"(?:(?-i:[a-z¤<\[(:'\"`-]|[A-Z0-9_]{{2}}|[A-Z][a-z]{{0,20}}[A-Z])|{words.THING}|request|token|credential|authenti)"
    rf"|{_SUBJECT}(?:was |were |is |are )?(?:not found|does not exist|doesn't exist|already exists)(?=[.:!,;]|$"
    rf"| (?:in|for|or|at|with|on)\b)"
    rf"|{_SUBJECT}(?:(?:has |have )?timed out|(?:is |are )?not (?:allowed|permitted|authori[sz]ed|configured"
    rf"|supported))\b"
    rf"|{_SUBJECT}(?:must be (?:one of|an?|at|between|greater|less|positive|in|valid)|cannot be (?:empty|null"
    rf"|negative))\b"
    r"|\S{1,60} (?:argument |parameter |field )?(?:is|are) (?:a )?required\b(?! (?:reading|viewing|course))"
    r"|this is a directory\b"
    r"|(?:path )?is not a (?:file|directory)\b(?! \w{3,20} )"
    r"|(?:request|connection|fetch|query|command|operation|login|authentication) (?:was )?(?:failed|refused"
    rf"|rejected|denied|timed out)\b{_THEN}"
    r"|no such \w|no \w{1,30} (?:with|named|called|for) [^\n]{1,100}(?:found|exists)"
    r")",
    IGNORECASE,
)
# It went on: what was missing was made, what failed was tried again, or it is what was looked for.
_AFTER_ALL: Final = pattern(
    r"[,;] (?:so|but|and (?:was|has)|the existing|reus|instead|therefore|now)\b|\b(?:any ?more|anything wrong)\b"
    r"|(?<!not )(?<!nothing )\b(?:was|were|has been|have been) (?:created|added|reused|replaced|written|copied|inserted"
    r"|returned|imported|made|skipped|removed|translated|stripped|ignored|fixed|rebuilt|retried|dropped|trimmed|updated"
    r"|saved|merged|moved|restored|installed|corrected)\b"
    r"|\b(?:succeeded|passed|removed: \d)|\bmeans? (?:that|the)\b|\bhow to (?:fix|solve|handle|avoid)\b",
    IGNORECASE,
)
# A heading and its value, or the title of a page.
_VALUE: Final = pattern(
    r"[^:\n]{1,60}: (?:(?:yes|no|none|true|false|enabled|disabled|on|off|n/a|0)(?=\W{0,3}$|[,;]| \()"
    r"|\d{1,9}(?:, | (?:of|out of)\b)|\d{1,9}(?:\.\d{1,6})? ?%|how to\b|what (?:\w{1,20} ){0,3}(?:mean|is|are)\b|why\b"
    r"|a (?:\w{1,15} )?(?:guide|history|novel|film|song|story|book|introduction)\b)",
    IGNORECASE,
)
_NARRATED: Final = pattern(r"[^,:.\n]{1,60}, (?:the|she|he|they|we|it) \w{2,20}(?: \w{2,20})? |[^.:\n]{1,60}\b\d star")
# A search that found nothing did what it was asked to do.
_EMPTY: Final = pattern(
    rf"{_MARK}(?:no|0) (?:\w{{1,30}} ){{1,4}}(?:were |was )?(?:found|available)\b|{_MARK}(?:found 0|nothing found)",
    IGNORECASE,
)
# A line of a log: a moment, a level, or both.
_MOMENT: Final = r"\[?\d[\d:T.,+Z /-]{4,40}\]?"
_LOGGED: Final = pattern(rf"\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:ERROR|ERR|FATAL|CRITICAL|SEVERE)[\])>|]?[\s:]")
_LEVEL: Final = pattern(rf"\n\W?(?:{_MOMENT}\s{{1,3}})?[\[(<|]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING)[\])>|]?[\s:]")
_NEXT_LEVEL: Final = pattern(r"error:[^\n]{1,300}\n(?:info|debug|warning|warn|notice|trace): ", IGNORECASE)
_MOMENTS: Final = pattern(rf"{_MOMENT}\s[^\n]{{0,300}}\n{_MOMENT}\s")
_CHANGED: Final = pattern(r"diff --git |[-+][^\s+-][^\n]{0,300}\n[-+]\S|@@ -\d")
_PAGE: Final = pattern(
    r"\n#{1,4} (?:description|examples?|overview|introduction|syntax|usage|see also|steps|background|table of)\b",
    IGNORECASE,
)
_SUCCESS: Final = pattern(
    rf"{_MARK}(?:successfully|success\b|done\b|ok\b|created|updated|deleted|saved|found \d)", IGNORECASE
)


def is_plain(text: str) -> bool:
    """Whether the text shows by its beginning that it is an error.

    >>> is_plain("Error reading a.txt: it is locked"), is_plain("No matches found")
    (True, False)
    """
    if len(text) > _LONGEST or text.count("\n") > _MOST_LINES or _SUCCESS.match(text) or is_shown(text):
        return False
    first = text.partition("\n")[0]
    if _VALUE.match(first):
        return False
    if _RAISED.fullmatch(text):
        return True
    if _FAILURE.match(text):
        return not (_NARRATED.match(first) or _AFTER_ALL.search(words.first_sentence(first)))
    if len(first) > _LONGEST_SENTENCE or text.count("\n") > 6 or _EMPTY.match(first) or _AFTER_ALL.search(first):
        return False
    return _STATEMENT.match(words.masked(first)) is not None and len(statuses.statuses_in(first)) < 2


def is_report(text: str) -> bool:
    """Whether a text plainly tells of something else than one failure: of what was done, found or written, or JSON.

    >>> is_report("Account 7 was not found, so a new one was created."), is_report("Transport closed")
    (True, False)
    """
    text = text.strip()
    if len(text) > _LONGEST or text.count("\n") > _MOST_LINES or text[:1] in ("{", "[") or is_shown(text):
        return True
    first = text.partition("\n")[0]
    return any(known.match(first) for known in (_SUCCESS, _VALUE, _EMPTY, _NARRATED)) or bool(_AFTER_ALL.search(first))


def is_shown(text: str) -> bool:
    """Whether a text is a log, a change or a page, which speaks of errors that are not this call's.

    >>> is_shown("Error: refused\\nInfo: connected"), is_shown("Error: refused")
    (True, False)
    """
    if "\n" not in text:
        return False
    return bool(
        (_LOGGED.match(text) and _LEVEL.search(text[:_LONGEST]))
        or _NEXT_LEVEL.match(text)
        or _MOMENTS.match(text)
        or _CHANGED.match(text)
        or _PAGE.search(text[:_LONGEST])
    )
