"""Rows for what Python itself raises: errors of the system, of time, of the network, and of the programmer.

Modules that take time to import are named, not imported: who raises from them has them.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any, Final

from failwell.model import Effect, ToolError
from failwell.redact import cited

from .callers_text import position_of
from .chain import args, attribute, class_name, is_a, said
from .exception_table import SHIPPED, broken
from .refusal import is_local_word


def timed_out(effect: Effect | None = Effect.UNKNOWN) -> ToolError:
    return ToolError("The operation took too long.", code="TIMEOUT", effect=effect, details={"errorType": "timeout"})


def unreachable(what: str, error_type: str, effect: Effect | None) -> ToolError:
    """A service behind the tool that could not be spoken to. Which one is nobody's business but the operator's."""
    return ToolError(
        f"A service the tool needs cannot be reached: {what}.",
        code="NETWORK_ERROR",
        effect=effect,
        details={"errorType": error_type},
    )


def refused() -> ToolError:
    return unreachable("the connection was refused", "connection_refused", Effect.NONE)


def lost(effect: Effect | None = Effect.UNKNOWN) -> ToolError:
    return unreachable("the connection broke", "connection_reset", effect)


def no_address() -> ToolError:
    return unreachable("its name cannot be resolved", "dns_error", Effect.NONE)


def no_route() -> ToolError:
    return unreachable("there is no way to it", "network", Effect.NONE)


def insecure(effect: Effect | None = Effect.NONE) -> ToolError:
    return ToolError(
        "The connection to a service the tool needs could not be secured.",
        code="TLS_ERROR",
        effect=effect,
        details={"errorType": "tls_error"},
    )


_ERRNO: Final[dict[int, tuple[str, str]]] = {
    errno.ENOENT: ("NOT_FOUND", "The file or directory does not exist."),
    errno.EEXIST: ("CONFLICT", "The file or directory exists already."),
    errno.ENOTEMPTY: ("CONFLICT", "The directory is not empty."),
    errno.ETXTBSY: ("CONFLICT", "The file is in use."),
    errno.EBUSY: ("CONFLICT", "The file or device is in use."),
    errno.EISDIR: ("VALIDATION_ERROR", "That is a directory, not a file."),
    errno.ENOTDIR: ("VALIDATION_ERROR", "That is not a directory."),
    errno.ENAMETOOLONG: ("VALIDATION_ERROR", "The name is too long."),
    errno.ELOOP: ("VALIDATION_ERROR", "The path leads round in a circle."),
    errno.EACCES: ("FORBIDDEN", "The tool may not do this."),
    errno.EPERM: ("FORBIDDEN", "The tool may not do this."),
    errno.EROFS: ("FORBIDDEN", "The file system can only be read."),
    errno.EAGAIN: ("UNAVAILABLE", "The resource is busy."),
    errno.EINTR: ("UNAVAILABLE", "The operation was interrupted."),
    errno.EMFILE: ("SERVER_BUSY", "The server has too many files open."),
    errno.ENFILE: ("SERVER_BUSY", "The server has too many files open."),
    errno.ENOMEM: ("SERVER_BUSY", "The server has no memory left."),
    errno.ENOSPC: ("IO_ERROR", "The server has no disk space left."),
    errno.EDQUOT: ("IO_ERROR", "The server has used up its disk quota."),
    errno.ENOTSUP: ("UNSUPPORTED", "The system cannot do this."),
    errno.ENOSYS: ("UNSUPPORTED", "The system cannot do this."),
}
NETWORK: Final[dict[int, Callable[[], ToolError]]] = {
    errno.ECONNREFUSED: refused,
    errno.ECONNRESET: lost,
    errno.ECONNABORTED: lost,
    errno.EPIPE: lost,
    errno.ENETUNREACH: no_route,
    errno.EHOSTUNREACH: no_route,
    errno.ENETDOWN: no_route,
    errno.EHOSTDOWN: no_route,
    errno.ETIMEDOUT: timed_out,
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


@SHIPPED.maps(OSError)
def system(exc: OSError) -> ToolError:
    number = error_number(exc)
    if number not in _ERRNO and number not in NETWORK:
        number = next((code for kind, code in _BY_CLASS if is_a(exc, kind)), 0)
    if number in NETWORK:
        return NETWORK[number]()
    code, message = _ERRNO.get(number, ("IO_ERROR", "The tool could not read or write what it needs."))
    return ToolError(_told(exc, message, _worded(exc)), code=code)


def _worded(exc: OSError) -> str:
    """What an author says with an exception of the system's: that has a number, and speaks of files."""
    given = args(exc)
    if len(given) != 1 or type(given[0]) is not str or not is_a(exc, *_WORDED):
        return ""
    return said(exc) if " " in given[0].strip() else ""


_WORDED: Final = (PermissionError, FileExistsError, FileNotFoundError)


def error_number(exc: BaseException) -> int:
    """The system's number for what went wrong; 0 if it has none."""
    number = attribute(exc, "errno")
    return number if type(number) is int else 0


@SHIPPED.maps(TimeoutError, "subprocess.TimeoutExpired")
def timeout(exc: BaseException) -> ToolError:
    return timed_out()


@SHIPPED.maps("socket.gaierror", "socket.herror")
def name_lookup(exc: OSError) -> ToolError:
    return no_address()


@SHIPPED.maps("ssl.SSLError")
def tls(exc: OSError) -> ToolError:
    return insecure()


@SHIPPED.maps(
    "ssl.SSLEOFError",
    "ssl.SSLZeroReturnError",
    "asyncio.exceptions.IncompleteReadError",
    "anyio.BrokenResourceError",
    "anyio.EndOfStream",
)
def ended(exc: BaseException) -> ToolError:
    return lost()


@SHIPPED.maps(ValueError)
def rejected(exc: ValueError) -> ToolError:
    """The one exception whose text is always told: it speaks of a value."""
    return ToolError(_told(exc, "An argument was rejected.", said(exc)), code="VALIDATION_ERROR")


def _told(exc: BaseException, message: str, words: str) -> str:
    """An author's words as they are, anybody else's as a citation."""
    if words.strip() and is_local_word(exc):
        return words
    return " ".join(filter(None, (message, cited(words))))


@SHIPPED.maps(UnicodeError)
def undecodable(exc: ValueError) -> ToolError:
    """A ValueError that no author wrote: it quotes data, and does not say whose."""
    return broken(exc)


@SHIPPED.maps("json.decoder.JSONDecodeError")
def not_json(exc: json.JSONDecodeError) -> ToolError:
    """The same for JSON, but this one only names the place."""
    return broken(exc).replace(message=f"The tool met a text that is not JSON: {position_of(exc)}.")


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


@SHIPPED.maps(
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
)
def mistake(exc: Exception) -> ToolError:
    """A mistake in the tool. What it happened during is no excuse, so nobody looks further."""
    return broken(exc)
