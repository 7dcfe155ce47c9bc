"""One desk while it is open, in an event loop: it is told what happens, and what it wants done is done."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol

from failwell.relay.actions import Action, Death, Note, Prepare, Quit, Start, StopServer, ToClient, ToServer
from failwell.relay.desk import Desk
from failwell.relay.frames import TooLong
from failwell.relay.request import RelayedRequest

if TYPE_CHECKING:
    from failwell.model import ToolError
    from failwell.readers import Http

Told = Callable[[str, bytes], None]
"""Told of each frame: `client`, `server`, `to client` or `to server`."""


class Stream:
    """Where a message of the server came from, as far as that is known."""

    def __init__(self, name: str) -> None:
        self.name = name


OWN: Final = Stream("of its own")
"""The stream on which a server says what belongs to no request."""
ANY: Final = Stream("any")
"""A pipe, on which everything comes."""

Origin = RelayedRequest | Stream


class Visitor(Protocol):
    """Whoever stands in front of a desk."""

    def tell(self, frame: bytes, origin: Origin) -> None:
        """Send a frame to the client; `origin` is where the server said it."""

    def refused(self, request: RelayedRequest, http: Http) -> None:
        """A request is about to be answered, since the server refused it in this way."""

    def say(self, note: Note) -> None:
        """A line for the log."""

    def ended(self, code: int) -> None:
        """The desk is closed."""


class Backend(Protocol):
    """A server, wherever it is."""

    def start(self) -> None:
        """See to it that it runs; whether it does is told."""

    def send(self, action: ToServer) -> None:
        """Send a frame to it."""

    def stop(self, why: str) -> None:
        """End it; that it has ended is told."""

    async def close(self, *, politely: bool = True) -> None:
        """End it with all that belongs to it."""


class Attendant:
    """Stands between a desk, a client and a server, and is told by all three."""

    def __init__(
        self,
        desk: Desk,
        client: Visitor,
        connect: Callable[[Attendant], Backend],
        *,
        witness: Told | None = None,
        counts: Counter[str] | None = None,
    ) -> None:
        self.desk, self._client = desk, client
        self._counts: Counter[str] = Counter() if counts is None else counts
        self._witness = witness
        self._loop = asyncio.get_running_loop()
        self._origin: Origin = ANY
        self._timer: asyncio.TimerHandle | None = None
        self._is_ending = False
        self.code: int | None = None
        """The exit code, when the desk is closed."""
        self.backend = connect(self)

    def begin(self) -> None:
        self._do(self.desk.begin())

    def client(self, frame: bytes | TooLong, trace: Mapping[str, str] | None = None) -> None:
        """A frame came from the client."""
        if self._witness is not None and isinstance(frame, bytes):
            self._witness("client", frame)
        self._do(self.desk.client(frame, trace))

    def drain(self) -> None:
        """Let what is under way come to its end."""
        self._is_ending = True
        self._do(self.desk.drain())

    async def close(self, *, politely: bool = True) -> None:
        """End the server, and everything."""
        if self._timer is not None:
            self._timer.cancel()
        self.code = 0 if self.code is None else self.code
        self.desk.abandon()
        await self.backend.close(politely=politely)

    # What the server's side tells

    def started(self) -> None:
        self._do(self.desk.started())

    def died(self, death: Death) -> None:
        self._counts["restarts"] += 1
        self._do(self.desk.died(death))

    def server(self, frame: bytes | TooLong, origin: Origin = ANY) -> None:
        """A frame came from the server."""
        if self._witness is not None and isinstance(frame, bytes):
            self._witness("server", frame)
        self._origin = origin
        self._do(self.desk.server(frame))
        self._origin = ANY

    def failed(
        self, key: bytes, error: ToolError, request: RelayedRequest | None = None, http: Http | None = None
    ) -> None:
        """A request came to nothing by itself; `http` is the answer that stood in its place."""
        if request is not None and http is not None:
            self._client.refused(request, http)
        self._do(self.desk.failed(key, error))

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> None:
        """A request was refused since the session is gone."""
        self._counts["renewals"] += is_current
        self._do(self.desk.forgotten(key, error, is_current=is_current))

    # What the desk wants done

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if self.code is not None:
                break
            self._done(action)
        if self.code is not None:
            return
        if self._is_ending and self.desk.is_drained:
            self._quit(0)
        else:
            self._wind()

    def _done(self, action: Action) -> None:
        if isinstance(action, ToClient):
            if self._witness is not None:
                self._witness("to client", action.frame)
            self._client.tell(action.frame, self._origin)
        elif isinstance(action, ToServer):
            if self._witness is not None:
                self._witness("to server", action.frame)
            self.backend.send(action)
        elif isinstance(action, Note):
            self._client.say(action)
        elif isinstance(action, Start):
            self.backend.start()
        elif isinstance(action, Prepare):
            Thread(target=self.desk.prepare, daemon=True).start()
        elif isinstance(action, StopServer):
            self.backend.stop(action.why)
        elif isinstance(action, Quit):
            if action.line:
                self._client.say(Note(action.line, loud=True))
            self._quit(action.code)

    def _quit(self, code: int) -> None:
        self.code = code
        if self._timer is not None:
            self._timer.cancel()
        self._client.ended(code)

    def _wind(self) -> None:
        """Wake up when something is due."""
        due = self.desk.wakes_at
        if self._timer is not None:
            if due is not None and self._timer.when() <= due and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._do(self.desk.tick())
