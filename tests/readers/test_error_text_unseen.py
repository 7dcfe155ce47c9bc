"""Servers that are not in the corpus. Only the shares are to be looked at: no phrase is to be added for one of these.

How well a text is read that no rule has seen was measured with the last 45, taken from the sources of public servers: 73 %
of the kinds and all of the retries, most of the others as internal and unsure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_types import CallToolResult, TextContent

import failwell as fw
from failwell import read
from failwell.model import Kind
from failwell.readers import from_text
from failwell.readers.failure_reader import _is_fine

ROWS: Final[list[dict[str, Any]]] = [
    json.loads(line) for line in (Path(__file__).parent / "texts_unseen.jsonl").read_text(encoding="utf-8").splitlines()
]
ERRORS: Final = [row for row in ROWS if row["is_error"]]
SUCCESSES: Final = [row for row in ROWS if not row["is_error"]]
GROUPS: Final = tuple(dict.fromkeys(row["group"] for row in ROWS))


def result(text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


REFUSALS = (Kind.VALIDATION, Kind.PERMISSION, Kind.NOT_FOUND)


def error(text: str) -> fw.ToolError:
    found = read(result(text, is_error=True))
    assert isinstance(found, fw.ToolError)
    return found


def right(key: str, group: str | None = None) -> float:
    rows = [row for row in ERRORS if group in (None, row["group"])]
    return sum(getattr(error(row["text"]), key) == row[key] for row in rows) / len(rows)


def test_the_kind_is_read_right() -> None:
    assert right("kind") >= 0.93


@pytest.mark.parametrize("group", GROUPS)
def test_what_passes_is_told_from_what_does_not(group: str) -> None:
    assert right("retryable", group) >= 0.97


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: f"{row['server']}: {row['text'][:40]}")
def test_a_refusal_is_never_repeated(row: dict[str, Any]) -> None:
    found = error(row["text"])
    assert not (found.retryable and row["kind"] in REFUSALS)
    assert not (found.retryable and found.kind in REFUSALS)


@pytest.mark.parametrize("row", SUCCESSES, ids=lambda row: f"{row['server']}: {row['text'][:40]}")
def test_an_answer_about_errors_is_none(row: dict[str, Any]) -> None:
    assert read(result(row["text"], is_error=False)) is None


def test_few_answers_about_errors_are_one_to_who_watches() -> None:
    taken = [row for row in SUCCESSES if read(result(row["text"], is_error=False), observe=True) is not None]
    assert len(taken) <= 0.05 * len(SUCCESSES)


def test_what_is_not_marked_is_a_success_and_only_who_watches_sees_the_error() -> None:
    for row in ERRORS:
        unmarked = result(row["text"], is_error=False)
        marked = unmarked.model_copy(update={"is_error": True})
        assert (read(unmarked), _is_fine(marked)) == (None, False), row["text"]
        seen = read(unmarked, observe=True)
        assert (seen is None) == (from_text(row["text"]) is None and fw.parse(row["text"]) is None), row["text"]
        assert seen is None or (isinstance(seen, fw.ToolError) and seen.standing == "quoted"), row["text"]
