"""Failures of web clients, from real requests to a server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import urllib3
from operating import classified
from upstream import CLIENTS, HIDDEN, JUDGES, KNOWING, READERS, nobody, served

import failwell as fw
from failwell.formats import FORMATS, to_wire
from failwell.model import Kind

Ask = Callable[..., fw.ToolError]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


def ask(client: str, method: str, url: str, timeout: float = 10) -> fw.ToolError:
    """The failure of one request, classified."""
    with pytest.raises(Exception) as caught:
        CLIENTS[client](method, url, timeout)
    error = classified(caught.value)
    assert error.cause is caught.value
    if hasattr(caught.value, "close"):
        caught.value.close()
    return error


# name: (path, code, the error type of contract 001, effect)
BROKEN: dict[str, tuple[str, str, str, str]] = {
    "read-timeout": ("http://{server}/silent", "TIMEOUT", "timeout", "unknown"),
    "reset": ("http://{server}/reset", "NETWORK_ERROR", "connection_reset", "unknown"),
    "bad-tls": ("https://{server}/missing", "TLS_ERROR", "tls_error", "none"),
    "refused": ("http://{nobody}/", "NETWORK_ERROR", "connection_refused", "none"),
    "dns": ("http://does-not-exist.invalid/", "NETWORK_ERROR", "dns_error", "none"),
}


@pytest.mark.checklist(26, 37, 70, 103, 104, 107)
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("failure", BROKEN)
def test_requests_without_an_answer(address: str, client: str, failure: str) -> None:
    url, code, error_type, effect = BROKEN[failure]
    with nobody() as nowhere:
        url = url.format(server=address, nobody=nowhere)
        error = ask(client, "POST", url, 0.2 if failure == "read-timeout" else 10)
    assert (error.code, error.details, error.effect) == (code, {"errorType": error_type}, effect)
    assert error.type == "TRANSIENT"
    assert to_wire(error, "v1")["code"] == ("TLS_ERROR" if code == "TLS_ERROR" else "NETWORK_ERROR")
    assert to_wire(error, "v1")["retryable"] is (code != "TLS_ERROR" and effect != "unknown")
    # Where the server sends its requests is not the caller's business.
    for name in FORMATS:
        shown = fw.render(error, name)
        assert "127.0.0.1" not in shown
        assert "does-not-exist" not in shown


@pytest.mark.parametrize("client", KNOWING)
@pytest.mark.parametrize("path", ["/silent", "/reset"])
def test_a_read_that_was_lost_says_nothing_about_effects(address: str, client: str, path: str) -> None:
    error = ask(client, "GET", f"http://{address}{path}", 0.2 if path == "/silent" else 10)
    assert error.kind is Kind.TRANSIENT
    assert error.effect is None


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("path", ["/short", "/noise"])
def test_answers_that_make_no_sense(address: str, client: str, path: str) -> None:
    if (client, path) == ("urllib3", "/short"):
        pytest.skip("urllib3 reads the body when it is asked to")
    error = ask(client, "POST", f"http://{address}{path}")
    known = {"connection_reset", "fetch_error"}
    if (client, path) == ("aiohttp", "/noise"):
        # It gives such an answer the status 400.
        assert (error.code, error.http_status) == ("VALIDATION_ERROR", 400)
    else:
        assert (error.code, error.effect) == ("NETWORK_ERROR", "unknown")
        assert error.details["errorType"] in known


# path: (code, type in contract 000, code in contract 001)
STATUSES: dict[str, tuple[str, str, str]] = {
    "/missing": ("NOT_FOUND", "NOT_FOUND", "NOT_FOUND"),
    "/denied": ("UNAUTHORIZED", "PERMISSION", "AUTHENTICATION_ERROR"),
    "/problem": ("VALIDATION_ERROR", "VALIDATION", "CLIENT_ERROR"),
    "/seconds": ("RATE_LIMITED", "TRANSIENT", "RATE_LIMITED"),
    "/date": ("RATE_LIMITED", "TRANSIENT", "RATE_LIMITED"),
    "/down": ("UNAVAILABLE", "TRANSIENT", "SERVER_ERROR"),
    "/crash": ("UPSTREAM_ERROR", "TRANSIENT", "SERVER_ERROR"),
}


@pytest.mark.checklist(29, 31, 33, 34, 66, 67, 68, 72)
@pytest.mark.parametrize("client", JUDGES)
@pytest.mark.parametrize("path", STATUSES)
def test_answers_with_the_status_of_an_error(address: str, client: str, path: str) -> None:
    code, typed, v1 = STATUSES[path]
    error = ask(client, "GET", f"http://{address}{path}")
    assert (error.code, error.type) == (code, typed)
    wire = to_wire(error, "v1")
    assert wire["code"] == v1
    assert wire["details"]["statusCode"] == error.http_status


@pytest.mark.checklist(38)
@pytest.mark.parametrize("client", JUDGES)
def test_the_wait_a_service_asks_for(address: str, client: str) -> None:
    assert ask(client, "GET", f"http://{address}/seconds").retry_after == 7
    until = ask(client, "GET", f"http://{address}/date").retry_after
    assert until is not None
    assert 3000 < until <= 3600
    assert ask(client, "GET", f"http://{address}/down").retry_after is None


@pytest.mark.checklist(105)
@pytest.mark.parametrize("client", READERS)
def test_the_words_of_a_body_that_was_read(address: str, client: str) -> None:
    missing = ask(client, "GET", f"http://{address}/missing")
    assert missing.message == "The upstream service answered 404 Not Found: No such user."
    assert HIDDEN not in fw.render(missing, "canonical")
    assert ask(client, "GET", f"http://{address}/denied").message.endswith(": The token has expired.")
    assert ask(client, "GET", f"http://{address}/crash").message.endswith(": Something broke.")
    problem = ask(client, "POST", f"http://{address}/problem")
    assert problem.message.endswith(": Two fields are wrong.")
    assert [(field.path, field.message) for field in problem.fields] == [(("name",), "too long")]


@pytest.mark.parametrize("client", ["aiohttp", "urllib"])
def test_a_body_that_was_not_read_stays_so(address: str, client: str) -> None:
    assert ask(client, "GET", f"http://{address}/missing").message == "The upstream service answered 404 Not Found."


@pytest.mark.parametrize("client", [*KNOWING, "aiohttp"])
def test_a_crash_in_a_write_may_have_had_an_effect(address: str, client: str) -> None:
    assert ask(client, "POST", f"http://{address}/crash").effect == "unknown"
    assert ask(client, "GET", f"http://{address}/crash").effect is None
    assert ask(client, "POST", f"http://{address}/down").effect is None


@pytest.mark.parametrize("client", [name for name in CLIENTS if name not in ("urllib3", "urllib")])
def test_redirects_without_end(address: str, client: str) -> None:
    error = ask(client, "GET", f"http://{address}/loop")
    assert (error.code, error.message) == ("INTERNAL_ERROR", "A service the tool needs redirects without end.")


def test_a_status_that_retrying_did_not_change(address: str) -> None:
    error = ask("urllib3-retrying", "GET", f"http://{address}/down")
    assert (error.code, error.http_status) == ("UNAVAILABLE", 503)


def test_requests_that_retry(address: str) -> None:
    retrying = requests.adapters.HTTPAdapter(max_retries=urllib3.Retry(1, status_forcelist=[503]))
    with requests.Session() as session:
        session.mount("http://", retrying)
        with pytest.raises(requests.exceptions.RetryError) as caught:
            session.get(f"http://{address}/down", timeout=10)
    assert classified(caught.value).http_status == 503


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("url", ["secret://host/path", "http://[::1/"], ids=["scheme", "host"])
def test_addresses_that_are_none(client: str, url: str) -> None:
    error = ask(client, "GET", url)
    assert error.code == "VALIDATION_ERROR"
    if (client, url) != ("urllib", "http://[::1/"):
        # There it is a ValueError of Python's own.
        assert error.message == "The address is not a URL that can be fetched."


REQUEST = httpx.Request("POST", "https://api.example.com/secret")
POOL: Any = None


def _gone(package: Any, name: str) -> Exception:
    found: Exception = getattr(package, name)("secret")
    return found


# What is hard to bring about, made as the packages make it.
MADE: list[tuple[str, Exception, str, str | None, str | None]] = [
    *(
        (f"{package.__name__}.{name}", _gone(package, name), code, error_type, effect)
        for package in (httpx, httpx2, httpcore, httpcore2)
        for name, code, error_type, effect in [
            ("ConnectTimeout", "TIMEOUT", "timeout", "none"),
            ("PoolTimeout", "TIMEOUT", "timeout", "none"),
            ("WriteTimeout", "TIMEOUT", "timeout", "unknown"),
            ("ConnectError", "NETWORK_ERROR", "fetch_error", "none"),
            ("ReadError", "NETWORK_ERROR", "connection_reset", "unknown"),
            ("WriteError", "NETWORK_ERROR", "connection_reset", "unknown"),
            ("RemoteProtocolError", "NETWORK_ERROR", "fetch_error", "unknown"),
            ("LocalProtocolError", "INTERNAL_ERROR", None, None),
            ("ProxyError", "NETWORK_ERROR", "network", "none"),
            ("UnsupportedProtocol", "VALIDATION_ERROR", None, "none"),
        ]
    ),
    *(
        (f"{package.__name__}.{name}", _gone(package, name), code, error_type, effect)
        for package in (httpx, httpx2)
        for name, code, error_type, effect in [
            ("CloseError", "NETWORK_ERROR", "connection_reset", "unknown"),
            ("DecodingError", "UPSTREAM_ERROR", None, "unknown"),
            ("TransportError", "NETWORK_ERROR", "fetch_error", "unknown"),
            ("StreamError", "INTERNAL_ERROR", None, None),
            ("CookieConflict", "INTERNAL_ERROR", None, None),
        ]
    ),
    ("httpx.ResponseNotRead", httpx.ResponseNotRead(), "INTERNAL_ERROR", None, None),
    *(
        (f"requests.{name}", _gone(requests.exceptions, name), code, error_type, effect)
        for name, code, error_type, effect in [
            ("ConnectTimeout", "TIMEOUT", "timeout", "none"),
            ("ConnectionError", "NETWORK_ERROR", "fetch_error", "unknown"),
            ("ProxyError", "NETWORK_ERROR", "network", "none"),
            ("SSLError", "TLS_ERROR", "tls_error", "none"),
            ("ChunkedEncodingError", "NETWORK_ERROR", "connection_reset", "unknown"),
            ("ContentDecodingError", "UPSTREAM_ERROR", None, "unknown"),
            ("MissingSchema", "VALIDATION_ERROR", None, "none"),
            ("InvalidHeader", "INTERNAL_ERROR", None, None),
            ("InvalidJSONError", "INTERNAL_ERROR", None, None),
            ("StreamConsumedError", "INTERNAL_ERROR", None, None),
        ]
    ),
    (
        "requests.JSONDecodeError",
        requests.exceptions.JSONDecodeError("Expecting value", "secret", 0),
        "UPSTREAM_ERROR",
        None,
        "unknown",
    ),
    ("urllib3.ConnectTimeoutError", urllib3.exceptions.ConnectTimeoutError("secret"), "TIMEOUT", "timeout", "none"),
    (
        "urllib3.EmptyPoolError",
        urllib3.exceptions.EmptyPoolError(POOL, "secret"),
        "NETWORK_ERROR",
        "fetch_error",
        "none",
    ),
    ("urllib3.ProxyError", urllib3.exceptions.ProxyError("secret", OSError()), "NETWORK_ERROR", "network", "none"),
    ("urllib3.DecodeError", urllib3.exceptions.DecodeError("secret"), "UPSTREAM_ERROR", None, "unknown"),
    ("urllib3.InvalidHeader", urllib3.exceptions.InvalidHeader("secret"), "INTERNAL_ERROR", None, None),
    ("urllib3.IncompleteRead", urllib3.exceptions.IncompleteRead(1, 2), "NETWORK_ERROR", "connection_reset", "unknown"),
    ("aiohttp.ConnectionTimeoutError", aiohttp.ConnectionTimeoutError("secret"), "TIMEOUT", "timeout", "none"),
    (
        "aiohttp.ServerDisconnectedError",
        aiohttp.ServerDisconnectedError("secret"),
        "NETWORK_ERROR",
        "connection_reset",
        "unknown",
    ),
    (
        "aiohttp.ClientPayloadError",
        aiohttp.ClientPayloadError("secret"),
        "NETWORK_ERROR",
        "connection_reset",
        "unknown",
    ),
    (
        "aiohttp.ServerFingerprintMismatch",
        aiohttp.ServerFingerprintMismatch(b"a", b"b", "secret", 443),
        "TLS_ERROR",
        "tls_error",
        "none",
    ),
    (
        "aiohttp.ContentTypeError",
        aiohttp.ContentTypeError(POOL, (), status=200, message="secret"),
        "UPSTREAM_ERROR",
        None,
        "unknown",
    ),
    (
        "aiohttp.WSServerHandshakeError",
        aiohttp.WSServerHandshakeError(POOL, (), status=403, message="secret"),
        "FORBIDDEN",
        None,
        # A status, of which nobody knows who sent it.
        None,
    ),
    ("aiohttp.ClientError", aiohttp.ClientError("secret"), "NETWORK_ERROR", "fetch_error", "unknown"),
]


@pytest.mark.parametrize(
    ("exc", "code", "error_type", "effect"), [pytest.param(*rest, id=name) for name, *rest in MADE]
)
def test_made_exceptions(exc: Exception, code: str, error_type: str | None, effect: str | None) -> None:
    error = classified(exc)
    assert (error.code, error.details.get("errorType"), error.effect) == (code, error_type, effect)
    assert "secret" not in fw.render(error, "canonical")


def test_a_body_is_never_fetched() -> None:
    def stream() -> Iterator[bytes]:
        raise AssertionError("read")
        yield b""

    for package in (httpx, httpx2):
        response = package.Response(404, request=package.Request("GET", "https://example.com"), content=stream())
        with pytest.raises(package.HTTPStatusError) as caught:
            response.raise_for_status()
        assert classified(caught.value).message == "The upstream service answered 404 Not Found."


def test_a_request_made_in_place_of_another_speaks_for_itself() -> None:
    refused = httpx.ConnectError("secret")
    refused.__cause__ = ConnectionRefusedError()
    for exc in (httpx.WriteError("secret"), requests.ConnectionError("secret"), httpx.TransportError("secret")):
        exc.__context__ = refused
        assert classified(exc).effect == "unknown"
        assert classified(exc).details["errorType"] != "connection_refused"


def test_a_failed_handshake_after_the_request_was_sent() -> None:
    import ssl

    with pytest.raises(httpx.ReadError) as caught:
        raise httpx.ReadError("secret", request=REQUEST) from ssl.SSLError(1, "certificate required")
    assert (classified(caught.value).code, classified(caught.value).effect) == ("NETWORK_ERROR", "unknown")
