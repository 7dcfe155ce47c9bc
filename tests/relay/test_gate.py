"""What real servers take though their schemas do not reaches them; what they refuse is told as before it was sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from wrapped import Wrapped

SERVER = """
from typing import Annotated
from mcp.server import MCPServer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

class Either(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_id: int = Field(alias="userId")

class Alias(BaseModel):
    model_config = ConfigDict(extra="forbid")
    user_id: int = Field(alias="userId")

server = MCPServer("lenient")
most = Field(ge=1, le=100)

@server.tool()
def add_either(user: Either) -> str:
    return f"added {user.user_id}"

@server.tool()
def add_alias(user: Alias) -> str:
    return f"added {user.user_id}"

@server.tool()
def search_clamped(limit: Annotated[int, most, BeforeValidator(lambda given: min(given, 100))]) -> str:
    return f"first {limit}"

@server.tool()
def search(limit: Annotated[int, most]) -> str:
    return f"first {limit}"

server.run()
"""


@pytest.fixture(scope="module", params=["auto", "on"])
def lenient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Wrapped]]:
    ledger: Path = tmp_path_factory.mktemp("gate") / "ledger"
    with Wrapped(ledger, "--validate", request.param, command=[sys.executable, "-c", SERVER]) as server:
        server.ask("list", "tools/list")
        yield request.param, server


def test_what_a_server_takes_by_another_name_or_clamps_is_its_to_take(lenient: tuple[str, Wrapped]) -> None:
    mode, server = lenient
    assert server.text(1, "add_either", user={"userId": 1}) == "added 1"
    told = [server.text(2, "add_either", user={"user_id": 1}), server.text(3, "search_clamped", limit=500)]
    if mode == "auto":
        assert told == ["added 1", "first 100"]
    else:
        assert all("Next: call " in text for text in told)


def test_what_a_server_refuses_itself_is_shown_as_it_is_to_be_made(lenient: tuple[str, Wrapped]) -> None:
    _, server = lenient
    assert server.text(1, "add_alias", user={"user_id": 1}).endswith(
        'Next: call add_alias with {"user": {"userId": 1}}.'
    )
    assert server.text(2, "search", limit=500).endswith('Next: call search with {"limit": "<at most 100>"}.')


# As servers made with Zod 3 are: each object is listed as closed, and what is not known is dropped.
DROPPING = """
import asyncio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

def closed(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}

schema = {**closed(title={"type": "string"}, flag={"type": "boolean"}, opts=closed(deep={"type": "boolean"})), "required": ["title"]}
marks = {"note": None, "find_note": True, "write_note": False}

async def listed(ctx, params):
    tools = [{"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": mark}} for name, mark in marks.items()]
    tools += [{"name": "ping", "inputSchema": closed()}]
    return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in tools])

async def called(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments.get("title", "pong"))])

server = Server("dropping", on_list_tools=listed, on_call_tool=called)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


@pytest.mark.parametrize("tool", ["note", "find_note"])
def test_names_that_a_server_drops_reach_it_unless_they_mean_something(tool: str, tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", command=[sys.executable, "-c", DROPPING]) as server:
        server.ask("list", "tools/list")
        assert server.text(1, tool, title="x", explanation="because") == "x"
        assert server.text(2, tool, title="x", opts={"deep": True, "extra": 1}) == "x"
        assert server.text("none", "ping", random_string="x") == "pong"
        meant = (
            {"flgs": True},
            {"dry_run": True},
            {"opts": {"dep": True}},
            {"opts": {"limit": 1}},
        )
        told = [server.text(id, tool, title="x", **more) for id, more in enumerate(meant, start=3)]
        assert all(text.startswith("There is no argument ") for text in told), told


def test_what_changes_things_is_not_called_with_a_restraint_that_would_be_dropped(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", command=[sys.executable, "-c", DROPPING]) as server:
        server.ask("list", "tools/list")
        assert server.text(1, "write_note", title="x", dry_run=True).startswith("There is no argument dry_run. Next: ")
        assert server.text(2, "write_note", title="x", at="tomorrow") == "x"
