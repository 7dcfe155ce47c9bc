"""The way of a failure: which modules it passes between the exception in a tool and the answer, and how often.

    python tools/way.py [mcpserver|lowlevel|fastmcp] [FORMAT]

It is walked twice before, so that what is imported, compiled or kept on the first failure is not part of it. Every
module and every call of ours counts: the model, the log and what a comprehension calls, too.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import failwell
import failwell.server

SOURCE = f"{Path(failwell.__file__).parent.as_posix()}/"


class Way(NamedTuple):
    """What was called of Failwell, in its order, each as its file and its name."""

    calls: tuple[tuple[str, str], ...]

    @property
    def modules(self) -> dict[str, int]:
        """How often each module was entered, in the order in which they came."""
        return dict(Counter(module for module, _ in self.calls))

    def times(self, module: str, name: str) -> int:
        return self.calls.count((module, name))


def walk(framework: str, format: str = "text") -> Way:
    """The way of one failure through a server of a framework that answers in a format."""
    return asyncio.run(_walk(framework, format))


async def _walk(framework: str, format: str) -> Way:
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = _module(frame)
        if event == "call" and module:
            calls.append((module, frame.f_code.co_qualname))

    async def pay(invoice: str) -> str:
        # From here on, and in this thread: a tool that is no coroutine would run in another.
        sys.setprofile(note)
        raise FileNotFoundError(2, "No such file", invoice)

    server, client = _SERVERS[framework](pay)
    failwell.server.install(server, format=format)
    options = {"raise_on_error": False} if framework == "fastmcp" else {}
    async with client(server) as connected:
        # Each call is another one: the identical one would be held.
        for invoice in ("inv_1", "inv_2", "inv_3"):
            calls.clear()
            await connected.call_tool("pay", {"invoice": invoice}, **options)
            sys.setprofile(None)
    return Way(tuple(calls))


def _module(frame: FrameType) -> str:
    """The module of a frame, from the package on; none for anybody else's."""
    file = frame.f_code.co_filename
    return file.removeprefix(SOURCE) if file.startswith(SOURCE) else ""


def _mcpserver(tool: Callable[..., Any]) -> tuple[Any, Any]:
    from mcp import Client
    from mcp.server import MCPServer

    server = MCPServer("way")
    server.tool()(tool)
    return server, Client


def _fastmcp(tool: Callable[..., Any]) -> tuple[Any, Any]:
    from fastmcp import Client, FastMCP

    server: FastMCP[Any] = FastMCP("way")
    server.tool(tool)
    return server, Client


def _lowlevel(tool: Callable[..., Any]) -> tuple[Any, Any]:
    from mcp import Client
    from mcp.server import Server
    from mcp_types import ListToolsResult, Tool

    schema = {"type": "object", "properties": {"invoice": {"type": "string"}}}

    async def listed(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="pay", input_schema=schema)])

    async def called(ctx: Any, params: Any) -> Any:
        return await tool(**(params.arguments or {}))

    return Server("way", on_list_tools=listed, on_call_tool=called), Client


_SERVERS = {"mcpserver": _mcpserver, "lowlevel": _lowlevel, "fastmcp": _fastmcp}


def main(framework: str = "mcpserver", format: str = "text") -> None:
    way = walk(framework, format)
    print(f"{len(way.calls)} calls in {len(way.modules)} modules:")
    for module, count in way.modules.items():
        print(f"{count:6}  {module}")


if __name__ == "__main__":
    main(*sys.argv[1:])
