"""A server over streamable HTTP that loses sessions, breaks streams and stands behind bad gateways, as its calls ask."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

TEXT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"name": "pay_invoice", "inputSchema": TEXT, "annotations": {"destructiveHint": True}},
    {"name": "get_invoice", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
]
ERA = "io.modelcontextprotocol/protocolVersion"


def result(id: Any, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}


@dataclass
class FaultyServer:
    """An ASGI application; what a call asks for stands before the colon in its id, and happens the first time."""

    done: list[str] = field(default_factory=list)
    """What was really done."""
    sessions: set[str] = field(default_factory=set)
    begun: int = 0
    seen: list[dict[str, str]] = field(default_factory=list)
    """The headers of each POST."""
    met: set[str] = field(default_factory=set)
    kept: dict[str, bytes] = field(default_factory=dict)
    """Answers to be fetched by the id of the last event."""
    cancelled: list[str] = field(default_factory=list)
    is_locked: bool = False
    """Whether whoever asks has to log in."""
    elsewhere: str = ""
    streams: bool = False
    """Whether it has a stream of its own for each session."""
    opened: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        method, session = scope["method"], headers.get("mcp-session-id")
        if method == "POST":
            self.seen.append(headers)
        if self.elsewhere:
            await answer(send, 307, b"", location=self.elsewhere)
        elif self.is_locked:
            await answer(send, 401, b"", **{"www-authenticate": 'Bearer resource_metadata="https://login.example/r"'})
        elif session is not None and session not in self.sessions:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}
            await answer(send, 404, json.dumps(error).encode())
        elif method == "GET":
            await self._stream(headers, receive, send)
        elif method == "DELETE":
            self.sessions.discard(str(session))
            await answer(send, 200, b"")
        else:
            await self._posted(json.loads(await body(receive)), receive, send)

    async def _stream(self, headers: dict[str, str], receive: Any, send: Any) -> None:
        last = headers.get("last-event-id")
        if last is None and not self.streams:
            await answer(send, 405, b"")
            return
        if last is None:
            await begin(send)
            self.opened += 1
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await begin(send)
        await send({"type": "http.response.body", "body": b"data: " + self.kept.pop(last) + b"\n\n"})

    async def _posted(self, message: dict[str, Any], receive: Any, send: Any) -> None:
        id, params = message.get("id"), message.get("params", {})
        if message.get("method") == "initialize":
            self.begun += 1
            self.sessions.add(f"s{self.begun}")
            welcome = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "faulty", "version": "1"},
            }
            told = json.dumps({"jsonrpc": "2.0", "id": id, "result": welcome}).encode()
            await answer(send, 200, told, **{"mcp-session-id": f"s{self.begun}"})
        elif id is None:
            await answer(send, 202, b"")
        elif message["method"] == "tools/list":
            # Over several lines, as some servers write.
            told = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS}}, indent=1).encode()
            await answer(send, 200, told)
        else:
            await self._called(id, params["name"], params["arguments"]["id"], receive, send)

    async def _called(self, id: Any, tool: str, what: str, receive: Any, send: Any) -> None:
        fault = what.partition(":")[0] if what not in self.met else ""
        self.met.add(what)
        if fault == "forget":
            self.sessions.clear()
            await answer(send, 404, b"Session not found")
            return
        if what.startswith("always"):
            # Done, and denied in every session.
            self.done.append(what)
            await answer(send, 404, b"Session not found")
            return
        if fault == "denied":
            self.done.append(what)
            error = {"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "No", "data": {"x": 1}}}
            await answer(send, 404, json.dumps(error).encode())
            return
        if fault.startswith("deny"):
            # Done, and denied by a JSON-RPC error with this status.
            self.done.append(what)
            status, code = map(int, fault.split()[1:])
            error = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "No such tool."}}
            await answer(send, status, json.dumps(error).encode())
            return
        if fault == "before":
            raise ConnectionAbortedError
        if tool == "pay_invoice":
            self.done.append(what)
        told = json.dumps(result(id, str(self.done.count(what)))).encode()
        if fault.isdigit():
            await answer(send, int(fault), b"upstream connect error or disconnect/reset before headers")
        elif fault == "-32020":
            error = {"jsonrpc": "2.0", "id": id, "error": {"code": -32020, "message": "The headers do not match."}}
            await answer(send, 400, json.dumps(error).encode())
        elif fault == "cut":
            await begin(send)
            raise ConnectionAbortedError
        elif fault == "resume":
            self.kept["e1"] = told
            await begin(send)
            await send({"type": "http.response.body", "body": b"id: e1\nretry: 1\ndata:\n\n", "more_body": False})
        elif fault == "pieces":
            # One event over several lines, in pieces that end anywhere.
            stream = b": hi\r\n\r\nid: 1\r\ndata: " + json.dumps(
                result(id, "é" * 3_000), ensure_ascii=False, indent=1
            ).encode().replace(b"\n", b"\r\ndata: ")
            await begin(send)
            for start in range(0, len(stream), 1_001):
                await send({"type": "http.response.body", "body": stream[start : start + 1_001], "more_body": True})
            await send({"type": "http.response.body", "body": b"\r\n\r\n"})
        elif fault == "large":
            await answer(send, 200, json.dumps(result(id, "x" * 60_000)).encode())
        elif fault == "largeevent":
            await begin(send)
            await send({"type": "http.response.body", "body": b"data: " + b"x" * 60_000})
        elif fault == "lost":
            error = {"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": "Session not found"}}
            await answer(send, 200, json.dumps(error).encode())
        elif fault == "cookie":
            await answer(send, 200, told, **{"set-cookie": "lane=of-one; Path=/"})
        elif fault == "quote":
            failed = result(id, f"refused {' | '.join(self.seen[-1].values())}")
            failed["result"]["isError"] = True
            await answer(send, 200, json.dumps(failed).encode())
        elif fault == "accepted":
            await answer(send, 202, b"")
        elif fault == "hang":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.cancelled.append(what)
        else:
            await answer(send, 200, told)


async def body(receive: Any) -> bytes:
    data, more = b"", True
    while more:
        part = await receive()
        data, more = data + part.get("body", b""), part.get("more_body", False)
    return data


async def begin(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b": hi\n\n", "more_body": True})
    await asyncio.sleep(0)


async def answer(send: Any, status: int, content: bytes, **headers: str) -> None:
    kind = b"application/json" if content.startswith(b"{") else b"text/plain"
    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    size = (b"content-length", str(len(content)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), size, *given]})
    await send({"type": "http.response.body", "body": content})
