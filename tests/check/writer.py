"""A server that really writes, and does not care about its own schemas: every call of a tool leaves a line in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PLACE = Path(sys.argv[1])
TEXT = {"type": "string"}


def schema(*required: str, **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required)}


TOOLS = [
    {"name": "wipe", "inputSchema": schema()},
    {"name": "wipe_marked", "inputSchema": schema(), "annotations": {"destructiveHint": True}},
    {"name": "wipe_maybe", "inputSchema": schema(path=TEXT)},
    {"name": "get_all", "inputSchema": schema()},
    {"name": "broken", "inputSchema": {"type": "object", "properties": {"path": TEXT}, "required": "path"}},
    {"name": "none_at_all"},
    {"name": "both", "inputSchema": schema(), "annotations": {"readOnlyHint": True, "destructiveHint": True}},
    {"name": "same_again", "inputSchema": schema(), "annotations": {"idempotentHint": True}},
    {
        "name": "delete",
        "inputSchema": schema("path", "mode", path=TEXT, mode={"enum": ["soft", "hard"]}, force={"type": "boolean"}),
    },
    {"name": "pay", "inputSchema": schema("amount", "note", amount={"type": "number", "minimum": 1}, note={})},
    {
        "name": "store",
        "inputSchema": schema(
            "key", "value", key={"anyOf": [TEXT, {"type": "integer"}]}, value={"type": ["object", "array"]}
        ),
        "annotations": {"readOnlyHint": False},
    },
    {"name": "peek", "inputSchema": schema("key", key=TEXT), "annotations": {"readOnlyHint": True}},
]


def main() -> None:
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            continue
        if not isinstance(request, dict) or "id" not in request:
            continue
        method, params = request.get("method"), request.get("params")
        result: dict[str, object] = {}
        if method == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "w", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            with PLACE.open("a") as file:
                file.write(json.dumps(params) + "\n")
            result = {"content": [{"type": "text", "text": "done"}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
