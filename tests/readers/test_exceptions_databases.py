"""Failures of databases: from real ones where Python brings them, else made as the drivers make them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import bson.errors
import psycopg
import psycopg.errors
import pymongo.errors
import pytest
import redis.exceptions
import sqlalchemy as sa
import sqlalchemy.exc
import sqlalchemy.orm
from operating import classified

import failwell as fw
from failwell.formats import FORMATS
from failwell.readers.exceptions.databases import SQLITE, SQLSTATES

SCHEMA = """
PRAGMA foreign_keys = ON;
CREATE TABLE owners (id INTEGER PRIMARY KEY);
CREATE TABLE users (
    id INTEGER PRIMARY KEY, email TEXT UNIQUE, name TEXT NOT NULL, age INTEGER CHECK (age > 0),
    owner INTEGER REFERENCES owners (id), CONSTRAINT known_name CHECK (name <> 'nobody')
);
CREATE TABLE strict_ones (n INTEGER) STRICT;
CREATE TRIGGER guard BEFORE DELETE ON users BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed: secret'); END;
INSERT INTO users (id, email, name) VALUES (1, 'secret@example.com', 'Ann');
"""

# name: (statement, code, effect, constraint)
STATEMENTS: dict[str, tuple[str, str, str | None, str | None]] = {
    "unique": ("INSERT INTO users (email, name) VALUES ('secret@example.com', 'B')", "CONFLICT", "none", "users.email"),
    "primary-key": ("INSERT INTO users (id, name) VALUES (1, 'secret')", "CONFLICT", "none", "users.id"),
    "not-null": ("INSERT INTO users (email) VALUES ('secret')", "VALIDATION_ERROR", "none", "users.name"),
    "check": ("INSERT INTO users (name, age) VALUES ('secret', -1)", "VALIDATION_ERROR", "none", None),
    "named-check": ("INSERT INTO users (name) VALUES ('nobody')", "VALIDATION_ERROR", "none", "known_name"),
    "foreign-key": ("INSERT INTO users (name, owner) VALUES ('secret', 9)", "CONFLICT", "none", None),
    "type": ("INSERT INTO strict_ones VALUES ('secret')", "VALIDATION_ERROR", "none", None),
    "trigger": ("DELETE FROM users", "VALIDATION_ERROR", "none", None),
    "syntax": ("SELEC secret", "INTERNAL_ERROR", None, None),
    "no-table": ("SELECT * FROM secret", "INTERNAL_ERROR", None, None),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "secret.db")) as connection:
        connection.executescript(SCHEMA)
    return tmp_path / "secret.db"


def failure(call: Callable[[], object]) -> fw.ToolError:
    with pytest.raises(Exception) as caught:
        call()
    return classified(caught.value)


def check(error: fw.ToolError, code: str, effect: str | None, constraint: str | None = None) -> None:
    assert (error.code, error.effect, error.details.get("constraint")) == (code, effect, constraint)
    assert constraint is None or f"({constraint})" in error.message
    for name in FORMATS:
        assert "secret" not in fw.render(error, name)


@pytest.mark.parametrize("name", STATEMENTS)
def test_sqlite(path: Path, name: str) -> None:
    statement, *expected = STATEMENTS[name]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        check(failure(lambda: connection.execute(statement)), *expected)


@pytest.mark.parametrize("name", STATEMENTS)
def test_sqlalchemy_says_what_its_driver_says(path: Path, name: str) -> None:
    statement, *expected = STATEMENTS[name]
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA foreign_keys = ON")
            check(failure(lambda: connection.execute(sa.text(statement))), *expected)
    finally:
        engine.dispose()


def test_sqlite_locked(path: Path) -> None:
    with closing(sqlite3.connect(path)) as first, closing(sqlite3.connect(path, timeout=0)) as second:
        first.execute("BEGIN IMMEDIATE")
        error = failure(lambda: second.execute("INSERT INTO owners VALUES (1)"))
    check(error, "UNAVAILABLE", "none")
    assert error.retryable


def test_sqlite_that_can_only_be_read(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        check(failure(lambda: connection.execute("INSERT INTO owners VALUES (1)")), "FORBIDDEN", "none")


def test_sqlite_files(tmp_path: Path) -> None:
    check(failure(lambda: sqlite3.connect(tmp_path / "secret" / "x.db")), "IO_ERROR", None)
    (tmp_path / "secret").write_text("this is no database, " * 100)
    with closing(sqlite3.connect(tmp_path / "secret")) as connection:
        check(failure(lambda: connection.execute("SELECT * FROM x")), "IO_ERROR", None)


def test_sqlite_used_wrongly(path: Path) -> None:
    connection = sqlite3.connect(path)
    check(failure(lambda: connection.execute("SELECT ?", ())), "INTERNAL_ERROR", None)
    connection.close()
    check(failure(lambda: connection.execute("SELECT 1")), "INTERNAL_ERROR", None)


def test_the_names_of_sqlite_are_its_own() -> None:
    # Python does not know this one, and calls it unknown.
    assert [name for name in SQLITE if not hasattr(sqlite3, name)] == ["SQLITE_CONSTRAINT_DATATYPE"]


def test_sqlalchemy_records(path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{path}")
    try:
        with sa.orm.Session(engine) as session:
            query = sa.text("SELECT id FROM users WHERE id = 77")
            check(failure(lambda: session.execute(query).one()), "NOT_FOUND", "none")
    finally:
        engine.dispose()


def test_a_pool_that_is_used_up(path: Path) -> None:
    engine = sa.create_engine(
        f"sqlite:///{path}", poolclass=sa.pool.QueuePool, pool_size=1, max_overflow=0, pool_timeout=0
    )
    try:
        with engine.connect():
            check(failure(engine.connect), "SERVER_BUSY", "none")
    finally:
        engine.dispose()


def wrapped(kind: str, orig: Exception, lost: bool = False) -> Exception:
    """As SQLAlchemy wraps what a driver raises."""
    found: Exception = getattr(sa.exc, kind)("SELECT secret", {"a": "secret"}, orig, connection_invalidated=lost)
    return found


@pytest.mark.parametrize(
    ("exc", "code", "effect", "constraint"),
    [
        pytest.param(
            wrapped("IntegrityError", psycopg.errors.UniqueViolation("secret")), "CONFLICT", "none", None, id="psycopg"
        ),
        pytest.param(
            wrapped(
                "IntegrityError",
                asyncpg.UniqueViolationError.new({"C": "23505", "M": "secret", "n": "users_email_key"}),
            ),
            "CONFLICT",
            "none",
            "users_email_key",
            id="asyncpg",
        ),
        pytest.param(
            wrapped("OperationalError", psycopg.errors.DeadlockDetected("secret")),
            "UNAVAILABLE",
            "none",
            None,
            id="deadlock",
        ),
        pytest.param(wrapped("IntegrityError", Exception("secret")), "CONFLICT", "none", None, id="unknown-driver"),
        pytest.param(wrapped("DataError", Exception("secret")), "VALIDATION_ERROR", "none", None, id="unknown-data"),
        pytest.param(
            wrapped("OperationalError", Exception("secret")), "UPSTREAM_ERROR", "unknown", None, id="unknown-failure"
        ),
        pytest.param(
            wrapped("OperationalError", Exception("secret"), True), "NETWORK_ERROR", "unknown", None, id="lost"
        ),
        pytest.param(
            wrapped("ProgrammingError", Exception("secret")), "INTERNAL_ERROR", None, None, id="unknown-mistake"
        ),
        pytest.param(sa.orm.exc.StaleDataError("secret"), "UNAVAILABLE", "none", None, id="stale"),
        pytest.param(sa.exc.DisconnectionError("secret"), "NETWORK_ERROR", "unknown", None, id="disconnected"),
        pytest.param(sa.exc.NoSuchModuleError("secret"), "NOT_CONFIGURED", None, None, id="no-driver"),
        pytest.param(sa.exc.ArgumentError("secret"), "INTERNAL_ERROR", None, None, id="mistake"),
    ],
)
def test_sqlalchemy(exc: Exception, code: str, effect: str | None, constraint: str | None) -> None:
    check(classified(exc), code, effect, constraint)


# SQLSTATE: (code, effect)
STATES: dict[str, tuple[str, str | None]] = {
    "08001": ("NETWORK_ERROR", "none"),
    "08006": ("NETWORK_ERROR", "unknown"),
    "0A000": ("UNSUPPORTED", "none"),
    "22001": ("VALIDATION_ERROR", "none"),
    "22P02": ("VALIDATION_ERROR", "none"),
    "23502": ("VALIDATION_ERROR", "none"),
    "23503": ("CONFLICT", "none"),
    "23505": ("CONFLICT", "none"),
    "23514": ("VALIDATION_ERROR", "none"),
    "23P01": ("CONFLICT", "none"),
    "25006": ("FORBIDDEN", "none"),
    "25P02": ("INTERNAL_ERROR", None),
    "28P01": ("NOT_CONFIGURED", None),
    "3D000": ("NOT_CONFIGURED", None),
    "40001": ("UNAVAILABLE", "none"),
    "40003": ("UNAVAILABLE", "unknown"),
    "40P01": ("UNAVAILABLE", "none"),
    "42501": ("FORBIDDEN", "none"),
    "42601": ("INTERNAL_ERROR", None),
    "42P01": ("INTERNAL_ERROR", None),
    "53100": ("IO_ERROR", None),
    "53300": ("SERVER_BUSY", "none"),
    "55P03": ("UNAVAILABLE", "none"),
    "57014": ("TIMEOUT", "unknown"),
    "57P01": ("UNAVAILABLE", "unknown"),
    "57P03": ("UNAVAILABLE", "none"),
    "58030": ("IO_ERROR", None),
    "P0001": ("VALIDATION_ERROR", "none"),
    "XX000": ("INTERNAL_ERROR", None),
}


@pytest.mark.parametrize("state", STATES)
def test_postgres(state: str) -> None:
    check(classified(psycopg.errors.lookup(state)("secret")), *STATES[state])
    fields = {"C": state, "M": "secret", "D": "Key (email)=(secret) exists.", "n": "users_email_key"}
    check(classified(asyncpg.PostgresError.new(fields, query="SELECT secret")), *STATES[state], "users_email_key")


def test_states_that_name_one_class_or_one_case() -> None:
    assert {len(state) for state in SQLSTATES} == {2, 5}


@pytest.mark.parametrize("name", ["a b", "x" * 400, "email = 'secret'", "", 5], ids=repr)
def test_only_names_of_constraints_are_shown(name: Any) -> None:
    error = classified(asyncpg.PostgresError.new({"C": "23505", "M": "", "n": name}))
    assert error.details == {}


@pytest.mark.parametrize(
    "words", ['connection failed: FATAL:  role "secret" does not exist', "server closed the connection unexpectedly"]
)
def test_words_of_psycopg_say_nothing(words: str) -> None:
    check(classified(psycopg.OperationalError(words)), "NETWORK_ERROR", "unknown")


def test_a_real_refusal_by_psycopg() -> None:
    from upstream import nobody

    with nobody() as address:
        host, _, port = address.partition(":")
        error = failure(
            lambda: psycopg.connect(host=host, port=port, user="secret", password="secret", connect_timeout=5)
        )
    check(error, "NETWORK_ERROR", "unknown")


@pytest.mark.parametrize(
    ("exc", "code", "effect"),
    [
        pytest.param(psycopg.errors.ConnectionTimeout("secret"), "TIMEOUT", "unknown", id="ConnectionTimeout"),
        pytest.param(psycopg.InterfaceError("secret"), "INTERNAL_ERROR", None, id="psycopg-interface"),
        pytest.param(asyncpg.InterfaceError("secret"), "INTERNAL_ERROR", None, id="asyncpg-interface"),
        pytest.param(
            asyncpg.exceptions.ClientConfigurationError("secret"), "NOT_CONFIGURED", None, id="asyncpg-settings"
        ),
        pytest.param(asyncpg.ConnectionDoesNotExistError("secret"), "NETWORK_ERROR", "unknown", id="asyncpg-lost"),
        pytest.param(asyncpg.TooManyConnectionsError("secret"), "SERVER_BUSY", "none", id="asyncpg-full"),
        pytest.param(asyncpg.exceptions.InternalClientError("secret"), "INTERNAL_ERROR", None, id="asyncpg-internal"),
    ],
)
def test_postgres_clients(exc: Exception, code: str, effect: str | None) -> None:
    check(classified(exc), code, effect)


REDIS: dict[str, tuple[str, str | None]] = {
    "ConnectionError": ("NETWORK_ERROR", "unknown"),
    "TimeoutError": ("TIMEOUT", "unknown"),
    "AuthenticationError": ("NOT_CONFIGURED", None),
    "AuthorizationError": ("NOT_CONFIGURED", None),
    "AuthenticationWrongNumberOfArgsError": ("NOT_CONFIGURED", None),
    "BusyLoadingError": ("UNAVAILABLE", "none"),
    "ReadOnlyError": ("UNAVAILABLE", "none"),
    "ClusterDownError": ("UNAVAILABLE", "none"),
    "TryAgainError": ("UNAVAILABLE", "none"),
    "SlotNotCoveredError": ("UNAVAILABLE", "none"),
    "WatchError": ("UNAVAILABLE", "none"),
    "MaxConnectionsError": ("SERVER_BUSY", "none"),
    "OutOfMemoryError": ("SERVER_BUSY", "none"),
    "NoPermissionError": ("FORBIDDEN", "none"),
    "LockError": ("CONFLICT", "none"),
    "LockNotOwnedError": ("CONFLICT", "none"),
    "InvalidResponse": ("UPSTREAM_ERROR", "unknown"),
    "ResponseError": ("INTERNAL_ERROR", None),
    "DataError": ("INTERNAL_ERROR", None),
    "RedisError": ("INTERNAL_ERROR", None),
}


@pytest.mark.parametrize("name", REDIS)
def test_redis(name: str) -> None:
    check(classified(getattr(redis.exceptions, name)("secret")), *REDIS[name])


@pytest.mark.parametrize("real", ["refused", "dns"])
def test_redis_connections(real: str) -> None:
    from upstream import nobody

    with nobody() as address:
        host = "does-not-exist.invalid" if real == "dns" else "127.0.0.1"
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
        with redis.Redis(host=host, port=int(address.partition(":")[2]), password="secret", retry=retry) as client:
            error = failure(client.ping)
    check(error, "NETWORK_ERROR", "unknown")


def mongo(code: int | None, **details: Any) -> Exception:
    return pymongo.errors.OperationFailure("secret", code, {"errmsg": "secret", **details})


MONGO: dict[str, tuple[Exception, str, str | None]] = {
    "AutoReconnect": (pymongo.errors.AutoReconnect("secret"), "NETWORK_ERROR", "unknown"),
    "NetworkTimeout": (pymongo.errors.NetworkTimeout("secret"), "TIMEOUT", "unknown"),
    "ServerSelectionTimeoutError": (pymongo.errors.ServerSelectionTimeoutError("secret"), "NETWORK_ERROR", "none"),
    "NotPrimaryError": (pymongo.errors.NotPrimaryError("secret"), "UNAVAILABLE", "unknown"),
    "WaitQueueTimeoutError": (pymongo.errors.WaitQueueTimeoutError("secret"), "SERVER_BUSY", "none"),
    "ExecutionTimeout": (pymongo.errors.ExecutionTimeout("secret", 50), "TIMEOUT", "unknown"),
    "WTimeoutError": (pymongo.errors.WTimeoutError("secret", 64), "TIMEOUT", "unknown"),
    "WriteConcernError": (pymongo.errors.WriteConcernError("secret", 100), "UPSTREAM_ERROR", "unknown"),
    "CursorNotFound": (pymongo.errors.CursorNotFound("secret", 43), "UNAVAILABLE", "none"),
    "ConfigurationError": (pymongo.errors.ConfigurationError("secret"), "NOT_CONFIGURED", None),
    "InvalidURI": (pymongo.errors.InvalidURI("secret"), "NOT_CONFIGURED", None),
    "CollectionInvalid": (pymongo.errors.CollectionInvalid("secret"), "CONFLICT", "none"),
    "InvalidOperation": (pymongo.errors.InvalidOperation("secret"), "INTERNAL_ERROR", None),
    "DocumentTooLarge": (pymongo.errors.DocumentTooLarge("secret"), "VALIDATION_ERROR", "none"),
    "InvalidId": (bson.errors.InvalidId("secret"), "VALIDATION_ERROR", "none"),
    "authentication": (mongo(18), "NOT_CONFIGURED", None),
    "unauthorized": (mongo(13), "FORBIDDEN", "none"),
    "write-conflict": (mongo(112), "UNAVAILABLE", "none"),
    "validation": (mongo(121), "VALIDATION_ERROR", "none"),
    "throttled": (mongo(16500), "RATE_LIMITED", "none"),
    "exists": (mongo(48), "CONFLICT", "none"),
    "stepped-down": (mongo(189), "UNAVAILABLE", "unknown"),
    "labelled": (mongo(None, errorLabels=["TransientTransactionError"]), "UNAVAILABLE", "none"),
    "bad-query": (mongo(2), "INTERNAL_ERROR", None),
}


@pytest.mark.parametrize("name", MONGO)
def test_pymongo(name: str) -> None:
    exc, code, effect = MONGO[name]
    check(classified(exc), code, effect)


def test_duplicates_in_mongo_name_the_index() -> None:
    details = {"keyPattern": {"email": 1, "org.id": 1}, "keyValue": {"email": "secret"}}
    check(classified(pymongo.errors.DuplicateKeyError("secret", 11000, details)), "CONFLICT", "none", "email, org.id")


@pytest.mark.parametrize(("done", "effect"), [(0, "none"), (2, "partial")])
def test_bulk_writes_may_have_been_done_in_part(done: int, effect: str) -> None:
    results = {"writeErrors": [{"code": 11000, "errmsg": "secret"}], "nInserted": done}
    check(classified(pymongo.errors.BulkWriteError(results)), "CONFLICT", effect)
