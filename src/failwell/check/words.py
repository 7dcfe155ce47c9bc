"""What an error's words hold: whether they say anything, name the next step, or are a validator's dump."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from failwell.model import pattern


def _any(*parts: str, flags: str = "") -> re.Pattern[str]:
    return pattern(flags + "|".join(parts))


# What frameworks put before the words of a tool.
_PREFIX: Final = pattern(
    r"(?is)^\s*(?:"
    r"(?:mcp )?error(?: -?\d+)?\s*[:.-]\s*"
    r"|error (?:executing|calling|running|in) (?:the )?tool:?\s*['\"`]?[\w./-]*['\"`]?\s*[:.-]?\s*"
    r"|tool ['\"`]?[\w./-]+['\"`]? (?:execution )?failed\s*[:.-]?\s*"
    r"|(?:internal|input validation) error\s*[:.-]\s*)"
)
_NOTHING: Final = pattern(
    r"(?is)^(?:an? |the |some )?"
    r"(?:(?:unknown|unexpected|internal|generic|server|general|unhandled|fatal|tool|system|runtime)[ -]?)*"
    r"(?:error|errors|failure|failed|fail|exception|problem|issue|oops|unknown)?"
    r"(?: (?:has )?occur+ed| happened| executing (?:the )?(?:tool|request))?"
    r"(?: while (?:executing|processing|handling|running|calling)[\w\s'\"./-]{0,60})?$"
)
_EMPTY_WORDS: Final = frozenset(
    """something went wrong
    request failed
    operation failed
    the operation failed
    the operation could not be completed
    call failed
    tool failed
    execution failed
    the request failed
    bad request
    invalid
    invalid input
    invalid request
    invalid argument
    invalid arguments
    invalid params
    invalid parameters
    invalid value
    validation failed
    validation error
    response validation failed
    not allowed
    denied
    null
    none
    undefined
    nan
    [object object]
    {}
    []
    false
    try again
    please try again
    please try again later
    an error occurred, please try again
    error executing tool
    internal server error
    could not complete the request
    unable to process the request
    unable to process request
    the request could not be processed
    fetch failed
    nope
    ko""".split("\n    ")
)
_CLASS_NAME: Final = pattern(
    r"^[\w.]{0,80}(?:Error|Exception|Warning|Fault|Timeout)(?:\(['\"]*\))?(?::\s*['\"]?[^\s'\"]{0,60}['\"]?)?$"
)
_BARE_VALUE: Final = pattern(r"^(?:'[^']{0,80}'|\"[^\"]{0,80}\"|-?\d+|[0-9a-f-]{6,40})$")

# Dumps of validators, made for those who wrote the program.
_DUMP: Final = _any(
    r"\[type=\w+, input_value=",
    r"errors\.pydantic\.dev",
    r"validation errors? for \w+",
    r"\"code\":\s*\"(?:invalid_type|too_small|too_big|invalid_value|invalid_string|unrecognized_keys|custom)\"",
    r"cannot unmarshal",
    r"Go struct field",
    r"Failed validating '\w+' in schema",
    r"expected \w+, received \w+",
    r"ZodError",
    r"missing field `",
    r"loc=\(",
    r"ctx=\{",
)
_TRACE: Final = _any(
    r"Traceback \(most recent call last\)",
    r"\n\s*File \"[^\"\n]{1,300}\", line \d+",
    r"\n\s{2,8}at (?:async )?[\w$.<>\[\] ]{0,120}\(?[^\s()]{1,200}:\d+(?::\d+)?\)?",
    r"\n\s*at [\w$.]+\([\w$]+\.java:\d+\)",
    r"\n\s*at [\w.]+\([^)\n]{0,200}\) in [^\n]{1,200}:line \d+",
    r"goroutine \d+ \[",
    r"panicked at",
    r"stack backtrace:",
)
_INTERNALS: Final = _any(
    r"site-packages",
    r"node_modules/",
    r"/usr/(?:local/)?lib/python",
    r"\.(?:py|js|mjs|ts|go|rs|rb|java|cs)(?::|\", line |, line )\d+",
    r"'\w+' object (?:has no attribute|is not (?:callable|subscriptable|iterable))",
    r"NoneType",
    r"object is not subscriptable",
    r"Cannot (?:read|set) propert(?:y|ies) (?:of|'\w+' of) (?:undefined|null)",
    r"Cannot destructure property",
    r"is not a function\b",
    r"undefined is not",
    r"(?:list|tuple|string) index out of range",
    r"unhashable type",
    r"takes \d+ positional argument",
    r"missing \d+ required (?:positional|keyword)",
    r"got an unexpected keyword argument",
    r"must be str, not",
    r"unsupported operand type",
    r"not supported between instances of",
    r"can only concatenate str",
    r"\[object Object\]",
    r"<[\w.]+ object at 0x[0-9a-f]+>",
    r"sqlalche\.me",
    r"\(psycopg",
    r"sqlite3\.\w*Error",
    r"java\.lang\.",
    r"System\.\w+Exception",
    r"HTTPS?ConnectionPool\(",
    r"Caused by \w+\(",
    r"\w+Error\('",
    r"\bKeyError: ",
    r"\[Errno -?\d+\]",
    r"nil pointer dereference",
)
_PATHS: Final = pattern(
    r"(?<![\w:/.])/(?:home|Users|root|var|opt|srv|etc|usr|app|workspace)/[\w.@+-]{1,60}(?:/[\w.@+-]{1,80}){0,10}"
    r"|\b[A-Z]:\\[\w.@+ -]{1,60}(?:\\[\w.@+ -]{1,80}){0,10}"
)
_HTML: Final = pattern(r"(?i)<!doctype html|<html[\s>]|<body[\s>]|<head[\s>]")

_VERBS: Final = """add ask authenticate call change check choose confirm configure connect consult contact correct
create decrease do ensure enter fetch find fix get give include increase install leave limit list log login look make
narrow omit open pass pick provide put read reconnect reduce refer register release remove rename repeat replace request
reserve retry run search see select send set shorten sign specify split start stop supply tell try upgrade use verify
wait write""".split()
# What follows where such a word is a noun: "Request failed", "Check constraint", "List index".
_NO_ORDER: Final = """failed failure error errors timed time timeout was were is are has had not could cannot of index
constraint returned exceeded denied refused limit body method id url parameter operation call failed: request""".split()
_INSTRUCTION: Final = pattern(
    r"(?i)(?:^|[.;:!?)\u2014\n-]['\"\u201d\u2019]?\s*"
    r"|\b(?:please|then|first|or|and|instead,?|to fix this,?|next:?|so)\s+)"
    r"(?:" + "|".join(_VERBS) + r")\s+(?!(?:" + "|".join(_NO_ORDER) + r")\b)['\"`<{\[]?\w"
)
_NEXT: Final = _any(
    r"\bdid you mean\b",
    r"\bnext:",
    r"\bnext step",
    r"\bmust (?:be|have|match|not|contain|start|end|lie)\b",
    r"\b(?:use|try|call|pass|give|choose) one of\b",
    r"\b(?:valid|known|possible|supported|allowed|available) \w+\s*(?:are\b|include\b|:)",
    r"\ballowed\s*(?:are\b|:)",
    r"\bneeds? to be\b",
    r"\byou (?:can|may|should|need|must)\b",
    r"\binstead\b",
    r"\b(?:it|this|which|tool|the tool) (?:only )?(?:takes|accepts|wants|expects|needs|knows|allows)\b",
    r"\b(?:tools|options|choices|values)(?: are|:)",
    flags="(?i)",
)
_SHOULD: Final = pattern(r"(?i)\bshould (?:be|have|match|contain)\b|\bis required\b|\bexpect(?:s|ed)\b")
_CREDENTIALS: Final = _any(
    r"\bnot (?:signed|logged) in\b",
    r"\b(?:un|not )authenticated\b",
    r"\bunauthori[sz]ed\b",
    r"\bauthentication (?:is )?(?:required|failed|needed|error)\b",
    r"^\W{0,3}401\b",
    r"\b(?:status|error|http|code)(?: code)?:? ?\(?401\b",
    r"\b(?:api[ _-]?key|access[ _-]?token|auth[ _-]?token|token|credentials?|login)\b[^.;\n]{0,40}"
    r"\b(?:(?:is|are) (?:required|missing|needed)|not (?:set|provided|configured|found|valid)|invalid|expired)",
    r"\b(?:missing|invalid|no|expired|set|provide|bad) (?:\w+ ){0,2}"
    r"(?:api[ _-]?key|access[ _-]?token|auth[ _-]?token|credentials?)\b",
    r"\b[A-Z][A-Z0-9_]*_(?:TOKEN|API_KEY|KEY|SECRET)\b[^.;\n]{0,40}\b(?:not set|missing|required|unset)",
    flags="(?i)",
)
_BLAME: Final = pattern(
    r"(?i)\b(?:internal|unexpected|unhandled|server|fatal|system) (?:server )?(?:error|exception|failure)"
)
_NOT_THERE: Final = _any(
    r"^no (?:such )?[\w ]{1,40} (?:has|have|with|named|called|by|for|exists?|found|matches|at)\b",
    r"^no such\b",
    r"^there is no\b",
    r"\b(?:was|is|were|could|can)(?: not|n't|not) (?:be )?(?:found|exist|located|known)\b",
    r"\bcould not find\b",
    r"\bcannot find\b",
    r"\bnot found\b",
    r"\bdoes(?: not|n't) exist\b",
    r"\bno such (?:file|thing|id|key|record|item|entry|resource|user|object)\b",
    r"^unknown \w+",
    r"^invalid \w+",
    flags="(?i)",
)
_EFFECT: Final = _any(
    r"\bmay (?:already )?have (?:been|taken|gone)\b",
    r"\bmight (?:already )?have\b",
    r"\bnothing (?:was|has been|is) (?:done|changed|written|sent|saved|created|charged|ordered|booked)\b",
    r"\bno (?:changes?|effect|charge|order)\b",
    r"\bnot (?:been )?(?:done|changed|charged|sent|saved|written|applied|created|ordered|booked)\b",
    r"\b(?:unknown|unclear|not known|not sure) whether\b",
    r"\bwhether (?:it|the \w+) (?:was|has|took|went)\b",
    r"\b(?:was|were|has been) (?:already )?(?:done|changed|charged|sent|saved|written|applied|created)\b",
    flags="(?i)",
)
_INVITES: Final = pattern(
    r"(?i)\b(?:try|call|make|send|repeat|run)\b[^.!?;]{0,60}\bagain\b|\bretry\b|\brepeat (?:it|the)\b"
)
_NEGATED: Final = pattern(
    r"(?i)\b(?:not|never|don't|without|before|fails?|failing|instead of|once you|to see whether|whether)\b"
)
CODE: Final = pattern(r'\\?"(?:code|error_?code|kind|reason)\\?"\s*:\s*\\?"[A-Za-z]\w*(?:[.-]\w+)*\\?"')
"""A code in so many words, where an object says it."""
RETRYABLE: Final = pattern(r'(?i)\\?"(?:retryable|is_?retryable|can_?retry|should_?retry)\\?"\s*:\s*true')
"""A flag that says that the same call may be made again."""
_AGAIN: Final = _any(
    r"\b(?:try|retry|repeat)(?: (?:it|(?:the|this) (?:same )?(?:call|request)))? (?:again )?(?:later|shortly|soon)",
    r"\b(?:try|retry)(?: again)? in (?:a|\d)",
    r"temporar(?:y|ily)",
    r"\bwait (?:a |some |and |\d)",
    r"\bcome back later\b",
    r"\bagain in (?:a|\d)",
    flags="(?i)",
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
    empty = len(said) < 3 or folded in _EMPTY_WORDS
    return empty or any(shape.match(said) is not None for shape in (_NOTHING, _CLASS_NAME, _BARE_VALUE))


def is_dump(text: str) -> bool:
    return _DUMP.search(text) is not None


def has_trace(text: str) -> bool:
    return _TRACE.search(text) is not None


def internals(text: str) -> str | None:
    """What a text shows of the program's inside."""
    found = _INTERNALS.search(text)
    return None if found is None else found[0]


