"""One client in front of a relay over HTTP: its session, or all clients of the newer era, which has none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from failwell.relay.actions import Note
from failwell.relay.core import OwnIds
from failwell.relay.messages import (
    Message,
    key_of,
    large_success,
    meta_of,
    params_of,
    read_frame,
    with_id,
    written,
)
from failwell.relay.runner import ANY, Origin, Runner
from failwell.relay.session import notification

from .bounds import NotTaken, RelayLimits
from .exchange import Exchange

if TYPE_CHECKING:
    from failwell.readers import Http
    from failwell.relay.request import RelayedRequest

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_LISTEN: Final = "subscriptions/listen"
_FOR_ALL: Final = ("/list_changed", "notifications/resources/updated")


class Visit:
    """Who waits for which answer, and where everything else is told."""

    def __init__(
        self,
        id: str,
        owner: str,
        limits: RelayLimits,
        *,
        is_shared: bool,
        log: Callable[[Note], None],
        left: Callable[[Visit], None],
    ) -> None:
        self.id, self.owner, self.is_shared = id, owner, is_shared
        self.open: dict[bytes, Exchange] = {}
        """The requests without an answer, by the ids that the protocol knows them by."""
        self.own = Exchange(most=limits.buffer)
        """The client's open stream."""
        self.is_attached = self.is_full = False
        self.seen_at = time.monotonic()
        self.is_over = False
        self.version: str | None = None
        self.log = log
        self.runner: Runner
        self._limits, self._left = limits, left
        self._tokens: dict[bytes, Exchange] = {}
        self._own_ids = OwnIds()

    def asks(self, frame: bytes, message: Message, trace: Mapping[str, str] | None = None) -> tuple[bytes, Exchange]:
        """A request of the client; where it is answered, and by which id it is known here."""
        if len(self.open) >= self._limits.calls:
            most = f"{self._limits.calls} requests of one client are under way, which is the limit"
            raise NotTaken(429, "calls", f"{most}. This one was not made.", retry_after="1")
        key, exchange = key_of(message["id"]), Exchange(message["id"], most=self._limits.buffer)
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
        """An id by which nothing is known to the protocol."""
        return self._own_ids.new(like, self.open.__contains__)

    def says(self, frame: bytes) -> None:
        """A notification or an answer of the client."""
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

    # What the protocol tells

    def send(self, frame: bytes, origin: Origin) -> None:
        key = large_success(frame)
        message = None if key is not None else read_frame(frame)
        if key is None and isinstance(message, dict) and "method" not in message:
            key = key_of(message.get("id"))
        if key is not None:
            self._answer(key, frame, message)
        elif isinstance(message, dict):
            self._pass_on(frame, message, origin)

    def _answer(self, key: bytes, frame: bytes, message: Message | None) -> None:
        exchange = self.open.pop(key, None)
        if exchange is None:
            return
        error = message.get("error") if message is not None else None
        code = error.get("code") if isinstance(error, Mapping) else None
        if exchange.is_renamed:
            frame = with_id(self._with_subscription(frame, message, exchange), None, exchange.id)
        exchange.finish(frame, code if isinstance(code, int) else None)

    def _pass_on(self, frame: bytes, message: Message, origin: Origin) -> None:
        exchange = self._meant(message, origin)
        if exchange is None:
            return
        if exchange.token is not None and message.get("method") == "notifications/progress":
            frame = written({**message, "params": {**params_of(message), "progressToken": exchange.token}})
        elif exchange.is_renamed:
            frame = self._with_subscription(frame, message, exchange)
        exchange.put(frame)

    def _with_subscription(self, frame: bytes, message: Message | None, exchange: Exchange) -> bytes:
        """A message that names the request which it belongs to, by the client's own name of it."""
        if not exchange.is_listening or message is None:
            return frame
        place = "params" if "method" in message else "result"
        held = message.get(place)
        meta = held.get("_meta") if isinstance(held, Mapping) else None
        if not isinstance(held, Mapping) or not isinstance(meta, Mapping) or _SUBSCRIPTION not in meta:
            return frame
        return written({**message, place: {**held, "_meta": {**meta, _SUBSCRIPTION: exchange.id}}})

    def _meant(self, message: Message, origin: Origin) -> Exchange | None:
        """Where a message of the server belongs; None if nobody can tell, and it might be somebody else's."""
        if origin is not ANY:
            found = self.open.get(getattr(origin, "own_key", b""))
            return found if found is not None else self._stream()
        method, params = str(message.get("method")), params_of(message)
        if method == "notifications/progress":
            return self._tokens.get(key_of(params.get("progressToken")))
        if _SUBSCRIPTION in meta_of(message):
            return self.open.get(key_of(meta_of(message)[_SUBSCRIPTION]))
        if method.endswith(_FOR_ALL):
            return self._stream()
        asking = [each for each in self.open.values() if not each.is_listening]
        if len(asking) == 1:
            return asking[0]
        if self.is_shared:
            return None
        return asking[-1] if asking and not self.is_attached else self._stream()

    def _stream(self) -> Exchange | None:
        return None if self.is_shared else self.own

    def refused(self, request: RelayedRequest, http: Http) -> None:
        exchange = self.open.get(request.own_key)
        if exchange is not None:
            exchange.http = http

    def flush(self) -> None:
        """What was sent waits for its answer to be read."""

    def ended(self, code: int) -> None:
        self.over()

    def over(self) -> None:
        """The visit is over; whoever still waits is told that nothing comes."""
        if self.is_over:
            return
        self.is_over = True
        for exchange in [*self.open.values(), self.own]:
            exchange.close()
        self.open = {}
        self._left(self)


def id_of(message: Mapping[str, Any]) -> Any:
    """The id of a message, as far as it is one."""
    id = message.get("id")
    return id if isinstance(id, (str, int, float)) and not isinstance(id, bool) else None
