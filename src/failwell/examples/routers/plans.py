"""plan/...: changes to several devices, made only after somebody approved them, and before they are out of date."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any

import httpx2
from mcp.server import MCPServer
from mcp_types import CallToolResult

import failwell as fw
from failwell.server import progress, tool_result

from .access import DEVICE, Access
from .devices import FAILURES, VALIDATION, Devices
from .store import Device, Plan, Store
from .tools import check_address

JsonRpc = fw.catalogs.JsonRpc
LIFE = timedelta(hours=2)


def add_plans(server: MCPServer[Any], store: Store, devices: Devices, access: Access) -> None:
    tool = partial(access.tool, server)
    workflow = access.rule("professional", flag="allow_professional_workflows")

    @tool("plan/create", "professional", "NOT_FOUND", *VALIDATION)
    async def create(device_ids: list[str], servers: list[str]) -> CallToolResult:
        """Plan the same DNS servers for several devices. The plan has to be approved within two hours."""
        if not servers:
            raise VALIDATION["REQUIRED_FIELD_MISSING"].error(field="servers")
        for server in servers:
            check_address("servers", server, ip_address)
        for device_id in device_ids:
            if device_id not in store.all(Device):
                raise VALIDATION["INVALID_DEVICE_ID"].error(field="device_ids", value=device_id)
            workflow.admit({"device_id": device_id})
        now = store.now()
        plan = Plan(f"plan-{len(store.all(Plan)) + 1}", device_ids, servers, _iso(now), _iso(now + LIFE))
        return _saved(plan, "created; it needs approval: plan/approve")

    @tool("plan/approve", "professional", "NOT_FOUND", "PLAN_EXPIRED")
    async def approve(plan_id: str) -> CallToolResult:
        """Approve a plan. Ask the user first."""
        return _saved(replace(_valid(plan_id), status="approved"), "approved")

    @tool("plan/apply", "professional", *DEVICE, "PLAN_NOT_APPROVED", "PLAN_EXPIRED")
    async def apply(plan_id: str, stream_progress: bool = False) -> CallToolResult:
        """Apply an approved plan, device by device. If a device fails, apply it again: it goes on where it stopped."""
        plan = _valid(plan_id)
        if plan.status == "draft":
            approval = {"tool": "plan/approve", "description": "Approve the plan", "arguments": {"plan_id": plan_id}}
            advice = "Ask the user to approve the plan, then call plan/approve and plan/apply."
            about = {"plan_id": plan_id, "plan_status": plan.status, "required_status": "approved"}
            error = JsonRpc.PLAN_NOT_APPROVED("Plan requires approval before execution", suggestion=advice)
            raise error.replace(actions=[approval], details=about)
        applied = list(plan.applied)
        for device_id in (each for each in plan.devices if each not in plan.applied):
            # A flag may have been taken away since the plan was made.
            workflow.admit({"device_id": device_id})
            await progress(f"Setting DNS servers of {device_id}", percent=100 * len(applied) // len(plan.devices))
            try:
                await devices.ask(device_id, "POST", "ip/dns/set", {"servers": ",".join(plan.servers)})
            except httpx2.HTTPError as exc:
                error = fw.wrap(exc, table=FAILURES)
                known = {**error.details, "plan_id": plan_id, "applied_devices": applied}
                raise error.replace(details=known, effect="partial" if applied else error.effect) from exc
            applied.append(device_id)
            store.save(replace(plan, applied=applied))
        await progress("Plan applied", percent=100)
        return _saved(replace(plan, status="applied", applied=applied), f"applied to {', '.join(applied)}")

    def _saved(plan: Plan, words: str) -> CallToolResult:
        store.save(plan)
        facts = {"plan_id": plan.id, "plan_status": plan.status, "expires_at": plan.expires_at}
        return tool_result(f"Plan '{plan.id}' {words}", meta=facts)

    def _valid(plan_id: str) -> Plan:
        """A plan that is not out of date."""
        plan, now = store.plan(plan_id), store.now()
        gone = now - datetime.fromisoformat(plan.expires_at)
        if gone >= timedelta(0):
            again = {"device_ids": plan.devices, "servers": plan.servers}
            anew = {"tool": "plan/create", "description": "Make the plan anew", "arguments": again}
            advice = "Use plan/create to make the plan anew, and ask the user to approve it."
            about = {"plan_id": plan_id, "created_at": plan.created_at, "expires_at": plan.expires_at}
            error = JsonRpc.PLAN_EXPIRED(f"Plan expired {_spelt(gone)} ago", suggestion=advice, actions=[anew])
            raise error.replace(details={**about, "current_time": _iso(now)})
        return plan


def _spelt(span: timedelta) -> str:
    minutes = int(span.total_seconds()) // 60
    return f"{minutes // 60} hours" if minutes >= 120 else f"{minutes} min"


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
