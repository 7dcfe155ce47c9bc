"""The low-level `Server` of version 1 of the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from failwell.sdk import CallToolResult
from failwell.server.boundary import Boundary
from failwell.server.extras import note
from failwell.server.served_call import Facts, ServedCall

from .listed import CheckedTool, Listings, check_output, could_mean_unknown, judged
from .raised import cause_of
from .sdk1 import FrameworkTools, Handler, install_on, session_now, setting, types


def install(server: Any, boundary: Boundary) -> None:
    install_on(server, boundary, _Tools(server, boundary))


class _Tools(FrameworkTools):
    """What the server lists, and the calls that are held against it."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        super().__init__(server, boundary)
        self._listings = Listings(boundary)
        self._validates: bool | None = True
        """Whether the SDK holds arguments against schemas: None where it cannot, which it could not before 1.10."""

    def call(self, handler: Handler) -> Handler:
        self._validates = setting(handler, "validate_input")
        return super().call(handler)

    def shown(self, request: Any, result: Any) -> None:
        is_more = getattr(getattr(request, "params", None), "cursor", None) is not None
        self._listings.remember(session_now(), getattr(result, "tools", None) or (), is_more=is_more)

    async def facts(self, name: str, arguments: Mapping[str, Any] | None = None) -> Facts | None:
        tool = await self._find(name)
        return None if tool is None else tool.facts

    async def all(self) -> list[Facts]:
        await self._list()
        return self._listings.all(session_now())

    def unknown(self, raised: BaseException, tool: Facts | None) -> bool:
        return tool is None and bool(self._listings.all(session_now())) and could_mean_unknown(cause_of(raised))

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Any:
        tool = await self._find(call.tool)
        verdict = judged(tool, arguments, self.boundary, validates=self._validates)
        if verdict.problem is not None and await self._list():
            # What is refused is refused by what the tool is now.
            tool = self._known(call.tool)
            verdict = judged(tool, arguments, self.boundary, validates=self._validates)
        if verdict.problem is not None:
            raise verdict.problem
        if tool is None:
            return await send(arguments)
        result = await send(arguments, is_checked=verdict.is_checked)
        if tool.output is not None and isinstance(result, CallToolResult):
            check_output(tool.output, result)
        if verdict.unknown and verdict.extra == "warn":
            # Unless its author wants to hear of them: a handler gets all arguments, and may well use them.
            note(call, list(verdict.unknown), tool.facts, verdict.extra)
        return result

    async def _find(self, name: str) -> CheckedTool | None:
        known = self._known(name)
        if known is None and await self._list():
            known = self._known(name)
        return known

    def _known(self, name: str) -> CheckedTool | None:
        """A tool as whoever calls it was shown it."""
        return self._listings.find(session_now(), name)

    async def _list(self) -> bool:
        """Whether the tools were listed anew."""
        handler = self.server.request_handlers.get(types.ListToolsRequest)
        if handler is None:
            return False
        # As the SDK itself asks, where it wants to know what a tool promises.
        return await self._listings.renew(session_now(), lambda: handler(types.ListToolsRequest(method="tools/list")))