def own_paths(text: str, known: str) -> str | None:
    """A path of the machine that the server runs on, and that nobody named."""
    for found in _PATHS.finditer(text):
        if found[0] not in known and found[0].rsplit("/", 1)[0] not in known:
            return found[0]
    return None


def is_page(text: str) -> bool:
    return _HTML.search(text) is not None


def names_next_step(text: str) -> bool:
    """Whether a text tells its reader what to do.

    >>> names_next_step("No city 'Olso'. Call list_cities to see them all."), names_next_step("Not found: 7")
    (True, False)
    >>> names_next_step('The shop answered 404. It said: "There is none." Look for another one.')
    True
    """
    said = without_sent(re.sub(r"For further information visit \S+", "", text))
    if _INSTRUCTION.search(bare(said)) or _NEXT.search(said):
        return True
    return not is_dump(text) and _SHOULD.search(said) is not None


def says_not_there(text: str) -> bool:
    """Whether a text says of the one thing that was asked for that it is not there.

    >>> says_not_there('No book has the id "bk_9".'), says_not_there("Nothing stands in the way.")
    (True, False)
    """
    return _NOT_THERE.search(bare(text)[:300]) is not None


def tells_effect(text: str) -> bool:
    """Whether a text says what the failed call changed, or that it is not known."""
    return _EFFECT.search(text) is not None


def invites_again(text: str) -> bool:
    """Whether a sentence of a text says to make the same call again.

    >>> invites_again("Make the same call again."), invites_again("Do not make the call again.")
    (True, False)
    """
    return any(_INVITES.search(part) and not _NEGATED.search(part) for part in re.split(r"(?<=[.!?;])\s", text[:4_000]))


def wants_credentials(text: str) -> bool:
    """Whether a text says that a key, a token or a login is missing or not valid.

    >>> wants_credentials("401: not signed in."), wants_credentials("There is no such token in the text.")
    (True, False)
    """
    return _CREDENTIALS.search(text[:2_000]) is not None


def blames_server(text: str) -> bool:
    """Whether a text says that the server, not the call, is at fault."""
    return _BLAME.search(text) is not None


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
