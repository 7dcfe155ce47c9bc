"""A small server that quotes what it was given in every failure, or has a name that is none."""

from __future__ import annotations

import json
import os
import sys

GIVEN = os.environ.get("MY_API_TOKEN", "")
# What a terminal acts on, what CI does, what turns the line around, and half a character.
TRICKS = "get_\x1b]0;pwned\x07\x1b[2J\x00\u202e\n::error::pwned\n##vso[task.setvariable variable=a]b\r\ud800"
NAME = TRICKS if "name" in sys.argv else "get_x"
WORDS = TRICKS if "words" in sys.argv else f"cannot reach the shop with {GIVEN} of {' '.join(sys.argv[1:])}"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
TOOL = {"name": NAME, "description": WORDS, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": WORDS, "version": "1"},
}


def answer(method: str) -> dict[str, object]:
    if method == "initialize":
        return {"result": HELLO}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        return {
            "result": {"content": [{"type": "text", "text": WORDS}], "structuredContent": {WORDS: 1}, "isError": True}
        }
    return {"error": {"code": -32601, "message": WORDS}}


print("started", GIVEN, file=sys.stderr)
if "mute" in sys.argv:
    sys.exit(3)
for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if isinstance(message, dict) and message.get("id") is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message.get("method", ""))}), flush=True)
