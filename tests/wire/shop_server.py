"""A shop whose tools really write, and then really raise.

    python shop_server.py SERVER stdio|http LEDGER [OPTIONS | --bare]

SERVER is `mcpserver`, `lowlevel` or `fastmcp`, with `-group` for the same tools as actions of one group. OPTIONS are the
options of `install` as JSON. The first word of an id is the cause that its call meets: `timeout-7` pays, and times out.
A line is appended to LEDGER when a tool begins (`ran TOOL ID`) and when it has written (`did TOOL ID`). Over HTTP the port
is printed first, and the server ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import httpx2
import mcp_types as types
from mcp_types import ToolAnnotations

import failwell as fw

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
TWICE = ToolAnnotations(read_only_hint=False, idempotent_hint=True)

_ledger = -1


def note(what: str, tool: str, id: str) -> None:
    os.write(_ledger, f"{what} {tool} {id}\n".encode())


class CardDeclined(Exception):
    """The author's own type, which no table knows."""


def ask_bank(status: int) -> None:
    """One request to another service, which answers with this status."""
    reply = httpx2.MockTransport(lambda request: httpx2.Response(status, request=request))
    with httpx2.Client(transport=reply) as client:
        client.post("https://bank.example/charges").raise_for_status()


# What the author says. No sentence here may decide anything, so that some invite, some deny, and some are German.
SAYS = {
    "value": "could not parse amount from the bank response.",
    "german": "Zahlung bereits ausgeführt.",
    "invites": "The amount is wrong. Try again with another amount.",
    "lookup": "No response returned for the invoice.",
    "permission": "The mail server refused the receipt.",
    "runtime": "No seats left on that date; try 2026-12-02.",
    "own": "Die Karte wurde abgelehnt.",
    "sdk": "The receipt could not be printed.",
    "notfound": "Die Rechnung gibt es nicht.",
    "invalid": "Der Betrag ist zu hoch.",
    "denied": "Das ist nicht erlaubt.",
    "conflict": "Jemand anders bearbeitet die Rechnung.",
    "rate": "Zu viele Anfragen.",
    "passing": "Die Bank ist gerade zu.",
    "internal": "Die Buchung ist abgebrochen.",
    "unsaid": "Die Quittung fehlt.",
    "says_unknown": "Die Bank hat nicht geantwortet.",
    "says_none": "Die Bank war nicht zu erreichen.",
    "says_part": "Eine von zwei Raten ist bezahlt.",
    "says_done": "Bezahlt, aber ohne Quittung.",
}


def meet(cause: str) -> None:
    """Raise what this cause is, if it is one."""
    said = SAYS.get(cause, "")
    match cause:
        case "value" | "german" | "invites":
            raise ValueError(said)
        case "lookup":
            raise LookupError(said)
        case "permission":
            raise PermissionError(said)
        case "runtime":
            raise RuntimeError(said)
        case "own":
            raise CardDeclined(said)
        case "timeout":
            raise TimeoutError("The bank did not answer.")
        case "reset":
            raise ConnectionResetError(104, "Connection reset by peer")
        case "division":
            print(1 / 0)
        case "library":
            json.loads("{")
        case "sdk":
            raise _sdk_error(said)
        case "notfound":
            raise fw.NotFound(said)
        case "invalid":
            raise fw.Invalid(said)
        case "denied":
            raise fw.Denied(said)
        case "conflict":
            raise fw.Conflict(said)
        case "rate":
            raise fw.Transient(said, code="RATE_LIMITED", retry_after=2)
        case "passing":
            raise fw.Transient(said, code="TIMEOUT")
        case "internal":
            raise fw.Internal(said)
        case "unsaid":
            raise fw.ToolError(said)
        case "says_unknown":
            raise fw.Transient(said, code="TIMEOUT", effect="unknown")
        case "says_none":
            raise fw.Internal(said, effect="none")
        case "says_part":
            raise fw.Internal(said, effect="partial")
        case "says_done":
            raise fw.Internal(said, effect="done")
        case "dies":
            os._exit(7)
    if cause.startswith("http"):
        ask_bank(int(cause[4:]))


_sdk_error: Callable[[str], Exception] = RuntimeError


def act(tool: str, id: str) -> Any:
    note("ran", tool, id)
    note("did", tool, id)
    cause = id.partition("-")[0]
    if cause in STATED:
        return STATED[cause]
    meet(cause)
    return f"{tool} {id}: done"


def pay_invoice(id: str):
    return act("pay_invoice", id)


def create_order(id: str, amount: float = 1.0):
    """A write by its name alone."""
    return act("create_order", id)


def send_fax(id: str):
    """A write of which no other tool tells."""
    return act("send_fax", id)


def send_telegram(id: str):
    """A write that a rule guards."""
    return act("send_telegram", id)


def set_price(id: str):
    return act("set_price", id)


def frobnicate(id: str):
    """Neither its annotations nor its name say what it is."""
    return act("frobnicate", id)


def settle_invoice(id: str):
    """A write whose author has marked where it writes."""
    note("ran", "settle_invoice", id)
    cause = id.partition("-")[0]
    if cause == "before":
        raise TimeoutError
    with fw.effects() as work:
        note("did", "settle_invoice", id)
        if cause == "part":
            work.part()
            raise TimeoutError
        if cause == "inside":
            raise TimeoutError
        if cause == "refuses":
            raise ValueError("The amount is wrong.")
        if cause == "undone":
            try:
                raise ConnectionRefusedError(111, "Connection refused")
            except ConnectionRefusedError:
                work.undone()
                raise
    if cause == "denies":
        raise fw.Internal("Nothing was done.", effect="none")
    raise TimeoutError


