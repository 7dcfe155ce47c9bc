"""`Recovering` around an `mcp.ClientSession`: given as a function that opens one, or open already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import commands
import failwell as fw
from failwell.client import Recovering

APP = Path(__file__).parents[1] / "server/flaky_app.py"
QUICK = fw.Policy(base_delay=0.01, timeout=20)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[ClientSession]:
    params = StdioServerParameters(**commands.in_parts(commands.python(APP, "stdio", folder)))
    async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
        yield session


def text(result: Any) -> str:
    return str(result.content[0].text)


def test_a_function_that_opens_one_is_asked_again_when_the_server_dies(tmp_path: Path) -> None:
    async def run() -> None:
        async with Recovering(lambda: opened(tmp_path), policy=QUICK) as agent:
            report = await agent.call("dies", {"city": "Oslo"})
            assert ([str(each.decision.next) for each in report.attempts], text(report.result)) == (
                ["retry"],
                "Oslo: still here",
            )
            assert text(await agent.call_tool("get_payment", {"invoice": "inv_1"})) == "inv_1: open"
            assert [tool.name for tool in (await agent.list_tools()).tools][:2] == ["busy", "dies"]

    asyncio.run(run())


def test_an_open_one_is_used_as_it_is_and_never_opened_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as session, Recovering(session, policy=QUICK) as agent:
            assert text(await agent.call_tool("busy", {"city": "Oslo"})) == "Oslo: 7 degrees"
            report = await agent.call("dies", {"city": "Oslo"})
            assert isinstance(report.error, fw.ToolError)
            assert report.error.code == "NOT_CONFIGURED"
            assert "give Recovering a function that opens a session" in text(report.result)

    asyncio.run(run())


def test_a_function_that_opens_something_else_is_told_so() -> None:
    @asynccontextmanager
    async def wrong() -> AsyncIterator[str]:
        yield "no session"

    async def run() -> fw.ToolError:
        async with Recovering(wrong, policy=QUICK) as agent:
            error = (await agent.call("pay")).error
            assert isinstance(error, fw.ToolError)
            return error

    error = asyncio.run(run())
    assert (error.code, str(error.effect)) == ("NOT_CONFIGURED", "none")


def test_what_is_no_client_is_told_what_is_taken() -> None:
    with pytest.raises(
        TypeError, match=r"takes an mcp\.Client, a fastmcp\.Client, an mcp\.ClientSession, or a function"
    ):
        Recovering(object())
