"""Contract 004's templates: a code with the sentences that go with it, and the error they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import failwell as fw


def fill(template: str, variables: Mapping[str, Any]) -> str:
    """`template` with `{name}` replaced by its variable. Values are text, never templates themselves."""
    return re.sub(r"\{(\w+)\}", lambda match: str(variables.get(match[1], "(unknown)")), template)


@dataclass(frozen=True, slots=True)
class Template:
    code: str
    message: str
    strategy: str
    next_steps: tuple[str, ...] = ()
    retry_after: float | None = None

    def error(self, **variables: Any) -> fw.ToolError:
        """The error of a device, with its variables in the text and in the details."""
        known = {"retry_after": self.retry_after} | variables
        return fw.ToolError(
            fill(self.message, known),
            code=self.code,
            strategy=self.strategy,
            retry_after=known["retry_after"],
            next_steps=[fill(step, known) for step in self.next_steps],
            details={name: value for name, value in variables.items() if name != "retry_after"},
        )


@dataclass(frozen=True, slots=True)
class FieldTemplate:
    code: str
    message: str
    expected: str

    def error(self, field: str = "(unknown)", **sent: Any) -> fw.ToolError:
        known = {"field": field, **sent}
        problem = {"path": [field], "message": fill(self.message, known), "expected": fill(self.expected, known)}
        if "value" in sent:
            problem["sent"] = sent["value"]
        return fw.Invalid(problem["message"], code=self.code, fields=[problem])


DEVICE: Final = {
    each.code: each
    for each in (
        Template(
            "DEVICE_UNREACHABLE",
            "Cannot connect to device '{device_id}' at {management_address}",
            "retry_with_backoff",
            (
                "Wait {retry_after} seconds and retry",
                "Check device is powered on and network is accessible",
                "Use registry/update to update management address if changed",
            ),
            retry_after=60,
        ),
        Template(
            "DEVICE_AUTH_FAILED",
            "Authentication failed for device '{device_id}'",
            "user_action_required",
            (
                "Check device credentials are correct",
                "Use registry/rotate-credentials to update credentials",
                "Verify user has access to device in RouterOS",
            ),
        ),
        Template(
            "DEVICE_ERROR",
            "RouterOS error on device '{device_id}': {error_summary}",
            "report_and_abort",
            (
                "Check RouterOS error message for details",
                "Verify operation is valid for this RouterOS version",
                "Use system/get-overview to check device state",
            ),
        ),
    )
}

VALIDATION: Final = {
    each.code: each
    for each in (
        FieldTemplate(
            "INVALID_IP_ADDRESS",
            "Invalid IP address: {value}",
            "Valid IPv4 or IPv6 address (e.g., 192.168.1.1 or 2001:db8::1)",
        ),
        FieldTemplate(
            "INVALID_DEVICE_ID",
            "Device '{value}' not found",
            "Valid device ID from registry (use registry/list to see options)",
        ),
        FieldTemplate("REQUIRED_FIELD_MISSING", "Required field '{field}' is missing", "{field} must be provided"),
    )
}
