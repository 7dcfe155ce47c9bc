"""A bank whose answers get lost: `python keyed_bank.py LEDGER STORE [PORT]`; STORE is `memory` or a path."""

import os
import sys
import time
from pathlib import Path

from mcp.server import MCPServer

import failwell.server
from failwell.idempotency import KeysOnDisk

ledger, store = Path(sys.argv[1]), sys.argv[2]
server = MCPServer("bank", log_level="ERROR")


@server.tool()
def pay(id: str, then: str = "") -> str:
    """Pay, and then die or sleep the first time if that is asked for."""
    first = id not in ledger.read_text().split()
    with ledger.open("a") as file:
        print(id, file=file, flush=True)
    if first and then == "die":
        os._exit(1)
    if first and then == "sleep":
        time.sleep(6)
    return f"Paid {id}."


@server.tool(annotations={"idempotentHint": True})
def settle(id: str) -> str:
    """Settle, and die the first time."""
    return pay(id, "die")


@server.tool(annotations={"readOnlyHint": True})
def get_payment(id: str) -> str:
    """How often it was paid."""
    return str(ledger.read_text().split().count(id))


failwell.server.install(server, idempotency=True if store == "memory" else KeysOnDisk(store))
if len(sys.argv) > 3:
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[3]))
else:
    server.run()
