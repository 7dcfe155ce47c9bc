"""What is no request is answered before the server sees it: on streams such as stdio, and over HTTP.

The SDK's transports pass on what they cannot read as an exception, and nobody answers it. Over HTTP the transport still
looks at headers and sessions first. A body that is no request is spoilt while it is read, so that the transport refuses
it, and its answer is replaced by ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, Final

from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from failwell.formats import MODERN_ERA
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
from failwell.server.served_call import (
    EXTENSION,
    MiddlewareFrame,
    ServedCall,
    ToolInfo,
    middleware_frame,
    reraise_control_flow,
)
from failwell.server.wrong_requests import CLIENT_METHODS, SDK_WORDS, Refusal, Request, can_be_sent, read_message

from .shared import settings

SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
# What the runner itself says about a request.
_RUNNERS: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
# 1.x has an envelope around each message.
_ENVELOPED: Final = GENERATION == 1
_READER: Final = "stdio_server.<locals>.stdin_reader"
_NO_MESSAGE: Final = Refusal(
    ToolError("The message is neither a request nor an answer.", code="INVALID_REQUEST"), None, "", is_owed=False
)


def check_streams(server: Any, boundary: Boundary) -> None:
    """Put a check between the server and whatever streams it is run on."""
    original = server.run

    def run(read_stream: Any, write_stream: Any, *args: Any, **kwargs: Any) -> Awaitable[None]:
        writer = _Writer(write_stream, boundary)
        served: Awaitable[None] = original(_Reader(read_stream, writer, boundary), writer, *args, **kwargs)
        return served

    server.run = run


def add_middleware(server: Any, boundary: Boundary, tool_info: Callable[[str], ToolInfo] | None) -> None:
    """Answer for what others put around a handler of 2.x. Without `tool_info` a framework on top of the server does
    that, and only the words of the protocol are completed."""

    async def failwell_middleware(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Answers for other middleware: what it raises about a call, before the tool or after it, the model should
        know."""
        calls = ctx.method == "tools/call"
        frame = MiddlewareFrame(ctx)
        token = middleware_frame.set(frame)
        try:
            result = await call_next(ctx)
            if ctx.method == "initialize" and result is not None:
                # The SDK takes the extension out for that era.
                if not isinstance(result, dict):
                    result = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                capabilities = result.setdefault("capabilities", {})
                for place in ("experimental", "extensions"):
                    capabilities.setdefault(place, {})[EXTENSION] = settings(boundary)
            return result
        except ValidationError as exc:
            # The request itself is malformed.
            raise boundary.wrong.invalid_params(exc, ctx.method, ctx.params, ctx.request_id) from None
        except MCPError as exc:
            if exc is frame.raised:
                # It has been answered so, and written down.
                raise
            # What the runner says about a request is the protocol's business, and so is a failure that the options send
            # as a protocol error; any other number is somebody's own.
            is_contract = isinstance(exc.data, dict) and "mcp_error_code" in exc.data
            is_protocol = exc.code in _RUNNERS or boundary.is_protocol(exc, ctx.protocol_version)
            if tool_info is None or (frame.is_of_tool(exc) and (is_protocol or is_contract or not calls)):
                refused = boundary.redact_protocol_error(exc)
                completed = boundary.wrong.complete_error(refused.error, ctx.method, ctx.request_id)
                if completed is not None:
                    refused = protocol_error(completed.code, completed.message, completed.data)
                raise refused from None
            failed: BaseException = exc
        except BaseException as exc:
            if tool_info is None:
                raise
            failed = reraise_control_flow(exc)
        finally:
            middleware_frame.reset(token)
        if not calls:
            raise boundary.request_error(failed, ctx.method, {}, ctx)
        params = ctx.params or {}
        tool = tool_info(str(params.get("name", "")))
        arguments = params.get("arguments")
        call = ServedCall(tool.name, arguments if isinstance(arguments, dict) else {}, ctx)
        answer = await boundary.answer_around(call, failed, tool, frame.marks)
        wire = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        if call.era >= MODERN_ERA:
            # It goes out without passing the runner, which would have added this.
            wire |= {
                "resultType": "complete",
                "_meta": {**wire.get("_meta", {}), SERVER_INFO: server.server_info_stamp},
            }
        return wire

    middleware: list[Any] = server.middleware
    # Inside telemetry, so that the span sees the answer; outside everybody else.
    outer = bool(middleware) and type(middleware[0]).__name__ == "OpenTelemetryMiddleware"
    middleware.insert(1 if outer else 0, failwell_middleware)


