"""Names of errors (codes of other people's APIs, exception classes, errno, gRPC), each to a core code."""

from __future__ import annotations

from typing import Final

from failwell.model import pattern, upper_snake

from .clues import STATED, WORDED, Finding

# Parts of a name in UPPER_SNAKE, in the order in which they are tried: what narrows a meaning stands before what it
# narrows (MODULE_NOT_FOUND before NOT_FOUND, INVALID_TOKEN before INVALID).
_PARTS: Final = tuple(
    (code, pattern(rf"(?:^|_)(?:{parts})(?:_|$)"))
    for code, parts in (
        ("UNKNOWN_TOOL", "UNKNOWN_TOOL|TOOL_NOT_FOUND"),
        ("METHOD_NOT_FOUND", "METHOD_NOT_FOUND"),
        (
            "NOT_CONFIGURED",
            "MODULE_NOT_FOUND|NOT_CONFIGURED|NOT_INSTALLED|MISSING_CONFIG\\w*|CONFIG\\w*_(?:MISSING|ERROR)",
        ),
        (
            "RATE_LIMITED",
            "RATE_?LIMIT\\w*|TOO_MANY_REQUESTS|THROTTL\\w*|QUOTA|QUOTA_EXCEEDED|RESOURCE_EXHAUSTED|SLOW_DOWN",
        ),
        (
            "UNAUTHORIZED",
            "UNAUTHENTICATED|UNAUTHORI[SZ]ED|AUTH|AUTHENTICATION|LOGIN|INVALID_(?:\\w{1,10}_)?(?:TOKEN|KEY"
            "|CREDENTIALS?|SECRET)"
            "|(?:TOKEN|KEY|CREDENTIALS?|SESSION)_(?:EXPIRED|INVALID|MISSING|REVOKED)|(?:EXPIRED"
            "|MISSING)_(?:\\w{1,10}_)?(?:TOKEN|CREDENTIALS?)",
        ),
        (
            "POLICY_DENIED",
            "POLICY_(?:DENIED|VIOLATION|BLOCKED)|(?:BLOCKED|DENIED)_BY_(?:POLICY|GUARDRAIL|USER)|GUARDRAIL\\w*"
            "|(?:USER|TOOL_USE|TOOL_CALL)_(?:REJECTED|DENIED|DECLINED)",
        ),
        (
            "FORBIDDEN",
            "FORBIDDEN|READ_?ONLY|NOT_(?:A_)?MEMBER|NOT_IN_(?:CHANNEL|TEAM|GROUP|ROOM|WORKSPACE|ORG\\w*)"
            "|MISSING_SCOPES?|PERMISSION|PERMISSIONS|(?:ACCESS_)?DENIED|NOT_(?:ALLOWED|PERMITTED"
            "|AUTHORI[SZ]ED)|INSUFFICIENT_(?:PERM|PRIV|SCOPE|RIGHT|ACCESS|FUND|CREDIT|BALANCE|QUOTA|AUTH)\\w{0,20}"
            "|SECURITY|UNSAFE|BLOCKED",
        ),
        (
            "NOT_FOUND",
            "NOT_?FOUND|NO_SUCH|DOES_NOT_EXIST|NOT_EXISTS?|NON_?EXISTENT|GONE|UNDEFINED_(?:TABLE|COLUMN|OBJECT)",
        ),
        (
            "CONFLICT",
            "CONFLICT|ALREADY|EXISTS|DUPLICATE|DUP_ENTRY|DUP|INTEGRITY|UNIQUE_VIOLATION|LOCKED"
            "|PRECONDITION|CONDITIONAL|OPTIMISTIC|STALE|ABORTED|IN_USE|TAKEN",
        ),
        ("TIMEOUT", "TIMED_?OUT|TIME_?OUT|DEADLINE|ETIMEDOUT"),
        (
            "MISSING_REQUIRED_FIELD",
            "MISSING_(?:REQUIRED|PARAM\\w*|ARG\\w*|FIELD|INPUT|PROPERTY)|REQUIRED|MISSING_PARAMETER",
        ),
        ("TLS_ERROR", "SSL|TLS|CERT|CERTIFICATE"),
        (
            "NETWORK_ERROR",
            "CONN|CONNECT|CONNECTION|CONNECTOR|NETWORK|DNS|SOCKET|UNREACHABLE|FETCH|OFFLINE|NAME_RESOLUTION"
            "|GAIERROR|PROXY"
            "|REMOTE_PROTOCOL|READ_ERROR|WRITE_ERROR|DISCONNECTED|ENDPOINT_CONNECTION",
        ),
        ("UNAVAILABLE", "UNAVAILABLE|OVERLOADED|BUSY|TEMPORAR\\w*|MAINTENANCE|TRY_AGAIN|CIRCUIT|REJECTED_EXECUTION"),
        ("UPSTREAM_ERROR", "UPSTREAM|BAD_GATEWAY|INTERNAL_SERVER|SERVER_ERROR"),
        ("UNSUPPORTED", "UNSUPPORTED|NOT_SUPPORTED|NOT_IMPLEMENTED|UNIMPLEMENTED"),
        (
            "VALIDATION_ERROR",
            "VALIDATION|INVALID|BAD_REQUEST|MALFORMED|OUT_OF_RANGE|ARGUMENT|ILLEGAL_ARGUMENT|UNPROCESSABLE\\w*"
            "|UNKNOWN_ACTION"
            "|BAD_(?:ARG\\w*|INPUT|PARAM\\w*|VALUE)|FORMAT|PARSING|PARSE_ERROR|SCHEMA|ZOD|MISSING",
        ),
    )
)
# Names that say only that something failed: a class of the language, or a word anybody uses.
_VAGUE: Final = pattern(
    r"(?:KEY|VALUE|TYPE|ATTRIBUTE|REFERENCE|NAME|INDEX|RUNTIME|ASSERTION|SYNTAX|RANGE|INTERNAL|UNKNOWN|UNEXPECTED"
    r"|OPERATION|"
    r"EXECUTION|TOOL|API|CLIENT|REQUEST|HTTP|SERVICE|SERVICE_CALL|GENERIC|NULL_POINTER|AXIOS|MCP|GENERAL|STATUS)?_?"
    r"(?:ERROR|EXCEPTION|FAILURE|FAILED|PANIC)|E?\d{3}"
)


