"""A server that does what a call asks for, and then answers as if it had not: over stdio or HTTP, in both eras.

    python once_server.py LEDGER [http]

Each arrival and each effect is a line in the ledger. What a call meets stands in its arguments. A write meets it each
time, a read only the first time. Over HTTP the first line of the output is the port.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

MODERN = "2026-07-28"
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}, "fault": {"type": "string"}}}
TOOLS = [
    {"name": "pay", "inputSchema": SCHEMA, "annotations": {"destructiveHint": True}},
    {"name": "note", "inputSchema": SCHEMA},
    {"name": "get_payment", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
]
QUESTION = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
}
Reply = tuple[int, dict[str, str], bytes] | None


class Server:
    def __init__(self, ledger: str) -> None:
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with open(ledger) as lines:
            # Of the processes before this one, too.
            self._met = {line.split()[-1] for line in lines}
        self._sessions: set[str] = set()
        self._begun = 0

    def note(self, *words: str) -> None:
        os.write(self._ledger, (" ".join(words) + "\n").encode())

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | str | None:
        """The response to a message; what it meets below JSON-RPC, in words; None if nothing is said."""
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if id is None or method is None:
            return None
        is_modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        result: dict[str, Any]
        if method == "server/discover":
            result = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
        elif method == "initialize":
            server = {"name": "once", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
        elif method == "tools/list":
            result = {"tools": TOOLS, **({"ttlMs": 0, "cacheScope": "private"} if is_modern else {})}
        elif method == "tools/call":
            met = self._call(params, is_modern=is_modern)
            if isinstance(met, str):
                return met
            key, value = ("error", met) if "code" in met else ("result", met)
            return {"jsonrpc": "2.0", "id": id, key: self._of_era(value, is_modern=is_modern and key == "result")}
        else:
            result = {}
        return {"jsonrpc": "2.0", "id": id, "result": self._of_era(result, is_modern=is_modern)}

    def _of_era(self, value: dict[str, Any], *, is_modern: bool) -> dict[str, Any]:
        return {"resultType": "complete", **value} if is_modern else value

    def _call(self, params: dict[str, Any], *, is_modern: bool) -> dict[str, Any] | str:
        tool, arguments = params["name"], params["arguments"]
        id, fault = arguments["id"], arguments["fault"]
        self.note("sent", tool, id)
        if is_modern and fault.startswith("asks") and not params.get("requestState"):
            return {"resultType": "input_required", "inputRequests": {"q": QUESTION}, "requestState": "asked"}
        self.note("done", tool, id)
        is_first = id not in self._met
        self._met.add(id)
        fault = fault.removeprefix("asks ")
        if (tool != "get_payment" or is_first) and fault not in ("fine", "asks"):
            if fault.lstrip("-").isdigit() and int(fault) < 0:
                return {"code": int(fault), "message": "The headers do not match."}
            return str(fault)
        return {"content": [{"type": "text", "text": id}], "isError": False}

    # HTTP

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (reply := await self._reply(reader)) is not None:
                status, headers, body = reply
                lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *map(": ".join, headers.items())]
                writer.write("\r\n".join([*lines, "", ""]).encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader) -> Reply:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        verb, path, _ = first.split(" ")
        if path == "/moved":
            return 307, {"Location": "/mcp"}, b""
        if verb != "POST":
            return 405, {}, b""
        message = json.loads(body)
        session, is_call = fields.get("mcp-session-id"), message.get("method") == "tools/call"
        said = self.answer(message)
        if isinstance(said, str):
            return self._refuse(said, message, session)
        if session is not None and session not in self._sessions and not is_call:
            return _refusal(404, None, -32600, "Session not found")
        if session is not None and session not in self._sessions:
            # It was done all the same.
            return 404, {}, b"Session not found"
        if said is None:
            return 202, {}, b""
        headers = {"Content-Type": "application/json"}
        if message["method"] == "initialize":
            self._begun += 1
            headers["Mcp-Session-Id"] = f"s{self._begun}"
            self._sessions.add(f"s{self._begun}")
        status = 400 if said.get("error", {}).get("code") == -32020 else 200
        return status, headers, json.dumps(said).encode()

    def _refuse(self, fault: str, message: dict[str, Any], session: str | None) -> Reply:
        status, _, how = fault.partition(" ")
        if status == "cut":
            return None
        if status == "404" and session is not None:
            self._sessions.discard(session)
        if status.startswith("3"):
            return int(status), {"Location": how or "/mcp"}, b""
        if how == "rpc":
            return _refusal(int(status), None, -32600, "Session not found")
        if how == "own":
            return _refusal(int(status), message["id"], -32602, "No such thing", {"session": "gone"})
        if how == "warning":
            return int(status), {"Content-Type": "application/json"}, b'{"severity":"warning","message":"Log in."}'
        return int(status), {"WWW-Authenticate": "Bearer"}, how.encode()


def _refusal(status: int, id: Any, code: int, text: str, data: Any = None) -> Reply:
    error = {"code": code, "message": text, **({} if data is None else {"data": data})}
    body = json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()
    return status, {"Content-Type": "application/json"}, body


def main() -> None:
    server = Server(sys.argv[1])
    if sys.argv[2:] == ["http"]:

        async def listen() -> None:
            listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
            print(listening.sockets[0].getsockname()[1], flush=True)
            await listening.serve_forever()

        asyncio.run(listen())
        return
    for line in sys.stdin:
        said = server.answer(json.loads(line))
        if isinstance(said, str):
            os._exit(1)
        if said is not None:
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
