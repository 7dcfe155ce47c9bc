"""What time it is, and waiting: behind a protocol, so that tests do not have to wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final, Protocol

from failwell.recovery import Watch


class Clock(Watch, Protocol):
    """A clock, on which one can also wait. `failwell.testing.FakeClock` is one that moves when it is told to."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""


class _SystemClock:
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float, /) -> None:
        import anyio

        await anyio.sleep(seconds)


SYSTEM: Final[Clock] = _SystemClock()


def usable_clock(clock: Clock) -> Clock:
    """The clock, which raises here where it is none, and not in the midst of a call."""
    if not all(callable(getattr(clock, name, None)) for name in ("monotonic", "now", "sleep")):
        raise TypeError(f"clock needs monotonic(), now() and sleep(), as in failwell.testing.FakeClock; not {clock!r}.")
    return clock
