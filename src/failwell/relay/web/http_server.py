"""A server behind an address: one POST for each message, answered with JSON or with a stream of events.

Both eras: the older one has a session, which may be lost, and a stream of the server's own; in the newer one each
request stands for itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from failwell.model import Effect, ToolError
from failwell.readers import Http, from_post, lost_session, read
from failwell.recovery import NEVER_SENT, schema_of
from failwell.relay import failures
from failwell.relay.actions import Death, ToServer
from failwell.relay.given_secrets import told_address
from failwell.relay.messages import Message, key_of, params_of, read_frame, written
from failwell.relay.request import RelayedRequest
from failwell.relay.runner import OWN, Runner

from .headers import LAST_EVENT, SESSION, VERSION, era_in, modern_headers

_ACCEPT: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_MOST_REDIRECTS: Final = 5
_LARGEST_REFUSAL: Final = 65_536
_MOST_RESUMPTIONS: Final = 5
_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_PROBE_TIMEOUT: Final = 3.0
_DELETE_TIMEOUT: Final = 2.0
_END_TIMEOUT: Final = 1.0


@dataclass(frozen=True)
class RemoteServer:
    """Where a server is, the headers that it is sent with each request, and the connections to it."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """What tells servers apart: the address with the secrets in its path, which may be the only difference."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2].lower(), query="", fragment="").geturl()

    @cached_property
    def client(self) -> httpx2.AsyncClient:
        # How long an answer may take is for the protocol to say. Idle connections are closed sooner than servers close
        # them, so that none is used which is about to be closed.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=3.0)
        client = httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=10.0), limits=limits, follow_redirects=False)
        # The clients in front share the connections, but no cookies.
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        return client

    async def probe(self) -> str | None:
        """Why the server cannot be reached; None if it can. Any answer but a gateway's is the server's."""
        headers = dict(self.headers)
        request = self.client.build_request("OPTIONS", self.url, headers=headers, timeout=_PROBE_TIMEOUT)
        try:
            response = await self.client.send(request, stream=True)
            await response.aclose()
        except httpx2.RequestError as problem:
            return type(problem).__name__
        return f"a gateway answered {response.status_code}" if response.status_code in (502, 503, 504) else None


class _SendTrace:
    """Whether anything of a request was written, as the transport tells."""

    is_sent = False

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        # A proxy is asked for a tunnel first.
        is_tunnel = getattr(info.get("request"), "method", None) == b"CONNECT"
        self.is_sent = self.is_sent or (event.endswith("send_request_headers.started") and not is_tunnel)


class _TooLarge(Exception):
    """A message has more bytes than are let through."""


