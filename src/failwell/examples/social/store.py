"""What the server remembers, in SQLite: threads and how far they got, drafts, and the mutations of the last seconds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS threads (id INTEGER PRIMARY KEY, texts TEXT, media TEXT, size INTEGER, state TEXT);
CREATE TABLE IF NOT EXISTS posts (thread INTEGER, place INTEGER, post TEXT, at REAL, PRIMARY KEY (thread, place));
CREATE TABLE IF NOT EXISTS drafts (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, at REAL);
"""


@dataclass(frozen=True)
class Thread:
    """Posts that belong together; a single post is a thread of one. Its state: `waiting`, `open` or `rejected`."""

    id: int
    texts: list[str]
    media: str | None
    posted: list[str]


class Store:
    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self.clock = clock
        with self._open() as db:
            db.executescript(SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=0.2, isolation_level="IMMEDIATE")) as db, db:
            yield db

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._open() as db:
            return db.execute(sql, values).fetchall()

    def _added(self, sql: str, *values: Any) -> int:
        with self._open() as db:
            return db.execute(sql, values).lastrowid or 0

    def begin(self, texts: Sequence[str], media: str | None, state: str = "open") -> tuple[int, bool]:
        """A thread for these texts, and whether it is new: one that stopped half way is taken up again."""
        written = json.dumps(texts)
        unfinished = "size > (SELECT count(*) FROM posts WHERE thread = threads.id)"
        same = f"SELECT id FROM threads WHERE state = ? AND texts = ? AND media IS ? AND {unfinished}"
        if rows := self._rows(same, state, written, media):
            return rows[0][0], False
        add = "INSERT INTO threads (texts, media, size, state) VALUES (?, ?, ?, ?)"
        return self._added(add, written, media, len(texts), state), True

    def thread(self, id: int, state: str = "open") -> Thread | None:
        posted = [row[0] for row in self._rows("SELECT post FROM posts WHERE thread = ? ORDER BY place", id)]
        rows = self._rows("SELECT texts, media FROM threads WHERE id = ? AND state = ?", id, state)
        return Thread(id, json.loads(rows[0][0]), rows[0][1], posted) if rows else None

    def waiting(self) -> list[dict[str, Any]]:
        rows = self._rows("SELECT id, texts FROM threads WHERE state = 'waiting' ORDER BY id")
        return [{"approval_id": id, "texts": json.loads(texts)} for id, texts in rows]

    def decide(self, thread: int, state: str) -> None:
        self._rows("UPDATE threads SET state = ? WHERE id = ?", state, thread)

    def posted(self, thread: int, place: int, post: str) -> None:
        self._rows("INSERT INTO posts VALUES (?, ?, ?, ?)", thread, place, post, self.clock())

    def knows(self, post: str) -> bool:
        return bool(self._rows("SELECT 1 FROM posts WHERE post = ?", post))

    def times_since(self, moment: float) -> list[float]:
        return [row[0] for row in self._rows("SELECT at FROM posts WHERE at > ? ORDER BY at", moment)]

    def add_draft(self, text: str) -> int:
        return self._added("INSERT INTO drafts (text) VALUES (?)", text)

    def drafts(self) -> dict[int, str]:
        return dict(self._rows("SELECT id, text FROM drafts ORDER BY id"))

    def claim(self, key: str, seconds: float) -> float:
        """Zero if nobody made this call in the last `seconds`; otherwise how long it takes until that is so."""
        now = self.clock()
        with self._open() as db:
            db.execute("DELETE FROM calls WHERE at <= ?", (now - seconds,))
            if row := db.execute("SELECT at FROM calls WHERE key = ?", (key,)).fetchone():
                return float(row[0]) + seconds - now
            db.execute("INSERT INTO calls VALUES (?, ?)", (key, now))
            return 0.0

    def forget(self, key: str) -> None:
        self._rows("DELETE FROM calls WHERE key = ?", key)
