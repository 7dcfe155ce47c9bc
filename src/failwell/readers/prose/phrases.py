"""The table of phrases: what the words of an error say about its cause.

A text is reduced to its words: values and addresses are taken out, names are split (`FILE_NOT_FOUND` and "file was not
found" are the same three words), auxiliary verbs go, and every negation is "not". A phrase is a row of words that stand
next to each other:

    word        that word                 a|b     one of them
    word*       a word that begins so     <name>  one of a class of words
    ..          up to six words more      ^ $     the beginning, the end

The first row of which one phrase occurs gives the code. The order is the judgement: what tells a caller not to repeat
the call stands before what tells them to, so that a sentence that speaks of both is never repeated by mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from re import IGNORECASE
from typing import Final, NamedTuple

from failwell.model import pattern

_PHRASES: Final = (
    # A program that is wrong speaks of types, values and arguments like a refusal does.
    (
        "INTERNAL_ERROR",
        """
        no attribute; unsupported operand; only concatenate; unhashable type; not subscriptable
        argument must str|bytes|int; object not callable|iterable|reversible|interpreted|converted
        object not a iterator; not support item; list|tuple|string|range|deque|assignment index out of range
        pop from .. empty; indices must; expected str instance; not supported between instances
        name|variable ¤ not defined; referenced before; where not associated; maximum recursion depth
        dictionary|set changed size; values to unpack; not unpack; not json serializable
        unexpected keyword argument; positional argument|arguments; expected bytes; event loop closed; never awaited
        not all arguments converted; expecting value; expecting property name; expecting ¤ delimiter
        in ¤ expression; not read|set property|properties; undefined|null|none|nil not a|iterable; not destructure
        not convert undefined|null; not a function|constructor; not iterable; ^ ¤ not defined; ^ <any> not defined
        reference error; before initialization; assignment to constant; maximum call stack; stack overflow
        circular structure|reference; serialize a bigint; not mix bigint; unexpected token .. json
        unexpected end of json; character after json; of empty array with no; object object; runtime error
        nil pointer; panicked at; ^ panic; slice bounds out of range; nil map; index out of range <number>
        interface conversion; out of bounds len; unwrap; called ¤ on; with overflow $; null pointer; not invoke ¤
        not cast to; index <number> out of bounds; reference not set; index outside
        unable cast object; sequence contains no; collection modified; nullable object must; cast not valid
        no match of right hand; no function|case|cond|with|try clause; badmatch; segmentation fault; out of memory
        heap limit; assertion failed; zero division error; arithmetic exception; attempted to divide by zero
        data loss; output|response|result|content validation error|failed; output schema validation
        invalid structured content; unexpected response|reply|answer|status|content
        invalid|malformed json|xml|data|body in|from .. response|reply|answer
        validation failed|error for|of|in .. response|reply|answer
        response|reply|answer|output|result .. not .. json
        response|reply|answer|output|result .. validation failed|error
        not parse|parsed|decode|decoded|encode|marshal|serialize|deserialize .. response|reply|answer|output|result
        """,
    ),
    (
        "UNKNOWN_TOOL",
        """
        unknown|unrecognized|invalid|undefined tool $; unknown|unrecognized|invalid|undefined tool ¤|name|<any>
        no such tool; unknown or .. tool; tool not found|known|registered|available
        tool <any> not found|known|registered|available; tool <any> <any> not found|known|registered|available
        tool name .. not found; tool <any> unknown; no tool named|called|with; tool <any> not exist
        tool <any> <any> not exist; tool <any> .. disabled|inactive
        """,
    ),
    (
        "METHOD_NOT_FOUND",
        """
        unknown|unsupported method; unknown rpc method; no such method; no handler for|registered
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
        too many requests; rate limit*; ratelimit*; request limit reached|exceeded; throttl*; slow down
        resource exhausted; quota exceeded|exhausted|reached; exceeded .. quota
        try|call again in|after <number> s|sec|secs|second|seconds|min|minutes
        """,
    ),
    ("FORBIDDEN", "upgrade your|to"),
    (
        "UNAUTHORIZED",
        """
        unauthori*; unauthenticated; not authenticated|authenticate; not yet authenticated|logged
        not logged|signed in; reauthenticate; re authenticate
        must|needs|has|need|first to? authenticate|authenticated; must|needs|need .. logged|signed in
        authentication|authorization failed|failure|required|error|needed|expired|credentials; login failed|required
        authentication method|methods required|failed; log in required; requires|needs authentication|login
        requires|needs .. <secret> $; invalid|missing|expired|wrong|incorrect|bad|revoked|no|empty <secret>
        missing or invalid .. <secret>; invalid or <any> <secret>
        invalid|expired|wrong|incorrect|bad|revoked <any> <secret>
        <secret> missing|invalid|expired|revoked|required|incorrect|wrong
        <secret> not set|provided|configured|found|valid|specified
        <secret> <any> missing|invalid|expired|revoked|required|incorrect; <secret> must set
        <secret> environment variable; provide|set|configure|locate|find|load a? <secret>
        provide|set|configure|locate|find|load a? valid <secret>; not find|locate|load <secret>
        invalid|not|missing|no|bad auth; please log|sign in; please login; must log|sign in; access denied for user
        invalid client token; invalid access; noauth; wrongpass; <secret> <any> <any> expired; signature not match
        ^ auth $; ^ login $; auth error|failed|required; session expired|invalid
        """,
    ),
    (
        "NOT_CONFIGURED",
        """
        no module named; not find module|package; module not found; command not found; sh <number> <any> not found
        not found .. install; executable|binary .. not found|exist; find .. executable|binary; install .. path
        installed .. path; not found in path|your; not installed; please install; found .. install
        not configured|initialized; browser|chrome|chromium|driver|runtime .. not found; missing config*
        spawn .. enoent|eacces; enoent .. spawn
        environment variable|variables .. not set|missing|required|must|undefined|unset
        missing|set|required|define .. environment variable; environment variable|variables not
        """,
    ),
    # What a rule about values does not allow is no lack of rights.
    (
        "VALIDATION_ERROR",
        """
        <value> not allowed|permitted; additional properties; error parsing json; not parse json $
        not parse json from input; invalid json $; invalid json <rest>
        """,
    ),
    (
        "FORBIDDEN",
        """
        forbidden; permission|permissions denied|required|missing|error|to
        access denied|forbidden|restricted|blocked; access to .. denied|forbidden|restricted|blocked
        denied to|for|permission|$; declined; rejected|cancelled by user; not allowed|permitted|authorized
        not in .. allowlist; blocked; dangerous; refused to; disallowed; prohibited; must owner
        insufficient .. permission|permissions|privilege|privileges|scope|scopes|right|rights|access
        missing scope|scopes; missing <any> scope|permission|permissions; missing permission|permissions
        no permission|permissions; no <any> permission|permissions
        not have .. permission|permissions|access|privilege|privileges|right|rights
        lacks .. permission|permissions|privilege|scope; in|a read only; readonly; read only mode|transaction|access
        path traversal; outside allowed|permitted|workspace|sandbox|root|base
        outside of allowed|permitted|workspace|sandbox|root|base|any
        outside any|your|of .. allowed|workspace|directory|directories; ^ .. path outside
        security violation|policy|error|restriction; disabled; not enabled
        only select|read .. allowed|permitted|supported; only allowed|permitted; not in allowed list
        not in allow list; eacces; eperm; erofs; not in channel|team|group|room|workspace|org*; not a? member
        noperm; permission denied; optin required; unsafe port; security $; ^ denied
        """,
    ),
    ("UNAVAILABLE", "database locked; deadlock; not serialize access; sqlite busy|locked; transaction conflict"),
    (
        "CONFLICT",
        """
        already exists|exist|taken|open|running|present|sent|paid|done|in|used|registered|deleted|created|merged|a
        exists already; file exists; foreign key constraint; uniqueness; unique constraint|violation
        duplicate key|entry|name|id|value; dup entry; ^ duplicate $; conflict|conflicting|conflicted
        version mismatch; modified by; been modified; held by; directory|folder|bucket|database not empty
        locked by|$; checked out; locked; used by; in use; in used by; use by
        by another process|user|session|transaction|client; overwritten; concurrent* modif*|updat*
        not a fast forward; not mergeable; eexist; enotempty; ebusy; etxtbsy; eaddrinuse; eisconn
        precondition failed; failed precondition; ^ .. aborted $; conditional check; optimistic; ^ stale
        integrity error; busykey; busygroup; resource in use
        """,
    ),
    (
        "MISSING_REQUIRED_FIELD",
        """
        missing <number>? <thing>; missing required|mandatory; missing one or more; missing <any> <thing>
        required .. missing|absent; required .. not provided|found|set|given; required
        must|please provide|specify|supply; ^ missing|empty|provide|specify|supply; ^ give it? a? name|value|path
        no arguments; no|without <any> provided|given|specified|supplied; missing field|param|parameter|arg|input
        no|without <any> <any> provided|given|specified|supplied
        must|should|needs .. provided|specified|given|supplied|set|present; at least one of; at least one <any> must
        one of .. must; must have required; missing properties; received undefined
        """,
    ),
    # Another call has to come first, or a value is not known: not a thing that is not there.
    (
        "VALIDATION_ERROR",
        """
        need|needs|must|have .. first|before; call|run|use|open|create|select|load|start|connect .. first
        <bad> <thing>; <bad> <any> <thing>; invalid time zone|timezone; unknown|no time|timezone
        unknown .. use one of; unknown .. must|expected|valid|supported|allowed
        must one|a|at|between|greater|less|positive|non|in|either|unique|valid|true|false|within|equal
        must start|end|begin|match|have|contain|not|include|number|integer|string; must array|object
        multiple matches; matched|matches|resolved .. multiple|several; more than one match; not match $
        not match ¤|regex|pattern|schema|expected|format|a|required; syntax error|error; parse|parser|parsing error
        invalid syntax; error in sql syntax; error in your sql; no such column|function; unknown column
        column <any> not exist; not null constraint; check constraint; expected one|type
        expected <any> got|received|but; expected a? <any> got|received; expected <any> <any> got|received
        not empty|null|negative|blank|zero; of type ¤; not valid under; out of range value; input should
        validation error|errors; invalid_*; einval; eisdir; enotdir; enametoolong; eloop; wrongtype; noscript
        invalid argument; not one of; unknown variant
        """,
    ),
    (
        "TLS_ERROR",
        """
        certificate verify|expired|not|verification; certificate expired; cert expired; self signed; tls handshake
        ssl handshake|routines|certificate; ssl error; tls error; cert altname; not verify leaf; signed cert
        """,
    ),
    (
        "TIMEOUT",
        """
        timed out; timedout; timeout of|exceeded|error|expired|after|waiting|while|reached|occurred|period
        took too long; ^ timeout $
        request|connection|read|connect|query|operation|navigation|gateway|handshake|response|body timeout
        timeout exception; timeout <number> .. exceeded; due to .. timeout
        time out of|exceeded|error|expired|after|waiting|while|reached|occurred; gateway time out; deadline exceeded
        exceeded time limit; operation aborted; task cancelled; not respond|answer|complete in|within; etimedout
        esockettimedout; etime
        """,
    ),
    (
        "NETWORK_ERROR",
        """
        incomplete read; fetch failed; failed fetch; not fetch $; network error|unreachable|failure|issue|request
        connection refused|reset|closed|aborted|lost|broken|error|failed|fail|fails|dropped|terminated
        connection <any> failed|refused; connection attempt|attempts failed
        connection to .. refused|reset|closed|lost|failed; eof $; socket|connection|transport not open
        socket|connection|transport already? closed; connect call failed; socket hang|hangup|closed
        name or service not known; temporary failure in name; nodename nor; name resolution; getaddrinfo
        not resolve host|hostname; no such host; no route to host; max retries exceeded; remote end closed
        remote protocol error; server disconnected|gone; server gone; broken pipe; peer closed
        not connect|reconnect; not establish .. connection; not open|make .. connection
        error connecting|reconnecting; not reach; not reachable; unreachable; offline; eof occurred; lost connection
        dial tcp; error sending request; no response|reply|answer from|received|within; no internet
        no network connection; no connection $; no connection to; econnrefused; econnreset; econnaborted; epipe
        enotfound; eai again|fail; enetunreach; ehostunreach; enetdown; ehostdown; enotconn; und err socket
        err network; err connection; err name; err internet; connect error|failed; connection error
        read|write error $; ^ dns; proxy error
        """,
    ),
    (
        "UNAVAILABLE",
        """
        temporarily|currently|service|server unavailable; ^ unavailable; <number> unavailable; overloaded
        under maintenance; at capacity; too many connections|clients; server busy; busy $; not ready
        still|server|service starting|loading|restarting|initializing; circuit; eagain; ewouldblock; eintr; emfile
        enfile; enomem; loading redis; tryagain; clusterdown; masterdown; service unavailable
        """,
    ),
    ("UPSTREAM_ERROR", "bad gateway; internal server error; upstream error|failure|failed; server error"),
    (
        "NOT_FOUND",
        """
        not found; notfound; not exist; not exists; no such; non existent; nonexistent; not resolve; not find|locate
        there no; no longer exists|exist|available; not available
        no .. found|exists|exist|available|matching|matched; ^ no <any> ¤ $; ^ no <any> <any> ¤ $
        no .. with|named|called|for|matching; unknown <any>; deleted|removed|archived $; expired; not match any
        not have a; no match|matches|result|results|entries|data|record|records; not registered|known|listed; enoent
        esrch; enxio; enodev; undefined table|column|object
        """,
    ),
    (
        "UNSUPPORTED",
        """
        not supported; unsupported; not implemented|implement; unimplemented; not support; not used
        only supports|support|accepts|works; supports .. only
        """,
    ),
    (
        "VALIDATION_ERROR",
        """
        invalid; malformed; validation error|errors|failed|failure; out of range|bounds; bad request; unprocessable
        too long|short|large|small|big|many|few; not contain|include|start|end|begin|exceed; must; may not
        should not; should; may a; not valid; not a valid; illegal
        not parse|convert|decode|interpret|parsed|converted; not a; a directory; not a directory; not allowed
        exceeds; exceed; by zero; expect|expects|expected|expecting; incorrect
        unexpected token|character|symbol|end; ambiguous; mutually exclusive; only one of; not both
        specify|use|provide|set|pass both; missing; must match; wrong type|number|kind|format; unterminated
        with null; duplicate; not recognized; unrecognized; ^ not a; not accept; beyond; at most|least <number>
        no more than; limit|maximum|minimum of <number>; limit|maximum|minimum <number>; did you mean; value error
        illegal argument; zod error; cast error; out of range
        """,
    ),
    # Something is not there, and nothing else is said about it.
    ("NOT_FOUND", "^ no <any> <any>"),
    # Whoever tells the caller what to send instead can be helped by it.
    (
        "VALIDATION_ERROR",
        """
        valid|allowed|available|supported|possible|accepted values|options|types
        ^|.|please pass|use|choose|select|enter|send|reduce|narrow|shorten|split|rename
        """,
    ),
    # Advice that is given for anything.
    (
        "UNAVAILABLE",
        """
        try again later|in|shortly|soon; is <any> running; retry request; retry your request
        went wrong .. try again; error .. try again; give it|this another|a go|try|shot|moment|minute|second|while
        """,
    ),
    # What says only that something failed.
    (
        "INTERNAL_ERROR",
        "unexpected error|exception|failure; internal error; something went wrong; unhandled; error occurred",
    ),
)

_THINGS: Final = """
    argument param parameter field property option input key value flag attribute identifier variable operator operation
    action mode type format unit function keyword command language encoding enum level setting timeout filter sort order
    date range query expression pattern index length size json kind category status state style stage scheme protocol
    algorithm locale currency combination
