"""Errors that tools build themselves: as they are, but for secrets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

import failwell as fw
from failwell.redact import Guard
from failwell.server import install
from failwell.server.replies import redact_result

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def error(words: str, *more: Any, **fields: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=words), *more], is_error=True, **fields)


def test_without_a_secret_it_is_the_very_same() -> None:
    held = {"why": ["inv_1", 7, None, {"at": 1.5}]}
    result = error("Invoice inv_1 is closed.", structured_content=held)
    assert redact_result(result, Guard()) is result
    assert redact_result(result, Guard().hearing({"password": "corvette-meadow-19"})) is result


def test_what_stands_in_any_part_of_it_is_masked() -> None:
    page = TextResourceContents(uri="file:///log", text=f"token {TOKEN}", mime_type="text/plain")
    result = error(f"no: {TOKEN}", EmbeddedResource(type="resource", resource=page), structured_content={"pin": 48151})
    told = redact_result(result, Guard().hearing({"pin": 48151})).model_dump_json(by_alias=True)
    assert [each for each in (TOKEN, "48151", "file:///log") if each in told] == ["file:///log"]


def test_what_the_guard_of_the_server_knows_is_masked() -> None:
    told = redact_result(
        error("See KD-4711, badge of ann."), Guard.make(patterns=[r"KD-\d{4}"], values=["badge of ann"])
    )
    assert told.content[0].text == "See [redacted], [redacted]."  # type: ignore[union-attr]


def test_a_long_text_stays_whole() -> None:
    told = redact_result(error(f"{'word ' * 4_000}{TOKEN}"), Guard())
    assert told.content[0].text == f"{'word ' * 4_000}[redacted]"  # type: ignore[union-attr]


def answered(tool: Any, **sent: Any) -> Any:
    server = MCPServer("shop")
    server.tool()(tool)

    async def called() -> Any:
        async with Client(install(server)) as client:
            return await client.call_tool(tool.__name__, sent)

    return asyncio.run(called())


@pytest.mark.parametrize("has_marks", [False, True], ids=["plain", "marked"])
def test_what_was_sent_for_a_secret_argument_does_not_leave(has_marks: bool) -> None:
    def login(user: str, password: str) -> CallToolResult:
        if has_marks:
            with fw.effects():
                pass
        page = TextResourceContents(uri="file:///log", text=f"tried {password}", mime_type="text/plain")
        return error(f"{user} may not enter with {password}", EmbeddedResource(type="resource", resource=page))

    told = answered(login, user="ann", password="corvette-meadow-19")
    assert "corvette-meadow-19" not in told.model_dump_json()
    assert "ann may not enter with [redacted]" in told.content[0].text
    assert told.content[1].resource.text == "tried [redacted]"
