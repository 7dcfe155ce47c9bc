"""The table of phrases: what the words of an error say about its cause.

A text is reduced to its words: values and addresses are taken out, names are split (`FILE_NOT_FOUND` and "file was not
found" are the same three words), auxiliary verbs go, and every negation is "not". A phrase is a row of words that stand
next to each other:

    word        that word                 a|b     one of them
    word*       a word that begins so     <name>  one of a class of words
    word?       that word, or none        ^ $     the beginning, the end
    ..          up to six words more      ¤       a value

The first row of which one phrase occurs gives the code. The order is the judgement: what tells a caller not to repeat
the call stands before what tells them to, so that a sentence that speaks of both is never repeated by mistake.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from failwell.model import pattern

_PHRASES: Final = (
    # A program that is wrong speaks of types, values and arguments like a refusal does.
    (
        "INTERNAL_ERROR",
        """
        no attribute; unsupported operand; list|tuple|string|range|deque|assignment index out of range
        not json serializable; positional argument|arguments; not read|set property|properties
        not a function|constructor; not iterable; ^ <any> not defined; maximum call stack; stack overflow
        circular structure|reference; unexpected token .. json; unexpected end of json; runtime error; nil pointer
        ^ panic; index out of range <number>; called ¤ on; null pointer; not invoke ¤; not cast to; reference not set
        index outside; out of memory; heap limit; output|response|result|content validation error|failed
        unexpected response|reply|answer|status|content; response|reply|answer|output|result .. not .. json
        response|reply|answer|output|result .. validation failed|error
        not parse|parsed|decode|decoded|encode|marshal|serialize|deserialize .. response|reply|answer|output|result
        """,
    ),
    (
        "UNKNOWN_TOOL",
        """
        unknown|unrecognized|invalid|undefined tool $; unknown|unrecognized|invalid|undefined tool ¤|name|<any>
        no such tool; unknown or .. tool; tool not found|known|registered|available
        tool <any> not found|known|registered|available; tool <any> .. disabled|inactive
        """,
    ),
    (
        "METHOD_NOT_FOUND",
        """
        method not found|available|supported|implemented; method <any> not found|available|supported|implemented
        """,
    ),
    # Services that do not tell which of the two it is.
    ("NOT_FOUND", "not exist|found or you|not|already|it"),
    # A limit that waiting does not lift.
    (
        "FORBIDDEN",
        """
        billing; payment required; insufficient funds|credit|credits|balance|quota; not accessible by
        """,
    ),
    (
        "POLICY_DENIED",
        """
        denied|blocked|rejected|refused|declined|prohibited|stopped by .. policy|guardrail|hook|user|administrator
        user rejected|denied|declined|refused; policy denied|violation|blocked|denies; guardrail*
        cancelled|aborted by user; approval .. denied|required|needed|timed|expired|rejected
        requires|needs|awaiting|waiting|pending .. approval
        """,
    ),
    (
        "RATE_LIMITED",
        """
        too many requests; rate limit*; throttl*; slow down; resource exhausted; quota exceeded|exhausted|reached
        """,
    ),
    (
        "UNAUTHORIZED",
        """
        unauthori*; unauthenticated; not authenticated|authenticate; not logged|signed in; re authenticate
        must|needs|has|need|first to? authenticate|authenticated
        authentication|authorization failed|failure|required|error|needed|expired|credentials; login failed|required
        authentication method|methods required|failed; requires|needs authentication|login
        invalid|missing|expired|wrong|incorrect|bad|revoked|no|empty <secret>
        invalid|expired|wrong|incorrect|bad|revoked <any> <secret>
        <secret> missing|invalid|expired|revoked|required|incorrect|wrong
        <secret> not set|provided|configured|found|valid|specified; provide|set|configure|locate|find|load a? <secret>
        not find|locate|load <secret>; invalid|not|missing|no|bad auth; noauth; <secret> <any> <any> expired
        session expired|invalid
        """,
    ),
    (
        "NOT_CONFIGURED",
        """
        no module named; not find module|package; command not found; sh <number> <any> not found
        executable|binary .. not found|exist; find .. executable|binary; installed .. path; not installed
        found .. install; not configured|initialized; spawn .. enoent|eacces; environment variable|variables not
        """,
    ),
    ("VALIDATION_ERROR", "additional properties"),
    (
        "FORBIDDEN",
        """
        forbidden; permission|permissions denied|required|missing|error|to; access denied|forbidden|restricted|blocked
        access to .. denied|forbidden|restricted|blocked; denied to|for|permission|$; declined
        not allowed|permitted|authorized; not in .. allowlist; blocked; dangerous; refused to; prohibited
        insufficient .. permission|permissions|privilege|privileges|scope|scopes|right|rights|access
        missing scope|scopes; missing permission|permissions; no permission|permissions
        not have .. permission|permissions|access|privilege|privileges|right|rights
        lacks .. permission|permissions|privilege|scope; in|a read only; readonly; read only mode|transaction|access
        outside allowed|permitted|workspace|sandbox|root|base
        outside of allowed|permitted|workspace|sandbox|root|base|any; ^ .. path outside
        security violation|policy|error|restriction; disabled; only select|read .. allowed|permitted|supported
        only allowed|permitted; eacces; eperm; erofs; not in channel|team|group|room|workspace|org*; noperm
        permission denied; unsafe port; ^ denied
        """,
    ),
    ("UNAVAILABLE", "database locked; deadlock"),
    (
        "CONFLICT",
        """
        already exists|exist|taken|open|running|present|sent|paid|done|in|used|registered|deleted|created|merged|a
        exists already; file exists; foreign key constraint; unique constraint|violation
        duplicate key|entry|name|id|value; conflict|conflicting|conflicted; version mismatch; held by
        locked by|$; locked; used by; in use; by another process|user|session|transaction|client; overwritten
        concurrent* modif*|updat*; not mergeable; eexist; enotempty; ebusy; etxtbsy; eaddrinuse; eisconn
        precondition failed; failed precondition; conditional check
        """,
    ),
    (
        "MISSING_REQUIRED_FIELD",
        """
        missing <number>? <thing>; missing required|mandatory; missing <any> <thing>; required .. missing|absent
        required .. not provided|found|set|given; required; ^ missing|empty|provide|specify|supply; no arguments
        no|without <any> provided|given|specified|supplied; missing field|param|parameter|arg|input
        no|without <any> <any> provided|given|specified|supplied
        must|should|needs .. provided|specified|given|supplied|set|present; received undefined
        """,
    ),
    # Another call has to come first, or a value is not known: not a thing that is not there.
    (
        "VALIDATION_ERROR",
        """
        need|needs|must|have .. first|before; call|run|use|open|create|select|load|start|connect .. first
        <bad> <thing>; <bad> <any> <thing>; unknown .. must|expected|valid|supported|allowed
        must one|a|at|between|greater|less|positive|non|in|either|unique|valid|true|false|within|equal
        must start|end|begin|match|have|contain|not|include|number|integer|string
        not match ¤|regex|pattern|schema|expected|format|a|required; syntax error|error; invalid syntax
        error in your sql; no such column|function; column <any> not exist; not null constraint; expected one|type
        expected <any> got|received|but; expected a? <any> got|received; not empty|null|negative|blank|zero; of type ¤
        input should; validation error|errors; invalid_*; einval; eisdir; enotdir; enametoolong; eloop; wrongtype
        not one of; unknown variant
        """,
    ),
    (
        "TLS_ERROR",
        """
        certificate verify|expired|not|verification; certificate expired; self signed; tls handshake; ssl error
        tls error
        """,
    ),
    (
        "TIMEOUT",
        """
        timed out; timeout of|exceeded|error|expired|after|waiting|while|reached|occurred|period; took too long
        ^ timeout $
        request|connection|read|connect|query|operation|navigation|gateway|handshake|response|body timeout
        timeout exception; timeout <number> .. exceeded; due to .. timeout; gateway time out; deadline exceeded
        operation aborted; task cancelled; etimedout; etime
        """,
    ),
    (
        "NETWORK_ERROR",
        """
        fetch failed; not fetch $; network error|unreachable|failure|issue|request
        connection refused|reset|closed|aborted|lost|broken|error|failed|fail|fails|dropped|terminated
        connection <any> failed|refused; connection attempt|attempts failed; eof $
        socket|connection|transport not open; socket|connection|transport already? closed; connect call failed
        socket hang|hangup|closed; name or service not known; temporary failure in name; name resolution; getaddrinfo
        not resolve host|hostname; no such host; no route to host; max retries exceeded; remote end closed
        server disconnected|gone; server gone; broken pipe; not connect|reconnect; not establish .. connection
        error connecting|reconnecting; not reach; not reachable; unreachable; offline; dial tcp; error sending request
        econnrefused; econnreset; econnaborted; epipe; enotfound; eai again|fail; enetunreach; ehostunreach; enetdown
        ehostdown; enotconn; err network; err connection; err name; connect error|failed; connection error
        read|write error $
        """,
    ),
    (
        "UNAVAILABLE",
        """
        temporarily|currently|service|server unavailable; ^|<number> unavailable; overloaded; under maintenance
        too many connections|clients; server busy; busy $; not ready; circuit; eagain; eintr; emfile; enfile; enomem
        loading redis
        """,
    ),
    ("UPSTREAM_ERROR", "bad gateway; internal server error; upstream error|failure|failed; server error"),
    (
        "NOT_FOUND",
        """
        not found; notfound; not exist; not exists; no such; nonexistent; not find|locate
        no longer exists|exist|available; not available; no .. found|exists|exist|available|matching|matched
        ^ no <any> <any> ¤ $; no .. with|named|called|for|matching; unknown <any>; expired; not match any; not have a
        no match|matches|result|results|entries|data|record|records; not registered|known|listed; enoent; esrch; enxio
        enodev
        """,
    ),
    (
        "UNSUPPORTED",
        """
        not supported; unsupported; not implemented|implement; unimplemented; not support; not used; supports .. only
        """,
    ),
    (
        "VALIDATION_ERROR",
        """
        invalid; malformed; validation error|errors|failed|failure; bad request; unprocessable
        too long|short|large|small|big|many|few; must; should; not valid; not a valid; illegal
        not parse|convert|decode|interpret|parsed|converted; not a; a directory; not a directory; not allowed; exceeds
        by zero; expect|expects|expected|expecting; incorrect; unexpected token|character|symbol|end; not both
        specify|use|provide|set|pass both; missing; with null; unrecognized; ^ not a; not accept; beyond
        at most|least <number>; limit|maximum|minimum of <number>; limit|maximum|minimum <number>; value error
        out of range
        """,
    ),
    # Something is not there, and nothing else is said about it.
    ("NOT_FOUND", "^ no <any> <any>"),
    # Advice for the next call.
    ("VALIDATION_ERROR", "^|.|please pass|use|choose|select|enter|send|reduce|narrow|shorten|split|rename"),
    # Advice that is given for anything.
    ("UNAVAILABLE", "try again later|in|shortly|soon"),
    # What says only that something failed.
    (
        "INTERNAL_ERROR",
        """
        unexpected error|exception|failure; internal error; something went wrong; error occurred
        """,
    ),
)

_THINGS: Final = """
    argument param parameter field property option input key value attribute identifier variable operation mode type
    format kind category status scheme date range
