"""Many servers behind one port, so that a test starts one process for all of them.

    python tests/check/http_twins.py            prints its port, and serves until its input ends

`/NAME/bad/mcp` and `/NAME/good/mcp` are the pairs of `twins.py` whose defect is not one of stdio; `/plain/mcp` and `/nasty/KIND` are
what `others.py` has, and what HTTP servers are known to do instead of answering.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any, Final

import nasty
import plain
import uvicorn
from defects import Dies, Wedged
from desk import FRAMEWORKS, Desk, app
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from twins import BY_NAME, TWINS, desk_of

_WIRE: Final = ("incoming", "outgoing", "request", "unreadable", "banner", "called")
WALL: Final = tuple(
    twin.name
    for twin in TWINS
    if not issubclass(twin.bad, (Dies, Wedged))
    and not twin.fault
    and all(getattr(twin.bad, name, None) is getattr(Desk, name, None) for name in _WIRE)
)
"""The pairs whose defect is seen over HTTP too."""


async def _drip() -> AsyncIterator[bytes]:
    while True:
        yield b": still here\n\n"
        await asyncio.sleep(0.05)


async def _cut() -> AsyncIterator[bytes]:
    yield b'data: {"jsonrpc": "2.0", '
    raise ConnectionResetError


async def _plain(request: Request) -> Response:
    try:
        frame = await request.json()
    except ValueError:
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error."}}, 400)
    if not isinstance(frame, dict) or "id" not in frame:
        return Response(status_code=202)
    reply = nasty.Plain().reply(str(frame.get("method")), frame.get("params", {}))
    return JSONResponse({"jsonrpc": "2.0", "id": frame["id"], **reply})


async def _misbehave(kind: str, request: Request) -> Response:
    """What comes instead of an answer."""
    if kind == "hang":
        await asyncio.sleep(3_600)
    if kind == "drip":
        return StreamingResponse(_drip(), media_type="text/event-stream")
    if kind == "cut":
        return StreamingResponse(_cut(), media_type="text/event-stream")
    if kind == "late":
        body = await request.body()
        return await _plain(request) if b"tools/call" not in body else Response("upstream timed out", 504)
    answers: dict[str, Response] = {
        "401": PlainTextResponse(
            "Unauthorized", 401, {"WWW-Authenticate": 'Bearer resource_metadata="http://127.0.0.1/meta"'}
        ),
        "403": JSONResponse({"error": "forbidden"}, 403),
        "404": PlainTextResponse("Not Found", 404),
        "429": PlainTextResponse("Too many", 429, {"Retry-After": "30"}),
        "500": PlainTextResponse("Internal Server Error", 500),
        "html": HTMLResponse("<!DOCTYPE html><html><body><form>Sign in</form></body></html>"),
        "empty": Response(status_code=200),
        "garbage": Response(b"\xff\xfe{]", media_type="application/json"),
        "loop": RedirectResponse("/nasty/loop", 307),
        "big": Response(b"[" + b"1," * 30_000_000 + b"1]", media_type="application/json"),
    }
    return answers[kind] if kind in answers else await _plain(request)


NASTY: Final = (
    "401",
    "403",
    "404",
    "429",
    "500",
    "html",
    "empty",
    "garbage",
    "loop",
    "big",
    "hang",
    "drip",
    "cut",
    "late",
)


class Wall:
    """Sends a request to the server that its path names; each is made when it is first asked for."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._apps: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        name, _, which = scope["path"].strip("/").removesuffix("/mcp").partition("/")
        if name == "nasty":
            response = await _misbehave(which, Request(scope, receive))
            await response(scope, receive, send)
        elif name == "plain" or name in BY_NAME:
            server = await self._app(name, which)
            await server({**scope, "path": "/mcp", "raw_path": b"/mcp"}, receive, send)
        else:
            await PlainTextResponse("No such server", 404)(scope, receive, send)

    async def _app(self, name: str, which: str) -> Any:
        async with self._lock:
            if (name, which) not in self._apps:
                server = (
                    plain.server() if name == "plain" else FRAMEWORKS[BY_NAME[name].on](desk_of(name, which == "bad"))
                )
                made = app(server)
                await self._stack.enter_async_context(made.router.lifespan_context(made))
                self._apps[name, which] = made
            return self._apps[name, which]


async def serve() -> None:
    server = uvicorn.Server(
        uvicorn.Config(Wall(), host="127.0.0.1", port=0, log_level="critical", lifespan="off", http="h11")
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps(server.servers[0].sockets[0].getsockname()[1]), flush=True)
    await serving


@contextmanager
def wall() -> Iterator[str]:
    """A process that serves all of it, and its address."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.communicate()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve())
