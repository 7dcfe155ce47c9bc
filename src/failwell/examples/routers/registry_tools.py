"""registry/...: which devices there are, where, and what they allow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

import failwell as fw
from failwell.model.template import VALIDATION
from failwell.server import tool_result

from .store import Device

if TYPE_CHECKING:
    from .server import Parts

Environment = Literal["lab", "staging", "prod"]
Flag = Literal["allow_advanced_writes", "allow_professional_workflows"]
Password = Annotated[str, Field(json_schema_extra={"format": "password"})]
READ = ToolAnnotations(read_only_hint=True)
CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)


def add(server: MCPServer[Any], parts: Parts) -> None:
    store = parts.store

    @server.tool("registry/list", annotations=READ)
    @fw.raises("UNAUTHORIZED", "VALIDATION_ERROR", category="registry", mutation=False, requires="db")
    @parts.fundamental
    async def list_devices(environment: Environment | None = None, filter: str | None = None) -> CallToolResult:
        """List devices, of one environment or with one flag (`allow_advanced_writes=true`)."""
        flag, _, wanted = (filter or "").partition("=")
        if filter is not None and wanted not in ("true", "false"):
            raise ValueError("filter is a flag and its value, such as allow_advanced_writes=true")
        found = [
            {"device_id": each.id, "name": each.name, "environment": each.environment, "flags": sorted(each.flags)}
            for each in store.devices()
            if environment in (None, each.environment) and (not flag or (flag in each.flags) is (wanted == "true"))
        ]
        names = ", ".join(str(each["device_id"]) for each in found)
        return tool_result(f"{len(found)} devices: {names}", meta={"devices": found})

    @server.tool("registry/add", annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
    @fw.raises("UNAUTHORIZED", "FORBIDDEN", "CONFLICT", category="registry", mutation=True, requires="db")
    @parts.enrolling
    async def add_device(
        device_id: str, name: str, address: str, environment: Environment, username: str, password: Password
    ) -> CallToolResult:
        """Add a device by its management address, as host:port."""
        store.add(Device(device_id, name, address, environment, username, password))
        return tool_result(f"Device '{device_id}' added", meta={"device_id": device_id})

    @server.tool("registry/update", annotations=CHANGE)
    @fw.raises("UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", *VALIDATION, category="registry", mutation=True, requires="db")
    @parts.administrative
    async def update(device_id: str, address: str | None = None, flags: list[Flag] | None = None) -> CallToolResult:
        """Change a device's management address, or what may be done to it."""
        if address is None and flags is None:
            raise VALIDATION["REQUIRED_FIELD_MISSING"].error(field="flags", device_id=device_id)
        device = store.device(device_id)
        kept = device.flags if flags is None else frozenset[str](flags)
        store.update(replace(device, address=address or device.address, flags=kept))
        return tool_result(f"Device '{device_id}' updated", meta={"device_id": device_id, "flags": sorted(kept)})

    @server.tool("registry/rotate-credentials", annotations=CHANGE)
    @fw.raises("UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", category="registry", mutation=True, requires="db")
    @parts.administrative
    async def rotate_credentials(device_id: str, username: str, password: Password) -> CallToolResult:
        """Change the credentials by which the service logs in to a device."""
        store.update(replace(store.device(device_id), username=username, password=password))
        return tool_result(f"Credentials of device '{device_id}' changed", meta={"device_id": device_id})
