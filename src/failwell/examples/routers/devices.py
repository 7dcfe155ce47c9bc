"""Talking to devices, and the table that says what their failures mean."""

from __future__ import annotations

from typing import Any

import httpx2

import failwell as fw
from failwell.model.template import DEVICE

from .store import Device

FAILURES = fw.classify.Table(fw.classify.DEFAULT)
"""Asked before the shared table: an HTTP failure is a device's here, and the request knows which device."""

_LONGEST_QUOTE = 100


class Devices:
    def __init__(self, timeout: float) -> None:
        self._http = httpx2.AsyncClient(timeout=timeout, trust_env=False)

    async def get(self, device: Device, path: str) -> Any:
        return await self._request("GET", device, path)

    async def put(self, device: Device, path: str, body: dict[str, str]) -> Any:
        return await self._request("PUT", device, path, body)

    async def post(self, device: Device, path: str, body: dict[str, str]) -> Any:
        return await self._request("POST", device, path, body)

    async def _request(self, method: str, device: Device, path: str, body: dict[str, str] | None = None) -> Any:
        response = await self._http.request(
            method,
            f"http://{device.address}/rest/{path}",
            auth=(device.username, device.password),
            json=body,
            extensions={"device": device},
        )
        response.raise_for_status()
        return response.json()


def _device(exc: httpx2.RequestError | httpx2.HTTPStatusError) -> Device:
    device: Device = exc.request.extensions["device"]
    return device


def _operation(exc: httpx2.RequestError | httpx2.HTTPStatusError) -> str:
    return f"{exc.request.method} {exc.request.url.path}"


def _effect(exc: httpx2.RequestError | httpx2.HTTPStatusError, error: fw.ToolError) -> fw.ToolError:
    """The error with what the shared table knows: whether such a request may have changed something."""
    error = error.replace(effect=fw.wrap(exc).effect)
    if error.effect is not fw.Effect.UNKNOWN or exc.request.url.path != "/rest/ip/address":
        return error
    # The contract's own advice would be to wait and make the call again.
    look = fw.Action("ip/list-addresses", "See whether the address was added", {"device_id": _device(exc).id})
    advice = "The address may have been added. Check with ip/list-addresses before you try again."
    return error.replace(
        verify=look, actions=[look], suggestion=advice, retry_after=None, strategy=fw.Strategy.USER_ACTION
    )


@FAILURES.maps(httpx2.NetworkError, httpx2.ConnectTimeout, httpx2.RemoteProtocolError)
def unreachable(exc: httpx2.RequestError) -> fw.ToolError:
    device = _device(exc)
    error = DEVICE["DEVICE_UNREACHABLE"].error(device_id=device.id, management_address=device.address)
    return _effect(exc, error.with_details(error_type=fw.wrap(exc).details.get("errorType")))


@FAILURES.maps(httpx2.TimeoutException)
def timed_out(exc: httpx2.TimeoutException) -> fw.ToolError:
    seconds = exc.request.extensions["timeout"]["read"]
    error = fw.catalogs.JsonRpc.TIMEOUT(
        f"REST call to device timed out after {seconds} seconds",
        retry_after=60,
        details={"device_id": _device(exc).id, "timeout_seconds": seconds, "operation": _operation(exc)},
    )
    return _effect(exc, error)


@FAILURES.maps(httpx2.HTTPStatusError)
def refused(exc: httpx2.HTTPStatusError) -> fw.ToolError:
    device = _device(exc)
    if exc.response.status_code == 401:
        return DEVICE["DEVICE_AUTH_FAILED"].error(device_id=device.id, credential_kind="routeros_rest")
    # Masked before it is cut: half a password would not be known for one.
    said = fw.Guard().knowing([device.password]).text(_said(exc.response))
    error = DEVICE["DEVICE_ERROR"].error(device_id=device.id, error_summary=said[:_LONGEST_QUOTE])
    details = {"device_id": device.id, "routeros_error": said[:_LONGEST_QUOTE], "operation": _operation(exc)}
    return _effect(exc, error.only_details(details).replace(debug=said))


def _said(response: httpx2.Response) -> str:
    """RouterOS puts what happened into `detail`; `message` is only the status in words."""
    try:
        body = dict(response.json())
    except (TypeError, ValueError):
        body = {}
    return str(body.get("detail") or body.get("message") or f"HTTP {response.status_code}")
