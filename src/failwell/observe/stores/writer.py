"""The hook that keeps events: it takes them at once, and a thread of its own writes them, many at a time.

No call waits for it. What the thread cannot write yet waits in memory, and beyond that in a file that goes with the
process. Where even that is full, or the store is broken, events are dropped and counted, and the store says so.
"""

from __future__ import annotations

import atexit
import logging
import os
import pickle
import tempfile
import time
from collections import deque
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Any, Final
from weakref import WeakSet

import sqlalchemy as sa

from failwell.observe.events import CallEvent

from .batches import write
from .rows import EventRows, Row
from .store_url import BadStore, Unreachable
from .tables import DAY, DROPPED, EVENT, HOUR, SESSION, TOTAL, Database

log = logging.getLogger("failwell.observe")

_GATHER: Final = 0.05
_BATCH: Final = 2_000
_IN_MEMORY: Final = 20_000
_PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_RETIRE_EVERY: Final = 600.0
_RETIRED: Final = 5_000
_HOURS_KEPT: Final = 90
_DAYS_KEPT: Final = 400
_JUMP: Final = 3_600.0


class Store:
    """Keeps events: a hook to be given to `install`, `Recovering` or a relay, or called by your own code.

    most: how many events may wait to be written; what comes beyond that is dropped. days: how long attempts are kept;
    the sums stay. messages: whether the words of failures are kept, redacted; otherwise no text of anybody's is.
    """

    def __init__(
        self,
        open_database: Callable[[], Database],
        *,
        most: int = 5_000_000,
        days: float = 30.0,
        messages: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._open, self._most, self._days, self._now = open_database, most, days, now
        self._lock = Lock()
        self._pid = 0
        self._began = now(), time.monotonic()
        self._is_closed = False
        self._thread: Thread | None = None
        self._start_empty()
        self.written = 0
        """How many attempts were written."""
        self.key = self._read_key()
        """Under which calls are hashed, so that everybody who writes to this store knows a call again."""
        self._rows = EventRows(self.key, lambda: int(now() * 1000), messages=messages)
        _open_stores.add(self)

    def _start_empty(self) -> None:
        self._queue: deque[CallEvent] = deque()
        self._spill: Any = None
        """The file that takes what comes while too much waits in memory."""
        self._spilled: Any = None
        """The one before, which is being written."""
        self._waiting_on_disk = 0
        self._work, self._stop, self._idle = Event(), Event(), Event()
        self._idle.set()
        self._dropped: dict[str, int] = {}
        self._reported: dict[str, int] = {}

    def _read_key(self) -> bytes:
        try:
            database = self._open()
        except Unreachable as problem:
            log.warning("Events cannot be written yet: %s", problem)
            return os.urandom(16)
        try:
            return database.key
        finally:
            database.close()

    @property
    def dropped(self) -> int:
        """How many events were not kept."""
        return sum(self._dropped.values())

    def __call__(self, event: CallEvent) -> None:
        if self._pid != os.getpid():
            self._start()
        if self._is_closed:
            self._drop("closed", 1)
            return
        if self._spill is not None or len(self._queue) >= min(_IN_MEMORY, self._most):
            self._keep_on_disk(event)
        else:
            self._queue.append(event)
        if not self._work.is_set():
            self._idle.clear()
            self._work.set()

    def _keep_on_disk(self, event: CallEvent) -> None:
        with self._lock:
            try:
                if self._waiting_on_disk + _IN_MEMORY >= self._most:
                    raise OSError("too many events wait")
                if self._spill is None:
                    self._spill = tempfile.TemporaryFile(prefix="failwell-events-")  # noqa: SIM115
                pickle.dump(event, self._spill, pickle.HIGHEST_PROTOCOL)
                self._waiting_on_disk += 1
            except Exception:
                self._dropped["full"] = self._dropped.get("full", 0) + 1

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until what was told so far is written, so long at most; whether it is."""
        return self._pid != os.getpid() or self._idle.wait(seconds)

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
                self._start_empty()
            self._pid = os.getpid()
            self._thread = Thread(target=self._run, name="failwell-events", daemon=True)
            self._thread.start()

    def _drop(self, why: str, count: int) -> None:
        if count:
            with self._lock:
                self._dropped[why] = self._dropped.get(why, 0) + count

    # In the thread

    def _run(self) -> None:
        database: Database | None = None
        failures, rows, retired = 0, list[Row](), 0.0
        while True:
            if not rows:
                self._work.wait(_RETIRE_EVERY)
                if self._stop.is_set() and not self._is_waiting():
                    break
                if len(self._queue) < _BATCH and not self._waiting_on_disk:
                    # More may come at once, and each batch costs as much as a hundred events.
                    self._stop.wait(_GATHER)
                self._work.clear()
                rows = self._next_rows()
            try:
                database = database or self._open()
                if rows or self.dropped > sum(self._reported.values()):
                    self._write(database, rows)
                rows, failures = [], 0
                if self._now() - retired > _RETIRE_EVERY:
                    retired = self._now()
                    self._retire(database)
            except Exception as problem:
                _close(database)
                database, failures = None, failures + 1
                if failures == 1:
                    said = problem if isinstance(problem, BadStore) else repr(problem)
                    log.warning("Events cannot be written: %s", said)
                if self._stop.is_set() or (failures > 1 and not isinstance(problem, Unreachable)):
                    # Once more at most: it may be the batch itself that cannot be written.
                    self._drop("store", len(rows))
                    rows = []
                if self._stop.is_set():
                    self._drop("store", len(self._queue) + self._waiting_on_disk)
                    break
                self._stop.wait(_PAUSES[min(failures, len(_PAUSES)) - 1])
            if self._is_waiting():
                self._work.set()
            elif not rows:
                self._idle.set()
                if self._is_waiting():
                    self._idle.clear()
                    self._work.set()
        _close(database)
        if lost := self.dropped - sum(self._reported.values()):
            log.warning("%d events were dropped, and the store does not say so.", lost)
        self._idle.set()

    def _is_waiting(self) -> bool:
        return bool(self._queue or self._waiting_on_disk)

    def _next_rows(self) -> list[Row]:
        """What is to be written next, the oldest first: what waits on disk came after what waits in memory."""
        rows: list[Row] = []
        while len(rows) < _BATCH:
            try:
                if self._spilled is not None:
                    event = self._next_on_disk()
                elif self._queue:
                    event = self._queue.popleft()
                elif self._spill is not None:
                    with self._lock:
                        self._spilled, self._spill = self._spill, None
                    self._spilled.seek(0)
                    continue
                else:
                    break
                if event is not None:
                    rows += self._rows.of(event)
            except Exception as problem:
                self._drop("event", 1)
                log.debug("An event cannot be written: %r", problem)
        return rows

    def _next_on_disk(self) -> CallEvent | None:
        try:
            event: CallEvent = pickle.load(self._spilled)
        except EOFError:
            self._spilled.close()
            self._spilled = None
            return None
        except Exception:
            # What follows one that cannot be read cannot be read either.
            self._spilled.close()
            self._spilled = None
            with self._lock:
                lost, self._waiting_on_disk = self._waiting_on_disk, 0
            self._drop("full", max(0, lost - 1))
            raise
        with self._lock:
            self._waiting_on_disk -= 1
        return event

    def _write(self, database: Database, rows: list[Row]) -> None:
        with self._lock:
            dropped = dict(self._dropped)
        at = int(self._now() * 1000)
        lost = [
            {"at": at, "count": count - self._reported.get(why, 0), "why": why}
            for why, count in dropped.items()
            if count > self._reported.get(why, 0)
        ]
        with database.transaction() as to:
            if rows:
                write(database, to, rows)
            if lost:
                to.execute(sa.insert(DROPPED), lost)
        self._reported = dropped
        self.written += len(rows)

    def _retire(self, database: Database) -> None:
        """Delete what is older than the days that are kept, a little at a time while nothing waits."""
        wall, steady = self._began
        if self._now() - wall > time.monotonic() - steady + _JUMP:
            # A clock that was set ahead would have everything deleted, and is often set back.
            return
        now = int(self._now() * 1000)
        before, gone = now - int(self._days * DAY), _RETIRED
        while gone >= _RETIRED and not self._queue:
            old = sa.select(EVENT.c.id).where(EVENT.c.at < before).order_by(EVENT.c.at).limit(_RETIRED)
            with database.transaction() as to:
                gone = to.execute(sa.delete(EVENT).where(EVENT.c.id.in_(old.scalar_subquery()))).rowcount
        with database.transaction() as to:
            to.execute(sa.delete(SESSION).where(SESSION.c.last_at < before))
            for step, days in ((HOUR, _HOURS_KEPT), (DAY, _DAYS_KEPT)):
                to.execute(sa.delete(TOTAL).where(TOTAL.c.step == step, TOTAL.c.start < now - days * DAY))


def _close(database: Database | None) -> None:
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
