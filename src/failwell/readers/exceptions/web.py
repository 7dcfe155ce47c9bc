"""Rows for clients of the web: httpx and httpx2, requests, urllib3, aiohttp and urllib.

They say the same in many ways: a refused connection is a ConnectionRefusedError inside a NewConnectionError inside a
MaxRetryError inside a ConnectionError. So one reader serves them all: the first exception on the way in that says
*what* went wrong gives the meaning, and the first that says *when* gives the effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from failwell.model import Effect, ToolError, text
from failwell.readers.http import SAFE_METHODS, from_response

from .builtin import NETWORK, error_number, unreachable
from .chain import args, attribute, cause, is_a, members
from .exception_table import SHIPPED, broken, by_name, names, says

# Clients nest six exceptions at most, so what lies deeper has nothing to do with the request.
_DEEPEST: Final = 12

HTTPX: Final = "httpx httpx2 httpcore httpcore2"
REQUESTS: Final = "requests.exceptions"
URLLIB3: Final = "urllib3.exceptions"
AIOHTTP: Final = "aiohttp.client_exceptions"

# What went wrong, by the error types of `unreachable`.
_WHAT: Final[dict[str, str | None]] = {
    "builtins.ConnectionRefusedError": "connection_refused",
    **dict.fromkeys(
        (
            *("builtins.ConnectionError", "ssl.SSLEOFError", "ssl.SSLZeroReturnError"),
            *names(HTTPX, "ReadError WriteError"),
            *names("httpx httpx2", "CloseError"),
            *names(URLLIB3, "ProtocolError IncompleteRead"),
            *names(REQUESTS, "ChunkedEncodingError"),
            *names(AIOHTTP, "ServerDisconnectedError ClientPayloadError"),
            "urllib.error.ContentTooShortError",
        ),
        "connection_reset",
    ),
    **dict.fromkeys(
        (
            *("socket.gaierror", "socket.herror"),
            *names(URLLIB3, "NameResolutionError"),
            *names(AIOHTTP, "ClientConnectorDNSError"),
        ),
        "dns_error",
    ),
    **dict.fromkeys(
        (
            "ssl.SSLError",
            *names(f"{URLLIB3} {REQUESTS}", "SSLError"),
            *names(AIOHTTP, "ClientSSLError ServerFingerprintMismatch"),
        ),
        "tls_error",
    ),
    **dict.fromkeys(
        (
            "builtins.TimeoutError",
            *names(HTTPX, "TimeoutException"),
            *names(URLLIB3, "TimeoutError"),
            *names(REQUESTS, "Timeout"),
        ),
        "timeout",
    ),
    **dict.fromkeys((*names(HTTPX, "RemoteProtocolError"), "http.client.HTTPException"), "fetch_error"),
    **dict.fromkeys(names(f"{HTTPX} {URLLIB3} {REQUESTS}", "ProxyError"), "network"),
    # A timeout by its class, but only because of its history.
    **dict.fromkeys(names(URLLIB3, "NewConnectionError"), None),
}
_WHEN: Final[dict[str, Effect]] = {
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


def transport(exc: BaseException, otherwise: str = "fetch_error") -> ToolError:
    """A request without an answer."""
    what: str | None = None
    effect: Effect | None = None
    for each in _inward(exc):
        effect = effect or by_name(_WHEN, each)
        what = by_name(_WHAT, each) or (NETWORK.get(error_number(each)) if is_a(each, OSError) else None)
        if what is not None:
            break
    error = unreachable(what or otherwise)
    effect = effect or error.effect
    method = attribute(attribute(exc, "request"), "method")
    if effect is Effect.UNKNOWN and type(method) is str and method.upper() in SAFE_METHODS:
        # This request changed nothing, but the tool may have made others before it.
        effect = None
    error.effect = effect
    return error


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


def _urllib(exc: Any) -> ToolError | None:
    reason = attribute(exc, "reason")
    words = reason if type(reason) is str else ""
    return _bad_url(exc) if words.startswith(("unknown url type", "no host given")) else transport(exc)


def _urllib_answered(exc: Any) -> ToolError | None:
    status = attribute(exc, "code")
    return from_response(status, exc) if type(status) is int else None


def _retried(exc: BaseException) -> ToolError | None:
    """A client that tried several times keeps the last failure, or a text with the status it got each time."""
    for each in _inward(exc):
        if by_name({f"{URLLIB3}.ResponseError": True}, each):
            words = " ".join(map(text, args(each)[:1])).split()
            status = next((int(word) for word in words if word.isdecimal()), 0)
            return from_response(status, None) if 400 <= status < 600 else _endless(exc)
    return transport(exc)


_endless: Final = says("INTERNAL_ERROR", "A service the tool needs redirects without end.")
_bad_url: Final = says("VALIDATION_ERROR", "The address is not a URL that can be fetched.")
unreadable: Final = says("UPSTREAM_ERROR", "The answer of a service the tool needs cannot be read.")

SHIPPED.add(
    {
        transport: (
            *names("httpx httpx2", "HTTPError"),
            *names("httpcore httpcore2", "NetworkError TimeoutException ProtocolError ProxyError"),
            *names(URLLIB3, "HTTPError"),
            *names(REQUESTS, "RequestException"),
            *names(AIOHTTP, "ClientError"),
            *("urllib.error.ContentTooShortError", "http.client.HTTPException"),
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
        unreadable: (
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
            *names(URLLIB3, "InvalidHeader ProxySchemeUnknown UnrewindableBodyError ClosedPoolError"),
            *names(REQUESTS, "InvalidHeader InvalidJSONError StreamConsumedError UnrewindableBodyError URLRequired"),
            "http.client.ImproperConnectionState",
        ),
    }
)
