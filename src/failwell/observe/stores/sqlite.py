"""A store in one file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from .event_rows import COLUMNS, VALUES, EventRow
from .store_url import Address, BadStore, Unreachable
from .tables import EVENT_COLUMNS, OTHERS, VERSION

_APPLICATION: Final = 0x0FA11E11
"""By which the file is known as ours."""
_PATIENCE: Final = 5.0
_INSERT: Final = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_DELETED: Final = 5_000
_CHUNK: Final = 400
_TEMPORARY: Final = ("locked", "busy", "full", "disk i/o")


class Sqlite:
    """The database of a store, for one thread."""

    placeholder = "?"

    def __init__(self, address: Address, *, is_reading: bool = False) -> None:
        self.address = address
        self._is_reading = is_reading
        self._version: int | None = None
        try:
            self._connection = self._opened()
            self._place = _place(address.path)
        except sqlite3.Error as problem:
            raise _told(address, problem, is_reading=is_reading) from None

    def _opened(self) -> sqlite3.Connection:
        path = self.address.path
        if not os.path.exists(path):
            if self._is_reading:
                raise BadStore(f"there is no store at {path}; {self._filling}")
            try:
                # Nobody else's business, from the first byte on.
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            except OSError as problem:
                raise BadStore(f"cannot write {path}: {problem.strerror or problem}") from None
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            self._check(connection)
            if not self._is_reading:
                self._make(connection)
            else:
                connection.execute("PRAGMA query_only = 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        (known,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        path = self.address.path
        if tables and known != _APPLICATION:
            raise BadStore(f"{path} is a database of something else; name another file")
        if tables and version != VERSION:
            raise BadStore(
                f"{path} is a store of version {version}, and this is version {VERSION}; "
                "name another file, or use the failwell that wrote it"
            )
        if not tables and self._is_reading:
            raise BadStore(f"there are no events in {path} yet; {self._filling}")

    @property
    def _filling(self) -> str:
        return f"fill it with `failwell wrap --events {self.address} -- CMD`, install(hooks=…) or Recovering(events=…)"

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            return
        connection.execute("BEGIN IMMEDIATE")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            connection.execute(f"CREATE TABLE event (id INTEGER PRIMARY KEY, {EVENT_COLUMNS})")
            for statement in OTHERS:
                own = statement.replace("{serial}", "INTEGER PRIMARY KEY").replace("{sorted}", "WITHOUT ROWID")
                connection.execute(own)
            connection.execute("INSERT INTO meta VALUES ('key', ?)", (os.urandom(16).hex(),))
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[Sqlite]:
        if _place(self.address.path) != self._place:
            raise Unreachable(f"{self.address.path} was moved or replaced")
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            raise _told(self.address, problem) from None

    @property
    def is_shared(self) -> bool:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        before, self._version = self._version, version
        return before is not None and before != version

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise _told(self.address, problem, is_reading=self._is_reading) from None

    def among(self, sql: str, values: Sequence[Any], before: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        found = []
        for start in range(0, len(values), _CHUNK):
            chunk = values[start : start + _CHUNK]
            found += self.all(sql.replace("{values}", f"({', '.join('?' * len(chunk))})"), [*before, *chunk])
        return found

    def many(self, sql: str, rows: Sequence[Sequence[Any]], types: str = "") -> None:
        self._connection.executemany(sql, rows)

    def ids(self, count: int) -> Sequence[int]:
        ((last,),) = self.all("SELECT coalesce(max(id), 0) FROM event")
        return range(last + 1, last + count + 1)

    def insert(self, rows: Sequence[EventRow]) -> None:
        self._connection.executemany(_INSERT, map(VALUES, rows))

    def retire(self, before: int) -> bool:
        """Delete some of what is older; whether there may be more."""
        with self.transaction():
            # What came first is what is oldest, but for clocks; an index by time would cost each event.
            first = "SELECT id FROM event ORDER BY id LIMIT ?"
            old = f"DELETE FROM event WHERE id IN ({first}) AND at < ?"
            gone = self._connection.execute(old, (_DELETED, before)).rowcount
            if gone < _DELETED:
                self._connection.execute("DELETE FROM doubt WHERE at < ?", (before,))
                self._connection.execute("DELETE FROM session WHERE last_at < ?", (before,))
        return gone >= _DELETED

    def close(self) -> None:
        self._connection.close()


def _place(path: str) -> tuple[int, int] | None:
    """Which file it is, whatever its name: what is written to one that has none any more is lost."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _told(address: Address, problem: sqlite3.Error, *, is_reading: bool = False) -> BadStore:
    said = str(problem)
    if "not a database" in said:
        return BadStore(f"{address.path} is no SQLite database; name another file")
    if os.path.isdir(address.path):
        return BadStore(f"{address.path} is a folder; name a file in it")
    if "unable to open" in said or "readonly" in said:
        wanted = "read" if is_reading else "write"
        return BadStore(f"cannot {wanted} {address.path}: no rights to the file or to its folder")
    if any(word in said.lower() for word in _TEMPORARY):
        return Unreachable(f"{address.path}: {said}")
    return BadStore(f"{address.path}: {said}")
