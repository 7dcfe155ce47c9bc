"""What a new server has to be told so that it can go on where the old one was: in both eras of the protocol.

The older era begins with a handshake, which is played again. In the newer one each request says all there is to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .messages import Message, read_frame, written
from .request import CLIENT_KEY, ERA_KEY, RelayedRequest, client_name

_LEGACY: Final = "2025-11-25"
# What a request of the newer era says of the client with each message.
_OF_CLIENTS: Final = "io.modelcontextprotocol/"


@dataclass(slots=True)
class Session:
    """What was agreed between client and server."""

    greeting: Message | None = None
    """The client's `initialize`."""
    welcome: bytes | None = None
    """The server's answer to it, as a frame."""
    initialized: bytes | None = None
    level: Message | None = None
    """The client's latest `logging/setLevel`."""
    subscribed: dict[str, Message] = field(default_factory=dict)
    era: str | None = None
    client: str | None = None
    id_kind: type | None = None
    """Of what kind the ids of the client's requests are: numbers, if any of them is one."""
    announced: Mapping[str, Any] | None = None
    """What the server can do, in the newer era: what it answered to `server/discover`; None if nobody asked."""
    modern: dict[str, Any] = field(default_factory=dict)
    """The `_meta` in which a client of the newer era says who it is."""
    _named: bytes | None = None
    _server: str | None = None

    def heard(self, request: RelayedRequest) -> None:
        """Keep what a request of the client says about the session."""
        if self.id_kind is not int:
            self.id_kind = type(request.id)
        if request.method == "initialize":
            self.greeting = request.message
            self.client = client_name(request.params.get("clientInfo"))
        elif request.method == "logging/setLevel":
            self.level = request.message
        elif request.method in ("resources/subscribe", "resources/unsubscribe"):
            place = str(request.params.get("uri"))
            self.subscribed.pop(place, None)
            if request.method == "resources/subscribe":
                self.subscribed[place] = request.message
        if not self.greeting and ERA_KEY in request.meta:
            self.modern = {name: value for name, value in request.meta.items() if name.startswith(_OF_CLIENTS)}

    def welcomed(self, frame: bytes, message: Mapping[str, Any] | None) -> None:
        """The server answered the handshake."""
        result = (message or {}).get("result")
        if isinstance(result, Mapping):
            self.welcome = frame
            version = result.get("protocolVersion")
            self.era = version if isinstance(version, str) else None

    def discovered(self, message: Mapping[str, Any] | None) -> None:
        """The server was asked what it can do; what it does not say, it cannot."""
        result = (message or {}).get("result")
        found = result.get("capabilities") if isinstance(result, Mapping) else None
        self.announced = found if isinstance(found, Mapping) else {}

    def suits(self, request: RelayedRequest) -> bool:
        """Whether the answer that is remembered is one to this greeting: it was given to one of the same version."""
        return self.welcome is not None and request.params.get("protocolVersion") == self.era

    def era_of(self, request: RelayedRequest) -> str:
        named = request.meta.get(ERA_KEY)
        return named if isinstance(named, str) else self.era or _LEGACY

    def client_of(self, request: RelayedRequest) -> str | None:
        return client_name(request.meta.get(CLIENT_KEY)) or self.client

    @property
    def server(self) -> str | None:
        """What the server calls itself, where it was greeted."""
        if self._named is not self.welcome:
            result = (read_frame(self.welcome) or {}).get("result") if self.welcome else None
            info = result.get("serverInfo") if isinstance(result, Mapping) else None
            name = info.get("name") if isinstance(info, Mapping) else None
            self._named, self._server = self.welcome, name if isinstance(name, str) else None
        return self._server

    @property
    def is_modern(self) -> bool:
        if self.greeting or ERA_KEY not in self.modern:
            return False
        from failwell.formats import MODERN_ERA

        return str(self.modern[ERA_KEY]) >= MODERN_ERA

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the server said that it can do."""
        if self.welcome is None:
            return self.announced or {}
        result = (read_frame(self.welcome) or {}).get("result")
        found = result.get("capabilities") if isinstance(result, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def keeps_keys(self) -> bool:
        """Whether the server itself knows calls by their keys."""
        from failwell.formats import META_KEY

        return any(
            isinstance(found, Mapping) and isinstance(found.get(META_KEY), Mapping) and "idempotency" in found[META_KEY]
            for found in (self.capabilities.get(place) for place in ("extensions", "experimental"))
        )

    def after_greeting(self) -> Iterator[Message]:
        """The requests that bring a new server to where the old one was, once the handshake is done."""
        if self.level is not None:
            yield self.level
        yield from self.subscribed.values()

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Message:
        """A request of our own, in the era that the client speaks."""
        given = dict(params or {})
        if self.is_modern:
            given["_meta"] = dict(self.modern)
        return {"jsonrpc": "2.0", "method": method, **({"params": given} if given else {})}


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    return written({"jsonrpc": "2.0", "method": method, **({"params": dict(params)} if params else {})})
