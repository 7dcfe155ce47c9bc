"""Claims in PostgreSQL: a row for each key, a row for each process, and the server's own clock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .claims import DAY, LEASE, PATIENCE, Claimed, SharedClaims, StoreUnusable

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS failwell_about (namespace text PRIMARY KEY, instance text NOT NULL);
CREATE TABLE IF NOT EXISTS failwell_owners (owner text PRIMARY KEY, until timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS failwell_claims (
    namespace text, key text, call text NOT NULL, state text NOT NULL, owner text NOT NULL, token text NOT NULL,
    answer text, expires timestamptz NOT NULL, PRIMARY KEY (namespace, key)
);
CREATE INDEX IF NOT EXISTS failwell_claims_expire ON failwell_claims (expires);
CREATE TABLE IF NOT EXISTS failwell_holds (
    namespace text, scope text, call text, note text NOT NULL, since timestamptz NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (namespace, scope, call)
);
CREATE INDEX IF NOT EXISTS failwell_holds_until ON failwell_holds (until);
"""
# Tables that two make at the same time are made by one of them.
_MAKING: Final = 0x6661696C
# By then the server itself has given up, if it is not frozen.
_GRACE: Final = 0.5
_NAMED: Final = "INSERT INTO failwell_about VALUES (%s, %s) ON CONFLICT DO NOTHING"
_ABOUT: Final = "SELECT instance FROM failwell_about WHERE namespace = %s"
_LIVES: Final = """
INSERT INTO failwell_owners VALUES (%s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (owner) DO UPDATE SET until = EXCLUDED.until
"""
_CLAIM: Final = """
INSERT INTO failwell_claims VALUES (%s, %s, %s, 'running', %s, %s, NULL, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (namespace, key) DO UPDATE SET
    call = EXCLUDED.call, state = 'running', owner = EXCLUDED.owner, token = EXCLUDED.token, answer = NULL,
    expires = EXCLUDED.expires
    WHERE failwell_claims.expires <= clock_timestamp()
RETURNING 1
"""
_KNOWN: Final = """
SELECT call, state, answer, EXISTS (
    SELECT 1 FROM failwell_owners WHERE owner = failwell_claims.owner AND until > clock_timestamp()
) FROM failwell_claims WHERE namespace = %s AND key = %s FOR UPDATE
"""
_LOST: Final = """
UPDATE failwell_claims SET state = 'lost', expires = clock_timestamp() + make_interval(secs => %s)
WHERE namespace = %s AND key = %s
"""
_END: Final = """
UPDATE failwell_claims SET state = %s, answer = %s, token = '', expires = clock_timestamp() + make_interval(secs => %s)
WHERE namespace = %s AND key = %s AND token = %s
"""
_FREE: Final = "DELETE FROM failwell_claims WHERE namespace = %s AND key = %s AND token = %s"
_RUNNING: Final = """
UPDATE failwell_claims SET state = 'running', expires = clock_timestamp() + make_interval(secs => %s)
WHERE namespace = %s AND key = ANY(%s) AND token = ANY(%s)
"""
_SWEEP: Final = (
    "DELETE FROM failwell_claims WHERE expires <= clock_timestamp()",
    "DELETE FROM failwell_owners WHERE until <= clock_timestamp() - interval '1 day'",
    "DELETE FROM failwell_holds WHERE until <= clock_timestamp()",
)
_HELD: Final = """
SELECT call, extract(epoch FROM clock_timestamp() - since), extract(epoch FROM until - clock_timestamp()), note
FROM failwell_holds WHERE namespace = %s AND scope = %s AND until > clock_timestamp()
"""
_HOLD: Final = """
INSERT INTO failwell_holds
VALUES (%s, %s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (namespace, scope, call) DO UPDATE SET note = EXCLUDED.note, since = EXCLUDED.since, until = EXCLUDED.until
"""
_RELEASE: Final = "DELETE FROM failwell_holds WHERE namespace = %s AND scope = %s AND call = %s AND note = %s"


class _Hurried(psycopg.Connection[Any]):
    """A connection whose server has so long to answer, and no longer: one that is frozen says nothing at all."""

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        return super().wait(self._within(gen), *given, **named)

    def _within(self, steps: Any) -> Generator[Any, Any, Any]:
        """The steps of an exchange, until it takes too long."""
        until = time.monotonic() + PATIENCE + _GRACE
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


