"""Who calls, as far as the server knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser


def caller_of(request: Any) -> list[str | None]:
    """Who calls, if the server knows: keys of others are other keys.

    Not the session: an agent that lost an answer comes back with a new one.
    """
    scope = getattr(request.request, "scope", None)
    user = scope.get("user") if isinstance(scope, Mapping) else None
    # The request's own first: in a long session the other one may be of an older token.
    token = user.access_token if isinstance(user, AuthenticatedUser) else get_access_token()
    if token is None:
        return []
    # What a verifier does not say, and an older SDK has no place for, is None: then the rest must be enough.
    issuer = (getattr(token, "claims", None) or {}).get("iss")
    return [token.client_id, None if issuer is None else str(issuer), getattr(token, "subject", None)]
