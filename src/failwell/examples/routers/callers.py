"""Who calls: a token for each user, and the tiers that user may use."""

from __future__ import annotations

import hmac
import os
from contextvars import ContextVar
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

import failwell as fw

TIERS = ("fundamental", "advanced", "professional")
_GUARDED = ("tools/call", "resources/read")


class Callers:
    """The users in `ROUTERS_USERS`, as `name:tier:token` with blanks between; without it everybody may do everything.

    Over HTTP the token is the bearer's, on stdio it is in the environment, as the protocol has it.
    """

    def __init__(self, users: str, token: str) -> None:
        self._users = [user.split(":", 2) for user in users.split()]
        self._token = token
        self._tiers: ContextVar[tuple[str, ...]] = ContextVar("tiers", default=())

    @classmethod
    def from_environment(cls) -> Callers:
        return cls(os.environ.get("ROUTERS_USERS", ""), os.environ.get("ROUTERS_TOKEN", ""))

    def tiers(self, arguments: object = None) -> tuple[str, ...]:
        """What the caller of this request may use."""
        return self._tiers.get()

    async def middleware(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method in _GUARDED:
            self._tiers.set(self._find(ctx))
        return await call_next(ctx)

    def _find(self, ctx: ServerRequestContext[Any, Any]) -> tuple[str, ...]:
        if not self._users:
            return TIERS
        sent = self._token
        if ctx.request is not None:
            sent = ctx.request.headers.get("authorization", "").removeprefix("Bearer ")
        for _, tier, token in self._users:
            if hmac.compare_digest(token.encode(), sent.encode()):
                return TIERS[: TIERS.index(tier) + 1]
        raise fw.catalogs.JsonRpc.UNAUTHORIZED(
            "No valid authentication found",
            suggestion="Ask the user for a token: a bearer token over HTTP, ROUTERS_TOKEN on stdio.",
        )
