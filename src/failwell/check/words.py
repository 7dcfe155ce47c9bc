"""What an error's words hold: whether they say anything, name the next step, or are a validator's dump."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from failwell.model import pattern

# What frameworks put before the words of a tool.
_PREFIX: Final = pattern(
    r"(?is)^\s*(?:(?:mcp )?error(?: -?\d+)?\s*[:.-]\s*|error (?:executing|calling|running|in) (?:the )?tool:?\s*['\"`]?[\w./-]*"
    r"['\"`]?\s*[:.-]?\s*|tool ['\"`]?[\w./-]+['\"`]? (?:execution )?failed\s*[:.-]?\s*|(?:internal|input validation) error\s*[:.-]\s*)"
)
_NOTHING: Final = pattern(
    r"(?is)^(?:an? |the |some )?(?:(?:unknown|unexpected|internal|generic|server|general|unhandled|fatal|tool|system|runtime)[ -]?)*"
    r"(?:error|errors|failure|failed|fail|exception|problem|issue|oops|unknown)?(?: (?:has )?occur+ed| happened| executing (?:the )?"
    r"(?:tool|request))?(?: while (?:executing|processing|handling|running|calling)[\w\s'\"./-]{0,60})?$"
)
_EMPTY_WORDS: Final = frozenset(
    """something went wrong|request failed|operation failed|the operation failed|call failed|tool failed|execution failed|bad request|
    invalid|invalid input|invalid request|invalid arguments|invalid argument|invalid parameters|invalid params|not allowed|denied|null|none|
    undefined|nan|[object object]|{}|[]|false|try again|please try again|please try again later|error executing tool|internal server
    error|could not complete the request|unable to process the request|unable to process request|the request could not be
    processed|the request failed|response validation failed|fetch failed|nope|ko""".replace("\n    ", " ").split("|")
)
_CLASS_NAME: Final = pattern(r"^[\w.]{0,80}(?:Error|Exception|Warning|Fault|Timeout)(?:\(['\"]*\))?(?::\s*['\"]?[^\s'\"]{0,60}['\"]?)?$")
_BARE_VALUE: Final = pattern(r"^(?:'[^']{0,80}'|\"[^\"]{0,80}\"|-?\d+|[0-9a-f-]{6,40})$")

# Dumps of validators, made for those who wrote the program.
_DUMP: Final = pattern(
    r"\[type=\w+, input_value=|errors\.pydantic\.dev|validation errors? for \w+|\"code\":\s*\"(?:invalid_type|too_small|too_big|invalid_value|"
    r"invalid_string|unrecognized_keys|custom)\"|cannot unmarshal|Go struct field|Failed validating '\w+' in schema|On instance\b|"
    r"received undefined at |ZodError|missing field `|loc=\(|ctx=\{"
)
_TRACE: Final = pattern(
    r"Traceback \(most recent call last\)|\n\s*File \"[^\"\n]{1,300}\", line \d+|\n\s{2,8}at (?:async )?[\w$.<>\[\] ]{1,120}"
    r"\(?[^\s()]{1,200}:\d+(?::\d+)?\)?|\n\s*at [\w$.]+\([\w$]+\.java:\d+\)|goroutine \d+ \[|panicked at|stack backtrace:|^\s+at .+\.(?:js|ts|mjs):\d+:\d+"
)
_INTERNALS: Final = pattern(
    r"site-packages|node_modules/|/usr/(?:local/)?lib/python|\.(?:py|js|mjs|ts|go|rs|rb|java|cs)(?::|\", line |, line )\d+|"
    r"'\w+' object (?:has no attribute|is not (?:callable|subscriptable|iterable))|NoneType|object is not subscriptable|"
    r"Cannot (?:read|set) propert(?:y|ies) (?:of|'\w+' of) (?:undefined|null)|Cannot destructure property|is not a function\b|undefined is not|"
    r"list index out of range|tuple index out of range|dictionary changed size|unhashable type|takes \d+ positional argument|"
    r"missing \d+ required (?:positional|keyword)|got an unexpected keyword argument|must be str, not|unsupported operand type|"
    r"\[object Object\]|<[\w.]+ object at 0x[0-9a-f]+>|0x[0-9a-f]{8,16}\b|sqlalche\.me|\(psycopg|sqlite3\.\w*Error|java\.lang\.|"
    r"System\.\w+Exception|HTTPSConnectionPool\(|Caused by \w+\(|[\w]+Error\('|KeyError: "
)
_HTML: Final = pattern(r"(?i)<!doctype html|<html[\s>]|<body[\s>]|<head[\s>]")

_VERBS: Final = (
    "call use try pass provide give set send choose pick check see look list ask wait retry correct fix remove rename add specify supply "
    "make ensure run create open request contact log sign login authenticate reduce shorten split omit include search find get fetch "
    "select enter change replace refer consult read verify confirm tell stop do repeat start connect reconnect configure install "
    "increase decrease limit narrow upgrade register reserve leave write put start reserve release"
).split()
_INSTRUCTION: Final = pattern(
    r"(?i)(?:^|[.;:!?)\u2014\n-]\s*|\b(?:please|then|first|or|and|instead,?|to fix this,?|next:?|so)\s+)(?:%s)\s+(?:the |a |an |it |one |"
    r"again|your|this|that|with|for|to |another|only|sure|\w|['\"`<{\[])" % "|".join(_VERBS)
)
_NEXT: Final = pattern(
    r"(?i)\bdid you mean\b|\bnext:|\bnext step|\bmust (?:be|have|match|not|contain|start|end|lie)\b|\b(?:use|try|call|pass|give|choose) one of\b|"
    r"\bvalid (?:options|values|ones|tools|choices|\w+s) (?:are|include)\b|\ballowed(?: values)?\s*(?:are\b|:)|\bavailable \w+\s*(?:are\b|:)|"
    r"\b(?:valid|known|possible|supported) \w+\s*:|\bneeds? to be\b|\byou (?:can|may|should|need|must)\b|\binstead\b|"
    r"\b(?:tools?|options|choices|values)(?: are|:)"
)
_SHOULD: Final = pattern(r"(?i)\bshould (?:be|have|match|contain)\b|\bis required\b|\bexpect(?:s|ed)\b")
_AGAIN: Final = pattern(
    r"(?i)\b(?:try|retry|repeat)(?: (?:it|the call|this call|the request|the same call))? (?:again )?(?:later|shortly|soon|in (?:a|\d))|"
    r"temporar(?:y|ily)|\btry again later\b|\bwait \d|\bcome back later\b|\bwait (?:a |some |and)"
)


def bare(text: str) -> str:
    """The words without what frameworks put before them."""
    for _ in range(4):
        shorter = _PREFIX.sub("", text, count=1)
        if shorter == text:
            break
        text = shorter
    return text.strip().strip(".!:").strip()


def says_nothing(text: str) -> bool:
    """Whether a text says no more than that something failed.

    >>> says_nothing("Error executing tool pay"), says_nothing("Error: Project p_1 does not exist.")
    (True, False)
    """
    said = bare(text)
    folded = " ".join(said.lower().split())
    return (
        len(said) < 3
        or folded in _EMPTY_WORDS
        or bool(_NOTHING.match(said))
        or bool(_CLASS_NAME.match(said))
        or bool(_BARE_VALUE.match(said))
    )


def is_dump(text: str) -> bool:
    return _DUMP.search(text) is not None


def has_trace(text: str) -> bool:
    return _TRACE.search(text) is not None


def internals(text: str) -> str | None:
    """What a text shows of the program's inside."""
    found = _INTERNALS.search(text)
    return None if found is None else found[0]


def is_page(text: str) -> bool:
    return _HTML.search(text) is not None


def names_next_step(text: str) -> bool:
    """Whether a text tells its reader what to do.

    >>> names_next_step("No city 'Olso'. Call list_cities to see them all."), names_next_step("Not found: 7")
    (True, False)
    """
    said = re.sub(r"For further information visit \S+", "", text)
    if _INSTRUCTION.search(bare(said)) or _NEXT.search(said):
        return True
    return not is_dump(text) and _SHOULD.search(said) is not None


def promises_passing(text: str) -> bool:
    """Whether a text says that the same call may work later."""
    return _AGAIN.search(text) is not None


def mentions(text: str, words: Iterable[Any]) -> bool:
    """Whether one of the words stands in a text."""
    folded = text.lower()
    return any(str(word).lower() in folded for word in words if str(word))


def without_sent(text: str) -> str:
    """A text without the arguments that a validator quotes whole, in which any name may stand."""
    return re.sub(r"input_value=.{0,400}?, input_type=\w+", "", text, flags=re.DOTALL)
