"""Uvicorn, with what it leaves to others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

_LARGEST_HEAD: Final = 65_536


class SocketServer(uvicorn.Server):
    """A server on one socket, whose signals are somebody else's business."""

    def __init__(self, app: Any, *, most: int) -> None:
        config = uvicorn.Config(
            app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD, backlog=512,
            timeout_graceful_shutdown=2, limit_concurrency=most, proxy_headers=False,
        )  # fmt: skip
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
