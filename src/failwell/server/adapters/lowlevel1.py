"""The low-level `Server` of version 1 of the SDK."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from failwell.readers import fate, strictly
from failwell.sdk import CallToolResult
from failwell.server.boundary import Boundary
from failwell.server.extras import note
from failwell.server.facts import Facts
from failwell.server.served_call import ServedCall

from .listed import CheckedTool, check_output, could_mean_unknown, refuse
from .raised import cause_of
from .sdk1 import FrameworkTools, Handler, install_on, session_now, setting, types

# Before 1.10 the SDK keeps no tools.
_NONE: Final[Mapping[str, Any]] = {}
_FRESH: Final = 1.0
"""For how many seconds a list of tools is good enough to name the call that tells."""


def install(server: Any, boundary: Boundary) -> None:
    install_on(server, boundary, _Tools(server, boundary))


class _Tools(FrameworkTools):
    """What the server lists, and the calls that are held against it."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        super().__init__(server, boundary)
        self._listed: dict[str, tuple[Any, CheckedTool]] = {}
        self._latest: WeakKeyDictionary[Any, tuple[float, list[str]]] = WeakKeyDictionary()
        """What was listed last, and when: the tools of one session need not be those of another."""
        self._validates: bool | None = True
        """Whether the SDK holds arguments against schemas: None where it cannot, which it could not before 1.10."""

    def call(self, handler: Handler) -> Handler:
        self._validates = setting(handler, "validate_input")
        return super().call(handler)

    async def facts(self, name: str, arguments: Mapping[str, Any] | None = None) -> Facts | None:
        tool = await self._find(name)
        return None if tool is None else tool.facts

    async def all(self) -> list[Facts]:
        # The handler is the author's, and may ask somebody else in turn: not once for each of a hundred failures.
        at, names = self._latest.get(session_now(), (0.0, []))
        if time.monotonic() - at > _FRESH or not names:
            names = await self._list()
        return [self._listed[name][1].facts for name in names]

    def unknown(self, raised: BaseException, tool: Facts | None) -> bool:
        return tool is None and bool(self._listed) and could_mean_unknown(cause_of(raised))

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Any:
        tool = self._known(call.tool) or await self._find(call.tool)
        if tool is None:
            return await send(arguments)
        extra: str = self.boundary.options.extra
        # An author who has the SDK hold arguments against nothing means it.
        is_asked = self._validates is not False
        unknown = tool.unknown(arguments) if is_asked or extra != "auto" else []
        if unknown:
            schema = tool.facts.schema or {}
            extra = fate(extra, arguments, schema, self.boundary.aftermath.nature(tool.facts))
            if extra == "reject" and tool.arguments:
                refuse(strictly(schema, extra), arguments, call.tool)
        is_checked = False
        if is_asked and tool.arguments is not None and (tool.arguments.is_final or self._validates is None):
            # The SDK looks through the whole schema for each call, which takes longer than all the rest of it.
            is_checked = tool.arguments.fits(arguments)
            if not is_checked:
                refuse(tool.arguments.schema, arguments, call.tool)
        result = await send(arguments, is_checked=is_checked)
        if tool.output is not None and isinstance(result, CallToolResult):
            check_output(tool.output, result)
        if unknown and extra == "warn":
            # Unless its author wants to hear of them: a handler gets all arguments, and may well use them.
            note(call, unknown, tool.facts, extra)
        return result

    async def _find(self, name: str) -> CheckedTool | None:
        known = self._known(name)
        if known is None:
            await self._list()
            known = self._known(name)
        return known

    def _known(self, name: str) -> CheckedTool | None:
        """A tool that has been listed."""
        known = self._listed.get(name)
        if known is None:
            return None
        # Whoever has listed the tools since may have been told something else: by that the SDK goes, too.
        latest = getattr(self.server, "_tool_cache", _NONE).get(name)
        if latest is not None and latest is not known[0]:
            checked = known[1] if latest == known[0] else CheckedTool.of(latest, self.boundary)
            known = self._listed[name] = (latest, checked)
        return known[1]

    async def _list(self) -> list[str]:
        """The names of what there is now."""
        handler = self.server.request_handlers.get(types.ListToolsRequest)
        if handler is None:
            return []
        try:
            # As the SDK itself asks, where it wants to know what a tool promises.
            result = (await handler(types.ListToolsRequest(method="tools/list"))).root
        except Exception:
            # Who cannot be asked is not held to anything.
            return []
        tools = getattr(result, "tools", None) or ()
        for tool in tools:
            known = self._listed.get(tool.name)
            if known is None or known[0] != tool:
                self._listed[tool.name] = (tool, CheckedTool.of(tool, self.boundary))
        names = [tool.name for tool in tools]
        self._latest[session_now()] = (time.monotonic(), names)
        return names
