"""What the transports know about a call and the SDKs do not pass on, and transports that note it.

Over HTTP that is the status, the headers and which POST failed: the SDK turns any error status into the same sentence,
and one failed POST ends the connection for every call on it. Over a pipe it is an answer that is not JSON-RPC: the SDK
drops it, and the call it belongs to waits until its time is up.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import anyio
from mcp.shared.message import SessionMessage

from failwell.model import Effect, ToolError
from failwell.readers import BAD_ANSWER, Http
from failwell.sdk import GENERATION, ErrorData, JSONRPCError, enclosed

if TYPE_CHECKING or GENERATION == 2:
    import httpx2 as httpx
else:
    import httpx

_LARGEST_BODY: Final = 65_536
_LONGEST_FRAME: Final = 1_000_000
# To check a result the SDKs list the tools, as a part of the same call.
_CALL: Final = "tools/call"
_SESSION: Final = "mcp-session-id"
_INTERNAL_ERROR: Final = -32603
_REDIRECTED_FROM: Final = "failwell_redirected_from"
# The functions by which the SDK's transports send, and whether their answers come with the POST.
_SENDING: Final = (
    ("mcp.client.streamable_http", "stream_within_origin", False),
    ("mcp.client.sse", "request_within_origin", True),
)


class CallTrace:
    """What was seen of one attempt at a call."""

    __slots__ = ("_last", "answered", "called", "cut", "failure", "http", "missed", "patience", "rounds")

    def __init__(self, patience: float | None = None) -> None:
        self.patience = patience
        """How long the server may be silent where it may be waiting for the user; None if it cannot be."""
        self.called = False
        """Whether the call was sent over HTTP."""
        self.rounds = 0
        """How often `tools/call` was sent because the server asked for input in its answer."""
        self.http: Http | None = None
        self.failure: Exception | None = None
        self.answered = False
        """Whether the server took the call itself: what is refused after that says nothing about it."""
        self.cut: Callable[[Exception], None] | None = None
        """Ends the call at once, for transports that do not tell it of a POST that failed."""
        self.missed: Callable[[], None] | None = None
        """Called when the server's own stream cannot be opened: the session may be gone, which no call should find."""
        self._last: Any = None

    async def send_once(self, send: Callable[[], Awaitable[Any]]) -> Any:
        """Send `tools/call`, unless it was sent and no further round is due.

        The protocol has a further round after a result that asks for input, and after no other answer. The SDK sends
        the identical call again after -32020, which proves nothing about the first one.
        """
        if isinstance(self._last, BaseException):
            raise self._last
        if self._last is not None:
            self.rounds += 1
        try:
            self._last = await send()
        except BaseException as exc:
            self._last = exc
            raise
        return self._last

    def is_answer(self, error: Any) -> bool:
        """Whether the HTTP answer is this very JSON-RPC error: then its status only repeats the number."""
        try:
            body = json.loads(self.http.body) if self.http is not None else None
        except (ValueError, RecursionError):
            return False
        found = body.get("error") if isinstance(body, dict) else None
        wanted = getattr(error, "code", None), getattr(error, "message", None)
        return isinstance(found, dict) and (found.get("code"), found.get("message")) == wanted

    def fail(self, why: Exception) -> None:
        # What was taken gets its answer, whatever happens to what is sent after it.
        if self.cut is not None and not self.answered:
            self.cut(why)


active_trace: ContextVar[CallTrace | None] = ContextVar("failwell_call_trace", default=None)
"""Set around a call. The SDK sends in the context of whoever calls."""


def trace_client(client: httpx.AsyncClient, *, apart: bool = False) -> httpx.AsyncClient:
    """The client, as one that notes what it sees of the calls that are traced, and sends each of them once.

    A POST of a traced call that fails is answered as if a gateway had said so, and the failure itself is noted. That
    way it is the failure of one call, and the connection lives on. `apart` is for a transport whose answers do not come
    with its POSTs.
    """
    return client if isinstance(client, _TracingClient) else _TracingClient(client, apart)


# Where redirects have led the handshake, for each client: calls are sent there at once, since theirs are not followed.
_MOVED: Final[WeakKeyDictionary[httpx.AsyncClient, dict[httpx.URL, httpx.URL]]] = WeakKeyDictionary()


