"""How the servers of the tests are run: over pipes, or on a socket whose port is printed first."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any


async def run_stdio(framework: str, server: Any) -> None:
    if framework in ("mcpserver", "fastmcp1"):
        await server.run_stdio_async()
    elif framework == "fastmcp":
        await server.run_stdio_async(show_banner=False)
    else:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def run_http(
    framework: str, server: Any, port: int = 0, *, at_end: Callable[[], None] | None = None, **config: Any
) -> None:
    """Serves until its standard input ends; `at_end` is called then."""
    import uvicorn

    app = server.http_app(path="/mcp") if framework == "fastmcp" else server.streamable_http_app()
    # Named in full, or asyncio does not switch off the delay of small packets.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", port))
    listening.listen()
    # From here on connections wait until they are taken.
    print(listening.getsockname()[1], flush=True)

    def end_with_stdin() -> None:
        sys.stdin.buffer.read()
        if at_end is not None:
            at_end()
        sys.stderr.flush()
        os._exit(0)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, **config)).run(sockets=[listening])
