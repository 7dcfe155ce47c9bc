"""`mcp.ClientSession`, in both generations of the SDK.

Whoever uses it opens the connection, so it is given as a function that does, or open already.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

from mcp.client.session import ClientSession

from failwell.model import ToolError
from failwell.sdk import GENERATION, CallToolResult, field, types

from .drivers import CALLBACKS, Asking, DriverBase, Options, counted, hearing
from .transport import watch_sessions

_MOST_PAGES: Final = 100
_TAKES_META: Final = "meta" in inspect.signature(ClientSession.call_tool).parameters
_TAKES_PARAMS: Final = "params" in inspect.signature(ClientSession.list_tools).parameters


class HeldSession:
    """One session while it is open: its own methods, and what a client has besides."""

    def __init__(self, opener: Any, entered: Callable[[Any], None]) -> None:
        self._opener = opener
        self._entered = entered
        self._stack = AsyncExitStack()
        self._greeting: Any = None
        self.session: Any = None

    async def __aenter__(self) -> HeldSession:
        session = self._opener
        if not isinstance(session, ClientSession):
            session = await self._stack.enter_async_context(session)
        if not isinstance(session, ClientSession):
            await self._stack.aclose()
            raise TypeError(
                f"The function that opens a connection gives a {type(session).__name__}, not an mcp.ClientSession."
            )
        self._entered(session)
        if not _is_greeted(session):
            self._greeting = await session.initialize()
        self.session = session
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, exc, trace)

    @property
    def server_capabilities(self) -> Any:
        told = getattr(self.session, "get_server_capabilities", None)
        known = getattr(self.session, "server_capabilities", None) if told is None else told()
        return known if known is not None else getattr(self._greeting, "capabilities", None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.__dict__.get("session") is None:
            raise AttributeError(name)
        return getattr(self.session, name)


def _is_greeted(session: Any) -> bool:
    """Whether the handshake was made: nothing public tells in 1.x, where it is the first request of all."""
    if GENERATION == 1:
        return bool(getattr(session, "_request_id", 0))
    return getattr(session, "protocol_version", None) is not None


class SessionDriver(DriverBase):
    """mcp.ClientSession."""

    timeout_option = "read_timeout_seconds"
    positional: tuple[str, ...] = ("read_timeout_seconds", "progress_callback")
    options: tuple[str, ...] = (*positional, "meta")
    if GENERATION == 2:
        options = (*options, "input_responses", "request_state")
    timeout: float | None = None

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        watch_sessions()
        self._opener = sample
        self._latest: Any = None
        if not isinstance(sample, ClientSession):
            # What a session can do is known before there is one.
            self.sample = object.__new__(ClientSession)
        else:
            self._latest = sample
            self._set_timeout(sample)

    def _template(self) -> Any:
        first, self._used = not self._used, True
        if first:
            return self._opener
        return None if self._make is None else self._make()

    def _set_timeout(self, session: Any) -> None:
        given = getattr(session, "_session_read_timeout_seconds", None)
        self.timeout = given.total_seconds() if isinstance(given, timedelta) else given

    @property
    def interactive(self) -> bool:
        return any(_own(self._latest, name) is not None for name in CALLBACKS)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        opener = self._template()
        if opener is None:
            raise ToolError(
                "This session has ended, and only who opened it can open another one; give Recovering a function that "
                "opens a session.",
                code="NOT_CONFIGURED",
            )

        def entered(session: Any) -> None:
            self._latest = session
            self._set_timeout(session)
            for name in CALLBACKS:
                if (callback := _own(session, name)) is not None:
                    setattr(session, f"_{name}", counted(callback, asking))
            session._message_handler = hearing(getattr(session, "_message_handler", None), changed)

        return HeldSession(opener, entered)

    def is_alive(self, client: Any) -> bool:
        session = client.session
        # Nothing public tells that the server has hung up. Where the SDK hides it elsewhere, the next call tells.
        if GENERATION == 2:
            return not getattr(getattr(session, "_dispatcher", None), "_closed", False)
        return not getattr(getattr(session, "_write_stream", None), "_closed", False)

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        limit: Any = timeout if GENERATION == 2 else timedelta(seconds=timeout)
        if not meta:
            sent: Awaitable[Any] = client.call_tool(tool, arguments, read_timeout_seconds=limit, **options)
        elif _TAKES_META:
            sent = client.call_tool(tool, arguments, read_timeout_seconds=limit, meta=meta, **options)
        else:
            sent = _with_meta(client, tool, arguments, limit, meta, options)
        return sent

    async def tools(self, client: Any) -> list[Any]:
        found: list[Any] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await client.session.list_tools(**_page(cursor))
            found += page.tools
            cursor = field(page, "next_cursor")
            if not cursor:
                break
        return found


def _page(cursor: str | None) -> dict[str, Any]:
    if cursor is None:
        return {}
    return {"params": types.PaginatedRequestParams(cursor=cursor)} if _TAKES_PARAMS else {"cursor": cursor}


async def _with_meta(client: Any, tool: str, arguments: Any, limit: Any, meta: Any, options: Options) -> Any:
    """A call with `_meta`, for an SDK whose own method has no place for it."""
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    request = types.CallToolRequest.model_validate({"method": "tools/call", "params": params})
    return await client.session.send_request(
        types.ClientRequest(request), CallToolResult, request_read_timeout_seconds=limit, **options
    )


def _own(session: Any, name: str) -> Any:
    """A callback that the session was given; None if it has only the SDK's, which answers that it cannot."""
    callback = getattr(session, f"_{name}", None)
    return None if getattr(callback, "__name__", "").startswith("_default_") else callback
