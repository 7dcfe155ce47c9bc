"""One attempt as a line on a terminal."""

from __future__ import annotations

from typing import Any

from failwell.redact import visible

from .figures import duration, stamp


def line_of(row: dict[str, Any]) -> str:
    """What an attempt was and what came of it."""
    if row["ok"]:
        outcome = "asked" if row["asked"] else "ok"
    else:
        outcome = row["code"] or row["kind"]
        if row["effect"] in ("unknown", "partial", "done"):
            outcome += f" effect={row['effect']}"
        if row["decision"]:
            outcome += f" -> {row['decision']}"
        if not row["made"]:
            outcome += " (not made)"
    again = f" #{row['attempt']}" if row["attempt"] > 1 else ""
    server = f"{row['server']}/" if row["server"] else ""
    told = f"{stamp(row['at'])}  {server}{row['tool']}{again}  {outcome}  {duration(row['seconds'])}"
    return visible(told)
