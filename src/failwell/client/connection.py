"""A connection that is owned: opened when it is needed, in a task of its own, and opened again when it is lost.

A client of the SDK belongs to the task that entered it: when its server dies, that task is cancelled, whatever it was
doing. Here that is a task which does nothing else, so a dead server is an error of the calls that were under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import TracebackType
from typing import Any, Final

import anyio

from failwell.model import Kind, ToolError
from failwell.readers import read
from failwell.recovery import NEVER_SENT

from .drivers import Driver, keep_answers, send_calls_once
from .http_trace import CallTrace, active_trace

# How long the SDK may take to notice by itself that a call's time is up.
_GRACE: Final = 5.0


class _CallUnderWay:
    """A call under way, which is cut off when its time is up or its connection breaks: that is raised, and no
    cancellation."""

    def __init__(self, live: Live, limit: float, time_up: float = inf) -> None:
        self._live, self._limit, self._time_up = live, limit, time_up
        self._cut_by: Exception | None = None
        self._timer = asyncio.timeout_at(None)

    async def __aenter__(self) -> Any:
        await self._timer.__aenter__()
        self._live.calls.add(self)
        self.set_timer()
        if (trace := active_trace.get()) is not None:
            trace.cut = self.cut
        return self._live.client

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.end_call(self)
        try:
            await self._timer.__aexit__(kind, exc, traceback)
        except TimeoutError:
            raise self._cut_by or (TimeoutError() if self._time_up == inf else OutOfTime()) from None

    def set_timer(self) -> None:
        """The time that a call may take stands still while the user is asked something."""
        if not self._timer.expired():
            left = inf if self._live.is_asking else self._time_up - self._live.waited
            self._timer.reschedule(min(self._limit, self._live.now() + left))

    def cut(self, why: Exception) -> None:
        if self._cut_by is None and not self._timer.expired():
            self._cut_by = why
            self._timer.reschedule(self._live.now())


class Live:
    """One connection, from its opening to its end."""

    def __init__(self, patience: float) -> None:
        self.client: Any = None
        self.ready = anyio.Event()
        self.failure: Exception | None = None
        self.ended = False
        """Nothing can be sent over it any more."""
        self.is_open = False
        self.silent = False
        """A call over it was not answered in time, or the server's own stream cannot be opened again. Nobody may be
        there, or nobody who knows the session."""
        self.trace = CallTrace()
        self.is_listed = False
        """Whether the tools were asked for over it, and have not changed since."""
        self.listing = asyncio.Lock()
        self.calls: set[_CallUnderWay] = set()
        self.now = asyncio.get_running_loop().time
        self._waiting = 0
        self._retired = False
        # An opening lasts no longer than whoever began it would wait, or those who join would keep it up for ever.
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + patience)
        self._stop = anyio.Event()
        self._questions = 0
        self._asked_at = self._asked_for = 0.0

    @property
    def is_asking(self) -> bool:
        """Whether a callback of the user is at work, which the server may be waiting for."""
        return self._questions > 0

    @property
    def waited(self) -> float:
        """The time of this connection, without the time in which the user was asked."""
        return (self._asked_at if self._questions else self.now()) - self._asked_for

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around a callback. Meanwhile no call runs out of time: it is not the server that is slow."""
        # What the callback sends is no part of the call.
        token = active_trace.set(None)
        if not self._questions:
            self._asked_at = self.now()
        self._questions += 1
        self._set_timers()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._asked_for += self.now() - self._asked_at
                self._set_timers()
            active_trace.reset(token)

    def _set_timers(self) -> None:
        for call in self.calls:
            call.set_timer()

    def forget_tools(self) -> None:
        """The server lists others now, or says something else of them."""
        self.is_listed = False

    def hang_up(self) -> None:
        """The server has gone. What is under way gets its own error from the SDK."""
        self.ended = True

    async def hold(self, driver: Driver) -> None:
        """Open it, and keep it open until somebody closes it or it breaks."""
        try:
            with self._scope:
                active_trace.set(self.trace)
                self.trace.cut, self.trace.missed = self._refuse, self._miss
                self.client = driver.fresh(self.hang_up, self.asking, self.forget_tools)
                async with self.client:
                    keep_answers(self.client)
                    send_calls_once(self.client)
                    self._scope.deadline = inf
                    self.is_open = True
                    self.ready.set()
                    # From here on nothing that this task sends belongs to a call.
                    active_trace.set(None)
                    self.trace.cut = None
                    await self._stop.wait()
        except Exception as failure:
            self.failure = self.failure or failure
        finally:
            self.ended = True
            self.ready.set()
            self.cut_off()

    async def wait_ready(self, timeout: float) -> None:
        """Wait until it is open, or cannot be. When nobody waits any more, it is given up."""
        self._waiting += 1
        try:
            with anyio.fail_after(timeout):
                await self.ready.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and not self.ready.is_set():
                self.abandon()

    def calling(self, timeout: float, patience: float | None = None) -> _CallUnderWay:
        """Around a call, for its client.

        The SDK sees to the timeout, unless there is a patience: the longest that the call may take together with
        whatever the user is asked meanwhile, which does not count as time of the call.
        """
        if patience is None:
            return _CallUnderWay(self, self.now() + timeout + _GRACE)
        return _CallUnderWay(self, self.now() + patience, self.waited + timeout)

    def retire(self) -> None:
        """Take no more calls, and close when the last one that is under way has ended."""
        if not self.ready.is_set():
            self.abandon()
        self.ended = self._retired = True
        if not self.calls:
            self._stop.set()

    def end_call(self, call: _CallUnderWay) -> None:
        self.calls.discard(call)
        if self._retired and not self.calls:
            self._stop.set()

    def cut_off(self) -> None:
        """End all calls that are under way."""
        for call in self.calls:
            call.cut(BrokenConnection(self))

    def _miss(self) -> None:
        self.silent = True

    def _refuse(self, why: Exception) -> None:
        """It cannot be opened, though its transport does not know."""
        self.failure = why
        self.abandon()

    def abandon(self) -> None:
        self.ended = True
        self._scope.cancel()


