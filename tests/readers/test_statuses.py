"""An HTTP status in a text, in every form in which clients put it there."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.readers import from_text


def error(text: str, **known: Any) -> fw.ToolError:
    found = from_text(text, **{"is_error": True, **known})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("Failed to draw: Request failed with status code 404", "NOT_FOUND", 404),
        ("Client error '404 Not Found' for url 'http://a/429'", "NOT_FOUND", 404),
        ("429 Client Error: Too Many Requests for url: http://a/404", "RATE_LIMITED", 429),
        ("HTTP 429", "RATE_LIMITED", 429),
        ("HTTP/1.1 503 Service Unavailable", "UNAVAILABLE", 503),
        ("request failed (status: 503)", "UNAVAILABLE", 503),
        ("API error (401)", "UNAUTHORIZED", 401),
        ("Some API Error: 403 \nURL: http://a/b\nMessage: Forbidden", "FORBIDDEN", 403),
        ("TransportError(500, '{}')", "UPSTREAM_ERROR", 500),
        ("Failed to get the page: 404", "NOT_FOUND", 404),
        ("The server responded with a 409", "CONFLICT", 409),
        ('API request failed: 401 {"message": "invalid", "status": 401}', "UNAUTHORIZED", 401),
        ('{"status":429,"message":"Slow down"}', "RATE_LIMITED", 429),
        ('{"statusCode":"404","error":"Not Found","message":"x"}', "NOT_FOUND", 404),
        ('{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}', "NOT_FOUND", 404),
        ('[GET /pages/{id}][403] getPageForbidden {"message":"x"}', "FORBIDDEN", 403),
        ("google.api_core.exceptions.Aborted: 409 The transaction has expired. Please retry it.", "CONFLICT", 409),
        ("Room 404 does not exist", "NOT_FOUND", None),
        ("404 items were not found", "NOT_FOUND", None),
        ("Received exception, code: 516, authentication failed", "UNAUTHORIZED", None),
    ],
)
def test_statuses(text: str, code: str, status: int | None) -> None:
    found = error(text)
    assert (found.code, found.http_status) == (code, status)
