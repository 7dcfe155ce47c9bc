"""What is no request is answered before the server sees it: on streams such as stdio, and over HTTP.

The SDK's transports pass on what they cannot read as an exception, and nobody answers it. Over HTTP the transport still
answers: it looks at headers and sessions first, as ever, and only then reads the body. A body that is no request is
spoilt while it is read, so that the transport refuses it, and its answer is put into our words.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, Final

from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.routing import Mount, Route

from failwell.model import ToolError
from failwell.sdk import (
    GENERATION,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    MCPError,
    enclosed,
    protocol_error,
    wrong_params,
)
from failwell.server.boundary import Boundary
from failwell.server.served_call import MiddlewareFrame, middleware_frame
from failwell.server.wrong_requests import (
    CLIENT_METHODS,
    SDK_WORDS,
    Refusal,
    Request,
    WrongRequests,
    can_be_sent,
    read_message,
    refused,
)

# 1.x has an envelope around each message.
_ENVELOPED: Final = GENERATION == 1
_READER: Final = "stdio_server.<locals>.stdin_reader"
_NO_MESSAGE: Final = ToolError("The message is neither a request nor an answer.", code="INVALID_REQUEST")


def check_streams(server: Any, boundary: Boundary) -> None:
    """Put a check between the server and whatever streams it is run on."""
    original = server.run

    def run(read_stream: Any, write_stream: Any, *args: Any, **kwargs: Any) -> Awaitable[None]:
        writer = _Writer(write_stream, boundary)
        served: Awaitable[None] = original(_Reader(read_stream, writer, boundary), writer, *args, **kwargs)
        return served

    server.run = run


class _Refused(JSONRPCError):
    """An answer to an id that the SDK would not take, but that can be read."""

    id: Any


def _refusing(refused: _Refused) -> Any:
    """The message for it. 1.x leaves out what is null when it writes, and with it the id that JSON-RPC wants to see."""
    if GENERATION == 2:
        return refused
    message = enclosed(refused.model_copy(update={"id": "" if refused.id is None else refused.id}))
    text = refused.model_dump_json(by_alias=True)
    object.__setattr__(message, "model_dump_json", lambda **options: text)
    return message


class _Stream:
    """A stream of the SDK's, with everything about it that is not looked at."""

    def __init__(self, inner: Any, boundary: Boundary) -> None:
        self._inner = inner
        self._wrong = boundary.wrong

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._inner.aclose()


class _Writer(_Stream):
    """What leaves: knows which requests have no answer yet, and completes what the SDK says about requests."""

    def __init__(self, inner: Any, boundary: Boundary) -> None:
        super().__init__(inner, boundary)
        self.unanswered: dict[str | int, JSONRPCRequest] = {}

    def send(self, item: SessionMessage) -> Awaitable[None]:
        # No coroutine of its own around the other: every answer leaves through here.
        message: Any = item.message.root if _ENVELOPED else item.message  # type: ignore[union-attr]
        kind = type(message)
        if kind is JSONRPCResponse or kind is JSONRPCError:
            asked = self.unanswered.pop(message.id, None)
            if kind is JSONRPCError and (completed := self._completed(message, asked)) is not None:
                item = SessionMessage(enclosed(message.model_copy(update={"error": completed})), item.metadata)
        sent: Awaitable[None] = self._inner.send(item)
        return sent

    def _completed(self, message: JSONRPCError, asked: JSONRPCRequest | None) -> ErrorData | None:
        method = "" if asked is None else asked.method
        error = message.error
        if GENERATION == 1 and asked is not None and error.message == SDK_WORDS:
            # 1.x says the same of a method that it does not know, of parameters, and of what comes too early.
            if method not in CLIENT_METHODS:
                error = ErrorData(code=-32601, message="Method not found", data=method)
            elif (problem := wrong_params(method, asked.params)) is not None:
                return self._wrong.invalid_params(problem, method, asked.params, message.id).error
        return self._wrong.complete_error(error, method, message.id)


