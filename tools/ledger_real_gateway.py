"""A gateway that forwards a call, waits until it was made, throws the answer away and gives one of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

HEADER: Final = "x-team"
"""What the gateway may ask for in each request: a client that opens a new connection has to keep its headers."""


@dataclass(frozen=True, slots=True)
class Gate:
    """An answer of the gateway, after the call was made."""

    status: int
    body: str | None = None
    """A text; without one it is the JSON-RPC message."""
    code: int = 0
    message: str = ""
    result: str | None = None
    """The text of a result with `isError`, in place of an error."""
    type: str = "application/json"
    passes: bool = False
    """Whether it says beyond doubt that it is over soon: whoever may repeat the call then has to."""


GATES: Final = {
    "502": Gate(502, "Bad Gateway", type="text/plain", passes=True),
    "503": Gate(503, "<html>Service Unavailable</html>", type="text/html", passes=True),
    "504": Gate(504, "Gateway Timeout", type="text/plain", passes=True),
    "408": Gate(408, "Request Timeout", type="text/plain", passes=True),
    "429": Gate(429, "Too Many Requests", type="text/plain", passes=True),
    "500": Gate(500, "", type="text/plain"),
    "503 with JSON-RPC": Gate(503, code=-32000, message="upstream connect error or disconnect/reset before headers"),
    "429 with JSON-RPC": Gate(429, code=-32029, message="Rate limit exceeded, retry after 1 second"),
    "-32600 upstream timeout": Gate(200, code=-32600, message="upstream tool failed: timeout after 10s"),
    "-32600 session": Gate(200, code=-32600, message="Session not found"),
    "404 session": Gate(404, code=-32600, message="Session not found"),
    "-32602": Gate(200, code=-32602, message="Invalid params: upstream answered 400"),
    "-32601": Gate(200, code=-32601, message="Method not found"),
    "-32603": Gate(200, code=-32603, message="Internal error"),
    "-32000": Gate(200, code=-32000, message="Server not initialized"),
    "-32001": Gate(200, code=-32001, message="Request timed out"),
    "isError, try again": Gate(200, result="Gateway: 503 Service Unavailable, try again in 1 second"),
    "isError, not sent": Gate(200, result="Gateway: the request was not sent to the server."),
    "no body": Gate(200, ""),
    "a page": Gate(200, "<html>Please log in</html>", type="text/html"),
}


class Gateway:
    """An ASGI application before another; `gates` has, for each call, what becomes of its arrivals in order."""

    def __init__(self, app: Any, gates: Mapping[str, Sequence[str]], header: bool) -> None:
        self._app = app
        self._gates = gates
        self._header = header
        self._arrived: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._header and HEADER.encode() not in dict(scope["headers"]):
            await _answer(send, 401, "text/plain", b"Who are you?")
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return waiting.pop() if waiting else await receive()

        request = json.loads(body)
        gate = self._gate(request)
        if gate is None:
            await self._app(scope, again, send)
            return
        await self._app(scope, again, _nobody)
        await _answer(send, gate.status, gate.type, _message(gate, request["id"]))

    def _gate(self, request: Any) -> Gate | None:
        if not isinstance(request, dict) or request.get("method") != "tools/call":
            return None
        id = str(request["params"].get("arguments", {}).get("id"))
        self._arrived[id] += 1
        gates = self._gates.get(id, ())
        return GATES[gates[self._arrived[id] - 1]] if self._arrived[id] <= len(gates) else None


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _nobody(message: Any) -> None:
    """Hear the answer, and forget it."""


def _message(gate: Gate, id: Any) -> bytes:
    if gate.body is not None:
        return gate.body.encode()
    if gate.result is not None:
        content = [{"type": "text", "text": gate.result}]
        told: Any = {"result": {"content": content, "isError": True, "resultType": "complete"}}
    else:
        told = {"error": {"code": gate.code, "message": gate.message}}
    return json.dumps({"jsonrpc": "2.0", "id": id, **told}).encode()


async def _answer(send: Any, status: int, type: str, body: bytes) -> None:
    headers = [(b"content-type", type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