class _TracingClient(httpx.AsyncClient):
    """Stands for an HTTP client, which stays as it is: it may belong to somebody who has other uses for it."""

    def __init__(self, client: httpx.AsyncClient, apart: bool) -> None:
        # Not what a client is made of: whatever is not found here is looked for there.
        vars(self).update(_client=client, _apart=apart, _moved=_MOVED.setdefault(client, {}))

    def __getattr__(self, name: str) -> Any:
        if name in ("_client", "_apart", "_moved"):
            raise AttributeError(name)
        return getattr(self._client, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._client, name, value)

    async def __aenter__(self) -> _TracingClient:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._client.__aexit__(*exc)

    async def aclose(self) -> None:
        await self._client.aclose()

    def build_request(self, *given: Any, **options: Any) -> httpx.Request:
        request: httpx.Request = self._client.build_request(*given, **options)
        return request

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        trace = active_trace.get()
        if trace is None:
            return await self._send(request, options)
        if request.method != "POST":
            return await self._listen(request, options, trace)
        times = request.extensions.get("timeout")
        if (
            trace.patience is not None
            and isinstance(times, dict)
            and (times.get("read") or trace.patience) < trace.patience
        ):
            # The time of a call is counted elsewhere, where it is known whether the server or the user is waited for.
            request.extensions = {**request.extensions, "timeout": {**times, "read": trace.patience}}
        method = _method_in(request)
        # What becomes of the SDK's other requests after the call was refused says nothing about the call.
        is_noted = method == _CALL or (method is not None and (trace.answered or not trace.called))
        wire = _Wire(request.extensions.get("trace"), once=method == _CALL)
        request.extensions = {**request.extensions, "trace": wire}
        if method == _CALL:
            trace.called = True
            request.url = self._moved.get(request.url, request.url)
            options["follow_redirects"] = False
        try:
            if self._client.is_closed:
                raise closed_error()
            response = await self._send(request, options)
            if response.is_redirect or response.headers.get("content-type", "").lower().startswith("application/json"):
                # Read here, where it is known whose it is when it breaks off.
                await response.aread()
            if method == _CALL and response.is_redirect:
                raise redirect_error()
        except (httpx.RequestError, ToolError) as failure:
            if wire.refused is not None:
                # What refused the call is what happened to it, not that it was not sent again.
                trace.http = wire.refused
            elif is_noted:
                trace.failure = wire.explain(failure, request)
            if self._apart and is_noted:
                trace.fail(trace.failure or ConnectionError("The server refused the call."))
            return httpx.Response(202 if self._apart else 502, request=request)
        if response.is_success and method == _CALL:
            trace.answered, trace.http, trace.failure = True, None, None
        if response.status_code >= 400 and is_noted:
            in_session = _SESSION in request.headers
            trace.http = Http(response.status_code, dict(response.headers), await _body(response), in_session)
            if self._apart:
                trace.fail(ConnectionError(f"The server answered {response.status_code}."))
        if self._apart and response.status_code >= 400:
            await response.aclose()
            return httpx.Response(202, request=request)
        return response

    async def _listen(self, request: httpx.Request, options: dict[str, Any], trace: CallTrace) -> httpx.Response:
        is_missed = _SESSION in request.headers
        try:
            response = await self._send(request, options)
            is_missed = is_missed and response.status_code == 404
            return response
        finally:
            if is_missed and trace.missed is not None:
                trace.missed()

    async def _send(self, request: httpx.Request, options: dict[str, Any]) -> httpx.Response:
        response: httpx.Response = await self._client.send(request, **options)
        following = response.next_request
        # Either the SDK follows a redirect, or the client itself has.
        first, last = request.extensions.get(_REDIRECTED_FROM, request.url), response.request.url
        if following is not None:
            following.extensions = {**following.extensions, _REDIRECTED_FROM: first}
        elif response.is_success and request.method == "POST" and first != last and first.host == last.host:
            # To the same place, or to the same with TLS.
            ends = (first.scheme, last.scheme, first.port, last.port)
            if ends == ("http", "https", None, None) or (first.scheme, first.port) == (last.scheme, last.port):
                self._moved[first] = last
        return response


class _SentBefore(httpx.ReadError):
    """A request would leave a second time."""


