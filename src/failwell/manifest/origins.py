"""The tools of a server: one in this program, one behind a command, or one at an address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, NamedTuple

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from failwell.model import Declared
from failwell.readers import DEFAULT, Table
from failwell.server import ROUTING, declared_of, functions_of, group_of, installed_on, read_declared, rule_codes

_MOST_PAGES: Final = 100


class ListedTool(NamedTuple):
    """A tool as a server lists it, and what is known of what stands behind it."""

    tool: Any
    said: Declared
    functions: tuple[Callable[..., Any], ...] = ()
    ruled: tuple[str, ...] = ()
    """The codes of the rules it stands under, and of a group's routing."""


class ServerTools(NamedTuple):
    """A server's tools, and how its failures leave it."""

    tools: tuple[ListedTool, ...]
    table: Table = DEFAULT
    format: str | None = None
    profile: str | None = None
    """The profile of contract 003 that its envelope has."""
    common: tuple[str, ...] = ()
    """The codes that any of them may answer."""


async def of_server(server: Any) -> ServerTools:
    """The tools of a server object, with their functions."""
    async with Client(getattr(server, "_mcp_server", server)) as client:
        tools = [tool async for tool in _tools(client)]
    boundary = installed_on(server)
    options = boundary.options if boundary is not None else None
    found = []
    for tool in tools:
        function = await _function(server, tool.name)
        group = None if function is None else group_of(function)
        actions = () if group is None else group.actions.values()
        functions = tuple(action.fn for action in actions) or functions_of(function)
        refusals = {*rule_codes(functions), *(ROUTING if group is not None else ())}
        said = declared_of(function) if function is not None else read_declared(tool)
        found.append(ListedTool(tool, said, functions, tuple(sorted(refusals))))
    if boundary is None or options is None:
        return ServerTools(tuple(found))
    profile = getattr(options.format, "profile", None)
    return ServerTools(tuple(found), options.table, options.form, profile, boundary.renderer.common_codes())


async def of_command(command: Sequence[str]) -> ServerTools:
    """The tools of a server that a command starts on stdio."""
    async with Client(stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])))) as client:
        return ServerTools(tuple([ListedTool(tool, read_declared(tool)) async for tool in _tools(client)]))


async def of_url(url: str) -> ServerTools:
    """The tools of a server over HTTP."""
    async with Client(url) as client:
        return ServerTools(tuple([ListedTool(tool, read_declared(tool)) async for tool in _tools(client)]))


async def _tools(client: Client) -> AsyncIterator[Any]:
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if not cursor:
            return


async def _function(server: Any, name: str) -> Any:
    manager = getattr(server, "_tool_manager", None)
    if manager is not None:
        return getattr(manager.get_tool(name), "fn", None)
    if type(server).__module__.startswith("fastmcp") or hasattr(server, "_mcp_server"):
        return getattr(await server.get_tool(name), "fn", None)
    return None