""".split()
_CLASSES: Final = {
    "<any>": [r"[^ .^$]+"],
    "<thing>": [*_THINGS, *(f"{word}s" for word in _THINGS), "properties", "categories"],
    "<secret>": "apikey apikeys token tokens credential credentials password passwords secret secrets".split(),
    "<bad>": "unknown unrecognized unexpected unsupported invalid illegal bad extra".split(),
}
_AUXILIARIES: Final = frozenset(
    "the is are was were be been being has had do does did can could will would currently properly its".split()
)
_NEGATIONS: Final = frozenset("cannot unable failed fails failure".split())

# Names are split at capitals and underscores; a stop counts only at the end of a sentence.
_PART: Final = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+(?:['’]t\b)?|\d{1,20}"
_NAME: Final = r"[a-z]{1,40}(?:_[a-z0-9]{1,40}){1,8}|[A-Za-z][a-z0-9]{1,40}(?:[A-Z][a-z0-9]{0,40}){1,8}"
_WORD: Final = pattern(rf"(?P<name>(?<!\w)(?:{_NAME})(?!\w))|{_PART}|¤|(?<!\.)[.!?;](?=\s|$)|\n")
_PARTS: Final = pattern(_PART)
# A name in a sentence is what a caller sent; by itself, at the beginning, or so called it is the name of an error.
_ERROR_NAME: Final = pattern(
    r"(?:Error|Exception|Timeout|Fault|Failure|NotFound|Refused|_(?:key|token|secret|password))$"
)
_VALUES: Final = pattern(
    r"(?<!\w)'[^'\n]{0,200}'(?!\w)|\"[^\"\n]{0,300}\"|`[^`\n]{0,200}`|(?i:https?)://[^\s'\"<>)]{1,500}"
)
_SENTENCE: Final = pattern(r"[.!?]\s+(?=[A-Z'\"`\[(])|\n")
_LONGEST: Final = 3_000
_MOST_WORDS: Final = 250


@cache
def _rows() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each row as one expression over words that are separated by single spaces."""
    return tuple(
        (code, re.compile("|".join(_expression(each) for each in re.split("[;\n]", phrases) if each.strip())))
        for code, phrases in _PHRASES
    )


