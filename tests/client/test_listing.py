"""What a server says of its tools may change while a client is connected."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import anyio
import fastmcp
import mcp
import mcp_types
import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations

import failwell as fw
from failwell.client import Recovering
from failwell.client.drivers import driver_for
from failwell.client.tool_list import Listing
from failwell.testing import FakeClock


@pytest.mark.parametrize("make", [mcp.Client, fastmcp.Client])
def test_a_tool_that_is_no_longer_marked_as_a_read_is_not_called_twice(make: Any) -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    paid: list[str] = []

    async def pay(ctx: Context[Any]) -> str:
        if not paid:
            server.remove_tool("pay")
            server.tool(name="pay", annotations=ToolAnnotations(read_only_hint=False))(pay)
            await ctx.session.send_tool_list_changed()
            await anyio.sleep(0.05)
        paid.append("paid")
        raise ToolError("503 Service Unavailable: try again in 1 second.")

    server.tool(name="pay", annotations=ToolAnnotations(read_only_hint=True))(pay)

    async def main() -> Any:
        async with Recovering(make(server, mode="legacy"), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call("pay", {})

    report = anyio.run(main)
    assert (report.calls, paid) == (1, ["paid"])
    assert report.failure.effect is None


def test_a_tool_that_became_a_write_unseen_is_not_called_twice() -> None:
    """Behind an address another version of the server may stand by now, and without a session nobody tells."""
    server: Any = MCPServer("shop", log_level="CRITICAL")
    paid: list[str] = []
    clock = FakeClock()

    def sync() -> str:
        paid.append("paid")
        raise ToolError("503 Service Unavailable: try again in 1 second.")

    server.tool(annotations=ToolAnnotations(read_only_hint=True))(sync)

    async def main() -> Any:
        async with Recovering(mcp.Client(server), clock=clock) as agent:
            await agent.list_tools()
            server.remove_tool("sync")
            server.tool(annotations=ToolAnnotations(read_only_hint=False))(sync)
            clock.advance(60)
            return await agent.call("sync", {})

    report = anyio.run(main)
    assert (report.calls, paid) == (1, ["paid"])
    assert report.failure.effect is None


def test_a_tool_that_becomes_a_write_while_its_call_waits_is_not_called_twice() -> None:
    """The server that took the call is gone, and another version is there when the time has come."""
    server: Any = MCPServer("shop", log_level="CRITICAL")
    paid: list[str] = []

    def sync() -> str:
        paid.append("paid")
        raise ToolError("503 Service Unavailable: try again in 5 seconds.")

    class Redeployed(FakeClock):
        async def sleep(self, seconds: float) -> None:
            server.remove_tool("sync")
            server.tool(annotations=ToolAnnotations(read_only_hint=False))(sync)
            await super().sleep(seconds)

    server.tool(annotations=ToolAnnotations(read_only_hint=True))(sync)

    async def main() -> Any:
        async with Recovering(mcp.Client(server), clock=Redeployed()) as agent:
            return await agent.call("sync", {})

    report = anyio.run(main)
    assert (report.calls, paid) == (1, ["paid"])
    assert report.failure.effect is None


def test_what_cannot_be_listed_anew_is_not_called_again() -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    read: list[str] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def sync() -> str:
        read.append("read")
        raise ToolError("503 Service Unavailable: try again in 5 seconds.")

    async def unlisted(*_: Any) -> Any:
        raise RuntimeError("It is not there.")

    async def main() -> Any:
        async with Recovering(mcp.Client(server), clock=FakeClock()) as agent:
            await agent.list_tools()
            agent._listing._driver.tools = unlisted
            return await agent.call("sync", {})

    report = anyio.run(main)
    assert (report.calls, read) == (1, ["read"])


def test_a_list_that_fails_once_is_asked_for_again_before_a_read_is_given_up() -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    read: list[str] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def sync() -> str:
        read.append("read")
        if len(read) == 1:
            raise ToolError("503 Service Unavailable: try again in 5 seconds.")
        return "Done."

    async def main() -> Any:
        async with Recovering(mcp.Client(server), clock=FakeClock()) as agent:
            await agent.list_tools()
            listed, failures = agent._listing._driver.tools, [ConnectionError("Down.")] * 2

            async def cut_once(client: Any) -> Any:
                if failures:
                    raise failures.pop()
                return await listed(client)

            agent._listing._driver.tools = cut_once
            return await agent.call("sync", {})

    report = anyio.run(main)
    assert (report.ok, report.calls, len(read)) == (True, 2, 2)


def test_of_two_tools_by_one_name_the_one_that_may_not_be_called_twice_counts() -> None:
    listing = Listing(driver_for(mcp.Client(MCPServer("shop"))), FakeClock())
    read, write = (
        mcp_types.Tool(name="sync", input_schema={}, annotations=ToolAnnotations(read_only_hint=is_read))
        for is_read in (True, False)
    )
    for listed in ([read, write], [write, read]):
        listing.learn(mcp_types.ListToolsResult(tools=listed))
        assert not listing.tools.traits("sync").repeatable


class Dying:
    """A connection to a server that is killed by others before it has answered, and is back a moment later."""

    def __init__(self, client: Any, *failures: Exception) -> None:
        self._client, self.failures = client, list(failures)

    async def open(self, timeout: float) -> Any:
        if self.failures:
            raise self.failures.pop(0)
        return self

    @asynccontextmanager
    async def calling(self, timeout: float) -> Any:
        yield self._client


@pytest.mark.parametrize(
    ("failures", "left", "is_listed"),
    [
        ([ConnectionError(), ConnectionError()], 0, True),
        ([ConnectionError()] * 4, 1, False),
        # Somebody is there, and says that there is no list.
        ([MCPError(-32601, "Method not found"), ConnectionError()], 1, False),
    ],
)
def test_a_list_that_others_have_cut_off_is_looked_for_again(
    failures: list[Exception], left: int, is_listed: bool
) -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    server.tool(name="get_payment")(lambda: "paid")
    listing = Listing(driver_for(mcp.Client(server)), FakeClock())

    async def main() -> int:
        async with mcp.Client(server) as client:
            connection: Any = Dying(client, *failures)
            await listing.look(connection, 5)
            return len(connection.failures)

    assert (anyio.run(main), listing.is_missing) == (left, not is_listed)
