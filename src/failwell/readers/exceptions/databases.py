"""Rows for databases: sqlite3, psycopg, asyncpg, SQLAlchemy, redis and pymongo.

What a database says quotes statements, values, hosts and users, so none of it is passed on; only the name of a
constraint is, since it tells the caller which argument was in the way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from failwell.model import Effect, ToolError

from .builtin import unreached
from .chain import attribute, chain, exc_text
from .exception_table import SHIPPED, Row, broken, names, says
from .web import transport


class Meaning(NamedTuple):
    """What a database's code stands for."""

    code: str
    message: str
    effect: Effect | None = None


EXISTS: Final = Meaning("CONFLICT", "The database holds one like it already.")
REFERENCE: Final = Meaning("CONFLICT", "It refers to something that does not exist, or something still refers to it.")
HELD: Final = Meaning("CONFLICT", "Someone else holds the lock.")
RULE: Final = Meaning("CONFLICT", "A rule of the database does not allow this.")
EMPTY: Final = Meaning("VALIDATION_ERROR", "A value that the database requires is missing.")
REFUSED: Final = Meaning("VALIDATION_ERROR", "A value breaks a rule of the database.")
UNFIT: Final = Meaning("VALIDATION_ERROR", "A value does not fit into the database.")
GONE: Final = Meaning("NOT_FOUND", "The record does not exist.")
# The transaction was undone, so that the whole call may be made again.
BEATEN: Final = Meaning("UNAVAILABLE", "Another change got in the way, and nothing was changed.", Effect.NONE)
LOCKED: Final = Meaning("UNAVAILABLE", "The record or the database is locked by another change.", Effect.NONE)
LATE: Final = Meaning("TIMEOUT", "The database took too long.")
NOT_READY: Final = Meaning("UNAVAILABLE", "The database is not ready to take this.", Effect.NONE)
GOING_DOWN: Final = Meaning("UNAVAILABLE", "The database stopped while it was working.", Effect.UNKNOWN)
FULL: Final = Meaning("SERVER_BUSY", "The database has no capacity left.")
UNREACHED: Final = Meaning("NETWORK_ERROR", "The database cannot be reached.", Effect.NONE)
CUT_OFF: Final = Meaning("NETWORK_ERROR", "The connection to the database broke.", Effect.UNKNOWN)
NOT_SET_UP: Final = Meaning("NOT_CONFIGURED", "The server's access to its database is not set up.")
FORBIDDEN: Final = Meaning("FORBIDDEN", "The tool may not do this in the database.")
UNABLE: Final = Meaning("UNSUPPORTED", "The database cannot do this.")
STORAGE: Final = Meaning("IO_ERROR", "The database cannot read or write its storage.")
THROTTLED: Final = Meaning("RATE_LIMITED", "The database takes no more requests for now.")
FAILED: Final = Meaning("UPSTREAM_ERROR", "The database failed.")
MISTAKE: Final = Meaning("INTERNAL_ERROR", "The tool used its database in a wrong way.")

