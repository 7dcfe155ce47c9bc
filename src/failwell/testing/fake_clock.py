"""A clock for tests: time passes when the test says so, and a wait costs nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from anyio import Event

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A clock that stands still until somebody sleeps on it, or moves it on.

    >>> clock = FakeClock()
    >>> clock.advance(90)
    >>> clock.monotonic(), clock.now().isoformat()
    (90.0, '2026-01-01T00:01:30+00:00')

    With `auto=False` a sleep lasts until `advance` has moved the time far enough. It works under asyncio and trio, and
    belongs to one event loop, as its sleepers do.
    """

    def __init__(self, start: datetime = _START, *, auto: bool = True) -> None:
        if start.tzinfo is None:
            raise ValueError("The start of a clock must say its time zone.")
        self._start = start.astimezone(UTC)
        self._auto = auto
        self._passed = 0.0
        self._asleep: list[tuple[float, Event]] = []
        self._watchers: list[Event] = []
        self.slept: list[float] = []
        """Every wait that was asked for, in seconds, in order."""

    def monotonic(self) -> float:
        """The seconds that have passed since the clock was made."""
        return self._passed

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return self._start + timedelta(seconds=self._passed)

    async def sleep(self, seconds: float) -> None:
        """Wait: at once, moving the time on; or, with `auto=False`, until the time has come."""
        from anyio import Event
        from anyio.lowlevel import checkpoint

        self.slept.append(seconds)
        if self._auto:
            self.advance(max(seconds, 0.0))
        elif seconds > 0:
            sleeper = (self._passed + seconds, Event())
            self._asleep.append(sleeper)
            for watcher in self._watchers:
                watcher.set()
            try:
                await sleeper[1].wait()
            finally:
                # Woken, or cancelled while asleep.
                if sleeper in self._asleep:
                    self._asleep.remove(sleeper)
            return
        # Others get their turn, and a cancellation its moment, as in any sleep.
        await checkpoint()

    def advance(self, seconds: float) -> None:
        """Move the time on, and wake whoever has slept long enough, the earliest first."""
        if not seconds >= 0:
            raise ValueError("Time does not go back.")
        self._passed += seconds
        due = sorted((sleeper for sleeper in self._asleep if sleeper[0] <= self._passed), key=lambda each: each[0])
        for sleeper in due:
            self._asleep.remove(sleeper)
            sleeper[1].set()

    @property
    def sleeping(self) -> int:
        """How many sleep right now."""
        return len(self._asleep)

    async def until_sleeping(self, count: int = 1) -> None:
        """Wait, in real time, until this many sleep: the moment to call `advance`."""
        from anyio import Event

        while len(self._asleep) < count:
            watcher = Event()
            self._watchers.append(watcher)
            try:
                await watcher.wait()
            finally:
                self._watchers.remove(watcher)
