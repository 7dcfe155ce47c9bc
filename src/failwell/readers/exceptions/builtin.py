"""Rows for what Python itself raises: errors of the system, of time, of the network, and of the programmer.

Modules that take time to import are named, not imported: who raises from them has them.
"""

from __future__ import annotations

import errno
import json
from typing import Any, Final

from failwell.model import Effect, ToolError

from .chain import args, attribute, class_name, exc_text, is_a, with_words
from .exception_table import SHIPPED, Row, broken
from .refusal import is_local_word

# Failures of requests to a service behind the tool, by the error type of contract 001. Which service it is is nobody's
# business but the operator's.
_TRANSPORT: Final[dict[str, tuple[str, str, Effect]]] = {
    "timeout": ("TIMEOUT", "The operation took too long.", Effect.UNKNOWN),
    "connection_refused": ("NETWORK_ERROR", "the connection was refused", Effect.NONE),
    "connection_reset": ("NETWORK_ERROR", "the connection broke", Effect.UNKNOWN),
    "dns_error": ("NETWORK_ERROR", "its name cannot be resolved", Effect.NONE),
    "network": ("NETWORK_ERROR", "there is no way to it", Effect.NONE),
    "fetch_error": ("NETWORK_ERROR", "the request failed", Effect.UNKNOWN),
    "tls_error": (
        "TLS_ERROR",
        "The connection to a service the tool needs could not be secured.",
        Effect.NONE,
    ),
}


def unreachable(error_type: str) -> ToolError:
    """A request that failed without an answer, with what that says about the request."""
    code, message, effect = _TRANSPORT[error_type]
    if code == "NETWORK_ERROR":
        message = f"A service the tool needs cannot be reached: {message}."
    return ToolError(message, code=code, effect=effect, details={"errorType": error_type})


def unreached(error_type: str) -> Row:
    """A row that says so of every exception."""
    return lambda exc: unreachable(error_type)


def timed_out() -> ToolError:
    """What took too long may have been done."""
    return unreachable("timeout")


_ERRNO: Final[dict[int, tuple[str, str]]] = {
    errno.ENOENT: ("NOT_FOUND", "The file or directory does not exist."),
    errno.EEXIST: ("CONFLICT", "The file or directory exists already."),
    errno.ENOTEMPTY: ("CONFLICT", "The directory is not empty."),
    **dict.fromkeys((errno.ETXTBSY, errno.EBUSY), ("CONFLICT", "The file or device is in use.")),
    errno.EISDIR: ("VALIDATION_ERROR", "That is a directory, not a file."),
    errno.ENOTDIR: ("VALIDATION_ERROR", "That is not a directory."),
    errno.ENAMETOOLONG: ("VALIDATION_ERROR", "The name is too long."),
    errno.ELOOP: ("VALIDATION_ERROR", "The path leads round in a circle."),
    **dict.fromkeys((errno.EACCES, errno.EPERM), ("FORBIDDEN", "The tool may not do this.")),
    errno.EROFS: ("FORBIDDEN", "The file system can only be read."),
    **dict.fromkeys((errno.EAGAIN, errno.EINTR), ("UNAVAILABLE", "The resource is busy.")),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), ("SERVER_BUSY", "The server has too many files open.")),
    errno.ENOMEM: ("SERVER_BUSY", "The server has no memory left."),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), ("IO_ERROR", "The server has no disk space left.")),
    **dict.fromkeys((errno.ENOTSUP, errno.ENOSYS), ("UNSUPPORTED", "The system cannot do this.")),
}
NETWORK: Final[dict[int, str]] = {
    errno.ECONNREFUSED: "connection_refused",
    **dict.fromkeys((errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE), "connection_reset"),
    **dict.fromkeys((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN), "network"),
    errno.ETIMEDOUT: "timeout",
}
# Raised without an errno, the class alone says it.
_BY_CLASS: Final[tuple[tuple[type[OSError], int], ...]] = (
    (FileNotFoundError, errno.ENOENT),
    (FileExistsError, errno.EEXIST),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (PermissionError, errno.EACCES),
    (InterruptedError, errno.EINTR),
    (BlockingIOError, errno.EAGAIN),
    (ConnectionRefusedError, errno.ECONNREFUSED),
    (ConnectionError, errno.ECONNRESET),
)
# Those that authors raise themselves, with a text that speaks of a file.
_WORDED: Final = (PermissionError, FileExistsError, FileNotFoundError)