class _Reader(_Stream):
    """What comes in: only messages that are some."""

    def __init__(self, inner: Any, writer: _Writer, boundary: Boundary) -> None:
        super().__init__(inner, boundary)
        self._writer = writer

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> SessionMessage:
        return await self._next(self._inner.__anext__)

    async def receive(self) -> SessionMessage:
        return await self._next(self._inner.receive)

    async def _next(self, read: Callable[[], Awaitable[Any]]) -> SessionMessage:
        while True:
            item = await read()
            refusal = self._refusal(item)
            if refusal is None:
                return item  # type: ignore[no-any-return]
            if refusal is _NOTHING:
                continue
            error = ErrorData.model_validate(self._wrong.to_error(refusal))
            if refusal.is_owed:
                refused = _Refused(jsonrpc="2.0", id=refusal.id, error=error)
                await self._writer._inner.send(SessionMessage(_refusing(refused)))

    def _refusal(self, item: SessionMessage | Exception) -> Refusal | None:
        if isinstance(item, Exception):
            return _unread(item)
        message: Any = item.message.root if _ENVELOPED else item.message  # type: ignore[union-attr]
        if type(message) is JSONRPCRequest:
            if message.id in self._writer.unanswered:
                return self._wrong.duplicate_id(Request(message.id, message.method))
            self._writer.unanswered[message.id] = message
        elif type(message) is JSONRPCNotification:
            if message.method == "notifications/cancelled":
                # Never answered, by the specification.
                self._writer.unanswered.pop((message.params or {}).get("requestId", ""), None)
            elif not message.method.startswith("notifications/"):
                # A request may have no id, or one that the SDK passes over.
                read = read_message(_last_line())
                if isinstance(read, Refusal) and read.method == message.method:
                    return read
                if message.method in CLIENT_METHODS:
                    self._wrong.log_notification(message.method)
        return None


# An empty line says nothing, and gets no answer.
_NOTHING: Final = Refusal(ToolError(""), None, "", is_owed=False)


def _unread(exc: Exception) -> Refusal:
    """What a transport could not read."""
    sent, line = None, _last_line()
    for each in exc.errors(include_url=False, include_context=False) if isinstance(exc, ValidationError) else ():
        if each["type"] == "json_invalid":
            line = str(each["input"])
        elif len(each["loc"]) < 2 or (each["type"] == "missing" and len(each["loc"]) == 2):
            # pydantic quotes the whole message only where a part of it is missing.
            sent = each["input"]
    if line and not line.strip():
        return _NOTHING
    read = refused(sent) if sent is not None else read_message(line)
    if isinstance(read, Request):
        # Python reads more than the transport does: half a character, for one.
        id = read.id if can_be_sent(read.id) else None
        return Refusal(ToolError("The message is not JSON.", code="PARSE_ERROR"), id, read.method)
    return read or Refusal(_NO_MESSAGE, None, "", is_owed=False)


def _last_line() -> str:
    """The line that the SDK's reader of stdin read last; empty where it cannot be had.

    The transport keeps neither the id that it passed over nor the message that it refused, so the only place to look is
    the reader itself, which waits while its message is looked at.
    """
    try:
        for task in asyncio.all_tasks():
            part: Any = task.get_coro()
            while isinstance(part, Coroutine):
                frame = getattr(part, "cr_frame", None)
                if getattr(part, "__qualname__", "") == _READER and frame is not None:
                    line = frame.f_locals.get("line", "")
                    return line if isinstance(line, str) else ""
                part = getattr(part, "cr_await", None)
    except RuntimeError:
        # Not on asyncio.
        pass
    return ""


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]
_SPOILT: Final = b"\x00"
_REFUSED: Final = 400
_NOT_ACCEPTABLE: Final = 406
_CRASHED: Final = 500
# As far into an event as its id may be long.
_BEGINNING: Final = 1_000
_SESSION: Final = b"mcp-session-id"


class CheckedPosts:
    """An ASGI application that looks at what is posted to another."""

    def __init__(self, app: App, boundary: Boundary) -> None:
        self._app = app
        self._wrong = boundary.wrong
        self._unanswered: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        session = next((value for name, value in scope["headers"] if name == _SESSION), b"")
        post = _Post(receive, send, self._wrong, self._unanswered, session)
        try:
            await self._app(scope, post.receive, post.send)
        finally:
            if post.key is not None:
                self._unanswered.discard(post.key)


def check_http_app(server: Any, boundary: Boundary) -> None:
    """Have what is posted to a FastMCP and is no request answered."""
    original = server.http_app

    def http_app(*args: Any, **kwargs: Any) -> Any:
        app = original(*args, **kwargs)
        for route in app.routes:
            is_ours = isinstance(route, (Route, Mount)) and route.path == app.state.path
            if is_ours and getattr(app.state, "transport_type", None) != "sse":
                route.app = CheckedPosts(route.app, boundary)
        return app

    server.http_app = http_app


