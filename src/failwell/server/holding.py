"""The hold on a server: which session a call belongs to, and the question to the user where no call would tell."""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

from failwell.formats import MODERN_ERA
from failwell.idempotency import HoldStore, shared_hold
from failwell.model import ToolError
from failwell.recovery import Held, Hold
from failwell.sdk import InputRequiredResult

from .questions import answer_to, can_ask, elicit
from .served_call import ServedCall, connection_of

T = TypeVar("T")

KEY: Final = "failwell-hold"
"""Names our question among those a result may hold."""
_YES: Final = "run_again"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {_YES: {"type": "boolean", "title": "Run it again"}},
    "required": [_YES],
}
_SESSION: Final = "mcp-session-id"
_MOST_SESSIONS: Final = 10_000
_MOST_STREAMS: Final = 100


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


class Holds:
    """What each session of one server has in doubt. One caller's doubt never touches another's call.

    store: the store of keys, where replicas of the server share it.
    """

    def __init__(self, seconds: float, store: object = None) -> None:
        self._seconds, self._store = seconds, store if isinstance(store, HoldStore) else None
        self._streams: OrderedDict[int, tuple[object, Hold]] = OrderedDict()
        self._callers: OrderedDict[str, Hold] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._streams or self._callers or (self._store is not None and self._seconds))

    async def find(self, call: ServedCall) -> Held | None:
        """The call that this one would repeat while it is in doubt."""
        hold = self.of(call, make=self._store is not None)
        return None if hold is None else await self._run(hold.find, call.tool, call.arguments, time.monotonic())

    async def failed(self, call: ServedCall, error: ToolError) -> None:
        """A write failed."""
        if (hold := self.of(call)) is None:
            return
        given = call.tool, call.arguments, error, error.verify, time.monotonic()
        if self._store is None:
            hold.failed(*given)
        else:
            await self._run(hold.failed, *given)

    async def succeeded(self, call: ServedCall, began: float, *, reads: bool) -> None:
        """A call worked that began at that time."""
        if hold := self.of(call, make=False):
            await self._run(partial(hold.succeeded, began, reads=reads))

    async def release(self, call: ServedCall) -> None:
        """The user says that the call may be run again."""
        if (hold := self.of(call)) is not None:
            await self._run(hold.release, call.tool, call.arguments)

    async def _run(self, method: Callable[..., T], *given: Any) -> T:
        # In a thread, so that nobody else waits for the store.
        return method(*given) if self._store is None else await asyncio.to_thread(method, *given)

    def of(self, call: ServedCall, *, make: bool = True) -> Hold | None:
        """The hold of the caller's session: the stream's, the HTTP session's, or the login's where the protocol has no
        sessions; None where nothing tells one caller from another."""
        if not self._seconds:
            return None
        request = call.request
        if (peer := getattr(request, "request", None)) is not None:
            session = (getattr(peer, "headers", None) or {}).get(_SESSION)
            login = None if session is not None else caller_of(request)
            if session is None and not login:
                return None
            key = json.dumps([session, login])
            if key in self._callers or not make:
                return self._callers.get(key)
            while len(self._callers) >= _MOST_SESSIONS:
                self._callers.popitem(last=False)
            shared = shared_hold(self._store, self._seconds, session, login)
            return self._callers.setdefault(key, Hold(self._seconds) if shared is None else shared)
        lasting = connection = connection_of(request)
        if call.era >= MODERN_ERA:
            # In the newer era each request has a connection of its own; what lasts is the way out, and where a server
            # is called in its own process, what was made for the client when it came.
            lasting = getattr(connection, "outbound", None)
            if lasting is None or type(lasting).__name__ == "_NoChannelOutbound":
                lasting = getattr(request, "lifespan_context", None)
        if lasting is None:
            # A worker that runs the tool in the background knows no client.
            return None
        known = self._streams.get(id(lasting))
        if known is None and make:
            # With what it is of: else another one could come to lie in its place.
            known = self._streams[id(lasting)] = lasting, Hold(self._seconds)
            while len(self._streams) > _MOST_STREAMS:
                self._streams.popitem(last=False)
        return None if known is None else known[1]


async def confirm(call: ServedCall, held: Held) -> bool | InputRequiredResult:
    """Whether the user says that the call is to be run again; the question, where the protocol has it answered by
    another call."""
    answer: Any = answer_to(call, KEY)
    if answer is None:
        if held.verify is not None or not can_ask(call):
            return False
        answer = await elicit(call, KEY, held.question(), _FORM, {KEY: 1})
    if answer is None or isinstance(answer, InputRequiredResult):
        return answer or False
    return answer.action == "accept" and (answer.content or {}).get(_YES) is True
