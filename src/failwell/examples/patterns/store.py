"""The patterns and the rules, in SQLite."""

from __future__ import annotations

import sqlite3
from difflib import SequenceMatcher
from pathlib import Path
from threading import Lock
from typing import Any, Final

Row = dict[str, Any]
NEW: Final = Path(__file__).with_name("library.sql")


class Store:
    """A library in a file, or in memory. It is filled when it is new."""

    def __init__(self, path: str = ":memory:") -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.create_function("alike", 2, lambda one, other: SequenceMatcher(None, one, other).ratio())
        if not self._rows("SELECT 1 FROM sqlite_master"):
            self._database.executescript(NEW.read_text(encoding="utf-8"))

    def close(self) -> None:
        self._database.close()

    def search(self, query: str, category: str | None, limit: int) -> Row:
        """The patterns in which every word of the query occurs: how many, how many of each category, and the first."""
        words = query.split()
        where = (
            " AND ".join(["instr(lower(id || ' ' || title || ' ' || summary || ' ' || advice), lower(?))"] * len(words))
            or "1"
        )
        if category is not None:
            where, words = f"{where} AND category = ?", [*words, category]
        counted = self._rows(f"SELECT category, count(*) AS n FROM patterns WHERE {where} GROUP BY category", *words)
        found = self._rows(
            f"SELECT id, title, category, summary FROM patterns WHERE {where} ORDER BY id LIMIT ?", *words, limit
        )
        categories = {row["category"]: row["n"] for row in counted}
        return {"total": sum(categories.values()), "categories": categories, "patterns": found}

    def pattern(self, id: str) -> Row | None:
        return next(iter(self._rows("SELECT * FROM patterns WHERE id = ?", id)), None)

    def similar(self, id: str, limit: int) -> list[Row]:
        """The patterns whose ids are most like this one."""
        query = "SELECT id, title, summary, alike(id, ?) AS score FROM patterns WHERE score > 0.4"
        found = self._rows(f"{query} ORDER BY score DESC, id LIMIT ?", id.lower(), limit)
        return [{name: row[name] for name in ("id", "title", "summary")} for row in found]

    def categories(self) -> list[str]:
        return [row["category"] for row in self._rows("SELECT DISTINCT category FROM patterns ORDER BY category")]

    def rules(self, rule_set: str) -> list[Row]:
        return self._rows("SELECT id, severity, message FROM rules WHERE rule_set = ?", rule_set)

    def _rows(self, query: str, *values: Any) -> list[Row]:
        with self._lock:
            return [dict(row) for row in self._database.execute(query, values)]