# By the whole SQLSTATE, else by its class, which is the first two characters.
SQLSTATES: Final[Mapping[str, Meaning]] = {
    **dict.fromkeys(("02", "P0002"), GONE),
    "08": CUT_OFF,
    **dict.fromkeys(("08001", "08004", "HYT01"), UNREACHED),
    "0A": UNABLE,
    "22": UNFIT,
    **dict.fromkeys(("23", "27", "40002"), RULE),
    "23502": EMPTY,
    **dict.fromkeys(("23503", "23001"), REFERENCE),
    **dict.fromkeys(("23505", "23P01"), EXISTS),
    **dict.fromkeys(("23514", "44", "P0001"), REFUSED),
    **dict.fromkeys(("25006", "42501"), FORBIDDEN),
    **dict.fromkeys(("25P03", "40", "72"), BEATEN),
    **dict.fromkeys(("28", "3D", "57P04"), NOT_SET_UP),
    **dict.fromkeys(("40003", "57"), GOING_DOWN),
    "53": FULL,
    **dict.fromkeys(("53100", "58"), STORAGE),
    **dict.fromkeys(("55006", "55P03"), LOCKED),
    **dict.fromkeys(("25P04", "57014", "HYT00"), LATE),
    "57P03": NOT_READY,
}
SQLITE: Final[Mapping[str, Meaning]] = {
    f"SQLITE_{name}": meaning
    for meaning, known in {
        RULE: "CONSTRAINT",
        EXISTS: "CONSTRAINT_UNIQUE CONSTRAINT_PRIMARYKEY CONSTRAINT_ROWID",
        REFERENCE: "CONSTRAINT_FOREIGNKEY",
        EMPTY: "CONSTRAINT_NOTNULL",
        REFUSED: "CONSTRAINT_CHECK CONSTRAINT_TRIGGER",
        UNFIT: "CONSTRAINT_DATATYPE MISMATCH TOOBIG",
        LOCKED: "BUSY LOCKED PROTOCOL",
        LATE: "INTERRUPT",
        BEATEN: "ABORT",
        FULL: "NOMEM",
        FORBIDDEN: "READONLY AUTH PERM",
        STORAGE: "CANTOPEN CORRUPT FULL IOERR NOTADB",
    }.items()
    for name in known.split()
}
# SQLite has it, Python calls it unknown.
_UNNAMED: Final = {3091: "SQLITE_CONSTRAINT_DATATYPE"}
# pymongo: the codes of the server.
MONGO: Final[Mapping[int, Meaning]] = {
    code: meaning
    for meaning, known in {
        EXISTS: (48, 11000, 11001, 12582),
        BEATEN: (112, 225, 251, 256),
        LOCKED: (24, 46, 107, 117),
        UNFIT: (14, 66, 10334, 17280, 17419, 17420),
        LATE: (50, 64, 89, 202, 262),
        NOT_SET_UP: (11, 18, 334, 335, 391, 8000),
        CUT_OFF: (6, 7, 9001),
        GOING_DOWN: (91, 189, 11600, 11602),
        NOT_READY: (43, 133, 134, 10107, 13435, 13436),
        UNABLE: (59, 115, 238, 304),
        THROTTLED: (462, 16500),
        FORBIDDEN: (13,),
        REFUSED: (121,),
        STORAGE: (14031,),
    }.items()
    for code in known
}
# Names, perhaps of several columns. Anything else could be a piece of a statement, or a value.
_NAMES: Final = re.compile(r"[A-Za-z_][\w.$]{0,62}(?:, [A-Za-z_][\w.$]{0,62}){0,7}")
_SQLITE_COLUMNS: Final = re.compile(r"(?:UNIQUE|NOT NULL|CHECK) constraint failed: (.+)")


def database_error(meaning: Meaning, constraint: object = None) -> ToolError:
    """The error for a meaning, with the name of the constraint that was broken."""
    error = says(*meaning)(None)
    assert error is not None
    if type(constraint) is str and _NAMES.fullmatch(constraint):
        return error.replace(message=f"{meaning.message[:-1]} ({constraint}).", details={"constraint": constraint})
    return error


def by_sqlstate(state: str, constraint: object = None) -> ToolError:
    """What an SQLSTATE means.

    >>> by_sqlstate("23505", "users_email_key").message
    'The database holds one like it already (users_email_key).'
    """
    return database_error(SQLSTATES.get(state) or SQLSTATES.get(state[:2]) or MISTAKE, constraint)


def _postgres(exc: object) -> ToolError | None:
    state = attribute(exc, "sqlstate") or attribute(exc, "pgcode")
    if type(state) is not str:
        return None
    # asyncpg says it itself, psycopg in what it calls the diagnosis.
    constraint = attribute(exc, "constraint_name") or attribute(attribute(exc, "diag"), "constraint_name")
    return by_sqlstate(state, constraint)


def _sqlite(exc: Any) -> ToolError | None:
    name = attribute(exc, "sqlite_errorname")
    if type(name) is not str:
        return None
    name = _UNNAMED.get(attribute(exc, "sqlite_errorcode"), name)
    meaning = SQLITE.get(name) or SQLITE.get("_".join(name.split("_")[:2])) or MISTAKE
    # What a trigger says is the author's text, and may quote values.
    columns = None if name.endswith("TRIGGER") else _SQLITE_COLUMNS.fullmatch(exc_text(exc))
    return database_error(meaning, columns[1] if columns else None)


def _sqlalchemy(exc: BaseException) -> ToolError | None:
    """SQLAlchemy passes on what the driver said, as `orig`."""
    orig = attribute(exc, "orig")
    found = _postgres(orig) or _sqlite(orig)
    if found is None and attribute(exc, "connection_invalidated") is True:
        return database_error(CUT_OFF)
    return found


def _or(read: Row, meaning: Meaning) -> Row:
    """What `read` says, else what the class alone says."""
    return lambda exc: read(exc) or database_error(meaning)


def _mongo(exc: Any) -> ToolError:
    details = attribute(exc, "details")
    meaning = _mongo_meaning(attribute(exc, "code"))
    if meaning is MISTAKE and exc.has_error_label("TransientTransactionError"):
        meaning = BEATEN
    keys = details.get("keyPattern") if isinstance(details, Mapping) else None
    named = list(keys) if isinstance(keys, Mapping) else []
    return database_error(meaning, ", ".join(named) if all(type(name) is str for name in named) else None)


