"""Servers that behave badly, each in one way: python rough.py MODE."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

MODE = sys.argv[1]
READS = {"readOnlyHint": True}
NODE: dict[str, Any] = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}}, "required": ["child"]}
SCHEMAS: dict[str, Any] = {
    "recursive": {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}},
        "required": ["tree"],
        "$defs": {"Node": NODE},
    },
    "itself": {"$ref": "#"},
    "invalid": {"type": "objekt", "properties": ["a"], "required": {"a": 1}},
    "worse": {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "(["}, "b": {"minimum": "x"}},
        "required": ["a", "b"],
    },
    "list": [],
    "text": "none",
    "outside": {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/x.json"}}, "required": ["a"]},
}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
held: list[str] = []


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def tools() -> list[dict[str, Any]]:
    if MODE == "many":
        return [{"name": f"tool_{number}", "inputSchema": CITY} for number in range(2_000)]
    if MODE == "schemas":
        return [{"name": name, "inputSchema": schema, "annotations": READS} for name, schema in SCHEMAS.items()]
    return [{"name": "weather", "inputSchema": CITY, "annotations": READS}]


def call(params: dict[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    city = given.get("city")
    known = name == "weather" or str(name).startswith("tool_") or name in SCHEMAS
    if known and given.keys() == {"city"} and isinstance(city, str) and len(city) < 100 and city.isprintable():
        return {"content": [{"type": "text", "text": "12 degrees"}]}
    text = f"There is no tool {str(name)[:40]!r}; there is weather."
    if known:
        odd = next((f"There is no argument {each[:40]!r}. " for each in given if each != "city"), "")
        text = f'{odd}city must be the name of a city, a string. Call weather with {{"city": "Oslo"}}.'
    if MODE == "coded":
        text = json.dumps({"code": "NO_CITY", "message": text})
    return {"content": [{"type": "text", "text": text}], "isError": True}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    method = request.get("method")
    if method == "initialize":
        return {
            "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": MODE}}
        }
    if method == "tools/list":
        return {"result": {"tools": tools()}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/call":
        return {"result": call(request.get("params") or {})}
    return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    if MODE == "noise":
        say("Starting up!")
    if MODE == "mute":
        time.sleep(600)
    if MODE == "needs":
        sys.exit("error: WEATHER_KEY is not set")
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            if MODE == "fragile":
                os._exit(1)
            continue
        if not isinstance(request, dict) or "method" not in request or request.get("jsonrpc") != "2.0":
            continue
        if not isinstance(request.get("id"), int | str):
            continue
        is_well_formed = isinstance(request.get("params", {}), dict)
        bad = {"error": {"code": -32602, "message": "params is an object"}}
        told = answer(request) if is_well_formed else bad
        response = json.dumps({"jsonrpc": "2.0", "id": request["id"], **told})
        is_call = request["method"] == "tools/call"
        arguments = (request.get("params") or {}).get("arguments") if is_call else None
        if MODE == "dies" and is_call and arguments == {}:
            os._exit(3)
        if MODE == "silent" and is_call:
            if place := os.environ.get("ROUGH_CALLED"):
                open(place, "w").close()
            continue
        if MODE == "hangs" and is_call and arguments == {} and request["params"].get("name") == "weather":
            time.sleep(600)
        if MODE == "late" and is_call:
            # Behind whatever is asked next.
            held.append(response)
            continue
        say(response)
        while held:
            say(held.pop())
        if MODE == "twice" and is_call:
            say(response)
        if MODE == "noise":
            say("debug: answered")


if __name__ == "__main__":
    main()
