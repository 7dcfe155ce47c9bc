"""Rules that a tool can stand under: who may call it, how often, and how many at a time.

A rule is a decorator, below the framework's own, and holds by itself, whether or not anything is installed. One rule
on several tools is one budget for all of them.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from types import CodeType
from typing import Any, ClassVar, Final, TypeVar, cast

from failwell.formats import is_number, whole
from failwell.model import Action, ToolError, frames, text

from .functions import alike, is_of_kind, naming_of
from .served_call import current

F = TypeVar("F", bound=Callable[..., Any])


class Rule:
    """Something that a call has to pass. A rule that does not wait has only `admit`.

    >>> class Weekdays(Rule):
    ...     def admit(self, arguments: Mapping[str, Any]) -> None:
    ...         if arguments["day"] in ("Saturday", "Sunday"):
    ...             raise ToolError("The shop is closed at weekends.", code="UNAVAILABLE")
    >>> @Weekdays()
    ... def order(item: str, day: str) -> str:
    ...     return f"{item} ordered"
    >>> order("tea", day="Monday")
    'tea ordered'
    """

    codes: ClassVar[tuple[str, ...]] = ()
    """What it refuses with, for the manifest."""

    def admit(self, arguments: Mapping[str, Any]) -> None:
        """Let the call pass, or raise the ToolError that says why not."""
        raise NotImplementedError(f"{type(self).__name__} has no admit().")

    @asynccontextmanager
    async def held(self, arguments: Mapping[str, Any]) -> AsyncIterator[None]:
        """The rule around one call; the body runs once the call may."""
        self.admit(arguments)
        yield

    @contextmanager
    def held_sync(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        """The same where nothing can be awaited."""
        self.admit(arguments)
        yield

    def __call__(self, function: F) -> F:
        """Put the function under the rule. Its name, signature and annotations stay what they were."""
        if not callable(function):
            raise TypeError(
                f"A rule stands on a function, below the framework's own decorator, not on {type(function).__name__}."
            )
        naming = naming_of(function)

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            async with self.held(naming(args, kwargs)):
                return await function(*args, **kwargs)

        def called(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as holding:
                holding.enter_context(self.held_sync(naming(args, kwargs)))
                result = function(*args, **kwargs)
                # Another decorator may hide that the function is async; its work has not begun yet.
                return _finished(result, holding.pop_all()) if inspect.isawaitable(result) else result

        ruled = alike(awaited if is_of_kind(inspect.iscoroutinefunction, function) else called, function)
        ruled.__failwell_rules__ = (self, *rules_of(function))  # type: ignore[attr-defined]
        return cast(F, ruled)


def rules_of(function: object) -> tuple[Rule, ...]:
    """The rules a function stands under, the outermost first."""
    found: tuple[Rule, ...] = getattr(function, "__failwell_rules__", ())
    return found


def is_refused_inside(exc: BaseException, code: CodeType | None) -> bool:
    """Whether a rule refused what a tool with this code had called: by then the tool itself had begun. Where the tool
    asks the rule itself, by `admit`, that is its author's own refusal."""
    steps: list[str] | None = None
    for trace in frames(exc):
        frame = trace.tb_frame
        if frame.f_code is code:
            steps = []
        elif steps is not None and frame.f_globals.get("__name__") == __name__:
            steps.append(frame.f_code.co_name)
    return steps is not None and not _AROUND.isdisjoint(steps) and steps[-1] not in _AROUND


# What is on the way both when a rule refuses and when the function behind it fails.
_AROUND: Final = frozenset({"awaited", "called", "_finished"})


async def _finished(result: Awaitable[Any], holding: ExitStack) -> Any:
    with holding:
        return await result


# How much the last call counts for how long the next will take.
_WEIGHT: Final = 0.2
_MOST_KEYS: Final = 10_000
# `whole` rounds to microseconds, so whoever waits that long may come a little early.
_EARLY: Final = 1e-6


