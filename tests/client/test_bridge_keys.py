"""A lost answer and an idempotency key, behind the bridges that make the MCP call: it is made again, and done once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from agents.mcp import MCPServerStdio
from fastmcp.client.transports import StdioTransport
from pydantic_ai import RunContext
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import CombinedToolset, WrapperToolset
from test_bridge_pydantic_ai import seen
from test_recovering_keys import BANK, paid

import commands
import failwell as fw
from failwell.client.openai_agents import recovering as around_server
from failwell.client.pydantic_ai import _unwrapped
from failwell.client.pydantic_ai import recovering as around_toolset

QUICK = fw.Policy(base_delay=0.01)
PAY: Any = ("pay", {"id": "inv_1", "then": "sleep"})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    made = tmp_path / "ledger"
    made.touch()
    return made


async def by_pydantic_ai(ledger: Path) -> str:
    bank = StdioTransport(**commands.in_parts(commands.python(BANK, ledger, "memory")))
    async with MCPToolset(bank, read_timeout=5, init_timeout=60) as toolset:
        [(_, content)] = await seen(around_toolset(toolset.prefixed("a"), policy=QUICK), ("a_pay", PAY[1]))
        return str(content)


async def by_openai_agents(ledger: Path) -> str:
    bank: Any = commands.in_parts(commands.python(BANK, ledger, "memory"))
    async with MCPServerStdio(bank, client_session_timeout_seconds=5) as server:
        result = await around_server(server, policy=QUICK).call_tool(*PAY)
        return str(getattr(result.content[0], "text", ""))


@pytest.mark.parametrize("call", [by_pydantic_ai, by_openai_agents])
def test_a_lost_answer_is_had_again(ledger: Path, call: Any) -> None:
    async def story() -> None:
        with anyio.fail_after(60):
            assert await call(ledger) == "Paid inv_1."
            assert paid(ledger, "inv_1") == 1

    anyio.run(story)


class Bookkeeping(WrapperToolset[Any]):
    """A toolset of one's own, which does something beside the call."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any) -> Any:
        return await super().call_tool(name, tool_args, ctx, tool)


async def hook(ctx: Any, call_tool: Any, name: str, arguments: dict[str, Any]) -> Any:
    return await call_tool(name, arguments)


def test_only_what_is_one_call_and_nothing_else_has_a_key() -> None:
    """Whatever else is done would be done again: the server knows its own call by the key, and no more."""
    url = "http://127.0.0.1:1/mcp"
    plain, hooked = MCPToolset[Any](url), MCPToolset[Any](url, process_tool_call=hook)
    toolsets = [plain, plain.prefixed("a"), hooked, Bookkeeping(plain), CombinedToolset([plain, hooked])]
    assert [_unwrapped(each)[1] for each in toolsets] == [True, True, False, False, False]
