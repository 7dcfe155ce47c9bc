"""Where a scripted server's answers leave: faults that no SDK would send are put in their place here.

The handler answers a result with an order in its `_meta`. Here, below the SDK, the frame that carries an order is taken
off the wire and something else is sent: nothing, half of it, two of them, or what is no frame at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, Final, NoReturn

from uvicorn.protocols.http.h11_impl import H11Protocol

from failwell.formats import keys

ORDER: Final = keys.ORDER
_MARK: Final = ORDER.encode()

Message = MutableMapping[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]


def _split_order(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The frame as it would be without the order, and the order."""
    frame = json.loads(text)
    meta = frame["result"]["_meta"]
    order = meta.pop(ORDER)
    if not meta:
        del frame["result"]["_meta"]
    return frame, order


def _texts(frame: Mapping[str, Any], order: Mapping[str, Any]) -> list[str]:
    """What is sent instead of the frame."""
    match order["do"]:
        case "raw":
            raw = order["frame"]
            if not (order.get("whole") or "result" in raw or "error" in raw):
                # A result of the script's author is a result in both eras; the newer one says so in a field of its own.
                era = {"resultType": frame["result"]["resultType"]} if "resultType" in frame["result"] else {}
                raw = {"result": {**era, **raw}}
            return [json.dumps({"jsonrpc": "2.0", "id": frame["id"], **raw})]
        case "garbage":
            return [order["text"]]
        case "noise":
            return [order["text"], json.dumps(frame)]
    return [json.dumps(frame)] * 2


class StdoutWriter:
    """What the SDK writes its frames to, over stdio. It is used by one thread at a time."""

    def __init__(self, descriptor: int, leave: Callable[[int], NoReturn]) -> None:
        self._descriptor = descriptor
        self._leave = leave

    def write(self, line: str) -> int:
        if ORDER not in line:
            self._put(line)
            return len(line)
        frame, order = _split_order(line)
        if order["do"] == "cut":
            text = json.dumps(frame)
            self._put(text[: len(text) // 2] if order["midway"] else "")
            self._leave(0)
        self._put("".join(f"{text}\n" for text in _texts(frame, order)))
        return len(line)

    def flush(self) -> None:
        """There is nothing to flush: each line is written at once."""

    def _put(self, text: str) -> None:
        data = memoryview(text.encode())
        while data:
            data = data[os.write(self._descriptor, data) :]


class Connections(H11Protocol):
    """HTTP connections that can be cut: a web framework has no way to say so."""

    _open: Final[dict[Any, Any]] = {}

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._open[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.pop(self.client, None)
        super().connection_lost(exc)

    @classmethod
    def cut(cls, client: Any) -> None:
        cls._open[client].close()


class HttpWire:
    """The application, with its answers to POST looked at before they leave."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            send = _Answer(scope, send).send
        await self._app(scope, receive, send)


class _Answer:
    """One answer. Its head is held back until the body shows whether it is the one to send."""

    def __init__(self, scope: Message, send: Callable[[Message], Awaitable[None]]) -> None:
        self._client = scope["client"]
        self._send = send
        self._head: Message | None = None
        self._replaced = False

    async def send(self, message: Message) -> None:
        if self._replaced:
            return
        if message["type"] == "http.response.start":
            self._head = message
            return
        body = message.get("body", b"")
        if _MARK in body:
            self._replaced = True
            await self._replace(body.decode())
            return
        if self._head is not None:
            # A stream that only says that it is alive has not said anything yet.
            if body.startswith(b": ping"):
                return
            head, self._head = self._head, None
            await self._send(head)
        await self._send(message)

    async def _replace(self, body: str) -> None:
        # The body is the frame, or one event whose data is the frame.
        event = [line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")]
        frame, order = _split_order(event[0] if event else body)
        if order["do"] == "cut":
            await self._cut(json.dumps(frame).encode(), order["midway"])
        elif order["do"] == "http":
            text = order["body"] if order["body"] is not None else HTTPStatus(order["status"]).phrase
            await self._respond(order["status"], {"content-type": "text/plain", **order["headers"]}, text)
        elif order["do"] == "twice":
            events = "".join(f"event: message\r\ndata: {text}\r\n\r\n" for text in _texts(frame, order))
            await self._respond(200, {"content-type": "text/event-stream"}, events)
        else:
            # Of noise only the answer is heard.
            await self._respond(200, {"content-type": "application/json"}, _texts(frame, order)[-1])

    async def _cut(self, body: bytes, midway: bool) -> None:
        if midway:
            await self._start(200, {"content-type": "application/json", "content-length": str(len(body))})
            await self._send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        Connections.cut(self._client)

    async def _respond(self, status: int, headers: Mapping[str, str], text: str) -> None:
        body = text.encode()
        await self._start(status, {**headers, "content-length": str(len(body))})
        await self._send({"type": "http.response.body", "body": body})

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        named = {name.lower(): value for name, value in headers.items()}
        pairs = [(name.encode(), value.encode()) for name, value in named.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})