def get_invoice(id: str):
    return look("get_invoice", id)


def get_order(id: str):
    """A read by its name alone."""
    return look("get_order", id)


def look(tool: str, id: str) -> Any:
    note("ran", tool, id)
    if id.startswith("read_"):
        meet(id.removeprefix("read_").partition("-")[0])
    return f"{tool} {id}"


TOOLS: dict[Callable[[str], Any], ToolAnnotations | None] = {
    pay_invoice: WRITES,
    create_order: None,
    send_fax: WRITES,
    send_telegram: WRITES,
    set_price: TWICE,
    frobnicate: None,
    settle_invoice: WRITES,
    get_invoice: READS,
    get_order: None,
}

CANONICAL = "io.github.failwell/tool-error"
STATED: dict[str, types.CallToolResult] = {}
"""What a server says that knows a contract, and nothing of Failwell."""


def state(cause: str, text: str, meta: dict[str, Any] | None = None) -> None:
    block = types.TextContent(type="text", text=text)
    STATED[cause] = types.CallToolResult(content=[block], is_error=True, _meta=meta)


def state_all() -> None:
    for cause, effect in (("told_none", "none"), ("told_unknown", "unknown")):
        error = fw.Transient("The bank is slow.", code="TIMEOUT", effect=effect)
        state(cause, "The bank is slow.", {CANONICAL: json.loads(fw.render(error, "canonical"))})
    v1 = {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "The bank is slow.", "retryable": True}
    state("told_retry", json.dumps(v1))
    state("told_words", "Error: the bank is slow. Please try again in 2 seconds. See /srv/bank/README.")


def mcpserver() -> Any:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    global _sdk_error
    _sdk_error = ToolError
    server: Any = MCPServer("shop", log_level="CRITICAL")
    for fn, hints in TOOLS.items():
        server.tool(annotations=hints)(fn)
    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError
    from fastmcp.tools.base import ToolResult

    global _sdk_error
    _sdk_error = ToolError
    # The framework has a class of its own for what a tool returns.
    for cause, said in list(STATED.items()):
        STATED[cause] = ToolResult(said.content, meta=said.meta, is_error=True)  # type: ignore[assignment]
    server: Any = FastMCP("shop")
    for fn, hints in TOOLS.items():
        server.tool(fn, name=fn.__name__, annotations=hints)
    return server


def lowlevel(bare: bool = False) -> Any:
    from mcp.server.lowlevel import Server

    def schema(fn: Callable[..., Any]) -> dict[str, Any]:
        properties: dict[str, Any] = {"id": {"type": "string"}}
        if fn is create_order:
            properties["amount"] = {"type": "number"}
        return {"type": "object", "properties": properties, "required": ["id"]}

    tools = {
        fn.__name__: types.Tool(
            name=fn.__name__, description=fn.__doc__ or "Work.", input_schema=schema(fn), annotations=hints
        )
        for fn, hints in TOOLS.items()
    }
    functions = {fn.__name__: fn for fn in TOOLS}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools.values()))

    async def call_tool(ctx: Any, params: Any) -> Any:
        try:
            done = functions[params.name](**(params.arguments or {}))
        except Exception as exc:
            if not bare:
                raise
            # As most servers without a framework do it.
            return types.CallToolResult(content=[types.TextContent(type="text", text=f"Error: {exc}")], is_error=True)
        if isinstance(done, types.CallToolResult):
            return done
        return types.CallToolResult(content=[types.TextContent(type="text", text=done)])

    return Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)


def grouped(framework: str) -> Any:
    """The same work as two actions of one tool."""
    from failwell.server import Group

    group = Group("billing", description="Bills.")

    @group.action("pay", annotations=WRITES)
    def pay(id: str) -> Any:
        return act("pay", id)

    @group.action("get", annotations=READS)
    def get(id: str) -> Any:
        return look("get", id)

    if framework == "mcpserver":
        from mcp.server import MCPServer

        server: Any = MCPServer("shop", log_level="CRITICAL")
    else:
        from fastmcp import FastMCP

        server = FastMCP("shop")
    group.add_to(server)
    return server


def install(server: Any, options: dict[str, Any]) -> None:
    import failwell.server

    wire = {"client": None, **options.pop("wire", {})}
    failwell.server.install(server, wire=wire, **options)


async def run_stdio(framework: str, server: Any) -> None:
    if framework == "mcpserver":
        await server.run_stdio_async()
    elif framework == "fastmcp":
        await server.run_stdio_async(show_banner=False)
    else:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def run_http(framework: str, server: Any) -> NoReturn:
    import uvicorn

    app = server.http_app(path="/mcp") if framework == "fastmcp" else server.streamable_http_app()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)

    def end_with_stdin() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="critical", log_config=None)).run(sockets=[listening])
    os._exit(0)


def main() -> None:
    global _ledger
    kind, transport, ledger, options = sys.argv[1:5]
    _ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    state_all()
    framework, _, group = kind.partition("-")
    bare = options == "--bare"
    chosen = {} if bare else json.loads(options)
    if chosen.pop("ruled", False):
        from failwell.server import rate

        TOOLS[rate(1, seconds=100_000)(send_telegram)] = TOOLS.pop(send_telegram)
    if group:
        server = grouped(framework)
    elif framework == "lowlevel":
        server = lowlevel(bare)
    else:
        server = {"mcpserver": mcpserver, "fastmcp": fastmcp}[framework]()
    if not bare:
        install(server, chosen)
    if transport == "stdio":
        asyncio.run(run_stdio(framework, server))
    else:
        run_http(framework, server)


if __name__ == "__main__":
    main()
