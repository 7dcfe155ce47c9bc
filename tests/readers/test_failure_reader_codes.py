"""Codes that mean anything: numbers that SDKs give to every failure of a tool, and codes that only one server knows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import MCPError

import failwell as fw
from failwell import read
from failwell.model.tool import Traits

BROAD = [
    (-32602, "Unknown tool: get_curent_time", "not_found", "UNKNOWN_TOOL"),
    (-32602, "Tool query not found", "not_found", "UNKNOWN_TOOL"),
    (-32602, 'invalid tool name: tool with name "query" does not exist', "not_found", "UNKNOWN_TOOL"),
    (-32602, "Permission denied: /etc/shadow", "permission", "FORBIDDEN"),
    (-32602, "Invalid request parameters", "validation", "INVALID_PARAMS"),
    (-32602, "limit must be at most 50", "validation", "INVALID_PARAMS"),
    # It speaks of the arguments, whatever its words sound like.
    (-32602, "Request timed out must be a number", "validation", "INVALID_PARAMS"),
    (-32603, "File not found: a.txt", "not_found", "NOT_FOUND"),
    (-32603, "API rate limit exceeded", "transient", "RATE_LIMITED"),
    (-32603, "connect ECONNREFUSED 127.0.0.1:5432", "transient", "NETWORK_ERROR"),
    (-32603, "Internal error", "internal", "JSONRPC_INTERNAL_ERROR"),
    (-32603, "boom", "internal", "JSONRPC_INTERNAL_ERROR"),
    (-32000, "Service unavailable", "transient", "UNAVAILABLE"),
]


def raised(number: int, message: str) -> Any:
    return MCPError(code=number, message=message)


def answered(number: int, message: str) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": message}}


@pytest.mark.parametrize("came", [raised, answered])
@pytest.mark.parametrize(("number", "message", "kind", "code"), BROAD, ids=[row[1] for row in BROAD])
def test_a_number_that_means_anything_is_read_by_its_words(
    came: Any, number: int, message: str, kind: str, code: str
) -> None:
    error = read(came(number, message))
    assert isinstance(error, fw.ToolError)
    assert (error.kind, error.code, error.origin) == (kind, code, "peer")
    # Words prove nothing: a write is not repeated because of them.
    assert not fw.decide(error, tool=Traits("pay")).repeats


def test_what_is_told_beside_the_number_counts() -> None:
    error = read(MCPError(code=-32603, message="File not found: a.txt", data={"suggestion": "Call list_files."}))
    assert isinstance(error, fw.ToolError)
    assert (error.kind, error.code) == ("internal", "JSONRPC_INTERNAL_ERROR")


@pytest.mark.parametrize(
    ("said", "kind", "code"),
    [
        ({"error": "no such table: nope", "code": "EXECUTION_ERROR"}, "not_found", "EXECUTION_ERROR"),
        ({"error": 'near "from": syntax error', "code": "EXECUTION_ERROR"}, "validation", "EXECUTION_ERROR"),
        ({"error": "UNIQUE constraint failed: tea.name", "code": "EXECUTION_ERROR"}, "conflict", "EXECUTION_ERROR"),
        ({"error": "It is not there.", "code": "SCHEMA_NOT_FOUND"}, "not_found", "SCHEMA_NOT_FOUND"),
        ({"error": {"code": "E42", "message": "Too many requests"}}, "transient", "E42"),
        ({"error": {"code": "E42", "message": "Too many requests", "retryable": False}}, "internal", "E42"),
        ({"error": {"code": "E42", "message": "It did not work."}}, "internal", "E42"),
        # A code that everybody knows says it.
        ({"error": {"code": "NOT_FOUND", "message": "Access denied"}}, "not_found", "NOT_FOUND"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_a_code_that_only_the_server_knows_is_kept_and_its_words_are_read(said: Any, kind: str, code: str) -> None:
    text = json.dumps({"success": False, **said})
    error = read({"content": [{"type": "text", "text": text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    assert (error.kind, error.code) == (kind, code)
    assert not fw.decide(error, tool=Traits("pay")).repeats