class Connection:
    """The way to one server."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        # Tasks of the loop and of no group: who opens a group must also close it, and what a fixture or an agent
        # framework opens in one task it often closes in another.
        self._held: dict[asyncio.Task[None], Live] = {}
        self.live: Live | None = None
        """The present connection, or the one that is being opened."""
        self.opened = 0

    @property
    def usable(self) -> Live | None:
        """The connection, if it is open."""
        live = self.live
        if live is None or live.ended or not live.is_open or not self._driver.is_alive(live.client):
            return None
        return live

    async def open(self, timeout: float) -> Live:
        """The connection, opened if there is none. Raises what kept it from opening.

        Whoever comes while it is being opened waits for the same one: a server that is slow gets one connection, and
        nobody waits for the patience of others.
        """
        live = self.live
        if live is None or live.ended or (live.ready.is_set() and not self._driver.is_alive(live.client)):
            self.drop()
            live = self.live = Live(timeout)
            self.opened += 1
            task = asyncio.create_task(live.hold(self._driver))
            self._held[task] = live
            task.add_done_callback(self._held.pop)
        if not live.ready.is_set():
            await live.wait_ready(timeout)
        if live.ended:
            raise NotConnected(live)
        return live

    def drop(self) -> None:
        """Give the connection up; the next call opens another one."""
        if self.live is not None:
            self.live.retire()

    async def close(self, patience: float = 5.0, *, at_once: bool = False) -> None:
        """Close it, in good order if that can be had soon; what is under way is waited for, or ends at once."""
        self.drop()
        if at_once:
            for live in self._held.values():
                live.cut_off()
        try:
            if self._held:
                await asyncio.wait(self._held, timeout=patience)
        finally:
            for task in self._held:
                task.cancel()
            await _all_ended(set(self._held))


async def _all_ended(tasks: set[asyncio.Task[None]]) -> None:
    """Wait until all have ended, though whoever waits may be cancelled: a process must not outlive its owner."""
    cancelled = None
    with anyio.CancelScope(shield=True):
        while left := {task for task in tasks if not task.done()}:
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as exc:
                cancelled = exc
    if cancelled is not None:
        raise cancelled


class OutOfTime(TimeoutError):
    """A call's time is up. Nothing says that its connection is of no more use."""


class BrokenConnection(ConnectionError):
    """A connection broke while calls were under way. Any of them may have been done."""

    def __init__(self, live: Live) -> None:
        super().__init__("The connection to the server broke off.")
        self.__cause__ = live.failure


class NotConnected(ConnectionError):
    """A connection could not be opened."""

    def __init__(self, live: Live) -> None:
        super().__init__("The server cannot be reached.")
        self.__cause__ = live.trace.failure or live.failure
        self._http = live.trace.http

    def error(self) -> ToolError:
        """Why there is no connection. Whatever it was, the call was never sent."""
        cause = self.__cause__
        if cause is None:
            return ToolError("The connection to the server was closed.", code="NETWORK_ERROR", **NEVER_SENT)
        if isinstance(cause, OSError) and not isinstance(cause, (ConnectionError, TimeoutError)):
            return ToolError("The server could not be started.", code="NOT_CONFIGURED", cause=cause, **NEVER_SENT)
        outcome = read(cause, http=self._http, transport=True)
        if not isinstance(outcome, ToolError):
            return ToolError("The server cannot be reached.", code="UNAVAILABLE", **NEVER_SENT)
        if outcome.kind in (Kind.VALIDATION, Kind.INTERNAL, Kind.NOT_FOUND, Kind.CONFLICT):
            # Nothing is wrong with the arguments of a call that was never made.
            return ToolError(f"The server cannot be reached. {outcome.message}", code="NOT_CONFIGURED", **NEVER_SENT)
        return outcome.replace(**NEVER_SENT)
