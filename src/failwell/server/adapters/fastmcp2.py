"""FastMCP 2 and 3, which are built on version 1 of the SDK: their handlers are wrapped as those of its own servers.

What a tool returned is looked at before FastMCP makes a result of it: in 2 by the tools that its manager gives out, in
3 by a transform.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from fastmcp import FastMCP
from fastmcp.exceptions import DisabledError, NotFoundError

from failwell.model import ToolError, unwrapped
from failwell.schema import Checkers
from failwell.server.boundary import Boundary
from failwell.server.replies import convert_result
from failwell.server.served_call import (
    BrokenResult,
    ServedCall,
    ToolInfo,
    add_alias,
    current,
    has_finished,
    innermost,
    is_teardown_failure,
    mark_finished,
    record_returned_error,
)
from failwell.server.wrong_requests import missing_arguments

from .background import as_failure, guard_tasks, in_background
from .mcp1 import LATEST, OlderTools, data_in, install_on, run_raised
from .shared import Twins, cause_of, named_like, twin_of
from .wrong_messages import check_posts, path_of_fastmcp

if TYPE_CHECKING:
    from fastmcp.server.transforms import Transform
else:
    try:
        from fastmcp.server.transforms import Transform
    except ImportError:
        Transform = object

_MOST_MOUNTS: Final = 20


def install(server: Any, boundary: Boundary) -> None:
    """On FastMCP 2."""
    # Of a mounted one its own server knows.
    _install(server, boundary, FastMCPTools(server, boundary), lambda name: server._prompt_manager._prompts.get(name))
    boundary.reader.masks = server._tool_manager.mask_error_details
    _look_at_results(server)
    original = getattr(server, "_docket_lifespan", None)
    if original is None:
        # There are background tasks from 2.14.
        return

    @asynccontextmanager
    async def start_worker() -> AsyncIterator[None]:
        async with original():
            # The worker has not begun: that takes until somebody waits.
            tasks = getattr(server._docket, "tasks", {})
            functions = {id(each.fn): each for each in _components_within(server) if hasattr(each, "fn")}
            for key, function in tasks.items():
                known = functions.get(id(function))
                made = None if known is None else in_background(boundary, known, as_failure, LATEST, key)
                tasks[key] = function if made is None else made
            yield

    server._docket_lifespan = start_worker


def install3(server: Any, boundary: Boundary) -> None:
    """On FastMCP 3."""
    for provider in server.providers:
        # FastMCP mounts whatever it is given, and breaks when somebody asks for it.
        mounted = getattr(getattr(provider, "_inner", provider), "server", None)
        if mounted is not None and not isinstance(mounted, FastMCP):
            kind = f"{type(mounted).__module__.partition('.')[0]}'s {type(mounted).__name__}"
            raise TypeError(
                f"install() takes a FastMCP with servers of its own kind mounted in it, and {kind} is mounted in this "
                "one; mount a fastmcp.FastMCP, or a proxy of the other (fastmcp.server.create_proxy)."
            )
    _install(server, boundary, _Tools3(server, boundary), server.get_prompt)
    boundary.reader.masks = server._mask_error_details
    _transform_results(server, boundary)
    guard_tasks(server, boundary, as_failure, LATEST)


def _install(server: Any, boundary: Boundary, tools: FastMCPTools, find_prompt: Callable[[str], Any]) -> None:
    async def check(params: Any) -> ToolError | None:
        prompt = find_prompt(params.name)
        prompt = await prompt if inspect.isawaitable(prompt) else prompt
        return None if prompt is None else missing_arguments(prompt, params.arguments)

    install_on(
        server._mcp_server,
        boundary,
        tools,
        uris=lambda: tools.names("resource", "uri"),
        prompts=lambda: tools.names("prompt", "name"),
        check_prompt=check,
    )
    check_posts(server, "http_app", boundary, path_of_fastmcp)


class FastMCPTools(OlderTools):
    """The tools of a FastMCP, its own and those of the servers that are mounted in it."""

    async def names(self, kind: str, field: str) -> list[Any]:
        """What a server has of a kind."""
        return list(await getattr(self.server, f"get_{kind}s")())

    async def listed(self) -> list[tuple[str, Any]]:
        return [(name, tool) for name, tool in (await self.server.get_tools()).items() if self._is_enabled(tool)]

    def _is_enabled(self, tool: Any) -> bool:
        """Whether FastMCP lists and calls a tool: it also gives out those that are switched off."""
        return bool(self.server._should_enable_component(tool))

    async def tool(self, name: str) -> Any:
        try:
            tool = await self.server.get_tool(name)
        except (NotFoundError, DisabledError):
            return None
        return tool if self._is_enabled(tool) else None

    async def find(self, name: str, request: Any = None, arguments: Mapping[str, Any] | None = None) -> ToolInfo | None:
        tool = await self.tool(name)
        return None if tool is None else ToolInfo.of_tool(name, tool, arguments)

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


class _Tools3(FastMCPTools):
    async def names(self, kind: str, field: str) -> list[Any]:
        listing = getattr(self.server, f"list_{kind}s")
        return [getattr(each, field) for each in await listing(run_middleware=False)]

    async def listed(self) -> list[tuple[str, Any]]:
        return [(tool.name, tool) for tool in await self.server.list_tools(run_middleware=False)]

    def _is_enabled(self, tool: Any) -> bool:
        # What is switched off is not given out.
        return tool is not None


def _look_at_results(server: Any) -> None:
    """Have a failure that a tool returns looked at before FastMCP makes a text of it, and word of each run's end."""
    manager = server._tool_manager
    if getattr(manager, "_failwell_looks", False):
        return
    manager._failwell_looks = True
    find, run = manager.get_tool, manager.call_tool

    async def get_tool(key: str) -> Any:
        tool = await find(key)
        if hasattr(tool, "fn") and "_failwell" not in tool.__dict__:
            twin = tool.model_copy(update={"fn": _watch_function(tool.fn, tool.name)})
            kind: type = type(tool)
            object.__setattr__(tool, "__class__", _watch_twin(kind))
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
        prefix = f"{mounted.prefix}_" if mounted.prefix else ""
        chosen = getattr(mounted, "tool_names", None) or {}
        inner = next((own for own, given in chosen.items() if given == name), name.removeprefix(prefix))
        add_alias(name, inner)
        if depth < _MOST_MOUNTS:
            _look_within(mounted.server, inner, depth + 1)


