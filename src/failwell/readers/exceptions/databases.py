"""Rows for databases: sqlite3, psycopg, asyncpg, SQLAlchemy, redis and pymongo.

What a database says quotes statements, values, hosts and users, so none of it is passed on; only the name of a
constraint is, since it tells the caller which argument was in the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from failwell.model import Effect, ToolError

from .builtin import lost, timed_out, unreachable
from .chain import attribute, chain, origin, said
from .exception_table import SHIPPED, Row, broken, says
from .web import names, transport


class Meaning(NamedTuple):
    """What a database's code stands for."""

    code: str
    message: str
    effect: Effect | None = None
    error_type: str | None = None


def told(meaning: Meaning, constraint: object = None) -> ToolError:
    """The error for a meaning, with the name of the constraint that was broken."""
    code, message, effect, error_type = meaning
    details: dict[str, str] = {"errorType": error_type} if error_type else {}
    if type(constraint) is str and _NAMES.fullmatch(constraint):
        details["constraint"] = constraint
        message = f"{message[:-1]} ({constraint})."
    return ToolError(message, code=code, effect=effect, details=details)


# Names, perhaps of several columns. Anything else could be a piece of a statement, or a value.
_NAMES: Final = re.compile(r"[A-Za-z_][\w.$]{0,62}(?:, [A-Za-z_][\w.$]{0,62}){0,7}")

EXISTS: Final = Meaning("CONFLICT", "The database holds one like it already.")
REFERENCE: Final = Meaning("CONFLICT", "It refers to something that does not exist, or something still refers to it.")
EXISTING: Final = Meaning("CONFLICT", "It exists in the database already.")
HELD: Final = Meaning("CONFLICT", "Someone else holds the lock.")
RULE: Final = Meaning("CONFLICT", "A rule of the database does not allow this.")
EMPTY: Final = Meaning("VALIDATION_ERROR", "A value that the database requires is missing.")
REFUSED: Final = Meaning("VALIDATION_ERROR", "A value breaks a rule of the database.")
UNFIT: Final = Meaning("VALIDATION_ERROR", "A value does not fit into the database.")
GONE: Final = Meaning("NOT_FOUND", "The record does not exist.")
# The transaction was undone, so that the whole call may be made again.
BEATEN: Final = Meaning("UNAVAILABLE", "Another change got in the way, and nothing was changed.", Effect.NONE)
LOCKED: Final = Meaning("UNAVAILABLE", "The record or the database is locked by another change.", Effect.NONE)
STOPPED: Final = Meaning("TIMEOUT", "The database took too long, and nothing was changed.", Effect.NONE, "timeout")
LATE: Final = Meaning("TIMEOUT", "The database took too long.", Effect.UNKNOWN, "timeout")
NOT_READY: Final = Meaning("UNAVAILABLE", "The database is not ready to take this.", Effect.NONE)
GOING_DOWN: Final = Meaning("UNAVAILABLE", "The database stopped while it was working.", Effect.UNKNOWN)
FULL: Final = Meaning("SERVER_BUSY", "The database has no capacity left.")
UNREACHED: Final = Meaning("NETWORK_ERROR", "The database cannot be reached.", Effect.NONE, "network")
CUT_OFF: Final = Meaning("NETWORK_ERROR", "The connection to the database broke.", Effect.UNKNOWN, "connection_reset")
LOCKED_OUT: Final = Meaning("NOT_CONFIGURED", "The server cannot log in to its database.")
NOT_SET_UP: Final = Meaning("NOT_CONFIGURED", "The server's access to its database is not set up.")
FORBIDDEN: Final = Meaning("FORBIDDEN", "The tool may not do this in the database.")
READ_ONLY: Final = Meaning("FORBIDDEN", "The database can only be read.")
UNABLE: Final = Meaning("UNSUPPORTED", "The database cannot do this.")
STORAGE: Final = Meaning("IO_ERROR", "The database cannot read or write its storage.")
THROTTLED: Final = Meaning("RATE_LIMITED", "The database takes no more requests for now.")
FAILED: Final = Meaning("UPSTREAM_ERROR", "The database failed.", Effect.UNKNOWN)
MISTAKE: Final = Meaning("INTERNAL_ERROR", "The tool used its database in a wrong way.")

