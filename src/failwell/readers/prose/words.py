"""What the words of a sentence say, where no shape is known. The rows are tried in order, on the first sentence first.

The order is the judgement. What tells a caller not to repeat the call stands before what tells them to, so that a
sentence that speaks of both is never repeated by mistake; and what everybody says stands last. Values in quotes and
addresses are taken out before: what a caller sent says nothing about what went wrong.
"""

from __future__ import annotations

from functools import lru_cache
from re import IGNORECASE
from typing import Final

from failwell.model import pattern

from .clues import WORDED, Finding
from .crashes import PHRASES
from .stems import WordRules

# What may stand between two words that belong together: never more than a sentence.
_GAP: Final = r"[^.\n]{0,60}?"
_SECRET: Final = (
    r"(?:api[ _-]?keys?|(?:access |auth\w* |bearer |api |refresh |session |id |security )?tokens?|credentials?"
    r"|passwords?|secret(?: key)?|access[ _-]?keys?|\b\w{0,40}_(?:key|token|secret|password|credentials))"
)
THING: Final = (
    r"(?:argument|param(?:eter)?|field|property|option|input|key|value|flag|attribute|identifier|variable|operator"
    r"|operation|action|mode|type|format|unit|function|keyword|command|language|encoding|enum|level|setting|timeout"
    r"|filter|sort|order"
    r"|date|range|query|expression|pattern|index|length|size|json|kind|category|status|state|style|stage|scheme"
    r"|protocol|algorithm|locale|currency)"
)
_PAUSE: Final = r"give (?:it|this) (?:another|a) (?:go|try|shot|moment|minute|second|while|rest)\b"
_NOT: Final = r"(?:(?:could|can|did|do|does|was|is|are|has)(?: not|n't)|cannot|can't|unable to|failed to)"

