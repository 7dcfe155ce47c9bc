"""Who may do what: users with tokens and tiers, devices with flags and environments, and a rate for each device."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import ToolAnnotations

import failwell as fw
from failwell.server import Rule, rate

from .store import Store

CHANGE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
ADD = ToolAnnotations(read_only_hint=False, destructive_hint=False)
HINTS = {"fundamental": ToolAnnotations(read_only_hint=True), "advanced": CHANGE, "professional": CHANGE}
TIERS = tuple(HINTS)
# What any tool that asks a device may fail with. What its rules refuse with, they declare themselves.
DEVICE = ("NOT_FOUND", "TIMEOUT", "DEVICE_UNREACHABLE", "DEVICE_AUTH_FAILED", "DEVICE_ERROR")
Function = Callable[..., Any]


class Access:
    """The rules that tools stand under, for the users in `ROUTERS_USERS`; without it everybody may do everything."""

    def __init__(self, store: Store, settings: Mapping[str, str]) -> None:
        self._store = store
        self._environment = settings.get("ROUTERS_ENVIRONMENT", "lab")
        self._users = [user.split(":") for user in settings.get("ROUTERS_USERS", "").split()]
        self._token = settings.get("ROUTERS_TOKEN", "")
        self._tiers: ContextVar[tuple[str, ...]] = ContextVar("tiers", default=())
        self._rate = rate(30, key=lambda sent: sent["device_id"], message="Too many requests to device '{device_id}'")

    def tool(
        self, server: MCPServer[Any], name: str, tier: str, *codes: str, device: bool = False, flag: str | None = None
    ) -> Callable[[Function], Function]:
        """A tool of a tier. One that asks the `device` in `device_id` stands under the device's rules and rate, too."""
        rule = self.rule(tier, device=device, flag=flag)
        said = fw.raises("UNAUTHORIZED", *(DEVICE if device else ()), *codes)

        def add(function: Function) -> Function:
            ruled = rule(self._rate(function) if device else function)
            server.add_tool(said(ruled), name, annotations=ADD if flag else HINTS[tier], structured_output=False)
            return ruled

        return add

    def rule(self, tier: str, *, device: bool = True, flag: str | None = None) -> Rule:
        """The rule for tools of this tier; those that ask the `device` in `device_id` need the flag on it."""
        return _Allowed(self._store, self._environment, self._tiers, tier, device, flag)

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Finds out who calls: over HTTP by the bearer's token, on stdio by the one in the environment."""
        if ctx.method in ("tools/call", "resources/read"):
            http = ctx.request
            sent = self._token if http is None else http.headers.get("authorization", "").removeprefix("Bearer ")
            self._tiers.set(self._tiers_of(sent) if self._users else TIERS)
        return await call_next(ctx)

    def _tiers_of(self, sent: str) -> tuple[str, ...]:
        for _, tier, token in self._users:
            if hmac.compare_digest(token.encode(), sent.encode()):
                return TIERS[: TIERS.index(tier) + 1]
        advice = "Ask the user for a token: a bearer token over HTTP, ROUTERS_TOKEN on stdio."
        raise fw.catalogs.JsonRpc.UNAUTHORIZED("No valid authentication found", suggestion=advice)


class _Allowed(Rule):
    """The caller has the tier, and the device is in this environment and has the flag."""

    codes = ("FORBIDDEN",)

    def __init__(
        self,
        store: Store,
        environment: str,
        tiers: ContextVar[tuple[str, ...]],
        tier: str,
        device: bool,
        flag: str | None,
    ) -> None:
        self._store, self._environment, self._tiers = store, environment, tiers
        self._tier, self._device, self._flag = tier, device, flag

    def admit(self, arguments: Mapping[str, Any]) -> None:
        tier, flag, allowed = self._tier, self._flag, self._tiers.get()
        if tier not in allowed:
            names = ", ".join(allowed)
            raise fw.Denied(
                f"The caller may not use the {tier} tier; allowed: {names or 'none'}",
                suggestion=f"Use a tool of an allowed tier ({names}), or ask an administrator for access."
                if names
                else "Ask an administrator for access.",
                tier=tier,
                details={"allowed_tiers": list(allowed)},
            )
        if not self._device:
            return
        device = self._store.device(arguments["device_id"])
        if device.environment != self._environment:
            raise fw.Denied(
                f"Device environment '{device.environment}' does not match service environment '{self._environment}'",
                title="Forbidden: environment mismatch",
                details={
                    "device_id": device.id,
                    "device_environment": device.environment,
                    "service_environment": self._environment,
                },
            )
        if flag is not None and flag not in device.flags:
            filters = {"environment": self._environment, "filter": f"{flag}=true"}
            listing = f"List devices with {tier} tier enabled"
            raise fw.Denied(
                f"Device '{device.id}' does not allow {tier} tier operations",
                suggestion=f"Enable {tier} operations by setting device flag '{flag}=true', or use a different device.",
                next_steps=[
                    f"Use registry/update to enable {flag} flag",
                    f"Use registry/list with environment filter to find devices with {tier} tier enabled",
                    f"Contact administrator to enable {tier} tier for this device",
                ],
                actions=[{"tool": "registry/list", "description": listing, "arguments": filters}],
                tier=tier,
                details={"device_id": device.id, "required_flag": flag},
            )
