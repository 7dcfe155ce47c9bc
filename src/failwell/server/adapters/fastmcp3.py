"""FastMCP 3, which is built on version 1 of the SDK."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import cache, partial
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.transforms import Transform
from fastmcp.tools import ToolResult

from failwell.model import ToolError, unwrapped
from failwell.schema import Checkers
from failwell.server.boundary import Boundary
from failwell.server.replies import convert_result
from failwell.server.served_call import (
    BrokenResult,
    add_alias,
    current,
    innermost,
    mark_finished,
    record_returned_error,
)
from failwell.server.wrong_requests import missing_arguments

from .background import as_failure, guard_tasks
from .fastmcp2 import FastMCPTools
from .mcp1 import LATEST, data_in, install_on, run_raised
from .shared import Twins, named_like, twin_of
from .wrong_messages import check_posts, path_of_fastmcp


def install(server: Any, boundary: Boundary) -> None:
    _refuse_foreign(server)

    async def check(params: Any) -> ToolError | None:
        prompt = await server.get_prompt(params.name)
        return None if prompt is None else missing_arguments(prompt, params.arguments)

    boundary.reader.masks = server._mask_error_details
    tools = _Tools(server, boundary)
    names = {
        "uris": partial(_named, server.list_resources, "uri"),
        "prompts": partial(_named, server.list_prompts, "name"),
    }
    install_on(server._mcp_server, boundary, tools, **names, check_prompt=check)
    _look_at_results(server, boundary)
    guard_tasks(server, boundary, as_failure, LATEST)
    check_posts(server, "http_app", boundary, path_of_fastmcp)


async def _named(listing: Any, field: str) -> list[Any]:
    return [getattr(each, field) for each in await listing(run_middleware=False)]


def _look_at_results(server: Any, boundary: Boundary) -> None:
    """Have what the tools of a server return looked at; a server that is mounted in it has tools of its own."""
    if not any(isinstance(each, _Returned) for each in server.transforms):
        server.add_transform(_Returned(boundary))


def _refuse_foreign(server: Any) -> None:
    """FastMCP mounts whatever it is given, and breaks when somebody asks for it."""
    for provider in server.providers:
        mounted = getattr(getattr(provider, "_inner", provider), "server", None)
        if mounted is not None and not isinstance(mounted, FastMCP):
            kind = f"{type(mounted).__module__.partition('.')[0]}'s {type(mounted).__name__}"
            raise TypeError(
                f"install() takes a FastMCP with servers of its own kind mounted in it, and {kind} is mounted in this "
                "one; mount a fastmcp.FastMCP, or a proxy of the other (fastmcp.server.create_proxy)."
            )


class _Tools(FastMCPTools):
    async def listed(self) -> list[tuple[str, Any]]:
        return [(tool.name, tool) for tool in await self.server.list_tools(run_middleware=False)]

    def _is_enabled(self, tool: Any) -> bool:
        # What is switched off is not given out.
        return tool is not None


class _Returned(Transform):
    """Gives out tools that look at what their function returned before it is made into a result."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.checkers = Checkers()
        self._twins = Twins(self._looked_at)

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self._twins(await call_next(name, version=version))

    def _looked_at(self, tool: Any) -> Any:
        if tool is None or "_failwell" in tool.__dict__:
            return tool
        mounted = getattr(innermost(tool), "_server", None)
        if isinstance(mounted, FastMCP):
            _look_at_results(mounted, self.boundary)
        kind: type = type(tool)
        return twin_of(tool, _handing_on(kind) if hasattr(tool, "_server") else _looking(kind), self)


@cache
def _looking(kind: type) -> type:
    class Looking(kind):  # type: ignore[misc]
        def run(self, arguments: dict[str, Any], *given: Any, **options: Any) -> Any:
            return self._noted(super().run(arguments, *given, **options))

        async def _noted(self, run: Awaitable[Any]) -> Any:
            if (inner := self.__dict__["_failwell_inner"]) is not None:
                add_alias(self.name, inner)
            try:
                result = await run
                self._check(result)
            except BaseException as exc:
                run_raised(self.name, exc)
                raise
            if getattr(result, "is_error", False) is True:
                record_returned_error(self.name, result)
            elif isinstance(result, ToolResult):
                mark_finished(self.name)
            return result

        def _check(self, result: Any) -> None:
            mine: _Returned = self.__dict__["_failwell"]
            is_held = self.output_schema is not None and mine.boundary.options.validate
            # What another server promises is for that one to keep.
            if not is_held or "fn" not in self.__dict__ or current.get() is None:
                return
            is_promised = isinstance(result, ToolResult) and getattr(result, "is_error", False) is not True
            # From 3.4 the SDK does not look at all of them any more.
            if is_promised and not mine.checkers(self.output_schema).fits(held := result.structured_content):
                raise BrokenResult(data_in(held))

        def convert_result(self, raw_value: Any) -> Any:
            if current.get() is None:
                return super().convert_result(raw_value)
            value = unwrapped(raw_value)
            mark_finished(self.name)
            return convert_result(super().convert_result, value)

    return named_like(Looking, kind)


@cache
def _handing_on(kind: type) -> type:
    """The same of the tool of a mounted server, which hands a call on before its own `run`."""

    class HandingOn(_looking(kind)):  # type: ignore[misc]
        def _run(self, arguments: dict[str, Any], *given: Any, **options: Any) -> Any:
            return self._noted(super()._run(arguments, *given, **options))

    return named_like(HandingOn, kind)
