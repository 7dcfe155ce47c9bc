"""Where idempotency keys are kept: which calls have begun, and how they were answered.

Two stores, and the protocol that a third one has to fulfil. None of them sees a key as it was sent, or an argument:
both come as hashes.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from failwell.formats import is_number

T = TypeVar("T")
DAY: Final = 86_400
# How long a process waits for another one that is writing.
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store has under a key.

    call: what identifies the call that began with the key.
    answer: how it was answered; None as long as nobody knows.
    under_way: whether it may still be answered. A call without an answer that is not under way never will be.
    """

    call: str
    answer: str | None = None
    under_way: bool = False


@runtime_checkable
class KeyStore(Protocol):
    """A place for keys, shared by all who answer for the same tools.

    instance: identifies what is kept. As long as it stays the same, what was kept is still there; a store that loses
        its entries needs another one, by which an agent sees that its keys mean nothing any more.
    ttl: for how many seconds an answer is kept at least.

    All texts that a store is given or gives back are ASCII. What `begin` raises refuses the call, which is not made;
    what the others raise is logged, and the call counts as one whose end nobody knows.
    """

    instance: str
    ttl: float

    async def begin(self, key: str, call: str) -> Kept | None:
        """Claim the key for a call, or give what is kept under it.

        This must be one atomic step for everybody who shares the store: of any number of callers with the same key at
        the same time, exactly one gets None, and it is written down, before it gets it, that `call` has begun. All
        others change nothing. Without an answer they get `under_way=True`, and will ask again a little later, until
        whoever began cannot finish any more, because it died. A store that cannot tell may say so after a while: that
        is safe at any time, since nothing runs because of it.

        What has begun and has not ended is never dropped, however old it is, while it is under way.
        """

    async def finish(self, key: str, answer: str | None) -> None:
        """Keep how the call ended: its answer, or None if nobody knows. Called once, by whoever began it.

        When this returns, every later `begin` with the key gets the answer, until `ttl` seconds have passed.
        """

    async def forget(self, key: str) -> None:
        """Undo `begin`: the call did nothing, and the next `begin` is the first. Called instead of `finish`."""


def check_ttl(ttl: object, name: str = "ttl") -> None:
    if not is_number(ttl):
        raise ValueError(f"{name} is a number of seconds above zero, not {ttl!r}.")


class KeysInMemory:
    """Keeps keys as long as the process lives, for one server process.

    With more than `max_entries` answers the oldest go, even before their time: choose it so that a day of calls fits.
    """

    def __init__(
        self, *, max_entries: int = 10_000, ttl: float = DAY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not isinstance(max_entries, int) or isinstance(max_entries, bool) or max_entries < 1:
            raise ValueError(f"max_entries is a whole number of at least 1, not {max_entries!r}.")
        check_ttl(ttl)
        self.instance = os.urandom(16).hex()
        self.ttl = ttl
        self.max_entries = max_entries
        self._clock = clock
        self._lock = threading.Lock()
        self._under_way: dict[str, Kept] = {}
        # In the order in which they ended, so that the first one is always the oldest.
        self._ended: OrderedDict[str, tuple[float, Kept]] = OrderedDict()

    async def begin(self, key: str, call: str) -> Kept | None:
        with self._lock:
            self._drop()
            if key in self._under_way:
                return self._under_way[key]
            if key in self._ended:
                return self._ended[key][1]
            self._under_way[key] = Kept(call, under_way=True)
            return None

    async def finish(self, key: str, answer: str | None) -> None:
        with self._lock:
            begun = self._under_way.pop(key)
            self._ended[key] = self._clock(), Kept(begun.call, answer)
            self._drop()

    async def forget(self, key: str) -> None:
        with self._lock:
            self._under_way.pop(key, None)

    def _drop(self) -> None:
        before = self._clock() - self.ttl
        while self._ended and (len(self._ended) > self.max_entries or next(iter(self._ended.values()))[0] <= before):
            self._ended.popitem(last=False)

    def __len__(self) -> int:
        return len(self._under_way) + len(self._ended)


def _steady() -> Callable[[], float]:
    """The time of day, which runs no faster than time itself: a clock that is set ahead by a day does not end a day of
    keys in a moment."""
    began, wall = time.monotonic(), time.time()
    return lambda: min(time.time(), wall + time.monotonic() - began)


_TABLES: Final = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, call TEXT NOT NULL, owner TEXT, answer TEXT, expires REAL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS calls_expire ON calls (expires);
CREATE INDEX IF NOT EXISTS calls_owned ON calls (owner) WHERE owner IS NOT NULL;
"""


class KeysOnDisk:
    """Keeps keys in a SQLite file, which outlives the process and may be shared by several on one machine.

    A call that began in a process that died is known for what it is: begun, and nobody knows how it ended. Each process
    holds a lock on a small file of its own beside the first, which the system takes away when the process is gone.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, ttl: float = DAY, clock: Callable[[], float] | None = None
    ) -> None:
        check_ttl(ttl)
        clock = clock or _steady()
        self.path = Path(path).absolute()
        self.ttl = ttl
        self._clock = clock
        self._opened = _Opened(self.path, clock() + ttl)
        self._close = weakref.finalize(self, self._opened.close)
        self.instance = self._opened.instance

    async def begin(self, key: str, call: str) -> Kept | None:
        return await asyncio.to_thread(self._begin, key, call)

    async def finish(self, key: str, answer: str | None) -> None:
        await asyncio.to_thread(self._finish, key, answer)

    async def forget(self, key: str) -> None:
        await asyncio.to_thread(self._forget, key)

    def close(self) -> None:
        """Let go of the files. What is under way in this process counts as never finished from here on."""
        self._close()

    def _begin(self, key: str, call: str) -> Kept | None:
        now = self._clock()
        with self._writing() as (file, db):
            db.execute("DELETE FROM calls WHERE expires <= ?", (now,))
            row = db.execute("SELECT call, owner, answer FROM calls WHERE key = ?", (key,)).fetchone()
            if row is None:
                db.execute("INSERT INTO calls (key, call, owner) VALUES (?, ?, ?)", (key, call, file.owner))
                return None
            begun, owner, answer = row
            if owner is not None and not file.lives(owner):
                file.bury(owner, now + self.ttl)
                owner = None
            return Kept(begun, answer, owner is not None)

    def _finish(self, key: str, answer: str | None) -> None:
        with self._writing() as (_, db):
            changes = (answer, self._clock() + self.ttl, key)
            db.execute("UPDATE calls SET answer = ?, owner = NULL, expires = ? WHERE key = ?", changes)

    def _forget(self, key: str) -> None:
        with self._writing() as (file, db):
            db.execute("DELETE FROM calls WHERE key = ? AND owner = ?", (key, file.owner))

    @contextmanager
    def _writing(self) -> Iterator[tuple[_Opened, sqlite3.Connection]]:
        if self._opened.process != os.getpid():
            # A fork: what the parent opened is the parent's.
            _inherited.append(self._opened)
            self._opened = _Opened(self.path, self._clock() + self.ttl)
            self._close = weakref.finalize(self, self._opened.close)
        with self._opened.lock, _transaction(self._opened.db) as db:
            yield self._opened, db


