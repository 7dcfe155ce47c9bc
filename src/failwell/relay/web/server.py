"""A server behind an address: one POST for each message, answered with JSON or with a stream of events.

Both eras: the older one has a session, which may be lost, and a stream of the server's own; in the newer one each
request stands for itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2

from failwell.model import Effect, ToolError
from failwell.readers import Http, from_post, lost_session, read
from failwell.recovery import schema_of
from failwell.relay import failures
from failwell.relay.actions import Death, ToServer
from failwell.relay.frames import TooLong
from failwell.relay.messages import Message, key_of, params_of, read_frame, written
from failwell.relay.request import RelayedRequest
from failwell.relay.runner import OWN, Origin, Runner

from .address import RemoteServer, redirected, sent, start_of
from .event_stream import EventReader, frame_of, framed
from .headers import LAST_EVENT, SESSION, VERSION, era_in, modern_headers

_MOST_RESUMPTIONS: Final = 5
_PAUSE: Final = 1.0
_HEAD: Final = 4_096
_LONGEST_PAUSE: Final = 30.0
_POLITE: Final = 2.0
_LAST_WORDS: Final = 1.0
# Numbers under which gateways say in words that the session is gone, and how long such words are.
_LOST_NUMBERS: Final = frozenset({-32000, -32001, -32600})
_LONGEST_WORDS: Final = 120
_CANCELLED: Final = "notifications/cancelled"
_LOGINS: Final = frozenset({401, 403})


class HttpServer:
    """A server behind an address, as one client in front sees it."""

    def __init__(
        self,
        runner: Runner,
        address: RemoteServer,
        client: httpx2.AsyncClient,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._runner, self._address, self._client = runner, address, client
        # What the operator says goes before what the client in front says.
        self._given = {**(headers or {}), **{name.lower(): value for name, value in address.headers.items()}}
        try:
            # It is read once, not with each request; one that cannot be read is told when something is sent to it.
            self._url: str | httpx2.URL = httpx2.URL(address.url)
        except httpx2.InvalidURL:
            self._url = address.url
        self._session: str | None = None
        self._version: str | None = None
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
        session, self._session, self._version = self._session, None, None
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
            post = self._posts[key] = self._spawn(self._requested(action.frame, message, key, request, self._before))
            if method == "initialize":
                # Whatever comes after it belongs to the session that it begins.
                self._before = post
            return
        if method == _CANCELLED and self._is_cut_off(message):
            return
        self._before = self._spawn(self._told(action.frame, message, self._before))

    def _is_cut_off(self, message: Message) -> bool:
        """Whether a request that is given up ends with its stream: in the newer era nothing else ends it."""
        key = key_of(params_of(message).get("requestId"))
        if self._version is not None or self._session is not None:
            return False
        task = self._posts.pop(key, None)
        if task is not None:
            task.cancel()
            given_up = _unanswered("It was given up.")
            asyncio.get_running_loop().call_soon(self._runner.failed, key, given_up)
        return True

    async def _told(self, frame: bytes, message: Message, before: asyncio.Task[None] | None) -> None:
        """Send what nobody waits for: what is sent after it arrives after it."""
        if before is not None:
            await asyncio.wait([before])
        with suppress(httpx2.RequestError):
            response = await self._send("POST", self._headers(message, self._session), frame)
            await response.aclose()
        if message.get("method") == "notifications/initialized" and self._session is not None:
            self._listening = self._spawn(self._listen(self._session))

    async def _requested(
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
            self._session = self._version = None
            if self._listening is not None:
                self._listening.cancel()
        session = self._session
        try:
            trace = request.trace if request is not None else {}
            headers = {**self._headers(message, session), **trace}
            # Who leads a call elsewhere may have made it before.
            response = await self._send("POST", headers, frame, follow=message["method"] != "tools/call")
            try:
                await self._answered(response, message, key, request, session)
            finally:
                await response.aclose()
        except (httpx2.RequestError, httpx2.InvalidURL) as problem:
            if self._runner.protocol.awaits(key):
                self._runner.failed(key, self._failure(problem))
        finally:
            if self._posts.get(key) is asyncio.current_task():
                del self._posts[key]

    async def _send(
        self, method: str, headers: Mapping[str, str], content: bytes | None = None, *, follow: bool = True
    ) -> httpx2.Response:
        client, url = self._client, self._url
        response = await sent(client, url, method, headers, content, self._cookies, follow=follow)
        if response.status_code < 300:
            # Where a redirect has led to, the server is.
            self._url = response.request.url
        return response

    def _headers(self, message: Message, session: str | None) -> dict[str, str]:
        headers = {
            **self._given,
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        method, params = message.get("method"), params_of(message)
        if isinstance(method, str) and method != "initialize" and era_in(params) is not None:
            return headers | modern_headers(method, params, self._schema(method, params))
        if session is not None:
            headers[SESSION] = session
        if self._version is not None and method != "initialize":
            headers[VERSION] = self._version
        return headers

    def _schema(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if method != "tools/call":
            return None
        return schema_of(self._runner.protocol.listing.known.get(str(params.get("name"))))

    # What is answered

    async def _answered(
        self,
        response: httpx2.Response,
        message: Message,
        key: bytes,
        request: RelayedRequest | None,
        session: str | None,
    ) -> None:
        kind = response.headers.get("content-type", "").lower()
        if response.status_code >= 300:
            await self._refused(response, key, request, session)
            return
        if message["method"] == "initialize":
            self._session = response.headers.get(SESSION)
        origin: Origin = request if request is not None else OWN
        if kind.startswith("text/event-stream"):
            await self._streamed(response, key, origin, session)
        elif kind.startswith("application/json"):
            self._take(await self._body(response), key, origin, session)
        if self._runner.protocol.awaits(key) and not self._is_closed:
            words = f"The server answered {response.status_code}, and no answer will come."
            unread = kind.startswith(("application/json", "text/event-stream"))
            self._runner.failed(key, _unanswered("The answer broke off." if unread else words))

    async def _body(self, response: httpx2.Response) -> bytes | TooLong:
        longest, size = self._runner.protocol.options.longest, 0
        parts: list[bytes] = []
        async for part in response.aiter_bytes():
            size += len(part)
            # Of what is too long only the beginning is kept.
            if size <= longest:
                parts.append(part)
            else:
                parts = [b"".join([*parts[:1], part])[:_HEAD]]
        return framed(b"".join(parts)) if size <= longest else TooLong(parts[0], size)

    def _take(self, frame: bytes | TooLong, key: bytes, origin: Origin, session: str | None) -> None:
        """Hand over what the server said."""
        if isinstance(frame, bytes):
            if b'"protocolVersion"' in frame and self._version is None:
                self._version = _version_in(frame)
            if session is not None and session == self._session and _says_lost(frame):
                self._session = None
                self._runner.from_server([frame], origin)
                self._runner.forgotten(b"", _unanswered("The session is gone."), is_current=True)
                return
        self._runner.from_server([frame], origin)

    async def _streamed(self, response: httpx2.Response, key: bytes, origin: Origin, session: str | None) -> None:
        """The events of one answer; a stream that breaks is resumed where the server says from where."""
        events = EventReader(self._runner.protocol.options.longest)
        last, pause, failures_in_row = "", _PAUSE, 0
        current = response
        while True:
            parts = current.aiter_bytes()
            try:
                async for part in parts:
                    for event in events.feed(part):
                        last, pause = event.id or last, pause if event.retry is None else event.retry / 1000
                        if event.data:
                            failures_in_row = 0
                            self._take(frame_of(event), key, origin, session)
                    if not self._runner.protocol.awaits(key):
                        await _to_the_end(parts)
                        return
            except httpx2.RequestError:
                if not last or self._session is None:
                    raise
            finally:
                if current is not response:
                    await current.aclose()
            failures_in_row += 1
            if not last or self._session is None or failures_in_row > _MOST_RESUMPTIONS:
                return
            await asyncio.sleep(min(pause, _LONGEST_PAUSE))
            try:
                current = await self._send("GET", {**self._for_stream(self._session), LAST_EVENT: last})
            except httpx2.RequestError:
                continue
            events = EventReader(self._runner.protocol.options.longest)
            if current.status_code != 200:
                await current.aclose()
                if current.status_code in (400, 404, 405):
                    return

    def _for_stream(self, session: str) -> dict[str, str]:
        headers = {**self._given, "accept": "text/event-stream", SESSION: session}
        if self._version is not None:
            headers[VERSION] = self._version
        return headers

    async def _refused(
        self,
        response: httpx2.Response,
        key: bytes,
        request: RelayedRequest | None,
        session: str | None,
    ) -> None:
        if response.status_code < 400:
            self._runner.failed(key, redirected(response, self._address.name))
            return
        body = await start_of(response)
        http = Http(response.status_code, dict(response.headers), body, session is not None)
        if session is not None and (lost := lost_session(http)) is not None:
            is_current = session == self._session
            self._session = None if is_current else self._session
            self._runner.forgotten(key, lost, is_current=is_current)
            return
        if http.status not in _LOGINS and (frame := _error_in(body, key, is_call=_is_call(request))) is not None:
            self._runner.from_server([frame], request if request is not None else OWN)
            return
        error = from_post(http)
        if http.status == 401 or (http.status == 403 and "www-authenticate" in response.headers):
            error = failures.logged_out(error, self._address.name)
        self._runner.failed(key, error, request, http)

    def _failure(self, problem: Exception) -> ToolError:
        """What the transport saw when a request failed."""
        found = read(problem, transport=True)
        assert isinstance(found, ToolError)
        return found

    # What the server says by itself

    async def _listen(self, session: str) -> None:
        """The server's own stream, for as long as the session lasts."""
        last, pause, tries = "", _PAUSE, 0
        while session == self._session and not self._is_closed:
            headers = self._for_stream(session)
            if last:
                headers[LAST_EVENT] = last
            with suppress(httpx2.RequestError):
                response = await self._send("GET", headers)
                try:
                    if response.status_code in (404, 400):
                        http = Http(response.status_code, {}, await start_of(response), in_session=True)
                        if session == self._session and (lost := lost_session(http)) is not None:
                            self._session = None
                            self._runner.forgotten(b"", lost, is_current=True)
                        return
                    kind = response.headers.get("content-type", "")
                    if response.status_code in (401, 403, 405) or (response.is_success and "event-stream" not in kind):
                        return
                    if response.is_success:
                        events = EventReader(self._runner.protocol.options.longest)
                        async for part in response.aiter_bytes():
                            tries = 0
                            for event in events.feed(part):
                                last = event.id or last
                                pause = pause if event.retry is None else event.retry / 1000
                                if event.data:
                                    self._runner.from_server([frame_of(event)], OWN)
                finally:
                    await response.aclose()
            tries += 1
            await asyncio.sleep(min(pause * 2.0 ** min(tries - 1, 6), _LONGEST_PAUSE))

    async def _delete(self, session: str) -> None:
        with suppress(httpx2.RequestError, TimeoutError):
            async with asyncio.timeout(_POLITE):
                response = await self._send("DELETE", self._for_stream(session))
                await response.aclose()


