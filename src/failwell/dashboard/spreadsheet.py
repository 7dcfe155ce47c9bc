"""A table as CSV that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from .view import Sheet

# What begins so is computed when the file is opened, by whoever opens it.
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def comma_separated(sheet: Sheet) -> str:
    """The table, with its values as they are for programs."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([column.name for column in sheet.columns])
    for row in sheet.rows:
        writer.writerow([_plain(cell.plain) for cell in row])
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULAS):
        return "'" + value
    return value
