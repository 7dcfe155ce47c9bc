"""An HTTP answer that is an error, whoever received it: status, headers and body to one ToolError."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from failwell.formats import parse
from failwell.model import Effect, Kind, ToolError

from .exceptions.chain import attribute, with_words
from .json_errors import layers_of, message_in
from .waits import decoded, lower_headers, retry_after

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
# The failures of a server that it noticed before it began.
_TURNED_DOWN: Final = frozenset({501, 503, 505, 511})
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
    ('RATE_LIMITED', 'The upstream service answered 429 Too Many Requests: slow down', 7)
    """
    fields = lower_headers(headers)
    code = code_for(status, statuses)
    if status == 403 and fields.get("x-ratelimit-remaining") == "0":
        # What some large services answer instead of 429.
        code = statuses.get(429, "RATE_LIMITED")
    content = decoded(body)
    more = _problem(content) if "problem+json" in fields.get("content-type", "") else {}
    said = more.pop("message", None) or body_message(content)
    answer = f"{service} answered {status}{_phrase(status)}."
    # Quoted: what a service answered to one request proves nothing about the rest of what the tool did.
    error = ToolError(with_words(answer, said or ""), code=code, http_status=status, standing="quoted", **more)
    # A conflict that names a time is one that passes.
    if error.kind in (Kind.TRANSIENT, Kind.CONFLICT) and (delay := retry_after(fields)) is not None:
        error.retry_after = delay
    if status >= 500 and status not in _TURNED_DOWN and method is not None and method.upper() not in SAFE_METHODS:
        # It broke, or was cut off, somewhere in the middle of a write.
        error = error.replace(effect=Effect.UNKNOWN)
    return error


def host_of(exc: object) -> str | None:
    """The host that an exception of an HTTP client is about."""
    request = attribute(exc, "request") or attribute(exc, "request_info") or exc
    try:
        return urlsplit(str(attribute(request, "url") or "")).hostname
    except ValueError:
        return None


def from_response(status: int, response: object, *, method: object = None) -> ToolError:
    """`from_http` for the response object of any client. Its body is used only if it has been loaded: reading it here
    could block."""
    method = method or attribute(attribute(response, "request"), "method") or attribute(response, "method")
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
    content = decoded(body).strip()
    if not content or content.startswith("<"):
        return ""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        data = content
    layers = layers_of(data)
    found = " ".join((data if isinstance(data, str) else message_in(layers) or "" if layers else "").split())
    return found if len(found) <= _LONGEST_MESSAGE else found[: _LONGEST_MESSAGE - 1] + "…"


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