"""
_CLASSES: Final = {
    "<thing>": [*_THINGS.split(), *(f"{word}s" for word in _THINGS.split()), "properties", "categories", "queries"],
    "<value>": """property properties value values character characters argument arguments parameter parameters key keys
        field fields null empty string strings type number numbers""".split(),
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
    r"(?<!\w)'[^'\n]{0,200}'(?!\w)|\"[^\"\n]{0,300}\"|`[^`\n]{0,200}`|https?://[^\s'\"<>)]{1,500}", IGNORECASE
)
# What to install belongs to what was not found.
_SENTENCE: Final = pattern(r"[.!?]\s+(?!(?:Please )?[Ii]nstall\b)(?=[A-Z'\"`\[(])|\n")
_LONGEST: Final = 3_000
_MOST_WORDS: Final = 250
_GAP: Final = 6


class _Element(NamedTuple):
    """One place in a phrase: `gap` is how many other words may stand before it."""

    words: frozenset[str]
    starts: tuple[str, ...]
    gap: int
    optional: bool


_Phrase = tuple[int, list[_Element]]


@cache
def _table() -> tuple[dict[str, list[_Phrase]], dict[str, list[_Phrase]]]:
    """The phrases by their first word, and by its first letters: of the whole table only those are tried whose first
    word a text has."""
    by_word: dict[str, list[_Phrase]] = {}
    by_start: dict[str, list[_Phrase]] = {}
    for row, (_, written) in enumerate(_PHRASES):
        for phrase in written.replace("\n", ";").split(";"):
            elements: list[_Element] = []
            gap = 0
            for each in phrase.split():
                if each == "..":
                    gap = _GAP
                    continue
                words = [word for part in each.removesuffix("?").split("|") for word in _CLASSES.get(part, [part])]
                starts = [word[:-1] for word in words if word.endswith("*")]
                # Every word begins with nothing.
                starts += [""] if "<any>" in words else []
                elements.append(_Element(frozenset(words), tuple(starts), gap, each.endswith("?")))
                gap = 0
            for word in elements[0].words if elements else ():
                by_word.setdefault(word, []).append((row, elements))
            for start in elements[0].starts if elements else ():
                by_start.setdefault(start[:4], []).append((row, elements))
    return by_word, by_start


def _occurs(elements: list[_Element], words: list[str], at: int) -> bool:
    for allowed, starts, gap, optional in elements:
        for place in range(at, min(at + gap + 1, len(words))):
            word = words[place]
            if word in allowed or (word not in _EDGES and word.startswith(starts)):
                at = place + 1
                break
            if word == ".":
                return False
        else:
            if not optional:
                return False
    return True


_EDGES: Final = frozenset("^$.")


def code_of(text: str) -> str | None:
    """The code that a sentence, or a name of an error, stands for.

    >>> code_of("Project was not found"), code_of("EntityNotFound"), code_of("Done"), code_of("SERVICE_CALL_FAILED")
    ('NOT_FOUND', 'NOT_FOUND', None, None)
    """
    by_word, by_start = _table()
    words = words_of(text)
    best = len(_PHRASES)
    for at, word in enumerate(words):
        for phrases in (by_word.get(word), by_start.get(word[:4])):
            for row, elements in phrases or ():
                if row >= best:
                    break
                if _occurs(elements, words, at):
                    best = row
                    break
    return _PHRASES[best][0] if best < len(_PHRASES) else None


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
    has_values = "'" in text or '"' in text or "`" in text or "://" in text
    return _VALUES.sub("¤", text) if has_values else text


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
    for word in _split(text):
        if word in _AUXILIARIES:
            continue
        if len(words) > _MOST_WORDS:
            break
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
            words.append("a" if word == "an" else word.replace("recognis", "recogniz").replace("canceled", "cancelled"))
    return [*words, "$"]


def _split(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        name = found["name"]
        if name is None:
            yield found[0].lower()
            continue
        before, after = (
            text[max(found.start() - 2, 0) : found.start()].rstrip()[-1:],
            text[found.end() : found.end() + 1],
        )
        is_by_itself = before in ("", "(", "[", "=", ":", ".") and after in ("", ")", "]", ":", ",", ".", " ")
        if is_by_itself or _ERROR_NAME.search(name):
            yield from map(str.lower, _PARTS.findall(name))
        else:
            yield "¤"
