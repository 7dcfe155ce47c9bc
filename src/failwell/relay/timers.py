"""What is due when."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Due = Callable[[], None]


class Timers:
    """Things to do later, the next one first. None is ever taken back: what is no longer wanted does nothing."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Due]] = []
        self._count = count()

    @property
    def next(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def at(self, when: float, due: Due) -> None:
        heapq.heappush(self._heap, (when, next(self._count), due))

    def due(self, now: float) -> list[Due]:
        found = []
        while self._heap and self._heap[0][0] <= now:
            found.append(heapq.heappop(self._heap)[2])
        return found
