"""The relay without processes: what is sent to whom is kept in lists, and time passes when a test says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from failwell import ToolError
from failwell.relay import Action, Death, Note, Quit, RelayOptions, RelayProtocol, Start, StopServer, ToClient, ToServer

TOOLS: list[dict[str, Any]] = [
    {
        "name": "pay_invoice",
        "inputSchema": {
            "type": "object",
            "properties": {"invoice_id": {"type": "string"}, "amount": {"type": "integer"}},
            "required": ["invoice_id"],
        },
        "annotations": {"readOnlyHint": False},
    },
    {
        "name": "get_invoice",
        "inputSchema": {
            "type": "object",
            "properties": {"invoice_id": {"type": "string"}},
            "required": ["invoice_id"],
        },
        "annotations": {"readOnlyHint": True},
    },
]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


def frame(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def result(id: object, text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}}


class Table:
    """A protocol, and what it wanted done since somebody last looked."""

    def __init__(self, *, modern: bool = False, connected: bool = True, **options: Any) -> None:
        self.clock = Clock()
        self.options = RelayOptions(**{"command": "pay-server", **options})
        self.protocol = RelayProtocol(self.options, self.clock, lambda: 0.5)
        self.modern = modern
        self.frames: list[bytes] = []
        self.sent: list[ToServer] = []
        self.notes: list[Note] = []
        self.starts = self.stops = 0
        self.quit: Quit | None = None
        self.do(self.protocol.begin())
        if connected:
            self.connect()

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, ToClient):
                self.frames.append(action.frame)
            elif isinstance(action, ToServer):
                self.sent.append(action)
            elif isinstance(action, Note):
                self.notes.append(action)
            elif isinstance(action, Quit):
                self.quit = action
            elif isinstance(action, StopServer):
                self.stops += 1
            elif isinstance(action, Start):
                self.starts += 1
                self.do(self.protocol.started())

    def client(self, message: Any) -> None:
        self.do(self.protocol.client(message if isinstance(message, bytes) else frame(message)))

    def server(self, message: Any) -> None:
        self.do(self.protocol.server(message if isinstance(message, bytes) else frame(message)))

    def died(self, code: int | None = 3, errors: str = "boom\n", unwritten: tuple[object, ...] = ()) -> None:
        self.do(self.protocol.died(Death(code, errors, unwritten)))

    def lose(self) -> None:
        """Every request that is with the server loses its connection."""
        for each in [each for each in self.sent if each.request is not None]:
            key = getattr(each.request, "key", b"")
            if self.protocol.awaits(key):
                error = ToolError("cut", code="UNAVAILABLE", origin="local", delivery="unanswered", effect="unknown")
                self.do(self.protocol.failed(key, error))

    def passes(self, seconds: float) -> None:
        self.clock.seconds += seconds
        self.do(self.protocol.tick())

    def told(self) -> list[Any]:
        """What the client was told since the last look."""
        frames, self.frames = self.frames, []
        return [json.loads(each) for each in frames]

    def heard(self) -> list[Any]:
        """What the server was told since the last look."""
        sent, self.sent = self.sent, []
        return [json.loads(each.frame) for each in sent]

    def connect(self, tools: Sequence[dict[str, Any]] = TOOLS) -> None:
        if not self.modern:
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "claude-code", "version": "2"},
            }
            self.client({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
            capabilities = {"tools": {"listChanged": True}}
            server = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "pay"}}
            self.server({"jsonrpc": "2.0", "id": 0, "result": server})
            self.client({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.client(self.request("list", "tools/list"))
        self.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": tools}})
        self.told()
        self.heard()

    def request(self, id: object, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        given = {**(params or {}), **({"_meta": MODERN} if self.modern else {})}
        return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": given} if given else {})}

    def call(self, id: object, tool: str, arguments: dict[str, Any], meta: dict[str, Any] | None = None) -> None:
        message = self.request(id, "tools/call", {"name": tool, "arguments": arguments})
        if meta:
            message["params"]["_meta"] = {**message["params"].get("_meta", {}), **meta}
        self.client(message)

    def revive(self) -> None:
        """Let the server that was started again take the handshake, and list the same tools."""
        for message in self.heard():
            if message.get("method") == "initialize":
                self.server({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25"}})
        for message in self.heard():
            if message.get("method") == "tools/list":
                self.server({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})


def failing(text: str, *, tool: str = "get_invoice", **options: Any) -> tuple[Table, dict[str, Any]]:
    """What the client is told of a call that the server answered with this error."""
    table = Table(**options)
    table.call(9, tool, {"invoice_id": "inv_1"})
    table.server(result(9, text, is_error=True))
    (told,) = table.told()
    assert told["id"] == 9
    answer: dict[str, Any] = told["result"]
    return table, answer