# By the whole SQLSTATE, else by its class, which is the first two characters.
SQLSTATES: Final[Mapping[str, Meaning]] = {
    "02": GONE,
    "08": CUT_OFF,
    "08001": UNREACHED,
    "08004": UNREACHED,
    "0A": UNABLE,
    "22": UNFIT,
    "23": RULE,
    "23502": EMPTY,
    "23503": REFERENCE,
    "23001": REFERENCE,
    "23505": EXISTS,
    "23514": REFUSED,
    "23P01": EXISTS,
    "25006": READ_ONLY,
    "25P03": BEATEN,
    "25P04": STOPPED,
    "27": RULE,
    "28": LOCKED_OUT,
    "3D": NOT_SET_UP,
    "40": BEATEN,
    "40002": RULE,
    "40003": GOING_DOWN,
    "42501": FORBIDDEN,
    "44": REFUSED,
    "53": FULL,
    "53100": STORAGE,
    "55006": LOCKED,
    "55P03": LOCKED,
    "57": GOING_DOWN,
    "57014": STOPPED,
    "57P03": NOT_READY,
    "57P04": NOT_SET_UP,
    "58": STORAGE,
    "72": BEATEN,
    "HYT00": LATE,
    "HYT01": UNREACHED,
    "P0001": REFUSED,
    "P0002": GONE,
}

# A connection that was never made has no SQLSTATE, only words.
_WORDS: Final = {
    "authentication failed": "28P01",
    "pg_hba.conf": "28000",
    'role "': "28000",
    "does not exist": "3D000",
    "too many c": "53300",
    "connection slots": "53300",
    "starting up": "57P03",
    "shutting down": "57P03",
    "connection failed": "08001",
}


def by_sqlstate(state: str, constraint: object = None) -> ToolError:
    """What an SQLSTATE means.

    >>> by_sqlstate("23505", "users_email_key").message
    'The database holds one like it already (users_email_key).'
    """
    return told(SQLSTATES.get(state) or SQLSTATES.get(state[:2]) or MISTAKE, constraint)


def _sqlstate(exc: object) -> str | None:
    state = attribute(exc, "sqlstate") or attribute(exc, "pgcode")
    return state if type(state) is str else None


def _postgres(exc: BaseException) -> ToolError | None:
    state = _sqlstate(exc)
    if state is None:
        return None
    # asyncpg says it itself, psycopg in what it calls the diagnosis.
    constraint = attribute(exc, "constraint_name") or attribute(attribute(exc, "diag"), "constraint_name")
    return by_sqlstate(state, constraint)


def _psycopg_connection(exc: BaseException) -> ToolError:
    found = _postgres(exc)
    if found is None:
        words = said(exc)
        found = by_sqlstate(next((state for word, state in _WORDS.items() if word in words), "08006"))
    return found


SQLITE: Final[Mapping[str, Meaning]] = {
    "SQLITE_CONSTRAINT": RULE,
    "SQLITE_CONSTRAINT_UNIQUE": EXISTS,
    "SQLITE_CONSTRAINT_PRIMARYKEY": EXISTS,
    "SQLITE_CONSTRAINT_ROWID": EXISTS,
    "SQLITE_CONSTRAINT_FOREIGNKEY": REFERENCE,
    "SQLITE_CONSTRAINT_NOTNULL": EMPTY,
    "SQLITE_CONSTRAINT_CHECK": REFUSED,
    "SQLITE_CONSTRAINT_DATATYPE": UNFIT,
    "SQLITE_CONSTRAINT_TRIGGER": REFUSED,
    "SQLITE_MISMATCH": UNFIT,
    "SQLITE_TOOBIG": UNFIT,
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_PROTOCOL": LOCKED,
    "SQLITE_INTERRUPT": STOPPED,
    "SQLITE_ABORT": BEATEN,
    "SQLITE_NOMEM": FULL,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_AUTH": FORBIDDEN,
    "SQLITE_PERM": FORBIDDEN,
    "SQLITE_CANTOPEN": STORAGE,
    "SQLITE_CORRUPT": STORAGE,
    "SQLITE_FULL": STORAGE,
    "SQLITE_IOERR": STORAGE,
    "SQLITE_NOTADB": STORAGE,
}
# SQLite has it, Python calls it unknown.
_UNNAMED: Final = {3091: "SQLITE_CONSTRAINT_DATATYPE"}
_SQLITE_COLUMNS: Final = re.compile(r"(?:UNIQUE|NOT NULL|CHECK) constraint failed: (.+)")


