"""Contract 004: numbers, strategies, suggestions, requests, and the two eras of the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.formats.jsonrpc import check_request
from failwell.model import Strategy
from recorded import cases

MODERN = "2026-07-28"
OWN = {
    "INTERNAL_ERROR": -32000,
    "UNAUTHORIZED": -32001,
    "FORBIDDEN": -32002,
    "NOT_FOUND": -32003,
    "CONFLICT": -32004,
    "VALIDATION_ERROR": -32005,
    "RATE_LIMITED": -32006,
    "TIMEOUT": -32007,
    "DEVICE_UNREACHABLE": -32010,
    "DEVICE_AUTH_FAILED": -32011,
    "DEVICE_ERROR": -32012,
    "DEVICE_UNSUPPORTED": -32013,
    "INVALID_CONFIGURATION": -32020,
    "UNSAFE_OPERATION": -32021,
    "PLAN_NOT_APPROVED": -32030,
    "PLAN_EXPIRED": -32031,
}
STANDARD = {
    "PARSE_ERROR": (-32700, "Parse error"),
    "INVALID_REQUEST": (-32600, "Invalid Request"),
    "METHOD_NOT_FOUND": (-32601, "Method not found"),
    "INVALID_PARAMS": (-32602, "Invalid params"),
    "JSONRPC_INTERNAL_ERROR": (-32603, "Internal error"),
}
TITLES = {name: fw.catalogs.JsonRpc[name].title for name in OWN}
DEFAULTS = {
    "retry_with_backoff": "Wait 60 seconds and retry. This is likely a temporary issue.",
    "user_action_required": "User intervention required. Check permissions or configuration and try again.",
    "fix_and_retry": "Fix the input parameters based on the validation errors below, then retry the request.",
    "report_and_abort": "This error cannot be resolved automatically. Report to system administrator.",
}


@pytest.mark.checklist(*range(229, 246), 263, 287)
@pytest.mark.parametrize("code", OWN)
def test_own_codes_have_the_contracts_numbers_and_leave_the_reserved_range(code: str) -> None:
    error = fw.ToolError("m", code=code)
    data = {"mcp_error_code": code, "details": "m"}
    earlier = {"code": OWN[code], "message": TITLES[code], "data": data}
    modern = {"code": OWN[code] + 1000, "message": TITLES[code], "data": data}
    assert fw.to_jsonrpc(error, id=7) == {"jsonrpc": "2.0", "id": 7, "error": earlier}
    assert fw.to_jsonrpc(error, id=7, era="2025-11-25")["error"] == earlier
    assert fw.to_jsonrpc(error, id=7, era=MODERN)["error"] == modern
    assert fw.parse(earlier) == fw.parse(modern) == error


@pytest.mark.checklist(228, 263, 287)
@pytest.mark.parametrize("code", STANDARD)
@pytest.mark.parametrize("era", ["2024-11-05", "2025-11-25", MODERN])
def test_standard_codes_keep_their_numbers_in_every_era(code: str, era: str) -> None:
    number, title = STANDARD[code]
    assert fw.to_jsonrpc(fw.ToolError("m", code=code), era=era) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": number, "message": title, "data": {"mcp_error_code": code, "details": "m"}},
    }


@pytest.mark.checklist(259, 263, 287)
@pytest.mark.parametrize("catalog", fw.catalogs.CATALOGS)
def test_every_shipped_code_has_a_title_and_no_reserved_number_on_the_modern_wire(catalog: str) -> None:
    for code in fw.catalogs.CATALOGS[catalog]:
        wire = to_wire(code("m"), "jsonrpc", era=MODERN)
        assert wire["message"]
        assert wire["message"] != "Error"
        assert not -32099 <= wire["code"] <= -32000
        done = code.name in DONE_IN_PART
        assert wire["data"]["mcp_error_code"] == code.name
        strategy = Strategy.USER_ACTION if done else code.strategy
        assert to_wire(code("m"), "jsonrpc", actionable=True)["data"]["recovery_strategy"] == strategy


# Codes that sound as if they passed, of work that was done in part.
DONE_IN_PART = ("PARTIAL_FAILURE",)


@pytest.mark.parametrize("effect", ["unknown", "partial", "done"])
def test_the_number_of_a_call_that_may_have_been_done_names_the_cause(effect: str) -> None:
    error = fw.ToolError("The bank did not answer.", code="TIMEOUT", tool="pay", retry_after=30, effect=effect)
    said = {
        "unknown": "pay failed part-way, so it may have been done already.",
        "partial": "pay was done in part.",
        "done": "pay was done, and failed after that.",
    }[effect]
    assert fw.to_jsonrpc(error, 1)["error"] == {
        "code": -32007,
        "message": "Timeout",
        "data": {
            "mcp_error_code": "TIMEOUT",
            "details": "The bank did not answer.",
            "recovery_strategy": "user_action_required",
            "tool_name": "pay",
            "retry_after": 30,
            "suggestion": f"{said} Next: ask the user.",
        },
    }
    assert fw.parse(fw.to_jsonrpc(error, 1, carry=True)) == error


@pytest.mark.checklist(248, 287)
@pytest.mark.parametrize(
    ("number", "era", "sent"),
    [
        (-32602, "2025-11-25", -32602),
        (-32602, MODERN, -32602),
        (-32002, "2025-11-25", -32002),
        (-32002, MODERN, -31002),
        (-32042, MODERN, -31042),
        (-32020, MODERN, -32020),
        (42, MODERN, 42),
    ],
)
def test_number_set_by_hand(number: int, era: str, sent: int) -> None:
    assert to_wire(fw.NotFound("m"), "jsonrpc", number=number, era=era)["code"] == sent


@pytest.mark.checklist(294)
@pytest.mark.parametrize(
    "options",
    [
        {"era": "tomorrow"},
        {"era": ""},
        {"number": "x"},
        {"number": 1.5},
        {"number": True},
        {"strict": True},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        fw.to_jsonrpc(fw.ToolError("m"), **options)


@pytest.mark.checklist(222, 223)
@pytest.mark.parametrize("id", ["req-1", "", 7, 0, -1, 1.5, None])
def test_id_is_repeated_and_null_when_unknown(id: Any) -> None:
    assert fw.to_jsonrpc(fw.Internal("m"), id=id) == {
        "jsonrpc": "2.0",
        "id": id,
        "error": {
            "code": -32000,
            "message": "Internal Error",
            "data": {"mcp_error_code": "INTERNAL_ERROR", "details": "m"},
        },
    }
    assert fw.to_jsonrpc(fw.Internal("m"))["id"] is None


@pytest.mark.checklist(282)
@pytest.mark.parametrize("id", [True, False, [], {}, b"1", float("nan"), float("inf")], ids=repr)
def test_other_ids_are_refused(id: Any) -> None:
    with pytest.raises(ValueError):
        fw.to_jsonrpc(fw.Internal("m"), id=id)


@pytest.mark.checklist(246)
@pytest.mark.parametrize("code", ["MISSING_DISCRIMINATOR", "INVALID_DISCRIMINATOR", "UNKNOWN_ACTION"])
def test_routing_codes_are_their_own_mcp_error_code(code: str) -> None:
    wire = to_wire(fw.ToolError("m", code=code), "jsonrpc")
    assert (wire["code"], wire["data"]) == (-32602, {"mcp_error_code": code, "details": "m"})


@pytest.mark.checklist(246)
def test_error_without_a_code_is_named_after_its_kind() -> None:
    assert to_wire(fw.ToolError("m"), "jsonrpc") == {
        "code": -32000,
        "message": "Internal Error",
        "data": {"mcp_error_code": "INTERNAL_ERROR", "details": "m"},
    }


@pytest.mark.checklist(254)
def test_strategies_are_the_contracts_four() -> None:
    assert [strategy.value for strategy in Strategy] == [
        "retry_with_backoff",
        "fix_and_retry",
        "user_action_required",
        "report_and_abort",
    ]


@pytest.mark.checklist(260, 261)
@pytest.mark.parametrize("strategy", DEFAULTS)
def test_strategy_that_was_passed_is_printed_with_its_suggestion(strategy: str) -> None:
    error = fw.ToolError("D", code="DEVICE_UNREACHABLE", strategy=strategy, details={"device_id": "d"})
    assert to_wire(error, "jsonrpc") == {
        "code": -32010,
        "message": "Device Unreachable",
        "data": {
            "mcp_error_code": "DEVICE_UNREACHABLE",
            "details": "D",
            "recovery_strategy": strategy,
            "device_id": "d",
            "suggestion": DEFAULTS[strategy],
        },
    }


@pytest.mark.checklist(260, 261)
def test_actionable_prints_the_codes_own_strategy_and_the_delay() -> None:
    error = fw.ToolError("D", code="DEVICE_UNREACHABLE", retry_after=4.2)
    assert to_wire(error, "jsonrpc", actionable=True)["data"] == {
        "mcp_error_code": "DEVICE_UNREACHABLE",
        "details": "D",
        "recovery_strategy": "retry_with_backoff",
        "retry_after": 5,
        "suggestion": "Wait 5 seconds and retry. This is likely a temporary issue.",
    }
    assert to_wire(error, "jsonrpc")["data"] == {
        "mcp_error_code": "DEVICE_UNREACHABLE",
        "details": "D",
        "retry_after": 5,
    }


@pytest.mark.checklist(262)
@pytest.mark.parametrize("strategy", DEFAULTS)
def test_authors_suggestion_is_never_replaced(strategy: str) -> None:
    error = fw.ToolError("D", code="FORBIDDEN", strategy=strategy, suggestion="mine")
    assert to_wire(error, "jsonrpc", actionable=True)["data"]["suggestion"] == "mine"
    assert fw.parse(fw.render(error, "jsonrpc", actionable=True)) == error


def test_default_suggestion_is_not_read_as_the_authors() -> None:
    error = fw.ToolError("D", code="DEVICE_UNREACHABLE", retry_after=5)
    assert fw.parse(fw.render(error, "jsonrpc", actionable=True)) == error


@pytest.mark.checklist(266, 268)
def test_debug_is_sent_only_when_turned_on() -> None:
    error = fw.ToolError("short", code="DEVICE_ERROR", debug="the long story")
    data = {"mcp_error_code": "DEVICE_ERROR", "details": "short"}
    assert to_wire(error, "jsonrpc")["data"] == data
    assert to_wire(error, "jsonrpc", debug=True)["data"] == {**data, "_debug_details": "the long story"}
    assert to_wire(fw.ToolError("short", code="DEVICE_ERROR"), "jsonrpc", debug=True)["data"] == data


@pytest.mark.checklist(288)
def test_one_error_leaves_as_protocol_error_or_as_result() -> None:
    error = fw.ToolError("m", code="NOT_FOUND")
    inner = {"code": -32003, "message": "Not Found", "data": {"mcp_error_code": "NOT_FOUND", "details": "m"}}
    assert fw.to_jsonrpc(error, id=1) == {"jsonrpc": "2.0", "id": 1, "error": inner}
    assert fw.to_result(error, "jsonrpc", meta=False) == {
        "content": [{"type": "text", "text": json.dumps(inner, separators=(",", ":"))}],
        "structuredContent": inner,
        "isError": True,
    }
    assert fw.to_result(error, "jsonrpc", meta=False, era=MODERN)["structuredContent"] == {**inner, "code": -31003}


@pytest.mark.parametrize("number", [*OWN.values(), -32042, -31003, 0, 5])
def test_number_alone_means_nothing_beyond_json_rpcs_own(number: int) -> None:
    error = fw.parse({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "Device not found"}})
    assert isinstance(error, fw.Internal)
    assert (error.code, error.message, error.retryable) == (str(number), "Device not found", False)


@pytest.mark.parametrize("code", STANDARD)
def test_json_rpcs_own_numbers_are_known(code: str) -> None:
    error = fw.parse({"jsonrpc": "2.0", "id": None, "error": {"code": STANDARD[code][0], "message": "m"}})
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.kind, error.message) == (code, fw.catalogs.JsonRpc[code].kind, "m")


@pytest.mark.parametrize("number", [-32005, -31005])
def test_unknown_code_takes_its_kind_from_the_numbers_group(number: int) -> None:
    wire = {"code": number, "message": "Bad", "data": {"mcp_error_code": "INVALID_VLAN", "details": "m"}}
    error = fw.parse(wire)
    assert isinstance(error, fw.Invalid)
    assert (error.code, error.title, error.message) == ("INVALID_VLAN", "Bad", "m")


OK = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a/b", "arguments": {}}}


@pytest.mark.checklist(219, 225, 281, 282, 283)
@pytest.mark.parametrize(
    "message",
    [
        {**OK, "jsonrpc": "1.0"},
        {**OK, "jsonrpc": 2.0},
        {key: value for key, value in OK.items() if key != "jsonrpc"},
        {key: value for key, value in OK.items() if key != "method"},
        {**OK, "method": 1},
        {**OK, "id": True},
        {**OK, "id": []},
        {**OK, "id": {}},
        {**OK, "params": "x"},
        {**OK, "params": 1},
        {**OK, "params": None},
        "x",
        None,
        [OK],
    ],
    ids=str,
)
def test_message_that_is_no_request(message: Any) -> None:
    problem = check_request(message)
    assert problem is not None
    assert (problem.code, fw.to_jsonrpc(problem)["error"]["code"]) == ("INVALID_REQUEST", -32600)


@pytest.mark.checklist(220, 227, 281)
@pytest.mark.parametrize(
    "params", [{}, {"name": 1}, {"name": "a/b", "arguments": None}, {"name": "a", "arguments": []}, []]
)
def test_tool_call_with_wrong_params(params: Any) -> None:
    problem = check_request({**OK, "params": params})
    assert problem is not None
    assert (problem.code, fw.to_jsonrpc(problem, id=1)["error"]["code"]) == ("INVALID_PARAMS", -32602)


@pytest.mark.checklist(219, 282, 283, 284)
@pytest.mark.parametrize(
    "message",
    [
        OK,
        {**OK, "id": "x"},
        {**OK, "id": 1.5},
        {**OK, "id": None},
        {"jsonrpc": "2.0", "method": "notifications/progress"},
        {"jsonrpc": "2.0", "id": 1, "method": "m", "params": [1], "extra": 1},
    ],
    ids=str,
)
def test_message_that_is_a_request_or_a_notification(message: Any) -> None:
    assert check_request(message) is None


@pytest.mark.parametrize("vector", cases("jsonrpc-as-run", "code.validate."))
def test_requests_are_judged_as_the_real_system_does_but_for_boolean_ids(vector: dict[str, Any]) -> None:
    accepted = vector["output"][0] and vector["id"] != "code.validate.id_bool"
    assert (check_request(vector["input"]["request"]) is None) is accepted


@pytest.mark.parametrize("code", ["-0", "-000"])
def test_a_code_that_looks_like_the_number_zero_is_only_a_code(code: str) -> None:
    # Zero is how other people say that all is well: nobody would read it as an error.
    found = fw.parse(fw.render(fw.ToolError("m", code=code), "jsonrpc"))
    assert isinstance(found, fw.ToolError)
    assert (found.format, found.code) == ("jsonrpc", code)


@pytest.mark.checklist(290, 442)
@pytest.mark.parametrize(
    ("details", "own"),
    [
        ({"retry_after": 30}, {"retry_after": 5}),
        ({"suggestion": "Not the author's."}, {"suggestion": "The author's."}),
        ({"recovery_strategy": "user_action_required", "suggestion": "Ask."}, {"strategy": "report_and_abort"}),
        ({"tool_tier": "advanced"}, {"tier": "fundamental"}),
        ({"next_steps": ["Ask."]}, {"next_steps": ["Stop."]}),
        ({"alternatives": [{"tool": "registry/list"}]}, {"actions": ["registry/get"]}),
        ({"field": "ip", "value": "1.2.3", "expected": "IPv4"}, {"fields": [{"path": "name", "message": "Required"}]}),
        ({"errors": [{"field": "a", "message": "m"}, {"field": "b", "message": "n"}]}, {"fields": ["c"]}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_detail_named_like_a_field_of_the_contract_stands_in_its_place(
    details: dict[str, Any], own: dict[str, Any]
) -> None:
    alone = fw.ToolError("m", code="FORBIDDEN", details=details)
    data = json.loads(fw.render(alone, "jsonrpc"))["data"]
    assert {name: data[name] for name in details} == details
    assert fw.parse(fw.render(alone, "jsonrpc", carry=True)) == alone
    both = fw.ToolError("m", code="FORBIDDEN", details=details, **own)
    (first, *_) = details
    assert json.loads(fw.render(both, "jsonrpc"))["data"].get(first) != details[first]
    assert fw.parse(fw.render(both, "jsonrpc", carry=True)) == both


def test_no_detail_invites_a_call_that_may_have_been_done() -> None:
    details = {"retry_after": 30, "recovery_strategy": "retry_with_backoff", "suggestion": "Try again."}
    data = json.loads(fw.render(fw.Transient("m", effect="unknown", details=details), "jsonrpc"))["data"]
    assert data["retry_after"] == 30
    assert data["recovery_strategy"] == "user_action_required"
    assert "may have been done already" in data["suggestion"]


@pytest.mark.checklist(250, 446)
def test_one_problem_is_a_list_of_one_too() -> None:
    error = fw.Invalid("limit is missing.", fields=[{"path": "limit", "message": "Required", "expected": "A number"}])
    data = json.loads(fw.render(error, "jsonrpc"))["data"]
    assert (data["field"], data["expected"]) == ("limit", "A number")
    assert data["errors"] == [{"field": "limit", "message": "Required"}]
    assert fw.losses(error, "jsonrpc") == ()
