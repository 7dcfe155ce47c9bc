"""Texts of servers that are not in the corpus, with what a careful person makes of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

ROWS: Final[list[dict[str, Any]]] = [
    json.loads(line) for line in (Path(__file__).parent / "texts_unseen.jsonl").read_text(encoding="utf-8").splitlines()
]
ERRORS: Final = [row for row in ROWS if row["is_error"]]
SUCCESSES: Final = [row for row in ROWS if not row["is_error"]]
GROUPS: Final = tuple(dict.fromkeys(row["group"] for row in ROWS))


def result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