def _sqlite(exc: BaseException) -> ToolError | None:
    name = attribute(exc, "sqlite_errorname")
    if type(name) is not str:
        return None
    name = _UNNAMED.get(attribute(exc, "sqlite_errorcode"), name)
    meaning = SQLITE.get(name) or SQLITE.get("_".join(name.split("_")[:2])) or MISTAKE
    # What a trigger says is the author's text, and may quote values.
    columns = None if name.endswith("TRIGGER") else _SQLITE_COLUMNS.fullmatch(said(exc))
    return told(meaning, columns[1] if columns else None)


def _sqlalchemy(exc: BaseException) -> ToolError | None:
    """SQLAlchemy passes on what the driver said, as `orig`."""
    orig = attribute(exc, "orig")
    found = _postgres(orig) or _sqlite(orig)
    if found is None and attribute(exc, "connection_invalidated") is True:
        return told(CUT_OFF)
    return found


# pymongo: the codes of the server.
MONGO: Final[Mapping[int, Meaning]] = {
    **dict.fromkeys((11000, 11001, 12582), EXISTS),
    **dict.fromkeys((112, 225, 251, 256), BEATEN),
    **dict.fromkeys((24, 46, 107, 117), LOCKED),
    **dict.fromkeys((14, 66, 10334, 17280, 17419, 17420), UNFIT),
    **dict.fromkeys((50, 262, 202, 64), LATE),
    **dict.fromkeys((11, 18, 334, 335, 391, 8000), LOCKED_OUT),
    **dict.fromkeys((6, 7, 9001), CUT_OFF),
    **dict.fromkeys((91, 189, 11600, 11602), GOING_DOWN),
    **dict.fromkeys((10107, 13435, 13436, 43, 133, 134), NOT_READY),
    **dict.fromkeys((59, 115, 238, 304), UNABLE),
    **dict.fromkeys((462, 16500), THROTTLED),
    13: FORBIDDEN,
    48: EXISTING,
    89: LATE,
    121: REFUSED,
    14031: STORAGE,
}


def _mongo_meaning(code: object) -> Meaning | None:
    return MONGO.get(code) if type(code) is int else None


def _mongo(exc: Any) -> ToolError:
    details = attribute(exc, "details")
    details = details if isinstance(details, Mapping) else {}
    meaning = _mongo_meaning(attribute(exc, "code"))
    if meaning is None:
        meaning = BEATEN if exc.has_error_label("TransientTransactionError") else MISTAKE
    pattern = details.get("keyPattern")
    return told(meaning, ", ".join(pattern) if isinstance(pattern, Mapping) and all(map(_is_text, pattern)) else None)


def _mongo_bulk(exc: Any) -> ToolError:
    """Several writes at once: the first that failed says why, and the others may have been done."""
    details = attribute(exc, "details")
    details = details if isinstance(details, Mapping) else {}
    failed = details.get("writeErrors")
    first = failed[0] if isinstance(failed, list) and failed else {}
    error = told(_mongo_meaning(first.get("code")) or MISTAKE)
    done = any(details.get(name) for name in ("nInserted", "nUpserted", "nModified", "nRemoved"))
    error.effect = Effect.PARTIAL if done else error.effect
    return error


def _is_text(value: object) -> bool:
    return type(value) is str


def _redis_timeout(exc: BaseException) -> ToolError:
    return timed_out(Effect.NONE if said(exc).startswith("Timeout connecting") else Effect.UNKNOWN)


