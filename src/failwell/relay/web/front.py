"""Streamable HTTP in front of a relay, as an ASGI application: both eras, bounded, and closed to strangers."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final

from failwell.observe import TRACE_NAMES
from failwell.recovery import schema_of
from failwell.relay.actions import Note
from failwell.relay.messages import Message, params_of, read_frame, written
from failwell.relay.request import ERA_KEY
from failwell.relay.runner import Runner

from .bounds import Gatekeeper, NotTaken, RelayLimits
from .event_stream import PING, event
from .exchange import Exchange
from .headers import (
    CAPABILITIES_KEY,
    HANDSHAKES,
    METHOD,
    NAME,
    PARAM,
    SESSION,
    VERSION,
    mismatch,
    param_mismatch,
)
from .visit import Visit, id_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Open = Callable[[Visit, Mapping[str, str]], Runner]
"""Makes the runner of a visit; the headers are those that the server may be sent."""

_PARSE_ERROR, _INVALID_REQUEST, _INVALID_PARAMS, _NO_METHOD, _HEADER_MISMATCH = -32700, -32600, -32602, -32601, -32020
# What the newer era says by the status as well.
_STATUSES: Final = {**dict.fromkeys((-32700, -32600, -32602, -32020, -32021, -32022), 400), -32601: 404}
_STREAM: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_JSON: Final = (b"content-type", b"application/json")
_ROUTING: Final = frozenset({VERSION, METHOD, NAME})
_LOGINS: Final = frozenset({401, 403})


class Front:
    """An ASGI application: `POST`, `GET` and `DELETE` on one path, and what an operator asks beside it."""

    def __init__(
        self,
        open_visit: Open,
        gatekeeper: Gatekeeper,
        *,
        path: str = "/mcp",
        say: Callable[[Note], None],
        pages: Mapping[str, Callable[[], Awaitable[tuple[int, str, bytes]]]] | None = None,
        at_end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._open_visit, self.gatekeeper, self._path, self._say = open_visit, gatekeeper, path, say
        self._pages = pages or {}
        self._at_end = at_end
        self.visits: dict[str, Visit] = {}
        """The clients of the older era, by the ids of their sessions."""
        self.lanes: dict[str, Visit] = {}
        """Those of the newer era, which has no sessions: one for all who log in as the same."""
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self.is_draining = self.is_broken = False
        """Whether it is about to end, and whether the server did not start when it was last needed."""

    @property
    def limits(self) -> RelayLimits:
        return self.gatekeeper.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            await self._serve(scope, headers, receive, send)
        except NotTaken as refusal:
            self.gatekeeper.refused[refusal.reason] += 1
            await _refuse(send, refusal)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
        self.gatekeeper.check(headers, scope["headers"])
        path, method = str(scope["path"]), scope["method"]
        page = self._pages.get(path)
        if page is not None and method in ("GET", "HEAD"):
            if path != "/healthz":
                self.gatekeeper.admit(headers)
            status, kind, body = await page()
            await _send(send, status, body, (b"content-type", kind.encode()))
            return
        if path.rstrip("/") != self._path.rstrip("/"):
            raise NotTaken(404, "path", f"There is nothing here; the server is at {self._path}.")
        self.gatekeeper.admit(headers)
        if method == "POST":
            await self._post(scope, headers, receive, send)
        elif method == "GET":
            await self._get(headers, receive, send)
        elif method == "DELETE":
            visit = self._visit_of(headers)
            visit.over()
            await _send(send, 200, b"")
        else:
            raise NotTaken(405, "method", "POST, GET and DELETE are taken here.", allow="GET, POST, DELETE")

    # Requests

    async def _post(self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
        version = headers.get(VERSION)
        is_modern = version is not None and version not in HANDSHAKES
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise NotTaken(415, "content-type", "The body of a request is application/json.")
        if not _accepts(headers, "application/json") or not _accepts(headers, "text/event-stream"):
            raise NotTaken(406, "accept", "Accept must name application/json and text/event-stream.")
        frame = await self._body(headers, receive)
        message = read_frame(frame)
        if message is None:
            raise _Wrong(400, _PARSE_ERROR, "The body is no JSON.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise _Wrong(400, _INVALID_REQUEST, "The body must be a single JSON-RPC message.")
        # One line for each message, as the protocol knows them.
        frame = frame.strip().replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
        if not frame.startswith(b"{") or b"\0" in frame[:4]:
            # In another encoding, or with a mark that says in which one.
            frame = written(message)
        if is_modern:
            await self._modern(scope, headers, frame, message, receive, send)
        else:
            await self._handshaken(headers, frame, message, receive, send)

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        most = self.limits.body
        size = headers.get("content-length", "0")
        if size.isdigit() and int(size[:18]) > most:
            raise NotTaken(413, "body", f"The body has {size} bytes; {most} are taken.", connection="close")
        parts: list[bytes] = []
        length, more = 0, True
        try:
            async with asyncio.timeout(self.limits.patience):
                while more:
                    part = await receive()
                    if part["type"] == "http.disconnect":
                        raise NotTaken(400, "disconnect", "The client hung up.")
                    parts.append(part.get("body", b""))
                    length, more = length + len(parts[-1]), bool(part.get("more_body"))
                    if length > most:
                        raise NotTaken(413, "body", f"The body has more than {most} bytes.", connection="close")
        except TimeoutError:
            words = f"The body took longer than {self.limits.patience:g} seconds."
            raise NotTaken(408, "slow body", words, connection="close") from None
        return b"".join(parts)

    async def _handshaken(
        self, headers: Mapping[str, str], frame: bytes, message: Message, receive: Receive, send: Send
    ) -> None:
        """A message of the older era: in its session, or one that begins a session."""
        is_request = "method" in message and "id" in message
        if message.get("method") == "initialize" and is_request:
            visit = self._begin(headers)
            try:
                key, exchange = visit.asks(frame, message)
                await self._answer(send, receive, visit, key, exchange, session=visit.id)
            finally:
                if exchange.code is not None or exchange.answer is None:
                    visit.over()
            return
        visit = self._visit_of(headers)
        if not is_request:
            visit.says(frame)
            await _send(send, 202, b"")
            return
        key, exchange = visit.asks(frame, message, _trace(headers))
        await self._answer(send, receive, visit, key, exchange)

    async def _modern(
        self, scope: Scope, headers: Mapping[str, str], frame: bytes, message: Message, receive: Receive, send: Send
    ) -> None:
        """A message of the newer era, which stands for itself."""
        if "id" not in message:
            # There are none that mean anything: what is given up ends with its stream.
            await _send(send, 202, b"")
            return
        id, method, params = message.get("id"), message.get("method"), params_of(message)
        if not isinstance(method, str):
            raise _Wrong(400, _INVALID_REQUEST, "The body must be a single JSON-RPC request or notification object")
        twice = _twice(scope["headers"])
        if twice is not None:
            raise _Wrong(400, _HEADER_MISMATCH, f"{twice} header appears more than once", id)
        meta = params.get("_meta")
        lacking = [key for key in (ERA_KEY, CAPABILITIES_KEY) if not isinstance(meta, Mapping) or key not in meta]
        if lacking:
            words = f"params._meta is missing the required envelope key(s): {', '.join(lacking)}"
            raise _Wrong(400, _INVALID_PARAMS, words, id)
        wrong = mismatch(method, params, headers)
        if wrong is not None:
            raise _Wrong(400, _HEADER_MISMATCH, wrong, id)
        if method == "initialize":
            # There is no handshake in this era, whatever a server on stdio makes of one.
            raise _Wrong(404, _NO_METHOD, "Method not found", id)
        visit = self._lane(headers)
        if method == "tools/call":
            await self._check_arguments(visit, params, headers, id)
        key, exchange = visit.asks(frame, message, _trace(headers))
        await self._answer(send, receive, visit, key, exchange, is_modern=True)

    async def _check_arguments(
        self, visit: Visit, params: Mapping[str, Any], headers: Mapping[str, str], id: Any
    ) -> None:
        """What is repeated in headers has to be what stands in the body, or others would be told something else."""
        listing = visit.runner.protocol.listing
        if not listing.is_fresh and any(name.startswith(PARAM) for name in headers):
            await self._listed(visit, params, type(id))
        schema = schema_of(listing.known.get(str(params.get("name"))))
        wrong = param_mismatch(params, schema, headers) if schema is not None else None
        if wrong is not None:
            raise _Wrong(400, _HEADER_MISMATCH, wrong, id)

    async def _listed(self, visit: Visit, params: Mapping[str, Any], id_kind: type) -> None:
        """Have the tools listed in the client's name."""
        message = {
            "jsonrpc": "2.0",
            "id": visit.new_id(id_kind),
            "method": "tools/list",
            "params": {"_meta": params["_meta"]},
        }
        key, exchange = visit.asks(written(message), message)
        while not exchange.has_ended and await exchange.wait():
            pass
        visit.forget(key, exchange, is_cancelled=False)

    # Answers

    async def _answer(
        self,
        send: Send,
        receive: Receive,
        visit: Visit,
        key: bytes,
        exchange: Exchange,
        *,
        session: str | None = None,
        is_modern: bool = False,
    ) -> None:
        """Wait for the answer and send it: as JSON, or as a stream if there is something to tell before it."""
        gone = asyncio.ensure_future(_until_gone(receive))
        gone.add_done_callback(lambda _: exchange.leave())
        more = [(SESSION.encode(), session.encode())] if session is not None else []
        try:
            await exchange.wait()
            self.is_broken = self.is_broken and (exchange.answer is None or exchange.code is not None)
            if exchange.answer is not None and not exchange.waiting:
                await self._send_answer(send, exchange, more, is_modern=is_modern)
            elif not exchange.is_gone and (exchange.waiting or not exchange.is_closed):
                await send({"type": "http.response.start", "status": 200, "headers": [*_STREAM, *more]})
                await _stream(send, exchange)
            elif not exchange.is_gone:
                raise _Wrong(502, -32603, "The server ended before it answered.", exchange.id)
        finally:
            gone.cancel()
            visit.forget(key, exchange, is_cancelled=is_modern and exchange.answer is None)

    async def _send_answer(
        self, send: Send, exchange: Exchange, more: list[tuple[bytes, bytes]], *, is_modern: bool
    ) -> None:
        status = _STATUSES.get(exchange.code or 0, 200) if is_modern else 200
        # A handshake that was refused begins no session.
        more = more if exchange.code is None else []
        if exchange.http is not None and exchange.http.status in _LOGINS:
            # Who has to log in is told so in the way that clients understand.
            status = exchange.http.status
            asked = exchange.http.headers.get("www-authenticate")
            more = [] if asked is None else [(b"www-authenticate", asked.encode("latin-1"))]
        assert exchange.answer is not None
        await _send(send, status, exchange.answer.rstrip(b"\n"), _JSON, *more)

    async def _get(self, headers: Mapping[str, str], receive: Receive, send: Send) -> None:
        """The client's open stream, for what the server says by itself."""
        if not _accepts(headers, "text/event-stream"):
            raise NotTaken(406, "accept", "Accept must name text/event-stream.")
        if headers.get(SESSION) is None:
            raise NotTaken(405, "method", "There is no stream without a session.", allow="POST")
        visit = self._visit_of(headers)
        if visit.is_attached:
            raise NotTaken(409, "stream", "The session has an open stream already.")
        visit.is_attached, visit.own.is_gone = True, False
        gone = asyncio.ensure_future(_until_gone(receive))
        gone.add_done_callback(lambda _: visit.own.leave())
        try:
            told = [*_STREAM, (SESSION.encode(), visit.id.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": told})
            await send({"type": "http.response.body", "body": PING, "more_body": True})
            await _stream(send, visit.own)
        finally:
            gone.cancel()
            visit.is_attached, visit.own.is_gone, visit.seen_at = False, False, time.monotonic()

    # Who asks

    def _visit_of(self, headers: Mapping[str, str]) -> Visit:
        session = headers.get(SESSION)
        if session is None:
            raise NotTaken(400, "no session", "Bad Request: Missing session ID")
        visit = self.visits.get(session)
        # One that belongs to somebody else is as good as none.
        if visit is None or visit.owner != self.gatekeeper.caller(headers):
            raise NotTaken(404, "session", "Session not found")
        return visit

    def _begin(self, headers: Mapping[str, str]) -> Visit:
        if self.is_draining:
            raise NotTaken(503, "draining", "The relay is about to end.", retry_after="5")
        if len(self.visits) >= self.limits.sessions:
            most = f"{self.limits.sessions} sessions are open, which is the limit"
            raise NotTaken(503, "sessions", f"{most}.", retry_after="30")
        return self._opened(secrets.token_urlsafe(24), self.gatekeeper.caller(headers), headers, is_shared=False)

    def _lane(self, headers: Mapping[str, str]) -> Visit:
        # Who logs in, here or at the server itself, is another client for each login, with a process of its own.
        owner = self.gatekeeper.caller(headers)
        visit = self.lanes.get(owner)
        if visit is not None:
            return visit
        if self.is_draining:
            raise NotTaken(503, "draining", "The relay is about to end.", retry_after="5")
        if len(self.lanes) >= self.limits.sessions:
            raise NotTaken(503, "sessions", f"{self.limits.sessions} clients are known, which is the limit.")
        return self._opened(owner, owner, headers, is_shared=True)

    def _opened(self, id: str, owner: str, headers: Mapping[str, str], *, is_shared: bool) -> Visit:
        visit = Visit(id, owner, self.limits, is_shared=is_shared, log=self._say, left=self._over)
        # A token that is asked for here is nobody else's business.
        login = headers.get("authorization") if not self.gatekeeper.tokens else None
        visit.runner = self._open_visit(visit, {} if login is None else {"authorization": login})
        (self.lanes if is_shared else self.visits)[id] = visit
        visit.runner.begin()
        if self._sweeping is None:
            self._sweep_later()
        return visit

    def _over(self, visit: Visit) -> None:
        self.is_broken = self.is_broken or visit.runner.protocol.state == "failed"
        for known in (self.visits, self.lanes):
            if known.get(visit.id) is visit:
                del known[visit.id]
        task = asyncio.get_running_loop().create_task(visit.runner.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _sweep_later(self) -> None:
        wait = min(self.limits.idle / 2, 60.0)
        self._sweeping = asyncio.get_running_loop().call_later(wait, self._sweep)

    def _sweep(self) -> None:
        """Forget who has not been heard of for long."""
        self._sweeping = None
        until = time.monotonic() - self.limits.idle
        for visit in [*self.visits.values(), *self.lanes.values()]:
            if visit.seen_at < until and not visit.open and not visit.is_attached:
                visit.over()
        if self.visits or self.lanes:
            self._sweep_later()

    def drain(self) -> None:
        """Let what is under way come to its end, and take nothing new."""
        self.is_draining = True
        for visit in [*self.visits.values(), *self.lanes.values()]:
            visit.own.close()
            visit.runner.drain()

    async def close(self) -> None:
        """End everything."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for visit in [*self.visits.values(), *self.lanes.values()]:
            visit.over()
        await asyncio.gather(*self._closing, return_exceptions=True)
        if self._at_end is not None:
            await self._at_end()


class _Wrong(NotTaken):
    """A request that is wrong by the protocol."""

    def __init__(self, status: int, code: int, message: str, id: Any = None) -> None:
        super().__init__(status, "protocol", message)
        self.code, self.id = code, id


async def _refuse(send: Send, refusal: NotTaken) -> None:
    code = refusal.code if isinstance(refusal, _Wrong) else _INVALID_REQUEST
    id = id_of({"id": refusal.id}) if isinstance(refusal, _Wrong) else None
    body = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": refusal.message}}
    more = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    await _send(send, refusal.status, json.dumps(body, separators=(",", ":")).encode(), _JSON, *more)


async def _send(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send, exchange: Exchange) -> None:
    """All that there is to tell, as events, until the answer was told or nobody listens."""
    while not exchange.is_gone:
        frame = exchange.taken()
        if frame is not None:
            await send({"type": "http.response.body", "body": event(frame), "more_body": True})
        elif exchange.answer is not None:
            await send({"type": "http.response.body", "body": event(exchange.answer), "more_body": False})
            return
        elif exchange.is_closed:
            break
        elif not await exchange.wait():
            await send({"type": "http.response.body", "body": PING, "more_body": True})
    with suppress(OSError):
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _trace(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in TRACE_NAMES if name in headers}


def _accepts(headers: Mapping[str, str], kind: str) -> bool:
    group = kind.partition("/")[0] + "/*"
    named = [each.partition(";")[0].strip().lower() for each in headers.get("accept", "").split(",")]
    return any(each in (kind, group, "*/*") for each in named)


def _twice(raw: list[tuple[bytes, bytes]]) -> str | None:
    seen: set[str] = set()
    for name, _ in raw:
        key = name.decode("latin-1").lower()
        if (key in _ROUTING or key.startswith(PARAM)) and key in seen:
            return key
        seen.add(key)
    return None
