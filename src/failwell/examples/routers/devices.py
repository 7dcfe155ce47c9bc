"""Talking to devices, and the table that says what their failures mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

import failwell as fw

from .store import Device, Store

FAILURES = fw.classify.table()
"""Asked before the shared table: an HTTP failure is a device's here, and the request knows which device."""


class Devices:
    def __init__(self, store: Store, timeout: float) -> None:
        self._store = store
        self._http = httpx2.AsyncClient(timeout=timeout, trust_env=False)

    async def ask(self, device_id: str, method: str, path: str, body: Any = None, **about: Any) -> Any:
        """What the device answers. `verify` names the call that tells whether a lost request took effect."""
        device = self._store.device(device_id)
        url, login = f"http://{device.address}/rest/{path}", (device.username, device.password)
        about |= {"device": device, "operation": f"{method} /rest/{path}"}
        response = await self._http.request(method, url, auth=login, json=body, extensions=about)
        return response.raise_for_status().json()


@FAILURES.maps(httpx2.NetworkError, httpx2.ConnectTimeout, httpx2.RemoteProtocolError)
def unreachable(exc: httpx2.RequestError) -> fw.ToolError:
    device: Device = exc.request.extensions["device"]
    error = DEVICE["DEVICE_UNREACHABLE"].error(device_id=device.id, management_address=device.address)
    return _with_effect(
        exc, error.replace(details={**error.details, "error_type": fw.wrap(exc).details.get("errorType")})
    )


@FAILURES.maps(httpx2.TimeoutException)
def timed_out(exc: httpx2.TimeoutException) -> fw.ToolError:
    device_id, seconds = exc.request.extensions["device"].id, exc.request.extensions["timeout"]["read"]
    details = {"device_id": device_id, "timeout_seconds": seconds, "operation": exc.request.extensions["operation"]}
    message = f"REST call to device timed out after {seconds} seconds"
    return _with_effect(exc, fw.catalogs.JsonRpc.TIMEOUT(message, retry_after=60, details=details))


@FAILURES.maps(httpx2.HTTPStatusError)
def refused(exc: httpx2.HTTPStatusError) -> fw.ToolError:
    device: Device = exc.request.extensions["device"]
    if exc.response.status_code == 401:
        return DEVICE["DEVICE_AUTH_FAILED"].error(device_id=device.id, credential_kind="routeros_rest")
    # Masked before it is cut to what the contract allows: half a password would not be known for one.
    said = fw.Guard().knowing([device.password]).text(_said(exc.response))
    error = DEVICE["DEVICE_ERROR"].error(device_id=device.id, error_summary=said[:100])
    details = {"device_id": device.id, "routeros_error": said[:100], "operation": exc.request.extensions["operation"]}
    return _with_effect(exc, error.replace(debug=said, details=details))


def _said(response: httpx2.Response) -> str:
    """RouterOS puts what happened into `detail`; `message` is only the status in words."""
    try:
        body = dict(response.json())
    except (TypeError, ValueError):
        body = {}
    return str(body.get("detail") or body.get("message") or f"HTTP {response.status_code}")


def _with_effect(exc: httpx2.RequestError | httpx2.HTTPStatusError, error: fw.ToolError) -> fw.ToolError:
    """Each tool makes one request that changes something, so what is known of it is known of the tool. Where it may
    have been done, looking comes before retrying."""
    error = error.replace(effect=fw.classify.operation(exc).effect)
    verify: dict[str, Any] | None = exc.request.extensions.get("verify")
    if verify is None or error.effect != "unknown":
        return error
    return error.replace(verify=verify, actions=[verify], retry_after=None, strategy="user_action_required")


# Contract 004's templates: a code with the sentences that go with it, and the error they make.


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

    def error(self, field: str | None = None, **sent: Any) -> fw.ToolError:
        known = sent if field is None else {"field": field, **sent}
        message = fill(self.message, known)
        problem = {"path": [field], "message": message, "expected": fill(self.expected, known), **sent}
        return fw.Invalid(message, code=self.code, **({"fields": [problem]} if field else {"details": sent}))


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
