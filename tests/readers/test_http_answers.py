"""HTTP answers, by status, headers and body alone."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.readers import classify, from_http
from failwell.readers.http import STATUSES, code_for
from failwell.readers.waits import retry_after


def typed(status: int, *rest: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fw.render(from_http(status, *rest, **more), "typed"))
    return found


def v1(status: int, *rest: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = to_wire(from_http(status, *rest, **more), "v1")
    return found


@pytest.mark.parametrize(
    ("status", "type"),
    [
        pytest.param(400, "VALIDATION", marks=pytest.mark.checklist(29)),
        pytest.param(422, "VALIDATION", marks=pytest.mark.checklist(29)),
        pytest.param(403, "PERMISSION", marks=pytest.mark.checklist(30)),
        pytest.param(404, "NOT_FOUND", marks=pytest.mark.checklist(31)),
        pytest.param(409, "CONFLICT", marks=pytest.mark.checklist(32)),
        pytest.param(429, "TRANSIENT", marks=pytest.mark.checklist(33)),
        (401, "PERMISSION"),
        (408, "TRANSIENT"),
    ],
)
def test_types_of_contract_000(status: int, type: str) -> None:
    assert typed(status)["type"] == type
    assert typed(status)["recoverable"] is (type == "TRANSIENT")


@pytest.mark.checklist(34)
def test_every_failure_of_a_server_is_transient() -> None:
    assert {typed(status)["type"] for status in range(500, 600)} == {"TRANSIENT"}


@pytest.mark.checklist(35)
def test_the_other_statuses_are_validation_or_internal_and_can_be_changed() -> None:
    others = [status for status in range(400, 500) if status not in STATUSES]
    assert {typed(status)["type"] for status in others} == {"VALIDATION"}
    assert typed(411)["type"] == "INTERNAL"
    mine = {**STATUSES, 418: "INTERNAL_ERROR", 411: "VALIDATION_ERROR"}
    assert typed(418, statuses=mine)["type"] == "INTERNAL"
    assert typed(411, statuses=mine)["type"] == "VALIDATION"
    assert code_for(418, mine) == "INTERNAL_ERROR"


def test_a_table_of_your_own_says_what_too_many_requests_are() -> None:
    mine = {403: "x_forbidden", 429: "x_rate_limited"}
    assert from_http(403, {"x-ratelimit-remaining": "0"}, statuses=mine).code == "x_rate_limited"
    assert from_http(403, {"x-ratelimit-remaining": "0"}, statuses={403: "x_forbidden"}).code == "RATE_LIMITED"


def test_the_service_can_have_a_name() -> None:
    assert from_http(403, service="X").message == "X answered 403 Forbidden."
    assert from_http(403, body="not yours", service="X").message == "X answered 403 Forbidden: not yours"


@pytest.mark.checklist(66)
def test_v1_calls_every_5xx_a_server_error() -> None:
    found = [v1(status) for status in range(500, 600)]
    assert {(wire["code"], wire["retryable"]) for wire in found} == {("SERVER_ERROR", True)}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        pytest.param(401, "AUTHENTICATION_ERROR", False, marks=pytest.mark.checklist(67)),
        pytest.param(403, "AUTHENTICATION_ERROR", False, marks=pytest.mark.checklist(67)),
        pytest.param(404, "NOT_FOUND", False, marks=pytest.mark.checklist(68)),
        (408, "NETWORK_ERROR", True),
        (429, "RATE_LIMITED", True),
    ],
)
def test_codes_of_contract_001(status: int, code: str, retryable: bool) -> None:
    assert (v1(status)["code"], v1(status)["retryable"]) == (code, retryable)


@pytest.mark.checklist(69)
def test_v1_calls_the_rest_of_4xx_a_client_error() -> None:
    others = [400, 409, 412, 415, 422, *(status for status in range(400, 500) if status not in STATUSES)]
    assert {(v1(status)["code"], v1(status)["retryable"]) for status in others} == {("CLIENT_ERROR", False)}


@pytest.mark.checklist(72, 73)
def test_v1_says_what_is_known_and_nothing_else() -> None:
    assert v1(404)["details"] == {"statusCode": 404}
    assert v1(429, {"Retry-After": "7"})["details"] == {"statusCode": 429, "retryAfter": 7}
    assert "details" not in to_wire(classify(FileNotFoundError()), "v1")


# headers: seconds
WAITS: list[tuple[dict[str, str], float | None]] = [
    ({}, None),
    ({"Retry-After": "7"}, 7),
    ({"retry-after": " 1.5 "}, 1.5),
    ({"Retry-After": "0"}, None),
    ({"Retry-After": "-3"}, None),
    ({"Retry-After": "soon"}, None),
    ({"Retry-After": "nan"}, None),
    ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
    ({"Retry-After": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
    ({"retry-after-ms": "250"}, 0.25),
    ({"RateLimit-Reset": "30"}, 30),
    ({"X-RateLimit-Reset-After": "2.5"}, 2.5),
    ({"x-ratelimit-reset-requests": "1m30s"}, 90),
    ({"x-ratelimit-reset-tokens": "250ms"}, 0.25),
    ({"RateLimit": "limit=10, remaining=0, reset=30"}, 30),
    ({"RateLimit": '"default";r=0;t=15'}, 15),
    ({"Retry-After": "7", "RateLimit-Reset": "30"}, 7),
    ({"Retry-After": "soon", "RateLimit-Reset": "30"}, 30),
]


@pytest.mark.checklist(38)
@pytest.mark.parametrize(("headers", "seconds"), WAITS, ids=[str(headers) for headers, _ in WAITS])
def test_waits(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
    assert typed(429, headers).get("data", {}).get("retry_after") == (
        seconds if seconds is None else pytest.approx(seconds, abs=1)
    )


@pytest.mark.checklist(38)
@pytest.mark.parametrize("name", ["Retry-After", "X-RateLimit-Reset"])
def test_waits_until_a_moment(name: str) -> None:
    moment = time.time() + 3600
    written = formatdate(moment, usegmt=True) if name == "Retry-After" else str(int(moment))
    found = retry_after({name: written})
    assert found is not None
    assert 3000 < found <= 3600


def test_waits_are_for_what_passes() -> None:
    assert from_http(404, {"Retry-After": "7"}).retry_after is None


def test_a_refusal_that_is_a_rate_limit() -> None:
    assert from_http(403, {"X-RateLimit-Remaining": "0", "Retry-After": "60"}).code == "RATE_LIMITED"
    assert from_http(403, {"X-RateLimit-Remaining": "5"}).code == "FORBIDDEN"


# body: what is said
BODIES: list[tuple[Any, str]] = [
    (b'{"message": "no such user"}', "no such user"),
    (b'{"error": "no such user"}', "no such user"),
    (b'{"error": {"message": "no such user", "code": 5}}', "no such user"),
    (b'{"message": "first", "error": "second"}', "first"),
    (b'{"message": 5, "error": "second"}', "second"),
    (b'{"errors": [{"detail": "third"}]}', "third"),
    (b"plain words", "plain words"),
    ("text", "text"),
    (b"  many\n\n  lines ", "many lines"),
    (b"<html>secret</html>", ""),
    (b'{"message": 5}', ""),
    (b'{"message": null}', ""),
    (b"[]", ""),
    (b"", ""),
    (None, ""),
    (b"[" * 100_000, "[" * 299 + "…"),
    (b"\xff\xfe", "\ufffd\ufffd"),
    ("x" * 1000, "x" * 299 + "…"),
]


@pytest.mark.checklist(105, 106)
@pytest.mark.parametrize(("body", "said"), BODIES, ids=[repr(body)[:40] for body, _ in BODIES])
def test_bodies(body: Any, said: str) -> None:
    error = from_http(404, None, body)
    start = "The upstream service answered 404 Not Found"
    assert error.message == (f"{start}: {said}" if said else f"{start}.")
    assert isinstance(to_wire(error, "v1")["message"], str)


def test_problems() -> None:
    body = {
        "title": "Invalid",
        "detail": "Two are wrong.",
        "traceId": "secret",
        "errors": [{"detail": "long", "pointer": "#/a"}],
    }
    for more in ({}, {"type": "https://example.com/invalid"}, {"status": 422}):
        error = from_http(
            422, {"Content-Type": "application/problem+json; charset=utf-8"}, json.dumps({**more, **body})
        )
        assert error.message == "The upstream service answered 422 Unprocessable Entity: Two are wrong."
        assert [field.path for field in error.fields] == [("a",)]
        assert "secret" not in fw.render(error, "canonical")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b'{"detail": 5}', b"[" * 100_000], ids=range(6))
def test_problems_that_are_none(body: bytes) -> None:
    assert from_http(422, {"content-type": "application/problem+json"}, body).code == "VALIDATION_ERROR"


class Unreadable:
    def items(self) -> Any:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "headers", [Unreadable(), 5, [1, 2], [("a",)], {b"retry-after": b"7", 5: None}, object()], ids=range(6)
)
def test_headers_that_cannot_be_read(headers: Any) -> None:
    assert from_http(429, headers).code == "RATE_LIMITED"


@pytest.mark.parametrize(
    ("status", "method", "effect"),
    [
        (500, "POST", "unknown"),
        (502, "delete", "unknown"),
        (504, "POST", "unknown"),
        (520, "POST", "unknown"),
        (500, "GET", None),
        (500, "head", None),
        (500, None, None),
        (503, "POST", None),
        (501, "POST", None),
        (429, "POST", None),
        (404, "POST", None),
        (422, "POST", None),
    ],
)
def test_effects(status: int, method: str | None, effect: str | None) -> None:
    """A status never says that nothing was done: a gateway sends it after the upstream took the request."""
    error = from_http(status, method=method)
    assert (error.effect, error.standing) == (effect, "quoted")


class Response:
    headers = {"Retry-After": "7"}  # noqa: RUF012
    status_code = 429


class WithStatus(Exception):
    status_code = 404


class WithResponse(Exception):
    response = Response()


@pytest.mark.checklist(31, 33)
def test_exceptions_nobody_knows_that_say_a_status() -> None:
    assert classify(WithStatus("secret")).message == "The upstream service answered 404 Not Found."
    error = classify(WithResponse("secret"))
    assert (error.code, error.retry_after) == ("RATE_LIMITED", 7)


@pytest.mark.parametrize("status", [200, 399, 600, "404", True, 404.0, None], ids=repr)
def test_statuses_that_are_none(status: Any) -> None:
    class Odd(Exception):
        status_code = status

    assert classify(Odd("secret")).code == "INTERNAL_ERROR"
