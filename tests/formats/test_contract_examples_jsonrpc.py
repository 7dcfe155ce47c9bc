"""The twenty error examples of contract 004, as JSON values."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.model import FieldError

LAB = {"device_id": "dev-lab-01"}
Example = tuple[fw.ToolError, dict[str, Any]]


def error(code: str, details: str, /, **fields: Any) -> fw.ToolError:
    return fw.ToolError(details, code=code, **fields)


def wire(number: int, message: str, code: str, details: str, /, **data: Any) -> dict[str, Any]:
    return {"code": number, "message": message, "data": {"mcp_error_code": code, "details": details, **data}}


def plain(number: int, message: str, code: str, details: str, /, **context: Any) -> Example:
    """An example whose data is nothing but context."""
    return error(code, details, details=context), wire(number, message, code, details, **context)


EXAMPLES: list[Example] = [
    plain(-32001, "Unauthorized", "UNAUTHORIZED", "No valid authentication found"),
    (
        error(
            "FORBIDDEN",
            "Device 'dev-lab-01' does not allow advanced writes",
            title="Forbidden: advanced tier requires allow_advanced_writes flag",
            tier="advanced",
            details={**LAB, "required_flag": "allow_advanced_writes"},
        ),
        wire(
            -32002,
            "Forbidden: advanced tier requires allow_advanced_writes flag",
            "FORBIDDEN",
            "Device 'dev-lab-01' does not allow advanced writes",
            device_id="dev-lab-01",
            required_flag="allow_advanced_writes",
            tool_tier="advanced",
        ),
    ),
    (
        error(
            "FORBIDDEN",
            "Device environment 'prod' does not match service environment 'lab'",
            title="Forbidden: environment mismatch",
            details={"device_id": "dev-prod-01", "device_environment": "prod", "service_environment": "lab"},
        ),
        wire(
            -32002,
            "Forbidden: environment mismatch",
            "FORBIDDEN",
            "Device environment 'prod' does not match service environment 'lab'",
            device_id="dev-prod-01",
            device_environment="prod",
            service_environment="lab",
        ),
    ),
    plain(
        -32003,
        "Not Found",
        "NOT_FOUND",
        "Device 'dev-unknown' not found in registry",
        device_id="dev-unknown",
        resource_type="device",
    ),
    plain(
        -32003, "Not Found", "NOT_FOUND", "Plan 'plan-abc123' not found", plan_id="plan-abc123", resource_type="plan"
    ),
    plain(
        -32004,
        "Conflict",
        "CONFLICT",
        "Device with name 'lab-router-01' already exists",
        device_name="lab-router-01",
        existing_device_id="dev-lab-01",
    ),
    (
        error(
            "VALIDATION_ERROR",
            "Invalid IP address format",
            fields=[FieldError(("ip_address",), "", "192.168.1.999", "Valid IPv4 or IPv6 address")],
        ),
        wire(
            -32005,
            "Validation Error",
            "VALIDATION_ERROR",
            "Invalid IP address format",
            field="ip_address",
            value="192.168.1.999",
            expected="Valid IPv4 or IPv6 address",
        ),
    ),
    (
        error(
            "VALIDATION_ERROR",
            "Multiple validation errors",
            fields=[("device_id", "Required field missing"), ("dns_servers", "Must be array of strings")],
        ),
        wire(
            -32005,
            "Validation Error",
            "VALIDATION_ERROR",
            "Multiple validation errors",
            errors=[
                {"field": "device_id", "message": "Required field missing"},
                {"field": "dns_servers", "message": "Must be array of strings"},
            ],
        ),
    ),
    (
        error(
            "RATE_LIMITED",
            "Too many requests to device 'dev-lab-01'",
            retry_after=60,
            details={**LAB, "limit": "3 requests per device", "current_count": 5},
        ),
        wire(
            -32006,
            "Rate Limited",
            "RATE_LIMITED",
            "Too many requests to device 'dev-lab-01'",
            device_id="dev-lab-01",
            retry_after=60,
            limit="3 requests per device",
            current_count=5,
        ),
    ),
    plain(
        -32007,
        "Timeout",
        "TIMEOUT",
        "REST call to device timed out after 5.0 seconds",
        device_id="dev-lab-01",
        timeout_seconds=5.0,
        operation="GET /rest/system/resource",
    ),
    plain(
        -32010,
        "Device Unreachable",
        "DEVICE_UNREACHABLE",
        "Connection refused to 192.168.1.1:443",
        device_id="dev-lab-01",
        management_address="192.168.1.1:443",
        error_type="ECONNREFUSED",
    ),
    (
        error(
            "DEVICE_AUTH_FAILED",
            "HTTP 401 Unauthorized from RouterOS",
            suggestion="Check device credentials or rotate keys",
            details={**LAB, "credential_kind": "routeros_rest"},
        ),
        wire(
            -32011,
            "Device Authentication Failed",
            "DEVICE_AUTH_FAILED",
            "HTTP 401 Unauthorized from RouterOS",
            device_id="dev-lab-01",
            credential_kind="routeros_rest",
            suggestion="Check device credentials or rotate keys",
        ),
    ),
    plain(
        -32012,
        "Device Error",
        "DEVICE_ERROR",
        "RouterOS API error: invalid argument",
        device_id="dev-lab-01",
        routeros_error="failure: no such item (4)",
        operation="PATCH /rest/ip/address/*2",
    ),
    plain(
        -32013,
        "Device Unsupported",
        "DEVICE_UNSUPPORTED",
        "RouterOS version too old for this operation",
        device_id="dev-lab-01",
        routeros_version="7.8",
        required_version="7.10+",
        tool="system/get-ntp-status",
    ),
    plain(
        -32020,
        "Invalid Configuration",
        "INVALID_CONFIGURATION",
        "Cannot add IP address: interface is disabled",
        device_id="dev-lab-01",
        interface="ether1",
        interface_status="disabled",
    ),
    plain(
        -32021,
        "Unsafe Operation",
        "UNSAFE_OPERATION",
        "Cannot modify management interface IP address",
        device_id="dev-lab-01",
        interface="ether1",
        reason="Management interface protection",
        safety_rule="PROTECT_MANAGEMENT_PATH",
    ),
    plain(
        -32030,
        "Plan Not Approved",
        "PLAN_NOT_APPROVED",
        "Plan requires approval before execution",
        plan_id="plan-abc123",
        plan_status="draft",
        required_status="approved",
    ),
    plain(
        -32031,
        "Plan Expired",
        "PLAN_EXPIRED",
        "Plan expired 2 hours ago",
        plan_id="plan-abc123",
        created_at="2024-01-15T10:00:00Z",
        expires_at="2024-01-15T12:00:00Z",
        current_time="2024-01-15T14:00:00Z",
    ),
]


@pytest.mark.checklist(246, 247, 248, 249, 250, 251, 252, 253, 263)
@pytest.mark.parametrize(("given", "expected"), EXAMPLES, ids=lambda value: getattr(value, "code", None))
def test_example_comes_out_as_printed(given: fw.ToolError, expected: dict[str, Any]) -> None:
    assert to_wire(given, "jsonrpc") == expected


@pytest.mark.parametrize(("given", "expected"), EXAMPLES, ids=lambda value: getattr(value, "code", None))
def test_printed_example_is_read_back(given: fw.ToolError, expected: dict[str, Any]) -> None:
    assert fw.parse({"jsonrpc": "2.0", "id": 1, "error": expected}) == given


@pytest.mark.checklist(222, 248)
def test_error_response_example_sets_its_number_by_hand() -> None:
    given = error(
        "INVALID_DEVICE_ID", "Device 'dev-unknown' not found in registry", details={"device_id": "dev-unknown"}
    )
    assert fw.to_jsonrpc(given, id="req-12345", number=-32602) == {
        "jsonrpc": "2.0",
        "id": "req-12345",
        "error": wire(
            -32602,
            "Invalid params",
            "INVALID_DEVICE_ID",
            "Device 'dev-unknown' not found in registry",
            device_id="dev-unknown",
        ),
    }


@pytest.mark.checklist(248, 260, 262, 264)
def test_complete_error_response_example() -> None:
    steps = [
        "Use registry/update to enable allow_advanced_writes flag",
        "Use registry/list with environment filter to find devices with advanced tier enabled",
        "Contact administrator to enable advanced tier for this device",
    ]
    alternative = {
        "tool": "registry/list",
        "description": "List devices with advanced tier enabled",
        "arguments": {"environment": "lab", "filter": "allow_advanced_writes=true"},
    }
    suggestion = (
        "Enable advanced operations by setting device flag 'allow_advanced_writes=true', or use a different device."
    )
    details = "Device 'dev-lab-01' does not allow advanced tier operations"
    given = error(
        "FORBIDDEN",
        details,
        tier="advanced",
        strategy="user_action_required",
        suggestion=suggestion,
        next_steps=steps,
        actions=[alternative],
        details={**LAB, "required_flag": "allow_advanced_writes"},
    )
    assert fw.to_jsonrpc(given, id="req-001") == {
        "jsonrpc": "2.0",
        "id": "req-001",
        "error": wire(
            -32002,
            "Forbidden",
            "FORBIDDEN",
            details,
            device_id="dev-lab-01",
            tool_tier="advanced",
            required_flag="allow_advanced_writes",
            recovery_strategy="user_action_required",
            suggestion=suggestion,
            next_steps=steps,
            alternatives=[alternative],
        ),
    }


@pytest.mark.checklist(247)
def test_error_data_example() -> None:
    given = error(
        "DEVICE_UNREACHABLE",
        "Connection timeout after 5.0 seconds",
        retry_after=60,
        details={**LAB, "routeros_error": "connect ETIMEDOUT 192.168.1.1:443"},
    )
    assert to_wire(given, "jsonrpc")["data"] == {
        "mcp_error_code": "DEVICE_UNREACHABLE",
        "details": "Connection timeout after 5.0 seconds",
        "device_id": "dev-lab-01",
        "routeros_error": "connect ETIMEDOUT 192.168.1.1:443",
        "retry_after": 60,
    }
