"""Uvicorn, with what it leaves to others."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

_LARGEST_HEAD: Final = 65_536
_PATIENCE: Final = 20.0


class Patient(H11Protocol):
    """A connection whose client has so long to say what it wants, and no longer."""

    _hurry: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
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

    def __init__(self, app: Any, *, most: int) -> None:
        config = uvicorn.Config(
            app, http=Patient, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD, backlog=512,
            timeout_graceful_shutdown=2, limit_concurrency=most, proxy_headers=False,
        )  # fmt: skip
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def run_on(self, listening: socket.socket) -> None:
        await self.serve(sockets=[listening])
