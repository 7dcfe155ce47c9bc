"""What a model reads of an installed server about arguments that it can mend: the whole next call."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from typing import Any, Literal

import mcp_types as types
import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer, Server

import failwell as fw
from failwell.client import Recovering
from failwell.server import install

READS = types.ToolAnnotations(read_only_hint=True)
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "status": {"enum": ["planned", "in_progress", "closed"]},
        "phrase": {"type": "string", "format": "password"},
    },
    "required": ["id", "status"],
}


def query(sql: str) -> str:
    base = sqlite3.connect(":memory:")
    base.execute("create table people (name)")
    return str(base.execute(sql).fetchall())


def pick(filter: str) -> str:
    return str(json.loads(filter))


def own() -> str:
    return str(json.loads("{"))


def refund(id: str) -> str:
    raise PermissionError("Refunds need a manager: ask Ann")


def update(id: str, status: Literal["planned", "in_progress", "closed"], password: str = "", body: str = "") -> str:
    return "updated"


def built(framework: Any) -> Any:
    server = framework("office")
    for function in (query, pick, own):
        server.tool(annotations=READS)(function)
    server.tool()(refund)
    server.tool(name="projects.update")(update)
    return server


def client_of(server: Any) -> Any:
    return FastMCPClient(server) if isinstance(server, FastMCP) else Client(server)


async def told(client: Any, tool: str, arguments: dict[str, Any]) -> str:
    more = {"raise_on_error": False} if isinstance(client, FastMCPClient) else {}
    result = await client.call_tool(tool, arguments, **more)
    text: str = result.content[0].text
    return text.removeprefix("Error: ")


STATUS = (
    'status must be one of planned, in_progress, closed. Next: call projects.update with {"id": "p_1", "status": '
    '"<one of planned, in_progress, closed>"'
)
OWN = {
    MCPServer: "[own] The tool met a text that is not JSON: Expecting property name enclosed in double quotes at line 1, "
    "column 2",
    FastMCP: "[own] Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
}
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("projects.update", {"id": "p_1", "status": "done"}, STATUS + "}."),
    (
        "projects.update",
        {"id": "p_1", "status": "done", "password": "correct-horse-1", "body": "x" * 400},
        STATUS + ', "password": "<unchanged>"} and the same body.',
    ),
    (
        "pick",
        {"filter": "{name: 1}"},
        "filter must be JSON (Expecting property name enclosed in double quotes at line 1, column 2). "
        'Next: call pick with {"filter": "<JSON>"}.',
    ),
    # Not what came with the call, so it is no mistake of the caller's.
    (
        "own",
        {},
        "{own}. Next: end the task and report the failure. Do not call it again.",
    ),
    ("refund", {"id": "7"}, "Refunds need a manager: ask Ann"),
]


@pytest.mark.parametrize("framework", [MCPServer, FastMCP])
def test_what_the_caller_can_mend_is_told_with_the_call_that_mends_it(
    framework: Any, caplog: pytest.LogCaptureFixture
) -> None:
    # For this test alone: others look for what the logger writes.
    caplog.set_level(logging.CRITICAL, "failwell.server")

    async def main() -> list[str]:
        async with client_of(install(built(framework))) as client:
            return [await told(client, tool, arguments) for tool, arguments, _ in CALLS]

    assert asyncio.run(main()) == [words.replace("{own}", OWN[framework]) for _, _, words in CALLS]


def test_a_low_level_server_shows_it_too_and_hides_what_its_schema_calls_secret() -> None:
    async def tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="projects.update", input_schema=SCHEMA)])

    async def call(ctx: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text="updated")])

    server = install(Server("office", on_list_tools=tools, on_call_tool=call))

    async def main() -> str:
        async with Client(server) as client:
            return await told(client, "projects.update", {"id": "p_1", "status": "done", "phrase": "open sesame now"})

    assert asyncio.run(main()) == STATUS + ', "phrase": "<unchanged>"}.'


@pytest.mark.parametrize("framework", [MCPServer, FastMCP])
def test_other_peoples_refusals_get_the_next_call_from_their_list(framework: Any) -> None:
    """A server without Failwell: its own words stay, and the call is added."""

    async def main() -> Any:
        async with Recovering(client_of(built(framework))) as agent:
            return await agent.call("projects.update", {"id": "p_1", "status": "done", "password": "correct-horse-1"})

    report = asyncio.run(main())
    step = STATUS.partition(" Next: ")[2] + ', "password": "<unchanged>"}.'
    assert report.result.content[0].text.endswith(f"\n\nNext: {step}")
    told = fw.render(report.error)
    assert "Input should be 'planned', 'in_progress' or 'closed'" in told
    assert told.endswith(f" Next: {step}")


@pytest.mark.parametrize("framework", [MCPServer, FastMCP])
@pytest.mark.parametrize(
    ("sent", "step"),
    [
        ({"dry_run": True}, 'Next: call order with {"item": "tea", "dry_run_mode": true}.'),
        ({"preview": True}, 'Next: call order with {"item": "tea", "dry_run_mode": true}.'),
        ({"dry_run": True, "colour": 7}, 'Next: call order with {"item": "tea", "dry_run_mode": true}, without colour.'),
    ],
)  # fmt: skip
def test_the_next_call_is_no_less_careful_than_what_was_meant(framework: Any, sent: dict[str, Any], step: str) -> None:
    ordered: list[str] = []

    def order(item: str, dry_run_mode: bool = False) -> str:
        ordered.append(item)
        return "ordered"

    server = framework("shop")
    server.tool()(order)
    install(server)

    async def main() -> str:
        async with client_of(server) as client:
            return await told(client, "order", {"item": "tea", **sent})

    text = asyncio.run(main())
    assert ordered == []
    assert text[text.index("Next: ") :] == step
