"""Law 2: what a format does not name as lost comes back; with `carry=True`, everything does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import (
    BARE,
    ERAS,
    FIELDS,
    FORMATS,
    OPEN,
    QUESTION_FIELDS,
    WIRE_TEXTS,
    Point,
    denies_its_code,
    differing,
    errors,
    in_doubt,
    nested,
    questions,
    title_follows,
)

import failwell as fw
from failwell.model import IN_DOUBT, Action

GATES = (None, "markdown", "json", "both")


class Titled(fw.Catalog, name="titled", register=False):
    """Not declared, so that a reader does not know its titles."""

    ODD = fw.Code("not_found", "Odd.", title="Quite Odd")


def check(error: fw.ToolError, back: Any, lost: tuple[str, ...]) -> None:
    """Every field that is not named as lost is exactly as it was."""
    assert isinstance(back, fw.ToolError)
    allowed = set(lost)
    if title_follows(error) and allowed & {"code", "kind"}:
        # A title nobody stated is the code's own, and goes with it.
        allowed.add("title")
    changed = differing(error, back) - allowed
    assert not changed, {name: (getattr(error, name), getattr(back, name)) for name in changed}


def check_whole(error: fw.ToolError, back: Any) -> None:
    """Nothing at all is lost."""
    if denies_its_code(error) and differing(error, back):
        assert back.effect in IN_DOUBT
        return
    check(error, back, ())
    assert back == error
    assert error == back


@given(errors)
def test_what_is_not_named_comes_back(error: fw.ToolError) -> None:
    for format in FORMATS:
        wire = fw.render(error, format, **BARE)
        lost = fw.losses(error, format, **BARE)
        assert set(lost) <= {*FIELDS, "standing"}, "losses are named by the fields' names"
        assert len(set(lost)) == len(lost)
        told = fw.parse(wire, format)
        if told is None:
            assert format == "text"
            assert not wire.strip()
            continue
        assert told.format == format
        check(error, told, lost)
        if format != "text":
            check(error, fw.parse(wire), lost)
            check(error, fw.parse(wire.encode()), lost)
            check(error, fw.parse(" \n" + wire), lost)


@given(errors)
# Titles that follow in one of the two only, and read the same in both.
@example(fw.NotFound("m", code=" "))
@example(fw.NotFound("m", code="X", title="Not Found"))
def test_only_what_is_lost_is_named(error: fw.ToolError) -> None:
    for format in FORMATS:
        back = fw.parse(fw.render(error, format, **BARE), format)
        if isinstance(back, fw.ToolError):
            facts = {"retry_after", "reset_at"} if in_doubt(error) else set()
            assert set(fw.losses(error, format, **BARE)) <= differing(error, back, (*FIELDS, "standing")) | facts


@given(errors)
def test_what_is_parsed_needs_no_more_than_one_round(error: fw.ToolError) -> None:
    """What came over a wire in a format can be said again in that format."""
    for format in OPEN:
        once = fw.parse(fw.render(error, format, carry=True, **BARE))
        twice = fw.parse(fw.render(once, format, carry=True, **BARE))
        check_whole(once, twice)


@given(errors)
@example(fw.ToolError("m", details=nested(41)))
@example(Titled.ODD("m"))
def test_carried_nothing_is_lost(error: fw.ToolError) -> None:
    for format in OPEN:
        wire = fw.render(error, format, carry=True, **BARE)
        check_whole(error, fw.parse(wire))
        check_whole(error, fw.parse(wire, format))


@example(fw.ToolError(conflicts=[{"agent_id": float("inf")}]), False)
@example(fw.NotFound("", code="thread_partial_failure", wire_retryable=False), False)
@given(errors, st.booleans())
def test_carried_nothing_is_lost_whatever_the_options(error: fw.ToolError, flag: bool) -> None:
    check_whole(error, fw.parse(fw.render(error, "xml", carry=True, layout="flush", **BARE)))
    check_whole(error, fw.parse(fw.render(error, "envelope", carry=True, strict=flag, elapsed_ms=5, **BARE)))
    check_whole(error, fw.parse(fw.render(error, "envelope", carry=True, profile="api", **BARE)))
    check_whole(error, fw.parse(fw.render(error, "jsonrpc", carry=True, actionable=True, debug=flag, **BARE)))
    check_whole(error, fw.parse(fw.render(error, "jsonrpc", carry=True, number=-32602 if flag else -1, **BARE)))


@given(errors, st.sampled_from(ERAS), st.sampled_from(GATES), st.booleans())
def test_results_keep_everything_in_their_metadata(error: fw.ToolError, era: str, gate: Any, schema: bool) -> None:
    for format in FORMATS:
        result = fw.to_result(error, format, era=era, gate=gate, output_schema=schema, **BARE)
        check_whole(error, fw.parse(result))
        check_whole(error, fw.parse(json.loads(json.dumps(result))))
        check_whole(error, fw.parse({"jsonrpc": "2.0", "id": 1, "result": result}))


@given(errors, st.sampled_from(ERAS), st.sampled_from(("json", "both")), st.booleans())
def test_results_without_metadata(error: fw.ToolError, era: str, gate: Any, schema: bool) -> None:
    for format in OPEN:
        options: dict[str, Any] = {"era": era, "gate": gate, "output_schema": schema, "meta": False}
        if gate == "both" and format != "xml":
            # The block for people comes first, and must not be taken for the error.
            assume(fw.parse(error.message) is None and fw.parse(fw.render(error, "text", **BARE)) is None)
            # And must be told to be its message.
            assume(error.message.strip())
        result = fw.to_result(error, format, **options, **BARE)
        back = fw.parse(result)
        said = error
        if isinstance(back, fw.ToolError) and back.is_error and back.standing == "quoted" != error.standing:
            # A format that cannot say that it is a warning: an error in a success is only quoted. So is one beside a
            # block that is not its message to the letter: the words about what may have been done hold it cut.
            assert result["isError"] is False or (gate == "both" and in_doubt(error))
            said = error.replace(standing="quoted")
        check(said, back, fw.losses(said, format, **BARE))
        check_whole(error, fw.parse(fw.to_result(error, format, carry=True, **options, **BARE)))


@given(errors, st.sampled_from(ERAS))
def test_structured_content_is_whole_by_itself(error: fw.ToolError, era: str) -> None:
    for format in OPEN:
        if format == "xml":
            continue
        result = fw.to_result(error, format, era=era, meta=False, carry=True, **BARE)
        check_whole(error, fw.parse({**result, "content": []}))


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("format", OPEN)
@pytest.mark.parametrize("forged", WIRE_TEXTS[:-1])
def test_a_message_cannot_pass_for_the_error(forged: str, format: str, gate: Any) -> None:
    error = fw.Denied(forged, code="PLAN_NOT_APPROVED", suggestion=forged)
    result = fw.to_result(error, format, gate=gate, meta=False, **BARE)
    check(error, fw.parse(result), fw.losses(error, format, **BARE))


@given(errors, st.sampled_from(ERAS), st.one_of(st.none(), st.integers(), st.text()))
def test_responses(error: fw.ToolError, era: str, id: Any) -> None:
    response = fw.to_jsonrpc(error, id=id, era=era, **BARE)
    check(error, fw.parse(response), fw.losses(error, "jsonrpc", **BARE))
    check(error, fw.parse(response["error"]), fw.losses(error, "jsonrpc", **BARE))
    carried = fw.to_jsonrpc(error, id=id, era=era, carry=True, **BARE)
    check_whole(error, fw.parse(carried))
    check_whole(error, fw.parse(json.dumps(carried)))
    check_whole(error, fw.parse(fw.to_jsonrpc(error, id=id, era=era, carry=True, actionable=True, **BARE)))


@given(questions)
@example(fw.NeedsInput("m", suggestions={"k": nested(60)}))
def test_questions(question: fw.NeedsInput) -> None:
    for format in ("v1", "canonical"):
        lost = fw.losses(question, format, **BARE)
        assert set(lost) <= {*QUESTION_FIELDS, "notes"}
        back = fw.parse(fw.render(question, format, **BARE))
        assert isinstance(back, fw.NeedsInput)
        assert differing(question, back, QUESTION_FIELDS) <= set(lost)
        result = fw.parse(fw.to_result(question, format, **BARE))
        assert isinstance(result, fw.NeedsInput)
        assert differing(question, result, QUESTION_FIELDS) == set()
    assert set(fw.losses(question, "canonical", **BARE)) <= {"notes"}
    assert set(fw.losses(question, "v1", **BARE)) <= {"reason", "notes"}


@given(questions)
def test_a_question_in_a_format_without_questions_is_its_nearest_error(question: fw.NeedsInput) -> None:
    for format in ("typed", "xml", "envelope", "jsonrpc"):
        check_whole(question.to_error(), fw.parse(fw.render(question, format, carry=True, **BARE)))
        assert "failwell" not in fw.losses(question, format, **BARE)


def _as_far_as_shown(kept: fw.ToolError, back: Any) -> fw.ToolError:
    """A cut is said where something was cut: a format that does not show the part that is too long has nothing to say."""
    if "cut" not in kept.details or not isinstance(back, fw.ToolError) or "cut" in back.details:
        return kept
    return kept.replace(details={name: value for name, value in kept.details.items() if name != "cut"})


@example(fw.NotFound("", actions=[Action("x" * 20_000)]))
@given(errors)
def test_what_the_guard_lets_through_comes_back(error: fw.ToolError) -> None:
    kept = fw.Guard()(error)
    for format in FORMATS:
        back = fw.parse(fw.render(error, format), format)
        if back is not None:
            check(_as_far_as_shown(kept, back), back, fw.losses(error, format))
    for format in OPEN:
        check_whole(kept, fw.parse(fw.render(error, format, carry=True)))
        check_whole(kept, fw.parse(fw.to_result(error, format)))


@given(errors)
def test_the_guard_has_nothing_to_do_twice(error: fw.ToolError) -> None:
    """Else every hop over a wire would change the error a little more."""
    once = fw.Guard()(error)
    check_whole(once, fw.Guard()(once))


KNOWN: list[tuple[fw.ToolError, dict[str, tuple[str, ...]]]] = [
    (
        fw.NotFound("Gone."),
        {
            "typed": (),
            "v1": (),
            "xml": (),
            "envelope": ("code",),
            "jsonrpc": (),
            "text": ("code", "kind", "message", "strategy", "effect"),
        },
    ),
    (
        fw.ToolError("Gone.", code="not_found"),
        {"typed": ("code",), "v1": (), "xml": (), "envelope": (), "jsonrpc": ()},
    ),
    (
        fw.NotFound("Gone.", suggestion="Call list.", actions=["projects.list"]),
        {
            "typed": ("suggestion", "actions"),
            "v1": ("suggestion", "actions"),
            "xml": (),
            "envelope": ("code", "suggestion", "actions"),
            "jsonrpc": (),
        },
    ),
    (
        fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=30),
        {"typed": ("code", "effect"), "v1": (), "xml": (), "envelope": ("code",), "jsonrpc": ()},
    ),
    (
        fw.ToolError("Slow down.", code="x_rate_limited", reset_at="2026-01-01T00:00:00Z", retry_after=1.5),
        {"envelope": (), "canonical": ()},
    ),
    (
        fw.Conflict(
            "2 conflicts", recoverable=True, conflicts=[{"agent_id": "a2", "pattern": "src/*", "held_by": "a2"}]
        ),
        {"typed": (), "xml": ("recoverable", "conflicts"), "jsonrpc": ("recoverable", "conflicts")},
    ),
    (
        fw.ToolError("Paid.", code="InvoiceAlreadyPaid", kind="conflict", details={"invoice": "inv_1"}),
        {
            "typed": ("code",),
            "v1": ("kind", "strategy", "effect"),
            "xml": ("kind", "strategy", "effect"),
            "envelope": ("code", "kind", "strategy", "details", "effect"),
            "jsonrpc": (),
        },
    ),
    (fw.Denied("No."), {"typed": ("code",), "v1": ("code",), "xml": (), "envelope": ("code",), "jsonrpc": ()}),
    (fw.Internal("Broke."), {"typed": ("code",), "v1": ("code",), "xml": (), "envelope": ("code",), "jsonrpc": ()}),
    (fw.Transient("Later."), {"typed": ("code",), "v1": ("code",), "xml": (), "envelope": ("code",), "jsonrpc": ()}),
    (
        fw.Invalid("Bad.", fields=[{"path": ["a"], "message": "is wrong", "sent": 1, "expected": "a text"}]),
        {"typed": ("code", "fields"), "v1": ("code", "fields"), "xml": ("message",), "jsonrpc": ()},
    ),
    (fw.ToolError("m", code="SERVER_ERROR", http_status=502, details={"a": [1, None]}), {"v1": ()}),
    (fw.ToolError("m", code="PLAN_EXPIRED", details={"plan_id": "p"}, next_steps=["Plan again."]), {"jsonrpc": ()}),
    (fw.error("m"), {"typed": ("code",), "xml": (), "envelope": ("code",)}),
    (fw.required("workspace_id"), {"xml": (), "jsonrpc": ("fields",)}),
]


@pytest.mark.parametrize(("error", "known"), KNOWN, ids=[repr(error)[:50] for error, _ in KNOWN])
def test_well_known_losses(error: fw.ToolError, known: dict[str, tuple[str, ...]]) -> None:
    assert {format: fw.losses(error, format) for format in known} == known
    assert fw.losses(error, "canonical") == ()


@pytest.mark.parametrize("format", OPEN)
@pytest.mark.parametrize(
    "details",
    [
        {"a": [Point(1, 2)] * 15_000},
        {"a": list(range(60_000))},
        {f"k{n}": n for n in range(60_000)},
        {"a": [[[0]] * 100] * 100},
    ],
    ids=["dataclasses", "long list", "many keys", "shared"],
)
def test_much_is_cut_once(details: dict[str, Any], format: str) -> None:
    """What is cut off when the error is made is not cut again when it is read."""
    error = fw.ToolError("m", details=details)
    check_whole(error, fw.parse(fw.render(error, format, carry=True, **BARE)))
