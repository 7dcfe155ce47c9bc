"""registry/..., system/... and ip/...: which devices there are, what they say, and how to change them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from ipaddress import ip_interface
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp_types import CallToolResult
from pydantic import Field

import failwell as fw
from failwell.server import tool_result

from .access import Access
from .devices import VALIDATION, Devices
from .store import Device, Store

JsonRpc = fw.catalogs.JsonRpc
Environment = Literal["lab", "staging", "prod"]
Flag = Literal["allow_advanced_writes", "allow_professional_workflows"]
Filter = Literal["allow_advanced_writes=true", "allow_professional_workflows=true"]
Password = Annotated[str, Field(json_schema_extra={"format": "password"})]
SPANS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
ADDRESS = ("INVALID_IP_ADDRESS", "INVALID_CONFIGURATION", "UNSAFE_OPERATION")


def add_tools(server: MCPServer[Any], store: Store, devices: Devices, access: Access) -> None:
    tool = partial(access.tool, server)

    @tool("registry/list", "fundamental")
    async def list_devices(environment: Environment | None = None, filter: Filter | None = None) -> CallToolResult:
        """List devices, of one environment or with one flag."""
        found: list[dict[str, Any]] = [
            {"device_id": each.id, "name": each.name, "environment": each.environment, "flags": each.flags}
            for each in store.all(Device).values()
            if environment in (None, each.environment) and (not filter or filter.removesuffix("=true") in each.flags)
        ]
        names = ", ".join(each["device_id"] for each in found)
        return tool_result(f"{len(found)} devices: {names}", meta={"devices": found})

    @tool("registry/add", "advanced", "CONFLICT")
    async def add_device(
        device_id: str, name: str, address: str, environment: Environment, username: str, password: Password
    ) -> CallToolResult:
        """Add a device by its management address, as host:port."""
        for known in store.all(Device).values():
            if device_id == known.id or name == known.name:
                advice = "Use another name, or registry/update to change the device that has it."
                about = {"device_name": known.name, "existing_device_id": known.id}
                raise fw.Conflict(f"Device with name '{known.name}' already exists", suggestion=advice, details=about)
        store.save(Device(device_id, name, address, environment, username, password))
        return tool_result(f"Device '{device_id}' added", meta={"device_id": device_id})

    @tool("registry/update", "advanced", "NOT_FOUND")
    async def update(device_id: str, address: str | None = None, flags: list[Flag] | None = None) -> CallToolResult:
        """Change a device's management address, or what may be done to it."""
        device = store.device(device_id)
        kept = device.flags if flags is None else flags
        store.save(replace(device, address=address or device.address, flags=kept))
        return tool_result(f"Device '{device_id}' updated", meta={"device_id": device_id, "flags": kept})

    @tool("registry/rotate-credentials", "advanced", "NOT_FOUND")
    async def rotate_credentials(device_id: str, username: str, password: Password) -> CallToolResult:
        """Change the credentials by which the service logs in to a device."""
        store.save(replace(store.device(device_id), username=username, password=password))
        return tool_result(f"Credentials of device '{device_id}' changed", meta={"device_id": device_id})

    @tool("system/get-overview", "fundamental", device=True)
    async def get_overview(device_id: str) -> CallToolResult:
        """The version and load of a device."""
        found = await devices.ask(device_id, "GET", "system/resource")
        version, load = found["version"].split()[0], float(found["cpu-load"])
        memory = int(found["total-memory"])
        facts = {"device_id": device_id, "routeros_version": version, "uptime_seconds": _seconds(found["uptime"])}
        facts |= {"cpu_usage_percent": load, "memory_total_bytes": memory}
        facts["memory_used_bytes"] = memory - int(found["free-memory"])
        return tool_result(f"RouterOS {version}, CPU at {load} %", meta=facts)

    @tool("system/get-ntp-status", "fundamental", "DEVICE_UNSUPPORTED", device=True)
    async def get_ntp_status(device_id: str) -> CallToolResult:
        """Whether a device's clock is synchronised."""
        version = (await devices.ask(device_id, "GET", "system/resource"))["version"].split()[0]
        if tuple(map(int, version.split(".")[:2])) < (7, 10):
            advice = "Ask the user to upgrade RouterOS on the device, or use a different device."
            about = {"device_id": device_id, "routeros_version": version, "required_version": "7.10+"}
            error = JsonRpc.DEVICE_UNSUPPORTED("RouterOS version too old for this operation", suggestion=advice)
            raise error.replace(details={**about, "tool": "system/get-ntp-status"})
        found = await devices.ask(device_id, "GET", "system/ntp/client")
        return tool_result(f"NTP is {found['status']}", meta={"device_id": device_id, "status": found["status"]})

    @server.resource("device://{device_id}/addresses")
    @tool("ip/list-addresses", "fundamental", device=True)
    async def list_addresses(device_id: str) -> str:
        """The addresses of a device, by interface."""
        rows = await devices.ask(device_id, "GET", "ip/address")
        return "\n".join(f"{row['address']} on {row['interface']}" for row in rows)

    @tool("ip/add-address", "advanced", *ADDRESS, device=True, flag="allow_advanced_writes")
    async def add_address(device_id: str, address: str, interface: str) -> CallToolResult:
        """Give an interface of a device another address, such as 192.0.2.1/24."""
        check_address("address", address, ip_interface)
        about = {"device_id": device_id, "interface": interface}
        managed = store.device(device_id).address.rpartition(":")[0]
        rows = await devices.ask(device_id, "GET", "ip/address")
        if any(row["interface"] == interface and row["address"].split("/")[0] == managed for row in rows):
            advice = "Use another interface; the service would lock itself out of the device."
            error = JsonRpc.UNSAFE_OPERATION("Cannot modify management interface IP address", suggestion=advice)
            about["reason"] = "Management interface protection"
            raise error.replace(details={**about, "safety_rule": "PROTECT_MANAGEMENT_PATH"})
        disabled = {row["name"]: row["disabled"] == "true" for row in await devices.ask(device_id, "GET", "interface")}
        if disabled.get(interface, True):
            status = "disabled" if interface in disabled else "missing"
            others = ", ".join(name for name, off in disabled.items() if not off)
            advice = f"Use one that is enabled ({others}), or ask the user to change the device."
            error = JsonRpc.INVALID_CONFIGURATION(f"Cannot add IP address: interface is {status}", suggestion=advice)
            raise error.replace(details={**about, "interface_status": status})
        why, arguments = "See whether the address was added", {"device_id": device_id}
        look = {"tool": "ip/list-addresses", "description": why, "arguments": arguments}
        await devices.ask(device_id, "PUT", "ip/address", {"address": address, "interface": interface}, verify=look)
        return tool_result(f"{address} added to {interface} of '{device_id}'", meta={**about, "address": address})


def _seconds(uptime: str) -> int:
    """The seconds of a time as RouterOS writes it: 1w2d3h4m5s."""
    return sum(int(count) * SPANS[unit] for count, unit in re.findall(r"(\d+)([wdhms])", uptime))


def check_address(field: str, value: str, read: Any) -> None:
    try:
        read(value)
    except ValueError:
        raise VALIDATION["INVALID_IP_ADDRESS"].error(field=field, value=value) from None