async def _to_the_end(parts: AsyncIterator[bytes]) -> None:
    """Read what follows an answer, which should be nothing: only then the connection can be used again."""
    with suppress(httpx2.RequestError, TimeoutError):
        async with asyncio.timeout(_LAST_WORDS):
            async for _ in parts:
                pass


def _error_in(body: bytes, key: bytes, *, is_call: bool) -> bytes | None:
    """The JSON-RPC error in the body of a refusal, as the answer to a request. One that names no request was said
    before anybody looked at it: of a call more is known by the status."""
    message = read_frame(body) if body.lstrip().startswith(b"{") else None
    if not isinstance(message, dict) or not isinstance(message.get("error"), dict):
        return None
    if message.get("id") is not None:
        return framed(body) if key_of(message["id"]) == key else None
    return None if is_call else written({**message, "id": json.loads(key)})


def _is_call(request: RelayedRequest | None) -> bool:
    return request is not None and request.run is not None


def _version_in(frame: bytes) -> str | None:
    message = read_frame(frame)
    result = message.get("result") if isinstance(message, dict) else None
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) else None


def _says_lost(frame: bytes) -> bool:
    """Whether a gateway answers, in its words, that it knows no such session."""
    if b'"error"' not in frame or b"ession" not in frame:
        return False
    message = read_frame(frame)
    error = message.get("error") if isinstance(message, dict) else None
    if not isinstance(error, dict) or error.get("code") not in _LOST_NUMBERS or error.get("data") is not None:
        return False
    words = str(error.get("message", ""))
    return len(words) <= _LONGEST_WORDS and lost_session(Http(400, {}, words.encode())) is not None


def _unanswered(message: str) -> ToolError:
    return ToolError(
        message, code="UPSTREAM_ERROR", origin="local", delivery="unanswered", effect=Effect.UNKNOWN
    )  # fmt: skip
