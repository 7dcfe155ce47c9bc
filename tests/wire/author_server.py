"""A server whose tools fail as the authors of the five contracts have them fail, in the ways that their own words cover.

    python author_server.py SERVER stdio|http LEDGER OPTIONS

SERVER is `mcpserver` or `fastmcp`. OPTIONS are the options of `install` as JSON; `--bare` is none; `{"envelope": {...}}`
stands for `format=Envelope(...)`. `ran TOOL CASE` is appended to LEDGER when a tool runs.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field
from shop_server import run_http, run_stdio

import failwell as fw
import failwell.server

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
HELD = [{"agent_id": f"a{number}", "pattern": "*", "held_by": f"a{number}"} for number in range(200)]
TYPED = '{"type":"CONFLICT","message":"It is held.","recoverable":true,"data":{"conflicts":[{"held_by":"a1"}]}}'
V1 = {"kind": "toolError:v1", "code": "SERVER_ERROR", "message": "It is down.", "retryable": False}
XML = """<tool_error code="CONFLICT" severity="error">
  <message>It is booked.</message>
  <recovery>Call slots.list and book another one.</recovery>
</tool_error>"""
FAILED = {"success": False, "data": None, "error": {"code": "x_api_error", "message": "It is down.", "retryable": True}}
_ledger = -1
_framework = ""


def result(said: str, failed: bool = False, held: dict[str, Any] | None = None) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said)], structured_content=held, is_error=failed)


def framework_error(said: str) -> Exception:
    if _framework == "fastmcp":
        from fastmcp.exceptions import ToolError
    else:
        from mcp.server.mcpserver.exceptions import ToolError
    return ToolError(said)


def get_status(status: int) -> None:
    reply = httpx2.MockTransport(lambda request: httpx2.Response(status, request=request))
    with httpx2.Client(transport=reply) as client:
        client.get("https://store.example/items").raise_for_status()


def meet(case: str) -> Any:
    match case.split():
        case ["contract"]:
            raise framework_error(TYPED)
        case ["contract", "xml"]:
            raise framework_error(XML)
        case ["details"]:
            raise fw.Conflict("It is held.", details={"conflicts": HELD[:1], "retry_after": 30, "note": "x"})
        case ["many"]:
            raise fw.Conflict("It is held.", conflicts=HELD)
        case ["many", "details"]:
            raise fw.Conflict("It is held.", details={"conflicts": HELD})
        case ["doubt"]:
            raise fw.ToolError("Slow.", code="RATE_LIMITED", retry_after=30, effect="unknown")
        case ["http", status]:
            get_status(int(status))
        case ["v1"]:
            return result(json.dumps(V1), True)
        case ["v1", "beside"]:
            blocks = [TextContent(type="text", text=text) for text in ("Sorry, no luck today.", json.dumps(V1))]
            return CallToolResult(content=blocks)
        case ["xml"]:
            return result(XML, True)
        case ["custom"]:
            raise fw.ToolError("It is paid.", code="InvoiceAlreadyPaid", suggestion="Refund it with invoices.refund.")
        case ["steps"]:
            raise fw.NotFound("No such device.", suggestion="List them.", next_steps=["Check the id.", "Add it"])
        case ["envelope"]:
            return result(json.dumps(FAILED))
        case ["own"]:
            return result("The store is closed.", True)
        case ["summary"]:
            return result("Two posts.", held={"posts": [1, 2]})
        case ["mcp", *rest]:
            data = {"mcp_error_code": "CONFLICT", "details": "It exists.", "device_id": "dev-1"} if rest else None
            raise MCPError(-32004, "Conflict", data)
        case ["value"]:
            raise ValueError("limit must be at most 100")
        case ["item" | "items" as what, *rest]:
            item = Item(id="1", amountCents=math.nan if rest else 5)
            return item if what == "item" else [item]
        case ["asks"]:
            raise fw.NeedsInput("Which one?", fields=["case"], reason="There are two.")
    return f"found {case}"


def act(tool: str, case: str) -> Any:
    os.write(_ledger, f"ran {tool} {case}\n".encode())
    return meet(case)


def get_it(case: str):
    return act("get_it", case)


def pay_it(case: str):
    return act("pay_it", case)


class Model(BaseModel):
    name: str


def get_text(case: str) -> str:
    return str(act("get_text", case))


def get_model(case: str) -> Model:
    return Model(name=str(act("get_model", case)))


class Item(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    id: str
    amount: float = Field(0.0, alias="amountCents")


def get_one(case: str) -> Item:
    return Item(id="1", amountCents=math.nan if case == "nan" else 5)


def get_many(case: str) -> list[Item]:
    return [get_one(case)]


class Order(BaseModel):
    item: Item
    items: list[Item] = []


def add_order(order: Order) -> str:
    return "added"


def open_box(api_key: Literal["gold", "silver"]) -> str:
    return "open"


TOOLS: dict[Callable[..., Any], ToolAnnotations] = {
    **dict.fromkeys((get_it, get_text, get_model, get_one, get_many), READS),
    **dict.fromkeys((pay_it, add_order, open_box), WRITES),
}


def make() -> Any:
    if _framework == "fastmcp":
        from fastmcp import FastMCP

        server: Any = FastMCP("author")
    else:
        from mcp.server import MCPServer

        server = MCPServer("author", log_level="CRITICAL")
    for fn, hints in TOOLS.items():
        server.tool(annotations=hints)(fn)

    @server.resource("store://shelf")
    def shelf() -> str:
        return str(meet("mcp data"))

    @server.prompt()
    def greet() -> str:
        return str(meet("mcp data"))

    return server


def main() -> None:
    global _ledger, _framework
    _framework, transport, ledger, given = sys.argv[1:5]
    _ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    server = make()
    if given != "--bare":
        options = json.loads(given)
        if (envelope := options.pop("envelope", None)) is not None:
            options["format"] = failwell.server.Envelope(**envelope)
        failwell.server.install(server, **options)
    if transport == "stdio":
        asyncio.run(run_stdio(_framework, server))
    else:
        run_http(_framework, server)


if __name__ == "__main__":
    main()
