"""What really raises inside the tools of the real ledger: libraries, files, processes, sockets and plain mistakes.

Nothing is a mock. Each cause is a function that gets a `World` and raises what the library raises there.
"""

from __future__ import annotations

import asyncio
import fcntl
import http.server
import json
import os
import smtplib
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

WAIT: Final = 0.05
"""How long the tools wait for their upstream, which takes longer."""


class _Upstream(http.server.BaseHTTPRequestHandler):
    """Answers `/503` with that status, `/slow` too late, and `/cut` not at all."""

    def do_GET(self) -> None:
        what = self.path.strip("/")
        if what == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if what == "slow":
            time.sleep(20 * WAIT)
            what = "200"
        body = b'{"message": "not now"}'
        self.send_response(int(what))
        if what in ("429", "503"):
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: standard error belongs to the server."""


@dataclass(slots=True)
class World:
    """What the tools work with."""

    folder: Path
    tool_error: type[Exception]
    """The framework's own exception for failures that were planned."""
    nested: Callable[[], Any]
    """Calls another tool of the same server, with wrong arguments."""
    upstream: str = ""
    closed: int = 0
    """A port where nobody listens."""
    database: Path = field(init=False)

    def __post_init__(self) -> None:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.upstream = f"http://127.0.0.1:{server.server_address[1]}"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.closed = probe.getsockname()[1]
        self.database = self.folder / f"shop-{os.getpid()}.db"
        with sqlite3.connect(self.database) as connection:
            connection.execute("CREATE TABLE orders (id TEXT PRIMARY KEY)")
            connection.execute("INSERT INTO orders VALUES ('o_1')")
        connection.close()

    @property
    def refused(self) -> str:
        return f"http://127.0.0.1:{self.closed}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that raises."""

    name: str
    provoke: Callable[[World], Any]
    passes: bool = False
    """Whether it is over soon, and its exception says so beyond doubt: whoever may repeat the call then has to."""
    text: str = ""
    """What the author wrote, where the author wrote something."""


CAUSES: Final[dict[str, Cause]] = {}
HTTP_CLIENTS: Final = ("httpx2", "httpx", "requests", "aiohttp", "urllib")


def cause(name: str, *, passes: bool = False, text: str = "") -> Callable[[Callable[[World], Any]], Any]:
    """Put a function into the table."""

    def keep(function: Callable[[World], Any]) -> Callable[[World], Any]:
        CAUSES[name] = Cause(name, function, passes, text)
        return function

    return keep


async def provoke(name: str, world: World) -> None:
    """Raise; what blocks does so in a thread, as in a server that is written with care."""
    function = CAUSES[name].provoke
    if asyncio.iscoroutinefunction(function):
        await function(world)
    else:
        await asyncio.to_thread(function, world)
    raise AssertionError(f"{name} did not raise")


def _http_clients() -> None:
    def by_httpx2(path: str) -> Callable[[World], Any]:
        async def call(world: World) -> None:
            import httpx2

            async with httpx2.AsyncClient(timeout=WAIT if path == "slow" else 5) as client:
                url = world.refused if path == "refused" else f"{world.upstream}/{path}"
                (await client.get(url)).raise_for_status()

        return call

    def by_httpx(path: str) -> Callable[[World], Any]:
        def call(world: World) -> None:
            import httpx

            url = world.refused if path == "refused" else f"{world.upstream}/{path}"
            httpx.get(url, timeout=WAIT if path == "slow" else 5, trust_env=False).raise_for_status()

        return call

    def by_requests(path: str) -> Callable[[World], Any]:
        def call(world: World) -> None:
            import requests

            url = world.refused if path == "refused" else f"{world.upstream}/{path}"
            with requests.Session() as session:
                session.trust_env = False
                session.get(url, timeout=WAIT if path == "slow" else 5).raise_for_status()

        return call

    def by_aiohttp(path: str) -> Callable[[World], Any]:
        async def call(world: World) -> None:
            import aiohttp

            limit = aiohttp.ClientTimeout(total=WAIT if path == "slow" else 5)
            url = world.refused if path == "refused" else f"{world.upstream}/{path}"
            async with aiohttp.ClientSession(timeout=limit) as session, session.get(url) as response:
                response.raise_for_status()

        return call

    def by_urllib(path: str) -> Callable[[World], Any]:
        def call(world: World) -> None:
            url = world.refused if path == "refused" else f"{world.upstream}/{path}"
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            opener.open(url, timeout=WAIT if path == "slow" else 5)

        return call

    makes = (by_httpx2, by_httpx, by_requests, by_aiohttp, by_urllib)
    for library, make in zip(HTTP_CLIENTS, makes, strict=True):
        for path in ("refused", "slow", "500", "503", "429", "409", "404"):
            cause(f"{library} {path}", passes=path not in ("409", "404"))(make(path))
    cause("httpx2 cut")(by_httpx2("cut"))
    cause("requests cut")(by_requests("cut"))


