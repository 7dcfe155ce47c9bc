"""The tables of a store, and how its database is opened: one set for SQLite and PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from failwell.packages import needed

from .store_url import Address, BadStore, Unreachable

try:
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite
except ImportError as problem:
    raise needed("a store of events", "events", problem) from None

VERSION: Final = 2
HOUR: Final = 3_600_000
DAY: Final = 24 * HOUR
OPERATOR: Final = 8
SEATS: Final = {"server": 1, "relay": 2, "client": 4, "operator": OPERATOR}

_APPLICATION: Final = 0x0FA11E11
"""By which a SQLite file is known as ours, and the lock under which PostgreSQL has one writer at a time."""
_PATIENCE: Final = 5
_TEMPORARY: Final = ("locked", "busy", "full", "disk i/o")
_SERIAL: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

METADATA: Final = sa.MetaData()


def _columns(types: Any, names: str, **about: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, types, **about) for name in names.split()]


EVENT: Final = sa.Table(
    "event",
    METADATA,
    sa.Column("id", _SERIAL, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    *_columns(sa.Text, "session server client tool kind code decision outcome doubt", nullable=False),
    *_columns(sa.Integer, "seats attempt failed made prevented after", nullable=False),
    *_columns(sa.Float(53), "seconds", nullable=False),
    *_columns(sa.Float(53), "waited"),
    *_columns(sa.Text, "call_id print effect format correlation trace message error verify verify_print"),
    sa.Index("event_at", "at"),
    sa.Index("event_session", "session", "at"),
)
"""Each attempt at a call.

