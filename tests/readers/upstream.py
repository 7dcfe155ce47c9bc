"""A web server on this machine that fails in every way a server can, and the clients that meet it."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import httpx
import httpx2
import requests
import urllib3

HIDDEN = "hidden-in-the-body"
# path: (status, headers, body)
ANSWERS: dict[str, tuple[int, dict[str, str], str]] = {
    "/missing": (404, {"Content-Type": "application/json"}, json.dumps({"message": "No such user.", "trace": HIDDEN})),
    "/seconds": (429, {"Retry-After": "7"}, ""),
    "/date": (429, {}, ""),
    "/down": (503, {"Retry-After": "0"}, "<h1>Sorry</h1>"),
    "/crash": (500, {}, "Something broke."),
    "/denied": (401, {}, json.dumps({"error": "The token has expired."})),
    "/problem": (
        422,
        {"Content-Type": "application/problem+json"},
        json.dumps(
            {
                "title": "Invalid",
                "detail": "Two fields are wrong.",
                "errors": [{"detail": "too long", "pointer": "#/name"}],
            }
        ),
    ),
    "/loop": (302, {"Location": "/loop"}, ""),
}


class _Handler(BaseHTTPRequestHandler):
    over: threading.Event

    def do_GET(self) -> None:
        if self.path == "/silent":
            self.over.wait(30)
        elif self.path == "/reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif self.path == "/short":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        elif self.path == "/noise":
            self.wfile.write(b"this is no HTTP at all\r\n\r\n")
        else:
            status, headers, body = ANSWERS[self.path]
            if self.path == "/date":
                headers = {"Retry-After": formatdate(time.time() + 3600, usegmt=True)}
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

    do_POST = do_GET

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def served() -> Iterator[str]:
    """The address of the running server, without `http://`."""
    over = threading.Event()
    handler = type("Handler", (_Handler,), {"over": over})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            over.set()
            server.shutdown()
            thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and which nobody else gets meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


# On a busy machine a connection takes longer than the silence that a test waits for.
CONNECT = 30


def _httpx(package: object) -> Callable[[str, str, float], object]:
    def call(method: str, url: str, timeout: float) -> object:
        with package.Client(
            timeout=package.Timeout(CONNECT, read=timeout), follow_redirects=True, trust_env=False
        ) as client:  # type: ignore[attr-defined]
            return client.request(method, url).raise_for_status()

    return call


def _httpx_async(package: object) -> Callable[[str, str, float], object]:
    async def call(method: str, url: str, timeout: float) -> None:
        async with package.AsyncClient(
            timeout=package.Timeout(CONNECT, read=timeout), follow_redirects=True, trust_env=False
        ) as client:  # type: ignore[attr-defined]
            (await client.request(method, url)).raise_for_status()

    return lambda *arguments: asyncio.run(call(*arguments))


def _requests(method: str, url: str, timeout: float) -> object:
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, url, timeout=(CONNECT, timeout)).raise_for_status()


def _urllib3(retries: object) -> Callable[[str, str, float], object]:
    def call(method: str, url: str, timeout: float) -> object:
        with urllib3.PoolManager() as pool:
            return pool.request(method, url, timeout=urllib3.Timeout(connect=CONNECT, read=timeout), retries=retries)

    return call


def _aiohttp(method: str, url: str, timeout: float) -> object:
    async def call() -> None:
        limits = aiohttp.ClientTimeout(sock_connect=CONNECT, sock_read=timeout)
        async with aiohttp.ClientSession(timeout=limits) as session, session.request(method, url) as response:
            response.raise_for_status()
            await response.read()

    return asyncio.run(call())


def _urllib(method: str, url: str, timeout: float) -> object:
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=timeout) as response:
        return response.read()


CLIENTS: dict[str, Callable[[str, str, float], object]] = {
    "httpx": _httpx(httpx),
    "httpx-async": _httpx_async(httpx),
    "httpx2": _httpx(httpx2),
    "httpx2-async": _httpx_async(httpx2),
    "requests": _requests,
    "urllib3": _urllib3(False),
    "urllib3-retrying": _urllib3(
        urllib3.Retry(1, status_forcelist=[503], allowed_methods=None, respect_retry_after_header=False)
    ),
    "aiohttp": _aiohttp,
    "urllib": _urllib,
}
# Those that raise for a status, and those that have read the body by then.
JUDGES = [name for name in CLIENTS if not name.startswith("urllib3")]
READERS = [name for name in JUDGES if name not in ("aiohttp", "urllib")]
# Those whose exceptions know the method of the request.
KNOWING = READERS