_http_clients()


@cause("sqlite3 locked", passes=True)
def _(world: World) -> None:
    path = world.folder / f"locked-{os.getpid()}-{threading.get_ident()}.db"
    holder, writer = sqlite3.connect(path), sqlite3.connect(path, timeout=0)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        writer.execute("CREATE TABLE orders (id TEXT)")
    finally:
        holder.close()
        writer.close()


def _sqlite(statement: str) -> Callable[[World], Any]:
    def call(world: World) -> None:
        with sqlite3.connect(world.database, timeout=5) as connection:
            connection.execute(statement)

    return call


cause("sqlite3 integrity")(_sqlite("INSERT INTO orders VALUES ('o_1')"))
cause("sqlite3 no table")(_sqlite("INSERT INTO invoices VALUES (1)"))


@cause("sqlalchemy integrity")
def _(world: World) -> None:
    import sqlalchemy

    engine = sqlalchemy.create_engine(f"sqlite:///{world.database}", poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("INSERT INTO orders VALUES ('o_1')"))


@cause("psycopg refused", passes=True)
def _(world: World) -> None:
    import psycopg

    psycopg.connect(host="127.0.0.1", port=world.closed, user="u", password="p", dbname="d")


@cause("asyncpg refused", passes=True)
async def _(world: World) -> None:
    import asyncpg

    await asyncpg.connect(host="127.0.0.1", port=world.closed, user="u", password="p", database="d", timeout=2)


@cause("redis refused", passes=True)
def _(world: World) -> None:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    redis.Redis(port=world.closed, retry=Retry(NoBackoff(), 0)).ping()


cause("smtplib refused", passes=True)(lambda world: smtplib.SMTP("127.0.0.1", world.closed))
cause("socket unknown host")(lambda world: socket.create_connection(("nowhere.invalid", 80)))
cause("subprocess failed")(lambda world: subprocess.run(["false"], check=True))
cause("subprocess slow")(lambda world: subprocess.run(["sleep", "5"], timeout=WAIT, check=True))
cause("subprocess missing")(lambda world: subprocess.run(["/no/such/program"], check=True))
cause("open missing")(lambda world: (world.folder / "receipt.pdf").read_text())
cause("open folder")(lambda world: world.folder.read_text())
cause("json garbage")(lambda world: json.loads("<html>502</html>"))
cause("KeyError")(lambda world: {"a": 1}["receipt"])
cause("IndexError")(lambda world: [][1])
cause("AttributeError")(lambda world: None.send())  # type: ignore[attr-defined]
cause("int")(lambda world: int("12,50"))
cause("UnicodeDecodeError")(lambda world: b"\xff\xfe\xfa".decode())
cause("ZeroDivisionError")(lambda world: 1 / 0)
cause("TypeError")(lambda world: json.dumps())  # type: ignore[call-arg]


@cause("disk full")
def _(world: World) -> None:
    with open("/dev/full", "w") as full:
        full.write("receipt")


@cause("not permitted")
def _(world: World) -> None:
    # Sealed, since the superuser may write anything else.
    sealed = os.memfd_create("receipt", os.MFD_ALLOW_SEALING)
    try:
        fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        os.write(sealed, b"receipt")
    finally:
        os.close(sealed)


@cause("broken pipe")
def _(world: World) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        os.write(writing, b"receipt")
    finally:
        os.close(writing)


@cause("TLS to a plain port")
def _(world: World) -> None:
    host, port = world.upstream.removeprefix("http://").split(":")
    context = ssl.create_default_context()
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        context.wrap_socket(raw, server_hostname="shop.example")


@cause("asyncio timeout", passes=True)
async def _(world: World) -> None:
    await asyncio.wait_for(asyncio.sleep(5), WAIT)


@cause("anyio timeout", passes=True)
async def _(world: World) -> None:
    with anyio.fail_after(WAIT):
        await anyio.sleep(5)


@cause("anyio closed")
async def _(world: World) -> None:
    send, receive = anyio.create_memory_object_stream[str](1)
    receive.close()
    async with send:
        await send.send("receipt")


@cause("anyio end of stream")
async def _(world: World) -> None:
    send, receive = anyio.create_memory_object_stream[str](1)
    send.close()
    async with receive:
        await receive.receive()


@cause("cancelled inside")
async def _(world: World) -> None:
    task = asyncio.ensure_future(asyncio.sleep(5))
    task.cancel()
    await task


@cause("group")
async def _(world: World) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(provoke("httpx2 429", world))


@cause("group, mixed")
async def _(world: World) -> None:
    found = await asyncio.gather(
        provoke("KeyError", world), provoke("httpx2 503", world), provoke("int", world), return_exceptions=True
    )
    broken: Any = found
    raise ExceptionGroup("the receipts", [broken[0], ExceptionGroup("the mails", list(broken[1:]))])