class _Wire:
    """What is written on the wire for one request, which the layers below may send several times: to log in, or since
    a transport of the user's own tries again. A call leaves once."""

    def __init__(self, trace: Callable[[str, Any], Any] | None, *, once: bool) -> None:
        self._trace, self._once = trace, once
        self._is_written = False
        self._refusal: Http | None = None
        self.refused: Http | None = None
        """What the call was refused with, after which it was not sent again."""

    async def __call__(self, event: str, info: Any) -> None:
        # A proxy is asked for a tunnel first, which is no call.
        is_tunnel = isinstance(info, dict) and getattr(info.get("request"), "method", None) == b"CONNECT"
        if event.endswith("send_request_headers.started") and not is_tunnel:
            if self._once and self._is_written:
                self.refused = self._refusal
                raise _SentBefore("The call was sent before, and is not sent again.")
            self._is_written = True
        elif event.endswith("receive_response_headers.complete"):
            self._refusal = _head_in(info)
        if self._trace is not None:
            await self._trace(event, info)

    def explain(self, failure: Exception, request: httpx.Request) -> Exception:
        """The failure, as one after which nobody knows what was done if anything was sent at all: what the last try of
        several was refused with says nothing about the first."""
        if self._is_written and isinstance(failure, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return httpx.ReadError(str(failure), request=request)
        return failure


def _head_in(info: Any) -> Http | None:
    """The status and the headers of an answer, from what is traced of HTTP/1.1 or of HTTP/2."""
    found = info.get("return_value") if isinstance(info, dict) else None
    if not isinstance(found, tuple):
        return None
    status = next((part for part in found if isinstance(part, int)), 0)
    pairs = next((part for part in found if isinstance(part, list)), [])
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
    return Http(status, headers) if status >= 400 else None


def redirect_error() -> ToolError:
    """A call is not sent to where it is led: whoever leads it there may have made it."""
    words = (
        "The server answered the call with a redirect, which is not followed. If it has moved, give its new address."
    )
    return ToolError(words, code="NOT_CONFIGURED", origin="local", delivery="answered", effect=Effect.UNKNOWN)


def closed_error() -> ToolError:
    """The HTTP client that was given cannot be used any more, and nobody but its owner can change that."""
    words = "The HTTP client that was given is closed: keep it open for as long as Recovering uses it."
    return ToolError(words, code="NOT_CONFIGURED", origin="local", delivery="never_sent", effect=Effect.NONE)


def _method_in(request: httpx.Request) -> str | None:
    """The method of the request in a POST; None for what asks for no answer. What becomes of a notification that a call
    is given up says nothing about the call."""
    try:
        message = json.loads(request.read())
    except (ValueError, RecursionError, httpx.StreamError):
        return ""
    method = message.get("method", "") if isinstance(message, dict) else ""
    return None if isinstance(message, dict) and "id" not in message else method if isinstance(method, str) else None


async def _body(response: httpx.Response) -> bytes:
    """What a short answer says; nothing if it breaks off, since its status is known."""
    length = response.headers.get("content-length", "")
    if not length.isdigit() or int(length) > _LARGEST_BODY:
        return b""
    try:
        return await response.aread()
    except httpx.RequestError:
        return b""


class _Repairing:
    """A stream of messages in which an answer that is not JSON-RPC becomes the error answer of its call."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream, self._receive, self._ended = stream, stream.receive, ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return repair_frame(await self._receive())

    async def __anext__(self) -> Any:
        try:
            # Not by way of the stream's own __anext__: this takes its place, and costs as much.
            return repair_frame(await self._receive())
        except anyio.EndOfStream:
            self._ended()
            raise StopAsyncIteration from None

    def __aiter__(self) -> _Repairing:
        return self

    async def __aenter__(self) -> _Repairing:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> Any:
        return await self._stream.__aexit__(*exc)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@asynccontextmanager
async def watch_transport(transport: Any, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """A transport of the SDK, with its broken answers repaired; `ended` is called when the server has hung up."""
    async with transport as (read, write):
        yield _Repairing(read, ended), write


def repair_frame(item: Any) -> Any:
    """What came from the server, or the error answer to the call that a broken frame was meant to answer."""
    errors = getattr(item, "errors", None) if isinstance(item, Exception) else None
    if not callable(errors):
        return item
    # Pydantic keeps what it could not read in its errors, in part or as the whole text.
    for problem in errors(include_url=False, include_context=False):
        frame = problem.get("input")
        if isinstance(frame, str) and len(frame) <= _LONGEST_FRAME:
            try:
                frame = json.loads(frame)
            except (ValueError, RecursionError):
                continue
        if isinstance(frame, dict) and "jsonrpc" in frame:
            number = frame.get("id")
            if "method" in frame or isinstance(number, bool) or not isinstance(number, (int, str)):
                return item
            meant = frame.get("error")
            words = meant.get("message") if isinstance(meant, dict) else meant
            error = ErrorData(code=_INTERNAL_ERROR, message=BAD_ANSWER)
            if isinstance(words, str) and words:
                # The number is ours, so it must not mean anything: what the server meant is in its words.
                error = ErrorData(code=0, message=words, data=meant.get("data") if isinstance(meant, dict) else None)
            return SessionMessage(enclosed(JSONRPCError(jsonrpc="2.0", id=number, error=error)))
    return item


# Transports that were never used, made from one that was given. Whoever gives a transport gives its address, its
# headers, its HTTP client; each connection gets one of its own.


def copy_transport(given: Any) -> Any | None:
    """A transport of `mcp` like the one that was given; None for somebody's own, which may work only once.

    The SDK's are made by functions, and know which one, and what it was given. So does an address, or a command.
    """
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(given, str):
        given = streamable_http_client(given)
    elif isinstance(given, StdioServerParameters):
        given = stdio_client(given)
    function = getattr(given, "func", None)
    if not inspect.isasyncgenfunction(function) or function.__module__.partition(".")[0] != "mcp":
        return None
    signature = inspect.signature(function)
    call = signature.bind(*given.args, **given.kwds)
    make = asynccontextmanager(function)
    if "http_client" in signature.parameters:
        return _over_http(make, call)
    if factory := signature.parameters.get("httpx_client_factory"):
        plain = call.arguments.get("httpx_client_factory", factory.default)
        call.arguments["httpx_client_factory"] = lambda *args, **options: trace_client(
            plain(*args, **options), apart=True
        )
    return make(*call.args, **call.kwargs)


@asynccontextmanager
async def _over_http(make: Any, call: inspect.BoundArguments) -> AsyncIterator[Any]:
    from mcp.shared._httpx_utils import create_mcp_http_client

    given = call.arguments.get("http_client")
    if given is not None:
        # Whose it is closes it.
        if given.is_closed:
            raise closed_error()
        call.arguments["http_client"] = trace_client(given)
        async with make(*call.args, **call.kwargs) as streams:
            yield streams
        return
    async with trace_client(create_mcp_http_client()) as http:
        call.arguments["http_client"] = http
        async with make(*call.args, **call.kwargs) as streams:
            yield streams


@cache
def trace_sessions() -> None:
    """Note what is seen of calls over transports that were opened elsewhere. All else is sent as it was."""
    for name, function, apart in _SENDING:
        module = import_module(name)
        if (send := getattr(module, function, None)) is not None:
            setattr(module, function, _tracing(send, apart))


def _tracing(send: Callable[..., Any], apart: bool) -> Callable[..., Any]:
    @wraps(send)
    def sending(client: Any, *given: Any, **options: Any) -> Any:
        return send(client if active_trace.get() is None else trace_client(client, apart=apart), *given, **options)

    return sending


def copy_fastmcp_transport(transport: Any) -> Any:
    """A FastMCP transport like this one, for one connection: with HTTP clients that are traced, or with a process that
    ends with its connection, since `new()` shares the transport."""
    transports = import_module("fastmcp.client.transports")
    if isinstance(transport, transports.MCPConfigTransport) and len(transport.config.mcpServers) == 1:
        # It only passes on to the one there is.
        transport = transport.transport
    if hasattr(transport, "httpx_client_factory"):
        from mcp.shared._httpx_utils import create_mcp_http_client

        given = transport.httpx_client_factory
        made = copy.copy(transport)
        apart = isinstance(transport, transports.SSETransport)
        checked = None if given is not None else getattr(transport, "_make_verify_factory", lambda: None)()

        def factory(**options: Any) -> Any:
            if given is None:
                # Neither of the two takes it; both leave redirects to the SDK, as it wants them.
                options.pop("follow_redirects", None)
            return trace_client((given or checked or create_mcp_http_client)(**options), apart=apart)

        made.httpx_client_factory = factory
        return made
    # Somebody's own may do more than start a command.
    if isinstance(transport, transports.StdioTransport) and type(transport).__module__.startswith("fastmcp."):
        given = (transport.command, transport.args, transport.env, transport.cwd)
        return transports.StdioTransport(*given, keep_alive=False, log_file=transport.log_file)
    return transport