def _components_within(server: Any, depth: int = 0) -> Iterator[Any]:
    yield from server._tool_manager._tools.values()
    yield from server._prompt_manager._prompts.values()
    yield from server._resource_manager._resources.values()
    yield from server._resource_manager._templates.values()
    if depth < _MOST_MOUNTS:
        for mounted in server._mounted_servers:
            yield from _components_within(mounted.server, depth + 1)


@functools.cache
def _watch_twin(kind: type) -> type:
    class Twin(kind):  # type: ignore[misc]
        async def run(self, arguments: dict[str, Any]) -> Any:
            twin, call = self.__dict__["_failwell"], current.get()
            if call is None or twin is None:
                return await super().run(arguments)
            # Of this run: somebody's middleware may have it run again.
            call.returned = ...
            try:
                result = await twin.run(arguments)
            except Exception as exc:
                if call.returned is ... or is_teardown_failure(exc):
                    raise
                raise BrokenResult(call.returned) from exc
            mark_finished(self.name)
            return result

    return named_like(Twin, kind)


def _watch_function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of a tool, with a failure that it returns raised, and word that it has ended."""

    def finish(value: Any) -> Any:
        value = unwrapped(value)
        mark_finished(name, value)
        return value

    async def wait(value: Awaitable[Any]) -> Any:
        return finish(await value)

    @functools.wraps(function)
    def run_function(*given: Any, **options: Any) -> Any:
        value = function(*given, **options)
        return wait(value) if inspect.isawaitable(value) else finish(value)

    return run_function


def _transform_results(server: Any, boundary: Boundary) -> None:
    """The same of FastMCP 3; a server that is mounted in another has tools of its own."""
    if not any(isinstance(each, _ResultTransform) for each in server.transforms):
        server.add_transform(_ResultTransform(boundary))


class _ResultTransform(Transform):
    """Gives out tools that look at what their function returned before it is made into a result."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.checkers = Checkers()
        self._twins = Twins(self._watch)

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self._twins(await call_next(name, version=version))

    def _watch(self, tool: Any) -> Any:
        if tool is None or "_failwell" in tool.__dict__:
            return tool
        mounted = getattr(innermost(tool), "_server", None)
        if isinstance(mounted, FastMCP):
            _transform_results(mounted, self.boundary)
        # The tool of a mounted server hands a call on before its own `run`.
        kind: Any = type(tool)
        return twin_of(tool, _watch_kind(kind, "_run" if hasattr(tool, "_server") else "run"), self)


@functools.cache
def _watch_kind(kind: type, entry: str) -> type:
    from fastmcp.tools import ToolResult

    class WatchedTool(kind):  # type: ignore[misc]
        async def _note_run(self, run: Awaitable[Any]) -> Any:
            if (inner := self.__dict__["_failwell_inner"]) is not None:
                add_alias(self.name, inner)
            mine: _ResultTransform = self.__dict__["_failwell"]
            try:
                result = await run
                is_error = getattr(result, "is_error", False) is True
                # What another server promises is for that one to keep. From 3.4 the SDK does not look at all results.
                is_held = self.output_schema is not None and mine.boundary.options.validate and "fn" in self.__dict__
                is_promised = isinstance(result, ToolResult) and not is_error and current.get() is not None
                held = result.structured_content if is_held and is_promised else None
                if is_held and is_promised and not mine.checkers(self.output_schema).fits(held):
                    raise BrokenResult(data_in(held))
            except BaseException as exc:
                run_raised(self.name, exc)
                raise
            if is_error:
                record_returned_error(self.name, result)
            elif isinstance(result, ToolResult):
                mark_finished(self.name)
            return result

        def convert_result(self, raw_value: Any) -> Any:
            if current.get() is None:
                return super().convert_result(raw_value)
            value = unwrapped(raw_value)
            mark_finished(self.name)
            return convert_result(super().convert_result, value)

    run = getattr(kind, entry)
    setattr(WatchedTool, entry, lambda self, *given, **options: self._note_run(run(self, *given, **options)))
    return named_like(WatchedTool, kind)