def _redis_connection(exc: BaseException) -> ToolError:
    came = origin(exc)
    if came is None or " connecting to " not in said(exc):
        return lost()
    error = transport(came, lost)
    error.effect = Effect.NONE
    return error


def _connection(exc: BaseException) -> ToolError:
    return transport(exc, lost)


def _no_server() -> ToolError:
    return unreachable("none of its servers answers", "network", Effect.NONE)


def _row(meaning: Meaning) -> Row:
    return says(*meaning)


def _rows(known: Mapping[Meaning, Iterable[str]]) -> dict[str, Row]:
    return {name: row for meaning, classes in known.items() for row in [_row(meaning)] for name in classes}


REDIS: Final = "redis.exceptions"
PYMONGO: Final = "pymongo.errors"
SQLALCHEMY: Final = "sqlalchemy.exc"

ROWS: Final = {
    "sqlite3.Error": lambda exc: _sqlite(exc) or told(MISTAKE),
    "psycopg.Error": lambda exc: _postgres(exc) or told(MISTAKE),
    "psycopg.OperationalError": _psycopg_connection,
    "psycopg.errors.ConnectionTimeout": lambda exc: timed_out(Effect.NONE),
    "asyncpg.exceptions._base.PostgresError": lambda exc: _postgres(exc) or told(MISTAKE),
    "asyncpg.exceptions._base.InterfaceError": broken,
    "asyncpg.exceptions._base.InternalClientError": broken,
    f"{SQLALCHEMY}.DBAPIError": _sqlalchemy,
    f"{SQLALCHEMY}.SQLAlchemyError": broken,
    # By their classes, where the driver is one that is not known here.
    f"{SQLALCHEMY}.IntegrityError": lambda exc: _sqlalchemy(exc) or told(RULE),
    f"{SQLALCHEMY}.DataError": lambda exc: _sqlalchemy(exc) or told(UNFIT),
    f"{SQLALCHEMY}.OperationalError": lambda exc: _sqlalchemy(exc) or told(FAILED),
    f"{REDIS}.RedisError": broken,
    f"{REDIS}.ConnectionError": _redis_connection,
    f"{REDIS}.TimeoutError": _redis_timeout,
    f"{PYMONGO}.PyMongoError": broken,
    f"{PYMONGO}.ConnectionFailure": _connection,
    f"{PYMONGO}.ServerSelectionTimeoutError": lambda exc: _no_server(),
    f"{PYMONGO}.OperationFailure": _mongo,
    f"{PYMONGO}.BulkWriteError": _mongo_bulk,
    **_rows(
        {
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
                "asyncpg.exceptions._base.ClientConfigurationError",
            ),
            LOCKED_OUT: names(
                REDIS,
                "AuthenticationError AuthorizationError ExternalAuthProviderError AuthenticationWrongNumberOfArgsError",
            ),
            FORBIDDEN: names(REDIS, "NoPermissionError"),
            NOT_READY: (
                *names(REDIS, "BusyLoadingError ReadOnlyError TryAgainError AskError"),
                *names(REDIS, "ClusterError ClusterDownError SlotNotCoveredError"),
            ),
            HELD: names(REDIS, "LockError"),
            FAILED: (*names(REDIS, "InvalidResponse"), *names(PYMONGO, "ProtocolError WriteConcernError")),
            LATE: names(PYMONGO, "NetworkTimeout ExecutionTimeout WTimeoutError"),
            GOING_DOWN: names(PYMONGO, "NotPrimaryError"),
            EXISTING: names(PYMONGO, "CollectionInvalid"),
            UNFIT: names("bson.errors", "InvalidDocument InvalidStringData"),
            Meaning("VALIDATION_ERROR", "That is not an id of the database."): names("bson.errors", "InvalidId"),
        }
    ),
}
SHIPPED.add(ROWS)
_PACKAGES: Final = frozenset(name.partition(".")[0] for name in ROWS)


def is_of_database(exc: BaseException) -> bool:
    """Whether a database said so, or whoever spoke to it."""
    kinds = (kind for each in chain(exc, context=False) for kind in type(each).__mro__)
    return any(kind.__module__.partition(".")[0] in _PACKAGES for kind in kinds)
