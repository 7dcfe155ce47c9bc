"""FastMCP 3, which is built on version 1 of the SDK."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.server.transforms import Transform
from fastmcp.tools import ToolResult

from failwell.model import ToolError, unwrapped
from failwell.schema import Checkers
from failwell.server.absent import missing_arguments
from failwell.server.boundary import Boundary
from failwell.server.facts import BrokenResult
from failwell.server.served_call import current, tool_ended

from .fastmcp2 import FastMCPTools, check_posts
from .raised import is_check_of_arguments
from .sdk1 import Named, data_in, install_on, run_raised


def install(server: Any, boundary: Boundary) -> None:
    _refuse_foreign(server)

    async def uris() -> list[str]:
        return [str(each.uri) for each in await server.list_resources(run_middleware=False)]

    async def names() -> list[str]:
        return [each.name for each in await server.list_prompts(run_middleware=False)]

    async def check(params: Any) -> ToolError | None:
        prompt = await server.get_prompt(params.name)
        return None if prompt is None else missing_arguments(prompt, params.arguments)

    boundary.masks = server._mask_error_details
    tools = _Tools(server, boundary)
    prompts = Named("prompt", names, check)
    install_on(server._mcp_server, boundary, tools, resources=Named("resource", uris), prompts=prompts)
    _look_at_results(server, boundary)
    check_posts(server, boundary)


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


_MOST_TOOLS: Final = 1_000


class _Returned(Transform):
    """Gives out tools that look at what their function returned before it is made into a result."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.checkers = Checkers()
        self._made: dict[int, tuple[Any, Any]] = {}

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        tool = await call_next(name, version=version)
        known = self._made.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        mounted = getattr(tool, "_server", None)
        if isinstance(mounted, FastMCP):
            _look_at_results(mounted, self.boundary)
        if not hasattr(tool, "fn") or "_failwell" in tool.__dict__:
            return tool
        copy = tool.__copy__()
        kind: type = type(tool)
        object.__setattr__(copy, "__class__", _looking(kind))
        copy.__dict__["_failwell"] = self
        if len(self._made) >= _MOST_TOOLS:
            self._made.clear()
        # The tool is kept with its copy, so that nothing else can have its id.
        self._made[id(tool)] = (tool, copy)
        return copy


@cache
def _looking(kind: type) -> type:
    class Looking(kind):  # type: ignore[misc]
        async def run(self, arguments: dict[str, Any]) -> Any:
            try:
                result = await super().run(arguments)
                self._check(result)
                return result
            except BaseException as exc:
                if not is_check_of_arguments(exc):
                    run_raised(self.name, exc)
                raise

        def _check(self, result: Any) -> None:
            mine: _Returned = self.__dict__["_failwell"]
            if current.get() is None or self.output_schema is None or not mine.boundary.options.validate:
                return
            is_promised = isinstance(result, ToolResult) and getattr(result, "is_error", False) is not True
            # From 3.4 the SDK does not look at all of them any more.
            if is_promised and not mine.checkers(self.output_schema).fits(held := result.structured_content):
                raise BrokenResult(data_in(held))

        def convert_result(self, raw_value: Any) -> Any:
            if current.get() is None:
                return super().convert_result(raw_value)
            value = unwrapped(raw_value)
            tool_ended(self.name)
            try:
                return super().convert_result(value)
            except Exception as exc:
                # The tool has done its work by now.
                raise BrokenResult(value) from exc

    Looking.__name__, Looking.__qualname__, Looking.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Looking
