"""What the server remembers, in SQLite: threads and how far they got, and the mutations of the last seconds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

from .codes import S

State = Literal["waiting", "open", "rejected"]
SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS threads (id INTEGER PRIMARY KEY, texts TEXT, media TEXT, state TEXT);
CREATE TABLE IF NOT EXISTS posts (thread INTEGER, place INTEGER, post TEXT, at REAL, PRIMARY KEY (thread, place));
CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, at REAL);
"""


@dataclass(frozen=True)
class Thread:
    """Posts that belong together; a single post is a thread of one."""

    id: int
    texts: list[str]
    media: str | None
    posted: list[str]


class Store:
    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path, self.clock = path, clock
        with self._open() as db:
            db.executescript(SCHEMA)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=0.2, isolation_level="IMMEDIATE")) as db, db:
            yield db

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._open() as db:
            return db.execute(sql, values).fetchall()

    def begin(self, texts: list[str], media: str | None, state: State) -> int:
        """A thread of these texts; the one of the same texts that waits or stopped half way is taken up again."""
        missing = "json_array_length(texts) > (SELECT count(*) FROM posts WHERE thread = threads.id)"
        same = f"texts = ? AND media IS ? AND state != 'rejected' AND {missing}"
        new = "INSERT INTO threads (state, texts, media) VALUES (?, ?, ?) RETURNING id"
        values = (state, json.dumps(texts), media)
        with self._open() as db:
            again = db.execute(f"UPDATE threads SET state = ? WHERE {same} RETURNING id", values).fetchall()
            return int((again or db.execute(new, values).fetchall())[0][0])

    def threads(self, *states: State, id: int | None = None) -> list[Thread]:
        """All threads in these states, or the one with the id."""
        marks = ", ".join("?" * len(states))
        chosen = f"SELECT id, texts, media FROM threads WHERE state IN ({marks}) AND id = ifnull(?, id) ORDER BY id"
        posted = "SELECT post FROM posts WHERE thread = ? ORDER BY place"
        return [
            Thread(found, json.loads(texts), media, [post for (post,) in self._rows(posted, found)])
            for found, texts, media in self._rows(chosen, *states, id)
        ]

    def thread(self, id: int, *states: State) -> Thread:
        if found := self.threads(*states, id=id):
            return found[0]
        others = {"tool": "list_threads", "arguments": {"state": states[0]}}
        raise S.not_found(f"There is no thread {id} that is {' or '.join(states)}.", actions=[others])

    def move(self, thread: int, state: State) -> None:
        self._rows("UPDATE threads SET state = ? WHERE id = ?", state, thread)

    def add_post(self, thread: int, place: int, post: str) -> None:
        self._rows("INSERT INTO posts VALUES (?, ?, ?, ?)", thread, place, post, self.clock())

    def posts(self) -> dict[str, float]:
        """All posts that went out from here, and when."""
        return dict(self._rows("SELECT post, at FROM posts ORDER BY at"))

    def claim(self, key: str, seconds: float) -> float:
        """Zero if nobody made this call in the last `seconds`; otherwise how long it takes until that is so."""
        now = self.clock()
        with self._open() as db:
            db.execute("DELETE FROM calls WHERE at <= ?", (now - seconds,))
            row = db.execute("SELECT at FROM calls WHERE key = ?", (key,)).fetchone()
            db.execute("INSERT OR IGNORE INTO calls VALUES (?, ?)", (key, now))
            return float(row[0]) + seconds - now if row else 0

    def forget(self, key: str) -> None:
        self._rows("DELETE FROM calls WHERE key = ?", key)
