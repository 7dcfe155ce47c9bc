"""A server that somebody else wrote, without an SDK: it sends a reminder, and dies of it before it says so."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

CUSTOMER = {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}
TOOLS = [
    {"name": "send_reminder", "inputSchema": CUSTOMER, "annotations": {"readOnlyHint": False}},
    {"name": "list_reminders", "inputSchema": CUSTOMER, "annotations": {"readOnlyHint": True}},
]


def called(tool: str, customer: str, sent: Path) -> dict[str, Any]:
    if tool == "send_reminder":
        with sent.open("a", encoding="utf-8") as file:
            file.write(f"{customer}\n")
        print("Error: out of memory", file=sys.stderr, flush=True)
        os._exit(137)
    count = sent.read_text(encoding="utf-8").split().count(customer) if sent.exists() else 0
    return {"content": [{"type": "text", "text": f"reminders sent to {customer}: {count}"}]}


def serve(sent: Path) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        result: dict[str, Any] = {"tools": TOOLS}
        if request["method"] == "tools/call":
            result = called(request["params"]["name"], request["params"]["arguments"]["customer"], sent)
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