class _Post:
    """One of them, while it is read and answered."""

    def __init__(
        self, receive: Receive, send: Send, wrong: WrongRequests, unanswered: set[tuple[bytes, str]], session: bytes
    ) -> None:
        self._receive = receive
        self._send = send
        self._wrong = wrong
        self._unanswered = unanswered
        self._session = session
        self._sent = b""
        self._read: Request | Refusal | None = None
        self._held: Message | None = None
        self._answer = b""
        self.key: tuple[bytes, str] | None = None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or self._read is not None:
            return message
        self._sent += message.get("body", b"")
        if message.get("more_body", False):
            return message
        read, self._sent = read_message(self._sent), b""
        if isinstance(read, Request) and read.id is None:
            self._wrong.log_notification(read.method)
        elif isinstance(read, Request) and self._session:
            # In a session of this transport 7 and "7" are the same; without one each post has its own ids.
            key = (self._session, str(read.id))
            if key in self._unanswered:
                read = self._wrong.duplicate_id(read)
            else:
                self._unanswered.add(key)
                self.key = key
        self._read = read
        # In the place of what was sent: the transport takes bytes that are no text for a mistake of its own.
        return {**message, "body": _SPOILT} if isinstance(read, Refusal) else message

    async def send(self, message: Message) -> None:
        if self.key is not None and _answers(message):
            # Before it is sent: whoever reads it may use the id again at once.
            self._unanswered.discard(self.key)
            self.key = None
        if message["type"] == "http.response.start":
            status = message["status"]
            # In a session a 404 says that the session is gone: clients know it by its bare form, and begin another.
            is_refused = status in (_REFUSED, _NOT_ACCEPTABLE) or (status == 404 and not self._session)
            is_json = any(name.lower() == b"content-type" and b"json" in value for name, value in message["headers"])
            if isinstance(self._read, Refusal) or (is_refused and is_json):
                self._held = message
                return
        elif self._held is not None and message["type"] == "http.response.body":
            self._answer += message.get("body", b"")
            if message.get("more_body", False):
                return
            start, self._held = self._held, None
            body = self._worded(self._answer)
            headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
            if isinstance(self._read, Refusal) and start["status"] == _CRASHED:
                # It came in parts, of which the transport has read the first ones.
                start = {**start, "status": _REFUSED}
            await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
            message = {**message, "body": body}
        await self._send(message)

    def _worded(self, answer: bytes) -> bytes:
        """The transport's answer in the contract's words; as it is where there is nothing to add."""
        read = self._read
        try:
            whole = json.loads(answer)
            if isinstance(read, Refusal):
                whole |= {"id": read.id, "error": self._wrong.to_error(read)}
            else:
                if whole.get("id") is None and read is not None:
                    whole["id"] = read.id
                method = "" if read is None else read.method
                error = ErrorData.model_validate(whole["error"])
                if (completed := self._wrong.complete_error(error, method, whole.get("id"))) is not None:
                    whole["error"] = completed.model_dump(exclude_none=True)
            return json.dumps(whole, separators=(",", ":")).encode()
        except (ValueError, TypeError, KeyError, AttributeError):
            return answer


def _answers(message: Message) -> bool:
    """Whether a part of a body holds the answer; in a stream, the end comes only after it."""
    if message["type"] != "http.response.body":
        return False
    start = message.get("body", b"")[:_BEGINNING]
    return not message.get("more_body", False) or b'"result":' in start or b'"error":' in start


def worded(boundary: Boundary) -> Any:
    """Middleware that puts what the protocol says of a request into the contract's words."""

    async def failwell_words(ctx: Any, call_next: Any) -> Any:
        way = MiddlewareFrame(ctx)
        token = middleware_frame.set(way)
        try:
            return await call_next(ctx)
        except ValidationError as exc:
            raise boundary.wrong.invalid_params(exc, ctx.method, ctx.params, ctx.request_id) from None
        except MCPError as exc:
            if exc is way.raised:
                # It has been answered so, and written down.
                raise
            completed = boundary.wrong.complete_error(exc.error, ctx.method, ctx.request_id)
            if completed is None:
                raise
            raise protocol_error(completed.code, completed.message, completed.data) from None
        finally:
            middleware_frame.reset(token)

    return failwell_words
