"""The loop around the protocol: one `Runner` tells it what happens, and carries out what it wants done.

The client is on standard input and output or behind HTTP, the server is a process or behind an address. The runner is
the same for all four pairs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol

from .actions import Action, Death, Note, Prepare, Quit, Start, StopServer, ToClient, ToServer
from .frames import TooLong
from .relay_protocol import RelayProtocol
from .request import RelayedRequest

if TYPE_CHECKING:
    from failwell.model import ToolError
    from failwell.readers import Http


class Stream:
    """Where a message of the server came from, as far as that is known."""

    def __init__(self, name: str) -> None:
        self.name = name


OWN: Final = Stream("of its own")
"""The stream on which a server says what belongs to no request."""
ANY: Final = Stream("any")
"""A pipe, on which everything comes."""

Origin = RelayedRequest | Stream


class ClientSide(Protocol):
    """The client of a relay."""

    @property
    def is_full(self) -> bool:
        """Whether more waits for it than it reads."""

    def send(self, frame: bytes, origin: Origin) -> None:
        """Send a frame; `origin` is where the server said it."""

    def flush(self) -> None:
        """Write what was sent."""

    def refused(self, request: RelayedRequest, http: Http) -> None:
        """A request is about to be answered, since the server refused it in this way."""

    def log(self, note: Note) -> None:
        """Write a line to the log."""

    def ended(self, code: int) -> None:
        """The relay for this client has ended."""


class ServerSide(Protocol):
    """The server of a relay."""

    def start(self) -> None:
        """See to it that it runs; whether it does is told to the runner."""

    def send(self, action: ToServer) -> None:
        """Send a frame to it."""

    def flush(self) -> None:
        """Write what was sent."""

    def hold_back(self, is_full: bool) -> None:
        """Stop reading from it while the client takes no more."""

    def stop(self, why: str) -> None:
        """End it; that it has ended is told to the runner."""

    async def close(self, *, politely: bool = True) -> None:
        """End it with all that belongs to it."""


class Runner:
    """Stands between the protocol, a client and a server, and is told by all three."""

    def __init__(
        self,
        protocol: RelayProtocol,
        client: ClientSide,
        connect: Callable[[Runner], ServerSide],
        *,
        counts: Counter[str] | None = None,
    ) -> None:
        self.protocol, self._client = protocol, client
        self._counts: Counter[str] = Counter() if counts is None else counts
        self._loop = asyncio.get_running_loop()
        self._origin: Origin = ANY
        self._timer: asyncio.TimerHandle | None = None
        self._is_ending = self._is_full = False
        self.code: int | None = None
        """The exit code, once it has ended."""
        self.server = connect(self)

    def begin(self) -> None:
        self._do(self.protocol.begin())

    async def close(self, *, politely: bool = True) -> None:
        """End the server, and everything."""
        if self._timer is not None:
            self._timer.cancel()
        self.code = 0 if self.code is None else self.code
        self.protocol.abandon()
        await self.server.close(politely=politely)

    # What the client's side tells

    def from_client(self, frames: Iterable[bytes | TooLong], trace: Mapping[str, str] | None = None) -> None:
        """Frames came from the client."""
        for frame in frames:
            self._carry_out(self.protocol.client(frame, trace))
        self.settle()

    def drain(self) -> None:
        """Let what is under way come to its end."""
        self._is_ending = True
        self._do(self.protocol.drain())

    # What the server's side tells

    def started(self) -> None:
        self._do(self.protocol.started())

    def died(self, death: Death) -> None:
        self._counts["restarts"] += 1
        self._do(self.protocol.died(death))

    def from_server(self, frames: Iterable[bytes | TooLong], origin: Origin = ANY) -> None:
        """Frames came from the server."""
        for frame in frames:
            self._origin = origin
            self._carry_out(self.protocol.server(frame))
            self._origin = ANY
        self.settle()

    def from_stderr(self, lines: Iterable[bytes | TooLong]) -> None:
        """The server wrote lines to stderr: they go where they would go without us, without the secrets in them."""
        for line in lines:
            text = (line.head if isinstance(line, TooLong) else line).decode("utf-8", "replace").rstrip()
            if text:
                self._client.log(Note(self.protocol.hide(text), is_of_server=True))

    def failed(
        self, key: bytes, error: ToolError, request: RelayedRequest | None = None, http: Http | None = None
    ) -> None:
        """A request came to nothing by itself; `http` is the answer that stood in its place."""
        if request is not None and http is not None:
            self._client.refused(request, http)
        self._do(self.protocol.failed(key, error))

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> None:
        """A request was refused since the session is gone."""
        self._counts["renewals"] += is_current
        self._do(self.protocol.forgotten(key, error, is_current=is_current))

    # What the protocol wants done

    def _do(self, actions: list[Action]) -> None:
        self._carry_out(actions)
        self.settle()

    def _carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            if self.code is not None:
                return
            if isinstance(action, ToClient):
                self._client.send(action.frame, self._origin)
            elif isinstance(action, ToServer):
                self.server.send(action)
            elif isinstance(action, Note):
                self._client.log(action)
            elif isinstance(action, Start):
                self.server.start()
            elif isinstance(action, Prepare):
                Thread(target=self.protocol.prepare, daemon=True).start()
            elif isinstance(action, StopServer):
                self.server.stop(action.why)
            elif isinstance(action, Quit):
                if action.line:
                    self._client.log(Note(action.line, loud=True))
                self.quit(action.code)

    def settle(self) -> None:
        """Everything that came has been handled: write what is to be written, and see what is next."""
        if self.code is not None:
            return
        self.server.flush()
        self._client.flush()
        if self._client.is_full is not self._is_full:
            self._is_full = self._client.is_full
            self.server.hold_back(self._is_full)
        if self.code is None and self._is_ending and self.protocol.is_drained and not self._is_full:
            self.quit(0)
        if self.code is None:
            self._wind()

    def quit(self, code: int) -> None:
        """End, with this exit code."""
        if self.code is None:
            self.code = code
            if self._timer is not None:
                self._timer.cancel()
            self._client.flush()
            self._client.ended(code)

    def _wind(self) -> None:
        """Wake up when something is due."""
        due = self.protocol.wakes_at
        if self._timer is not None:
            if due is not None and self._timer.when() <= due and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._do(self.protocol.tick())
