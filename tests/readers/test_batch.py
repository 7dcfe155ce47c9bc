"""Batches: every item keeps what its own failure says."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.model import Effect


@pytest.mark.checklist(56)
def test_each_item_keeps_type_recoverable_and_data() -> None:
    error = fw.partial_failure(
        {
            "src/a": fw.Conflict("held", recoverable=True, details={"held_by": "a2"}),
            "src/b": TimeoutError("10.0.0.7"),
            "src/e": ConnectionRefusedError("10.0.0.7"),
            "src/c": fw.ToolError("limit", code="RATE_LIMITED", retry_after=30),
        },
        done=["src/d"],
    )
    failed: Any = error.details["failed"]
    assert failed["src/a"] == {
        "type": "CONFLICT",
        "message": "held",
        "recoverable": True,
        "data": {"held_by": "a2"},
        "code": "CONFLICT",
    }
    # What timed out may have been done; what was refused was not.
    assert (failed["src/b"]["type"], failed["src/b"]["recoverable"]) == ("TRANSIENT", False)
    assert (failed["src/e"]["type"], failed["src/e"]["recoverable"]) == ("TRANSIENT", True)
    assert error.suggestion == "Call it for these items only: src/e, src/c."
    assert failed["src/c"]["data"] == {"retry_after": 30}
    assert error.details["done"] == ["src/d"]
    assert (error.code, error.effect) == ("PARTIAL_FAILURE", Effect.PARTIAL)
    assert error.message == "4 of 5 items failed: src/a, src/b, src/e, src/c."
    assert "10.0.0.7" not in fw.render(error, "canonical")


def test_many_items_are_counted_not_listed() -> None:
    error = fw.partial_failure({str(number): KeyError(number) for number in range(1000)})
    assert error.message == "1000 of 1000 items failed: 0, 1, 2, 3, 4 and 995 more."
    assert len(fw.render(error, "canonical")) < 10_000
