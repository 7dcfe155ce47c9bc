"""A server for clients that recover, of whichever generation is installed: tools that fail and then work, one that pays.

    python flaky_app.py {stdio|plain|http PORT} FOLDER

Over pipes it may be without Failwell, as `plain`. What has happened is in files of FOLDER, so that a server that was started again goes on where the last one ended.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from transports import run_http, run_stdio

import failwell as fw
import failwell.server
from failwell.observe import store
from failwell.sdk import GENERATION, ToolAnnotations

FOLDER = Path(sys.argv[-1])
KEPT = FOLDER / "events.db"
EVENTS = f"sqlite:///{KEPT}" if KEPT.exists() else None
READS = ToolAnnotations.model_validate({"readOnlyHint": True})
WRITES = ToolAnnotations.model_validate({"readOnlyHint": False})


def plainly(error: Exception, text: str) -> Exception:
    """What a server says that knows Failwell, and what one says that does not."""
    if sys.argv[1] != "plain":
        return error
    if GENERATION == 2:
        from mcp.server.mcpserver.exceptions import ToolError
    else:
        from mcp.server.fastmcp.exceptions import ToolError
    return ToolError(text)


def count(name: str) -> int:
    """How often it has happened, this time included."""
    with (FOLDER / name).open("a") as file:
        file.write("x")
    return len((FOLDER / name).read_text())


def die() -> NoReturn:
    """End as one that is killed, with the calls before this one in the store.

    A process that is killed takes with it what its store has gathered and not written, which is no question of whether
    a client and a server know a call of the other's again."""
    if EVENTS:
        store(EVENTS).flush()
    os._exit(3)


def busy(city: str) -> str:
    """Works the third time."""
    if count("busy") < 3:
        raise plainly(
            fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.01), "429 Too Many Requests"
        )
    return f"{city}: 7 degrees"


def dies(city: str) -> str:
    """Takes its server with it the first time."""
    if count("dies") < 2:
        die()
    return f"{city}: still here"


def pay(invoice: str, amount: int) -> str:
    """Pays, and then does not answer in time."""
    count("payments")
    raise plainly(TimeoutError(), "504 Gateway Timeout")


def ship(order: str) -> str:
    """Ships, and takes its server with it."""
    count("shipped")
    die()


def find_order(id: int) -> str:
    """Finds none."""
    error = fw.NotFound(f"Order {id} does not exist.", suggestion="Call list_orders first.")
    raise plainly(error, f"Order {id} not found")


def get_payment(invoice: str) -> str:
    """Whether an invoice is paid."""
    return f"{invoice}: {'paid' if (FOLDER / 'payments').exists() else 'open'}"


def build() -> tuple[str, Any]:
    tools = ((busy, READS), (dies, READS), (pay, WRITES), (ship, WRITES), (find_order, READS), (get_payment, READS))
    try:
        from fastmcp import FastMCP

        server: Any = FastMCP("flaky")
        for fn, annotations in tools:
            server.tool(fn, annotations=annotations)
        return "fastmcp", server
    except ImportError:
        pass
    if GENERATION == 2:
        from mcp.server.mcpserver import MCPServer as Kind
    else:
        from mcp.server.fastmcp import FastMCP as Kind
    server = Kind("flaky")
    for fn, annotations in tools:
        server.add_tool(fn, annotations=annotations)
    return "mcpserver", server


if __name__ == "__main__":
    framework, made = build()
    if sys.argv[1] != "plain":
        failwell.server.install(made, hooks=[EVENTS] if EVENTS else [])
    if sys.argv[1] != "http":
        asyncio.run(run_stdio(framework, made))
    else:
        run_http(framework, made, int(sys.argv[2]), log_level="warning", ws="none")
