"""The same server on each of the three Python frameworks, for messages of all kinds."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import BaseModel

FRAMEWORK = sys.argv[1] if len(sys.argv) > 1 else ""


class Name(BaseModel):
    name: str


def mcpserver() -> None:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server: Any = MCPServer("fidelity", log_level="CRITICAL", instructions="Read me.")
    _tools(server, Context)
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()


def fastmcp() -> None:
    from fastmcp import Context, FastMCP

    server: Any = FastMCP("fidelity", instructions="Read me.")
    _tools(server, Context)
    server.run(show_banner=False, log_level="CRITICAL")


def _tools(server: Any, context: Any) -> None:
    @server.tool()
    def echo(text: str, number: float = 1.0) -> str:
        return f"{text} {number}"

    @server.tool()
    def table(rows: int) -> dict[str, list[int]]:
        return {"rows": list(range(rows))}

    async def slow(ctx: Any) -> str:
        await ctx.report_progress(1, 2, "half")
        return "done"

    async def ask_user(ctx: Any) -> str:
        answer = await ctx.elicit("Which name?", Name)
        return f"{answer.action}: {answer.data.name}"

    for tool in (slow, ask_user):
        tool.__annotations__["ctx"] = context
        server.tool()(tool)

    @server.resource("data://thing")
    def thing() -> str:
        return "a thing — «with» signs"

    @server.prompt()
    def ask(name: str) -> str:
        return f"Hello {name}"


def lowlevel() -> None:
    import anyio
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent
    from mcp_types import Tool as Listed

    async def listed(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Listed(name="echo", input_schema={"type": "object"})])

    async def called(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=str(params.arguments))])

    server: Any = Server("fidelity", version="1", on_list_tools=listed, on_call_tool=called)

    async def main() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(main)


if __name__ == "__main__":
    {"mcpserver": mcpserver, "fastmcp": fastmcp, "lowlevel": lowlevel}[FRAMEWORK]()
