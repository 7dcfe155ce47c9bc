"""The whole model as JSON, there and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.formats import unplaced_details
from failwell.model import FieldError, Patch

FULL = fw.ToolError(
    "All of it.",
    code="RATE_LIMITED",
    title="Slow Down",
    severity="critical",
    recoverable=False,
    strategy="fix_and_retry",
    retry_after=1.5,
    reset_at="2026-01-02T03:04:05Z",
    suggestion="Wait.",
    next_steps=["a", "b"],
    actions=[{"tool": "t", "description": "d", "arguments": {"x": [1]}}],
    fields=[FieldError(("a", 0), "m", None, "e", ("o", 2), "r")],
    patch=[Patch("set", ("a",), 1), Patch("rename", ("b",), to="c"), Patch("remove", ("d",))],
    conflicts=[{"agent_id": "a", "pattern": "p", "held_by": "h", "z": 1}],
    effect="none",
    verify={"tool": "v", "arguments": {"id": 1}},
    details={"k": {"n": None}, "message": "M", "failwell": 2},
    http_status=429,
    policy_decision="denied",
    tool="tl",
    action="ac",
    tier="ti",
    correlation_id="c",
    meta={"elapsed_ms": 3},
    debug="secret trace",
)
WIRE = {
    "failwell": 1,
    "code": "RATE_LIMITED",
    "kind": "transient",
    "message": "All of it.",
    "title": "Slow Down",
    "severity": "critical",
    "retryable": True,
    "recoverable": False,
    "strategy": "fix_and_retry",
    "retry_after": 1.5,
    "reset_at": "2026-01-02T03:04:05Z",
    "suggestion": "Wait.",
    "next_steps": ["a", "b"],
    "actions": [{"tool": "t", "description": "d", "arguments": {"x": [1]}}],
    "fields": [{"path": ["a", 0], "message": "m", "sent": None, "expected": "e", "options": ["o", 2], "rule": "r"}],
    "patch": [
        {"op": "set", "path": ["a"], "value": 1},
        {"op": "rename", "path": ["b"], "to": "c"},
        {"op": "remove", "path": ["d"]},
    ],
    "conflicts": [{"agent_id": "a", "pattern": "p", "held_by": "h", "z": 1}],
    "effect": "none",
    "verify": {"tool": "v", "arguments": {"id": 1}},
    "details": {"k": {"n": None}, "message": "M", "failwell": 2},
    "http_status": 429,
    "policy_decision": "denied",
    "tool": "tl",
    "action": "ac",
    "tier": "ti",
    "correlation_id": "c",
    "meta": {"elapsed_ms": 3},
}
DOUBTFUL = FULL.replace(effect="unknown")
WITH_OPEN_MAP = ["typed", "v1", "xml", "envelope", "jsonrpc"]


def test_every_field_has_its_name_and_debug_stays_home() -> None:
    assert json.loads(fw.render(FULL, "canonical")) == WIRE


def test_everything_comes_back() -> None:
    error = fw.parse(fw.render(FULL, "canonical"))
    assert isinstance(error, fw.Transient)
    assert error == FULL
    assert (error.format, error.origin, error.notes) == ("canonical", "peer", ())
    assert fw.losses(FULL, "canonical") == ()


def test_a_call_that_may_have_been_done_is_not_to_be_made_again() -> None:
    # The delay stays as a fact.
    wire = {**WIRE, "effect": "unknown", "retryable": False, "recoverable": False, "strategy": "user_action_required"}
    assert json.loads(fw.render(DOUBTFUL, "canonical")) == wire
    assert fw.parse(wire) == DOUBTFUL


def test_what_is_absent_has_no_key() -> None:
    assert json.loads(fw.render(fw.error("m"), "canonical")) == {
        "failwell": 1,
        "kind": "internal",
        "message": "m",
        "retryable": False,
        "recoverable": False,
        "strategy": "report_and_abort",
    }


@pytest.mark.checklist(289, 290, 291)
@pytest.mark.parametrize("whole", [FULL, DOUBTFUL], ids=["none", "unknown"])
@pytest.mark.parametrize("format", WITH_OPEN_MAP)
def test_carry_loses_nothing_where_there_is_an_open_map(format: str, whole: fw.ToolError) -> None:
    text = fw.render(whole, format, carry=True)
    error = fw.parse(text)
    assert isinstance(error, fw.Transient)
    assert error == whole
    assert error.format == format
    assert "secret trace" not in text


@pytest.mark.checklist(289, 290)
@pytest.mark.parametrize("whole", [FULL, DOUBTFUL], ids=["none", "unknown"])
@pytest.mark.parametrize("format", WITH_OPEN_MAP)
def test_default_form_loses_exactly_what_losses_names(format: str, whole: fw.ToolError) -> None:
    error = fw.parse(fw.render(whole, format))
    assert isinstance(error, fw.ToolError)
    lost = fw.losses(whole, format)
    theirs = error.to_dict(provenance=False)
    assert "failwell" not in error.details
    for name, value in whole.to_dict().items():
        if name not in lost:
            assert (name, theirs.get(name)) == (name, value)
    assert lost


@pytest.mark.checklist(290)
@pytest.mark.parametrize("format", [*WITH_OPEN_MAP, "canonical"])
@pytest.mark.parametrize(
    "details",
    [
        {"retry_after": "tomorrow", "conflicts": "none"},
        {"retry_after": 99, "retryAfter": 98, "retry_after_ms": 97},
        {"statusCode": 200, "message": "M", "code": "C", "type": "T", "kind": "K"},
        {"details": {"x": 1}, "mcp_error_code": "X", "suggestion": "s", "field": "f", "errors": [1]},
        {"failwell": {"code": "EVIL"}, "meta": 2},
        {"recovery_strategy": "retry_with_backoff", "next_steps": ["x"], "alternatives": [{"tool": "y"}]},
    ],
    ids=lambda value: next(iter(value)),
)
def test_detail_named_like_a_contract_key_neither_leaks_nor_is_lost(format: str, details: dict[str, Any]) -> None:
    error = fw.ToolError("m", code="RATE_LIMITED", retry_after=5, http_status=429, details=details)
    assert fw.parse(fw.render(error, format, carry=True)) == error
    plain = fw.parse(fw.render(error, format))
    assert isinstance(plain, fw.ToolError)
    assert (plain.message, plain.kind, plain.retry_after) == ("m", "transient", 5)
    assert plain.code in ("RATE_LIMITED", "TRANSIENT", "rate_limited")


@pytest.mark.checklist(290)
@pytest.mark.parametrize(
    ("format", "details", "place"),
    [
        ("typed", {"failwell": "mine"}, "data"),
        ("v1", {"failwell": "mine"}, "details"),
    ],
)
def test_detail_named_like_a_contract_key_goes_under_failwell(format: str, details: dict[str, Any], place: str) -> None:
    error = fw.ToolError("m", code="NOT_FOUND", details=details)
    (name,) = details
    assert name not in json.loads(fw.render(error, format)).get(place, {})
    carried = json.loads(fw.render(error, format, carry=True))[place]
    assert name not in carried or name == "failwell"
    assert carried["failwell"]["details"] == details


@pytest.mark.checklist(290)
@pytest.mark.parametrize(
    ("format", "place", "details", "own"),
    [
        ("typed", "data", {"retry_after": 30}, {"retry_after": 5}),
        ("typed", "data", {"conflicts": [{"held_by": "x"}]}, {"conflicts": ["y"]}),
        ("v1", "details", {"statusCode": 404}, {"http_status": 410}),
        ("v1", "details", {"retryAfter": 30}, {"retry_after": 5}),
    ],
)
def test_detail_named_like_a_field_of_the_contract_stands_in_its_place(
    format: str, place: str, details: dict[str, Any], own: dict[str, Any]
) -> None:
    (name,) = details
    alone = fw.ToolError("m", code="NOT_FOUND", details=details)
    assert json.loads(fw.render(alone, format))[place] == details
    assert fw.parse(fw.render(alone, format, carry=True)) == alone
    # Where the error has a value of its own there, that counts, and what is left out is named and can be carried.
    both = fw.ToolError("m", code="NOT_FOUND", details=details, **own)
    assert json.loads(fw.render(both, format))[place][name] != details[name]
    assert "details" in fw.losses(both, format)
    assert fw.parse(fw.render(both, format, carry=True)) == both
    assert unplaced_details(alone, format) == []
    assert unplaced_details(both, format) == [name]


def test_a_delay_of_a_call_that_may_have_been_done_is_a_fact_that_invites_nobody() -> None:
    for format, room, name in (("typed", "data", "retry_after"), ("v1", "details", "retryAfter")):
        for more in ({"retry_after": 30}, {"details": {name: 30}}):
            error = fw.Transient("m", effect="unknown", **more)  # type: ignore[arg-type]
            wire = json.loads(fw.render(error, format))
            assert wire[room] == {name: 30}
            assert False in (wire.get("recoverable"), wire.get("retryable"))
            back = fw.parse(fw.render(error, format, carry=True))
            assert back == error
            assert not fw.decide(back, tool="pay").repeats
    for format in ("xml", "envelope"):
        assert "retry_after" in fw.losses(fw.Transient("m", effect="unknown", retry_after=30), format)


def test_question_there_and_back() -> None:
    question = fw.NeedsInput("Q?", fields=["a"], reason="r", suggestions={"a": [1]}, options=["x"])
    wire = {
        "failwell": 1,
        "outcome": "needs_input",
        "message": "Q?",
        "fields": ["a"],
        "reason": "r",
        "suggestions": {"a": [1]},
        "options": [{"label": "x", "value": "x"}],
    }
    assert json.loads(fw.render(question, "canonical")) == wire
    parsed = fw.parse(json.dumps(wire))
    assert isinstance(parsed, fw.NeedsInput)
    assert parsed == question


def test_contradictions_become_notes() -> None:
    error = fw.parse(
        {
            "failwell": 1,
            "code": "NOT_FOUND",
            "kind": "strange",
            "message": "m",
            "retryable": True,
            "actions": "list",
            "details": [1],
        }
    )
    assert isinstance(error, fw.NotFound)
    assert error.retryable is False
    assert error.details == {"details": [1]}
    assert error.notes == (
        "The kind 'strange' is not one of the six.",
        "actions was not a list.",
        "details was not an object.",
        "The peer said retryable: true, which the code NOT_FOUND rules out.",
    )


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_other_versions_are_not_ours(version: Any) -> None:
    assert fw.parse({"failwell": version, "kind": "internal", "message": "m"}) is None
