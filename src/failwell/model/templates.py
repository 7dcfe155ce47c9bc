"""Message templates: a sentence with named variables, and the error around it; those that contract 004 prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from .json_values import UNSET, seconds, text
from .kinds import Kind, Strategy
from .parts import FieldError
from .regex import pattern
from .tool_error import ToolError

_VARIABLE = pattern(r"\{(\w+)\}")
MISSING: Final = "(unknown)"


def fill(template: str, variables: Mapping[str, Any]) -> str:
    """`template` with `{name}` replaced by its variable. Values are text, never templates themselves.

    >>> fill("Device '{device_id}' at {address}", {"device_id": "{address}"})
    "Device '{address}' at (unknown)"
    """
    return _VARIABLE.sub(lambda match: text(variables[match[1]]) if match[1] in variables else MISSING, template)


@dataclass(frozen=True, slots=True)
class Template:
    """A code with the sentences that go with it."""

    code: str
    message: str
    kind: Kind | None = None
    strategy: Strategy | None = None
    next_steps: tuple[str, ...] = ()
    expected: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def error(self, **variables: Any) -> ToolError:
        """The error, with its variables in the text and in the details."""
        known = {**self.defaults, **variables}
        if (delay := seconds(known.get("retry_after"))) is not None:
            known["retry_after"] = delay
        elsewhere = ("field", "value", "retry_after") if self.expected is not None else ("retry_after",)
        details = {name: value for name, value in variables.items() if name not in elsewhere}
        problem = None
        if self.expected is not None:
            name = known.get("field")
            problem = FieldError(
                () if name is None else (text(name),),
                fill(self.message, known),
                known.get("value", UNSET),
                fill(self.expected, known),
            )
        return ToolError(
            fill(self.message, known),
            code=self.code,
            kind=self.kind,
            strategy=self.strategy,
            retry_after=known.get("retry_after"),
            next_steps=[fill(step, known) for step in self.next_steps],
            fields=[problem] if problem else None,
            details=details,
        )


DEVICE: Final[Mapping[str, Template]] = MappingProxyType(
    {
        "DEVICE_UNREACHABLE": Template(
            "DEVICE_UNREACHABLE",
            "Cannot connect to device '{device_id}' at {management_address}",
            strategy=Strategy.RETRY,
            next_steps=(
                "Wait {retry_after} seconds and retry",
                "Check device is powered on and network is accessible",
                "Use registry/update to update management address if changed",
            ),
            defaults={"retry_after": 60},
        ),
        "DEVICE_AUTH_FAILED": Template(
            "DEVICE_AUTH_FAILED",
            "Authentication failed for device '{device_id}'",
            strategy=Strategy.USER_ACTION,
            next_steps=(
                "Check device credentials are correct",
                "Use registry/rotate-credentials to update credentials",
                "Verify user has access to device in RouterOS",
            ),
        ),
        "DEVICE_ERROR": Template(
            "DEVICE_ERROR",
            "RouterOS error on device '{device_id}': {error_summary}",
            strategy=Strategy.ABORT,
            next_steps=(
                "Check RouterOS error message for details",
                "Verify operation is valid for this RouterOS version",
                "Use system/get-overview to check device state",
            ),
        ),
    }
)
"""Contract 004's device templates."""

VALIDATION: Final[Mapping[str, Template]] = MappingProxyType(
    {
        "INVALID_IP_ADDRESS": Template(
            "INVALID_IP_ADDRESS",
            "Invalid IP address: {value}",
            kind=Kind.VALIDATION,
            strategy=Strategy.FIX,
            expected="Valid IPv4 or IPv6 address (e.g., 192.168.1.1 or 2001:db8::1)",
        ),
        "INVALID_DEVICE_ID": Template(
            "INVALID_DEVICE_ID",
            "Device '{value}' not found",
            kind=Kind.VALIDATION,
            strategy=Strategy.FIX,
            expected="Valid device ID from registry (use registry/list to see options)",
        ),
        "REQUIRED_FIELD_MISSING": Template(
            "REQUIRED_FIELD_MISSING",
            "Required field '{field}' is missing",
            kind=Kind.VALIDATION,
            strategy=Strategy.FIX,
            expected="{field} must be provided",
        ),
    }
)
"""Contract 004's validation templates."""

__all__ = ["DEVICE", "VALIDATION", "Template", "fill"]
