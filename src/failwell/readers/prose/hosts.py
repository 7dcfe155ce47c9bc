"""What relays, gateways and hosts say about a call that never reached its tool, or whose answer never came back.

They speak of sessions that are gone, servers that died, policies and users that refused, messages that were too long.
The rows are tried in order, like those in `words`: what must not be repeated stands first. A number or a status beside
these words says little, since a gateway gives the same one to all of them.
"""

from __future__ import annotations

from typing import Final

from failwell.model import pattern

from . import statuses, words
from .clues import STATED, Finding
from .stems import WordRules

_GAP: Final = r"[^.\n]{0,60}?"
_REFUSED: Final = r"(?:denied|blocked|rejected|refused|declined|forbidden|disallowed|prohibited|vetoed)"
_STOPPED: Final = (
    rf"(?:{_REFUSED}|cancell?ed|interrupted|aborted|stopped|skipped|dismissed|disabled|prevented|required)"
)
_RULE: Final = (
    r"(?:polic(?:y|ies)|guardrails?|rules?|hooks?|administrators?|admin|waf|moderation|user|human|operator|reviewer"
    r"|you)"
)
_USE: Final = r"(?:call|use|invocation|execution|action)"
_ANSWER: Final = r"\b(?:response|result|output|answer|reply|sse event|frame)\b"
_SENT: Final = r"\b(?:request|body|payload|message|prompt|content|input)\b"
_SIZE: Final = r"(?:size|buffer|bytes|length|context|tokens?|characters|[km]i?b)\b"
_GONE: Final = (
    r"(?:(?:is |was |could )?not (?:be )?(?:found|valid|known|available|(?:properly )?initiali[sz]ed)"
    r"|(?:has |is |was )?(?:been )?(?:already )?(?:terminated|expired|closed|closing|lost|invalid|unknown|disconnected)"
    r"|(?:is )?(?:required|missing))"
)
# A session of a person, which a login brings back, or one that the tool itself opens.
_OWN: Final = pattern(
    r"\b(?:log(?:ged)? ?in|sign(?:ed)? ?in|(?:re-?)?authenticat|(?:un|re-?)?authori[sz]|credential|password|first\b)"
)
_ENDED: Final = r"(?:exited|crashed|died|been killed|was killed|terminated|shut down|shutting down|gone away)"

