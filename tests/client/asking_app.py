"""The server behind the tests of callbacks: `asking_app.py [port]`, on stdio without a port."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("asking", log_level="CRITICAL")
answered = asyncio.Event()


class Colour(BaseModel):
    name: str


def colour() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool()
async def paint(colour: Annotated[Colour, Resolve(colour)]) -> str:
    """Ask, then do it."""
    answered.set()
    return f"It is {colour.name}."


@server.tool()
async def paint_for_ever(colour: Annotated[Colour, Resolve(colour)]) -> str:
    """Ask, then say nothing."""
    await asyncio.Event().wait()
    return "never"


@server.tool()
async def watch() -> str:
    """Say nothing before the user has answered somebody else."""
    await answered.wait()
    return "It was painted."


@server.tool()
async def sleep() -> str:
    """Say nothing."""
    await asyncio.Event().wait()
    return "never"


@server.tool()
async def look() -> str:
    """Answer at once."""
    return "Here."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
