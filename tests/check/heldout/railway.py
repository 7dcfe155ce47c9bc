"""A timetable without any SDK: lines of JSON, written by hand. `railway_defects.py` has the defects that are planted in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

Json = dict[str, Any]
READS = {"readOnlyHint": True}
STATIONS = {"KGX": "King's Cross", "YRK": "York", "EDB": "Edinburgh"}
KINDS = ("train", "bus", "ferry")
TOOLS: list[Json] = [
    {
        "name": "find_station",
        "description": "Looks up the code of a station by a part of its name.",
        "annotations": READS,
        "inputSchema": {
            "type": "object",
            "properties": {"part": {"type": "string", "minLength": 2, "examples": ["York"]}},
            "required": ["part"],
            "additionalProperties": False,
        },
    },
    {
        "name": "departures",
        "description": "The next departures from a station.",
        "annotations": READS,
        "inputSchema": {
            "type": "object",
            "properties": {
                "station": {"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["YRK"]},
                "kind": {"enum": list(KINDS)},
                "limit": {"type": "integer", "minimum": 1, "maximum": 40},
            },
            "required": ["station"],
            "additionalProperties": False,
        },
    },
]


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def said(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


def sorry(text: str) -> Json:
    return {**said(text), "isError": True}


class Railway:
    """The mended one."""

    capabilities: ClassVar[Json] = {"tools": {}}

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            for frame in self.frames(line.decode("utf-8", "replace")):
                print(json.dumps(frame), flush=True)

    def frames(self, line: str) -> Iterator[Json]:
        try:
            message = json.loads(line)
        except ValueError:
            yield {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "That line is not JSON."}}
            return
        yield from self.replies(message)

    def sound(self, message: Any) -> bool:
        return (
            isinstance(message, dict)
            and message.get("jsonrpc") == "2.0"
            and isinstance(message.get("method"), str)
            and isinstance(message.get("id", 0), str | int)
            and not isinstance(message.get("id"), bool)
            and isinstance(message.get("params", {}), dict)
        )

    def replies(self, message: Any) -> Iterator[Json]:
        if not self.sound(message):
            yield {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "That is not a request."}}
        elif "id" in message:
            yield self.reply(message)

    def reply(self, message: Json) -> Json:
        try:
            return {
                "jsonrpc": "2.0",
                "id": message["id"],
                "result": self.handle(message["method"], message.get("params", {})),
            }
        except Refused as no:
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": no.code, "message": str(no)}}

    def handle(self, method: str, params: Json) -> Json:
        if method == "initialize":
            if not isinstance(params.get("protocolVersion"), str):
                raise Refused(-32602, "initialize needs a protocolVersion.")
            return {
                "protocolVersion": self.version(params["protocolVersion"]),
                "capabilities": self.capabilities,
                "serverInfo": {"name": "railway", "version": "3.1"},
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": TOOLS}
        if method == "tools/call":
            return self.asked(params)
        return self.other(method, params)

    def version(self, wanted: str) -> str:
        return wanted if wanted in ("2025-06-18", "2025-11-25") else "2025-11-25"

    def other(self, method: str, params: Json) -> Json:
        raise Refused(-32601, f"There is no method {method[:40]!r} here.")

    def asked(self, params: Json) -> Json:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise Refused(-32602, "tools/call needs a name, and arguments as an object.")
        return self.call(name, arguments)

    def call(self, name: str, arguments: Json) -> Json:
        if name == "find_station":
            wrong = self.stray(name, arguments, ["part"]) or self.wrong_part(arguments)
            return sorry(wrong) if wrong else self.found(arguments["part"])
        if name == "departures":
            wrong = self.stray(name, arguments, ["station", "kind", "limit"]) or self.wrong(arguments)
            return sorry(wrong) if wrong else self.board(arguments)
        return self.no_tool(name)

    def stray(self, tool: str, arguments: Json, known: list[str]) -> str | None:
        for name in arguments:
            if name not in known:
                return f"{tool} has no parameter {json.dumps(name)[:40]}; its parameters are {', '.join(known)}. Leave it out."
        return None

    def wrong_part(self, arguments: Json) -> str | None:
        part = arguments.get("part")
        if not isinstance(part, str) or len(part) < 2:
            return "Give part as text of two letters or more, say York."
        return None

    def wrong(self, arguments: Json) -> str | None:
        station = arguments.get("station")
        if (
            not isinstance(station, str)
            or len(station) != 3
            or not (station.isascii() and station.isalpha() and station.isupper())
        ):
            return self.bad_station(station)
        if "kind" in arguments and arguments["kind"] not in KINDS:
            return self.bad_kind(arguments["kind"])
        limit = arguments.get("limit", 10)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 40:
            return self.bad_limit(limit)
        return None

    def bad_station(self, value: Any) -> str:
        return "station has to be the three capital letters of a station, like YRK. Use find_station to look it up."

    def bad_kind(self, value: Any) -> str:
        return "kind can be train, bus or ferry. Pick one of the three or omit it."

    def bad_limit(self, value: Any) -> str:
        return "limit is a whole number between 1 and 40. Choose a smaller or larger one."

    def found(self, part: str) -> Json:
        hits = [f"{code} {name}" for code, name in STATIONS.items() if part.lower() in name.lower()]
        if hits:
            return said("\n".join(hits))
        return sorry("No station has that in its name. Ask the user for another spelling, and look that up.")

    def board(self, arguments: Json) -> Json:
        if arguments["station"] not in STATIONS:
            return self.nowhere(arguments["station"])
        return said(f"10:04 from {STATIONS[arguments['station']]}, platform 3")

    def nowhere(self, code: str) -> Json:
        return sorry(f"{code} is not on our network. Look the right code up with find_station and use that.")

    def no_tool(self, name: str) -> Json:
        return sorry(f"We do not offer {json.dumps(name)[:40]}. Did you mean {self.nearest(name)}? Call that.")

    def nearest(self, name: str) -> str:
        return max((tool["name"] for tool in TOOLS), key=lambda known: len(set(known) & set(name)))
