"""Arguments that a tool does not have, or that its schema does not list."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import fastmcp
import mcp_types as types
import pytest
from fastmcp.tools import Tool, ToolResult
from mcp import Client
from mcp.server import MCPServer, Server
from pydantic import AliasChoices, AliasPath, Field

from failwell.formats import META_KEY
from failwell.server import install
from failwell.server.replies import IGNORED

SCHEMA = {"type": "object", "properties": {"user": {"type": "string"}}, "required": ["user"]}


def get_user(user: str) -> str:
    return user


def broken(user: str, **more: Any) -> str:
    return get_user(user, trace=True)  # type: ignore[call-arg]


def find_user(**sent: Any) -> str:
    return f"{sent['user']} in {sent.get('city')}"


TOOLS = {"get_user": get_user, "set_user": get_user, "broken": broken, "find_user": find_user}
READS = ("get_user", "broken", "find_user")


def answered(tool: str, arguments: dict[str, Any], **options: Any) -> types.CallToolResult:
    async def listed(context: Any, params: Any) -> types.ListToolsResult:
        marks = {name: types.ToolAnnotations(read_only_hint=True) for name in READS}
        tools = [types.Tool(name=name, input_schema=SCHEMA, annotations=marks.get(name)) for name in TOOLS]
        return types.ListToolsResult(tools=tools)

    async def called(context: Any, params: Any) -> types.CallToolResult:
        value = TOOLS[params.name](**(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(text=value)])

    server = Server("users", version="1", on_list_tools=listed, on_call_tool=called)
    install(server, **options)

    async def ask() -> types.CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("tool", "code", "effect", "text"),
    [
        pytest.param(
            "get_user",
            "VALIDATION_ERROR",
            "none",
            'Error: There is no argument colour. Next: call get_user with {"user": "u1"}, without colour.',
            id="the author's function refuses it",
        ),
        pytest.param(
            "set_user",
            "VALIDATION_ERROR",
            "none",
            'Error: There is no argument colour. Next: call set_user with {"user": "u1"}, without colour.',
            id="a write is not run with it",
        ),
        pytest.param(
            "broken",
            "INTERNAL_ERROR",
            "none",
            "Error: [broken] The tool failed unexpectedly. "
            "Next: end the task and report the failure. Do not call it again.",
            id="a name that the caller did not send",
        ),
    ],
)
def test_what_python_says_of_a_name_is_about_the_callers_arguments(
    tool: str, code: str, effect: str, text: str
) -> None:
    result = answered(tool, {"user": "u1", "colour": "red"})
    error = (result.meta or {})[META_KEY]
    assert (result.is_error, error["code"], error["effect"]) == (True, code, effect)
    content = result.content[0]
    assert isinstance(content, types.TextContent)
    assert content.text == text


def test_what_a_handler_has_used_is_not_called_ignored() -> None:
    result = answered("find_user", {"user": "u1", "city": "Bonn"})
    assert [block.text for block in result.content] == ["u1 in Bonn"]  # type: ignore[union-attr]
    assert not result.meta or IGNORED not in result.meta


def pay(
    invoice: Annotated[str, Field(validation_alias=AliasChoices("invoice", "bill"))],
    page: Annotated[int, Field(validation_alias=AliasChoices("page", "limit", AliasPath("at", "page")))] = 1,
) -> str:
    return f"{invoice}, page {page}"


@pytest.mark.parametrize("is_write", [True, False])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"bill": "i1"}, "i1, page 1"),
        ({"invoice": "i1", "limit": 2}, "i1, page 2"),
        ({"bill": "i1", "at": {"page": 2}}, "i1, page 2"),
    ],
    ids=repr,
)
def test_an_argument_may_have_several_names(arguments: dict[str, Any], says: str, is_write: bool) -> None:
    """What pydantic takes by any of its aliases is neither refused nor called ignored, though a schema lists one."""
    server = MCPServer("shop", log_level="CRITICAL")
    server.tool(annotations=types.ToolAnnotations(read_only_hint=not is_write))(pay)
    install(server)

    async def ask() -> types.CallToolResult:
        async with Client(server) as client:
            return await client.call_tool("pay", arguments)

    result = asyncio.run(ask())
    assert (result.is_error, [block.text for block in result.content]) == (False, [says])  # type: ignore[union-attr]
    assert not result.meta or IGNORED not in result.meta


class Own(Tool):
    """A tool whose author takes whatever was sent."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=[types.TextContent(text=f"got {sorted(arguments)}")])


@pytest.mark.parametrize("extra", [True, "reject"])
def test_what_an_own_tool_of_fastmcp_has_got_is_not_called_ignored(extra: Any) -> None:
    server = fastmcp.FastMCP("shop")
    server.add_tool(Own(name="own", parameters={"type": "object", "properties": {"x": {"type": "string"}}}))
    install(server, validate=extra)

    async def ask() -> Any:
        async with fastmcp.Client(server) as client:
            return await client.call_tool_mcp("own", {"y": 1})

    result = asyncio.run(ask())
    assert [block.text for block in result.content] == ["got ['y']"]
    assert not result.meta or IGNORED not in result.meta