def _expression(phrase: str) -> str:
    expression, gap = "", ""
    for each in phrase.split():
        if each == "..":
            gap = "(?: [^ .]+){0,6}?"
            continue
        words = [word for part in each.removesuffix("?").split("|") for word in _CLASSES.get(part, [_escaped(part)])]
        expression += f"{gap}(?: (?:{'|'.join(words)})(?= )){'?' if each.endswith('?') else ''}"
        gap = ""
    return expression


def _escaped(word: str) -> str:
    return re.escape(word.removesuffix("*")) + ("[^ ]*" if word.endswith("*") else "")


def code_of(text: str) -> str | None:
    """The code that a sentence, or a name of an error, stands for.

    >>> code_of("Project was not found"), code_of("EntityNotFound"), code_of("Done"), code_of("SERVICE_CALL_FAILED")
    ('NOT_FOUND', 'NOT_FOUND', None, None)
    """
    words = f" {' '.join(words_of(text))} "
    return next((code for code, row in _rows() if row.search(words)), None)


def code_in(text: str) -> tuple[str, int] | None:
    """The code that a text stands for, and how far one had to look: 0 for the first sentence, 1 for all of it, 2 for
    the values in it."""
    text = text[:_LONGEST]
    whole = masked(text)
    for looked, piece in enumerate((first_sentence(whole), whole, text)):
        if (code := code_of(piece)) is not None:
            return code, looked
    return None


