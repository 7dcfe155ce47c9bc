"""What the transports know about a call and the SDKs do not pass on.

Over HTTP that is the status, the headers and which POST failed: the SDK turns any error status into the same sentence,
and one failed POST ends the connection for every call on it. Over a pipe it is an answer that is no JSON-RPC: the SDK
drops it, and the call it belongs to waits until its time is up.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel
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
# The method in the body of a request. To check a result the SDKs list the tools, as a part of the same call.
_CALL: Final = b'"tools/call"'
_SESSION: Final = "mcp-session-id"
_INTERNAL_ERROR: Final = -32603
# How many turns of the loop it takes from an end that has arrived to whoever reads the stream.
_TURNS: Final = 5


class Seen:
    """What was seen of one call."""

    __slots__ = ("answered", "cut", "failure", "http", "patience")

    def __init__(self) -> None:
        self.http: Http | None = None
        self.failure: Exception | None = None
        self.answered = False
        """Whether the server took the call itself: what is refused after that says nothing about it."""
        self.patience: float | None = None
        """How long the server may be silent where it may be waiting for the user; None if it cannot be."""
        self.cut: Callable[[Exception], None] | None = None
        """Ends the call at once, for transports that do not tell it of a POST that failed."""

    def says(self, number: int | None, message: str | None) -> bool:
        """Whether the HTTP answer is this very JSON-RPC error: then its status only repeats the number."""
        try:
            told = json.loads(self.http.body) if self.http is not None else None
        except (ValueError, RecursionError):
            return False
        error = told.get("error") if isinstance(told, dict) else None
        return isinstance(error, dict) and (error.get("code"), error.get("message")) == (number, message)

    def fails(self, why: Exception) -> None:
        # What was taken gets its answer, whatever happens to what is sent after it.
        if self.cut is not None and not self.answered:
            self.cut(why)


watching: ContextVar[Seen | None] = ContextVar("failwell_watching", default=None)
"""Set around a call. The SDK sends in the context of whoever calls."""


def witnessed(client: httpx.AsyncClient, *, apart: bool = False) -> httpx.AsyncClient:
    """The client, as one that notes what it sees of the calls that are watched.

    A POST of a watched call that fails is answered as if a gateway had said so, and the failure itself is noted. That
    way it is the failure of one call, and the connection lives on. `apart` is for a transport whose answers do not come
    with its POSTs.
    """
    return client if isinstance(client, _Witness) else _Witness(client, apart)


class _Witness(httpx.AsyncClient):
    """Stands for an HTTP client, which stays as it is: it may belong to somebody who has other uses for it."""

    def __init__(self, client: httpx.AsyncClient, apart: bool) -> None:
        # Not what a client is made of: whatever is not found here is looked for there.
        vars(self).update(_client=client, _apart=apart, _streams=set())

    def __getattr__(self, name: str) -> Any:
        if name in ("_client", "_apart", "_streams"):
            raise AttributeError(name)
        return getattr(self._client, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._client, name, value)

    async def __aenter__(self) -> _Witness:
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
        seen = watching.get()
        if request.method == "GET":
            return self._listened(await self._send(request, options))
        if seen is None or request.method != "POST":
            return await self._send(request, options)
        if seen.patience is not None:
            _wait_longer(request, seen.patience)
        in_session = _SESSION in request.headers
        if self._streams:
            await _let_others_read()
        was_alive = bool(self._streams)
        wire = _Wire(request.extensions.get("trace"))
        request.extensions = {**request.extensions, "trace": wire}
        try:
            if self._client.is_closed:
                raise closed()
            response = await self._send(request, options)
            if response.has_redirect_location or _is_json(response):
                # Read here, where it is known whose it is when it breaks off.
                await response.aread()
        except (httpx.RequestError, ToolError) as failure:
            if _is_request(request):
                seen.failure = wire.witnessed(failure, request)
                if self._apart:
                    seen.fails(seen.failure)
            return httpx.Response(202 if self._apart else 502, request=request)
        # A request that was redirected has its body only as a stream.
        if response.is_success and _CALL in request.read():
            seen.answered, seen.http, seen.failure = True, None, None
        if response.status_code >= 400 and _is_request(request):
            is_proof = in_session and not was_alive
            seen.http = Http(response.status_code, dict(response.headers), await _body(response), is_proof)
            if self._apart:
                seen.fails(ConnectionError(f"The server answered {response.status_code}."))
        if self._apart and response.status_code >= 400:
            await response.aclose()
            return httpx.Response(202, request=request)
        return response

    async def _send(self, request: httpx.Request, options: dict[str, Any]) -> httpx.Response:
        response: httpx.Response = await self._client.send(request, **options)
        if response.next_request is not None and response.next_request.url == request.url:
            # The SDK would follow it, and make the call twenty times where it was made already.
            response.next_request = None
        return response

    def _listened(self, response: httpx.Response) -> httpx.Response:
        """A stream that the server opened for what it says by itself: while it is open, the session is known."""
        if response.is_success and isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Listened(response.stream, self._streams)
        return response


class _Listened(httpx.AsyncByteStream):
    """A stream that is among those which are open until it ends.

    A session that is gone when a call is sent was lost before it, and the call was never taken. One that was there, and
    is gone when the call is answered, was lost meanwhile: a balancer sends a call whose server has died to the next.
    """

    def __init__(self, stream: httpx.AsyncByteStream, is_open: set[object]) -> None:
        self._stream = stream
        self._open = is_open
        is_open.add(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._stream:
                yield part
        finally:
            self._open.discard(self)

    async def aclose(self) -> None:
        self._open.discard(self)
        await self._stream.aclose()


async def _let_others_read() -> None:
    """Let whoever reads a stream notice that it has ended, though the loop may have stood still since then."""
    for _ in range(_TURNS):
        await anyio.lowlevel.checkpoint()


class _Wire:
    """What is written on the wire for one request. A transport of the user's own may try several times: what its last
    try was refused with says nothing about the first."""

    def __init__(self, told: Callable[[str, Any], Any] | None) -> None:
        self._told = told
        self._is_written = False

    async def __call__(self, event: str, info: Any) -> None:
        self._is_written = self._is_written or event.endswith("send_request_headers.started")
        if self._told is not None:
            await self._told(event, info)

    def witnessed(self, failure: Exception, request: httpx.Request) -> Exception:
        """The failure, as one after which nobody knows what was done if anything was sent at all."""
        if self._is_written and isinstance(failure, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return httpx.ReadError(str(failure), request=request)
        return failure


def closed() -> ToolError:
    """The HTTP client that was given cannot be used any more, and nobody but its owner can change that."""
    return ToolError(
        "The HTTP client that was given is closed: keep it open for as long as Recovering uses it.",
        code="NOT_CONFIGURED",
        origin="local",
        delivery="never_sent",
        effect=Effect.NONE,
    )


def _wait_longer(request: httpx.Request, patience: float) -> None:
    """The time of a call is counted elsewhere, where it is known whether the server or the user is being waited for."""
    times = request.extensions.get("timeout")
    if isinstance(times, dict) and times.get("read") is not None and times["read"] < patience:
        request.extensions = {**request.extensions, "timeout": {**times, "read": patience}}


def _is_request(request: httpx.Request) -> bool:
    """Whether it asks for an answer. What becomes of a word that a call is given up says nothing about the call."""
    try:
        message = json.loads(request.read())
    except (ValueError, RecursionError, httpx.StreamError):
        return True
    return not isinstance(message, dict) or ("method" in message and "id" in message)


def _is_json(response: httpx.Response) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith("application/json"))


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
    """A stream of messages in which an answer that is no JSON-RPC becomes the error answer of its call."""

    __slots__ = ("_ended", "_receive", "_stream")

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._receive = stream.receive
        self._ended = ended

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        return repaired(await self._receive())

    async def __anext__(self) -> Any:
        try:
            # Not by way of the stream's own __anext__: this takes its place, and costs as much.
            item = await self._receive()
        except anyio.EndOfStream:
            self._ended()
            raise StopAsyncIteration from None
        return item if type(item) is SessionMessage else repaired(item)

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
async def watched(transport: Any, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """A transport of the SDK, with its broken answers repaired; `ended` is called when the server has hung up."""
    async with transport as (read, write):
        yield _Repairing(read, ended), write


def repaired(item: Any) -> Any:
    """What came from the server, or the error answer to the call that a broken frame was meant to answer."""
    if not isinstance(item, Exception):
        return item
    frame = _frame_of(item)
    number = frame.get("id") if frame is not None else None
    if frame is None or "method" in frame or isinstance(number, bool) or not isinstance(number, (int, str)):
        return item
    return SessionMessage(enclosed(JSONRPCError(jsonrpc="2.0", id=number, error=_error_of(frame))))


def _error_of(frame: dict[str, Any]) -> ErrorData:
    """The error that a broken frame meant, as far as it can be read."""
    meant = frame.get("error")
    message = meant.get("message") if isinstance(meant, dict) else meant
    if not isinstance(message, str) or not message:
        return ErrorData(code=_INTERNAL_ERROR, message=BAD_ANSWER)
    # The number is ours, so it must not mean anything: what the server meant is in its words.
    return ErrorData(code=0, message=message, data=meant.get("data") if isinstance(meant, dict) else None)


def _frame_of(failure: Exception) -> dict[str, Any] | None:
    """The object that could not be read as a message. Pydantic keeps it in its errors, in part or as the whole text."""
    errors = getattr(failure, "errors", None)
    if not callable(errors):
        return None
    for problem in errors(include_url=False, include_context=False):
        found = problem.get("input")
        if isinstance(found, str) and len(found) <= _LONGEST_FRAME:
            try:
                found = json.loads(found)
            except (ValueError, RecursionError):
                continue
        if isinstance(found, dict) and "jsonrpc" in found:
            return found
    return None
