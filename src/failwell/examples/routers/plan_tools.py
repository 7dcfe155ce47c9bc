"""plan/...: changes to several devices, made only after somebody approved them, and before they are out of date."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.server import MCPServer
from mcp_types import CallToolResult

import failwell as fw
from failwell.model.template import VALIDATION
from failwell.server import progress, tool_result

from .device_tools import DEVICE, REACHING, check_servers
from .devices import FAILURES
from .registry_tools import CHANGE
from .store import Plan

if TYPE_CHECKING:
    from .server import Parts

JsonRpc = fw.catalogs.JsonRpc


def add(server: MCPServer[Any], parts: Parts) -> None:
    store, devices = parts.store, parts.devices

    @server.tool("plan/create", annotations=CHANGE)
    @fw.raises("UNAUTHORIZED", "FORBIDDEN", *VALIDATION, category="plan", mutation=True, requires="db")
    @parts.planning
    async def create(device_ids: list[str], servers: list[str]) -> CallToolResult:
        """Plan the same DNS servers for several devices. The plan has to be approved within two hours."""
        check_servers(servers)
        known = {device.id for device in store.devices()}
        for device_id in device_ids:
            if device_id not in known:
                raise VALIDATION["INVALID_DEVICE_ID"].error(field="device_ids", value=device_id)
            parts.planned.admit({"device_id": device_id})
        plan = store.create_plan(device_ids, servers)
        return tool_result(f"Plan '{plan.id}' created; it needs approval: plan/approve", meta=_facts(plan))

    @server.tool("plan/approve", annotations=CHANGE)
    @fw.raises("UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "CONFLICT", "PLAN_EXPIRED")
    @fw.raises(category="plan", mutation=True, requires="db")
    @parts.planning
    async def approve(plan_id: str) -> CallToolResult:
        """Approve a plan. Ask the user first."""
        plan = store.plan(plan_id)
        _check_open(plan, store.clock())
        store.mark(plan, "approved", plan.applied)
        return tool_result(f"Plan '{plan_id}' approved", meta=_facts(store.plan(plan_id)))

    @server.tool("plan/apply", annotations=CHANGE)
    @fw.raises("CONFLICT", "PLAN_NOT_APPROVED", "PLAN_EXPIRED", *REACHING, *DEVICE)
    @fw.raises(category="plan", mutation=True, requires=["db", "device"])
    @parts.planning
    async def apply(plan_id: str, stream_progress: bool = False) -> CallToolResult:
        """Apply an approved plan, device by device. If a device fails, apply it again: it goes on where it stopped."""
        plan = store.plan(plan_id)
        _check_open(plan, store.clock())
        if plan.status != "approved":
            raise JsonRpc.PLAN_NOT_APPROVED(
                "Plan requires approval before execution",
                suggestion="Ask the user to approve the plan, then call plan/approve and plan/apply.",
                actions=[fw.Action("plan/approve", "Approve the plan", {"plan_id": plan_id})],
                details={"plan_id": plan_id, "plan_status": plan.status, "required_status": "approved"},
            )
        applied = list(plan.applied)
        for device_id in (each for each in plan.devices if each not in plan.applied):
            # A flag may have been taken away since the plan was made.
            parts.planned.admit({"device_id": device_id})
            await progress(f"Setting DNS servers of {device_id}", percent=100 * len(applied) // len(plan.devices))
            try:
                await devices.post(store.device(device_id), "ip/dns/set", {"servers": ",".join(plan.servers)})
            except httpx2.HTTPError as exc:
                error = fw.classify.classify(exc, table=FAILURES)
                raise error.replace(
                    effect=fw.Effect.PARTIAL if applied else error.effect,
                    details={**error.details, "plan_id": plan_id, "applied_devices": applied},
                ) from exc
            applied.append(device_id)
            store.mark(plan, "approved", applied)
        store.mark(plan, "applied", applied)
        await progress("Plan applied", percent=100)
        return tool_result(f"Plan '{plan_id}' applied to {', '.join(applied)}", meta=_facts(store.plan(plan_id)))


def _facts(plan: Plan) -> dict[str, Any]:
    return {"plan_id": plan.id, "plan_status": plan.status, "expires_at": _iso(plan.expires_at)}


def _check_open(plan: Plan, now: datetime) -> None:
    if plan.status == "applied":
        raise fw.Conflict(
            f"Plan '{plan.id}' has been applied already",
            suggestion="Use plan/create to make another plan.",
            details={"plan_id": plan.id, "plan_status": plan.status},
        )
    if now >= plan.expires_at:
        again = {"device_ids": list(plan.devices), "servers": list(plan.servers)}
        raise JsonRpc.PLAN_EXPIRED(
            f"Plan expired {_ago(now - plan.expires_at)} ago",
            suggestion="Use plan/create to make the plan anew, and ask the user to approve it.",
            actions=[fw.Action("plan/create", "Make the plan anew", again)],
            details={
                "plan_id": plan.id,
                "created_at": _iso(plan.created_at),
                "expires_at": _iso(plan.expires_at),
                "current_time": _iso(now),
            },
        )


def _ago(gone: timedelta) -> str:
    minutes = int(gone.total_seconds() // 60)
    number, unit = (minutes // 60, "hour") if minutes >= 60 else (minutes, "minute")
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
