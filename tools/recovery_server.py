"""One server of the recovery table: the same tools under each framework, with Failwell and without.

    python recovery_server.py SERVER SERVICE_URL WAREHOUSE_URL FOLDER

The tools are written as people write them: they call a service, and let what it raises go. Nothing in them knows of
Failwell.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx2
from mcp_types import ToolAnnotations
from pydantic import Field

TIMEOUT = 1.0


@dataclass(frozen=True)
class Kind:
    framework: str
    options: dict[str, Any]
    passes_texts_on: bool = False
    guarded: bool = False


SERVERS = {
    "mcp": Kind("mcp", {}),
    "mcp, told": Kind("mcp", {}, passes_texts_on=True),
    "fastmcp": Kind("fastmcp", {}),
    "fastmcp, masked": Kind("fastmcp", {"mask_error_details": True}),
    "mcp+failwell": Kind("mcp", {}, guarded=True),
    "fastmcp+failwell": Kind("fastmcp", {}, guarded=True),
}


class Shop:
    """The tools."""

    def __init__(self, service: str, warehouse: str, notes: Path) -> None:
        self._service, self._warehouse, self._notes = service, warehouse, notes
        self._http = httpx2.Client(timeout=TIMEOUT, trust_env=False, verify=False)

    def _ask(self, method: str, url: str, data: dict[str, Any] | None = None) -> str:
        response = self._http.request(method, url, json=data)
        response.raise_for_status()
        return response.text

    def get_invoice(self, invoice: str) -> str:
        """An invoice, and whether it is paid (done)."""
        return self._ask("GET", f"{self._service}/invoice/{invoice}")

    def find_invoices(self, customer: str, status: Literal["open", "paid", "overdue"] = "open") -> str:
        """The invoices of a customer."""
        return self._ask("GET", f"{self._service}/customer/{customer}?status={status}")

    def pay_invoice(
        self,
        invoice: str,
        amount: Annotated[int, Field(ge=1, le=10_000)],
        currency: Literal["EUR", "USD", "GBP"] = "EUR",
    ) -> str:
        """Pay an invoice."""
        return self._ask("POST", f"{self._service}/invoice/{invoice}", {"amount": amount, "currency": currency})

    def refund_invoice(self, invoice: str, reason: str) -> str:
        """Pay the money for an invoice back."""
        return self._ask("POST", f"{self._service}/invoice/{invoice}", {"refund": reason})

    def get_price(self, item: str) -> str:
        """The price of an item, and the version of its record."""
        return self._ask("GET", f"{self._service}/price/{item}")

    def set_price(self, item: str, price: int, version: int) -> str:
        """Change the price of an item whose record is at this version."""
        return self._ask("PUT", f"{self._service}/price/{item}", {"price": price, "version": version})

    def order_item(self, item: str, quantity: int) -> str:
        """Order an item from the warehouse."""
        return self._ask("POST", f"{self._warehouse}/order/{item}", {"quantity": quantity})

    def print_label(self, order: str) -> str:
        """Print the label of an order."""
        return self._ask("POST", f"{self._service}/label/{order}", {"label": order})

    def add_note(self, invoice: str, text: str) -> str:
        """Write a note about an invoice."""
        with closing(sqlite3.connect(self._notes, timeout=0.01)) as database, database:
            database.execute("INSERT INTO notes VALUES (?, ?)", (invoice, json.dumps({"text": text})))
        return json.dumps({"done": True, "id": invoice})

    def average_payment(self, month: str) -> str:
        """What was paid on average in a month."""
        payments = json.loads(self._ask("GET", f"{self._service}/month/{month}"))["payments"]
        return str(sum(payment["amount"] for payment in payments) / len(payments))


READS = ("get_invoice", "find_invoices", "get_price", "average_payment")
WRITES = ("pay_invoice", "refund_invoice", "set_price", "order_item", "print_label", "add_note")


def passing_on(tool: Callable[..., str]) -> Callable[..., str]:
    """As careful authors do with the SDK, which hides all but its own exception: the text is handed to the model."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def told(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except Exception as exc:
            raise ToolError(str(exc)) from exc

    return told


def build(kind: Kind, shop: Shop) -> Any:
    server: Any
    if kind.framework == "mcp":
        from mcp.server import MCPServer

        server = MCPServer("shop", **kind.options)
    else:
        from fastmcp import FastMCP

        server = FastMCP("shop", **kind.options)
    for name in (*READS, *WRITES):
        tool = getattr(shop, name)
        hints = ToolAnnotations(read_only_hint=name in READS)
        server.tool(annotations=hints)(passing_on(tool) if kind.passes_texts_on else tool)
    if kind.guarded:
        import failwell.server

        failwell.server.install(server)
    return server


def main(name: str, service: str, warehouse: str, folder: str) -> None:
    # What a server logs is for its operator, and the SDK takes a third of a second to draw a traceback.
    logging.disable(logging.CRITICAL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    kind, place = SERVERS[name], Path(folder)
    server = build(kind, Shop(service, warehouse, place / "notes.db"))
    (place / "server.pid").write_text(str(os.getpid()))
    server.run(**({"show_banner": False} if kind.framework == "fastmcp" else {}))


if __name__ == "__main__":
    main(*sys.argv[1:])
