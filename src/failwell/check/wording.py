"""What an error's words tell: whether they say anything, name the next step, and are finished."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from failwell.model import pattern

from .exposures import either, is_dump

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
_STATUS: Final = pattern(
    r"(?i)^(?:(?:the )?(?:request|call|fetch|api)?[ -]?(?:failed|error|returned|responded|answered)?(?: with)?:?\s*)?"
    r"(?:http(?:/\d(?:\.\d)?)?\s*)?(?:error\s*)?(?:status(?: code)?:?\s*)?[45]\d\d"
    r"(?:[\s:-]{1,3}(?:(?:client|server) error)?[\s:-]{0,3}(?:bad request|unauthorized|forbidden|not found|conflict"
    r"|gone|method not allowed|unprocessable (?:entity|content)|too many requests|internal server error|bad gateway"
    r"|service unavailable|gateway timeout)?(?: for url.{0,200})?)?$"
)
_BARE_VALUE: Final = pattern(r"^(?:'[^']{0,80}'|\"[^\"]{0,80}\"|-?\d+|[0-9a-f-]{6,40})$")


_VERBS: Final = """add adjust ask authenticate call change check choose confirm configure connect consult contact
convert correct create decrease delete do drop ensure enter fetch find fix follow get give grant
include increase inform inspect install keep leave let limit list log login look make narrow notify
omit open pass pick provide put quote read reconnect reduce refer register release remove rename
repeat rephrase replace request rerun resend reserve resubmit retry review revise run search see
select send set shorten sign simplify skip specify spell split start stop supply switch take tell
try update upgrade use verify view visit wait widen write""".split()
# What follows where such a word is a noun: "Request failed", "Check constraint", "List index".
_NO_ORDER: Final = """failed failure error errors timed time timeout was were is are has had not could cannot of index
constraint returned exceeded denied refused limit body method id url parameter operation call failed: request""".split()
_INSTRUCTION: Final = pattern(
    r"(?i)(?:^|[.;:!?)\u2014\n-]['\"\u201d\u2019]?\s*['\"]?"
    r"|\b(?:please|then|first|or|and|instead,?|to fix this,?|next:?|so)\s+)"
    r"(?:" + "|".join(_VERBS) + r")\s+(?!(?:" + "|".join(_NO_ORDER) + r")\b)['\"`<{\[]?\w"
)
_NEXT: Final = either(
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
_CREDENTIALS: Final = either(
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
_NOT_THERE: Final = either(
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
_NO: Final = pattern(
    r"(?i)\b(?:no|not|cannot|never|none|nothing|nobody|neither|unknown|missing|unable|without|invalid|fail(?:ed|s)?)\b|n't\b|n\u2019t\b"
)
_FAILED_STATES: Final = frozenset("error failed failure fail not_found notfound denied".split())
_WANTED: Final = either(
    r"\b(?:must|has to|have to|needs? to|should|can(?: only)?|may only) (?:be|have|contain|match|look|start|end|lie)\b",
    r"\b(?:for example|for instance|such as|e\.g\.|like|say|between|at least|at most|exactly|one of|in the form)\b",
    r"\bas (?:an? |the )?(?:\w+ )?(?:text|string|number|integer|list|object|boolean|date)\b",
    r"\b(?:is|are|wants?|expects|expected|needs) (?:an? |the )?(?:whole number|number|integer|text|string|date|list)\b",
    r"\b(?:from )?-?\d+ (?:to|and|through|up to) -?\d+\b",
    flags="(?i)",
)
_EFFECT: Final = either(
    r"\bmay (?:already )?have (?:been|taken|gone)\b",
    r"\bmight (?:already )?have\b",
    r"\bnothing (?:was|has been|is) (?:done|changed|written|sent|saved|created|charged|ordered|booked)\b",
    r"\bno (?:changes?|effect|charge|order)\b",
    r"\bnot (?:been )?(?:done|changed|charged|sent|saved|written|applied|created|ordered|booked)\b",
    r"\b(?:unknown|unclear|not known|not sure) whether\b",
    r"\bwhether (?:it|the \w+) (?:was|has|took|went)\b",
    r"\b(?:was|were|has been) (?:already )?(?:done|changed|charged|sent|saved|written|applied|created)\b",
    r"\b(?:cannot|can't|could not|couldn't|don't|do not|unable to) (?:tell|know|say|see|confirm|be sure)\b",
    r"\b(?:if|whether)\b[^.;\n]{0,40}\b(?:was|were|has been|have been|went|took|got)\b",
    r"\bno \w+ (?:was|were|has been|have been) \w+",
    r"\bmay or may not\b",
    flags="(?i)",
)
CODE: Final = pattern(r'\\?"(?:code|error_?code|kind|reason)\\?"\s*:\s*\\?"([A-Za-z]\w*(?:[.-]\w+)*)\\?"')
"""A code in so many words, where an object says it."""
_PLACEHOLDER: Final = either(
    r"(?:^|[\s'\"`(])(?:%[sdr]|\$?\{[a-z]\w*\})(?=[\s'\"`).,;:?!]|$)",
    r"(?i:\b(?:call|use|run|try|did you mean)(?: the tool)? ['\"`]?(?:undefined|null|none|nan)['\"`]?)(?=[\s.,;?!]|$)",
)
_OF_A_FORM: Final = pattern(r"(?i)\b(?:form|format|template|pattern|placeholder|syntax|looks? like|url|uri|path)s?\b")
_NO_OPTIONS: Final = pattern(
    r"(?i)\b(?:did you mean(?: one of)?|(?:must|should) be one of|(?:use|choose|try|pick) one of|"
    r"(?:valid|allowed) \w+ are)\s*:?\s*(?:\[\s*\]|\(\s*\)|\{\s*\}|['\"]{2})?\s*(?:[.?!](?=\s|$)|$)"
)


def unfinished(text: str) -> str | None:
    """The place in a text that was to be filled in: a name that is none, or a list without entries.

    >>> unfinished("Call {tool} to see them."), unfinished("Did you mean one of: ?"), unfinished("Use the form {name}.")
    ('{tool}', 'Did you mean one of: ?', None)
    """
    said = text[:4_000]
    found = _NO_OPTIONS.search(said) or (None if _OF_A_FORM.search(said) else _PLACEHOLDER.search(said))
    return None if found is None else found[0].strip()


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
    return empty or any(shape.match(said) is not None for shape in (_NOTHING, _CLASS_NAME, _BARE_VALUE, _STATUS))


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


def is_called_error(text: str) -> bool:
    """Whether a text begins by calling itself an error; one that was asked for, as a line of a log, may do so, too.

    >>> is_called_error("error: nothing"), is_called_error("**Error** - bk_9"), is_called_error("Errors are logged.")
    (True, True, False)
    """
    return _CALLED.match(text[:300]) is not None


_CALLED: Final = pattern(
    r"\W{0,4}(?:an? )?(?:error|failure|failed|exception)\W{0,2}\s{0,2}(?:[:!]|-\s|$)", re.IGNORECASE
)


def denies(text: str, sent: str) -> bool:
    """Whether a sentence of a text quotes what was sent and says no to it.

    >>> denies("QQQ is not on our network.", "QQQ"), denies("The notes of QQQ.", "QQQ")
    (True, False)
    """
    for part in re.split(r"(?<=[.!?;\n])\s", text[:2_000]):
        if sent.lower() in part.lower() and _NO.search(re.sub(re.escape(sent), "", part, flags=re.IGNORECASE)):
            return True
    return False


def flags_failure(text: str) -> bool:
    """Whether a text is an object that says by a field of its own that the call failed.

    >>> flags_failure('{"ok": false, "reason": "no such stop"}'), flags_failure('{"ok": true, "error": null}')
    (True, False)
    """
    if not text.lstrip().startswith("{") or len(text) > 100_000:
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    flags = (value.get(name) for name in ("ok", "success", "succeeded"))
    states = (str(value.get(name)).lower() for name in ("status", "state", "result", "type"))
    return any(flag is False for flag in flags) or any(state in _FAILED_STATES for state in states)


def refuses(text: str, argument: str) -> bool:
    """Whether a text names an argument and says what it has to be."""
    return names(text, (argument,)) and says_wanted(text)


def says_wanted(text: str) -> bool:
    """Whether a text says what a value has to be, or shows one.

    >>> says_wanted("limit is a whole number between 1 and 40."), says_wanted("limit is unsuitable.")
    (True, False)
    """
    return _WANTED.search(text) is not None


def tells_effect(text: str) -> bool:
    """Whether a text says what the failed call changed, or that it is not known."""
    return _EFFECT.search(text) is not None


def wants_credentials(text: str) -> bool:
    """Whether a text says that a key, a token or a login is missing or not valid.

    >>> wants_credentials("401: not signed in."), wants_credentials("There is no such token in the text.")
    (True, False)
    """
    return _CREDENTIALS.search(text[:2_000]) is not None


def stated_code(text: str) -> str | None:
    """The code that an object in a text states.

    >>> stated_code('{"kind": "missing", "code": "NO_STOP"}')
    'NO_STOP'
    """
    found = sorted(CODE.finditer(text), key=lambda each: "code" not in each[0].partition(":")[0].lower())
    return found[0][1] if found else None


def blames_server(text: str) -> bool:
    """Whether a text says that the server, not the call, is at fault."""
    return _BLAME.search(text) is not None


def names(text: str, words: Iterable[str]) -> bool:
    """Whether one of the words stands in a text by itself, not as a part of another name.

    >>> names("Give station as text.", ["station"]), names("Use find_station.", ["station"])
    (True, False)
    """
    return any(re.search(rf"(?i)(?<!\w){_spaced(word)}s?(?!\w)", text) is not None for word in words if word)


def _spaced(word: str) -> str:
    return r"[ _-]?".join(re.escape(part) for part in re.split(r"[ _-]+", word) if part) or re.escape(word)


def mentions(text: str, words: Iterable[Any]) -> bool:
    """Whether one of the words stands in a text."""
    folded = text.lower()
    return any(str(word).lower() in folded for word in words if str(word))


def without_sent(text: str) -> str:
    """A text without the arguments that a validator quotes whole, in which any name may stand."""
    return re.sub(r"input_value=.{0,400}?, input_type=\w+", "", text, flags=re.DOTALL)
