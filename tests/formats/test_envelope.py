"""Contract 003: one envelope for successes and failures, and metadata by profile."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.formats.envelope import success
from failwell.formats.wire import pretty
from recorded import cases, one, vectors

CODES = [code.name for code in fw.catalogs.Social]


def failed(code: str, message: str = "m", retryable: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "success": False,
        "data": None,
        "error": {"code": code, "message": message, "retryable": retryable, **more},
    }


@pytest.mark.checklist(176, 177, 178, 179, 191, 192, 196)
def test_keys_stand_in_the_contracts_order_indented_by_two() -> None:
    error = fw.ToolError(
        "Policy denied: rate limited",
        code="policy_denied_rate_limited",
        reset_at="2026-02-25T12:00:00Z",
        retry_after=1,
        policy_decision="denied",
    )
    text = fw.render(error, "envelope", profile="workflow", mode="composer", approval_mode=True, elapsed_ms=7)
    assert text == one("envelope-as-run", "opt.all")["output"]


@pytest.mark.checklist(179, 183, 185)
@pytest.mark.parametrize(
    "vector", [case for case in cases("envelope-as-run", "code.") if "added" not in case.values[0].get("note", "")]
)
def test_failures_are_byte_for_byte_those_of_the_real_system(vector: dict[str, Any]) -> None:
    args = vector["input"]["args"]
    options = {
        None: {},
        "api": {"profile": "api", "elapsed_ms": 42},
        "workflow": {"profile": "workflow", "mode": "autopilot", "approval_mode": False, "elapsed_ms": 42},
    }[args.get("profile")]
    error = fw.ToolError(args.get("message", "m"), code=args["code"])
    assert fw.render(error, "envelope", **options) == vector["output"]


@pytest.mark.checklist(176, 177, 197)
@pytest.mark.parametrize("vector", [*cases("envelope-as-run", "success."), *cases("envelope-as-run", "meta.")])
def test_successes_are_byte_for_byte_those_of_the_real_system(vector: dict[str, Any]) -> None:
    args = vector["input"]["args"]
    wire = success(1, {"elapsed_ms": 10, **args}) if vector["id"].startswith("meta.") else success(args)
    assert pretty(wire) == vector["output"]


@pytest.mark.checklist(190)
def test_delay_reset_and_policy_mean_nothing_on_a_success() -> None:
    extras = {"retry_after_ms": 5, "rate_limit_reset": "2026-02-25T12:00:00Z", "policy_decision": "denied"}
    assert success({"id": 1}, extras) == {"success": True, "data": {"id": 1}}


@pytest.mark.checklist(180)
@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("NOT_FOUND", "not_found"),
        ("InvoiceAlreadyPaid", "invoice_already_paid"),
        ("invoice-paid", "invoice_paid"),
        ("x_rate_limited", "x_rate_limited"),
        (None, "internal_error"),
    ],
)
def test_code_is_the_authors_in_snake_case(code: str | None, printed: str) -> None:
    assert to_wire(fw.ToolError("m", code=code), "envelope")["error"]["code"] == printed


CROSSWALK = {name.upper(): row for name, row in dict(vectors("code-crosswalk")).items()}


@pytest.mark.checklist(180)
@pytest.mark.parametrize("code", sorted(CROSSWALK.keys() & {code.name for code in fw.catalogs.Core}))
def test_strict_maps_into_the_closed_set_by_the_crosswalk(code: str) -> None:
    printed = to_wire(fw.ToolError("m", code=code), "envelope", strict=True)["error"]["code"]
    assert printed == CROSSWALK[code]["003_codes"][0]


@pytest.mark.parametrize("effect", ["unknown", "partial", "done"])
@pytest.mark.parametrize(("strict", "flag"), [(False, False), (True, True)])
def test_the_code_of_a_call_that_may_have_been_done_names_the_cause(effect: str, strict: bool, flag: bool) -> None:
    # With strict, the flag is what follows from the code, to the letter.
    error = fw.ToolError("m", code="x_rate_limited", retry_after=3, effect=effect)
    reason = {"code": "x_rate_limited", "message": "m", "retryable": flag}
    assert to_wire(error, "envelope", strict=strict) == {"success": False, "data": None, "error": reason}
    assert fw.parse(fw.render(error, "envelope", strict=strict, carry=True)) == error
    assert "effect" in fw.losses(error, "envelope")


def test_a_thread_that_was_posted_in_part_keeps_the_contracts_word() -> None:
    error = fw.ToolError("m", code="thread_partial_failure")
    for strict in (False, True):
        reason = to_wire(error, "envelope", strict=strict)["error"]
        assert reason == {"code": "thread_partial_failure", "message": "m", "retryable": True}


@pytest.mark.checklist(180, 184)
@pytest.mark.parametrize("code", [code.name for code in fw.catalogs.Core])
def test_strict_agrees_with_the_closed_set_about_retrying(code: str) -> None:
    error = fw.ToolError("m", code=code)
    reason = to_wire(error, "envelope", strict=True)["error"]
    assert reason["code"] in CODES
    assert reason["retryable"] is error.passes or code == "PARTIAL_FAILURE"
    assert reason["retryable"] is fw.catalogs.Social[reason["code"]].retryable


@pytest.mark.checklist(180)
@pytest.mark.parametrize("code", ["InvoiceAlreadyPaid", None, "DEVICE_ERROR", "tweet_too_long"])
def test_strict_prints_only_the_closed_set(code: str | None) -> None:
    assert to_wire(fw.ToolError("m", code=code), "envelope", strict=True)["error"]["code"] in CODES


@pytest.mark.checklist(184)
def test_retryable_cannot_be_passed() -> None:
    with pytest.raises(ValueError, match="retryable"):
        fw.render(fw.ToolError("m", code="db_error"), "envelope", retryable=False)
    with pytest.raises(TypeError):
        fw.ToolError("m", code="db_error", retryable=False)


@pytest.mark.checklist(187)
@pytest.mark.parametrize("reset", ["2026-02-25T12:00:00Z", "2026-02-25T13:00:00+01:00", 1772020800, "1772020800"])
def test_reset_is_an_instant_as_text(reset: Any) -> None:
    error = fw.ToolError("m", code="x_rate_limited", reset_at=reset)
    assert to_wire(error, "envelope") == failed("x_rate_limited", "m", True, rate_limit_reset="2026-02-25T12:00:00Z")
    read = fw.parse(failed("x_rate_limited", "m", True, rate_limit_reset=reset))
    assert read == error


@pytest.mark.checklist(188)
@pytest.mark.parametrize("decision", ["denied", "routed_to_approval"])
def test_policy_decision_is_a_label(decision: str) -> None:
    error = fw.ToolError("m", code="policy_denied_blocked", policy_decision=decision)
    assert to_wire(error, "envelope") == failed("policy_denied_blocked", policy_decision=decision)
    assert fw.parse(fw.render(error, "envelope")) == error


@pytest.mark.checklist(189)
@pytest.mark.parametrize(("delay", "ms"), [(15, 15000), (0.5, 500), (0.0001, 1), (1.2345, 1235)])
def test_delay_is_in_whole_milliseconds_and_never_shorter(delay: float, ms: int) -> None:
    error = fw.ToolError("m", code="x_rate_limited", retry_after=delay)
    assert to_wire(error, "envelope") == failed("x_rate_limited", "m", True, retry_after_ms=ms)


@pytest.mark.checklist(193)
@pytest.mark.parametrize("options", [{"mode": "autopilot"}, {"approval_mode": True}])
def test_api_profile_refuses_mode(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="api profile"):
        fw.render(fw.ToolError("m"), "envelope", profile="api", **options)


@pytest.mark.checklist(193)
def test_api_profile_prints_no_mode_even_if_the_error_knows_one() -> None:
    error = fw.ToolError("m", code="db_error", meta={"mode": "autopilot", "approval_mode": True, "elapsed_ms": 3})
    assert to_wire(error, "envelope", profile="api") == {
        **failed("db_error", "m", True),
        "meta": {"tool_version": "1.0", "elapsed_ms": 3},
    }


@pytest.mark.checklist(194, 195, 198)
@pytest.mark.parametrize("code", ["policy_denied_blocked", "policy_denied_rate_limited", "validation_error"])
@pytest.mark.parametrize("mode", ["autopilot", "composer"])
@pytest.mark.parametrize("approval_mode", [True, False])
def test_workflow_profile_always_prints_both(code: str, mode: str, approval_mode: bool) -> None:
    wire = to_wire(fw.ToolError("m", code=code), "envelope", profile="workflow", mode=mode, approval_mode=approval_mode)
    assert wire == {
        **failed(code),
        "meta": {"tool_version": "1.0", "mode": mode, "approval_mode": approval_mode},
    }


@pytest.mark.checklist(194, 195, 294)
@pytest.mark.parametrize(
    "options",
    [
        {"profile": "admin"},
        {"profile": "workflow"},
        {"profile": "workflow", "mode": "autopilot"},
        {"profile": "workflow", "approval_mode": True},
        {"profile": "workflow", "mode": "sideways", "approval_mode": True},
        {"mode": "sideways"},
        {"approval_mode": "yes"},
        {"elapsed_ms": -1},
        {"elapsed_ms": float("inf")},
        {"elapsed_ms": "soon"},
        {"layout": "flush"},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        fw.render(fw.ToolError("m"), "envelope", **options)


@pytest.mark.checklist(200)
def test_result_around_a_failure_is_an_error() -> None:
    error = fw.ToolError("m", code="x_forbidden")
    assert fw.to_result(error, "envelope", meta=False) == {
        "content": [{"type": "text", "text": fw.render(error, "envelope")}],
        "structuredContent": failed("x_forbidden"),
        "isError": True,
    }


@pytest.mark.checklist(200)
def test_failure_counts_even_when_the_result_says_otherwise() -> None:
    error = fw.parse(one("envelope-as-run", "wire.call_tool_result")["output"])
    assert isinstance(error, fw.Denied)
    assert (error.code, error.message, error.format) == ("x_forbidden", "m", "envelope")


@pytest.mark.checklist(199)
@pytest.mark.parametrize(
    ("code", "said", "note"),
    [
        ("x_forbidden", True, "true, which the code x_forbidden rules out."),
        ("db_error", False, "false, which the code db_error does not; the peer's word counts."),
    ],
)
def test_contradiction_is_reported(code: str, said: bool, note: str) -> None:
    """Of flag and code the one that forbids counts."""
    error = fw.parse(failed(code, "m", said))
    assert isinstance(error, fw.ToolError)
    assert error.retryable is False
    assert error.notes == (f"The peer said retryable: {note}",)


def test_the_data_of_a_failure_are_kept() -> None:
    wire = failed("db_error", "m", True) | {"data": {"posted": [1, 2]}}
    error = fw.parse(wire)
    assert isinstance(error, fw.ToolError)
    assert error.details == {"data": {"posted": [1, 2]}}
    assert json.loads(fw.render(error, "envelope")) == wire
    assert "details" in fw.losses(error, "xml") or "posted" in fw.render(error, "xml")


@pytest.mark.checklist(199)
@pytest.mark.parametrize(("flag", "kind"), [(True, "transient"), (False, "internal")])
def test_unknown_code_still_parses(flag: bool, kind: str) -> None:
    error = fw.parse(failed("scraper_mutation_blocked", "m", flag))
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.kind, error.retryable, error.notes) == ("scraper_mutation_blocked", kind, flag, ())


@pytest.mark.parametrize(
    "wire",
    [
        {"success": False, "error": "it broke"},
        {"success": False, "message": "it broke"},
        {"success": False, "error": {"message": "it broke"}},
    ],
)
def test_envelopes_without_a_contract_are_read(wire: dict[str, Any]) -> None:
    error = fw.parse(wire)
    assert isinstance(error, fw.Internal)
    assert (error.message, error.code, error.format) == ("it broke", None, "envelope")


@pytest.mark.parametrize("wire", [{"success": True, "data": None}, {"success": "no"}, {"success": 0, "error": "x"}])
def test_other_values_of_success_are_no_failure(wire: dict[str, Any]) -> None:
    assert fw.parse(wire) is None


@pytest.mark.checklist(197)
def test_meta_survives_and_unknown_metadata_is_carried() -> None:
    meta = {"tool_version": "1.0", "elapsed_ms": 5, "pagination": {"has_more": False}, "retry_count": 0, "rollback": {}}
    error = fw.ToolError("m", code="db_error", correlation_id="c-1", meta={**meta, "shard": 3}, suggestion="s")
    wire = to_wire(error, "envelope", carry=True)
    assert list(wire["meta"]) == [
        "tool_version",
        "elapsed_ms",
        "pagination",
        "retry_count",
        "correlation_id",
        "rollback",
        "failwell",
    ]
    assert fw.parse(json.dumps(wire)) == error


def test_without_the_flag_only_a_whole_envelope_is_a_failure() -> None:
    envelope = {"success": False, "data": None, "error": {"code": "db_error", "message": "It broke."}}
    text = json.dumps(envelope)

    def of(*texts: str, **more: Any) -> Any:
        return fw.read({"content": [{"type": "text", "text": each} for each in texts], "isError": False, **more})

    for failed in (of(text), of(text, structuredContent=envelope), of("It broke.", structuredContent=envelope)):
        assert (failed.code, failed.standing, failed.effect) == ("db_error", "quoted", None)
    reason = json.dumps({"success": False, "error": "It broke."})
    assert not any([of(reason), of(f"Filed: {text}"), of(text, "Saved."), of(json.dumps({**envelope, "id": 1}))])
    assert not any([of("Saved.", structuredContent=envelope), of(text, "Saved.", structuredContent=envelope)])
