"""What nobody flagged: answers that speak of errors are none, and the errors among them are found.

`successes.jsonl` has both, each with whether it is one. Of forty more answers that no rule had seen, ten were taken for errors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failwell.readers import from_text

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "successes.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERS = [row["text"] for row in ROWS if not row["error"]]
FAILURES = [row["text"] for row in ROWS if row["error"]]


@pytest.mark.parametrize("is_error", [None, False])
def test_few_answers_about_errors_are_taken_for_one(is_error: bool | None) -> None:
    # Only who watches asks: to a caller a success is one, whatever it says.
    taken = [text for text in ANSWERS if from_text(text, is_error=is_error) is not None]
    assert len(taken) <= 0.05 * len(ANSWERS), taken


def test_errors_that_nobody_flagged_are_found() -> None:
    assert len(ANSWERS) >= 80
    assert len(FAILURES) >= 60
    missed = [text for text in FAILURES if from_text(text) is None]
    assert len(missed) <= 0.1 * len(FAILURES), missed


@pytest.mark.parametrize("said", [{"success": True}, {"ok": True}, {"status": "ok"}, {"status": "Success"}])
@pytest.mark.parametrize(
    "more", [{"error": "not found"}, {"errors": [{"message": "no"}]}, {"code": 404, "message": "no"}]
)
def test_an_object_that_says_it_worked_is_no_error(said: dict[str, Any], more: dict[str, Any]) -> None:
    assert from_text(json.dumps({**said, **more})) is None
    assert from_text(json.dumps({**more, **said})) is None


@pytest.mark.parametrize("text", ANSWERS, ids=lambda text: text[:50])
def test_what_was_flagged_is_an_error_whatever_it_says(text: str) -> None:
    assert from_text(text, is_error=True) is not None
