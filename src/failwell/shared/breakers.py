"""Breakers that several machines share: what one has found not to work, the others leave alone too.

Nobody waits for the store: what changes is told to it, and what others told is looked up, in a thread, once a second.
"""

from __future__ import annotations

import threading
import time
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, NamedTuple

from failwell.recovery import Breakers

LOOK: Final = 1.0


class Shut(NamedTuple):
    """A tool that is left alone: how often it failed in a row, and for how many seconds more."""

    failures: int
    seconds: float


class BreakerStore(ABC):
    """Which tools of one server are left alone, for all to see."""

    @abstractmethod
    def shut(self, tool: str, failures: int, seconds: float) -> None: ...

    @abstractmethod
    def open(self, tool: str) -> None: ...

    @abstractmethod
    def look(self) -> dict[str, Shut]: ...

    @abstractmethod
    def close(self) -> None: ...


class SharedBreakers:
    """Tells a store what changes in the breakers here, and the breakers what changes there."""

    def __init__(self, store: BreakerStore, breakers: Breakers, pause: float = LOOK) -> None:
        self._store, self._breakers = store, breakers
        self._said: SimpleQueue[tuple[str, int, float | None]] = SimpleQueue()
        self._known: dict[str, float] = {}
        """What is known to be left alone by the store, and until when."""
        self._ended = threading.Event()
        breakers.changed = lambda *change: self._said.put(change)
        given = weakref.ref(self), self._ended, pause
        threading.Thread(target=_keep, args=given, name="failwell-breakers", daemon=True).start()

    def turn(self) -> None:
        """Tell the store what is new here, and hear what is new there."""
        while not self._said.empty():
            change = self._said.get()
            try:
                self._tell(*change)
            except Exception:
                # Later, unless something newer has happened to the tool by then.
                self._said.put(change)
                raise
        now = time.monotonic()
        found = self._store.look()
        for tool, shut in found.items():
            self._breakers.heard(tool, shut.failures, shut.seconds, now)
        for tool, until in self._known.items():
            if tool not in found and until > now + LOOK:
                # Somebody has tried it before its time, and it works.
                self._breakers.heard(tool, 0, None, now)
        self._known = {tool: now + shut.seconds for tool, shut in found.items()}

    def _tell(self, tool: str, failures: int, seconds: float | None) -> None:
        if seconds is None:
            self._store.open(tool)
            self._known.pop(tool, None)
        else:
            self._store.shut(tool, failures, seconds)

    def close(self) -> None:
        self._ended.set()
        self._breakers.changed = None
        self._store.close()


def _keep(shared: weakref.ref[SharedBreakers], ended: threading.Event, pause: float) -> None:
    while not ended.wait(pause):
        here = shared()
        if here is None:
            return
        # While the store is away, each goes on alone.
        with suppress(Exception):
            here.turn()
        del here
