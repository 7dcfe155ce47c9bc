"""The way of a failure: which modules it passes between the exception in a tool and the answer, and how often.

    python tools/way.py [mcpserver|lowlevel|fastmcp] [FORMAT]

It is walked once before, so that what is imported or compiled on the first failure is not part of it. A station is a
module that does something with the failure. The model is none, being what is carried; nor are `observe` and the filter
of the log, which look on; nor `schema`, by which the arguments are searched for secrets; nor what these call.
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
ASIDE = ("model/", "observe/", "schema/", "server/logs.py")


class Way(NamedTuple):
    """What was called of Failwell, in its order, each as its file and its name."""

    calls: tuple[tuple[str, str], ...]
    stations: tuple[str, ...]
    """The modules that do something with the failure."""

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
    stations: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = _module(frame)
        if event == "call" and module:
            calls.append((module, frame.f_code.co_qualname))
            if not _is_aside(frame):
                stations[module] = None

    async def pay(invoice: str) -> str:
        # From here on, and in this thread: a tool that is no coroutine would run in another.
        sys.setprofile(note)
        raise FileNotFoundError(2, "No such file", invoice)

    server, client = _SERVERS[framework](pay)
    failwell.server.install(server, format=format)
    options = {"raise_on_error": False} if framework == "fastmcp" else {}
    async with client(server) as connected:
        for _ in range(2):
            calls.clear()
            stations.clear()
            await connected.call_tool("pay", {"invoice": "inv_1"}, **options)
            sys.setprofile(None)
    return Way(tuple(calls), tuple(stations))


def _module(frame: FrameType) -> str:
    """The module of a frame, from the package on; none for anybody else's."""
    file = frame.f_code.co_filename
    return file.removeprefix(SOURCE) if file.startswith(SOURCE) else ""


def _is_aside(frame: FrameType | None) -> bool:
    while frame is not None:
        if _module(frame).startswith(ASIDE):
            return True
        frame = frame.f_back
    return False


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
    print(f"{len(way.calls)} calls in {len(way.modules)} modules; {len(way.stations)} do something with the failure:")
    for module, count in way.modules.items():
        print(f"{count:6}  {module}{'' if module in way.stations else '  (no station)'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
