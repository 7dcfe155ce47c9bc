"""The low-level `Server` of version 1 of the SDK."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from anyio import move_on_after

from failwell.model import ToolError
from failwell.readers import fate, from_schema, strictly
from failwell.sdk import CallToolResult
from failwell.server.boundary import Boundary
from failwell.server.extras import note
from failwell.server.facts import Facts, taken
from failwell.server.served_call import ServedCall

from .listed import CheckedTool, Listings, check_output, could_mean_unknown
from .raised import cause_of
from .sdk1 import FrameworkTools, Handler, install_on, session_now, setting, types

_PATIENCE: Final = 2.0
"""For how many seconds a call waits for the author's own list, which may ask somebody else in turn."""
_REST: Final = 30.0
"""For how many seconds a list that did not come is not asked for again."""


def install(server: Any, boundary: Boundary) -> None:
    install_on(server, boundary, _Tools(server, boundary))


class _Verdict(NamedTuple):
    """What is to be said of a call's arguments before it is made."""

    problem: ToolError | None = None
    unknown: Sequence[str] = ()
    extra: str = "auto"
    is_checked: bool = False
    """They need not be held against the schema once more."""


class _Tools(FrameworkTools):
    """What the server lists, and the calls that are held against it."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        super().__init__(server, boundary)
        self._listings = Listings(boundary)
        self._rests_until = 0.0
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
        verdict = _Verdict() if tool is None else self._judged(tool, call.tool, arguments)
        if verdict.problem is not None and await self._list():
            # What is refused is refused by what the tool is now.
            tool = self._known(call.tool)
            verdict = _Verdict() if tool is None else self._judged(tool, call.tool, arguments)
        if tool is None:
            return await send(arguments)
        if verdict.problem is not None:
            raise verdict.problem
        result = await send(arguments, is_checked=verdict.is_checked)
        if tool.output is not None and isinstance(result, CallToolResult):
            check_output(tool.output, result)
        if verdict.unknown and verdict.extra == "warn":
            # Unless its author wants to hear of them: a handler gets all arguments, and may well use them.
            note(call, list(verdict.unknown), tool.facts, verdict.extra)
        return result

    def _judged(self, tool: CheckedTool, name: str, arguments: Mapping[str, Any]) -> _Verdict:
        extra: str = self.boundary.options.extra
        # An author who has the SDK hold arguments against nothing means it.
        is_asked = self._validates is not False
        unknown = tool.unknown(arguments) if is_asked or extra != "auto" else []
        problem = None
        if unknown:
            schema = tool.facts.schema or {}
            extra = fate(extra, arguments, schema, self.boundary.aftermath.nature(tool.facts))
            if extra == "reject" and tool.arguments:
                problem = from_schema(strictly(schema, extra), arguments, tool=name)
        is_checked = False
        if is_asked and tool.arguments is not None and (tool.arguments.is_final or self._validates is None):
            # The SDK looks through the whole schema for each call, which takes longer than all the rest of it.
            is_checked = tool.arguments.fits(arguments)
            if not is_checked and problem is None:
                problem = from_schema(tool.arguments.schema, arguments, tool=name)
        return _Verdict(problem, unknown, extra, is_checked)

    async def _find(self, name: str) -> CheckedTool | None:
        known = self._known(name)
        if known is None and await self._list():
            known = self._known(name)
        return known

    def _known(self, name: str) -> CheckedTool | None:
        """A tool as whoever calls it was shown it."""
        return self._listings.find(session_now(), name)

    async def _list(self) -> bool:
        """Whether the tools were listed anew. What was listed a moment ago is good enough."""
        handler = self.server.request_handlers.get(types.ListToolsRequest)
        if handler is None or time.monotonic() < self._rests_until or self._listings.is_fresh(session_now()):
            return False
        is_answered = False
        try:
            with move_on_after(_PATIENCE):
                # As the SDK itself asks, where it wants to know what a tool promises.
                await handler(types.ListToolsRequest(method="tools/list"))
                is_answered = True
        except BaseException as exc:
            # Who cannot be asked is not held to anything. An order to stop is one.
            taken(exc)
        if not is_answered:
            self._rests_until = time.monotonic() + _REST
        return is_answered
