"""The example `routers` with one tool more, `contract/example`, which fails as each of contract 004's examples does."""

from __future__ import annotations

import sys
from typing import Any, Final

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

import failwell as fw
from failwell.examples import build, serve
from failwell.model import Action, JsonRpc

_LAB: Final = {"device_id": "dev-lab-01"}
_PLAN: Final = {"plan_id": "plan-abc123"}
_TIMES: Final = {
    "created_at": "2024-01-15T10:00:00Z",
    "expires_at": "2024-01-15T12:00:00Z",
    "current_time": "2024-01-15T14:00:00Z",
}
_ENABLE: Final = (
    "Enable advanced operations by setting device flag 'allow_advanced_writes=true', or use a different device."
)
_STEPS: Final = (
    "Use registry/update to enable allow_advanced_writes flag",
    "Use registry/list with environment filter to find devices with advanced tier enabled",
    "Contact administrator to enable advanced tier for this device",
)
_LOOK: Final = Action(
    "registry/list",
    "List devices with advanced tier enabled",
    {"environment": "lab", "filter": "allow_advanced_writes=true"},
)


def examples() -> dict[str, fw.ToolError]:
    """The twenty, by name, in the order of the contract."""
    code = JsonRpc
    address = {"path": "ip_address", "sent": "192.168.1.999", "expected": "Valid IPv4 or IPv6 address"}
    both = [("device_id", "Required field missing"), ("dns_servers", "Must be array of strings")]
    return {
        "error response": fw.ToolError(
            "Device 'dev-unknown' not found in registry",
            code="INVALID_DEVICE_ID",
            kind="validation",
            details={"device_id": "dev-unknown"},
        ),
        "unauthorized": code.UNAUTHORIZED("No valid authentication found"),
        "forbidden by a flag": code.FORBIDDEN(
            "Device 'dev-lab-01' does not allow advanced writes",
            title="Forbidden: advanced tier requires allow_advanced_writes flag",
            tier="advanced",
            details={**_LAB, "required_flag": "allow_advanced_writes"},
        ),
        "forbidden by the environment": code.FORBIDDEN(
            "Device environment 'prod' does not match service environment 'lab'",
            title="Forbidden: environment mismatch",
            details={"device_id": "dev-prod-01", "device_environment": "prod", "service_environment": "lab"},
        ),
        "no device": code.NOT_FOUND(
            "Device 'dev-unknown' not found in registry",
            details={"device_id": "dev-unknown", "resource_type": "device"},
        ),
        "no plan": code.NOT_FOUND("Plan 'plan-abc123' not found", details={**_PLAN, "resource_type": "plan"}),
        "conflict": code.CONFLICT(
            "Device with name 'lab-router-01' already exists",
            details={"device_name": "lab-router-01", "existing_device_id": "dev-lab-01"},
        ),
        "one field": code.VALIDATION_ERROR("Invalid IP address format", fields=[address]),
        "two fields": code.VALIDATION_ERROR("Multiple validation errors", fields=both),
        "rate limited": code.RATE_LIMITED(
            "Too many requests to device 'dev-lab-01'",
            retry_after=60,
            details={**_LAB, "limit": "3 requests per device", "current_count": 5},
        ),
        "timeout": code.TIMEOUT(
            "REST call to device timed out after 5.0 seconds",
            details={**_LAB, "timeout_seconds": 5.0, "operation": "GET /rest/system/resource"},
        ),
        "unreachable": code.DEVICE_UNREACHABLE(
            "Connection refused to 192.168.1.1:443",
            details={**_LAB, "management_address": "192.168.1.1:443", "error_type": "ECONNREFUSED"},
        ),
        "wrong credentials": code.DEVICE_AUTH_FAILED(
            "HTTP 401 Unauthorized from RouterOS",
            suggestion="Check device credentials or rotate keys",
            details={**_LAB, "credential_kind": "routeros_rest"},
        ),
        "device error": code.DEVICE_ERROR(
            "RouterOS API error: invalid argument",
            details={
                **_LAB,
                "routeros_error": "failure: no such item (4)",
                "operation": "PATCH /rest/ip/address/*2",
            },
        ),
        "unsupported": code.DEVICE_UNSUPPORTED(
            "RouterOS version too old for this operation",
            details={
                **_LAB,
                "routeros_version": "7.8",
                "required_version": "7.10+",
                "tool": "system/get-ntp-status",
            },
        ),
        "configuration": code.INVALID_CONFIGURATION(
            "Cannot add IP address: interface is disabled",
            details={**_LAB, "interface": "ether1", "interface_status": "disabled"},
        ),
        "unsafe": code.UNSAFE_OPERATION(
            "Cannot modify management interface IP address",
            details={
                **_LAB,
                "interface": "ether1",
                "reason": "Management interface protection",
                "safety_rule": "PROTECT_MANAGEMENT_PATH",
            },
        ),
        "not approved": code.PLAN_NOT_APPROVED(
            "Plan requires approval before execution",
            details={**_PLAN, "plan_status": "draft", "required_status": "approved"},
        ),
        "expired": code.PLAN_EXPIRED("Plan expired 2 hours ago", details={**_PLAN, **_TIMES}),
        "complete": code.FORBIDDEN(
            "Device 'dev-lab-01' does not allow advanced tier operations",
            tier="advanced",
            suggestion=_ENABLE,
            next_steps=_STEPS,
            actions=[_LOOK],
            details={**_LAB, "required_flag": "allow_advanced_writes"},
        ),
    }


def add_drill(server: MCPServer[Any]) -> None:
    """The tool. It does nothing, and says so."""
    known = examples()

    @fw.raises(*{error.code for error in known.values() if error.code}, "NOT_FOUND")
    async def example(name: str) -> str:
        """Fails as the contract's example of this name does, so that a client can be tried. It does nothing else."""
        if name not in known:
            raise fw.NotFound(f"There is no example {name!r}", next_steps=[f"Use one of: {', '.join(known)}"])
        raise known[name]

    hints = ToolAnnotations(read_only_hint=True)
    server.add_tool(example, "contract/example", annotations=hints, structured_output=False)


if __name__ == "__main__":
    made = build("routers")
    add_drill(made)
    serve(made, port=int(sys.argv[2]) if "--http" in sys.argv else None)