at: when it ended, in milliseconds. seats: who has told of it, a sum of SEATS. print: the call's fingerprint.
attempt: how often in a row this very call has now failed. outcome: `ok`, `asked`, `held`, `operator`; of a failure
`recovered`, `lost` or `unknown`. after: how many calls of the tool it took to recover.
doubt: of a call that may have been done `open`, `looked`, `again`, `done` or `not_done`; of a held one, too.
error: the canonical object, redacted. verify: the tool that tells; verify_print: the fingerprint of that call.
"""
sa.Index("event_failed", EVENT.c.at, sqlite_where=EVENT.c.failed == 1, postgresql_where=EVENT.c.failed == 1)
_GROUP: Final = (EVENT.c.tool, EVENT.c.code, EVENT.c.server, EVENT.c.at)
sa.Index("event_group", *_GROUP, sqlite_where=EVENT.c.failed == 1, postgresql_where=EVENT.c.failed == 1)
_OPEN: Final = EVENT.c.doubt == "open"
sa.Index("event_open", EVENT.c.session, EVENT.c.at, sqlite_where=_OPEN, postgresql_where=_OPEN)
sa.Index("event_doubt", EVENT.c.at, sqlite_where=_OPEN, postgresql_where=_OPEN)
_NAMED: Final = EVENT.c.call_id.is_not(None)
sa.Index("event_call", EVENT.c.call_id, sqlite_where=_NAMED, postgresql_where=_NAMED)

COLUMNS: Final = tuple(column.name for column in EVENT.columns)
KEY: Final = ("server", "client", "tool", "kind", "code")
COUNTERS: Final[dict[str, Any]] = {
    "calls": lambda row: row.outcome != "operator",
    "failed": lambda row: row.failed == 1,
    "recovered": lambda row: row.outcome == "recovered",
    "lost": lambda row: row.outcome == "lost",
    "unknown": lambda row: row.outcome == "unknown",
    "asked": lambda row: row.outcome == "asked",
    "refused": lambda row: (row.failed == 1) & (row.made == 0),
    "loops": lambda row: (row.failed == 1) & (row.attempt == LOOP),
    "doubt": lambda row: (row.failed == 1) & (row.doubt != ""),
    "doubt_looked": lambda row: (row.failed == 1) & (row.doubt == "looked"),
    "doubt_again": lambda row: (row.failed == 1) & (row.doubt == "again"),
    "doubt_confirmed": lambda row: (row.failed == 1) & ((row.doubt == "done") | (row.doubt == "not_done")),
    "held": lambda row: row.outcome == "held",
    "held_looked": lambda row: (row.outcome == "held") & (row.doubt == "looked"),
    "held_again": lambda row: (row.outcome == "held") & (row.doubt == "again"),
    "held_confirmed": lambda row: (row.outcome == "held") & ((row.doubt == "done") | (row.doubt == "not_done")),
}
"""What is counted, as a condition on an attempt: of a row in Python, and of the columns in SQL."""
LOOP: Final = 3
"""How often the same call fails in a row before it is a loop."""

TOTAL: Final = sa.Table(
    "total",
    METADATA,
    sa.Column("step", sa.BigInteger, primary_key=True),
    sa.Column("start", sa.BigInteger, primary_key=True),
    *_columns(sa.Text, " ".join(KEY), primary_key=True),
    *_columns(sa.BigInteger, " ".join(COUNTERS), nullable=False),
    sa.Column("seconds", sa.Float(53), nullable=False),
    sqlite_with_rowid=False,
)
"""The counters by the hour and by the day, so that a month costs no more than an hour."""
SESSION: Final = sa.Table(
    "session",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    *_columns(sa.Text, "server client", nullable=False),
    sa.Column("first_at", sa.BigInteger, nullable=False),
    sa.Column("last_at", sa.BigInteger, nullable=False, index=True),
    *_columns(sa.BigInteger, "calls failed recovered lost unknown doubt held", nullable=False),
)
META: Final = sa.Table(
    "meta", METADATA, sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
DROPPED: Final = sa.Table(
    "dropped", METADATA, sa.Column("at", sa.BigInteger), sa.Column("count", sa.BigInteger), sa.Column("why", sa.Text)
)


class Database:
    """A store's database. It raises `BadStore`, and `Unreachable` for what may be over later."""

    def __init__(self, address: Address, *, is_reading: bool = False) -> None:
        self.address, self._is_reading = address, is_reading
        self.is_postgres = address.scheme == "postgresql"
        self.insert: Any = postgresql.insert if self.is_postgres else sqlite.insert
        """An INSERT that knows ON CONFLICT."""
        self._place: object = None
        if address.scheme not in ("sqlite", "postgresql"):
            raise BadStore(f"{address.scheme}: is sent to, and cannot be read; name a sqlite: or postgresql: store")
        with self._problems():
            if self.is_postgres:
                self._engine = sa.create_engine("postgresql+psycopg://", creator=self._psycopg, pool_size=1)
            else:
                self._engine = sa.create_engine("sqlite://", creator=self._sqlite, poolclass=sa.pool.StaticPool)
            self._connection = self._engine.connect()
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    def _sqlite(self) -> sqlite3.Connection:
        path = self.address.path
        if not os.path.exists(path):
            if self._is_reading:
                raise BadStore(f"there is no store at {path}; {self._filling}")
            try:
                # Nobody else's business, from the first byte on.
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            except OSError as problem:
                raise BadStore(f"cannot write {path}: {problem.strerror or problem}") from None
        # Transactions are ours to begin: the driver's own begin too late to be alone.
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        settings = "query_only = 1" if self._is_reading else "synchronous = NORMAL"
        for setting in (settings, "cache_size = -65536", "journal_size_limit = 67108864"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _psycopg(self) -> Any:
        try:
            import psycopg
        except ImportError as problem:
            raise needed("a store in PostgreSQL", "postgres", problem) from None
        connection = psycopg.connect(self.address.path, connect_timeout=_PATIENCE)
        connection.execute("SET search_path TO failwell")
        connection.execute(f"SET statement_timeout TO {30_000 if self._is_reading else 300_000}")
        connection.commit()
        return connection

    @property
    def _filling(self) -> str:
        return f"fill it with `failwell wrap --events {self.address} -- CMD`, install(hooks=…) or Recovering(events=…)"

    def _prepare(self) -> None:
        """Check what is there, or make the tables."""
        run = self._connection.exec_driver_sql
        if self.is_postgres:
            is_there = run("SELECT to_regclass('failwell.meta')").scalar() is not None
        else:
            self._place = _place(self.address.path)
            is_there = bool(run("SELECT count(*) FROM sqlite_master").scalar())
            if is_there and run("PRAGMA application_id").scalar() != _APPLICATION:
                raise BadStore(f"{self.address.path} is a database of something else; name another file")
        if not is_there and self._is_reading:
            raise BadStore(f"there are no events in {self.address} yet; {self._filling}")
        if not is_there:
            self._connection.rollback()
            if not self.is_postgres:
                run("PRAGMA journal_mode = WAL")
            with self._begin():
                if self.is_postgres:
                    run("CREATE SCHEMA IF NOT EXISTS failwell")
                METADATA.create_all(self._connection)
                known = [{"name": "key", "value": os.urandom(16).hex()}, {"name": "version", "value": str(VERSION)}]
                self._connection.execute(self.insert(META).on_conflict_do_nothing(), known)
                if not self.is_postgres:
                    run(f"PRAGMA application_id = {_APPLICATION}")
        version = self._version()
        if version != str(VERSION):
            raise BadStore(
                f"{self.address} is a store of version {version}, and this is version {VERSION}; "
                "name another one, or use the failwell that wrote it"
            )
        self._connection.rollback()

    def _version(self) -> str:
        return str(self._connection.execute(sa.select(META.c.value).where(META.c.name == "version")).scalar())

    @contextmanager
    def _begin(self) -> Iterator[None]:
        """A transaction of the only writer: each of them may change what is said of earlier calls."""
        if self.is_postgres:
            self._connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_APPLICATION})")
        else:
            self._connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A connection to write with: all of it or nothing."""
        if _place(self.address.path) != self._place:
            raise Unreachable(f"{self.address.path} was moved or replaced")
        with self._problems(), self._begin():
            yield self._connection

    def all(self, statement: Any, values: Any = None) -> list[Any]:
        """The rows of a query."""
        with self._problems():
            try:
                return list(self._connection.execute(statement, values or {}).all())
            finally:
                # What is read next is as new as it can be.
                self._connection.rollback()

    @property
    def key(self) -> bytes:
        """Under which calls are hashed, so that everybody who writes here knows a call again."""
        return bytes.fromhex(self.all(sa.select(META.c.value).where(META.c.name == "key"))[0][0])

    def close(self) -> None:
        try:
            self._connection.close()
        finally:
            self._engine.dispose()

    @contextmanager
    def _problems(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.DBAPIError as problem:
            raise self._problem(problem.orig or problem) from None
        except sqlite3.Error as problem:
            raise self._problem(problem) from None
        except Exception as problem:
            # The driver's own, of a connection that could not be made.
            if type(problem).__module__.partition(".")[0] != "psycopg":
                raise
            raise self._problem(problem) from None

    def _problem(self, problem: BaseException) -> BadStore:
        """In one line, and without what the database was asked: an address may hold a password."""
        path = self.address.path
        if self.is_postgres:
            primary = getattr(getattr(problem, "diag", None), "message_primary", None)
            said = next(iter((primary or str(problem)).strip().splitlines()), type(problem).__name__)[:200]
            kinds = [kind.__name__ for kind in type(problem).__mro__]
            if "InsufficientPrivilege" in kinds:
                return BadStore(f"{self.address}: no rights there: {said}")
            if "OperationalError" in kinds:
                return Unreachable(f"cannot reach {self.address}: {said}")
            return BadStore(f"{self.address}: {said}")
        said = str(problem)
        if "not a database" in said:
            return BadStore(f"{path} is not a SQLite database; name another file")
        if os.path.isdir(path):
            return BadStore(f"{path} is a folder; name a file in it")
        if "unable to open" in said or "readonly" in said:
            wanted = "read" if self._is_reading else "write"
            return BadStore(f"cannot {wanted} {path}: no rights to the file or to its folder")
        if any(word in said.lower() for word in _TEMPORARY):
            return Unreachable(f"{path}: {said}")
        return BadStore(f"{path}: {said}")


def _place(path: str) -> tuple[int, int] | None:
    """Which file it is, whatever its name: what is written to one that was moved away is lost."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