class limit(Rule):
    """At most `concurrency` calls at a time. Up to `queue` more wait in line; a function that is not async waits in its
    thread.

    All others get `SERVER_BUSY`, with a `retry_after` from how long the calls take. A tool that calls another one under
    the same limit takes a second place.
    """

    codes = ("SERVER_BUSY",)

    def __init__(self, concurrency: int = 4, queue: int = 0, *, clock: Callable[[], float] = time.monotonic) -> None:
        _check_count("concurrency", concurrency, 1)
        _check_count("queue", queue, 0)
        self.concurrency = concurrency
        self.queue = queue
        self._clock = clock
        # Places are handed on under one lock, so that tasks of any event loop and threads wait in one line. Reentrant:
        # the collector of garbage may end a forgotten call while this thread holds it.
        self._lock = threading.RLock()
        self._running: dict[Future[None], float] = {}
        self._waiting: OrderedDict[Future[None], None] = OrderedDict()
        self._usual = 0.0

    @asynccontextmanager
    async def held(self, arguments: Mapping[str, Any]) -> AsyncIterator[None]:
        place = self._ask(self.queue)
        try:
            if not place.done():
                await asyncio.wrap_future(place)
            yield
        finally:
            self._leave(place)

    @contextmanager
    def held_sync(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        queue = self.queue
        with suppress(RuntimeError):
            # Waiting on the thread of an event loop would stop the calls that are waited for.
            asyncio.get_running_loop()
            queue = 0
        place = self._ask(queue)
        try:
            place.result()
            yield
        finally:
            self._leave(place)

    def _ask(self, queue: int) -> Future[None]:
        place: Future[None] = Future()
        with self._lock:
            running, waiting = len(self._running), len(self._waiting)
            if running >= self.concurrency and waiting >= queue:
                # What runs now has taken this long already, whatever was usual before.
                least = self._clock() - max(self._running.values(), default=self._clock())
                raise ToolError(
                    f"All places are taken: running {running}, waiting {waiting}.",
                    code="SERVER_BUSY",
                    retry_after=whole(max(self._usual, least) * (waiting + 1) / self.concurrency),
                    details={"concurrency": self.concurrency, "queue": self.queue},
                )
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


class rate(Rule):
    """At most `calls` in any `seconds`; `key` gives each device its own budget.

    A sliding window: a bucket would let nearly twice as many through as it says. All others get `RATE_LIMITED`, with
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

    codes = ("RATE_LIMITED",)

    def __init__(
        self,
        calls: int,
        seconds: float = 60,
        *,
        key: Callable[[Mapping[str, Any]], Hashable] | None = None,
        message: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        _check_count("calls", calls, 1)
        if not is_number(seconds):
            raise ValueError(f"seconds is a number of seconds above zero, not {seconds!r}.")
        if key is not None and not callable(key):
            raise TypeError(f"key is a function, not {type(key).__name__}.")
        self.calls = calls
        self.seconds = seconds
        self._key = key
        self._message = message
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def admit(self, arguments: Mapping[str, Any]) -> None:
        key = None if self._key is None else self._key(arguments)
        with self._lock:
            now = self._clock()
            calls = self._calls.get(key) or deque(maxlen=self.calls)
            wait = self.seconds - (now - calls[0]) if len(calls) == self.calls else 0.0
            if wait > _EARLY:
                raise self._too_many(arguments, wait)
            calls.append(now)
            self._calls[key] = calls
            self._calls.move_to_end(key)
            # Keys whose calls do not count any more are forgotten; of too many, the oldest.
            while len(self._calls) > _MOST_KEYS or next(iter(self._calls.values()))[-1] < now - self.seconds:
                self._calls.popitem(last=False)

    def _too_many(self, arguments: Mapping[str, Any], wait: float) -> ToolError:
        span = f"{self.seconds:g} second{'' if self.seconds == 1 else 's'}"
        message, named = f"Too many calls: at most {self.calls} in {span}.", dict[str, Any]()
        if (own := self._message) is not None:
            named = {name: arguments[name] for name in arguments if f"{{{name}}}" in own}
            message = re.sub(r"\{(\w+)\}", lambda match: text(arguments.get(match[1], "(unknown)")), own)
        count = f"{self.calls} call{'' if self.calls == 1 else 's'} in {span}"
        # This call would be one more.
        details = {**named, "limit": count, "current_count": self.calls + 1}
        return ToolError(message, code="RATE_LIMITED", retry_after=whole(wait), details=details)


class deprecated(Rule):
    """A rule that refuses nothing: the answer carries the remark that the tool will go away, and what to call instead.

    Outside of a server with `install` nobody reads it, and nothing happens.
    """

    def __init__(
        self, message: str, *, actions: Iterable[Action | Mapping[str, Any] | str] = (), since: str | None = None
    ) -> None:
        details = None if since is None else {"since": since}
        self.remark = ToolError(message, code="DEPRECATED", severity="warning", actions=list(actions), details=details)

    def admit(self, arguments: Mapping[str, Any]) -> None:
        if (call := current.get()) is not None:
            call.remarks += (self.remark.replace(),)


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}.")
