"""The server behind the bridges' tests: `bridge_app.py plain|failwell [port]`, on stdio without a port."""

from __future__ import annotations

import base64
import os
import sys
from collections import Counter

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

import failwell as fw

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, idempotent_hint=False)
PIXEL = base64.b64encode(b"pixel").decode()
SECRET = "postgres://admin:Tr0ub4dor-and-3@db.internal/prod"

structured = sys.argv[1] == "failwell"
server = MCPServer("bridged", log_level="CRITICAL")
calls: Counter[str] = Counter()


def either(error: Exception, text: str) -> Exception:
    """What a server says that knows Failwell, and what one says that does not."""
    return error if structured else ToolError(text)


@server.tool(annotations=READS)
def add(count: int) -> str:
    """Add."""
    return f"The sum is {count + 1}."


@server.tool(annotations=READS)
def find_user(id: int) -> str:
    """Find a user."""
    calls["find_user"] += 1
    raise either(fw.NotFound(f"User {id} does not exist.", actions=["list_users"]), f"User {id} not found")


@server.tool(annotations=READS)
def quota() -> str:
    """Fail once, then work."""
    calls["quota"] += 1
    if calls["quota"] == 1:
        error = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.05)
        raise either(error, "429 Too Many Requests. Retry after 0.05 seconds.")
    return f"It took {calls['quota']} calls."


@server.tool(annotations=READS)
def busy() -> str:
    """Never work."""
    calls["busy"] += 1
    error = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.01)
    raise either(error, "429 Too Many Requests. Retry after 0.01 seconds.")


@server.tool(annotations=WRITES)
def pay(amount: int) -> str:
    """Pay, and nobody knows."""
    calls["pay"] += 1
    error = fw.Transient("The bank is busy.", code="RATE_LIMITED", retry_after=0.05, effect="unknown", verify="called")
    raise either(error, "503 Service Unavailable")


@server.tool()
def transfer(amount: int) -> str:
    """Nobody says so, but it writes."""
    calls["transfer"] += 1
    raise either(TimeoutError(), "503 Service Unavailable")


@server.tool()
def frobnicate() -> str:
    """Nobody says whether it changes anything, nor does its name."""
    calls["frobnicate"] += 1
    raise either(TimeoutError(), "503 Service Unavailable")


@server.tool()
def get_weather() -> str:
    """Nobody says so, but it reads."""
    calls["get_weather"] += 1
    raise either(TimeoutError(), "503 Service Unavailable")


@server.tool(annotations=WRITES)
def mirror(amount: int) -> str:
    """Pay, and return what the bank's own log says."""
    calls["mirror"] += 1
    return "Error: 429 Too Many Requests. Retry after 0.01 seconds."


@server.tool(annotations=READS)
def crash() -> str:
    """Break."""
    return str(dict[str, str]()[SECRET])


@server.tool(annotations=READS)
def leak() -> str:
    """Say too much."""
    raise either(fw.Internal(f"It broke at {SECRET}."), f"It broke at {SECRET}.")


@server.tool(annotations=READS)
def pretend() -> str:
    """Fail, and call it a success."""
    return '{"success": false, "data": null, "error": {"code": "NOT_FOUND", "message": "There is no such file."}}'


@server.tool(annotations=WRITES)
def delete_user(id: int) -> str:
    """Not allowed."""
    raise either(fw.Denied("Only admins may delete users."), "403 Forbidden: only admins may delete users")


@server.tool(annotations=WRITES)
def die() -> str:
    """Never answer."""
    os._exit(3)


@server.tool(annotations=READS)
def scan() -> CallToolResult:
    """Fail, with more than words."""
    return CallToolResult(
        content=[
            ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            TextContent(type="text", text="Error executing tool scan: Page 7 not found"),
            TextContent(type="text", text=f"Log: read 6 pages from {SECRET}"),
            TextContent(
                type="text", text='{"success": false, "error": {"code": "NOT_FOUND", "message": "No page 7."}}'
            ),
            EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///6.txt", text="Page 6")),
        ],
        structured_content={"pages": 6, "source": SECRET},
        is_error=True,
    )


@server.tool(annotations=READS)
def down() -> str:
    """Never work, and name no time."""
    calls["down"] += 1
    raise either(fw.Transient("The database is down.", code="UNAVAILABLE"), "503 Service Unavailable")


@server.tool(annotations=WRITES)
def cancel_order(id: int) -> str:
    """Cancel, and nobody knows."""
    calls["cancel_order"] += 1
    raise either(TimeoutError(), "503 Service Unavailable")


@server.tool(annotations=READS)
def get_order(id: int) -> str:
    """How an order stands."""
    return f"Order {id} is open."


@server.tool(annotations=READS)
def called(name: str) -> int:
    """How often a tool was called."""
    return calls[name]


if structured:
    import failwell.server

    failwell.server.install(server)

if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()