# Connections of a parent process. To close one here could take away what the parent still uses.
_inherited: Final[list[Any]] = []


class _Opened:
    """The file as one process has opened it."""

    def __init__(self, path: Path, expires: float) -> None:
        self.process = os.getpid()
        self.owner = os.urandom(16).hex()
        self.lock = threading.Lock()
        self._path = path
        # Answers are nobody else's business; SQLite gives its other files the same rights.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.db = _patiently(lambda: _connected(path))
        with _transaction(self.db):
            # In a transaction, so that nobody takes the file for one that was left behind before it is locked.
            self._alive = _locked(self._file_of(self.owner))
            known = ("instance", os.urandom(16).hex())
            self.db.execute("INSERT INTO about VALUES (?, ?) ON CONFLICT DO NOTHING", known)
            (self.instance,) = self.db.execute("SELECT value FROM about WHERE name = 'instance'").fetchone()
            files = path.parent.glob(f"{escape(path.name)}-owner-*")
            left = {file.name.rpartition("-")[2] for file in files}
            left |= {owner for (owner,) in self.db.execute("SELECT DISTINCT owner FROM calls WHERE owner IS NOT NULL")}
            for owner in left:
                if not self.lives(owner):
                    self.bury(owner, expires)

    def lives(self, owner: str) -> bool:
        """Whether the process that goes by that name still runs. Within a transaction."""
        file = self._file_of(owner)
        if owner == self.owner:
            return True
        if not file.exists():
            return False
        try:
            _locked(file).close()
        except sqlite3.OperationalError:
            return True
        return False

    def bury(self, owner: str, expires: float) -> None:
        """The process is gone, and what it began will never end. Within a transaction."""
        self.db.execute("UPDATE calls SET owner = NULL, expires = ? WHERE owner = ?", (expires, owner))
        self._file_of(owner).unlink(missing_ok=True)

    def close(self) -> None:
        if self.process != os.getpid():
            return
        with self.lock:
            self._alive.close()
            self._file_of(self.owner).unlink(missing_ok=True)
            self.db.close()

    def _file_of(self, owner: str) -> Path:
        return self._path.with_name(f"{self._path.name}-owner-{owner}")


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        # A call that has begun must be known to have, even after a power cut.
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


def _locked(file: Path) -> sqlite3.Connection:
    """The lock on a file, held until it is closed or the process ends. SQLite's own, which work on every system."""
    db = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # Nothing is ever written, so there is nothing to note down beside it.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("BEGIN EXCLUSIVE")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _patiently(do: Callable[[], T]) -> T:
    """Several processes that make the file at once: SQLite does not wait for its change of mode by itself."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return do()
        except sqlite3.OperationalError as exc:
            if "locked" not in str(exc) or time.monotonic() > until:
                raise
        time.sleep(0.01)