class _RefusalMessage(JSONRPCError):
    """An answer to an id that the SDK would not take, but that can be read."""

    id: Any


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
            if kind is JSONRPCError and (completed := self._complete(message, asked)) is not None:
                item = SessionMessage(enclosed(message.model_copy(update={"error": completed})), item.metadata)
        sent: Awaitable[None] = self._inner.send(item)
        return sent

    def _complete(self, message: JSONRPCError, asked: JSONRPCRequest | None) -> ErrorData | None:
        method, error = "" if asked is None else asked.method, message.error
        if GENERATION == 1 and asked is not None and error.message == SDK_WORDS:
            # 1.x says the same of a method that it does not know, of parameters, and of what comes too early.
            if method not in CLIENT_METHODS:
                error = ErrorData(code=-32601, message="Method not found", data=method)
            elif (problem := wrong_params(method, asked.params)) is not None:
                return self._wrong.invalid_params(problem, method, asked.params, message.id).error
        return self._wrong.complete_error(error, method, message.id)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer what the server does not see."""
        answer = _RefusalMessage(
            jsonrpc="2.0", id=refusal.id, error=ErrorData.model_validate(self._wrong.to_error(refusal))
        )
        if not refusal.is_owed:
            return
        message: Any = answer
        if GENERATION == 1:
            # It leaves out what is null when it writes, and with it the id that JSON-RPC wants to see.
            text = answer.model_dump_json(by_alias=True)
            message = enclosed(answer.model_copy(update={"id": "" if refusal.id is None else refusal.id}))
            object.__setattr__(message, "model_dump_json", lambda **options: text)
        await self._inner.send(SessionMessage(message))


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
        unanswered = self._writer.unanswered
        while True:
            item = await read()
            message: Any = item if isinstance(item, Exception) else item.message
            message = message.root if _ENVELOPED and message is not item else message
            refusal: Refusal | Request | None = None
            if type(message) is JSONRPCRequest:
                if message.id not in unanswered:
                    unanswered[message.id] = message
                    return item  # type: ignore[no-any-return]
                refusal = self._wrong.duplicate_id(Request(message.id, message.method))
            elif type(message) is JSONRPCNotification:
                if message.method == "notifications/cancelled":
                    # Never answered, by the specification.
                    unanswered.pop((message.params or {}).get("requestId", ""), None)
                elif not message.method.startswith("notifications/"):
                    # A request may have no id, or one that the SDK passes over.
                    refusal = read_message(_last_line())
                    if not isinstance(refusal, Refusal) or refusal.method != message.method:
                        refusal = None
                        if message.method in CLIENT_METHODS:
                            self._wrong.log_notification(message.method)
            elif message is item:
                line = _last_line()
                if not line.strip():
                    # An empty line says nothing, and gets no answer.
                    continue
                refusal = read_message(line)
                if isinstance(refusal, Request):
                    # Python reads more than the transport does: half a character, for one.
                    id = refusal.id if can_be_sent(refusal.id) else None
                    refusal = Refusal(ToolError("The message is not JSON.", code="PARSE_ERROR"), id, refusal.method)
                elif refusal is None:
                    refusal = _NO_MESSAGE
            if not isinstance(refusal, Refusal):
                return item  # type: ignore[no-any-return]
            await self._writer.refuse(refusal)


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
# As far into an event as its id may be long.
_BEGINNING: Final = 1_000


def check_posts(server: Any, name: str, boundary: Boundary, path_of: Callable[[Any, Any], str | None]) -> None:
    """Have what is posted to the web application that a method of the server makes looked at. `path_of` says where it
    takes messages, by the application and the options that it was made with."""
    original = getattr(server, name)

    def http_app(*args: Any, **kwargs: Any) -> Any:
        app = original(*args, **kwargs)
        path = path_of(app, kwargs)
        for route in app.routes:
            if isinstance(route, (Route, Mount)) and route.path == path and type(route.app) is not CheckedPosts:
                route.app = CheckedPosts(route.app, boundary)
        return app

    setattr(server, name, http_app)


def path_of_fastmcp(app: Any, options: Any) -> str | None:
    """Where an application of FastMCP takes messages; what it makes for SSE takes none that are answered."""
    return None if getattr(app.state, "transport_type", None) == "sse" else str(app.state.path)


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
        session = next((value for name, value in scope["headers"] if name == b"mcp-session-id"), b"")
        wrong, unanswered = self._wrong, self._unanswered
        body, key, is_read = b"", None, False
        # Nothing is known of it yet.
        read: Request | Refusal | None = Request(None, "")
        held: Message | None = None

        async def receive_checked() -> Message:
            nonlocal body, key, is_read, read
            message = await receive()
            if message["type"] != "http.request" or is_read:
                return message
            body += message.get("body", b"")
            if message.get("more_body", False):
                return message
            is_read, read, body = True, read_message(body), b""
            if isinstance(read, Request) and read.id is None:
                wrong.log_notification(read.method)
            elif isinstance(read, Request) and session:
                # In a session of this transport 7 and "7" are the same; without one each post has its own ids.
                if (asked := (session, str(read.id))) in unanswered:
                    read = wrong.duplicate_id(read)
                else:
                    unanswered.add(asked)
                    key = asked
            return {**message, "body": b"\x00"} if isinstance(read, Refusal) else message

        async def send_checked(message: Message) -> None:
            nonlocal body, key, held
            if message["type"] == "http.response.start":
                status = message["status"]
                # In a session a 404 says that the session is gone: clients know it by its bare form, and begin another.
                if isinstance(read, Refusal) or status in (400, 406) or (status == 404 and not session):
                    held, body = message, b""
                    return
            elif held is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await self._reword(read, body, held)(scope, receive, send)
                return
            if key is not None and _is_answer(message):
                # Before it is sent: whoever reads it may use the id again at once.
                unanswered.discard(key)
                key = None
            await send(message)

        try:
            await self._app(scope, receive_checked, send_checked)
        finally:
            if key is not None:
                unanswered.discard(key)

    def _reword(self, read: Request | Refusal | None, said: bytes, start: Message) -> Response:
        """Our answer to what is no request, or the transport's answer to one with what the contract has beside it."""
        if not isinstance(read, Request):
            read = read or _NO_MESSAGE
            return JSONResponse({"jsonrpc": "2.0", "id": read.id, "error": self._wrong.to_error(read)}, 400)
        try:
            whole = json.loads(said)
            whole["id"] = read.id if whole.get("id") is None else whole["id"]
            error = ErrorData.model_validate(whole["error"])
            if (completed := self._wrong.complete_error(error, read.method, whole["id"])) is not None:
                whole["error"] = completed.model_dump(exclude_none=True)
            return JSONResponse(whole, start["status"])
        except (ValueError, TypeError, KeyError, AttributeError):
            response = Response(said, start["status"])
            response.raw_headers = start["headers"]
            return response


def _is_answer(message: Message) -> bool:
    """Whether a part of a body holds the answer; in a stream, the end comes only after it."""
    if message["type"] != "http.response.body":
        return False
    start = message.get("body", b"")[:_BEGINNING]
    return not message.get("more_body", False) or b'"result":' in start or b'"error":' in start
