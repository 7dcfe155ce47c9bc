"""A server that still reads and no longer writes: its first silence costs a timeout, and the next call works."""

from __future__ import annotations

import asyncio
import sys

from mcp import Client, StdioServerParameters

import failwell as fw
from failwell.client import Recovering
from failwell.model import Effect
from failwell.recovery import Report

# The SDK's writer ends at half a character, while its reader goes on.
SERVING = r"""
from mcp.server import MCPServer
server = MCPServer("names", log_level="CRITICAL")
@server.tool()
def pay() -> str:
    return "caf\udce9.txt"
@server.tool()
def note() -> str:
    return "noted"
server.run()
"""


async def calls() -> list[Report]:
    params = StdioServerParameters(command=sys.executable, args=["-c", SERVING])
    async with Recovering(Client(params)) as agent:
        await agent.list_tools()
        return [await agent.call("pay", {}, read_timeout_seconds=1), await agent.call("note", {})]


def test_the_call_after_one_that_was_lost_is_made_over_a_new_connection() -> None:
    lost, made = asyncio.run(calls())
    assert isinstance(lost.error, fw.ToolError)
    assert (lost.calls, lost.error.effect) == (1, Effect.UNKNOWN)
    assert (made.calls, made.error) == (1, None)
