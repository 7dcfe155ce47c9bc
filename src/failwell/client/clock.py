"""What time it is, and waiting: behind a protocol, so that tests do not have to wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final, Protocol


class Clock(Protocol):
    """A clock. `failwell.testing.FakeClock` is one that moves when it is told to."""

    def monotonic(self) -> float:
        """Seconds since some moment; it never goes back."""

    def now(self) -> datetime:
        """The time of day, with its zone."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""


class _System:
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float, /) -> None:
        import anyio

        await anyio.sleep(seconds)


SYSTEM: Final[Clock] = _System()
