"""The workspace in SQLite, with something in it to begin with."""

from __future__ import annotations

import sqlite3
import time
from threading import Lock
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS projects (id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, owner TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, email TEXT UNIQUE NOT NULL, role TEXT NOT NULL, active INTEGER);
CREATE TABLE IF NOT EXISTS invoices (id TEXT PRIMARY KEY, project TEXT NOT NULL, cents INTEGER, status TEXT NOT NULL);
INSERT OR IGNORE INTO projects VALUES ('apollo', 'Apollo', 'u_ada'), ('gemini', 'Gemini', 'u_bob');
INSERT OR IGNORE INTO users VALUES
  ('u_ada', 'ada@example.com', 'admin', 1), ('u_bob', 'bob@example.com', 'user', 1),
  ('u_eve', 'eve@example.com', 'user', 0);
INSERT OR IGNORE INTO invoices VALUES
  ('inv_1', 'apollo', 4200, 'open'), ('inv_2', 'gemini', 990, 'paid'), ('inv_3', 'gemini', 0, 'open');
"""
Row = dict[str, Any]


class Store:
    """One connection, one statement at a time."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.row_factory = sqlite3.Row
        self._database.executescript(SCHEMA)
        self._lock = Lock()

    def rows(self, query: str, *values: object) -> list[Row]:
        with self._lock:
            return [dict(row) for row in self._database.execute(query, values).fetchall()]

    def slow_rows(self, seconds: float, query: str, *values: object) -> list[Row]:
        """The same for a query that may take long, and is stopped after so many seconds."""
        ends = time.monotonic() + seconds
        with self._lock:
            self._database.set_progress_handler(lambda: time.monotonic() > ends, 1000)
            try:
                return [dict(row) for row in self._database.execute(query, values).fetchall()]
            except sqlite3.OperationalError as problem:
                if time.monotonic() > ends:
                    raise TimeoutError from problem
                raise
            finally:
                self._database.set_progress_handler(None, 0)

    def row(self, query: str, *values: object) -> Row | None:
        return next(iter(self.rows(query, *values)), None)

    def ids(self, table: str) -> list[str]:
        return [row["id"] for row in self.rows(f"SELECT id FROM {table} ORDER BY id")]
