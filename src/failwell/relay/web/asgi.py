"""Streamable HTTP in front of a relay, as an ASGI application, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from failwell.observe import TRACE_NAMES
from failwell.recovery import schema_of
from failwell.relay.messages import Message, params_of, read_frame, written
from failwell.relay.request import ERA_KEY

from .client_session import PING, ClientSession, Exchange
from .headers import CAPABILITIES_KEY, HANDSHAKES, METHOD, NAME, PARAM, SESSION, VERSION, mismatch, param_mismatch
from .http_server import as_frame
from .limits import RequestRejected
from .metrics import RelayMetrics

if TYPE_CHECKING:
    from .relay import Relay

PATH: Final = "/mcp"
_PARSE_ERROR, _INVALID_PARAMS, _NO_METHOD, _HEADER_MISMATCH = -32700, -32602, -32601, -32020
# What the newer era says by the status as well.
_STATUSES: Final = {**dict.fromkeys((-32700, -32600, -32602, -32020, -32021, -32022), 400), -32601: 404}
_STREAM: Final = {
    "content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no",
}  # fmt: skip
_CLOSE: Final = {"connection": "close"}


class RelayApp(Starlette):
    """The path of the protocol, `/healthz` and `/metrics`. It may be mounted in another application."""

    def __init__(self, relay: Relay) -> None:
        super().__init__(
            routes=[
                *(Route(path, self._serve, methods=["GET", "POST", "DELETE"]) for path in (PATH, f"{PATH}/")),
                Route("/healthz", self._healthz),
                Route("/metrics", self._metrics_page),
            ],
            exception_handlers={RequestRejected: self._reject, HTTPException: self._reject},
            lifespan=self._until_closed,
        )
        self.router.redirect_slashes = False
        self._relay, self.access, self.limits = relay, relay.access, relay.access.limits
        self.metrics = RelayMetrics(self.access.rejected, lambda: len(self.sessions))
        self.sessions: dict[str, ClientSession] = {}
        """The clients of the older era by their ids. The newer era has no sessions: one for all with the same login."""
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self.on_drained: Callable[[], None] = lambda: None
        """Called when it is about to end, and no session is left."""
        self.is_draining = self.is_broken = False
        """Whether it is about to end, and whether the server did not start when it was last needed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self.access.check_origin(scope["headers"])
            except RequestRejected as rejection:
                await (await self._reject(None, rejection))(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    async def _reject(self, request: Request | None, exc: Exception) -> Response:
        if isinstance(exc, HTTPException):
            reason = "path" if exc.status_code == 404 else "method"
            exc = RequestRejected(exc.status_code, reason, f"{exc.detail}.", headers=exc.headers)
        assert isinstance(exc, RequestRejected)
        self.access.rejected[exc.reason] += 1
        id = exc.id if isinstance(exc.id, (str, int)) and not isinstance(exc.id, bool) else None
        body = {"jsonrpc": "2.0", "id": id, "error": {"code": exc.code, "message": exc.message}}
        return Response(written(body), exc.status, exc.headers, "application/json")

    async def _healthz(self, request: Request) -> Response:
        status, body = await self._relay.health()
        return JSONResponse(body, status)

    async def _metrics_page(self, request: Request) -> Response:
        self.access.authenticate(request.headers)
        return Response(self.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    # Requests

    async def _serve(self, request: Request) -> Response:
        headers = dict(request.headers.items())
        self.access.authenticate(headers)
        if request.method == "POST":
            return await self._post(request, headers)
        if request.method == "DELETE":
            self._session_of(headers).ended()
            return Response()
        _require(headers, "text/event-stream")
        if request.method != "GET" or SESSION not in headers:
            words = "There is no stream without a session."
            raise RequestRejected(405, "method", words, headers={"allow": "POST"})
        session = self._session_of(headers)
        if session.is_attached:
            raise RequestRejected(409, "stream", "The session has an open stream already.")
        session.is_attached = True
        return _Written(partial(_send_own_stream, session))

    async def _post(self, request: Request, headers: Mapping[str, str]) -> Response:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRejected(415, "content-type", "The body of a request is application/json.")
        _require(headers, "application/json", "text/event-stream")
        body = await self._body(request)
        message = read_frame(body)
        if message is None:
            raise RequestRejected(400, "protocol", "The body is not valid JSON.", code=_PARSE_ERROR)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise RequestRejected(400, "protocol", "The body must be a single JSON-RPC message.")
        # The protocol knows messages as lines of UTF-8.
        frame = as_frame(body) if body.lstrip()[:1] == b"{" and b"\0" not in body[:4] else written(message)
        is_request = "method" in message and "id" in message
        is_modern = headers.get(VERSION, "2025-11-25") not in HANDSHAKES
        is_greeting = is_request and not is_modern and message["method"] == "initialize"
        if is_modern and "id" not in message:
            # There are none that mean anything: a request is cancelled by the end of its stream.
            return Response(status_code=202)
        if is_modern:
            session = await self._check_modern(request, headers, message)
        else:
            session = self._open(headers, is_shared=False) if is_greeting else self._session_of(headers)
            if not is_request:
                session.notify(frame)
                return Response(status_code=202)
        trace = {name: headers[name] for name in TRACE_NAMES if name in headers}
        key, exchange = session.ask(frame, message, trace)
        return _Written(partial(self._answer, session, key, exchange, is_modern, is_greeting))

    async def _body(self, request: Request) -> bytes:
        most, body = self.limits.body, bytearray()
        size = request.headers.get("content-length", "0")
        if size.isdigit() and int(size[:18]) > most:
            raise RequestRejected(413, "body", f"The body has {size} bytes; {most} are accepted.", headers=_CLOSE)
        try:
            async with asyncio.timeout(self.limits.body_timeout):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise RequestRejected(413, "body", f"The body has more than {most} bytes.", headers=_CLOSE)
        except ClientDisconnect:
            raise RequestRejected(400, "disconnect", "The client hung up.") from None
        except TimeoutError:
            words = f"The body took longer than {self.limits.body_timeout:g} seconds."
            raise RequestRejected(408, "slow body", words, headers=_CLOSE) from None
        return bytes(body)

    async def _check_modern(self, request: Request, headers: Mapping[str, str], message: Message) -> ClientSession:
        """Check a request of the newer era, which says all there is to say; where it belongs."""
        id, method, params = message["id"], message.get("method"), params_of(message)

        def check(problem: str | None, code: int, status: int = 400) -> None:
            if problem is not None:
                raise RequestRejected(status, "protocol", problem, code=code, id=id)

        if not isinstance(method, str):
            words = "The body must be a single JSON-RPC request or notification object"
            raise RequestRejected(400, "protocol", words, id=id)
        names = [name for name in request.headers if name in (VERSION, METHOD, NAME) or name.startswith(PARAM)]
        twice = next((name for name in names if names.count(name) > 1), None)
        check(twice and f"{twice} header appears more than once", _HEADER_MISMATCH)
        meta = params.get("_meta")
        lacking = [key for key in (ERA_KEY, CAPABILITIES_KEY) if not isinstance(meta, Mapping) or key not in meta]
        words = f"params._meta is missing the required envelope key(s): {', '.join(lacking)}"
        check(words if lacking else None, _INVALID_PARAMS)
        check(mismatch(method, params, headers), _HEADER_MISMATCH)
        # There is no handshake in this era, whatever a server on stdio makes of one.
        check("Method not found" if method == "initialize" else None, _NO_METHOD, 404)
        session = self._open(headers, is_shared=True)
        if method == "tools/call":
            # What is repeated in headers has to be what stands in the body, or others would be told something else.
            listing = session.runner.protocol.listing
            if not listing.is_fresh and any(name.startswith(PARAM) for name in headers):
                own_id, meta_only = session.new_id(type(id)), {"_meta": meta}
                asked = {"jsonrpc": "2.0", "id": own_id, "method": "tools/list", "params": meta_only}
                key, exchange = session.ask(written(asked), asked)
                while exchange.answer is None and not exchange.is_closed:
                    await exchange.wait()
                session.forget(key, exchange, is_cancelled=False)
            schema = schema_of(listing.known.get(str(params.get("name"))))
            check(None if schema is None else param_mismatch(params, schema, headers), _HEADER_MISMATCH)
        return session

    async def _answer(
        self, session: ClientSession, key: bytes, exchange: Exchange, is_modern: bool, is_greeting: bool,
        scope: Scope, receive: Receive, send: Send,
    ) -> None:  # fmt: skip
        """Wait for the answer and send it: as JSON, or as a stream of events if there is something to say before it."""
        headers = {SESSION: session.id} if is_greeting else {}
        try:
            async with _closed_with_client(exchange, receive):
                await exchange.wait()
                self.is_broken = self.is_broken and (exchange.answer is None or exchange.code is not None)
                if exchange.waiting or not (exchange.answer or exchange.is_closed):
                    await _stream(send, exchange, headers)
                elif exchange.answer is not None:
                    status = _STATUSES.get(exchange.code or 0, 200) if is_modern else 200
                    # A handshake that was refused begins no session.
                    headers = {} if exchange.code is not None else headers
                    if exchange.http is not None and exchange.http.status in (401, 403):
                        # Who has to log in is told so in the way that clients understand.
                        status, asked = exchange.http.status, exchange.http.headers.get("www-authenticate")
                        headers = {} if asked is None else {"www-authenticate": asked}
                    response = Response(exchange.answer.rstrip(b"\n"), status, headers, "application/json")
                    await response(scope, receive, send)
                elif session.is_over:
                    words = "The server ended before it answered."
                    raise RequestRejected(502, "protocol", words, -32603, exchange.id)
        finally:
            session.forget(key, exchange, is_cancelled=is_modern and exchange.answer is None)
            if is_greeting and (exchange.code is not None or exchange.answer is None):
                session.ended()

    # Sessions

    def _session_of(self, headers: Mapping[str, str]) -> ClientSession:
        if SESSION not in headers:
            raise RequestRejected(400, "no session", "Bad Request: Missing session ID")
        session = self.sessions.get(headers[SESSION])
        # One that belongs to somebody else is as good as none.
        if session is None or session.is_shared or session.owner != self.access.caller(headers):
            raise RequestRejected(404, "session", "Session not found")
        return session

    def _open(self, headers: Mapping[str, str], *, is_shared: bool) -> ClientSession:
        """Begin a session, or find that of all who have the same login."""
        owner = self.access.caller(headers)
        id = f"shared {owner}" if is_shared else secrets.token_urlsafe(24)
        if id in self.sessions:
            return self.sessions[id]
        if self.is_draining:
            raise RequestRejected(503, "draining", "The relay is about to end.", headers={"retry-after": "5"})
        if len(self.sessions) >= self.limits.sessions:
            words = f"{self.limits.sessions} sessions are open, which is the limit."
            raise RequestRejected(503, "sessions", words, headers={"retry-after": "30"})
        session = ClientSession(id, owner, self.limits, self._relay.log, self._ended, is_shared=is_shared)
        # A token that is asked for here is nobody else's business.
        login = headers.get("authorization") if not self.access.tokens else None
        session.runner = self._relay.open(session, {} if login is None else {"authorization": login})
        self.sessions[id] = session
        session.runner.begin()
        if self._sweeping is None:
            self._sweep()
        return session

    def _ended(self, session: ClientSession) -> None:
        self.is_broken = self.is_broken or session.runner.protocol.state == "failed"
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
        task = asyncio.get_running_loop().create_task(session.runner.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        if self.is_draining and not self.sessions:
            self.on_drained()

    def _sweep(self) -> None:
        """Forget who has not been heard of for long."""
        self._sweeping, until = None, time.monotonic() - self.limits.idle
        for session in list(self.sessions.values()):
            if session.seen_at < until and not session.open and not session.is_attached:
                session.ended()
        if self.sessions:
            wait = min(self.limits.idle / 2, 60.0)
            self._sweeping = asyncio.get_running_loop().call_later(wait, self._sweep)

    def drain(self) -> None:
        """Let what is under way come to its end, and accept nothing new."""
        self.is_draining = True
        for session in list(self.sessions.values()):
            session.own.close()
            session.runner.drain()
        if not self.sessions:
            self.on_drained()

    async def close(self) -> None:
        """End everything."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for session in list(self.sessions.values()):
            session.ended()
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self._relay.close()

    @asynccontextmanager
    async def _until_closed(self, app: object) -> AsyncIterator[None]:
        yield
        await self.close()


def _require(headers: Mapping[str, str], *kinds: str) -> None:
    """Raise `RequestRejected` where `Accept` does not name all of these."""
    named = {each.partition(";")[0].strip().lower() for each in headers.get("accept", "").split(",")}
    if not all(named & {kind, kind.partition("/")[0] + "/*", "*/*"} for kind in kinds):
        raise RequestRejected(406, "accept", f"Accept must name {' and '.join(kinds)}.")


class _Written(Response):
    """A response that a function writes."""

    def __init__(self, write: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._write(scope, receive, send)


@asynccontextmanager
async def _closed_with_client(exchange: Exchange, receive: Receive) -> AsyncIterator[None]:
    """Close the exchange when the client hangs up."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        exchange.close()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()


async def _send_own_stream(session: ClientSession, scope: Scope, receive: Receive, send: Send) -> None:
    """What the server says by itself in a session."""
    try:
        async with _closed_with_client(session.own, receive):
            await _stream(send, session.own, {SESSION: session.id}, PING)
    finally:
        session.is_attached, session.seen_at = False, time.monotonic()
        session.own.is_closed = session.is_over


async def _stream(send: Send, exchange: Exchange, headers: Mapping[str, str], first: bytes = b"") -> None:
    raw = [(name.encode(), value.encode()) for name, value in {**_STREAM, **headers}.items()]
    # Whoever has hung up needs nothing more.
    with suppress(OSError):
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        if first:
            await send({"type": "http.response.body", "body": first, "more_body": True})
        async for event in exchange.events():
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
