"""A server whose calls are seen: with a tool of each sort of failure, and the store given by the environment."""

from __future__ import annotations

import os

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

import failwell as fw
from failwell.server import install

server = MCPServer("shop")
calls: dict[str, int] = {}


def times(name: str) -> int:
    calls[name] = calls.get(name, 0) + 1
    return calls[name]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def search(query: str) -> str:
    if query == "busy" and times("busy") < 3:
        raise fw.Transient("The index is busy.", code="RATE_LIMITED", retry_after=0.01)
    return f"found {query}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get_invoice(invoice: str) -> str:
    return f"{invoice} is open"


@server.tool()
@fw.raises("INVOICE_PAID", "INVOICE_GONE")
def pay(invoice: str) -> str:
    if invoice == "inv_1":
        # Nobody raised it on purpose.
        return dict[str, str]()["receipt"]
    if invoice == "inv_2":
        raise fw.Conflict("It was paid.", code="INVOICE_PAID")
    raise fw.Conflict("It is locked.", code="INVOICE_LOCKED")


install(server, hooks=list(filter(None, [os.environ.get("SEEN_EVENTS")])))

if __name__ == "__main__":
    server.run()
