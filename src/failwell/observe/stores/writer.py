"""The hook that keeps events: it takes them at once, and a thread of its own writes them, many at a time.

No call waits for it. Where the store is broken or too slow, events are dropped and counted, and nobody else notices.
"""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Final, Protocol
from weakref import WeakSet

from failwell.observe.events import CallEvent

from .event_rows import HOUR, EventRow, EventRows
from .journal import Journal, Transaction
from .store_url import Address, BadStore, Unreachable
from .tables import ROLLUPS

log = logging.getLogger("failwell.observe")

DAY: Final = 24 * HOUR
_GATHER: Final = 0.05
_BATCH: Final = 2_000
_PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_RETIRE_EVERY: Final = 600.0
_ROLLUPS_KEPT: Final = 400
_JUMP: Final = 3_600.0


class Database(Transaction, Protocol):
    """What a store is written to and read from."""

    address: Address

    def transaction(self) -> Any: ...

    def retire(self, before: int) -> bool: ...

    def close(self) -> None: ...


class Store:
    """Keeps events: a hook to be given to `install`, `Recovering` or a relay, or called by your own code.

    most: how many events may wait to be written; what comes beyond that is dropped. days: how long attempts are kept;
    the sums stay. messages: whether what failures say is kept, without secrets; otherwise no text of anybody's is.
    """

    def __init__(
        self,
        open_database: Callable[[], Database],
        *,
        most: int = 20_000,
        days: float = 30.0,
        messages: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._open, self._most, self._days, self._now = open_database, most, days, now
        self._queue: deque[CallEvent] = deque()
        self._lock, self._work, self._stop = Lock(), Event(), Event()
        self._idle = Event()
        self._idle.set()
        self._thread: Thread | None = None
        self._pid = 0
        self._began = now(), time.monotonic()
        self._dropped: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._is_closed = False
        self.written = 0
        """How many attempts were written."""
        self.key = self._key()
        """Under which calls are hashed, so that everybody who writes to this store knows a call again."""
        self._rows = EventRows(self.key, lambda: int(now() * 1000), messages=messages)
        _open_stores.add(self)

    def _key(self) -> bytes:
        try:
            database = self._open()
        except Unreachable as problem:
            log.warning("Events cannot be written yet: %s", problem)
            return os.urandom(16)
        try:
            ((key,),) = database.all("SELECT value FROM meta WHERE name = 'key'")
            return bytes.fromhex(key)
        finally:
            database.close()

    @property
    def dropped(self) -> int:
        """How many events were not kept."""
        return sum(self._dropped.values())

    def __call__(self, event: CallEvent) -> None:
        if self._pid != os.getpid():
            self._start()
        if len(self._queue) >= self._most or self._is_closed:
            self._drop("closed" if self._is_closed else "full", 1)
            return
        self._queue.append(event)
        if not self._work.is_set():
            self._idle.clear()
            self._work.set()

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until what was told so far is written, so long at most; whether it is."""
        if self._pid != os.getpid():
            return not self._queue
        end = time.monotonic() + seconds
        while not self._idle.wait(max(0.0, end - time.monotonic())):
            if time.monotonic() >= end:
                return False
        return True

    def close(self, seconds: float = 5.0) -> None:
        """Write what is left, and end."""
        self.flush(seconds)
        self._is_closed = True
        self._stop.set()
        self._work.set()
        if self._thread is not None and self._pid == os.getpid():
            self._thread.join(seconds)

    def _start(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            # In a process that was forked there is no thread, and what waited is the parent's.
            if self._pid:
                self._queue = deque()
                self._work, self._stop, self._idle = Event(), Event(), Event()
                self._dropped, self._told = {}, {}
            self._pid = os.getpid()
            self._thread = Thread(target=self._run, name="failwell-events", daemon=True)
            self._thread.start()

    def _drop(self, why: str, count: int) -> None:
        with self._lock:
            self._dropped[why] = self._dropped.get(why, 0) + count

    # In the thread

    def _run(self) -> None:
        database: Database | None = None
        journal = Journal()
        failures, waiting, retired = 0, list[EventRow](), 0.0
        while True:
            if not waiting:
                self._work.wait(_RETIRE_EVERY)
                if not self._queue and self._stop.is_set():
                    break
                if len(self._queue) < _BATCH:
                    # More may come at once, and each batch costs as much as a hundred events.
                    self._stop.wait(_GATHER)
                self._work.clear()
                waiting = self._taken()
            try:
                database = database or self._open()
                if waiting:
                    self._write(database, journal, waiting)
                waiting, failures = [], 0
                if self._now() - retired > _RETIRE_EVERY:
                    retired = self._now()
                    self._retire(database)
            except Exception as problem:
                journal.forget()
                _closed(database)
                database = None
                failures += 1
                if failures == 1:
                    log.warning(
                        "Events cannot be written: %s", problem if isinstance(problem, BadStore) else repr(problem)
                    )
                is_last = failures > 1 or not isinstance(problem, Unreachable)
                if is_last or self._stop.is_set():
                    # Once more at most: it may be the batch itself that cannot be written.
                    self._drop("store", len(waiting))
                    waiting = []
                if self._stop.is_set():
                    self._drop("store", len(self._queue))
                    break
                self._stop.wait(_PAUSES[min(failures, len(_PAUSES)) - 1])
            if self._queue:
                self._work.set()
            elif not waiting:
                self._idle.set()
                if self._queue:
                    self._idle.clear()
                    self._work.set()
        _closed(database)
        if lost := self.dropped - sum(self._told.values()):
            log.warning("%d events were dropped, and the store does not say so.", lost)
        self._idle.set()

    def _taken(self) -> list[EventRow]:
        rows: list[EventRow] = []
        queue = self._queue
        while queue and len(rows) < _BATCH:
            try:
                rows += self._rows.of(queue.popleft())
            except Exception as problem:
                self._drop("event", 1)
                log.debug("An event cannot be written: %r", problem)
        return rows

    def _write(self, database: Database, journal: Journal, rows: list[EventRow]) -> None:
        with self._lock:
            dropped = {why: count - self._told.get(why, 0) for why, count in self._dropped.items()}
            told = dict(self._dropped)
        at = int(self._now() * 1000)
        lost = [(at, count, why) for why, count in dropped.items() if count]
        with database.transaction() as to:
            journal.write(rows, to)
            if lost:
                to.many("INSERT INTO dropped VALUES (?, ?, ?)", lost)
        self._told = told
        self.written += len(rows)

    def _retire(self, database: Database) -> None:
        wall, steady = self._began
        if self._now() - wall > time.monotonic() - steady + _JUMP:
            # A clock that was set ahead would have everything retired, and is often set back.
            return
        now = int(self._now() * 1000)
        while database.retire(now - int(self._days * DAY)) and not self._queue:
            pass
        with database.transaction() as to:
            for name in ROLLUPS:
                to.many(f"DELETE FROM {name} WHERE hour < ?", [((now - _ROLLUPS_KEPT * DAY) // HOUR,)])


def _closed(database: Database | None) -> None:
    if database is not None:
        try:
            database.close()
        except Exception:
            log.debug("A store could not be closed.")


_open_stores: WeakSet[Store] = WeakSet()


@atexit.register
def _close_all() -> None:
    for store in tuple(_open_stores):
        store.close(2.0)
