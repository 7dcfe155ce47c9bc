"""A server of an author of contract 000 or 001: tools that fail in every way these contracts have a row for.

    python typed_v1_server.py KIND stdio|http LEDGER OPTIONS

KIND is `mcpserver`, `lowlevel` or `fastmcp`. OPTIONS are the options of `install` as JSON; `--bare` is none; `table` is a
table of the author's own, `show` names that the guard lets pass. A line is appended to LEDGER when a tool runs
(`ran TOOL CAUSE`), and when the server has counted a call (`event TOOL CODE`).
"""

from __future__ import annotations

import asyncio
import enum
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import httpx2
import mcp_types as types
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from shop_server import run_http, run_stdio

import failwell as fw
import failwell.server
from failwell.redact import Guard
from failwell.server import reply

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
_ledger = -1


class StoreError(Exception):
    """The author's own type."""


def answered(status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
    reply = httpx2.MockTransport(
        lambda request: httpx2.Response(status, headers=headers, content=body, request=request)
    )
    with httpx2.Client(transport=reply) as client:
        client.get("https://store.example/items").raise_for_status()


def meet(cause: str) -> Any:
    """Raise what this cause is, if it is one."""
    word, _, rest = cause.partition(":")
    match word:
        case "http":
            answered(int(rest))
        case "wait":
            answered(int(rest), {"retry-after": "30"})
        case "status":
            raise fw.classify.from_http(int(rest), {"retry-after": "30"})
        case "code":
            raise fw.ToolError("Nothing to be had.", code=rest)
        case "refused":
            raise ConnectionRefusedError(111, "Connection refused")
        case "timeout":
            raise TimeoutError("The store did not answer.")
        case "dns":
            raise socket.gaierror(-2, "Name or service not known")
        case "own":
            raise StoreError(rest)
        case "transient":
            raise fw.Transient("service down")
        case "crash":
            return {}["missing"]
        case "wrong":
            raise ValueError("limit must be at most 100")
        case "conflict":
            raise fw.Conflict(
                "reservation conflict: 1 conflict",
                recoverable=True,
                conflicts=[{"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"}],
            )
        case "token":
            raise fw.Conflict("Reserved.", details={"reservation_token": "tok-4711-abc", "password": "hunter2secret"})
        case "advice":
            raise fw.NotFound("No such agent.", suggestion="Register it.", actions=["register_agent"])
        case "null":
            raise fw.ToolError("It failed.", code="NETWORK_ERROR", details={"statusCode": None, "host": None, "n": 1})
        case "asks":
            raise fw.NeedsInput("Which pattern?", fields=["id"], reason="A pattern is read by its id.")
    return f"found {cause}"


def note(what: str, tool: str, more: str) -> None:
    os.write(_ledger, f"{what} {tool} {more}\n".encode())


def act(tool: str, cause: str) -> Any:
    note("ran", tool, cause)
    return meet(cause)


def handle(id: str):
    """Neither its annotations nor its name say what it is."""
    return act("handle", id)


def list_items(id: str):
    return act("list_items", id)


def pay_item(id: str):
    return act("pay_item", id)


class Shape(str, enum.Enum):  # noqa: UP042 - as it is mostly written
    MARKDOWN = "markdown"
    JSON = "json"
    BOTH = "both"


Three = Literal["markdown", "json", "both"]


def gated(cause: str) -> Any:
    act("gated", cause)
    return reply({"kind": "found:v1", "count": 1}, markdown="1 found")


def by_literal(id: str, format: Three = "markdown") -> CallToolResult:
    return gated(id)


def by_enum(id: str, format: Shape = Shape.MARKDOWN) -> CallToolResult:
    return gated(id)


def by_optional(id: str, format: Optional[Three] = None) -> CallToolResult:  # noqa: UP045
    return gated(id)


def by_text(id: str, format: str = "markdown") -> CallToolResult:
    return gated(id)


def by_more(id: str, format: Literal["markdown", "json", "both", "compact"] = "markdown") -> CallToolResult:
    return gated(id)


def by_default(id: str, format: Three = "json") -> CallToolResult:
    return gated(id)


def by_enum_default(id: str, format: Shape = Shape.BOTH) -> CallToolResult:
    return gated(id)


# Of the two frameworks only FastMCP passes an alias on.
def by_alias(id: str, fmt: Annotated[Three, Field(alias="format")] = "markdown") -> CallToolResult:
    return gated(id)


def by_list(id: str, format: Literal["json", "yaml"] = "json") -> str:
    """What another kind of `format` means, only its author knows."""
    return str(act("by_list", id))


def text(said: str) -> TextContent:
    return TextContent(type="text", text=said)


# What the authors of the contracts have today: results that their own code builds.


class OwnToolError(Exception):
    """Contract 000 in Python, as a server has it that knows nothing of Failwell."""

    def __init__(self, type: str, message: str, recoverable: bool | None = None, **data: Any) -> None:
        super().__init__(message)
        self.type, self.message, self.data = type, message, data
        self.recoverable = type == "TRANSIENT" if recoverable is None else recoverable

    def json(self) -> str:
        wire: dict[str, Any] = {"type": self.type, "message": self.message, "recoverable": self.recoverable}
        return json.dumps({**wire, "data": self.data} if self.data else wire, separators=(",", ":"))


def to_tool_result(code: str, message: str, retryable: bool, format: str, **details: Any) -> CallToolResult:
    """Contract 001 by hand."""
    error: dict[str, Any] = {"kind": "toolError:v1", "code": code, "message": message, "retryable": retryable}
    if details:
        error["details"] = details
    people, programs = text(message), text(json.dumps(error, indent=2))
    blocks = {"markdown": [people], "json": [programs], "both": [people, programs]}[format]
    return CallToolResult(content=blocks, structured_content=error, is_error=True)


def own_typed(id: str) -> CallToolResult:
    act("own_typed", "")
    error = OwnToolError("TRANSIENT", f"rate limited: {id}", retry_after=30)
    return CallToolResult(content=[text(error.json())], is_error=True)


def own_v1(id: str, format: Three = "markdown") -> CallToolResult:
    act("own_v1", "")
    return to_tool_result("NETWORK_ERROR", f"Network error: {id}", True, format, statusCode=503)


def own_v1_unmarked(id: str) -> CallToolResult:
    """The contract's block, whose flag a transport has dropped."""
    act("own_v1_unmarked", "")
    result = to_tool_result("NETWORK_ERROR", f"Network error: {id}", True, "json")
    return CallToolResult(content=result.content)


TOOLS: dict[Callable[..., Any], ToolAnnotations | None] = {
    handle: None,
    list_items: READS,
    pay_item: WRITES,
    **dict.fromkeys((by_literal, by_enum, by_optional, by_text, by_more, by_default), READS),
    **dict.fromkeys((by_enum_default, by_list), READS),
    **dict.fromkeys((own_typed, own_v1, own_v1_unmarked), READS),
}


def mcpserver() -> Any:
    from mcp.server import MCPServer

    server: Any = MCPServer("author", log_level="WARNING")
    for fn, hints in TOOLS.items():
        server.tool(annotations=hints)(fn)
    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP

    server: Any = FastMCP("author")
    for fn, hints in {**TOOLS, by_alias: READS}.items():
        server.tool(fn, name=fn.__name__, annotations=hints)
    return server


def lowlevel() -> Any:
    from mcp.server.lowlevel import Server

    # What a framework would list is what the author has written.
    listed = asyncio.run(mcpserver().list_tools())
    functions = {fn.__name__: fn for fn in TOOLS}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> Any:
        done = functions[params.name](**(params.arguments or {}))
        return done if isinstance(done, CallToolResult) else CallToolResult(content=[text(done)])

    return Server("author", on_list_tools=list_tools, on_call_tool=call_tool)


TABLE = fw.classify.table()


@TABLE.maps(StoreError)
def store_error(exc: StoreError) -> fw.ToolError:
    said = str(exc)
    if said.isdecimal():
        return fw.classify.from_http(int(said), {"retry-after": "30"})
    return fw.wrap(ConnectionRefusedError(111, "Connection refused"))


def main() -> None:
    global _ledger
    framework, transport, ledger, given = sys.argv[1:5]
    _ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    server = {"mcpserver": mcpserver, "fastmcp": fastmcp, "lowlevel": lowlevel}[framework]()
    if given != "--bare":
        options = json.loads(given)
        if options.pop("table", False):
            options["table"] = TABLE
        if show := options.pop("show", ()):
            options["guard"] = Guard.make(show=show)
        options["hooks"] = [lambda event: note("event", event.tool, str(event.error and event.error.code))]
        failwell.server.install(server, **options)
    if transport == "stdio":
        asyncio.run(run_stdio(framework, server))
    else:
        run_http(framework, server)


if __name__ == "__main__":
    main()
