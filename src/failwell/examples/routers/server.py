"""The server: what it is made of, and how its failures leave."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from mcp.server import MCPServer

import failwell as fw
import failwell.server
from failwell.model.template import VALIDATION
from failwell.server import Rule, Safety, Target

from . import device_tools, plan_tools, registry_tools
from .callers import Callers
from .devices import FAILURES, Devices
from .records import json_lines
from .service import Router
from .store import Device, Store

CODES = {code.name for code in fw.catalogs.JsonRpc} | set(VALIDATION)


class Parts:
    """What the tools work with, and the rules they stand under."""

    def __init__(self, store: Store, devices: Devices, environment: str, callers: Callers, calls: int) -> None:
        self.store = store
        self.devices = devices
        anywhere = Safety(tiers=callers.tiers)
        safety = Safety(environment=environment, tiers=callers.tiers, target=self._target)
        self.fundamental = safety.requires(tier="fundamental")
        self.administrative = safety.requires(tier="advanced")
        self.enrolling = anywhere.requires(tier="advanced")
        self.planning = anywhere.requires(tier="professional")
        self.advanced = self._flagged(safety, "advanced", "allow_advanced_writes", environment)
        self.planned = self._flagged(safety, "professional", "allow_professional_workflows", environment)
        self.per_device = PerDevice(calls)

    def _target(self, arguments: Mapping[str, Any]) -> Target | None:
        if "device_id" not in arguments:
            return None
        device = self.store.device(arguments["device_id"])
        return Target(device.id, flags=device.flags, environment=device.environment)

    @staticmethod
    def _flagged(safety: Safety, tier: str, flag: str, environment: str) -> Rule:
        others = {"environment": environment, "filter": f"{flag}=true"}
        return safety.requires(
            tier=tier,
            flag=flag,
            next_steps=[
                "Use registry/update to enable {flag} flag",
                "Use registry/list with environment filter to find devices with {tier} tier enabled",
                "Contact administrator to enable {tier} tier for this device",
            ],
            actions=[fw.Action("registry/list", f"List devices with {tier} tier enabled", others)],
        )


class PerDevice(Rule):
    """A budget of calls for each device, and a refusal that names the device."""

    def __init__(self, calls: int) -> None:
        self._rate = failwell.server.rate(calls, seconds=60, key=lambda arguments: arguments["device_id"])

    def admit(self, arguments: Mapping[str, Any]) -> None:
        try:
            self._rate.admit(arguments)
        except fw.ToolError as refusal:
            device_id = arguments["device_id"]
            message = f"Too many requests to device '{device_id}'"
            raise refusal.replace(message=message, details={"device_id": device_id, **refusal.details}) from None


def build(clock: Callable[[], datetime] | None = None) -> MCPServer[Any]:
    """The server, as the environment wants it.

    ROUTERS_DB: the registry, an SQLite file; without one there are three devices of its own to try.
    ROUTERS_ERRORS: `result`, which models see, or `protocol`: JSON-RPC errors, by the letter of the contract.
    ROUTERS_ENVIRONMENT: where it runs; devices of other environments are refused. `lab` unless given.
    ROUTERS_USERS, ROUTERS_TOKEN: who may call, see `Callers`.
    ROUTERS_LOG: a file for one JSON line per failure. ROUTERS_DEBUG=1 sends the whole of what a device said, too.
    ROUTERS_TIMEOUT, ROUTERS_RATE: seconds for a device to answer; calls for each device in a minute.
    ROUTERS_NOW: the time it takes it to be, for tests.
    """
    setting = os.environ.get
    if clock is None and (now := setting("ROUTERS_NOW")):
        fixed = datetime.fromisoformat(now)
        clock = lambda: fixed  # noqa: E731
    store = Store(setting("ROUTERS_DB", ":memory:"), clock or (lambda: datetime.now(UTC)))
    if "ROUTERS_DB" not in os.environ:
        _furnish(store)
    callers = Callers.from_environment()
    # The SDK logs a warning about each name with a slash in it; contract 004 wants them so.
    server: MCPServer[Any] = MCPServer("routers", log_level="ERROR", middleware=[callers.middleware])
    parts = Parts(
        store,
        Devices(float(setting("ROUTERS_TIMEOUT", "5"))),
        setting("ROUTERS_ENVIRONMENT", "lab"),
        callers,
        int(setting("ROUTERS_RATE", "30")),
    )
    for tools in (registry_tools, device_tools, plan_tools):
        tools.add(server, parts)
    protocol = setting("ROUTERS_ERRORS", "result") == "protocol"
    log = setting("ROUTERS_LOG")
    return failwell.server.install(
        server,
        format="jsonrpc",
        wire={"actionable": True, "debug": setting("ROUTERS_DEBUG") == "1"},
        protocol=CODES if protocol else (),
        unknown_tool="protocol" if protocol else "result",
        table=FAILURES,
        logger=json_lines(log) if log else None,
    )


def _furnish(store: Store) -> None:
    lab, old, prod = Router(), Router(version="7.8 (stable)"), Router()
    flags = frozenset({"allow_advanced_writes", "allow_professional_workflows"})
    store.add(Device("dev-lab-01", "lab-router-01", lab.address, "lab", flags=flags))
    store.add(Device("dev-lab-02", "lab-router-02", old.address, "lab"))
    store.add(Device("dev-prod-01", "prod-router-01", prod.address, "prod", flags=flags))
