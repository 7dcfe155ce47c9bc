"""system/..., dns/... and ip/...: what a device says of itself, and how to change it."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, Any

from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

import failwell as fw
from failwell.model.template import VALIDATION
from failwell.server import tool_result

from .registry_tools import CHANGE, READ

if TYPE_CHECKING:
    from .server import Parts

JsonRpc = fw.catalogs.JsonRpc
REACHING = (JsonRpc.UNAUTHORIZED, JsonRpc.FORBIDDEN, JsonRpc.NOT_FOUND, JsonRpc.RATE_LIMITED, JsonRpc.TIMEOUT)
DEVICE = (JsonRpc.DEVICE_UNREACHABLE, JsonRpc.DEVICE_AUTH_FAILED, JsonRpc.DEVICE_ERROR, JsonRpc.INTERNAL_ERROR)
SECONDS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}


def add(server: MCPServer[Any], parts: Parts) -> None:
    store, devices = parts.store, parts.devices

    @server.tool("system/get-overview", annotations=READ)
    @fw.raises(*REACHING, *DEVICE, category="system", mutation=False, requires=["db", "device"])
    @parts.fundamental
    @parts.per_device
    async def get_overview(device_id: str) -> CallToolResult:
        """The version, uptime and load of a device."""
        found = await devices.get(store.device(device_id), "system/resource")
        total, used = int(found["total-memory"]), int(found["total-memory"]) - int(found["free-memory"])
        facts = {
            "device_id": device_id,
            "routeros_version": found["version"].split()[0],
            "uptime_seconds": sum(int(n) * SECONDS[unit] for n, unit in re.findall(r"(\d+)([wdhms])", found["uptime"])),
            "cpu_usage_percent": float(found["cpu-load"]),
            "memory_total_bytes": total,
            "memory_used_bytes": used,
        }
        text = "RouterOS {routeros_version}, up {uptime_seconds} seconds, CPU at {cpu_usage_percent} %"
        return tool_result(text.format(**facts), meta=facts)

    @server.tool("system/get-ntp-status", annotations=READ)
    @fw.raises(*REACHING, *DEVICE, "DEVICE_UNSUPPORTED", category="system", mutation=False, requires=["db", "device"])
    @parts.fundamental
    @parts.per_device
    async def get_ntp_status(device_id: str) -> CallToolResult:
        """Whether a device's clock is synchronised."""
        device = store.device(device_id)
        version = (await devices.get(device, "system/resource"))["version"].split()[0]
        if tuple(map(int, version.split(".")[:2])) < (7, 10):
            raise JsonRpc.DEVICE_UNSUPPORTED(
                "RouterOS version too old for this operation",
                suggestion="Ask the user to upgrade RouterOS on the device, or use a different device.",
                details={
                    "device_id": device_id,
                    "routeros_version": version,
                    "required_version": "7.10+",
                    "tool": "system/get-ntp-status",
                },
            )
        found = await devices.get(device, "system/ntp/client")
        return tool_result(f"NTP is {found['status']}", meta={"device_id": device_id, "status": found["status"]})

    @server.tool("dns/set-servers", annotations=CHANGE)
    @fw.raises(*REACHING, *DEVICE, *VALIDATION, category="dns", mutation=True, requires=["db", "device"])
    @parts.advanced
    @parts.per_device
    async def set_servers(device_id: str, servers: list[str]) -> CallToolResult:
        """Set the DNS servers that a device asks."""
        check_servers(servers)
        await devices.post(store.device(device_id), "ip/dns/set", {"servers": ",".join(servers)})
        return tool_result(f"DNS servers of '{device_id}' set", meta={"device_id": device_id, "servers": servers})

    @server.tool("ip/list-addresses", annotations=READ)
    @fw.raises(*REACHING, *DEVICE, category="ip", mutation=False, requires=["db", "device"])
    @parts.fundamental
    @parts.per_device
    async def list_addresses(device_id: str) -> CallToolResult:
        """The addresses of a device, by interface."""
        rows = await devices.get(store.device(device_id), "ip/address")
        found = [{"address": row["address"], "interface": row["interface"]} for row in rows]
        text = ", ".join(f"{row['address']} on {row['interface']}" for row in found)
        return tool_result(text, meta={"device_id": device_id, "addresses": found})

    @server.tool("ip/add-address", annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    @fw.raises(*REACHING, *DEVICE, "INVALID_CONFIGURATION", "UNSAFE_OPERATION", *VALIDATION)
    @fw.raises(category="ip", mutation=True, requires=["db", "device"])
    @parts.advanced
    @parts.per_device
    async def add_address(device_id: str, address: str, interface: str) -> CallToolResult:
        """Give an interface of a device another address, such as 192.0.2.1/24."""
        _check("address", address, ip_interface)
        device = store.device(device_id)
        about = {"device_id": device_id, "interface": interface}
        for row in await devices.get(device, "ip/address"):
            if row["interface"] == interface and row["address"].split("/")[0] == device.address.rpartition(":")[0]:
                raise JsonRpc.UNSAFE_OPERATION(
                    "Cannot modify management interface IP address",
                    suggestion="Use another interface; the service would lock itself out of the device.",
                    details={
                        **about,
                        "reason": "Management interface protection",
                        "safety_rule": "PROTECT_MANAGEMENT_PATH",
                    },
                )
        states = {row["name"]: row["disabled"] for row in await devices.get(device, "interface")}
        if interface not in states:
            raise fw.NotFound(
                f"Device '{device_id}' has no interface '{interface}'. It has: {', '.join(states)}",
                suggestion="Use one of the interfaces that the device has.",
                details={**about, "resource_type": "interface"},
            )
        if states[interface] == "true":
            raise JsonRpc.INVALID_CONFIGURATION(
                "Cannot add IP address: interface is disabled",
                suggestion="Ask the user to enable the interface, or use another one.",
                details={**about, "interface_status": "disabled"},
            )
        await devices.put(device, "ip/address", {"address": address, "interface": interface})
        return tool_result(f"{address} added to {interface} of '{device_id}'", meta={**about, "address": address})

    @server.resource("device://{device_id}/addresses")
    @parts.fundamental
    @parts.per_device
    async def addresses(device_id: str) -> str:
        """The addresses of a device, as it answers them."""
        rows = await devices.get(store.device(device_id), "ip/address")
        return "\n".join(f"{row['interface']} {row['address']}" for row in rows)


def check_servers(servers: list[str]) -> None:
    if not servers:
        raise VALIDATION["REQUIRED_FIELD_MISSING"].error(field="servers")
    for each in servers:
        _check("servers", each, ip_address)


def _check(field: str, value: str, read: Any) -> None:
    try:
        read(value)
    except ValueError:
        raise VALIDATION["INVALID_IP_ADDRESS"].error(field=field, value=value) from None
