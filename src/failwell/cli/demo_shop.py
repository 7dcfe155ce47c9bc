"""The server of the demo: a shop whose tools fail as real ones do. `python -m failwell.cli.demo_shop DB [--plain]`."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

import failwell as fw
import failwell.server

READS: Final = ToolAnnotations(read_only_hint=True)
WRITES: Final = ToolAnnotations(read_only_hint=False)
TABLES: Final = """
CREATE TABLE payments (invoice TEXT);
CREATE TABLE orders (customer TEXT, item TEXT);
CREATE TABLE addresses (customer TEXT, address TEXT);
CREATE TABLE reminders (customer TEXT);
"""


def build(path: str, *, plain: bool = False) -> MCPServer:
    """The shop, with one line of Failwell or without it."""
    server = MCPServer("shop", log_level="CRITICAL")

    @contextmanager
    def books() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(path, timeout=0.05)) as database, database:
            yield database

    @server.tool(annotations=WRITES)
    def pay_invoice(id: str) -> str:
        with books() as database:
            database.execute("INSERT INTO payments VALUES (?)", (id,))
        # The money is gone; what gets lost is the answer.
        raise TimeoutError("the bank did not answer in time")

    @server.tool(annotations=READS)
    def get_invoice(id: str) -> str:
        with books() as database:
            (paid,) = database.execute("SELECT count(*) FROM payments WHERE invoice = ?", (id,)).fetchone()
        return f"{id}: {'paid' if paid else 'open'}"

    @server.tool(annotations=READS)
    def find_orders(customer: str, limit: int = 10) -> list[str]:
        with books() as database:
            found = database.execute("SELECT item FROM orders WHERE customer = ? LIMIT ?", (customer, limit))
            return [item for (item,) in found]

    @server.tool(annotations=WRITES)
    def place_order(customer: str, item: str) -> str:
        with books() as database:
            if not database.execute("SELECT 1 FROM addresses WHERE customer = ?", (customer,)).fetchone():
                raise fw.NotFound(f"{customer} has no address.", actions=["set_address"])
            database.execute("INSERT INTO orders VALUES (?, ?)", (customer, item))
        return f"{item} for {customer}: ordered"

    @server.tool(annotations=WRITES)
    def set_address(customer: str, address: str) -> str:
        with books() as database:
            database.execute("INSERT INTO addresses VALUES (?, ?)", (customer, address))
        return f"{customer}: {address}"

    @server.tool(annotations=WRITES)
    def send_reminder(customer: str) -> str:
        with books() as database:
            database.execute("INSERT INTO reminders VALUES (?)", (customer,))
        print("Error: out of memory", file=sys.stderr, flush=True)
        os._exit(137)

    @server.tool(annotations=READS)
    def list_reminders(customer: str) -> str:
        with books() as database:
            (sent,) = database.execute("SELECT count(*) FROM reminders WHERE customer = ?", (customer,)).fetchone()
        return f"reminders sent to {customer}: {sent}"

    if not plain:
        failwell.server.install(server)
    return server


if __name__ == "__main__":
    build(sys.argv[1], plain="--plain" in sys.argv).run()
