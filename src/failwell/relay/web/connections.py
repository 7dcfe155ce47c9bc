"""Connections to a server, kept open between requests: a head and its body leave in one piece, and nothing is copied.

A transport for `httpx2`, whose own one costs more than all the rest of a relay. It speaks HTTP/1.1, with TLS where the
address says so; proxies are left to `httpx2`.
"""

from __future__ import annotations

import asyncio
import re
import select
import ssl
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2

from .answer_reader import AnswerReader, NoAnswer

_FULL: Final = 1_000_000
"""How many bytes of an answer wait for whoever reads it before the server has to wait, too."""
_CONTROL: Final = re.compile(rb"[\r\n\0]")
_EYEBALLS: Final = 0.25
"""After how many seconds the next address of a name is tried, while the first one says nothing."""


class HttpConnection(asyncio.Protocol):
    """One connection: a request, its answer, and the next one."""

    def __init__(self) -> None:
        self.is_closed = False
        self.unused_since = 0.0
        self.reader = AnswerReader()
        self._transport: Any = None
        self._problem: httpx2.TransportError | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        try:
            self.reader.feed(data)
        except NoAnswer as problem:
            self._fail(httpx2.RemoteProtocolError(str(problem)))
            self.close()
        if not self._is_paused and sum(map(len, self.reader.parts)) > _FULL:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self.reader.is_over:
            problem = httpx2.ReadError(str(exc))
            problem.__cause__ = exc
            self._fail(problem)
        self._ended()

    def _ended(self) -> None:
        self.is_closed = True
        try:
            self.reader.end()
        except NoAnswer as problem:
            self._fail(httpx2.RemoteProtocolError(str(problem)))
        self._wake()

    def _fail(self, problem: httpx2.TransportError) -> None:
        self._problem = self._problem or problem

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    # For whoever uses it

    @property
    def is_fit(self) -> bool:
        """Whether it can take another request: nobody has hung up, not even in what has not been read yet."""
        if self.is_closed or self._transport.is_closing():
            return False
        return self._poll is None or not self._poll.poll(0)

    def send(self, data: bytes, *, is_bodiless: bool = False) -> None:
        self.reader = AnswerReader(is_bodiless=is_bodiless)
        self._transport.write(data)

    async def head(self, patience: float | None) -> None:
        while not self.reader.status:
            await self._more(patience)

    async def part(self, patience: float | None) -> bytes:
        """What has come of the body since; nothing at its end."""
        reader = self.reader
        while not reader.parts:
            if reader.is_over:
                return b""
            await self._more(patience)
        parts, reader.parts = reader.parts, []
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _more(self, patience: float | None) -> None:
        if self._problem is not None:
            raise self._problem
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            if patience is None:
                await self._waiting
            else:
                async with asyncio.timeout(patience):
                    await self._waiting
        except TimeoutError:
            raise httpx2.ReadTimeout("The server did not answer in time.") from None
        finally:
            self._waiting = None

    def close(self) -> None:
        self.is_closed = True
        # Whoever does not read any more does not wait for what is still to be written either.
        self._transport.abort()


Origin = tuple[str, str, int | None]


class HttpConnections(httpx2.AsyncBaseTransport):
    """As many connections as there are requests at a time; up to `most` unused ones are kept for `expiry` seconds."""

    def __init__(self, *, most: int, expiry: float) -> None:
        self._most, self._expiry = most, expiry
        self._unused: dict[Origin, list[HttpConnection]] = {}
        self._used: set[HttpConnection] = set()
        self._context: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        patience = request.extensions.get("timeout") or {}
        data = _written(request, await request.aread())
        origin = (request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port)
        connection = self._taken(origin)
        if connection is None:
            connection = await self._made(origin, patience.get("connect"))
        self._used.add(connection)
        answer = _Answer(self, connection, origin, patience.get("read"))
        try:
            connection.send(data, is_bodiless=request.method == "HEAD")
            await connection.head(patience.get("read"))
        except BaseException:
            await answer.aclose()
            raise
        return httpx2.Response(connection.reader.status, headers=connection.reader.headers, stream=answer)

    def _taken(self, origin: Origin) -> HttpConnection | None:
        """One that is open already."""
        unused = self._unused.get(origin, [])
        since = time.monotonic() - self._expiry
        # The oldest stand first.
        while unused and (unused[0].is_closed or unused[0].unused_since < since):
            unused.pop(0).close()
        while unused:
            connection = unused.pop()
            if connection.is_fit:
                return connection
            connection.close()
        return None

    async def _made(self, origin: Origin, patience: float | None) -> HttpConnection:
        scheme, host, port = origin
        if scheme not in ("http", "https"):
            raise httpx2.UnsupportedProtocol(f"There is no way to reach an address of {scheme}://.")
        secure: dict[str, Any] = {}
        if scheme == "https":
            secure = {"ssl": self._secure(), "server_hostname": host.rstrip(".")}
        try:
            async with asyncio.timeout(patience):
                _, connection = await asyncio.get_running_loop().create_connection(
                    HttpConnection, host, port or (443 if secure else 80), happy_eyeballs_delay=_EYEBALLS, **secure
                )
        except TimeoutError as problem:
            raise httpx2.ConnectTimeout("The server could not be reached in time.") from problem
        except OSError as problem:
            raise httpx2.ConnectError(str(problem)) from problem
        return connection

    def _secure(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = httpx2.create_ssl_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context

    def give_back(self, connection: HttpConnection, origin: Origin) -> None:
        """An answer was read, or nobody wants it any more."""
        self._used.discard(connection)
        reader, unused = connection.reader, self._unused.setdefault(origin, [])
        if reader.is_over and reader.is_kept and not connection.is_closed and len(unused) < self._most:
            connection.unused_since = time.monotonic()
            unused.append(connection)
        else:
            connection.close()

    async def aclose(self) -> None:
        for connection in [*self._used, *(each for unused in self._unused.values() for each in unused)]:
            connection.close()
        self._unused = {}


class _Answer(httpx2.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(
        self, connections: HttpConnections, connection: HttpConnection, origin: Origin, patience: float | None
    ) -> None:
        self._connections, self._connection, self._origin = connections, connection, origin
        self._patience = patience
        self._is_read = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while part := await self._connection.part(self._patience):
            yield part

    async def aclose(self) -> None:
        if not self._is_read:
            self._is_read = True
            self._connections.give_back(self._connection, self._origin)


def _written(request: httpx2.Request, body: bytes) -> bytes:
    """A request as it is sent."""
    lines = [request.method.encode("ascii") + b" " + request.url.raw_path + b" HTTP/1.1"]
    for name, value in request.headers.raw:
        if _CONTROL.search(name) or _CONTROL.search(value):
            raise httpx2.LocalProtocolError(f"The header {name[:40]!r} cannot be sent.")
        lines.append(name + b": " + value)
    return b"\r\n".join([*lines, b"", body])
