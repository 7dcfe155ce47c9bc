"""Who holds what: a SQLite file that several servers can share."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import failwell as fw

from .patterns import checked, overlap

SCHEMA = """
CREATE TABLE IF NOT EXISTS agents (id TEXT PRIMARY KEY, task TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS reservations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, agent_id TEXT NOT NULL REFERENCES agents, pattern TEXT NOT NULL,
  exclusive INTEGER NOT NULL, expires_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT, reservation_id INTEGER NOT NULL, asked_by TEXT NOT NULL,
  reason TEXT NOT NULL, answer TEXT);
"""
BUSY_SECONDS = 0.5
Row = dict[str, Any]


class Store:
    """Every change is one transaction that locks first, so that nobody reserves between a look and a write."""

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self.path = path
        self.clock = clock
        with closing(sqlite3.connect(path)) as database:
            database.executescript(SCHEMA)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)) as database:
            database.row_factory = sqlite3.Row
            database.execute("BEGIN IMMEDIATE")
            try:
                database.execute("DELETE FROM reservations WHERE expires_at <= ?", (self.clock(),))
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def register(self, agent_id: str, task: str) -> Row:
        with self.changing() as database:
            database.execute("INSERT OR REPLACE INTO agents VALUES (?, ?)", (agent_id, task))
        return {"agent_id": agent_id, "task": task}

    def reserve(self, agent_id: str, pattern: str, minutes: float, exclusive: bool) -> Row:
        checked(pattern)
        with self.changing() as database:
            self._agent(database, agent_id)
            if held := self._held(database, agent_id, pattern, exclusive):
                raise conflict(pattern, held, self.clock())
            expires = self.clock() + minutes * 60
            made = database.execute(
                "INSERT INTO reservations (agent_id, pattern, exclusive, expires_at) VALUES (?, ?, ?, ?)",
                (agent_id, pattern, exclusive, expires),
            )
            return self._shown(self._one(database, made.lastrowid))

    def conflicts(self, agent_id: str, pattern: str, exclusive: bool) -> list[Row]:
        checked(pattern)
        with self.changing() as database:
            return [self._shown(row) for row in self._held(database, agent_id, pattern, exclusive)]

    def extend(self, agent_id: str, reservation_id: int, minutes: float) -> Row:
        with self.changing() as database:
            self._own(database, agent_id, reservation_id)
            database.execute(
                "UPDATE reservations SET expires_at = ? WHERE id = ?", (self.clock() + minutes * 60, reservation_id)
            )
            return self._shown(self._one(database, reservation_id))

    def release(self, agent_id: str, reservation_id: int) -> Row:
        with self.changing() as database:
            row = self._own(database, agent_id, reservation_id)
            database.execute("DELETE FROM reservations WHERE id = ?", (reservation_id,))
            return self._shown(row)

    def listed(self, agent_id: str | None) -> list[Row]:
        with self.changing() as database:
            rows = database.execute("SELECT * FROM reservations ORDER BY id").fetchall()
            return [self._shown(row) for row in rows if agent_id in (None, row["agent_id"])]

    def ask(self, agent_id: str, reservation_id: int, reason: str) -> Row:
        with self.changing() as database:
            self._agent(database, agent_id)
            row = self._one(database, reservation_id)
            made = database.execute(
                "INSERT INTO requests (reservation_id, asked_by, reason) VALUES (?, ?, ?)",
                (reservation_id, agent_id, reason),
            )
            return {"request_id": made.lastrowid, "holder": row["agent_id"], "answer": None}

    def answer(self, agent_id: str, request_id: int, release: bool, reason: str) -> Row:
        with self.changing() as database:
            asked = database.execute("SELECT * FROM requests WHERE id = ?", (request_id,)).fetchone()
            if asked is None or asked["answer"] is not None:
                raise fw.NotFound(f"Request {request_id} does not wait for an answer.", actions=["list_requests"])
            self._own(database, agent_id, asked["reservation_id"])
            answer = "released" if release else f"declined: {reason}"
            database.execute("UPDATE requests SET answer = ? WHERE id = ?", (answer, request_id))
            if release:
                database.execute("DELETE FROM reservations WHERE id = ?", (asked["reservation_id"],))
            return {"request_id": request_id, "holder": agent_id, "answer": answer}

    def requests(self, agent_id: str) -> list[Row]:
        with self.changing() as database:
            rows = database.execute(
                "SELECT requests.*, reservations.agent_id AS holder, reservations.pattern FROM requests"
                " LEFT JOIN reservations ON reservations.id = requests.reservation_id"
                " WHERE holder = ?1 OR asked_by = ?1 ORDER BY requests.id",
                (agent_id,),
            ).fetchall()
            return [dict(row) for row in rows]

    def _agent(self, database: sqlite3.Connection, agent_id: str) -> None:
        if database.execute("SELECT 1 FROM agents WHERE id = ?", (agent_id,)).fetchone() is None:
            raise fw.NotFound(f"Agent {agent_id!r} is not registered.", actions=["register_agent"])

    def _one(self, database: sqlite3.Connection, reservation_id: int | None) -> sqlite3.Row:
        row: sqlite3.Row | None = database.execute(
            "SELECT * FROM reservations WHERE id = ?", (reservation_id,)
        ).fetchone()
        if row is None:
            raise fw.NotFound(
                f"Reservation {reservation_id} does not exist, or has expired.", actions=["list_reservations"]
            )
        return row

    def _own(self, database: sqlite3.Connection, agent_id: str, reservation_id: int) -> sqlite3.Row:
        self._agent(database, agent_id)
        row = self._one(database, reservation_id)
        if row["agent_id"] != agent_id:
            raise fw.Denied(
                f"Reservation {reservation_id} is held by {row['agent_id']}.",
                suggestion="Ask the holder to release it.",
                actions=[{"tool": "request_release", "arguments": {"reservation_id": reservation_id}}],
            )
        return row

    def _held(self, database: sqlite3.Connection, agent_id: str, pattern: str, exclusive: bool) -> list[sqlite3.Row]:
        rows = database.execute("SELECT * FROM reservations WHERE agent_id != ? ORDER BY id", (agent_id,)).fetchall()
        return [row for row in rows if (exclusive or row["exclusive"]) and overlap(pattern, row["pattern"])]

    def _shown(self, row: sqlite3.Row) -> Row:
        left = max(0, round((row["expires_at"] - self.clock()) / 60, 1))
        return {
            "reservation_id": row["id"],
            "agent_id": row["agent_id"],
            "pattern": row["pattern"],
            "exclusive": bool(row["exclusive"]),
            "minutes_left": left,
        }


def _holder(row: sqlite3.Row) -> Row:
    return {"agent_id": row["agent_id"], "pattern": row["pattern"], "held_by": row["agent_id"]}


def conflict(pattern: str, held: list[sqlite3.Row], now: float) -> fw.ToolError:
    """Who is in the way, and until when: an agent can ask them, or wait."""
    others = f"{len(held)} conflict{'s' if len(held) > 1 else ''}"
    return fw.Conflict(
        f"{others} for {pattern!r}.",
        recoverable=True,
        retry_after=max(1, math.ceil(min(row["expires_at"] for row in held) - now)),
        conflicts=[_holder(row) for row in held],
        details={"reservation_ids": [row["id"] for row in held]},
        suggestion="Ask the holder to release it, or wait until it expires.",
        actions=[{"tool": "request_release", "arguments": {"reservation_id": row["id"]}} for row in held[:3]],
    )