_ROWS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("INTERNAL_ERROR", PHRASES),
    (
        "UNKNOWN_TOOL",
        (
            r"(?:unknown|no such|unrecogni[sz]ed|invalid|undefined) (?:or \w{1,20} )?tool(?! (?:argument|param|input"
            r"|response|result))\b",
            r"\btool(?: name)?:? (?:\S{1,100} )?(?:was |is |could )?(?:not (?:be )?(?:found|known|registered"
            r"|available)|unknown)",
            r"no tool (?:named|called|with)|\btool \S{1,100} (?:does not exist|doesn't exist|(?:exists but )?is"
            r" (?:disabled|inactive))",
        ),
    ),
    (
        "METHOD_NOT_FOUND",
        (
            r"(?:unknown|no such|unsupported) (?:rpc |json-?rpc )?method",
            r"method (?:\S{1,100} )?(?:is )?not (?:found|available|supported|implemented)|no handler (?:is |for"
            r"|registered)",
        ),
    ),
    # Services that do not tell which of the two it is.
    ("NOT_FOUND", (r"(?:not exist|not found|not be found),? or (?:you |it |not |already |the \w{1,20} )",)),
    # A limit that waiting does not lift.
    (
        "FORBIDDEN",
        (
            r"billing|payment (?:is )?required|insufficient[ _](?:funds|credits?|balance|quota)",
            r"not accessible by\b",
        ),
    ),
    (
        "RATE_LIMITED",
        (
            r"too many requests|rate[ -]?limit|request limit (?:reached|exceeded)|\bthrottl",
            rf"quota (?:has been )?(?:exceeded|exhausted|reached)|exceeded {_GAP}\bquota",
            r"(?:try|call) again (?:in|after) \d{1,6} ?(?:s\b|sec|min)",
        ),
    ),
    ("FORBIDDEN", (r"upgrade (?:your|to a)\b",)),
    (
        "UNAUTHORIZED",
        (
            r"\bunauthori[sz]ed\b|unauthenticated|not (?:yet )?(?:authenticated|logged in|signed in)|re-?authenticate",
            r"(?:must|needs? to|has to) (?:first )?(?:be )?(?:authenticated?|logged in|signed in)\b",
            r"(?:authenti\w{2,10}|authori[sz]ation) (?:methods? )?(?:failed|failure|required|error|is required"
            r"|needed|expired"
            r"|credentials)|login failed",
            rf"{_NOT} (?:be )?authenticate|(?:requires?|needs?) (?:authentication|login|(?:an? )?{_SECRET}\b)"
            rf"|log ?in (?:is )?required",
            rf"(?:invalid|missing|expired|wrong|incorrect|bad|revoked|no"
            rf"|empty)(?: or \w{{1,12}})? (?:\w{{1,20}} )?{_SECRET}\b",
            rf"\b{_SECRET} (?:provided |you provided |given |environment variable )?(?:is |are |was |were |has "
            rf"|must |been ){{0,2}}"
            r"(?:missing|invalid|expired|revoked|required|incorrect|wrong|be set|not (?:set|provided|configured"
            r"|found|valid|specified))",
            rf"(?:provide|set|configure|locate|find|load) (?:a |your |an |the )?(?:valid )?(?:\w{{1,20}} )?{_SECRET}\b",
            r"\b(?:invalid|not|missing|no|bad)_auth\w{0,10}\b|please (?:log|sign) ?in|must (?:be logged|log"
            r"|sign) in|access denied for user",
        ),
    ),
    (
        "NOT_CONFIGURED",
        (
            r"no module named|cannot find (?:module|package)|module not found|command not found",
            r"\bsh: (?:line )?\d{1,5}: \S{1,60}: not found|not found\. (?:please )?install\b",
            rf"(?:executable|binary)\b[^.\n]{{0,40}}? (?:(?:was |is |be )?not found|(?:does not|doesn't) exist)"
            rf"|find (?:\w{{1,20}} ){{0,3}}(?:executable|binary)"
            rf"|\binstall(?:ed)?\b{_GAP}\bpath\b|not found in (?:your |the )?\$?path\b",
            rf"(?:is|are) not installed|please install|found\b{_GAP}\binstall\b",
            r"not (?:been )?(?:properly )?(?:configured|initiali[sz]ed)",
            r"(?:browser|chrom\w{1,5}|driver|runtime)\b[^\n]{0,60} not (?:be )?found",
            rf"environment variables?\b{_GAP}\b(?:not set|missing|required|must be set|undefined|is not|are not|unset)",
            rf"(?:missing|set|required?|define)\b{_GAP}environment variable",
        ),
    ),
    # What a rule about values does not allow is no lack of rights.
    (
        "VALIDATION_ERROR",
        (
            r"(?:propert(?:y|ies)|values?|characters?|arguments?|param(?:eter)?s?|keys?|fields?|null|empty|strings?"
            r"|type"
            r"|numbers?) (?:is|are) not (?:allowed|permitted)|additional properties",
            r"(?:error parsing|failed to parse|invalid) (?:the )?json"
            r"(?! (?:response|reply|answer|output|result)| (?:in|from|of) (?:the |an? )?(?:\w{1,20} )?"
            r"(?:response|reply|answer|upstream))\b",
        ),
    ),
    (
        "FORBIDDEN",
        (
            r"\bforbidden\b|permissions? (?:was |is |were |are )?(?:denied|required|missing|error)|permission to\b",
            r"access (?:is |was |to \S{1,100} (?:is |was )?)?(?:denied|forbidden|restricted|blocked)|(?:is|are"
            r"|was) denied\b|\bdenied (?:to|for|permission)\b|\bdeclined\b"
            r"|(?:rejected|cancell?ed|aborted) by (?:the |a )?user",
            r"\bnot (?:be )?(?:allowed|permitted|authori[sz]ed)\b|\bblocked\b|\bdangerous\b|refused to \w"
            r"|disallowed|prohibited"
            r"|must be owner",
            r"insufficient (?:\w{1,20} )?(?:permission|privilege|scope|right|access)"
            r"|missing (?:\w{1,20} )?(?:scope|permission)",
            r"\bno (?:\w{1,20} )?permissions? to\b"
            r"|(?:do|does|did)(?: not|n't) have (?:the |sufficient |enough )?(?:\w{1,20} )?(?:permission|access"
            r"|privilege|right)",
            r"lacks? (?:the )?(?:\w{1,20} )?(?:permission|privilege|scope)|(?:in|is|are|a) read[ -]?only\b",
            r"read-?only (?:mode|transaction|access)"
            r"|path traversal",
            r"(?:is|are|path) outside\b|outside (?:of )?(?:the |any )?(?:allowed|permitted|workspace|sandbox|root"
            r"|base)",
            r"security (?:violation|policy|error|restriction)|\bdisabled\b|(?:is|are|been) not enabled\b",
            r"only (?:select|read)[^.\n]{0,40} (?:are|is) (?:allowed|permitted|supported)|only (?:allowed|permitted)\b"
            r"|not in the allow(?:ed)?[ -]?list",
        ),
    ),
    # Answers that the tool got and could not use: they speak of what is invalid as well.
    (
        "INTERNAL_ERROR",
        (
            r"unexpected (?:response|reply|answer|status|content)",
            r"(?:validation (?:failed|error) (?:for|of|in)|(?:invalid|malformed) (?:json|xml|data|body) (?:in|from))"
            r" (?:the |an? )?(?:\w{1,20} )?(?:response|reply|answer)\b",
            r"(?:response|reply|answer|output|result)\b[^.\n]{0,40}(?:not (?:valid )?json|validation (?:failed|error))",
            rf"{_NOT} (?:be )?(?:parsed?|decoded?|encoded?|marshal|(?:de)?serializ\w{{1,2}})[^.\n]{{0,40}}"
            rf"(?:response|reply|answer|output"
            rf"|result)",
        ),
    ),
    (
        "UNAVAILABLE",
        (r"database is locked|deadlock|could not serialize access",),
    ),
    (
        "CONFLICT",
        (
            # "already deleted", but a connection that is already closed is none with somebody else.
            r"already (?:been |being )?(?!closed|connected|reached|exceeded)(?:\w{2,20}ed\b|exists?|in use|taken|open"
            r"|running|being|present|sent|paid|done"
            r"|has an?)|exists already|file exists\b|foreign key constraint|uniqueness"
            r"|unique constraint",
            r"\bduplicate (?:key|entry|name|id|value)|\bconflict(?:s|ing|ed)?\b|version mismatch|has been modified"
            r"|held by",
            r"(?:directory|folder|bucket|database) (?:is )?not empty|(?:is|currently) (?:locked|checked out)"
            r"|: locked\W{0,2}$",
            r"(?:being|is|in) used? by|by another (?:process|user|session|transaction|client)|be overwritten",
            r"concurrent(?:ly)? (?:modif|updat)|not a fast-forward|not mergeable",
        ),
    ),
    (
        "MISSING_REQUIRED_FIELD",
        (
            rf"missing (?:\d{{1,3}} )?(?:the |one or more )?(?:required |mandatory ){{0,2}}{THING}s?\b"
            rf"|missing required",
            rf"(?:is|are|{THING}s?) (?:a )?required\b"
            rf"|required {THING}s?\b{_GAP}(?:missing|not (?:provided|found|set|given)|absent)",
            rf"(?:must|please) (?:provide|specify|supply)|^(?:missing|empty|provide|(?!{_PAUSE})give|specify|supply)\b"
            r"|no arguments\b",
            r"^\S{1,60} required\b",
            r"(?:no|without) (?:(?!with )\w{1,20} ){1,3}(?:was |were )?(?:provided|given|specified|supplied)\b",
            r"(?:must|should|needs? to) be (?:provided|specified|given|supplied|set|present)|at least one (?:of"
            r"|\w{1,20} must)",
            r"one of \S{1,60}(?: \S{1,60}){0,6} (?:is|must)",
        ),
    ),
    # Another call has to come first.
    (
        "VALIDATION_ERROR",
        (
            r"(?:need to|needs to|must|have to|has to) \w{3,20} [^.\n]{0,60}?\b(?:first|before)\b",
            r"\b(?:call|run|use|open|create|select|load|start|connect) (?:to )?\S{1,60}(?: \S{1,20}){0,3} first\b",
        ),
    ),
    # A value that is not known, not a thing that is not there.
    (
        "VALIDATION_ERROR",
        (
            rf"(?:unknown|unrecogni[sz]ed|unexpected|unsupported|invalid|illegal|bad"
            rf"|extra) (?:\w{{1,20}} )?{THING}s?\b",
            rf"(?:unknown|invalid|no) time ?zone|unknown {_GAP}(?:use one of|must be|expected|valid|supported|allowed)",
            r"must be (?:one of|an?\b|at |between|greater|less|positive|non|in\b|either|unique|valid|>|<|true|false"
            r"|within|equal)",
            r"(?:matche[sd]|resolve[sd] to) (?:multiple|several|more than one|[2-9]\d{0,5}|1\d{1,5}) "
            r"|more than one match",
            r"(?:does|do)(?: not|n't) match (?!any)|must (?:start|end|begin|match|have|contain|not|include)\b"
            r"|(?:syntax|parse|parser) error|invalid syntax|error in your sql syntax",
            r"no such (?:column|function)|unknown column|column \S{1,100} does not exist|not[- ]null constraint"
            r"|check constraint",
            r"expected (?:one of|type|[\w ]{1,30},? (?:but )?(?:got|received))|cannot be (?:empty|null|negative"
            r"|blank|zero)",
        ),
    ),
    (
        "TLS_ERROR",
        (
            r"certificate (?:verify|has expired|is not|verification)|self[- ]signed certificate|tls handshake fail",
            r"ssl (?:handshake|routines|certificate)",
        ),
    ),
    (
        "TIMEOUT",
        (
            r"timed[ -]?out|time-?out (?:of|exceeded|error|expired|after|waiting|while|reached|occurred|period)"
            r"|took too long",
            r"time-?out:? \d{1,8} ?(?:ms|s)\w{0,11} exceeded|deadline (?:has been )?exceeded"
            r"|exceeded (?:the )?time ?limit",
            r"(?:request|connection|read|connect|query|operation|navigation|gateway|handshake) time-?out\b",
            r"operation was aborted|due to (?:\w{1,20} ){0,2}time-?out|task was cancell?ed"
            r"|did not (?:respond|answer|complete) (?:in|within)",
        ),
    ),
    (
        "NETWORK_ERROR",
        (
            r"incompleteread\(",
            r"fetch failed|failed to fetch\b|network (?:error|is unreachable|failure|issue|request failed|unreachable)",
            r"connection (?:was |has been |is |attempts? )?(?:refused|reset|closed|aborted|lost|broken|error|fail"
            r"|dropped)",
            r"connection to [^\n]{1,100}? (?:was |is )?(?:refused|reset|closed|lost|failed)|:\s?(?:unexpected )?eof$",
            r"(?:socket|connection|transport) (?:is |was |has been )?(?:not open|already closed|ended)",
            r"connect call failed|socket (?:hang ?up|(?:is |was )?closed)|name or service not known"
            r"|temporary failure in name resolution",
            r"nodename nor servname|name resolution|getaddrinfo|could not resolve host|failed to resolve|no such host",
            r"no route to host|max retries exceeded|remote end closed|server (?:disconnected|has gone away)"
            r"|broken pipe|peer closed",
            rf"{_NOT} (?:establish a |open a |make a )?(?:new )?(?:re)?connect(?:ion)?\b|error (?:re)?connecting"
            rf"|can't connect",
            rf"{_NOT} reach\b|not reachable|unreachable|is offline|eof occurred|lost connection|dial tcp"
            rf"|error sending request",
            r"failed to reach|no (?:response|reply|answer) (?:from|received|within)|no internet"
            r"|no (?:network )?connection(?: to\b|\W?$)",
        ),
    ),
    (
        "UNAVAILABLE",
        (
            r"(?:temporarily|currently|service|server|is) (?:is )?unavailable|overloaded|under maintenance|at capacity",
            r"too many (?:connections|clients)|server (?:is )?busy|not ready\b|(?:still|is) (?:starting"
            r"|loading|restarting|initiali[sz]ing)",
        ),
    ),
    ("UPSTREAM_ERROR", (r"bad gateway|internal server error|upstream (?:error|failure|failed)",)),
    (
        "NOT_FOUND",
        (
            r"not[ _-]?found|(?:does|do|did)(?: not|n't) (?:currently )?exist|not exist\b|no such\b|non-?existent",
            rf"{_NOT} resolve\b",
            rf"{_NOT} (?:be found|find|locate)\b|there (?:is|are|was) no\b|no longer (?:exists?|available)"
            rf"|not available\b",
            r"no \S{1,60}(?: \S{1,60}){0,5} (?:was |were |is |are )?(?:found|exists?|available|matching|matched)\b",
            r"^no (?:\w{1,20} ){1,2}(?:¤|\S{0,60}\d\S{0,60})\W?$",
            r"no (?:\w{1,30} ){1,3}(?:has been \w{1,20} )?(?:with|named|called|for|matching)\b",
            r"unknown (?!error|exception|reason|failure|issue)\w{2,40}|has been (?:deleted|removed|archived)"
            r"|has expired",
            r"did(?: not|n't) match any|refspec \S{1,200} does not match any|(?:does not|doesn't) have an? "
            r"|no (?:match|matches|results?|entries|data"
            r"|records?)\b|not (?:registered|known|listed)\b",
        ),
    ),
    (
        "UNSUPPORTED",
        (
            r"\bnot supported\b|unsupported|not implemented|(?:doesn't|does not) support|cannot be used"
            r"|supports? [^.\n]{1,60} only\b|only (?:supports?|accepts?|works? (?:with|on|for|in))",
        ),
    ),
    (
        "VALIDATION_ERROR",
        (
            r"\binvalid\b|\bmalformed\b|validation (?:error|failed|failure)|out of (?:range|bounds)|bad request"
            r"|unprocessable",
            r"too (?:long|short|large|small|big|many|few)\b"
            r"|cannot (?:be|contain|include|start|end|begin|exceed) \w|\bmust \w|(?:may|should) (?:not )?be\b"
            r"|not (?:a )?valid|illegal(?! ?state)",
            rf"{_NOT} (?:be )?(?:parse|convert|decode|interpret)"
            rf"|is not an? \w",
            r"is a directory|not a directory|not allowed|exceeds?\b|division by zero|\bexpect(?:s|ed|ing)?\b|incorrect"
            r"|unexpected (?:token|character|symbol|end of (?:input|file))"
            r"|ambiguous",
            r"mutually exclusive|only one of|\bnot both\b|(?:specify|use|provide|set|pass) both|missing\b|must match"
            r"|wrong (?:type|number|kind|format)|unterminated|with null\b|duplicate",
            r"(?:not |un)recogni[sz]ed|(?:^|: )not an? \w|not accept\b|\bbeyond\b"
            r"|\b(?:at most|at least|no more than) \d"
            r"|\b(?:limit|maximum|minimum) (?:is|of) \d|did you mean|\bvalue ?error\b|illegal ?argument",
        ),
    ),
    # Something is not there, and nothing else is said about it.
    ("NOT_FOUND", (r"^no (?!space\b|changes? (?:was|were|have been) )\w{2,40} (?:\S{1,40} ){0,8}\S",)),
    # Whoever tells the caller what to send instead can be helped by it.
    (
        "VALIDATION_ERROR",
        (
            r"\b(?:valid|allowed|available|supported|possible|accepted) (?:\w{1,20} )?(?:values?|options?"
            r"|\w{2,20}s)(?: are)?:",
            # Not what is told of an upload: that it failed, was done, or of what it was.
            r"(?:^|[.!?;:] |please )(?:pass|use|choose|select|upload|enter|send|reduce|narrow|shorten|split|rename)\b"
            r"(?! (?:of|was|is|has|had|and|to \S{1,60} (?:failed|was)|fail\w*|done|error\w*|timed|abort\w*|complete\w*"
            r"|succeed\w*|finish\w*|not|could|cannot|can't|did)\b)",
        ),
    ),
    # Advice that is given for anything.
    (
        "UNAVAILABLE",
        (
            rf"try again (?:later|in|shortly|soon)|is (?:it|the \w{{1,20}}) running\?|{_PAUSE}",
            # A mistake of the caller's is to be tried again as well, but not as it was.
            r"retry (?:your|the|this) request|(?:went wrong|error occurred|error)\b[^\n]{0,80}\btry again\b",
        ),
    ),
)
# Small letters are searched for in small letters: that takes a third of the time that not minding them does.
_RULES: Final = WordRules(_ROWS)
# What says only that something failed. Whatever else the text says counts more.
_VAGUE: Final = pattern(
    r"unexpected (?:error|exception|response|failure)|internal error|something went wrong|unhandled"
    r"|an (?:unknown|unexpected)? ?error occurred"
)

