"""The dashboard on a real socket, and names that are markup, formulas and secrets."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import uvicorn

import failwell as fw
from failwell.dashboard import application
from failwell.observe import CallEvent

MARKUP = "<script>document.body.dataset.broken=1</script><img src=x onerror=alert(1)>"
FORMULA = "=HYPERLINK(1)"
SECRET = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e"


def hostile() -> list[CallEvent]:
    """Names that are markup, formulas and secrets."""
    error = fw.ToolError(f"{MARKUP} {SECRET}", code=FORMULA, kind="internal", effect="unknown")
    about: dict[str, Any] = {"seat": "server", "session": '"><b>', "server": MARKUP, "seconds": 0.1}
    at = datetime.now(UTC) - timedelta(minutes=2)
    return [
        CallEvent(tool=MARKUP, ok=False, error=error, at=at, client=f"{MARKUP}/{SECRET}", fingerprint="f", **about),
        CallEvent(tool=f"pay_{SECRET}", ok=False, error=error, at=at, client="'; DROP TABLE event", **about),
        CallEvent(tool="@SUM(A1)", ok=True, at=at, **about),
    ]


@contextmanager
def served(url: str, token: str | None = None) -> Iterator[httpx.Client]:
    config = uvicorn.Config(
        application(url, hosts=frozenset({"here"}), token=token, store=url), log_level="warning", port=0
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"host": "here"}, timeout=30) as client:
        yield client
    server.should_exit = True
    thread.join()
