"""Who may do what: users with tokens and tiers, devices with flags and environments, and a rate for each device."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

import failwell as fw
from failwell.server import Rule, Safety, Target, rate

from .store import Store

TIERS = ("fundamental", "advanced", "professional")


class Access:
    """The rules that tools stand under, for the users in `ROUTERS_USERS`; without it everybody may do everything."""

    def __init__(self, store: Store, settings: Mapping[str, str]) -> None:
        self._store = store
        self._environment = settings.get("ROUTERS_ENVIRONMENT", "lab")
        self._users = [user.split(":") for user in settings.get("ROUTERS_USERS", "").split()]
        self._token = settings.get("ROUTERS_TOKEN", "")
        self._tiers: ContextVar[tuple[str, ...]] = ContextVar("tiers", default=())
        self.rate = rate(30, key=lambda sent: sent["device_id"], message="Too many requests to device '{device_id}'")

    def tier(self, tier: str) -> Rule:
        """For tools that touch no device."""
        return Safety(tiers=lambda _: self._tiers.get()).requires(tier=tier)

    def device(self, tier: str, flag: str | None = None) -> Rule:
        """For tools that touch the device in `device_id`: it is in this environment, and has the flag."""
        safety = Safety(environment=self._environment, tiers=lambda _: self._tiers.get(), target=self._target)
        if flag is None:
            return safety.requires(tier=tier)
        others = {"environment": self._environment, "filter": f"{flag}=true"}
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

    def _target(self, arguments: Mapping[str, Any]) -> Target:
        device = self._store.device(arguments["device_id"])
        return Target(device.id, flags=device.flags, environment=device.environment)

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Finds out who calls: over HTTP by the bearer's token, on stdio by the one in the environment."""
        if ctx.method in ("tools/call", "resources/read"):
            sent = self._token
            if ctx.request is not None:
                sent = ctx.request.headers.get("authorization", "").removeprefix("Bearer ")
            self._tiers.set(self._tiers_of(sent) if self._users else TIERS)
        return await call_next(ctx)

    def _tiers_of(self, sent: str) -> tuple[str, ...]:
        for _, tier, token in self._users:
            if hmac.compare_digest(token.encode(), sent.encode()):
                return TIERS[: TIERS.index(tier) + 1]
        raise fw.catalogs.JsonRpc.UNAUTHORIZED(
            "No valid authentication found",
            suggestion="Ask the user for a token: a bearer token over HTTP, ROUTERS_TOKEN on stdio.",
        )
