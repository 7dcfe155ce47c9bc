"""A server whose tools ask a service over HTTP: python fetching.py plain|installed."""

from __future__ import annotations

import os
import sys

import httpx
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("fetching", log_level="CRITICAL")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get_invoice(invoice_id: str) -> str:
    """One invoice."""
    answer = httpx.get(f"{os.environ['BILLING_URL']}/invoices/{invoice_id[:20]}", timeout=2)
    answer.raise_for_status()
    return str(answer.json())


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get_rate(currency: str) -> str:
    """One rate, whatever the service says."""
    return httpx.get(f"https://rates.example.invalid/{currency[:20]}", timeout=2).text


@server.tool(annotations=ToolAnnotations(read_only_hint=False))
def pay(invoice_id: str) -> str:
    """Pay an invoice."""
    httpx.post(f"{os.environ['BILLING_URL']}/pay/{invoice_id[:20]}", timeout=2).raise_for_status()
    return "paid"


if sys.argv[1] == "installed":
    import failwell.server

    failwell.server.install(server)
server.run()