_MASKED: Final = pattern(
    r"(?<!\w)'[^'\n]{0,200}'(?!\w)|\"[^\"\n]{0,300}\"|`[^`\n]{0,200}`|https?://[^\s'\"<>)]{1,500}", IGNORECASE
)
# The end of a sentence. What to install belongs to what was not found.
_SENTENCE: Final = pattern(r"[.!?]\s+(?!(?:Please )?[Ii]nstall\b)(?=[A-Z'\"`\[(])|\n")
_LONGEST: Final = 3_000


def masked(text: str) -> str:
    """The text without the values in it."""
    has_values = "'" in text or '"' in text or "`" in text or "://" in text
    return _MASKED.sub("¤", text) if has_values else text


def first_sentence(text: str) -> str:
    cut = _SENTENCE.search(text)
    return text[: cut.start()] if cut else text


@lru_cache(8)
def pieces(text: str) -> tuple[str, str]:
    """The first sentence of a text, and all of it, without the values: kept while one parser after the other asks."""
    whole = masked(text)
    return first_sentence(whole), whole


def code_of(text: str) -> str | None:
    """The code that the words of a piece of text stand for.

    >>> code_of("Project was not found"), code_of("Done")
    ('NOT_FOUND', None)
    """
    return _RULES.code_of(text.lower())


def read(text: str) -> Finding | None:
    """What happened stands in the first sentence; the ones after it give advice, and count only if it says nothing."""
    text = text[:_LONGEST]
    first, whole = pieces(text)
    # Last with the values in it: all that a text says may stand in quotes.
    for less, piece in enumerate(dict.fromkeys((first, whole, text))):
        if code := code_of(piece):
            return Finding(code, WORDED - less / 10)
    return Finding("INTERNAL_ERROR", WORDED) if _VAGUE.search(whole.lower()) else None
