"""FastMCP 2, which is built on version 1 of the SDK."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastmcp.exceptions import DisabledError, NotFoundError

from failwell.model import ToolError, frames, unwrapped
from failwell.server.boundary import Boundary
from failwell.server.served_call import (
    BrokenResult,
    ServedCall,
    ToolInfo,
    add_alias,
    current,
    has_finished,
    is_teardown_failure,
    mark_finished,
)
from failwell.server.wrong_requests import missing_arguments

from .background import as_failure, in_background
from .mcp1 import LATEST, OlderTools, install_on, run_raised
from .shared import cause_of, named_like
from .wrong_messages import check_posts, path_of_fastmcp


def install(server: Any, boundary: Boundary) -> None:
    async def check(params: Any) -> ToolError | None:
        # Of a mounted one its own server knows.
        prompt = server._prompt_manager._prompts.get(params.name)
        return None if prompt is None else missing_arguments(prompt, params.arguments)

    boundary.reader.masks = server._tool_manager.mask_error_details
    tools = FastMCPTools(server, boundary)
    names = {"uris": server.get_resources, "prompts": server.get_prompts}
    install_on(server._mcp_server, boundary, tools, **names, check_prompt=check)
    _look_at_results(server)
    _guard_tasks(server, boundary)
    check_posts(server, "http_app", boundary, path_of_fastmcp)


class FastMCPTools(OlderTools):
    """The tools of a FastMCP, its own and those of the servers that are mounted in it."""

    async def tool(self, name: str) -> Any:
        try:
            tool = await self.server.get_tool(name)
        except (NotFoundError, DisabledError):
            return None
        return tool if self._is_enabled(tool) else None

    async def listed(self) -> list[tuple[str, Any]]:
        return [(name, tool) for name, tool in (await self.server.get_tools()).items() if self._is_enabled(tool)]

    def _is_enabled(self, tool: Any) -> bool:
        """Whether FastMCP lists and calls a tool: it also gives out those that are switched off."""
        return bool(self.server._should_enable_component(tool))

    async def find(self, name: str, request: Any = None) -> ToolInfo | None:
        tool = await self.tool(name)
        return None if tool is None else ToolInfo.of_tool(name, tool)

    async def all(self, request: Any = None) -> list[ToolInfo]:
        return [ToolInfo.of_tool(name, tool) for name, tool in await self.listed()]

    def is_unknown(self, call: ServedCall, raised: BaseException) -> bool:
        return isinstance(cause_of(raised), (NotFoundError, DisabledError))

    def has_finished(self, name: str) -> bool:
        return has_finished(name)

    async def stands_for_another(self, name: str) -> bool:
        tool = await self.tool(name)
        return tool is not None and getattr(tool, "fn", None) is None

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Awaitable[Any]:
        # FastMCP 3 has none: there a mounted tool is a tool of its own.
        if getattr(self.server, "_mounted_servers", None):
            _look_within(self.server, call.tool)
        return send(arguments)


# Where a server's manager says that its tools are looked at.
_LOOKS: Final = "_failwell_looks"
_MOST_MOUNTS: Final = 20


def _look_at_results(server: Any) -> None:
    """Have a failure that a tool returns looked at before FastMCP makes a text of it, and word of each run's end."""
    manager = server._tool_manager
    if getattr(manager, _LOOKS, False):
        return
    setattr(manager, _LOOKS, True)
    find, run = manager.get_tool, manager.call_tool

    async def get_tool(key: str) -> Any:
        tool = await find(key)
        if hasattr(tool, "fn") and "_failwell" not in tool.__dict__:
            twin = tool.model_copy(update={"fn": looking(tool.fn, tool.name)})
            kind: type = type(tool)
            object.__setattr__(tool, "__class__", _running_twin(kind))
            tool.__dict__["_failwell"] = twin
        return tool

    async def call_tool(key: str, arguments: dict[str, Any]) -> Any:
        # Here, since a proxy may have no tool of its own to run.
        try:
            result = await run(key, arguments)
        except BaseException as exc:
            run_raised(key, exc)
            raise
        mark_finished(key)
        return result

    manager.get_tool, manager.call_tool = get_tool, call_tool


def _look_within(server: Any, name: str, depth: int = 0) -> None:
    """Have the tools of mounted servers looked at, too, under the names by which this call comes to them. At each call:
    a server may be mounted at any time."""
    for mounted in server._mounted_servers:
        _look_at_results(mounted.server)
        inner = _name_within(mounted, name)
        add_alias(name, inner)
        if depth < _MOST_MOUNTS:
            _look_within(mounted.server, inner, depth + 1)


def _guard_tasks(server: Any, boundary: Boundary) -> None:
    """Have what the worker of background tasks runs read its own failures. FastMCP has one from 2.14."""
    original = getattr(server, "_docket_lifespan", None)
    if original is None:
        return

    @asynccontextmanager
    async def guarded() -> AsyncIterator[None]:
        async with original():
            # The worker has not begun: that takes until somebody waits.
            tasks = getattr(server._docket, "tasks", {})
            functions = {id(each.fn): each for each in _components_within(server) if hasattr(each, "fn")}
            for key, function in tasks.items():
                known = functions.get(id(function))
                made = None if known is None else in_background(boundary, known, as_failure, LATEST, key)
                tasks[key] = function if made is None else made
            yield

    server._docket_lifespan = guarded


def _components_within(server: Any, depth: int = 0) -> Iterator[Any]:
    yield from server._tool_manager._tools.values()
    yield from server._prompt_manager._prompts.values()
    yield from server._resource_manager._resources.values()
    yield from server._resource_manager._templates.values()
    if depth < _MOST_MOUNTS:
        for mounted in server._mounted_servers:
            yield from _components_within(mounted.server, depth + 1)


def _name_within(mounted: Any, name: str) -> str:
    """How a mounted server calls a tool."""
    chosen = getattr(mounted, "tool_names", None) or {}
    prefix = f"{mounted.prefix}_" if mounted.prefix else ""
    return next((own for own, given in chosen.items() if given == name), name.removeprefix(prefix))


@functools.cache
def _running_twin(kind: type) -> type:
    class Twin(kind):  # type: ignore[misc]
        async def run(self, arguments: dict[str, Any]) -> Any:
            twin = self.__dict__["_failwell"]
            call = current.get()
            if call is None or twin is None:
                return await super().run(arguments)
            # Of this run: somebody's middleware may have it run again.
            call.returned = ...
            try:
                result = await twin.run(arguments)
            except Exception as exc:
                if call.returned is ... or _is_of_function(exc) or is_teardown_failure(exc):
                    raise
                raise BrokenResult(call.returned) from exc
            mark_finished(self.name)
            return result

    return named_like(Twin, kind)


def looking(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of a tool, with a failure that it returns raised, and word that it has ended."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*given: Any, **options: Any) -> Any:
            value = unwrapped(await function(*given, **options))
            mark_finished(name, value)
            return value

        return awaited

    @functools.wraps(function)
    def called(*given: Any, **options: Any) -> Any:
        value = unwrapped(function(*given, **options))
        if not inspect.isawaitable(value):
            mark_finished(name, value)
        return value

    return called


def _is_of_function(exc: BaseException) -> bool:
    """Whether it came out of the function of a tool, and not of what FastMCP makes of that one's result."""
    _, *inner = frames(exc)
    return any(trace.tb_frame.f_globals is globals() for trace in inner)
