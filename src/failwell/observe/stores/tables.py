"""The tables of a store, for both databases: the types are the only thing in which they differ."""

from __future__ import annotations

from typing import Final

from .event_rows import COLUMNS, COUNTERS, KEY

VERSION: Final = 1
_TEXTS: Final = frozenset(
    {"server", "client", "era", "tool", "call_id", "print", "kind", "code", "effect", "decision"}
    | {"waiter", "correlation", "trace", "message"}
)
_REALS: Final = frozenset({"seconds", "delay", "waited"})


TYPES: Final = {"i": "BIGINT", "f": "DOUBLE PRECISION", "t": "TEXT"}


def type_of(name: str) -> str:
    """The letter of the type of a column of the table of attempts."""
    return "t" if name in _TEXTS else "f" if name in _REALS else "i"


EVENT_COLUMNS: Final = ", ".join(f"{name} {TYPES[type_of(name)]}" for name in COLUMNS if name != "id")
ROLLUPS: Final = ("rollup", "rollup_day")
"""The sums by the hour, and the same by the day, whose `hour` is its first: a month has too many hours to add up."""
_ROLLUP: Final = (
    "CREATE TABLE IF NOT EXISTS {name} (hour BIGINT NOT NULL, "
    + ", ".join(f"{name} TEXT NOT NULL" for name in KEY[1:])
    + ", "
    + ", ".join(f"n_{name} DOUBLE PRECISION NOT NULL DEFAULT 0" for name in COUNTERS)
    + f", PRIMARY KEY ({', '.join(KEY)}))"
    + " {sorted}"
)
OTHERS: Final = (
    *(_ROLLUP.replace("{name}", name) for name in ROLLUPS),
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS session (id {serial}, name TEXT NOT NULL UNIQUE, client TEXT NOT NULL DEFAULT '', "
    "first_at BIGINT NOT NULL DEFAULT 0, last_at BIGINT NOT NULL DEFAULT 0, calls BIGINT NOT NULL DEFAULT 0, "
    "failed BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS failure (id {serial}, server TEXT NOT NULL, tool TEXT NOT NULL, kind TEXT NOT NULL, "
    "code TEXT NOT NULL, first_at BIGINT NOT NULL, last_at BIGINT NOT NULL, count BIGINT NOT NULL, "
    "UNIQUE (server, tool, kind, code))",
    "CREATE TABLE IF NOT EXISTS doubt (event BIGINT PRIMARY KEY, at BIGINT NOT NULL, session BIGINT NOT NULL, "
    "server TEXT NOT NULL, tool TEXT NOT NULL, code TEXT NOT NULL, print TEXT, verify TEXT, verify_print TEXT, "
    "repeated BIGINT NOT NULL DEFAULT 0, resolved_at BIGINT, how TEXT)",
    "CREATE INDEX IF NOT EXISTS doubt_open ON doubt (session) WHERE resolved_at IS NULL",
    "CREATE INDEX IF NOT EXISTS doubt_at ON doubt (at, how, repeated, server, tool, code)",
    "CREATE TABLE IF NOT EXISTS declared (server TEXT NOT NULL, tool TEXT NOT NULL, code TEXT NOT NULL, "
    "at BIGINT NOT NULL, PRIMARY KEY (server, tool, code))",
    "CREATE TABLE IF NOT EXISTS dropped (at BIGINT NOT NULL, count BIGINT NOT NULL, why TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS event_session ON event (session, id)",
    "CREATE INDEX IF NOT EXISTS event_call ON event (call_id) WHERE call_id IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS event_failed ON event (tool, code, id) WHERE ok = 0",
)
"""What is made beside the table of attempts; `{serial}` is a number that the database gives, `{sorted}` has it keep
rows in the order of their key."""