def error_number(exc: BaseException) -> int:
    """The system's number for what went wrong; 0 if it has none."""
    number = attribute(exc, "errno")
    return number if type(number) is int else 0


@SHIPPED.maps(OSError)
def system(exc: OSError) -> ToolError:
    number = error_number(exc)
    if number not in _ERRNO and number not in NETWORK:
        number = next((code for kind, code in _BY_CLASS if is_a(exc, kind)), 0)
    if number in NETWORK:
        return unreachable(NETWORK[number])
    code, message = _ERRNO.get(number, ("IO_ERROR", "The tool could not read or write what it needs."))
    given = args(exc)
    is_worded = len(given) == 1 and type(given[0]) is str and " " in given[0].strip() and is_a(exc, *_WORDED)
    return ToolError(_with_words(exc, message, exc_text(exc) if is_worded else ""), code=code)


@SHIPPED.maps(ValueError)
def rejected(exc: ValueError) -> ToolError:
    """The one exception whose text is always told: it speaks of a value."""
    return ToolError(_with_words(exc, "An argument was rejected.", exc_text(exc)), code="VALIDATION_ERROR")


def _with_words(exc: BaseException, message: str, words: str) -> str:
    """An author's words as they are, anybody else's behind what they are about."""
    return words if words.strip() and is_local_word(exc) else with_words(message, words)


@SHIPPED.maps("json.decoder.JSONDecodeError")
def not_json(exc: json.JSONDecodeError) -> ToolError:
    """A ValueError that no author wrote: nobody knows whose text it was, but this one only names the place."""
    return broken(exc).replace(message=f"The tool met a text that is not JSON: {position_of(exc)}.")


def position_of(exc: json.JSONDecodeError) -> str:
    """What Python says of a text that is no JSON: it names the place, and quotes nothing."""
    return f"{exc.msg.rstrip(': ').removesuffix(' at')} at line {exc.lineno}, column {exc.colno}"[:200]


@SHIPPED.maps(NotImplementedError)
def unsupported(exc: NotImplementedError) -> ToolError:
    return ToolError("The tool cannot do this.", code="UNSUPPORTED")


@SHIPPED.maps(ImportError)
def not_installed(exc: ImportError) -> ToolError:
    return ToolError("A part of the server that this tool needs is not installed.", code="NOT_CONFIGURED")


@SHIPPED.maps("subprocess.CalledProcessError")
def command(exc: Any) -> ToolError:
    return ToolError(
        "A command that the tool runs failed.", code="INTERNAL_ERROR", details={"exit_status": exc.returncode}
    )


@SHIPPED.maps(SystemExit)
def leaving(exc: SystemExit) -> ToolError:
    return ToolError(
        "The tool tried to stop the server.", code="INTERNAL_ERROR", details={"error_type": class_name(exc)}
    )


SHIPPED.maps(TimeoutError, "subprocess.TimeoutExpired")(unreached("timeout"))
SHIPPED.maps("socket.gaierror", "socket.herror")(unreached("dns_error"))
SHIPPED.maps("ssl.SSLError")(unreached("tls_error"))
SHIPPED.maps(
    "ssl.SSLEOFError",
    "ssl.SSLZeroReturnError",
    "asyncio.exceptions.IncompleteReadError",
    "anyio.BrokenResourceError",
    "anyio.EndOfStream",
)(unreached("connection_reset"))
# Mistakes in the tool. What one happened during is no excuse, so nobody looks further. A UnicodeError quotes data.
SHIPPED.maps(
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    NameError,
    RecursionError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    SystemError,
    TypeError,
    UnicodeError,
)(broken)
