"""One client in front of a relay over HTTP: its session, or all clients of the newer era with the same login."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from failwell.relay.actions import Note
from failwell.relay.messages import Message, key_of, large_success, meta_of, params_of, read_frame, with_id, written
from failwell.relay.request import OwnIds
from failwell.relay.runner import ANY, Origin, Runner
from failwell.relay.session import notification

from .limits import RelayLimits, RequestRejected

if TYPE_CHECKING:
    from failwell.readers import Http
    from failwell.relay.request import RelayedRequest

PING: Final = b": ping\r\n\r\n"
_PING_AFTER: Final = 15.0
"""After how many seconds of silence a stream says that it is still there."""
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_LISTEN: Final = "subscriptions/listen"
_FOR_ALL: Final = ("/list_changed", "notifications/resources/updated")


@dataclass(eq=False)
class Exchange:
    """One request of a client, or its open stream, and the messages that wait to be sent on it.

    most: how many bytes may wait. id, token: the client's own id and progress token, where another one is used here.
    is_listening: whether it waits for what is subscribed to. code: the number of the JSON-RPC error that is the answer.
    http: how the server itself refused it. is_closed: whether nothing more will come, or nobody is there to read it.
    """

    most: int
    id: Any = None
    token: Any = None
    is_renamed: bool = False
    is_listening: bool = False
    waiting: deque[bytes] = field(default_factory=deque)
    answer: bytes | None = None
    code: int | None = None
    http: Http | None = None
    is_closed: bool = False
    _size: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, frame: bytes) -> None:
        """A message to send before the answer. Whoever does not read loses the oldest first."""
        if self.is_closed:
            return
        self.waiting.append(frame)
        self._size += len(frame)
        while self._size > self.most and len(self.waiting) > 1:
            self._size -= len(self.waiting.popleft())
        self._changed.set()

    def finish(self, frame: bytes, code: int | None) -> None:
        self.answer, self.code = frame, code
        self._changed.set()

    def close(self) -> None:
        self.is_closed = True
        self._changed.set()

    async def wait(self) -> bool:
        """Wait for something to send; whether there is something before it is time to send a ping."""
        if self.waiting or self.answer is not None or self.is_closed:
            return True
        self._changed.clear()
        try:
            async with asyncio.timeout(_PING_AFTER):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def events(self) -> AsyncIterator[bytes]:
        """All that there is to send, as server-sent events, the answer last."""
        while True:
            if self.waiting:
                frame = self.waiting.popleft()
                self._size -= len(frame)
                yield _event(frame)
            elif self.answer is not None:
                yield _event(self.answer)
                return
            elif self.is_closed:
                return
            elif not await self.wait():
                yield PING


def _event(frame: bytes) -> bytes:
    return b"event: message\r\ndata: " + frame.strip() + b"\r\n\r\n"


class ClientSession:
    """The requests of a client that wait for an answer, and where each message of the server is sent."""

    def __init__(
        self,
        id: str,
        owner: str,
        limits: RelayLimits,
        log: Callable[[Note], None],
        on_end: Callable[[ClientSession], None],
        *,
        is_shared: bool = False,
    ) -> None:
        self.id, self.owner, self.is_shared = id, owner, is_shared
        self.open: dict[bytes, Exchange] = {}
        """The requests without an answer, by the ids that the protocol knows them by."""
        self.own = Exchange(limits.buffer)
        """The client's open stream."""
        self.is_attached = self.is_full = self.is_over = False
        self.seen_at = time.monotonic()
        self.log = log
        self.runner: Runner
        self._limits, self._on_end = limits, on_end
        self._tokens: dict[bytes, Exchange] = {}
        self._own_ids = OwnIds()

    def ask(self, frame: bytes, message: Message, trace: Mapping[str, str] | None = None) -> tuple[bytes, Exchange]:
        """Pass on a request of the client; the id by which it is known here, and where it is answered."""
        if len(self.open) >= self._limits.calls:
            most = f"{self._limits.calls} requests of one client are under way, which is the limit"
            raise RequestRejected(429, "calls", f"{most}. This one was not made.", headers={"retry-after": "1"})
        key, exchange = key_of(message["id"]), Exchange(self._limits.buffer, message["id"])
        exchange.is_listening = message.get("method") == _LISTEN
        if key in self.open:
            id = self.new_id(type(message["id"]))
            key, exchange.is_renamed = key_of(id), True
            frame = with_id(frame, message, id)
            message = {**message, "id": id}
        token = meta_of(message).get("progressToken")
        if token is not None:
            if key_of(token) in self._tokens:
                exchange.token, token = token, self._own_ids.new(type(token), self._tokens.__contains__)
                meta = {**meta_of(message), "progressToken": token}
                frame = written({**message, "params": {**params_of(message), "_meta": meta}})
            self._tokens[key_of(token)] = exchange
        self.open[key] = exchange
        self.seen_at = time.monotonic()
        self.runner.from_client([frame], trace)
        return key, exchange

    def new_id(self, like: type) -> int | str:
        """An id that no open request has."""
        return self._own_ids.new(like, self.open.__contains__)

    def notify(self, frame: bytes) -> None:
        """Pass on a notification or an answer of the client."""
        self.seen_at = time.monotonic()
        self.runner.from_client([frame])

    def forget(self, key: bytes, exchange: Exchange, *, is_cancelled: bool) -> None:
        """Nobody waits for an answer any more."""
        self.seen_at = time.monotonic()
        # Another request may have its id by now.
        is_open = self.open.get(key) is exchange
        if is_open:
            del self.open[key]
        if self._tokens:
            self._tokens = {token: each for token, each in self._tokens.items() if each is not exchange}
        if is_open and is_cancelled and not self.is_over:
            self.runner.from_client([notification("notifications/cancelled", {"requestId": read_frame(key)})])

    # What the runner calls

    def send(self, frame: bytes, origin: Origin) -> None:
        key = large_success(frame)
        message = None if key is not None else read_frame(frame)
        if isinstance(message, dict) and "method" in message:
            exchange = self._exchange_of(message, origin)
            if exchange is None:
                return
            if exchange.token is not None and message["method"] == "notifications/progress":
                frame = written({**message, "params": {**params_of(message), "progressToken": exchange.token}})
            elif exchange.is_renamed:
                frame = _with_subscription(frame, message, exchange)
            exchange.put(frame)
            return
        if isinstance(message, dict):
            key = key_of(message.get("id"))
        exchange = self.open.pop(key, None) if key is not None else None
        if exchange is None:
            return
        error = message.get("error") if message is not None else None
        code = error.get("code") if isinstance(error, Mapping) else None
        if exchange.is_renamed:
            frame = with_id(_with_subscription(frame, message, exchange), None, exchange.id)
        exchange.finish(frame, code if isinstance(code, int) else None)

    def _exchange_of(self, message: Message, origin: Origin) -> Exchange | None:
        """Where a message of the server belongs; None if nobody can tell, and it might be another client's."""
        own_stream = None if self.is_shared else self.own
        if origin is not ANY:
            return self.open.get(getattr(origin, "own_key", b""), own_stream)
        method, params = str(message.get("method")), params_of(message)
        if method == "notifications/progress":
            return self._tokens.get(key_of(params.get("progressToken")))
        if _SUBSCRIPTION in meta_of(message):
            return self.open.get(key_of(meta_of(message)[_SUBSCRIPTION]))
        if method.endswith(_FOR_ALL):
            return own_stream
        asking = [each for each in self.open.values() if not each.is_listening]
        if len(asking) == 1:
            return asking[0]
        return asking[-1] if asking and not self.is_shared and not self.is_attached else own_stream

    def refused(self, request: RelayedRequest, http: Http) -> None:
        exchange = self.open.get(request.own_key)
        if exchange is not None:
            exchange.http = http

    def flush(self) -> None:
        """Each exchange is written by its own response."""

    def ended(self, code: int = 0) -> None:
        """End the session; whoever still waits is told that nothing comes."""
        if self.is_over:
            return
        self.is_over = True
        for exchange in [*self.open.values(), self.own]:
            exchange.close()
        self.open = {}
        self._on_end(self)


def _with_subscription(frame: bytes, message: Message | None, exchange: Exchange) -> bytes:
    """A message with the client's own id for the subscription that it belongs to."""
    if not exchange.is_listening or message is None:
        return frame
    place = "params" if "method" in message else "result"
    held = message.get(place)
    meta = held.get("_meta") if isinstance(held, Mapping) else None
    if not isinstance(held, Mapping) or not isinstance(meta, Mapping) or _SUBSCRIPTION not in meta:
        return frame
    return written({**message, place: {**held, "_meta": {**meta, _SUBSCRIPTION: exchange.id}}})
