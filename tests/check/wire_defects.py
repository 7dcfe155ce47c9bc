"""Desks with one line of the wire made worse: what no tool decides."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from desk import Desk, Json


class NumberAsText(Desk):
    def outgoing(self, line: bytes) -> Iterable[bytes]:
        frame = json.loads(line)
        if frame.get("result", {}).get("isError"):
            frame["result"]["content"] = [{"type": "text", "text": 404}]
        return (json.dumps(frame).encode() + b"\n",)


class SilentOnJunk(Desk):
    def unreadable(self) -> None:
        pass


class Calls(Desk):
    """Sees which lines answer a call."""

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        if frame.get("method") == "tools/call":
            self.asked[frame.get("id")] = frame
        return (line,)

    def outgoing(self, line: bytes) -> Iterable[bytes]:
        frame = json.loads(line)
        call = self.asked.pop(frame.get("id"), None) if "method" not in frame else None
        return (line,) if call is None else self.called(call, frame, line)

    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        return (line,)


class WrongId(Calls):
    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        if frame.get("result", {}).get("isError"):
            frame["id"] = f"{frame['id']}-0" if isinstance(frame["id"], str) else frame["id"] + 1_000
        return (json.dumps(frame).encode() + b"\n",)


class IdAsText(Calls):
    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        frame["id"] = (
            int(frame["id"]) if str(frame["id"]).isdecimal() and isinstance(frame["id"], str) else str(frame["id"])
        )
        return (json.dumps(frame).encode() + b"\n",)


class Twice(Calls):
    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        return (line, line) if frame.get("result", {}).get("isError") else (line,)


class Banner(Desk):
    banner = "Library server v1.0 ready, 3 books loaded.\n"


class AnyMethod(Desk):
    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        known = (
            "initialize",
            "ping",
            "tools/",
            "notifications/",
            "server/",
            "resources/",
            "prompts/",
            "logging/",
            "completion/",
        )
        if "id" in frame and not str(frame.get("method", "")).startswith(known):
            self.reply({"id": frame["id"], "result": {}})
            return ()
        return (line,)


class Hangs(Calls):
    """Says nothing to a call whose value has the wrong type, and goes on with the others."""

    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        return () if b"must be" in line else (line,)


class Results(Calls):
    """Sees the results that tell of a failure."""

    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        if not frame.get("result", {}).get("isError"):
            return (line,)
        return (json.dumps(self.failure(frame)).encode() + b"\n",)

    def failure(self, frame: Json) -> Json:
        return frame


class NoContent(Results):
    """Answers in the shape of a protocol that is gone."""

    def failure(self, frame: Json) -> Json:
        return {**frame, "result": {"toolResult": frame["result"]["content"], "isError": True}}


class NoMessage(Results):
    """An error whose code is a word, and which says nothing."""

    def failure(self, frame: Json) -> Json:
        return {"jsonrpc": "2.0", "id": frame["id"], "error": {"code": "NOT_FOUND"}}


class SecondBlock(Results):
    """Says what happened in the second block; the first one is a greeting."""

    def failure(self, frame: Json) -> Json:
        frame["result"]["content"].insert(0, {"type": "text", "text": ""})
        return frame


class Structured(Calls):
    """Lists an output schema."""

    def outgoing(self, line: bytes) -> Iterable[bytes]:
        frame = json.loads(line)
        for tool in frame.get("result", {}).get("tools", ()):
            tool["outputSchema"] = {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
            }
        return super().outgoing(json.dumps(frame).encode() + b"\n")

    def called(self, call: Json, frame: Json, line: bytes) -> Iterable[bytes]:
        result = frame.get("result", {})
        if result.get("isError"):
            result |= self.structure(result)
        elif "content" in result:
            result["structuredContent"] = {"title": result["content"][0]["text"]}
        return (json.dumps(frame).encode() + b"\n",)

    def structure(self, result: Json) -> Json:
        return {}


class BrokenStructure(Structured):
    """A failure in structured content that the tool's own output schema forbids: some clients throw."""

    def structure(self, result: Json) -> Json:
        return {"structuredContent": {"error": {"code": "FAILED", "message": result["content"][0]["text"]}}}


class BlamesItself(Desk):
    """A malformed call answered as an internal error."""

    def outgoing(self, line: bytes) -> Iterable[bytes]:
        return (line.replace(b'"code":-32602', b'"code":-32603'),)


class AnswersNotices(Desk):
    """Answers what asks for no answer."""

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        if "id" not in frame and frame.get("method") != "notifications/initialized":
            self.reply({"id": None, "result": {}})
        return (line,)


class TakesFragments(Desk):
    """Carries out what is no JSON-RPC."""

    def incoming(self, line: bytes) -> Iterable[bytes]:
        try:
            frame = json.loads(line)
        except ValueError:
            return super().incoming(line)
        if isinstance(frame, dict) and frame.get("jsonrpc") != "2.0":
            line = json.dumps({**frame, "jsonrpc": "2.0"}).encode() + b"\n"
        return super().incoming(line)


class Prompts(Desk):
    """Answers a prompt that does not exist as the protocol wants it; the framework does not."""

    code = -32602

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        if frame.get("method") == "prompts/get" and "id" in frame:
            self.reply({"id": frame["id"], "error": {"code": self.code, "message": "There is no such prompt."}})
            return ()
        return (line,)


class InternalPrompts(Prompts):
    code = -32603


class AnyVersion(Desk):
    """Agrees to a version that never was."""

    known = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        params = frame.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        key = "io.modelcontextprotocol/protocolVersion"
        if isinstance(meta, dict) and key in meta and meta[key] not in self.known:
            meta[key] = "2026-07-28"
            return (json.dumps(frame).encode() + b"\n",)
        return (line,)


class NoList(Desk):
    """Cannot say which tools it has."""

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        if frame.get("method") == "tools/list" and "id" in frame:
            self.reply({"id": frame["id"], "error": {"code": -32603, "message": "database is locked"}})
            return ()
        return (line,)


class NoStart(Desk):
    """Ends before it has said a word."""

    def __init__(self) -> None:
        super().__init__()
        sys.exit("LIBRARY_TOKEN is not set.")
