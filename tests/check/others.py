"""The servers that are no pairs: a good one by hand, an ordinary one of twenty tools, bare and with Failwell.

python tests/check/others.py plain|twenty [--installed] [--on FRAMEWORK] [--http PORT]
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

import plain
import twenty
from desk import app


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Start one server.")
    parser.add_argument("name", choices=["plain", "twenty"])
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--on", choices=sorted(twenty.FRAMEWORKS), default="mcpserver")
    parser.add_argument("--http", type=int)
    given = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    server = plain.server() if given.name == "plain" else twenty.server(given.on, given.installed)
    if given.http is None:
        import anyio

        anyio.run(_stdio, server)
    else:
        import uvicorn

        uvicorn.run(app(server), host="127.0.0.1", port=given.http, log_level="error")


async def _stdio(server: Any) -> None:
    if hasattr(server, "run_stdio_async"):
        await server.run_stdio_async(
            **({"show_banner": False, "log_level": "CRITICAL"} if hasattr(server, "http_app") else {})
        )
        return
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    main()
