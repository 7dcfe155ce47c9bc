"""What any web service answers is no statement of the tool that passes it on: it may be about the last thing it did."""

from __future__ import annotations

import json

import pytest

import failwell as fw

WRITE = {"name": "pay", "annotations": {"readOnlyHint": False, "destructiveHint": True}}
BODIES = {
    "an envelope without data": {"success": False, "error": {"code": "BUSY", "message": "Busy", "retryable": True}},
    "somebody's problem": {"title": "Too many requests", "status": 429, "detail": "Slow down.", "retryable": True},
}


def read(body: object) -> fw.ToolError:
    error = fw.read({"content": [{"type": "text", "text": json.dumps(body)}], "isError": True})
    assert isinstance(error, fw.ToolError)
    return error


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_of_a_web_service_is_quoted_and_repeats_no_write(body: object) -> None:
    error = read(body)
    assert error.standing == "quoted"
    assert fw.decide(error, tool=WRITE).next.value != "retry"
    assert fw.decide(error, tool={"name": "look", "annotations": {"readOnlyHint": True}}).next.value == "retry"


def test_the_contracts_own_envelope_states_what_it_says() -> None:
    error = read({"data": None, **BODIES["an envelope without data"]})
    assert error.standing == "stated"
    assert fw.decide(error, tool=WRITE).next.value == "retry"


def test_our_own_problem_states_what_it_says() -> None:
    error = read(json.loads(fw.render(fw.Transient("Busy.", code="RATE_LIMITED"), "problem")))
    assert error.standing == "stated"
