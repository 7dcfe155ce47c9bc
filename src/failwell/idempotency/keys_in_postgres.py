"""Keys and holds in PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .leased_keys import TIMEOUT, in_line
from .sql_keys import TABLES, SqlKeys
from .store import StoreUnusable

# Of tables that two make at the same time one must wait.
_MAKING: Final = 0x6661696C
# By then the server itself has given up, if it is not frozen.
_GRACE: Final = 0.5
# Connections of a parent process. It still uses its end, so nobody may close them.
_inherited: Final[list[Any]] = []


class KeysInPostgres(SqlKeys):
    """Keeps keys in PostgreSQL, for any number of servers on any number of machines; the same as `KeysInRedis`.

    It makes four tables of its own, whose names begin with `failwell_`.
    """

    _schemes = ("postgresql", "postgres")
    _now = "extract(epoch FROM clock_timestamp())::float8"

    def _connect(self, place: str, namespace: str) -> None:
        self._namespace = namespace
        self._db: Any = None
        self._busy = threading.Lock()
        try:
            given = {"connect_timeout": str(round(TIMEOUT)), **conninfo_to_dict(place)}
        except psycopg.Error as problem:
            raise StoreUnusable(f"cannot read the URL of the store: {in_line(problem)}") from None
        self._info = make_conninfo(**{name: str(value) for name, value in given.items() if value is not None})
        self._place = f"postgresql://{given.get('host', 'localhost')}/{given.get('dbname', '')}"
        with self._transaction() as run:
            run("SELECT pg_advisory_xact_lock(%s)", _MAKING)
            for table in TABLES:
                run(table)
        with self._transaction() as run:
            self.instance = self._read_instance(run)

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., Any]]:
        with self._busy:
            try:
                if self._db is None or self._db.closed:
                    self._db = _Connection.connect(self._info, autocommit=True)
                    self._db.execute(f"SET statement_timeout = {int(TIMEOUT * 1000)}")
                with self._db.transaction():
                    yield lambda statement, *given: self._db.execute(statement.replace("{now}", self._now), given)
            except psycopg.Error as problem:
                if self._db is not None and (self._db.broken or isinstance(problem, psycopg.OperationalError)):
                    # What is not there to be asked is asked over a new connection next time.
                    with suppress(psycopg.Error):
                        self._db.close()
                    self._db = None
                raise StoreUnusable(f"{self._place} cannot be used: {in_line(problem)}") from None

    def _leave(self) -> None:
        super()._leave()
        with self._busy:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    def _forked(self) -> None:
        _inherited.append(self._db)
        self._db, self._busy = None, threading.Lock()


class _Connection(psycopg.Connection[Any]):
    """A connection whose server has so long to answer, and no longer: one that is frozen says nothing at all."""

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        return super().wait(self._until_timeout(gen), *given, **named)

    def _until_timeout(self, steps: Any) -> Generator[Any, Any, Any]:
        """The steps of an exchange, until it takes too long."""
        until = time.monotonic() + TIMEOUT + _GRACE
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > until:
                    # So that nobody waits once more, to take back what was begun.
                    self.pgconn.finish()
                    raise psycopg.OperationalError("it does not answer")
                wanted = steps.send(ready)
        except StopIteration as end:
            return end.value