def masked(text: str) -> str:
    """The text without the values in it: what a caller sent says nothing about what went wrong."""
    return _VALUES.sub("¤", text)


def first_sentence(text: str) -> str:
    """What happened stands in the first sentence; the ones after it give advice."""
    cut = _SENTENCE.search(text)
    return text[: cut.start()] if cut else text


def words_of(text: str) -> list[str]:
    """The words of a text that phrases are made of.

    >>> words_of("The FILE_NOT_FOUND was an error.")
    ['^', 'file', 'not', 'found', 'a', 'error', '.', '$']
    """
    words = ["^"]
    for found in _WORD.finditer(text):
        if len(words) > _MOST_WORDS:
            break
        for word in _split(text, found):
            if word in _AUXILIARIES:
                continue
            if word == "to" and words[-1] in _NEGATIONS:
                words[-1] = "not"
            elif word == "cannot" or word[-2:] in ("'t", "’t"):
                words.append("not")
            elif word in ("key", "keys") and words[-1] in ("api", "access", "secret", "auth"):
                words[-1] = "apikey"
            elif word in ".!?;\n":
                words.append(".")
            elif word.isdecimal():
                words.append("<number>")
            else:
                words.append(
                    "a" if word == "an" else word.replace("recognis", "recogniz").replace("canceled", "cancelled")
                )
    return [*words, "$"]


def _split(text: str, found: re.Match[str]) -> list[str]:
    """The words that a name is made of; a value where the name is something that the sentence speaks of."""
    name, start, end = found["name"], *found.span()
    if name is None:
        return [found[0].lower()]
    before, after = text[max(start - 2, 0) : start].rstrip()[-1:], text[end : end + 1]
    is_by_itself = before in ("", *"([=:.") and after in ("", *")]:,. ")
    return [part.lower() for part in _PARTS.findall(name)] if is_by_itself or _ERROR_NAME.search(name) else ["¤"]