class _Connection:
    """One connection, used by one thread at a time; opened anew when it is lost."""

    def __init__(self, url: str) -> None:
        self._db: Any = None
        self._busy = threading.Lock()
        try:
            given = {"connect_timeout": str(round(PATIENCE)), **conninfo_to_dict(url)}
        except psycopg.Error as problem:
            raise StoreUnusable(f"cannot read the URL of the store: {_words(problem)}") from None
        self._info = make_conninfo(**{name: str(value) for name, value in given.items() if value is not None})
        self._place = f"postgresql://{given.get('host', 'localhost')}/{given.get('dbname', '')}"
        with self.asking() as db:
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            db.execute(_TABLES)

    @contextmanager
    def asking(self) -> Iterator[Any]:
        with self._busy:
            try:
                if self._db is None or self._db.closed:
                    self._db = _Hurried.connect(self._info, autocommit=True)
                    self._db.execute(f"SET statement_timeout = {int(PATIENCE * 1000)}")
                with self._db.transaction():
                    yield self._db
            except psycopg.Error as problem:
                if self._db is not None and (self._db.broken or isinstance(problem, psycopg.OperationalError)):
                    # What is not there to be asked is asked over a new connection next time.
                    with suppress(psycopg.Error):
                        self._db.close()
                    self._db = None
                raise StoreUnusable(f"{self._place} cannot be used: {_words(problem)}") from None

    def close(self) -> None:
        with self._busy:
            db, self._db = self._db, None
            if db is not None:
                db.close()

    def forked(self) -> None:
        # The parent still uses its end; it is kept, so that nobody closes it.
        _inherited.append(self._db)
        self._db, self._busy = None, threading.Lock()


class ClaimsInPostgres(SharedClaims):
    """A row for each key, and one for each process."""

    def __init__(self, url: str, *, ttl: float = DAY, lease: float = LEASE, namespace: str = "keys") -> None:
        super().__init__(ttl=ttl, lease=lease)
        self._namespace = namespace
        self._connection = _Connection(url)
        with self._connection.asking() as db:
            self.instance = self._named(db)

    def _named(self, db: Any) -> str:
        """The name of what is kept here: a store that was emptied has none, and gets another."""
        row = db.execute(_ABOUT, (self._namespace,)).fetchone()
        if row is None:
            db.execute(_NAMED, (self._namespace, os.urandom(16).hex()))
            row = db.execute(_ABOUT, (self._namespace,)).fetchone()
        return str(row[0])

    def _begin(self, key: str, call: str, token: str) -> Claimed | None:
        with self._connection.asking() as db:
            name = self._named(db)
            if name == self.instance:
                return self._claimed(db, key, call, token)
        raise self._emptied(name)

    def _claimed(self, db: Any, key: str, call: str, token: str) -> Claimed | None:
        db.execute(_LIVES, (self.owner, self.lease))
        while True:
            claim = (self._namespace, key, call, self.owner, token, self.unended)
            if db.execute(_CLAIM, claim).fetchone() is not None:
                return None
            row = db.execute(_KNOWN, (self._namespace, key)).fetchone()
            # Without a row it was given back in this very moment.
            if row is not None:
                break
        known, state, answer, lives = row
        if state == "running" and not lives:
            db.execute(_LOST, (self.unended, self._namespace, key))
            state = "lost"
        return Claimed(known, state, answer)

    def _end(self, key: str, token: str, state: str | None, answer: str | None) -> None:
        with self._connection.asking() as db:
            if state is None:
                db.execute(_FREE, (self._namespace, key, token))
            else:
                db.execute(_END, (state, answer, self.ttl, self._namespace, key, token))

    def _renew(self, running: dict[str, str]) -> None:
        with self._connection.asking() as db:
            db.execute(_LIVES, (self.owner, self.lease))
            if running:
                given = (self.unended, self._namespace, list(running), list(running.values()))
                db.execute(_RUNNING, given)
            for sweep in _SWEEP:
                db.execute(sweep)

    def _held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        with self._connection.asking() as db:
            rows = db.execute(_HELD, (self._namespace, scope)).fetchall()
        return {call: (float(age), float(left), note) for call, age, left, note in rows}

    def _hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        with self._connection.asking() as db:
            db.execute(_HOLD, (self._namespace, scope, call, note, seconds))

    def _release(self, scope: str, call: str, note: str) -> None:
        with self._connection.asking() as db:
            db.execute(_RELEASE, (self._namespace, scope, call, note))

    def _ping(self) -> None:
        with self._connection.asking() as db:
            db.execute("SELECT 1")

    def _leave(self) -> None:
        with suppress(StoreUnusable):
            if self.owner:
                with self._connection.asking() as db:
                    db.execute("DELETE FROM failwell_owners WHERE owner = %s", (self.owner,))
        self._connection.close()

    def _forked(self) -> None:
        self._connection.forked()


_inherited: Final[list[Any]] = []
claims = ClaimsInPostgres


def _words(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
