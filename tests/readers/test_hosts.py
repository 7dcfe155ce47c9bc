"""What relays, gateways and hosts say in place of a tool: lost sessions, dead servers, refusals, sizes.

`hosts.jsonl` has the words of some sixty projects, each with the code it stands for. Before they were looked at, the words of
the eight that came last (zed, Roo-Code, LibreChat, mcpproxy-go, bifrost, lasso, crush, Unla) were read with 81 % of the
kinds right and nothing repeated by mistake.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.model import Kind, Strategy
from failwell.readers import from_text

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "hosts.jsonl").read_text(encoding="utf-8").splitlines()
]


def error(text: str, number: int | None = None) -> fw.ToolError:
    found = from_text(text, is_error=True, number=number)
    assert found is not None
    return found


def test_the_words_of_hosts_are_read_as_what_they_are() -> None:
    assert len(ROWS) >= 400
    wrong = [row for row in ROWS if error(row["text"], row.get("number")).code != row["code"]]
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['source']}: {row['text'][:40]}")
def test_only_what_passes_is_repeated(row: dict[str, Any]) -> None:
    found = error(row["text"], row.get("number"))
    assert not found.retryable or row["kind"] == "transient"
    # Words prove nothing about what was done.
    assert "effect" not in found._given


@pytest.mark.parametrize("number", [None, -32600, -32602, -32603, -32000, -32001])
def test_a_number_beside_the_words_says_nothing(number: int | None) -> None:
    assert error("upstream error: upstream tool failed: timeout after 10s", number).code == "TIMEOUT"
    assert error("Session not found", number).code == "UNAVAILABLE"
    assert error("MCP server process failed", number).code == "UNAVAILABLE"
    assert error("blocked by policy", number).code == "POLICY_DENIED"
    assert error("Unknown tool: foo", number).code == "UNKNOWN_TOOL"


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["code"] == "POLICY_DENIED"], ids=lambda row: row["text"][:40]
)
def test_whoever_was_refused_asks_and_finds_no_way_around(row: dict[str, Any]) -> None:
    found = error(row["text"], row.get("number"))
    assert (found.kind, found.retryable, found.recoverable) in (
        (Kind.PERMISSION, False, False),
        (Kind.INTERNAL, False, False),
    )
    if found.kind is Kind.PERMISSION:
        assert found.strategy is Strategy.USER_ACTION
    assert fw.decide(found).next in ("ask", "give_up")


def test_an_answer_that_was_too_long_is_not_asked_for_again_as_it_was() -> None:
    found = error("MCP tool response (30000 tokens) exceeds maximum allowed tokens (25000)")
    assert (found.kind, found.retryable, found.effect) == ("internal", False, None)
    assert found.suggestion is not None
    assert "ask for less" in found.suggestion


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # A thing of the tool's own that is called a session.
        ("Session 'morning run' not found", "NOT_FOUND"),
        ("No session found for PID 7", "NOT_FOUND"),
        ("Your session has expired, please log in again", "UNAUTHORIZED"),
        ("HTTP 401: session expired", "UNAUTHORIZED"),
        ("No active session. Call start_session first.", "NOT_FOUND"),
        ("Response timeout must be a positive number", "VALIDATION_ERROR"),
        ("Number of results exceeds maximum of 50", "VALIDATION_ERROR"),
        ("Request exceeded the rate limit", "RATE_LIMITED"),
        ("Request failed with status 429: request body too large", "RATE_LIMITED"),
        # What a program of the user's did.
        ("Process exited with code 1", None),
        ("Command exited with code 1", None),
    ],
)
def test_what_only_sounds_like_it_is_read_as_before(text: str, code: str | None) -> None:
    assert error(text).code == code
