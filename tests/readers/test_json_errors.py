"""Error objects of APIs in JSON: what they say, and how long they ask to wait."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

import failwell as fw
from failwell import read
from failwell.model import Kind
from failwell.readers import from_text
from failwell.readers.waits import Wait, wait_in

SLOW = "Too many requests"
MOMENT = datetime(2099, 5, 1, 10, tzinfo=UTC)


def as_text(data: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(data))], is_error=True)


def as_structured(data: Any) -> CallToolResult:
    return CallToolResult(content=[], structured_content=data, is_error=True)


def as_both(data: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=SLOW)], structured_content=data, is_error=True)


SIXTEEN = [
    {"success": False, "error": {"message": SLOW, "retry_after": 16}},
    {"success": False, "error": {"code": "RATE_LIMITED", "message": SLOW, "retryAfter": 16}},
    {"success": False, "error": SLOW, "retryAfterMs": 16_000},
    {"success": False, "error": {"message": SLOW}, "retry_after_ms": 16_000},
    {"error": {"message": SLOW, "headers": {"Retry-After": "16"}}},
    {"error": {"code": 429, "message": SLOW}, "response": {"headers": {"retry-after": 16}}},
    {"error": {"code": -32000, "message": SLOW, "data": {"retryAfter": 16}}},
    {"code": "RATE_LIMITED", "message": "slow", "retryAfterSeconds": "16"},
    {"status": 429, "title": "Too Many Requests", "detail": "slow", "retry_after": 16},
    {"error": {"code": "rate_limited", "message": SLOW, "details": [{"retryDelay": "16s"}]}},
    {"ok": False, "error_code": 429, "description": SLOW, "parameters": {"retry_after": 16}},
    {"errors": [{"message": SLOW, "extensions": {"code": "THROTTLED", "retry_after": 16}}]},
]


@pytest.mark.parametrize("sent", [as_text, as_structured, as_both])
@pytest.mark.parametrize("data", SIXTEEN, ids=json.dumps)
def test_a_delay_is_found(data: Any, sent: Any) -> None:
    found = read(sent(data))
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.retryable, found.retry_after) == (Kind.TRANSIENT, True, 16)


@pytest.mark.parametrize("sent", [as_text, as_structured, as_both])
@pytest.mark.parametrize(
    "named",
    [
        {"resetAt": "2099-05-01T10:00:00Z"},
        {"reset_at": 4_081_312_800},
        {"rateLimitReset": 4_081_312_800_000},
        {"retry_after": "2099-05-01T12:00:00+02:00"},
    ],
    ids=json.dumps,
)
def test_a_moment_is_found(named: Any, sent: Any) -> None:
    found = read(sent({"success": False, "error": {"message": SLOW, **named}}))
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.retry_after, found.reset_at) == (Kind.TRANSIENT, None, MOMENT)


def test_a_delay_does_not_make_a_refusal_pass() -> None:
    found = read(as_structured({"success": False, "error": {"message": "User 7 not found", "retry_after": 16}}))
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.retryable, found.retry_after) == (Kind.NOT_FOUND, False, None)


def test_a_protocol_error_says_it_in_its_data() -> None:
    found = read(MCPError(code=-32000, message=SLOW, data={"retryAfterMs": 1500}))
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.retry_after, found.origin) == (Kind.TRANSIENT, 1.5, "peer")


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"retry_after": None, "retryAfter": "soon", "resetAt": [], "headers": "none"},
        {"retry_after": -1, "reset_at": True},
        {"items": [{"retry_after": 5}]},
        {"error": {"error": {"error": {"error": {"error": {"error": {"retry_after": 5}}}}}}},
        {1: {"retry_after": 5}},
    ],
    ids=str,
)
def test_what_says_nothing_about_waiting(data: object) -> None:
    assert wait_in(data) == Wait()


def test_the_error_counts_more_than_its_headers() -> None:
    assert wait_in({"headers": {"Retry-After": "9"}, "error": {"retry_after": 3}}) == Wait(3)


def test_an_object_that_cannot_be_written_says_nothing() -> None:
    loop: dict[str, Any] = {}
    loop["error"] = loop
    found = read({"content": [], "structuredContent": loop, "isError": True})
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.retryable) == (Kind.INTERNAL, False)


def error(text: str) -> fw.ToolError:
    found = from_text(text, is_error=True)
    assert found is not None
    return found


@pytest.mark.parametrize("lead", ["", "Error: ", "MCP error -32602: Invalid arguments for tool get: "])
@pytest.mark.parametrize(
    "dump",
    [
        [{"type": "missing", "loc": ["body", "name"], "msg": "Field required"}],
        [{"code": "invalid_type", "path": ["a", 0], "message": "Invalid input: expected string, received number"}],
        [{"instancePath": "/a", "keyword": "type", "params": {"type": "string"}, "message": "must be string"}],
        {"detail": [{"type": "missing", "loc": ["body", "name"], "msg": "Field required"}]},
    ],
    ids=["pydantic", "zod", "ajv", "fastapi"],
)
def test_what_a_validator_dumps_is_kept_as_it_is(dump: object, lead: str) -> None:
    found = error(lead + json.dumps(dump))
    assert (found.kind, found.fields) == (Kind.VALIDATION, ())
    assert json.dumps(dump) in found.message


def test_the_message_of_an_object() -> None:
    assert error('{"success":false,"error":{"code":"NOT_FOUND","message":"No light."},"id":5}').message == "No light."
    assert error('{"status":403,"errors":{"base":["Access denied"]}}').code == "FORBIDDEN"
    assert error('{"errors":{"message":"gone","code":"NOT_FOUND"}}').code == "NOT_FOUND"


def test_the_words_of_an_object_lose_their_prefixes_too() -> None:
    assert error('{"error":"MCP error -32603: Error: gone"}').message == "gone"
    assert error('{"name":"access_log","error":{"message":"gone"}}').code is None
