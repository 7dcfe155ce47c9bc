"""Rows for clients of the web: httpx and httpx2, requests, urllib3, aiohttp and urllib.

They say the same in many ways: a refused connection is a ConnectionRefusedError inside a NewConnectionError inside a
MaxRetryError inside a ConnectionError. So one reader serves them all: the first exception on the way in that says
*what* went wrong gives the meaning, and the first that says *when* gives the effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from failwell.model import Effect, ToolError, text
from failwell.readers.http import SAFE_METHODS, from_response

from .builtin import NETWORK, error_number, insecure, lost, no_address, refused, timed_out, unreachable
from .chain import args, attribute, cause, is_a, members
from .exception_table import SHIPPED, ByName, Row, broken, says

# Clients nest six exceptions at most, so what lies deeper has nothing to do with the request.
_DEEPEST: Final = 12


def names(packages: str, classes: str) -> tuple[str, ...]:
    """The full names of classes that several packages have alike.

    >>> names("httpx httpx2", "ReadError")
    ('httpx.ReadError', 'httpx2.ReadError')
    """
    return tuple(f"{package}.{name}" for package in packages.split() for name in classes.split())


HTTPX: Final = "httpx httpx2 httpcore httpcore2"
REQUESTS: Final = "requests.exceptions"
URLLIB3: Final = "urllib3.exceptions"
AIOHTTP: Final = "aiohttp.client_exceptions"


def garbled() -> ToolError:
    return unreachable("its answer broke off or made no sense", "fetch_error", Effect.UNKNOWN)


def by_proxy() -> ToolError:
    return unreachable("the proxy did not let the request through", "network", Effect.NONE)


def _fetch_failed() -> ToolError:
    return unreachable("the request failed", "fetch_error", Effect.UNKNOWN)


def _not_here() -> None:
    """Says nothing by itself, whatever the class it is derived from says."""


_WHAT: Final[ByName[Callable[[], ToolError | None]]] = ByName(
    {
        name: meaning
        for meaning, known in {
            refused: ("builtins.ConnectionRefusedError",),
            lost: (
                "builtins.ConnectionError",
                "ssl.SSLEOFError",
                "ssl.SSLZeroReturnError",
                *names(HTTPX, "ReadError WriteError"),
                *names("httpx httpx2", "CloseError"),
                *names(URLLIB3, "ProtocolError IncompleteRead"),
                *names(REQUESTS, "ChunkedEncodingError"),
                *names(AIOHTTP, "ServerDisconnectedError ClientPayloadError"),
                "urllib.error.ContentTooShortError",
            ),
            no_address: (
                "socket.gaierror",
                "socket.herror",
                f"{URLLIB3}.NameResolutionError",
                f"{AIOHTTP}.ClientConnectorDNSError",
            ),
            insecure: (
                "ssl.SSLError",
                *names(f"{URLLIB3} {REQUESTS}", "SSLError"),
                *names(AIOHTTP, "ClientSSLError ServerFingerprintMismatch"),
            ),
            timed_out: (
                "builtins.TimeoutError",
                *names(HTTPX, "TimeoutException"),
                *names(URLLIB3, "TimeoutError"),
                *names(REQUESTS, "Timeout"),
            ),
            garbled: (*names(HTTPX, "RemoteProtocolError"), "http.client.HTTPException"),
            by_proxy: names(f"{HTTPX} {URLLIB3} {REQUESTS}", "ProxyError"),
            # A timeout by its class, but only because of its history.
            _not_here: names(URLLIB3, "NewConnectionError"),
        }.items()
        for name in known
    }
)

_WHEN: Final[ByName[Effect]] = ByName(
    {
        # The request had not been sent.
        **dict.fromkeys(
            (
                *names(HTTPX, "ConnectError ConnectTimeout PoolTimeout ProxyError"),
                *names(URLLIB3, "ConnectTimeoutError EmptyPoolError ProxyError"),
                *names(REQUESTS, "ConnectTimeout ProxyError"),
                *names(AIOHTTP, "ClientConnectorError ConnectionTimeoutError"),
            ),
            Effect.NONE,
        ),
        # It had been, or was about to be.
        **dict.fromkeys(
            (
                *names(HTTPX, "ReadError WriteError ReadTimeout WriteTimeout RemoteProtocolError"),
                *names("httpx httpx2", "CloseError"),
                *names(URLLIB3, "ReadTimeoutError ProtocolError"),
                *names(AIOHTTP, "ServerDisconnectedError SocketTimeoutError ClientPayloadError"),
            ),
            Effect.UNKNOWN,
        ),
    }
)


def _inward(exc: BaseException) -> Iterator[BaseException]:
    """`exc` and what it was made from, which each client keeps in another place.

    Not what it was raised while handling: that may be another request, which this one was to make up for.
    """
    waiting = [exc]
    for _ in range(_DEEPEST):
        if not waiting:
            return
        each = waiting.pop()
        yield each
        held = (attribute(each, "os_error"), attribute(each, "reason"), *args(each)[:4], *members(each), cause(each))
        waiting += (inner for inner in reversed(held) if is_a(inner, BaseException))


def _what(exc: BaseException) -> ToolError | None:
    make = _WHAT.of(exc)
    if make is None and is_a(exc, OSError):
        make = NETWORK.get(error_number(exc))
    return make() if make is not None else None


def transport(exc: BaseException, otherwise: Callable[[], ToolError] = _fetch_failed) -> ToolError:
    """A request without an answer."""
    error = effect = None
    for each in _inward(exc):
        effect = effect or _WHEN.of(each)
        error = _what(each)
        if error is not None:
            break
    error = error or otherwise()
    effect = effect or error.effect
    method = attribute(attribute(exc, "request"), "method")
    if effect is Effect.UNKNOWN and type(method) is str and method.upper() in SAFE_METHODS:
        # This request changed nothing, but the tool may have made others before it.
        effect = None
    error.effect = effect
    return error


_GAVE_UP: Final = ByName({f"{URLLIB3}.ResponseError": True})


def _retried(exc: BaseException) -> ToolError | None:
    """A client that tried several times keeps the last failure, or a text with the status it got each time."""
    for each in _inward(exc):
        if _GAVE_UP.of(each):
            words = " ".join(map(text, args(each)[:1])).split()
            status = next((int(word) for word in words if word.isdecimal()), 0)
            return from_response(status, None) if 400 <= status < 600 else _endless(exc)
    return transport(exc)


def answered(exc: Any) -> ToolError | None:
    """An answer with the status of an error."""
    response = attribute(exc, "response")
    status = attribute(response, "status_code")
    return from_response(status, response) if type(status) is int else None


def _aiohttp_answered(exc: Any) -> ToolError | None:
    status = attribute(exc, "status")
    if type(status) is not int or status < 400:
        return None
    return from_response(status, exc, method=attribute(attribute(exc, "request_info"), "method"))


def _urllib_answered(exc: Any) -> ToolError | None:
    status = attribute(exc, "code")
    return from_response(status, exc) if type(status) is int else None


def _urllib(exc: Any) -> ToolError | None:
    reason = attribute(exc, "reason")
    words = reason if type(reason) is str else ""
    return _bad_url(exc) if words.startswith(("unknown url type", "no host given")) else transport(exc)


_endless: Final = says("INTERNAL_ERROR", "A service the tool needs redirects without end.")
_bad_url: Final = says("VALIDATION_ERROR", "The address is not a URL that can be fetched.")
_unreadable: Final = says("UPSTREAM_ERROR", "The answer of a service the tool needs cannot be read.", Effect.UNKNOWN)

_ROWS: Final[dict[Row, tuple[str, ...]]] = {
    transport: (
        *names("httpx httpx2", "HTTPError"),
        *names("httpcore httpcore2", "NetworkError TimeoutException ProtocolError ProxyError"),
        *names(URLLIB3, "HTTPError"),
        *names(REQUESTS, "RequestException"),
        *names(AIOHTTP, "ClientError"),
        "urllib.error.ContentTooShortError",
        "http.client.HTTPException",
    ),
    _urllib: ("urllib.error.URLError",),
    answered: (*names("httpx httpx2", "HTTPStatusError"), *names(REQUESTS, "HTTPError")),
    _aiohttp_answered: names(AIOHTTP, "ClientResponseError"),
    _urllib_answered: ("urllib.error.HTTPError",),
    _retried: (*names(URLLIB3, "MaxRetryError ResponseError"), *names(REQUESTS, "RetryError")),
    _endless: names(f"httpx httpx2 {REQUESTS} {AIOHTTP}", "TooManyRedirects"),
    _bad_url: (
        *names(HTTPX, "UnsupportedProtocol"),
        *names("httpx httpx2", "InvalidURL"),
        *names(URLLIB3, "LocationValueError"),
        *names(REQUESTS, "InvalidURL MissingSchema InvalidSchema"),
        *names(AIOHTTP, "InvalidURL NonHttpUrlClientError"),
        "http.client.InvalidURL",
    ),
    _unreadable: (
        *names("httpx httpx2", "DecodingError"),
        *names("httpx2", "SSEError"),
        *names(URLLIB3, "DecodeError"),
        *names(REQUESTS, "ContentDecodingError JSONDecodeError"),
        *names(AIOHTTP, "ContentTypeError"),
    ),
    # Mistakes of the tool: the request could not be made, or its answer was used in a way it cannot be.
    broken: (
        *names(HTTPX, "LocalProtocolError"),
        *names("httpx httpx2", "StreamError CookieConflict"),
        *names(
            URLLIB3,
            "InvalidHeader ProxySchemeUnknown ProxySchemeUnsupported UnrewindableBodyError TimeoutStateError "
            "ClosedPoolError HostChangedError BodyNotHttplibCompatible HTTPWarning",
        ),
        *names(
            REQUESTS,
            "InvalidHeader InvalidProxyURL InvalidJSONError StreamConsumedError UnrewindableBodyError URLRequired",
        ),
        "http.client.ImproperConnectionState",
    ),
}
SHIPPED.add({name: row for row, known in _ROWS.items() for name in known})
