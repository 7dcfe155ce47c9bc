"""An HTTP answer that is an error, whoever received it: status, headers and body to one ToolError."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from failwell.formats import parse
from failwell.model import Effect, Kind, ToolError, positive, text
from failwell.redact import cited

from .exceptions.chain import attribute

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# The failures of a server that it noticed before it began.
_TURNED_DOWN: Final = frozenset({501, 503, 505, 511})
_LONGEST_BODY: Final = 64_000
_LONGEST_MESSAGE: Final = 300

STATUSES: Final[Mapping[int, str]] = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHORIZED",
    402: "FORBIDDEN",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "UNSUPPORTED",
    407: "UNAUTHORIZED",
    408: "TIMEOUT",
    409: "CONFLICT",
    410: "NOT_FOUND",
    411: "INTERNAL_ERROR",
    412: "CONFLICT",
    415: "UNSUPPORTED",
    417: "INTERNAL_ERROR",
    421: "INTERNAL_ERROR",
    422: "VALIDATION_ERROR",
    423: "CONFLICT",
    425: "UNAVAILABLE",
    426: "INTERNAL_ERROR",
    428: "CONFLICT",
    # A proxy's word that nobody waited for the answer any more.
    499: "TIMEOUT",
    429: "RATE_LIMITED",
    431: "INTERNAL_ERROR",
    451: "POLICY_DENIED",
    503: "UNAVAILABLE",
}
"""The code for a status; other 4xx are VALIDATION_ERROR, other 5xx UPSTREAM_ERROR."""


def code_for(status: int, statuses: Mapping[int, str] = STATUSES) -> str:
    """The code for an HTTP status.

    >>> code_for(429), code_for(418), code_for(599)
    ('RATE_LIMITED', 'VALIDATION_ERROR', 'UPSTREAM_ERROR')
    """
    return statuses.get(status) or ("UPSTREAM_ERROR" if status >= 500 else "VALIDATION_ERROR")


def from_http(
    status: int,
    headers: object = None,
    body: object = None,
    *,
    method: str | None = None,
    statuses: Mapping[int, str] = STATUSES,
    service: str = "The upstream service",
) -> ToolError:
    """What an upstream's answer means for the caller of the tool.

    `headers` is a mapping or pairs, `body` the bytes or the text, `method` the request's, `service` who answered.

    >>> error = from_http(429, {"Retry-After": "7"}, b'{"message": "slow down"}')
    >>> error.code, error.message, error.retry_after
    ('RATE_LIMITED', 'The upstream service answered 429 Too Many Requests. It said: "slow down"', 7)
    """
    fields = _lower(headers)
    code = code_for(status, statuses)
    if status == 403 and fields.get("x-ratelimit-remaining") == "0":
        # What some large services answer instead of 429.
        code = statuses.get(429, "RATE_LIMITED")
    content = _decoded(body)
    more = _problem(content) if "problem+json" in fields.get("content-type", "") else {}
    said = more.pop("message", None) or body_message(content)
    answer = f"{service} answered {status}{_phrase(status)}."
    # Quoted: what a service answered to one request proves nothing about the rest of what the tool did.
    words = f"{answer} {cited(said)}" if said else answer
    error = ToolError(words, code=code, http_status=status, standing="quoted", **more)
    # A conflict that names a time is one that passes.
    if error.kind in (Kind.TRANSIENT, Kind.CONFLICT) and (delay := retry_after(fields)) is not None:
        error.retry_after = delay
    if status >= 500 and status not in _TURNED_DOWN and method is not None and method.upper() not in SAFE_METHODS:
        # It broke, or was cut off, somewhere in the middle of a write.
        error = error.replace(effect=Effect.UNKNOWN)
    return error


def from_response(status: int, response: object, *, method: object = None) -> ToolError:
    """`from_http` for the response object of any client. Its body is used only if it has been loaded: reading it here
    could block."""
    method = method or attribute(attribute(response, "request"), "method")
    return from_http(
        status,
        attribute(response, "headers"),
        loaded(response),
        method=method if type(method) is str else None,
    )


def loaded(response: object) -> bytes | None:
    """The body of a response, if it has been read."""
    # Where both requests and httpx keep what they have read; their properties would read, or raise.
    held = attribute(response, "__dict__")
    body = held.get("_content") if type(held) is dict else None
    return body if type(body) is bytes else None


def body_message(body: object) -> str:
    """What the body of an error says in words: `message`, else `error`, else the text itself; never HTML.

    >>> body_message('{"error": {"message": "no such user"}}')
    'no such user'
    """
    content = _decoded(body).strip()
    if not content or content.startswith("<"):
        return ""
    try:
        found = _words(json.loads(content))
    except (ValueError, RecursionError):
        found = content
    found = " ".join(found.split())
    return found if len(found) <= _LONGEST_MESSAGE else found[: _LONGEST_MESSAGE - 1] + "…"


_WORDS: Final = ("message", "error", "detail", "error_description", "title", "errors", "error_message", "reason")


def _words(value: object, depth: int = 0) -> str:
    if isinstance(value, str):
        return text(value)
    if depth < 4:
        if isinstance(value, Mapping):
            return next((said for name in _WORDS if (said := _words(value.get(name), depth + 1))), "")
        if isinstance(value, list):
            return next((said for item in value[:5] if (said := _words(item, depth + 1))), "")
    return ""


def retry_after(headers: object) -> float | int | None:
    """The seconds to wait by `Retry-After` (a number or a date), else by the rate limit headers in use.

    >>> retry_after({"Retry-After": "1.5"}), retry_after({"RateLimit": "limit=10, remaining=0, reset=30"})
    (1.5, 30)
    """
    fields = _lower(headers)
    if (ms := positive(fields.get("retry-after-ms"))) is not None:
        return positive(ms / 1000)
    if (given := fields.get("retry-after")) is not None and (delay := _delay(given)) is not None:
        return delay
    for name in _RESETS:
        if (given := fields.get(name)) is not None and (delay := _delay(given)) is not None:
            return delay
    # The draft's structured fields: `limit=10, remaining=0, reset=30`, and `"default";r=0;t=30`.
    found = re.search(r"(?:^|[;,\s])(?:reset|t)=(\d{1,9})(?=$|[;,\s])", fields.get("ratelimit", "")[:500])
    return positive(found[1]) if found else None


_RESETS: Final = (
    "ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
)
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
# Above this a number is a moment, not a wait: nobody says "come back in thirty years".
EPOCH: Final = 1_000_000_000


def _delay(given: str) -> float | int | None:
    given = given.strip()[:100]
    number = positive(given)
    if number is not None:
        if number > EPOCH * 1000:
            number /= 1000
        return number if number < EPOCH else positive(round(number - time.time(), 3))
    if re.fullmatch(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+", given):
        return positive(sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)(ms|[smhd])", given)))
    from email.utils import parsedate_to_datetime  # rarely needed, and as heavy as all the rest

    try:
        # Whole seconds, rounded up: one too early is one refusal more.
        return positive(-int((time.time() - parsedate_to_datetime(given).timestamp()) // 1))
    except (ValueError, TypeError, OverflowError):
        return None


def _problem(content: str) -> dict[str, Any]:
    """The parts of a problem+json body that help the caller. Its type and status say nothing new, and what else is in
    it (identifiers, traces) was meant for the tool."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    # A problem without a type is one of this type, says the RFC.
    problem = parse({"type": "about:blank", **data}, format="problem") if isinstance(data, dict) else None
    if not isinstance(problem, ToolError):
        return {}
    # What it has the tool do is no word of ours to the caller.
    advice = [each for each in (problem.suggestion, *problem.next_steps) if each]
    message = " ".join([problem.message, *advice]) if problem.message else ""
    found = {"message": message, "fields": problem.fields}
    return {name: value for name, value in found.items() if value}


def _phrase(status: int) -> str:
    from http import HTTPStatus

    try:
        return " " + HTTPStatus(status).phrase
    except ValueError:
        return ""


def _lower(headers: object) -> dict[str, str]:
    """Header names in lower case; of a repeated header the first."""
    found: dict[str, str] = {}
    items: Iterable[Any]
    try:
        items = headers.items() if hasattr(headers, "items") else headers or ()  # type: ignore[assignment]
        for name, value in items:
            found.setdefault(_decoded(name).lower(), _decoded(value))
    except Exception:
        # A header bag that cannot be read is as good as none.
        return found
    return found


def _decoded(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value[:_LONGEST_BODY]).decode("utf-8", "replace")
    return text(value)[:_LONGEST_BODY] if value is not None else ""
