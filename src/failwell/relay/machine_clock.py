"""The time of this machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """A clock that is only looked at."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)
