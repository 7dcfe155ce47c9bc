"""A server counts its calls per tool: sync and async ones, many at once, and results that say that they failed."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import fastmcp
import mcp
import mcp_types
import pytest
from mcp.server import MCPServer

import failwell as fw
import failwell.server

MAKERS: dict[str, Any] = {
    "mcpserver": lambda: MCPServer("test", log_level="CRITICAL"),
    "fastmcp": lambda: fastmcp.FastMCP("test"),
}


@pytest.fixture(params=MAKERS)
def server(request: pytest.FixtureRequest) -> Any:
    made = MAKERS[request.param]()

    @made.tool()
    def sync(fail: bool) -> str:
        if fail:
            raise fw.NotFound("no")
        return "ok"

    @made.tool()
    async def later(fail: bool) -> str:
        await anyio.sleep(0.01)
        if fail:
            raise TimeoutError
        return "ok"

    @made.tool()
    def own() -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="no")], is_error=True)

    return failwell.server.install(made)


def calls(server: Any, wanted: list[tuple[str, dict[str, Any]]]) -> None:
    async def main() -> None:
        target = server._mcp_server if isinstance(server, fastmcp.FastMCP) else server
        async with mcp.Client(target) as client, asyncio.TaskGroup() as tasks:
            for name, arguments in wanted:
                tasks.create_task(client.call_tool(name, arguments))

    asyncio.run(main())


@pytest.mark.checklist(51, 52, 279)
def test_calls_failures_and_time_are_counted_per_tool(server: Any) -> None:
    wanted = [("sync", {"fail": True})] * 7 + [("sync", {"fail": False})] * 3
    wanted += [("later", {"fail": True})] * 20 + [("later", {"fail": False})] * 30
    wanted += [("own", {})] * 2 + [("sync", {"fial": True})] + [("nowhere", {})] * 4
    calls(server, wanted)
    counted = failwell.server.stats(server)
    assert {name: (tool.calls, tool.failures) for name, tool in counted.items()} == {
        "sync": (11, 8),
        "later": (50, 20),
        "own": (2, 2),
        "(unknown)": (4, 4),
    }
    assert counted["sync"].codes == {"NOT_FOUND": 7, "VALIDATION_ERROR": 1}
    assert counted["later"].kinds == {"transient": 20}
    assert counted["own"].kinds == {"(unknown)": 2}
    assert 0 < counted["later"].slowest <= counted["later"].seconds


@pytest.mark.checklist(52)
def test_a_snapshot_does_not_change_later(server: Any) -> None:
    calls(server, [("sync", {"fail": True})])
    before = failwell.server.stats(server)
    calls(server, [("sync", {"fail": True}), ("own", {})])
    assert before["sync"].calls == 1
    assert before["sync"].codes == {"NOT_FOUND": 1}
    assert "own" not in before


def test_a_server_without_failwell_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"call failwell.server.install\(server\) first"):
        failwell.server.stats(MCPServer("test", log_level="CRITICAL"))
