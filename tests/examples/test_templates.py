"""Message templates: variables in, never code, and text even where a variable is missing."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.examples.routers.devices import DEVICE, VALIDATION, fill
from failwell.model import UNSET, FieldError


@pytest.mark.checklist(21)
@pytest.mark.parametrize(
    ("template", "variables", "wanted"),
    [
        ("agent {name} not registered", {"name": "fd"}, "agent fd not registered"),
        ("{a} and {a}", {"a": 1}, "1 and 1"),
        ("{a} {b}", {"a": "{b}", "b": "{a}"}, "{b} {a}"),
        ("100% of {a} %s %(a)s", {"a": "%d"}, "100% of %d %s %(a)s"),
        ("{0} {} {a!r} {a:>5} {a.b} {a[0]}", {"a": 1}, "(unknown) {} {a!r} {a:>5} {a.b} {a[0]}"),
        ("{a}", {"a": r"\1 \g<0>"}, r"\1 \g<0>"),
        ("no variables", {"a": 1}, "no variables"),
        ("{größe}", {"größe": 3}, "3"),
    ],
)
def test_variables_are_put_in_as_text(template: str, variables: dict[str, Any], wanted: str) -> None:
    assert fill(template, variables) == wanted


@pytest.mark.checklist(276)
def test_a_missing_variable_gives_text() -> None:
    assert fill("Device '{device_id}' at {address}", {"address": "10.0.0.1"}) == "Device '(unknown)' at 10.0.0.1"


@pytest.mark.checklist(274)
@pytest.mark.parametrize(
    ("name", "number", "variables", "wanted"),
    [
        (
            "DEVICE_UNREACHABLE",
            -32010,
            {"device_id": "dev-1", "management_address": "10.0.0.1", "retry_after": 30},
            fw.Transient(
                "Cannot connect to device 'dev-1' at 10.0.0.1",
                code="DEVICE_UNREACHABLE",
                strategy="retry_with_backoff",
                retry_after=30,
                next_steps=[
                    "Wait 30 seconds and retry",
                    "Check device is powered on and network is accessible",
                    "Use registry/update to update management address if changed",
                ],
                details={"device_id": "dev-1", "management_address": "10.0.0.1"},
            ),
        ),
        (
            "DEVICE_AUTH_FAILED",
            -32011,
            {"device_id": "dev-1"},
            fw.Denied(
                "Authentication failed for device 'dev-1'",
                code="DEVICE_AUTH_FAILED",
                strategy="user_action_required",
                next_steps=[
                    "Check device credentials are correct",
                    "Use registry/rotate-credentials to update credentials",
                    "Verify user has access to device in RouterOS",
                ],
                details={"device_id": "dev-1"},
            ),
        ),
        (
            "DEVICE_ERROR",
            -32012,
            {"device_id": "dev-1", "error_summary": "{no} such % command"},
            fw.Internal(
                "RouterOS error on device 'dev-1': {no} such % command",
                code="DEVICE_ERROR",
                strategy="report_and_abort",
                next_steps=[
                    "Check RouterOS error message for details",
                    "Verify operation is valid for this RouterOS version",
                    "Use system/get-overview to check device state",
                ],
                details={"device_id": "dev-1", "error_summary": "{no} such % command"},
            ),
        ),
    ],
)
def test_the_device_templates(name: str, number: int, variables: dict[str, Any], wanted: fw.ToolError) -> None:
    error = DEVICE[name].error(**variables)
    assert error == wanted
    assert type(error) is type(wanted)
    assert fw.to_jsonrpc(error)["error"]["code"] == number


@pytest.mark.checklist(275)
@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        (
            "INVALID_IP_ADDRESS",
            "Invalid IP address: 10.0.0.999",
            "Valid IPv4 or IPv6 address (e.g., 192.168.1.1 or 2001:db8::1)",
        ),
        (
            "INVALID_DEVICE_ID",
            "Device '10.0.0.999' not found",
            "Valid device ID from registry (use registry/list to see options)",
        ),
        ("REQUIRED_FIELD_MISSING", "Required field 'address' is missing", "address must be provided"),
    ],
)
def test_the_validation_templates(name: str, message: str, expected: str) -> None:
    error = VALIDATION[name].error(field="address", value="10.0.0.999")
    problem = FieldError(("address",), message, "10.0.0.999", expected)
    assert error == fw.Invalid(message, code=name, strategy="fix_and_retry", fields=[problem])
    sent = fw.to_jsonrpc(error)["error"]
    # The contract's own number for a device that cannot be; the others are a device's.
    number = -32602 if name == "INVALID_DEVICE_ID" else -32005
    assert (sent["code"], sent["data"]["mcp_error_code"], sent["data"]["expected"]) == (number, name, expected)


@pytest.mark.checklist(276)
@pytest.mark.parametrize("name", [*DEVICE, *VALIDATION])
def test_a_template_without_its_variables_still_gives_an_error(name: str) -> None:
    error = {**DEVICE, **VALIDATION}[name].error()
    assert "(unknown)" in error.message
    assert "{" not in error.message + "".join(error.next_steps)
    assert error.code == name


def test_a_default_stands_in_for_a_missing_variable() -> None:
    error = DEVICE["DEVICE_UNREACHABLE"].error(device_id="dev-1")
    assert (error.retry_after, error.next_steps[0]) == (60, "Wait 60 seconds and retry")
    assert error.details == {"device_id": "dev-1"}


def test_a_required_field_that_was_not_sent_is_not_sent_as_none() -> None:
    error = VALIDATION["REQUIRED_FIELD_MISSING"].error(field="address")
    assert error.fields[0].sent is UNSET
