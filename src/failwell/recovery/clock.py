"""What time it is: from outside, so that nothing here has to wait."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Watch(Protocol):
    """A clock that is only looked at. Whoever drives the engine waits by means of their own."""

    def monotonic(self) -> float:
        """Seconds since some moment; it never goes back."""

    def now(self) -> datetime:
        """The time of day, with its zone."""