class HttpServer:
    """A server behind an address, as one client in front sees it."""

    def __init__(self, runner: Runner, address: RemoteServer, headers: Mapping[str, str]) -> None:
        self._runner, self._protocol, self._client = runner, runner.protocol, address.client
        # What the operator says goes before what the client in front says.
        self._headers = {**headers, **{name.lower(): value for name, value in address.headers.items()}}
        self._name = told_address(address.url)
        self._url: str | httpx2.URL = address.url
        self._longest = runner.protocol.options.longest
        self._session: str | None = None
        self._posts: dict[bytes, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listening: asyncio.Task[None] | None = None
        self._before: asyncio.Task[None] | None = None
        """What has to arrive before anything else is sent."""
        self._is_closed = False
        self._cookies = httpx2.Cookies()
        """By which a balancer leads to the same server again."""

    def start(self) -> None:
        self._runner.started()

    def flush(self) -> None:
        """Each message is on its way already."""

    def hold_back(self, is_full: bool) -> None:
        """An answer is one response, which is short, or a stream that the client asked for."""

    def stop(self, why: str) -> None:
        """Give up the session, with everything that is under way in it."""
        self._hang_up()
        session, self._session = self._session, None
        if session is not None:
            self._spawn(self._delete(session))
        death = Death(None, problem=why, is_remote=True)
        asyncio.get_running_loop().call_soon(self._runner.died, death)

    def _hang_up(self) -> None:
        for task in [*self._posts.values(), self._listening, self._before]:
            if task is not None:
                task.cancel()
        self._posts, self._listening, self._before = {}, None, None

    async def close(self, *, politely: bool = True) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._hang_up()
        if self._session is not None and politely:
            await self._delete(self._session)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _delete(self, session: str) -> None:
        with suppress(httpx2.RequestError, TimeoutError):
            async with asyncio.timeout(_DELETE_TIMEOUT):
                response = await self._fetch("DELETE", self._in_session(session))
                await response.aclose()

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # What is sent

    def send(self, action: ToServer) -> None:
        request = action.request if isinstance(action.request, RelayedRequest) else None
        message = request.message if request is not None else read_frame(action.frame)
        if not isinstance(message, dict):
            # A batch, or what is no message: nobody can tell what its answer would be.
            message = {}
        method = message.get("method")
        if method is not None and "id" in message:
            key = request.key if request is not None else key_of(message["id"])
            post = self._posts[key] = self._spawn(self._request(action.frame, message, key, request, self._before))
            if method == "initialize":
                # Whatever comes after it belongs to the session that it begins.
                self._before = post
        elif method == "notifications/cancelled" and self._protocol.session.era is None:
            # In the newer era only the end of its stream cancels a request.
            key = key_of(params_of(message).get("requestId"))
            if (task := self._posts.pop(key, None)) is not None:
                task.cancel()
                cancelled = _unanswered("It was given up.")
                asyncio.get_running_loop().call_soon(self._runner.failed, key, cancelled)
        else:
            self._before = self._spawn(self._notify(action.frame, message, self._before))

    async def _notify(self, frame: bytes, message: Message, before: asyncio.Task[None] | None) -> None:
        """Send what nobody waits for: what is sent after it arrives after it."""
        if before is not None:
            await asyncio.wait([before])
        with suppress(httpx2.RequestError, httpx2.InvalidURL):
            response = await self._fetch("POST", self._headers_for(message), frame)
            await response.aclose()
        if message.get("method") == "notifications/initialized" and self._session is not None:
            self._listening = self._spawn(self._listen(self._session))

    async def _request(
        self,
        frame: bytes,
        message: Message,
        key: bytes,
        request: RelayedRequest | None,
        before: asyncio.Task[None] | None,
    ) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        if message["method"] == "initialize":
            self._session = None
            if self._listening is not None:
                self._listening.cancel()
        session, trace = self._session, _SendTrace()
        try:
            headers = {**self._headers_for(message), **(request.trace if request is not None else {})}
            # Who leads a call elsewhere may have made it before.
            response = await self._fetch("POST", headers, frame, follow=message["method"] != "tools/call", trace=trace)
            try:
                if response.status_code >= 300:
                    await self._refused(response, key, request, session)
                    return
                if message["method"] == "initialize":
                    session = self._session = response.headers.get(SESSION)
                why = await self._answered(response, key, request, session)
            finally:
                await response.aclose()
            if self._protocol.awaits(key) and not self._is_closed:
                self._runner.failed(key, _unanswered(why))
        except _TooLarge:
            size = self._longest / 1e6
            tool = request.tool if request is not None else ""
            self._runner.failed(key, failures.too_large(tool, size=size, limit=size))
        except (httpx2.RequestError, httpx2.InvalidURL) as problem:
            error = read(problem, transport=True)
            assert isinstance(error, ToolError)
            if self._protocol.awaits(key):
                self._runner.failed(key, error if trace.is_sent else error.replace(**NEVER_SENT))
        finally:
            if self._posts.get(key) is asyncio.current_task():
                del self._posts[key]

    async def _fetch(
        self, method: str, headers: dict[str, str], body: bytes = b"", *, follow: bool = True, trace: Any = None
    ) -> httpx2.Response:
        """Send a request. A redirect is followed, if at all, where it keeps the method and the origin, or adds TLS."""
        content = body.rstrip(b"\r\n") or None
        request = self._client.build_request(method, self._url, headers=headers, content=content)
        for _ in range(_MOST_REDIRECTS):
            if trace is not None:
                request.extensions["trace"] = trace
            if self._cookies:
                self._cookies.set_cookie_header(request)
            response = await self._client.send(request, stream=True)
            if "set-cookie" in response.headers:
                self._cookies.extract_cookies(response)
            following = response.next_request
            if following is None or not follow or following.method != method:
                break
            here, there = request.url, following.url
            is_upgrade = (here.scheme, there.scheme, here.port, there.port) == ("http", "https", None, None)
            is_same = here.host == there.host and (is_upgrade or (here.scheme, here.port) == (there.scheme, there.port))
            if not is_same or (there.userinfo and there.userinfo != here.userinfo):
                break
            await response.aread()
            request = following
        if response.status_code < 300:
            # Where a redirect has led to, the server is.
            self._url = response.request.url
        return response

    def _headers_for(self, message: Message) -> dict[str, str]:
        method, params = message.get("method"), params_of(message)
        if method == "initialize":
            return {**self._headers, **_ACCEPT}
        if isinstance(method, str) and era_in(params) is not None:
            known = self._protocol.listing.known if method == "tools/call" else {}
            schema = schema_of(known.get(str(params.get("name"))))
            return {**self._headers, **_ACCEPT, **modern_headers(method, params, schema)}
        return self._in_session(self._session) | _ACCEPT

    def _in_session(self, session: str | None) -> dict[str, str]:
        said = {SESSION: session, VERSION: self._protocol.session.era}
        more = {name: value for name, value in said.items() if value is not None}
        return {**self._headers, "accept": "text/event-stream", **more}

    # What is answered

    async def _answered(
        self, response: httpx2.Response, key: bytes, request: RelayedRequest | None, session: str | None
    ) -> str:
        """Hand over an answer; why there is none, if it is still awaited."""
        origin, awaits = request if request is not None else OWN, self._protocol.awaits
        kind = str(response.headers.get("content-type", "")).lower()
        if kind.startswith("text/event-stream"):
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as limit:
                    async for frame in self._events(response, session, lambda: awaits(key)):
                        if awaits(key):
                            self._runner.from_server([frame], origin)
                        if not awaits(key):
                            # The stream should end now: only then the connection can be used again.
                            limit.reschedule(asyncio.get_running_loop().time() + _END_TIMEOUT)
        elif kind.startswith("application/json"):
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._longest:
                    raise _TooLarge
            self._runner.from_server([as_frame(bytes(body))], origin)
        else:
            return f"The server answered {response.status_code}, and no answer will come."
        return "The answer broke off."

    async def _refused(
        self, response: httpx2.Response, key: bytes, request: RelayedRequest | None, session: str | None
    ) -> None:
        status, following = response.status_code, response.next_request
        if status < 400:
            where = told_address(str(following.url)) if following is not None else "elsewhere"
            words = (
                f"{self._name} leads to {where}, where nothing is sent to. If that is the server, give that address."
            )
            # Whoever is told where to look for the answer may have had it done, and so may a gateway in between.
            error = _unanswered(words).replace(code="NOT_CONFIGURED", delivery="answered")
            self._runner.failed(key, error)
            return
        http = Http(status, dict(response.headers), await _start_of(response), session is not None)
        if session is not None and (lost := lost_session(http)) is not None:
            self._lose(session, key, lost)
            return
        message = read_frame(http.body) if http.body.lstrip().startswith(b"{") else None
        if isinstance(message, dict) and isinstance(message.get("error"), dict) and status not in (401, 403):
            # An error that names no request was said before anybody looked at it: of a call the status says more.
            is_call = request is not None and request.run is not None
            frame = written({**message, "id": json.loads(key)}) if message.get("id") is None else as_frame(http.body)
            if key_of(message.get("id")) == key or (message.get("id") is None and not is_call):
                self._runner.from_server([frame], request if request is not None else OWN)
                return
        error = from_post(http)
        if status == 401 or (status == 403 and "www-authenticate" in response.headers):
            error = failures.logged_out(error, self._name)
        self._runner.failed(key, error, request, http)

    def _lose(self, session: str, key: bytes, error: ToolError) -> None:
        """The session of a request is gone: the one in use, or an earlier one."""
        is_current = session == self._session
        self._session = None if is_current else self._session
        self._runner.forgotten(key, error, is_current=is_current)

    # Streams

    async def _listen(self, session: str) -> None:
        """Read the server's own stream for as long as the session lasts."""
        with suppress(_TooLarge):
            async for frame in self._events(None, session, lambda: True):
                self._runner.from_server([frame], OWN)

    async def _events(
        self, response: httpx2.Response | None, session: str | None, is_wanted: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """The messages of a stream: of an answer that has begun, or of the server's own. One that breaks off is resumed
        after its last event as long as the session lasts."""
        is_own, last, pause, failed = response is None, "", _PAUSE, 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                if response is None:
                    headers = self._in_session(session) | ({LAST_EVENT: last} if last else {})
                    response = await self._fetch("GET", headers)
                is_stream = "text/event-stream" in response.headers.get("content-type", "").lower()
                if response.status_code == 200 and is_stream:
                    async for event in httpx2.EventSource(response, self._longest):
                        last, failed = event.id or last, 0
                        pause = pause if event.retry is None else event.retry / 1000
                        if event.data:
                            yield as_frame(event.data.encode())
                elif response.status_code < 500 and response.status_code != 429:
                    http = Http(response.status_code, {}, await _start_of(response), in_session=True)
                    lost = lost_session(http) if http.status in (400, 404) else None
                    if session is not None and lost is not None and session == self._session:
                        self._lose(session, b"", lost)
                    return
            except httpx2.SSEError:
                raise _TooLarge from None
            except httpx2.RequestError:
                if not is_own and not last and is_wanted():
                    raise
            finally:
                if response is not None:
                    await response.aclose()
            response = None
            failed = 1 if loop.time() - began > _LONGEST_PAUSE else failed + 1
            if session is None or session != self._session or self._is_closed or not is_wanted():
                return
            if not is_own and (not last or failed > _MOST_RESUMPTIONS):
                return
            await asyncio.sleep(min(pause * 2.0 ** min(failed - 1, 6), _LONGEST_PAUSE))


async def _start_of(response: httpx2.Response) -> bytes:
    """The beginning of a refusal; nothing if it breaks off, since its status is known."""
    length = response.headers.get("content-length", "")
    most = min(int(length), _LARGEST_REFUSAL) if length.isdigit() and len(length) < 10 else _LARGEST_REFUSAL
    body = b""
    with suppress(httpx2.RequestError):
        async for part in response.aiter_bytes():
            body += part
            # Not to its end, so that the connection is not used again: who refuses a request without having read it
            # may close it, and a write that is sent into that is one of which nobody knows whether it was done.
            if len(body) >= most:
                break
    return body[:_LARGEST_REFUSAL]


def as_frame(data: bytes) -> bytes:
    """A JSON text on one line: bare line ends mean nothing in JSON."""
    return data.strip().replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def _unanswered(message: str) -> ToolError:
    return ToolError(message, code="UPSTREAM_ERROR", origin="local", delivery="unanswered", effect=Effect.UNKNOWN)
