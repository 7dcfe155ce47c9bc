"""Uvicorn, with what it leaves to others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

_LARGEST_HEAD: Final = 65_536
_PATIENCE: Final = 20.0
_HEAD: Final = b"HTTP/1.1 "


class Gathered:
    """A transport on which the head of an answer waits for what follows it at once, so that both leave together: each
    piece by itself wakes the client up."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        elif data.startswith(_HEAD):
            self._held = data
            asyncio.get_running_loop().call_soon(self._let_go)
            return
        if data:
            self._transport.write(data)

    def _let_go(self) -> None:
        held, self._held = self._held, b""
        if held:
            self._transport.write(held)

    def close(self) -> None:
        self._let_go()
        self._transport.close()


class Patient(H11Protocol):
    """A connection whose client has so long to say what it wants, and no longer."""

    _hurry: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(Gathered(transport))  # type: ignore[arg-type]
        self._hurry = self.loop.call_later(_PATIENCE, self._too_slow)

    def _too_slow(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
        super().connection_lost(exc)


class SocketServer(uvicorn.Server):
    """A server on one socket, whose signals are somebody else's business."""

    def __init__(self, app: Any, *, certificate: str | None, key: str | None, most: int) -> None:
        config = uvicorn.Config(
            app, http=Patient, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            ssl_certfile=certificate, ssl_keyfile=key, h11_max_incomplete_event_size=_LARGEST_HEAD, backlog=512,
            timeout_graceful_shutdown=2, limit_concurrency=most, proxy_headers=False,
        )  # fmt: skip
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def run_on(self, listening: socket.socket) -> None:
        await self.serve(sockets=[listening])
