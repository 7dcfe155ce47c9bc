"""Sheets: the same rows on a page, as CSV and as JSON, sorted by any column."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from .figures import NONE, ago, count, duration, share, stamp
from .query import Query

Row = dict[str, Any]
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_LONGEST: Final = 160
OUTCOMES: Final = {
    "ok": ("worked", "good"),
    "asked": ("asked the user", ""),
    "held": ("held", "fair"),
    "operator": ("operator", ""),
    "recovered": ("failed, recovered", "fair"),
    "lost": ("failed, not recovered", "poor"),
    "unknown": ("failed, unknown", "poor"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `key` names the value in the rows, `kind` how it is shown.

    link: where a value leads. is_minor: whether a phone can do without it. sort: the column that a database sorts by;
    empty where nothing can.
    """

    key: str
    name: str
    kind: str = "text"
    means: str = ""
    link: Callable[[Row], str | None] | None = None
    is_minor: bool = False
    sort: str | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in ("count", "share", "seconds")

    @property
    def order(self) -> str:
        return self.key if self.sort is None else self.sort


@dataclass(slots=True)
class Sheet:
    """name: by which it is asked for as CSV or JSON, under `path`. is_sorted: whether the rows come in their order."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: list[Row]
    path: str = ""
    empty: str = "Nothing."
    note: str = ""
    is_sorted: bool = False
    style: str = ""
    changes: dict[str, str] = field(default_factory=dict)

    def sort(self, query: Query) -> None:
        """Put the rows in the order that was asked for, unless the database has."""
        key, is_rising = query.order
        if not self.is_sorted and any(column.order == key for column in self.columns):
            has = [row for row in self.rows if row.get(key) is not None]
            has.sort(key=lambda row: row[key], reverse=not is_rising)
            self.rows = [*has, *(row for row in self.rows if row.get(key) is None)]

    def to_csv(self) -> str:
        written = io.StringIO()
        out = csv.writer(written)
        out.writerow([column.key for column in self.columns])
        for row in self.to_json():
            # A spreadsheet would run what begins like a formula.
            out.writerow([f"'{v}" if isinstance(v, str) and v.startswith(_FORMULA) else v for v in row.values()])
        return written.getvalue()

    def to_json(self) -> list[Row]:
        def plain(column: Column, row: Row) -> Any:
            value = row.get(column.key)
            return stamp(value).replace(" ", "T") if column.kind in ("time", "ago") and value is not None else value

        return [{column.key: plain(column, row) for column in self.columns} for row in self.rows]


class Cell(NamedTuple):
    """A value as it stands on a page."""

    text: str
    whole: str = ""
    """What it says to who points at it, where the text is shorter."""
    tone: str = ""


def cell(column: Column, row: Row, now: int) -> Cell:
    """How a value of a row is shown."""
    value = row.get(column.key)
    if column.kind == "outcome":
        return Cell(*_outcome(row))
    if value is None or value == "":
        return Cell(NONE, tone="soft")
    match column.kind:
        case "count":
            return Cell(count(value) if value else NONE)
        case "share":
            return Cell(share(value))
        case "seconds":
            return Cell(duration(value))
        case "time":
            return Cell(stamp(value)[5:-1], stamp(value), "soft")
        case "ago":
            return Cell(ago(value, now), stamp(value), "soft")
    text = str(value).replace("_", " ") if column.kind == "words" else str(value)
    if len(text) > _LONGEST:
        return Cell(f"{text[: _LONGEST - 1]}…", text)
    return Cell(text)


def _outcome(row: Row) -> tuple[str, str, str]:
    text, tone = OUTCOMES.get(row["outcome"], (row["outcome"], ""))
    if row["doubt"] == "open":
        text = "in doubt" if row["failed"] else "held"
    elif row["outcome"] == "operator":
        text = row["decision"]
    elif row["outcome"] == "held" and row["doubt"]:
        text = f"held, then {row['doubt'].replace('_', ' ')}"
    elif row["outcome"] == "recovered" and not row["after"]:
        text = "failed, looked up" if row["doubt"] == "looked" else "failed, was done"
    return text, text, tone
