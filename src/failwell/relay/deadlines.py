"""How long a call may take, and how long it may wait for a server to be there."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from . import failures
from .actions import StopServer, ToServer
from .messages import Message, params_of, read_frame
from .request import RelayedRequest
from .session import notification
from .traffic import Question, Traffic

if TYPE_CHECKING:
    from .calls import Calls


class Deadlines:
    """The time limits of the calls of one server's tools."""

    def __init__(self, traffic: Traffic, calls: Calls) -> None:
        self._traffic, self._calls = traffic, calls
        self._knocked: object = None
        """Which server was asked whether it is still there."""

    def limit(self, request: RelayedRequest) -> None:
        seconds = self.timeout_of(request)
        if seconds is None:
            return
        request.deadline = self._traffic.clock.monotonic() + seconds
        self._traffic.timers.at(request.deadline, lambda: self._late(request))

    def limit_wait(self, request: RelayedRequest) -> None:
        """A call waits for a server to be started again: not longer than it may take. A first start takes its time."""
        seconds = self.timeout_of(request) if self._traffic.life is not None else None
        if seconds is not None:
            self._traffic.after(seconds, lambda: self._waited(request, seconds))

    def _waited(self, request: RelayedRequest, seconds: float, *, is_last: bool = False) -> None:
        """A call may have waited too long for a server to be there; one that is starting by now gets as long again."""
        if request not in self._traffic.held or request.cancelled:
            return
        if self._traffic.state == "starting" and not is_last:
            self._traffic.after(seconds, lambda: self._waited(request, seconds, is_last=True))
            return
        self._traffic.held.remove(request)
        # One that cannot be looked at has no name so far.
        request.tool = request.tool or str(request.params["name"])
        request.run = request.run or self._calls.begin(request)
        error = failures.not_there(request.tool, seconds=seconds)
        starts_in = (self._traffic.starts_at or 0.0) - self._traffic.clock.monotonic()
        if starts_in > 0:
            error = error.replace(retry_after=float(ceil(starts_in)))
        self._calls.end(request, request.run.refused(error) if request.last is None else request.last, None)

    def timeout_of(self, request: RelayedRequest) -> float | None:
        """How many seconds a call may take without a word; None for no limit."""
        rules = self._traffic.options.rules
        return (
            self._traffic.options.timeout
            if rules is None
            else rules.timeout(request.tool or request.params["name"], self._traffic.options.timeout)
        )

    def _late(self, request: RelayedRequest) -> None:
        """A call may have taken too long."""
        if self._traffic.pending.get(request.key) is not request or request.deadline is None or request.cancelled:
            return
        if (now := self._traffic.clock.monotonic()) < request.deadline:
            self._traffic.timers.at(request.deadline, lambda: self._late(request))
            return
        if any(question.at >= request.began for question in self._traffic.asked.values()):
            # The server waits for the user, and has said so.
            self.limit(request)
            return
        del self._traffic.pending[request.key]
        cancelled = {"requestId": read_frame(request.key), "reason": "It took too long."}
        self._traffic.out.append(ToServer(notification("notifications/cancelled", cancelled)))
        seconds = self.timeout_of(request) or now
        self._calls.settle(request, failures.timed_out(request.tool, seconds=seconds), None)
        self._knock(request.began, seconds)

    def settled(self, question: Question) -> None:
        """The server has what it asked for: the time of the calls that it asked in begins anew."""
        for request in self._traffic.pending.values():
            if request.deadline is not None and question.at >= request.began:
                request.deadline = self._traffic.clock.monotonic() + (self.timeout_of(request) or 0.0)

    def _knock(self, began: float, seconds: float) -> None:
        """Ask a server that let a call wait whether it is still there; one that is frozen is started anew."""
        traffic = self._traffic
        life = traffic.life
        if traffic.state != "up" or self._knocked is life:
            return
        self._knocked = life
        method = "tools/list" if traffic.session.is_modern else "ping"
        asked = traffic.ask(method, None, lambda message: self._is_there())

        def look() -> None:
            if traffic.life is not life or asked not in traffic.own:
                return
            del traffic.own[asked]
            self._knocked = None
            # A call that is older, and may take its time, may be what it is busy with.
            if not any(each.began < began for each in traffic.pending.values() if each.run is not None):
                traffic.out.append(StopServer("no answer to anything, so the relay ended it"))

        traffic.after(seconds, look)

    def _is_there(self) -> None:
        self._knocked = None

    def progress(self, message: Message) -> None:
        token = params_of(message).get("progressToken")
        for request in self._traffic.pending.values():
            if request.deadline is not None and request.meta.get("progressToken") == token:
                request.deadline = self._traffic.clock.monotonic() + (self.timeout_of(request) or 0.0)
