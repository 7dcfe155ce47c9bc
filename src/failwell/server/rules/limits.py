"""How many calls may run at a time, and how many in a while."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from failwell.formats import is_number, whole
from failwell.model import ToolError, fill

from .tool_rule import Rule

# How much the last call counts for how long the next will take.
_WEIGHT: Final = 0.2
_MOST_KEYS: Final = 10_000
# `whole` rounds to microseconds, so whoever waits that long may come a little early.
_EARLY: Final = 1e-6


class _Limit(Rule):
    """Places are handed on under one lock, so that tasks of any event loop and threads wait in one line."""

    codes = ("SERVER_BUSY",)

    def __init__(self, concurrency: int, queue: int, timeout: float | None, clock: Callable[[], float]) -> None:
        self.concurrency = concurrency
        self.queue = queue
        self.timeout = timeout
        self._clock = clock
        # Reentrant: the collector of garbage may end a forgotten call while this thread holds the lock.
        self._lock = threading.RLock()
        self._running: dict[Future[None], float] = {}
        self._waiting: OrderedDict[Future[None], None] = OrderedDict()
        self._usual = 0.0

    @asynccontextmanager
    async def held(self, arguments: Mapping[str, Any]) -> AsyncIterator[None]:
        place = self._ask(self.queue)
        try:
            if not place.done():
                try:
                    async with asyncio.timeout(self.timeout):
                        await asyncio.wrap_future(place)
                except TimeoutError:
                    raise self._busy(waited=True) from None
            yield
        finally:
            self._leave(place)

    @contextmanager
    def held_sync(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        # Waiting on the thread of an event loop would stop the calls that are waited for.
        place = self._ask(0 if _on_event_loop() else self.queue)
        try:
            try:
                place.result(self.timeout)
            except TimeoutError:
                raise self._busy(waited=True) from None
            yield
        finally:
            self._leave(place)

    def _ask(self, queue: int) -> Future[None]:
        place: Future[None] = Future()
        with self._lock:
            if len(self._running) >= self.concurrency and len(self._waiting) >= queue:
                raise self._busy()
            self._waiting[place] = None
            self._admit_next()
        return place

    def _admit_next(self) -> None:
        while self._waiting and len(self._running) < self.concurrency:
            place, _ = self._waiting.popitem(last=False)
            if place.set_running_or_notify_cancel():
                self._running[place] = self._clock()
                place.set_result(None)

    def _leave(self, place: Future[None]) -> None:
        with self._lock:
            if place.cancel():
                self._waiting.pop(place, None)
                return
            took = self._clock() - self._running.pop(place)
            self._usual += (took - self._usual) * (_WEIGHT if self._usual else 1)
            self._admit_next()

    def _busy(self, waited: bool = False) -> ToolError:
        with self._lock:
            running, ahead = len(self._running), len(self._waiting) - waited
            # What runs now has taken this long already, whatever was usual before.
            least = self._clock() - max(self._running.values(), default=self._clock())
            wait = max(self._usual, least) * (ahead + 1) / self.concurrency
        return ToolError(
            f"No place became free within {_seconds(self.timeout or 0)}."
            if waited
            else f"All places are taken: running {running}, waiting {ahead}.",
            code="SERVER_BUSY",
            retry_after=whole(wait),
            details={"concurrency": self.concurrency, "queue": self.queue},
        )


def limit(
    concurrency: int = 4,
    queue: int = 0,
    timeout: float | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Rule:
    """At most `concurrency` calls at a time. Up to `queue` more wait in line, each for `timeout` seconds at most.

    All others get `SERVER_BUSY`, with a `retry_after` from how long the calls take. A function that is not async waits
    in its thread. A tool that calls another one under the same limit takes a second place.
    """
    _check_count("concurrency", concurrency, 1)
    _check_count("queue", queue, 0)
    _check_callable("clock", clock)
    if timeout is not None:
        _check_seconds("timeout", timeout)
        if not queue:
            raise ValueError("timeout is for calls that wait, and without a queue none does; give a queue as well.")
    return _Limit(concurrency, queue, timeout, clock)


class _Rate(Rule):
    codes = ("RATE_LIMITED",)

    def __init__(
        self,
        windows: tuple[tuple[int, float], ...],
        key: Callable[[Mapping[str, Any]], Hashable] | None,
        message: str | None,
        clock: Callable[[], float],
    ) -> None:
        self.windows = windows
        self._key = key
        self._message = message
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def admit(self, arguments: Mapping[str, Any]) -> None:
        key = None if self._key is None else self._key(arguments)
        most, longest = self.windows[0]
        with self._lock:
            now = self._clock()
            calls = self._calls.get(key) or deque(maxlen=most)
            waits = ((span - (now - calls[-count]), count, span) for count, span in self.windows if len(calls) >= count)
            wait, count, span = max(waits, default=(0.0, 0, 0.0))
            if wait > _EARLY:
                raise self._too_many(arguments, count, span, wait)
            calls.append(now)
            self._calls[key] = calls
            self._calls.move_to_end(key)
            self._forget(now - longest)

    def _too_many(self, arguments: Mapping[str, Any], count: int, span: float, wait: float) -> ToolError:
        message = self._message
        named = {} if message is None else {name: arguments[name] for name in arguments if f"{{{name}}}" in message}
        calls = "call" if count == 1 else "calls"
        return ToolError(
            f"Too many calls: at most {count} in {_seconds(span)}." if message is None else fill(message, arguments),
            code="RATE_LIMITED",
            retry_after=whole(wait),
            # This call would be one more.
            details={**named, "limit": f"{count} {calls} in {_seconds(span)}", "current_count": count + 1},
        )

    def _forget(self, before: float) -> None:
        """Drop the keys whose calls do not count any more; too many keys, and the oldest go."""
        while len(self._calls) > _MOST_KEYS or next(iter(self._calls.values()))[-1] < before:
            self._calls.popitem(last=False)


def rate(
    calls: int,
    seconds: float = 60,
    burst: int | None = None,
    *,
    key: Callable[[Mapping[str, Any]], Hashable] | None = None,
    message: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Rule:
    """At most `calls` in any `seconds`, and at most `burst` of them at once; `key` gives each device its own budget.

    A sliding window: a bucket would let nearly twice as many through as it says. A burst is a shorter window of the
    same rate: 60 in 60 seconds with a burst of 5 are at most 5 in any 5 seconds. All others get `RATE_LIMITED`, with
    the `retry_after` at which the call is let through; being refused costs nothing. A `message` of your own may name
    arguments, `"Too many requests to {device}"`; those it names are among the details.

    >>> @rate(1, seconds=30, key=lambda arguments: arguments["device"])
    ... def ping(device: str) -> str:
    ...     return device
    >>> ping("a"), ping("b")
    ('a', 'b')
    >>> ping("a")
    Traceback (most recent call last):
    ...
    failwell.model.tool_error.Transient: [TRANSIENT] Too many calls: at most 1 in 30 seconds.
    """
    _check_count("calls", calls, 1)
    _check_seconds("seconds", seconds)
    _check_callable("clock", clock)
    if key is not None:
        _check_callable("key", key)
    windows: tuple[tuple[int, float], ...] = ((calls, seconds),)
    if burst is not None:
        _check_count("burst", burst, 1)
        if burst > calls:
            raise ValueError(f"burst is a part of the {calls} calls, so it cannot be {burst}.")
        windows += ((burst, seconds * burst / calls),)
    return _Rate(windows, key, message, clock)


def _seconds(number: float) -> str:
    return f"{number:g} second{'' if number == 1 else 's'}"


def _on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}.")


def _check_seconds(name: str, value: object) -> None:
    if not is_number(value):
        raise ValueError(f"{name} is a number of seconds above zero, not {value!r}.")


def _check_callable(name: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"{name} is a function, not {type(value).__name__}.")