def code_of(name: str) -> str | None:
    """The core code that a name stands for; None for a name that says nothing.

    >>> code_of("EntityNotFound"), code_of("AUTH_INVALID_TOKEN"), code_of("SERVICE_CALL_FAILED")
    ('NOT_FOUND', 'UNAUTHORIZED', None)
    """
    if name in _SYSTEM:
        return _SYSTEM[name]
    shape = upper_snake(name[-120:].rpartition(".")[2])
    if _VAGUE.fullmatch(shape):
        return None
    return next((code for code, parts in _PARTS if parts.search(shape)), None)


def _all(code: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), code)


_SYSTEM: Final = {
    **_all("NOT_FOUND", "ENOENT ESRCH ENXIO ENODEV"),
    **_all("CONFLICT", "EEXIST ENOTEMPTY EBUSY ETXTBSY EADDRINUSE EISCONN"),
    **_all("VALIDATION_ERROR", "EISDIR ENOTDIR ENAMETOOLONG ELOOP"),
    **_all("VALIDATION_ERROR", "EINVAL ERR_INVALID_ARG_TYPE ERR_INVALID_URL ERR_INVALID_ARG_VALUE"),
    **_all("FORBIDDEN", "EACCES EPERM EROFS"),
    **_all("NETWORK_ERROR", "ECONNREFUSED ECONNRESET ECONNABORTED EPIPE"),
    **_all("NETWORK_ERROR", "ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA ENETUNREACH"),
    **_all("NETWORK_ERROR", "EHOSTUNREACH ENETDOWN EHOSTDOWN"),
    **_all("NETWORK_ERROR", "ENOTCONN UND_ERR_SOCKET ERR_NETWORK ERR_CONNECTION_REFUSED"),
    **_all("NETWORK_ERROR", "ERR_NAME_NOT_RESOLVED ERR_CONNECTION_RESET"),
    **_all("NETWORK_ERROR", "ERR_INTERNET_DISCONNECTED ERR_CONNECTION_CLOSED"),
    **_all("TIMEOUT", "ETIMEDOUT ESOCKETTIMEDOUT ETIME"),
    **_all("TIMEOUT", "UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT"),
    **_all("UNAVAILABLE", "EAGAIN EWOULDBLOCK EINTR"),
    **_all("SERVER_BUSY", "EMFILE ENFILE ENOMEM"),
    **_all("IO_ERROR", "ENOSPC EDQUOT EIO"),
    **_all("TLS_ERROR", "CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT"),
    **_all("TLS_ERROR", "SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
    **_all("TLS_ERROR", "ERR_TLS_CERT_ALTNAME_INVALID CERTIFICATE_VERIFY_FAILED UNABLE_TO_GET_ISSUER_CERT_LOCALLY"),
    # gRPC's own, where the parts of the name would say something else.
    **_all("VALIDATION_ERROR", "INVALID_ARGUMENT InvalidArgument OUT_OF_RANGE OutOfRange"),
    **_all("FORBIDDEN", "PERMISSION_DENIED PermissionDenied"),
    **_all("CONFLICT", "FAILED_PRECONDITION FailedPrecondition ALREADY_EXISTS AlreadyExists ABORTED Aborted"),
    **_all("RATE_LIMITED", "RESOURCE_EXHAUSTED ResourceExhausted"),
    **_all("TIMEOUT", "DEADLINE_EXCEEDED DeadlineExceeded"),
    **_all("INTERNAL_ERROR", "DATA_LOSS DataLoss INTERNAL Internal UNKNOWN Unknown"),
}

_ERRNO: Final = pattern(
    r"\b(E[A-Z]{3,14}(?:_[A-Z]{2,8})?|UND_ERR_[A-Z_]{3,20}|ERR_[A-Z_]{3,40}"
    r"|CERT_HAS_EXPIRED|CERTIFICATE_VERIFY_FAILED|[A-Z_]{4,25}_SIGNED_CERT[A-Z_]{0,10}|UNABLE_TO_[A-Z_]{5,40})\b"
)
_SPAWN: Final = pattern(r"\bspawn \S{1,200} (?:ENOENT|EACCES)|\bENOENT: [^\n]{0,60}\bspawn\b")
_GRPC: Final = pattern(r"rpc error: code = (\w{2,30}) desc|StatusCode\.([A-Z_]{2,30})|^\d{1,2} ([A-Z_]{4,30}): ")


def system(text: str) -> Finding | None:
    """errno names wherever they stand: nobody uses them in a sentence about something else."""
    if "E" not in text:
        # Each of them has one.
        return None
    if "spawn" in text and _SPAWN.search(text):
        return Finding("NOT_CONFIGURED", STATED)
    for match in _ERRNO.finditer(text):
        name = match[1]
        if code := code_of(name) if name.startswith("ERR_") else _SYSTEM.get(name):
            return Finding(code, STATED)
    return None


def grpc(text: str) -> Finding | None:
    found = _GRPC.search(text)
    name = found and (found[1] or found[2] or found[3])
    code = code_of(name) if name else None
    return Finding(code, STATED) if code else None


_LABEL: Final = pattern(
    r"\W{0,4}\[(?P<tag>[A-Z][A-Z_]{3,50})\]\s|(?P<code>[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,6})\b\)?(?::| -|$)"
    r"|(?P<snake>unknown_[a-z]{2,30}|[a-z]{2,30}(?:_[a-z]{2,30}){0,6}?_(?:exception|error|unavailable|not_found|denied"
    r"|exceeded|expired|exists))(?=: )"
    r"|An error occurred \((?P<aws>\w{3,80})\) when calling"
    r"|(?P<name>(?:[a-z_]\w{0,60}\.){0,6}[A-Z]\w{2,60}(?:Error|Exception|Timeout|Fault|NotFound|Failure"
    r"|Refused))(?=[:(]|$)"
)


def labelled(text: str) -> Finding | None:
    """A text that begins with a code or the name of an exception."""
    found = _LABEL.match(text)
    if found is None:
        return None
    code = code_of(found["tag"] or found["code"] or found["snake"] or found["aws"] or found["name"])
    # A name in small letters is a key of a list as often as a code.
    return Finding(code, STATED, plain=found["snake"] is None) if code else None


_TOKEN: Final = pattern(r"(?:^|: )([a-z]{2,20}(?:_[a-z]{2,20}){1,6})$")


def token(text: str) -> Finding | None:
    """What a service says in one word, after whatever was put before it: `API error: missing_scope`."""
    found = _TOKEN.search(text[-200:])
    code = code_of(found[1]) if found else None
    return Finding(code, WORDED) if code else None