_ROWS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "POLICY_DENIED",
        (
            rf"\b(?:{_STOPPED}|not (?:allowed|permitted)) by (?:an? |the |your |our )?"
            rf"(?:[\w-]{{1,30}} ){{0,3}}{_RULE}\b",
            rf"(?:polic(?:y|ies)|guardrails?|hook) (?:has |have )?(?:{_REFUSED}|denies|blocks|rejects|forbids|prohibits"
            r"|prevents|(?:does not|doesn't) (?:allow|permit))",
            r"\b(?:policy|guardrail|plugin) violation|content blocked\b",
            r"\buser (?:has |have )?(?:explicitly )?(?:rejected|denied|declined|refused|cancell?ed|disapproved"
            r"|dismissed|skipped|interrupted|aborted|chose (?:not )?to|(?:doesn't|does not|didn't|did not) (?:want"
            r"|approve|allow|grant|consent|confirm)|specified a rule)\b",
            rf"\btool {_USE}s? (?:(?:for |of |with )?\S{{1,60}} )?(?:has been |was |is )?"
            rf"(?:{_REFUSED}|not approved|skipped)\b|call tool {_REFUSED}\b",
            rf"\b(?:tool|mcp|mcp tools) (?:\S{{1,60}} )?(?:is |was |has been )?"
            rf"(?:not (?:allowed|permitted|approved)|{_REFUSED})\b",
            rf"\bthis action (?:has been |was |is )?{_REFUSED}\b",
            r"\b(?:requires?|needs?|awaiting|waiting for|pending) (?:[\w-]{1,15} ){0,3}approval\b"
            r"|\bquarantined\b",
            r"\bapproval (?:request |review )?(?:(?:is |was |has been )?(?:required|needed|denied|rejected|declined|not"
            r" granted)|timed out|expired)",
            r"permissions? to (?:use|run|call|execute|invoke) [^.\n]{1,100}?(?:denied|not (?:been )?granted"
            r"|haven't granted)",
            r"\bnot (?:in|on) (?:the |an |your )?(?:\w{1,20} )?(?:allow-?list|white-?list)\b",
            r"\b(?:in|on|matche[sd]) (?:the |a |your )?(?:\w{1,20} )?(?:deny-?list|block-?list|black-?list)\b",
            r"rejected due to (?:\w{1,20} ){0,2}(?:risk|content|safety)\b",
        ),
    ),
    ("FORBIDDEN", (r"insufficient[ _]scope",)),
    (
        "UNAUTHORIZED",
        (
            r"^unauthori[sz]ed\b",
            rf"\bjwt\b{_GAP}\b(?:expired|missing|invalid|malformed|verification fail)",
            r"\btoken (?:included in the request )?(?:has |is |was )?(?:been )?(?:expired|rejected|revoked|not valid"
            r"|no longer valid)\b",
            r"\brejected (?:the |its |your |this )?(?:[\w-]{1,20} ){0,3}(?:token|credentials?)\b",
            r"\bre-?authori[sz]ation\b|please (?:re-?)?authori[sz]e\b|\binvalid_(?:token|grant)\b",
        ),
    ),
    # The answer was there: what it tells of was done.
    (
        "INTERNAL_ERROR",
        (
            rf"{_ANSWER}{_GAP}\b(?:exceed(?:s|ed)?|larger than|longer than)\b{_GAP}\b(?:maximum|max|limit|{_SIZE})",
            rf"{_ANSWER}(?: from \w{{1,20}}(?: \w{{1,20}})?)? (?:is |was )?too (?:large|long|big)\b",
            r"\bmaxbuffer\b|too big header|chunk is longer than limit",
        ),
    ),
    (
        "VALIDATION_ERROR",
        (
            rf"{_SENT}{_GAP}\b(?:exceed(?:s|ed)?|larger than|longer than)\b{_GAP}\b{_SIZE}",
            r"\b(?:request|body|payload|message) size (?:limit )?(?:is |was )?exceeded\b",
            r"\b(?:request entity|payload|request|request body|message|prompt) (?:is |was )?too (?:large|long|big)\b",
            r"\bmaximum context length\b|\bmessage larger than max\b",
        ),
    ),
    (
        "UNAVAILABLE",
        (
            rf"(?:^|[:(] ?|\b(?:mcp|sse|http|gateway|backend|upstream|the|this|your) )session (?:id )?{_GONE}\b",
            r"\b(?:no (?:valid|active)|(?:invalid|missing|unknown|expired|stale)(?: or (?:missing|expired|unknown"
            r"|invalid))?) (?:mcp )?session(?: ?id)?(?: header)?\b(?! (?:token|cookie|key|name))",
            r"\bmcp-session-id\b|^(?:bad request: |(?:\w{1,20} )?)server not initiali[sz]ed",
            r"\bfail(?:ed)? to create session\b",
            r"\bserver session (?:is |was )?not (?:active|started|running)\b",
            r"\bsession (?:with|for) \S{1,40} (?:was |is |has been )?(?:terminated|expired|closed)\b",
        ),
    ),
    (
        "TIMEOUT",
        (
            r"\b(?:upstream(?: request)?|stream|response|gateway|backend|total) ?time-?out\b(?=\W{0,3}$|[:;,.<)]"
            r"| (?:after|while|waiting|occurred|exceeded|reached|error))",
            r"\bmax(?:imum)? stream duration\b|\bis timing out\b|within \d{1,9} ?ms in ¤",
            r"\bno (?:result|response|answer|reply) (?:was )?received\b[^.\n]{0,80}\bwaiting \d",
            r"\berror (?:code:? )?52[24]\b|\(time-?out\)|\b(?:context )?deadline exceeded",
        ),
    ),
    (
        "NETWORK_ERROR",
        (
            r"\btransport (?:is |was |has |been |already ){0,3}(?:closed|terminated|disconnected|not connected|lost"
            r"|broken|stopped)\b|\bconnection (?:is |was )?(?:not (?:active|established|open)|inactive)\b",
            r"upstream connect error|disconnect/reset before headers|prematurely closed|upstream connection error",
            r"\bstream (?:is |was |has |been ){0,2}(?:ended|closed|disconnected|terminated)\b|^not connected\W?$",
            r"\bclient (?:is |was |has )?(?:clos(?:ed|ing)|disconnected)\b|\(connection (?:closed|error)\)",
            r"\bconnection (?:was |has been |is )?(?:closed|terminated)\b",
        ),
    ),
    (
        "UNAVAILABLE",
        (
            r"\bno (?:healthy|live) (?:upstreams?|backends?|servers?|endpoints?|hosts?)\b|^no available servers?\W?$"
            r"|no server is available\b|failure to get a peer\b|\bweb server is down\b",
            rf"\bmcp (?:\w{{1,12}} )?(?:server|client|process|subprocess|backend)\b{_GAP}\b(?:{_ENDED}|stopped"
            r"|disconnected|failed with code|process failed|not (?:running|connected|healthy|responding)|unhealthy"
            r"|unresponsive)\b",
            rf"(?:^|[:(] ?|\bthe )(?:server|subprocess|child)(?: process)? (?:is |has |was )?{_ENDED}\b",
            r"(?:^|[:(] ?)(?:server|backend)(?: ¤)? (?:is )?(?:closing|not ready|not connected|unavailable)\b",
            r"\bmcp server process failed|\bcurrently (?:offline|connecting|reconnecting)\b",
            r"\bsubprocess (?:has )?(?:exited|terminated)\b",
        ),
    ),
    ("UPSTREAM_ERROR", (rf"\binvalid response{_GAP}\bupstream\b|upstream_reset_before|returning an unknown error",)),
)
_RULES: Final = WordRules(_ROWS)
# Who stands between says it at once.
_LONGEST: Final = 600

# A status that tells who refused counts more than words about what passes.
_FIRM: Final = frozenset({401, 403, 407, 429})
_REFUSALS: Final = frozenset({"POLICY_DENIED", "FORBIDDEN", "UNAUTHORIZED"})
_LESS: Final = "The call itself may have been done. If it only reads, ask for less: a filter, a page or a limit."


def read(text: str) -> Finding | None:
    """What is said in the first sentence, or further on where that one says nothing.

    >>> read("Bad Request: No valid session ID provided").code, read("Tool use was rejected").code
    ('UNAVAILABLE', 'POLICY_DENIED')
    """
    first, whole = words.pieces(text[:_LONGEST])
    code = _RULES.code_of(first.lower())
    if code is None and first != whole and words.code_of(first) is None:
        code = _RULES.code_of(whole.lower())
    if code is None:
        return None
    status = statuses.status_in(text)
    if (status in _FIRM and code not in _REFUSALS) or (code == "UNAVAILABLE" and _OWN.search(whole.lower())):
        return None
    return Finding(code, STATED, http_status=status, suggestion=_LESS if code == "INTERNAL_ERROR" else None)