def _mongo_bulk(exc: Any) -> ToolError:
    """Several writes at once: the first that failed says why, and the others may have been done."""
    details = attribute(exc, "details")
    details = details if isinstance(details, Mapping) else {}
    failed = details.get("writeErrors")
    first = failed[0] if isinstance(failed, list) and failed else {}
    error = database_error(_mongo_meaning(first.get("code")))
    if any(details.get(name) for name in ("nInserted", "nUpserted", "nModified", "nRemoved")):
        error.effect = Effect.PARTIAL
    return error


def _mongo_meaning(code: object) -> Meaning:
    return MONGO.get(code, MISTAKE) if type(code) is int else MISTAKE


def _connection(exc: BaseException) -> ToolError:
    return transport(exc, "connection_reset")


REDIS: Final = "redis.exceptions"
PYMONGO: Final = "pymongo.errors"
SQLALCHEMY: Final = "sqlalchemy.exc"

_ROWS: Final[dict[Row, tuple[str, ...]]] = {
    _or(_sqlite, MISTAKE): ("sqlite3.Error",),
    _or(_postgres, MISTAKE): ("psycopg.Error", "asyncpg.exceptions._base.PostgresError"),
    # A connection that was lost, or never made, has no SQLSTATE.
    _or(_postgres, CUT_OFF): ("psycopg.OperationalError",),
    broken: (
        *names("asyncpg.exceptions._base", "InterfaceError InternalClientError"),
        *(f"{SQLALCHEMY}.SQLAlchemyError", f"{REDIS}.RedisError", f"{PYMONGO}.PyMongoError"),
    ),
    _sqlalchemy: (f"{SQLALCHEMY}.DBAPIError",),
    # By their classes, where the driver is one that is not known here.
    _or(_sqlalchemy, RULE): (f"{SQLALCHEMY}.IntegrityError",),
    _or(_sqlalchemy, UNFIT): (f"{SQLALCHEMY}.DataError",),
    _or(_sqlalchemy, FAILED): (f"{SQLALCHEMY}.OperationalError",),
    unreached("timeout"): (f"{REDIS}.TimeoutError", "psycopg.errors.ConnectionTimeout"),
    _connection: (f"{REDIS}.ConnectionError", f"{PYMONGO}.ConnectionFailure"),
    unreached("network"): (f"{PYMONGO}.ServerSelectionTimeoutError",),
    _mongo: (f"{PYMONGO}.OperationFailure",),
    _mongo_bulk: (f"{PYMONGO}.BulkWriteError",),
    **{
        says(*meaning): classes
        for meaning, classes in {
            GONE: names(SQLALCHEMY, "NoResultFound"),
            BEATEN: (
                *names("sqlalchemy.orm.exc", "StaleDataError ObjectDeletedError"),
                *names(REDIS, "WatchError"),
            ),
            CUT_OFF: (f"{SQLALCHEMY}.DisconnectionError", "asyncpg.exceptions.ConnectionDoesNotExistError"),
            FULL: (
                f"{SQLALCHEMY}.TimeoutError",
                *names(REDIS, "MaxConnectionsError OutOfMemoryError"),
                *names(PYMONGO, "WaitQueueTimeoutError"),
            ),
            NOT_SET_UP: (
                *names(SQLALCHEMY, "NoSuchModuleError NoDBAPILoaded UnboundExecutionError"),
                *names(PYMONGO, "ConfigurationError"),
                *names(REDIS, "AuthenticationError AuthorizationError AuthenticationWrongNumberOfArgsError"),
                "asyncpg.exceptions._base.ClientConfigurationError",
            ),
            FORBIDDEN: names(REDIS, "NoPermissionError"),
            NOT_READY: names(
                REDIS, "BusyLoadingError ReadOnlyError TryAgainError ClusterError ClusterDownError SlotNotCoveredError"
            ),
            HELD: names(REDIS, "LockError"),
            FAILED: (*names(REDIS, "InvalidResponse"), *names(PYMONGO, "ProtocolError WriteConcernError")),
            LATE: names(PYMONGO, "NetworkTimeout ExecutionTimeout WTimeoutError"),
            GOING_DOWN: names(PYMONGO, "NotPrimaryError"),
            EXISTS: names(PYMONGO, "CollectionInvalid"),
            UNFIT: names("bson.errors", "InvalidDocument InvalidStringData InvalidId"),
        }.items()
    },
}
SHIPPED.add(_ROWS)
_PACKAGES: Final = frozenset(name.partition(".")[0] for known in _ROWS.values() for name in known)


def is_of_database(exc: BaseException) -> bool:
    """Whether a database said so, or whoever spoke to it."""
    kinds = (kind for each in chain(exc, context=False) for kind in type(each).__mro__)
    return any(kind.__module__.partition(".")[0] in _PACKAGES for kind in kinds)
