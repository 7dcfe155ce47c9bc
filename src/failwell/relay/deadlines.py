"""How long a call may take, and how long it may wait for a server to be there."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from . import failures
from .actions import StopServer, ToServer
from .core import Question, RelayCore
from .messages import Message, params_of, read_frame
from .request import RelayedRequest
from .session import notification
from .states import Event, ServerState, State

if TYPE_CHECKING:
    from failwell.model import ToolError

    from .calls import Calls

_LONGEST_SILENCE: Final = 5.0
"""How many seconds a call waits for a server that ends again and again."""


class Deadlines:
    """The time limits of the calls of one server's tools."""

    def __init__(self, core: RelayCore, calls: Calls) -> None:
        self._core, self._calls = core, calls
        self._knocked: object = None
        """Which server was asked whether it is still there."""

    def limit(self, request: RelayedRequest) -> None:
        seconds = self.timeout_of(request)
        if seconds is None:
            return
        request.deadline = self._core.clock.monotonic() + seconds
        self._core.at(request.deadline, lambda: self._late(request))

    def limit_wait(self, request: RelayedRequest) -> None:
        """A call waits for a server to be started again: not longer than it may take. A first start takes its time."""
        seconds = self.timeout_of(request) if self._core.life is not None else None
        if seconds is not None:
            self._core.after(seconds, lambda: self._waited(request, seconds))

    def _waited(self, request: RelayedRequest, seconds: float, *, is_last: bool = False) -> None:
        """A call may have waited too long for a server to be there; one that is starting by now gets as long again."""
        if request.state is not State.QUEUED:
            return
        if self._core.state is ServerState.STARTING and not is_last:
            self._core.after(seconds, lambda: self._waited(request, seconds, is_last=True))
            return
        self._refuse(request, failures.not_there(str(request.params["name"]), seconds=seconds))

    def refuse_in_crash_loop(self, request: RelayedRequest) -> None:
        """A call that would wait long for a server which ends whenever it is started is told so at once."""
        if self._core.state is ServerState.PAUSING and self._core.starts_in > _LONGEST_SILENCE:
            self._refuse(request, failures.crash_loop(str(request.params["name"]), seconds=ceil(self._core.starts_in)))

    def _refuse(self, request: RelayedRequest, error: ToolError) -> None:
        # One that cannot be looked at has no name so far.
        request.tool = request.tool or str(request.params["name"])
        request.run = request.run or self._calls.begin(request)
        if self._core.starts_in > 0:
            error = error.replace(retry_after=float(ceil(self._core.starts_in)))
        self._calls.end(request, request.run.record_refusal(error) if request.last is None else request.last, None)

    def timeout_of(self, request: RelayedRequest) -> float | None:
        """How many seconds a call may take without a word; None for no limit."""
        rules = self._core.options.rules
        return (
            self._core.options.timeout
            if rules is None
            else rules.timeout(request.tool or request.params["name"], self._core.options.timeout)
        )

    def _late(self, request: RelayedRequest) -> None:
        """A call may have taken too long."""
        if request.state is not State.SENT or request.deadline is None:
            return
        if (now := self._core.clock.monotonic()) < request.deadline:
            self._core.at(request.deadline, lambda: self._late(request))
            return
        if any(question.at >= request.began for question in self._core.asked.values()):
            # The server waits for the user, and has said so.
            self.limit(request)
            return
        self._core.move(request, Event.TIME_OUT)
        cancelled = {"requestId": read_frame(request.key), "reason": "It took too long."}
        self._core.out.append(ToServer(notification("notifications/cancelled", cancelled)))
        seconds = self.timeout_of(request) or now
        self._calls.settle(request, failures.timed_out(request.tool, seconds=seconds), None)
        self._knock(request.began, seconds)

    def settled(self, question: Question) -> None:
        """The server has what it asked for: the time of the calls that it asked in begins anew."""
        for request in self._core.pending.values():
            if request.deadline is not None and question.at >= request.began:
                request.deadline = self._core.clock.monotonic() + (self.timeout_of(request) or 0.0)

    def _knock(self, began: float, seconds: float) -> None:
        """Ask a server that let a call wait whether it is still there; one that is frozen is started anew."""
        core = self._core
        life = core.life
        if core.state is not ServerState.UP or self._knocked is life:
            return
        self._knocked = life
        method = "tools/list" if core.session.is_modern else "ping"
        asked = core.ask(method, None, lambda message: self._is_there())

        def look() -> None:
            if core.life is not life or asked not in core.own:
                return
            del core.own[asked]
            self._knocked = None
            # A call that is older, and may take its time, may be what it is busy with.
            if not any(each.began < began for each in core.pending.values() if each.run is not None):
                core.out.append(StopServer("no answer to anything, so the relay ended it"))

        core.after(seconds, look)

    def _is_there(self) -> None:
        self._knocked = None

    def progress(self, message: Message) -> None:
        token = params_of(message).get("progressToken")
        for request in self._core.pending.values():
            if request.deadline is not None and request.meta.get("progressToken") == token:
                request.deadline = self._core.clock.monotonic() + (self.timeout_of(request) or 0.0)
