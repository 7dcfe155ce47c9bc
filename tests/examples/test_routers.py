"""The example `routers`: every code of contract 004 over the wire, in both eras, as protocol errors and as results.

The snapshots hold whole answers, without their ids. `FAILWELL_SNAPSHOTS=write` writes them anew.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import drill
import pytest
from routers_wire import ANN, BEN, ERAS, LEGACY, LONG, MODERN, OTHER, PASSWORD, Web, fixed, serving, spoken
from running import SNAPSHOTS, compare

import failwell as fw
import failwell.manifest
from failwell import examples
from printed_examples import PRINTED

MODES = ("protocol", "result")
# Over HTTP each mode is asked in both eras, on stdio in one.
ON_STDIO = {"protocol": LEGACY, "result": MODERN}
NEW_ADDRESS = {"device_id": "dev-lab-01", "address": "192.0.2.1/24", "interface": "ether2"}
NEW_DEVICE = {"device_id": "dev-new", "address": "192.0.2.7:443", "environment": "lab", "username": "admin"}

# In this order: plans are made, approved and applied.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "overview": ("system/get-overview", {"device_id": "dev-lab-01"}),
    "list": ("registry/list", {"environment": "lab", "filter": "allow_advanced_writes=true"}),
    "ntp": ("system/get-ntp-status", {"device_id": "dev-lab-01"}),
    "no such device": ("system/get-overview", {"device_id": "dev-lab-99"}),
    "no such plan": ("plan/apply", {"plan_id": "plan-99"}),
    "no such interface": ("ip/add-address", {**NEW_ADDRESS, "interface": "ether9"}),
    "name is taken": ("registry/add", {**NEW_DEVICE, "name": "router-lab-01", "password": OTHER}),
    "not an address": ("ip/add-address", {**NEW_ADDRESS, "address": "192.168.1.999"}),
    "two bad fields": ("ip/add-address", {"address": 7, "interface": "ether2"}),
    "a wrong name": ("system/get-overview", {"devcie_id": "dev-lab-01"}),
    "a bad password": ("registry/rotate-credentials", {"device_id": "dev-lab-01", "username": 7, "password": OTHER}),
    "a bad value": ("registry/list", {"filter": "allow_advanced_writes"}),
    "a plan without servers": ("plan/create", {"device_ids": ["dev-lab-01"], "servers": []}),
    "a plan for no device": ("plan/create", {"device_ids": ["dev-lab-01", "dev-lab-99"], "servers": ["192.0.2.1"]}),
    "no flag": ("ip/add-address", {**NEW_ADDRESS, "device_id": "dev-lab-02"}),
    "no flag to plan": ("plan/create", {"device_ids": ["dev-lab-02"], "servers": ["192.0.2.1"]}),
    "another environment": ("system/get-overview", {"device_id": "dev-prod-01"}),
    "management interface": ("ip/add-address", {**NEW_ADDRESS, "interface": "ether1"}),
    "disabled interface": ("ip/add-address", {**NEW_ADDRESS, "interface": "ether3"}),
    "address added": ("ip/add-address", NEW_ADDRESS),
    "addresses": ("ip/list-addresses", {"device_id": "dev-lab-01"}),
    "address is there": ("ip/add-address", NEW_ADDRESS),
    "unreachable": ("system/get-overview", {"device_id": "dev-down"}),
    "wrong credentials": ("system/get-overview", {"device_id": "dev-auth"}),
    "too old": ("system/get-ntp-status", {"device_id": "dev-old"}),
    "silent": ("system/get-overview", {"device_id": "dev-slow"}),
    "silent while writing": ("ip/add-address", {**NEW_ADDRESS, "device_id": "dev-stuck"}),
    "a long error with secrets": ("system/get-overview", {"device_id": "dev-broken"}),
    "an error while writing": ("ip/add-address", {**NEW_ADDRESS, "device_id": "dev-old"}),
    "garbled": ("system/get-overview", {"device_id": "dev-garbled"}),
    "expired": ("plan/apply", {"plan_id": "plan-1"}),
    "stopped in the middle": ("plan/apply", {"plan_id": "plan-2"}),
    "planned": ("plan/create", {"device_ids": ["dev-lab-01", "dev-old"], "servers": ["192.0.2.1"]}),
    "not approved": ("plan/apply", {"plan_id": "plan-3"}),
    "approved": ("plan/approve", {"plan_id": "plan-3"}),
    "applied": ("plan/apply", {"plan_id": "plan-3", "stream_progress": True}),
    "applied again": ("plan/apply", {"plan_id": "plan-3"}),
    "no such tool": ("system/get-overveiw", {"device_id": "dev-lab-01"}),
}
REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "no such method": ("routers/reboot", {}),
    "bad params": ("tools/call", {"name": "registry/list", "arguments": []}),
    "no such resource": ("resources/read", {"uri": "device://dev-lab-99/addresses"}),
    "a resource": ("resources/read", {"uri": "device://dev-lab-01/addresses"}),
    "a resource out of reach": ("resources/read", {"uri": "device://dev-down/addresses"}),
}
OWN_CODES = [code.name for code in fw.catalogs.JsonRpc if -32099 <= (code.number or 0) <= -32000]


def asked(client: Any) -> dict[str, Any]:
    """The answers by case, and the notifications that came on the way."""
    answers: dict[str, Any] = {}
    for case, (tool, arguments) in CALLS.items():
        answers[case] = client.call(tool, arguments, meta={"progressToken": case}, id=case).value
    for case, (method, params) in REQUESTS.items():
        answers[case] = client.ask(method, params, id=case).value
    for _ in range(31):
        answers["too often"] = client.call("system/get-overview", {"device_id": "dev-busy"}, id="too often").value
        if "code" in json.dumps(answers["too often"]):
            break
    answers["progress"] = [each for each in client.passed if each.get("method") == "notifications/progress"]
    return answers


def asked_by_others(process: Any, era: str) -> dict[str, Any]:
    """What callers without a token, and with one for less, are answered; and what is no request at all."""
    answers: dict[str, Any] = {}
    for case, token, name in (
        ("no token", "", "no such device"),
        ("a wrong token", "token-of-nobody", "no such device"),
        ("a tier too high", BEN, "not approved"),
        ("the lowest tier", BEN, "overview"),
    ):
        client = spoken(process, era, http=True, token=token)
        tool, arguments = CALLS[name]
        answers[case] = client.call(tool, arguments, id=case).value
        client.close()
    client = spoken(process, era, http=True)
    assert isinstance(client, Web)
    session = client.headers()
    strangers = {**session, "mcp-session-id": ""} if era == LEGACY else session
    for case, body, headers in (
        ("no JSON", '{"jsonrpc": "2.0", "id": 1,', session),
        # The older era has another number for a body that is no request, but this one for a request out of nowhere.
        (
            "no request",
            '[{"jsonrpc": "2.0"}]' if era == MODERN else '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
            strangers,
        ),
    ):
        status, value = client.post(body, headers)
        answers[case] = {"status": status, "id": value["id"], **value["error"]}
    client.close()
    return answers


def snapshot(name: str, era: str) -> dict[str, Any]:
    return SNAPSHOTS.read(f"routers-{name}", era)


def logged(lines: list[str]) -> dict[str, Any]:
    """The lines of the log by the id of the request; where several have the same, the last."""
    found = {}
    for line in map(json.loads, lines):
        line["correlation_id"] = "0" * 12 if line["correlation_id"] else None
        if "way" in line:
            line["way"] = "(frames)"
        found[line["request_id"]] = line
    return found


def on_stdio(mode: str, folder: Path) -> tuple[dict[str, Any], str, str]:
    """The answers, the log, and the complaints."""
    with serving(folder / "stdio", http=False, ROUTERS_ERRORS=mode) as (process, world):
        client = spoken(process, ON_STDIO[mode], http=False)
        answers = asked(client)
        client.close()
        return fixed(answers), world.log.read_text(encoding="utf-8"), process.complaint()


def on_http(mode: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]:
    """By era the answers, those to others, and the log; and everything that was written."""
    answers, others, logs, seen = {}, {}, {}, 0
    with serving(folder / "http", http=True, ROUTERS_ERRORS=mode) as (process, world):
        for era in ERAS:
            world.furnish()
            client = spoken(process, era, http=True)
            answers[era] = fixed(asked(client))
            client.close()
            lines = world.log.read_text(encoding="utf-8").splitlines()
            logs[era] = fixed(logged(lines[seen:]))
            others[era] = fixed(asked_by_others(process, era))
            seen = len(world.log.read_text(encoding="utf-8").splitlines())
        return answers, others, logs, process.complaint() + world.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.checklist(220, 221, 222, 223, 224, 225, 226, 227, 228, *range(229, 245), 277, 280, 286, 287, 288)
def test_every_code_on_the_wire(mode: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        stdio = pool.submit(on_stdio, mode, tmp_path)
        answers, others, logs, written = on_http(mode, tmp_path)
        told, log, complaints = stdio.result()
    era = ON_STDIO[mode]
    problems = [
        f"{era}, {case}: over HTTP it is {answers[era][case]}, not {told[case]}"
        for case in told
        if answers[era][case] != told[case]
    ]
    if fixed(logged(log.splitlines())) != logs[era]:
        problems.append("The log differs between HTTP and stdio.")
    if complaints:
        problems.append(f"standard error is not empty: {complaints}")
    for era in ERAS:
        problems += compare(f"routers-{mode}", answers[era] | others[era], era)
        if mode == "result":
            problems += compare("routers-log", logs[era], era)
    written += log + json.dumps([told, answers, others])
    problems += [f"a secret was told: {secret}" for secret in (PASSWORD, OTHER, ANN, BEN) if secret in written]
    assert not problems, "\n".join(problems)


def called(client: Any, tool: str, **arguments: Any) -> str:
    """The code that a call fails with, or what it says."""
    result = client.call(tool, arguments).value["result"]
    if result["isError"]:
        code: str = result["structuredContent"]["data"]["mcp_error_code"]
        return code
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.checklist(264, 280)
def test_who_follows_the_advice_gets_through(tmp_path: Path) -> None:
    overview = "RouterOS 7.15.2, CPU at 5.0 %"
    with serving(tmp_path / "advice", http=False) as (process, world):
        client = spoken(process, LEGACY, http=False)
        device = world.routers["dev-lab-01"]
        assert called(client, "system/get-overview", device_id="dev-lab-01") == overview
        device.faults["GET"] = (400, b'{"error":400,"message":"Bad Request","detail":"failure: no such item (4)"}')
        assert called(client, "system/get-overview", device_id="dev-lab-01") == "DEVICE_ERROR"
        device.faults.clear()
        assert called(client, "system/get-overview", device_id="dev-lab-01") == overview
        # registry/rotate-credentials, as DEVICE_AUTH_FAILED says.
        assert called(client, "system/get-overview", device_id="dev-auth") == "DEVICE_AUTH_FAILED"
        called(client, "registry/rotate-credentials", device_id="dev-auth", username="admin", password=PASSWORD)
        assert called(client, "system/get-overview", device_id="dev-auth") == overview
        # registry/update, as FORBIDDEN says.
        new = {**NEW_ADDRESS, "device_id": "dev-lab-02"}
        assert called(client, "ip/add-address", **new) == "FORBIDDEN"
        called(client, "registry/update", device_id="dev-lab-02", flags=["allow_advanced_writes"])
        assert called(client, "ip/add-address", **new) == "192.0.2.1/24 added to ether2 of 'dev-lab-02'"
        assert world.routers["dev-lab-02"].addresses[1]["address"] == "192.0.2.1/24"
        # ip/list-addresses, as the timeout of a write says.
        assert called(client, "ip/add-address", **{**new, "device_id": "dev-stuck"}) == "TIMEOUT"
        assert called(client, "ip/list-addresses", device_id="dev-stuck") == "127.0.0.1/8 on ether1"
        # registry/update of the address, and plan/apply again, which goes on where it stopped.
        assert called(client, "plan/apply", plan_id="plan-2") == "DEVICE_UNREACHABLE"
        device.dns = "not set a second time"
        called(client, "registry/update", device_id="dev-down", address=world.routers["dev-old"].address)
        world.routers["dev-old"].version = "7.15.2"
        assert called(client, "plan/apply", plan_id="plan-2") == "Plan 'plan-2' applied to dev-lab-01, dev-down"
        assert (device.dns, world.routers["dev-old"].dns) == ("not set a second time", "192.0.2.9")
        # registry/add, as NOT_FOUND says.
        assert called(client, "system/get-overview", device_id="dev-new") == "NOT_FOUND"
        called(client, "registry/add", **{**NEW_DEVICE, "address": device.address}, name="new", password=PASSWORD)
        assert called(client, "system/get-overview", device_id="dev-new") == overview
        client.close()


@pytest.mark.checklist(230, 266, 267, 268, 280)
def test_a_token_on_stdio_and_the_whole_of_what_a_device_said(tmp_path: Path) -> None:
    def told(mode: str, token: str) -> dict[str, Any]:
        settings = {"ROUTERS_ERRORS": mode, "ROUTERS_DEBUG": "1", "ROUTERS_TOKEN": token}
        with serving(tmp_path / mode, http=False, **settings) as (process, _):
            client = spoken(process, MODERN, http=False)
            answer = client.call(*CALLS["a long error with secrets"]).value
            client.close()
            return answer

    with ThreadPoolExecutor() as pool:
        debugged, refused = pool.map(told, ("protocol", "result"), (ANN, ""))
    whole = LONG.replace(PASSWORD, "[redacted]").replace(OTHER, "[redacted]")
    assert len(whole) > 100
    data = debugged["error"]["data"]
    assert data["_debug_details"] == whole
    assert data["details"] == f"RouterOS error on device 'dev-broken': {whole[:100]}"
    assert refused["result"]["structuredContent"] == {
        "code": -31001,
        "message": "Unauthorized",
        "data": {
            "mcp_error_code": "UNAUTHORIZED",
            "details": "No valid authentication found",
            "recovery_strategy": "user_action_required",
            "tool_name": "system/get-overview",
            "suggestion": "Ask the user for a token: a bearer token over HTTP, ROUTERS_TOKEN on stdio.",
        },
    }


def failures(mode: str, era: str) -> dict[str, Any]:
    """The error objects by case: protocol errors, or those in results."""
    objects = {}
    for case, answer in snapshot(mode, era).items():
        if isinstance(answer, dict) and "error" in answer:
            objects[case] = answer["error"]
        elif isinstance(answer, dict) and answer.get("result", {}).get("isError"):
            objects[case] = answer["result"]["structuredContent"]
    return objects


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.checklist(*range(224, 245), 246, 287)
def test_all_codes_of_the_taxonomy_have_been_provoked(mode: str, era: str) -> None:
    seen: dict[str, int] = {}
    for case, error in failures(mode, era).items():
        if case not in REQUESTS and case != "no such tool":
            assert isinstance(error["data"]["details"], str), case
            seen[error["data"]["mcp_error_code"]] = error["code"]
    shift = 1000 if era == MODERN else 0
    own = {code.name: code.number + shift for code in fw.catalogs.JsonRpc if code.name in OWN_CODES and code.number}
    assert len(own) == 16
    assert {name: number for name, number in seen.items() if name in own} == own
    # The contract's templates are cases of a validation error.
    assert {name: number for name, number in seen.items() if name not in own} == {
        "INVALID_IP_ADDRESS": -32005 + shift,
        "REQUIRED_FIELD_MISSING": -32005 + shift,
        # By the contract's own example.
        "INVALID_DEVICE_ID": -32602,
    }
    answers = snapshot(mode, era)
    standard = {case: answers[case]["error"]["code"] for case in REQUESTS if case != "a resource"}
    standard |= {case: answers[case]["code"] for case in ("no JSON", "no request")}
    assert standard == {
        "no such method": -32601,
        "bad params": -32602,
        "no such resource": -32003 + shift,
        "a resource out of reach": -32010 + shift,
        "no JSON": -32700,
        "no request": -32600,
    }


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.checklist(226, 287, 288)
def test_both_ways_say_the_same(era: str) -> None:
    protocol, result = failures("protocol", era), failures("result", era)
    assert protocol.keys() == result.keys()
    for case in protocol.keys() - REQUESTS.keys():
        assert protocol[case] == result[case], case
    assert protocol["no such tool"]["code"] == -32601


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.checklist(281, 288, 291)
def test_what_is_sent_is_legal_and_can_be_read(mode: str, era: str) -> None:
    reserved = {-32020, -32021, -32022}
    for case, error in failures(mode, era).items():
        if era == MODERN:
            assert not -32099 <= error["code"] <= -32000 or error["code"] in reserved, case
        if isinstance(error.get("data"), dict):
            read = fw.parse(error)
            assert read is not None
            assert error["data"]["mcp_error_code"] == read.code, case


@pytest.mark.checklist(231, 264)
def test_forbidden_is_the_contracts_complete_example() -> None:
    error = failures("result", LEGACY)["no flag"]
    assert error["data"].pop("tool_name") == "ip/add-address"
    assert error == {
        "code": -32002,
        "message": "Forbidden",
        "data": {
            "mcp_error_code": "FORBIDDEN",
            "details": "Device 'dev-lab-02' does not allow advanced tier operations",
            "device_id": "dev-lab-02",
            "tool_tier": "advanced",
            "required_flag": "allow_advanced_writes",
            "recovery_strategy": "user_action_required",
            "suggestion": "Enable advanced operations by setting device flag 'allow_advanced_writes=true', "
            "or use a different device.",
            "next_steps": [
                "Use registry/update to enable allow_advanced_writes flag",
                "Use registry/list with environment filter to find devices with advanced tier enabled",
                "Contact administrator to enable advanced tier for this device",
            ],
            "alternatives": [
                {
                    "tool": "registry/list",
                    "description": "List devices with advanced tier enabled",
                    "arguments": {"environment": "lab", "filter": "allow_advanced_writes=true"},
                }
            ],
        },
    }


@pytest.mark.checklist(232, 265)
def test_a_device_that_is_not_there_is_answered_with_those_that_are() -> None:
    data = failures("result", LEGACY)["no such device"]["data"]
    named = data["details"].partition("Available devices: ")[2].partition(". ")[0].split(", ")
    assert named == ["dev-auth", "dev-broken", "dev-busy", "dev-down", "dev-garbled"]
    assert data["available_device_count"] == 11
    assert data["suggestions"] == [
        "Use registry/list to see all available devices",
        "Check device_id spelling and try again",
        "Use registry/add to add 'dev-lab-99' to the registry",
    ]


@pytest.mark.checklist(267, 268, 280)
def test_a_device_is_quoted_briefly_and_without_its_secrets() -> None:
    for mode in MODES:
        data = failures(mode, LEGACY)["a long error with secrets"]["data"]
        quoted = data["details"].removeprefix("RouterOS error on device 'dev-broken': ")
        assert quoted == data["routeros_error"]
        assert len(quoted) == 100
        assert "secret '[redacted]'" in quoted
        assert "password=[redacted]" in quoted
        assert "_debug_details" not in data


# What the contract's own examples say, beside what differs: the names.
EXAMPLES: dict[str, dict[str, Any]] = {
    "expired": {
        "details": "Plan expired 2 hours ago",
        "created_at": "2024-01-15T10:00:00Z",
        "expires_at": "2024-01-15T12:00:00Z",
        "current_time": "2024-01-15T14:00:00Z",
    },
    "not approved": {
        "details": "Plan requires approval before execution",
        "plan_status": "draft",
        "required_status": "approved",
    },
    "management interface": {
        "details": "Cannot modify management interface IP address",
        "interface": "ether1",
        "reason": "Management interface protection",
        "safety_rule": "PROTECT_MANAGEMENT_PATH",
    },
    "disabled interface": {
        "details": "Cannot add IP address: interface is disabled",
        "interface_status": "disabled",
    },
    "too old": {
        "details": "RouterOS version too old for this operation",
        "routeros_version": "7.8",
        "required_version": "7.10+",
        "tool": "system/get-ntp-status",
    },
    "silent": {
        "details": "REST call to device timed out after 1.0 seconds",
        "timeout_seconds": 1.0,
        "operation": "GET /rest/system/resource",
    },
    "another environment": {
        "details": "Device environment 'prod' does not match service environment 'lab'",
        "device_environment": "prod",
        "service_environment": "lab",
    },
    "name is taken": {
        "details": "Device with name 'router-lab-01' already exists",
        "device_name": "router-lab-01",
        "existing_device_id": "dev-lab-01",
    },
    "no such plan": {"details": "Plan 'plan-99' not found", "plan_id": "plan-99", "resource_type": "plan"},
    "too often": {"details": "Too many requests to device 'dev-busy'", "device_id": "dev-busy", "retry_after": 60}
    | {"limit": "30 calls in 60 seconds", "current_count": 31},
    "a bad value": {
        "field": "filter",
        "value": "allow_advanced_writes",
        "expected": "One of: allow_advanced_writes=true, allow_professional_workflows=true",
        "options": ["allow_advanced_writes=true", "allow_professional_workflows=true"],
    },
}


@pytest.mark.parametrize("case", EXAMPLES)
@pytest.mark.checklist(247, 251, 252, 253)
def test_the_contracts_examples_come_from_a_real_server(case: str) -> None:
    data = failures("protocol", LEGACY)[case]["data"]
    assert {name: data.get(name) for name in EXAMPLES[case]} == EXAMPLES[case]


# What the server adds to the examples, as docs/formats.md says: who was called, and what to do.
ADDED = {"tool_name", "recovery_strategy", "suggestion"}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.checklist(248, 249, 250, 251, 252, 253)
def test_the_twenty_examples_come_over_the_wire(era: str, tmp_path: Path) -> None:
    script = Path(drill.__file__)
    with serving(tmp_path / "drill", http=era == LEGACY, script=script, ROUTERS_ERRORS="protocol") as (process, _):
        client = spoken(process, era, http=era == LEGACY)
        found = [client.call("contract/example", {"name": name}, id=name).value for name in drill.examples()]
        client.close()
    assert len(PRINTED) == len(found) == 20
    for printed, value in zip(PRINTED, found, strict=True):
        number = printed["code"] + (1000 if era == MODERN and printed["code"] != -32602 else 0)
        data = {key: said for key, said in value["error"]["data"].items() if key in printed["data"] or key not in ADDED}
        assert value == {"jsonrpc": "2.0", "error": value["error"]}
        assert {**value["error"], "data": data} == {**printed, "code": number}


@pytest.mark.checklist(221)
def test_an_overview_has_the_six_facts_of_the_contract() -> None:
    for mode, era in (("protocol", LEGACY), ("result", LEGACY)):
        assert snapshot(mode, era)["overview"]["result"]["_meta"] == {
            "device_id": "dev-lab-01",
            "routeros_version": "7.15.2",
            "uptime_seconds": 86400,
            "cpu_usage_percent": 5.0,
            "memory_total_bytes": 536870912,
            "memory_used_bytes": 134217728,
        }


@pytest.mark.checklist(249, 250, 274, 275)
def test_templates_and_fields() -> None:
    found = failures("protocol", LEGACY)
    one = found["not an address"]["data"]
    assert (one["field"], one["value"]) == ("address", "192.168.1.999")
    assert one["expected"] == "Valid IPv4 or IPv6 address (e.g., 192.168.1.1 or 2001:db8::1)"
    assert [each["field"] for each in found["two bad fields"]["data"]["errors"]] == ["device_id", "address"]
    assert found["unreachable"]["data"]["next_steps"][0] == "Wait 60 seconds and retry"
    assert found["wrong credentials"]["data"]["recovery_strategy"] == "user_action_required"
    assert found["address is there"]["data"]["recovery_strategy"] == "report_and_abort"


@pytest.mark.checklist(286)
def test_progress_is_told_to_those_who_asked() -> None:
    told = [each["params"] for each in snapshot("result", MODERN)["progress"]]
    # Another plan was applied with a token, but without stream_progress.
    assert {each["progressToken"] for each in told} == {"applied"}
    assert [(each["progress"], each["message"]) for each in told] == [
        (0, "Setting DNS servers of dev-lab-01"),
        (50, "Setting DNS servers of dev-old"),
        (100, "Plan applied"),
    ]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.checklist(266, 277)
def test_each_failure_is_one_line_of_the_log(era: str) -> None:
    log = snapshot("log", era)
    shift = 1000 if era == MODERN else 0
    for case, error in failures("result", era).items():
        if case in CALLS:
            line, data = log[case], error["data"]
            assert line["event"] == "tool_error"
            assert line["tool_name"] == CALLS[case][0]
            assert data["mcp_error_code"] == line["mcp_error_code"], case
            assert line["error_code"] == error["code"], case
            assert line["context"].get("device_id") == data.get("device_id"), case
            assert line["correlation_id"] is not None
    assert log["a long error with secrets"]["details"].endswith("see the log of the device")
    assert {line["level"] for case, line in log.items() if case != "garbled"} == {"WARNING"}
    assert log["garbled"]["level"] == "ERROR"
    # Of requests that reach no tool, too: the id, the number, and what was said.
    for case, told in {
        "no such method": ("routers/reboot", -32601, "METHOD_NOT_FOUND"),
        "bad params": ("tools/call", -32602, "INVALID_PARAMS"),
        "no such resource": ("device://dev-lab-99/addresses", -32003 + shift, "NOT_FOUND"),
        "a resource out of reach": ("device://dev-down/addresses", -32010 + shift, "DEVICE_UNREACHABLE"),
    }.items():
        assert tuple(log[case][name] for name in ("tool_name", "error_code", "mcp_error_code")) == told, case


@pytest.mark.checklist(220)
def test_the_tools_declare_what_they_fail_with() -> None:
    made = failwell.manifest.build(anyio.run(failwell.manifest.of_server, examples.build("routers")))
    tools = {tool.name: {*tool.possible_error_codes, *made.common_error_codes} for tool in made.tools}
    assert {name.partition("/")[0] for name in tools} == {"registry", "system", "ip", "plan"}
    for case, error in failures("result", LEGACY).items():
        if case in CALLS and case != "no such tool":
            assert error["data"]["mcp_error_code"] in tools[CALLS[case][0]], case
