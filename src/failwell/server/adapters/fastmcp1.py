"""`mcp.server.fastmcp.FastMCP`, which is what MCPServer was called in version 1 of the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.fastmcp.utilities.func_metadata import FuncMetadata  # type: ignore[import-not-found]

from failwell.model import ToolError, unwrapped
from failwell.readers import fate
from failwell.schema import has_names, unknown_names
from failwell.server.absent import missing_arguments, no_such
from failwell.server.boundary import Boundary
from failwell.server.extras import note
from failwell.server.served_call import BrokenResult, Facts, ServedCall, current, has_ended, tool_ended

from .func_results import all_problems, look_at_results, taken_by
from .raised import is_check_of_arguments
from .sdk1 import FrameworkTools, Named, install_on
from .wrong_messages import CheckedPosts


def install(server: Any, boundary: Boundary) -> None:
    async def uris() -> list[str]:
        return [str(each.uri) for each in server._resource_manager.list_resources()]

    async def check(params: Any) -> ToolError | None:
        prompt = server._prompt_manager.get_prompt(params.name)
        if prompt is None:
            return no_such("prompt", params.name, [each.name for each in server._prompt_manager.list_prompts()])
        return missing_arguments(prompt, params.arguments)

    install_on(
        server._mcp_server,
        boundary,
        _Tools(server, boundary),
        resources=Named("resource", uris),
        prompts=Named("prompt", check=check),
    )
    _look_at_results(server)
    _check_posts(server, boundary)


class _Tools(FrameworkTools):
    async def facts(self, name: str, arguments: Mapping[str, Any] | None = None) -> Facts | None:
        return self._facts(name)

    def _facts(self, name: str) -> Facts | None:
        tool = self.server._tool_manager.get_tool(name)
        return None if tool is None else Facts.of_tool(name, tool)

    async def all(self) -> list[Facts]:
        found = [self._facts(tool.name) for tool in self.server._tool_manager.list_tools()]
        return [facts for facts in found if facts is not None]

    def rejected(self, raised: BaseException) -> bool:
        return is_check_of_arguments(raised)

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Any:
        try:
            return await self._run(call, arguments, send)
        except Exception as exc:
            # Nothing of an author's stands between the end of a tool and what is made of its result.
            if not has_ended(call.tool):
                raise
            raise BrokenResult(call.returned) from exc

    async def _run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Any:
        tool = self.server._tool_manager.get_tool(call.tool)
        if tool is None:
            return await send(arguments)
        if _CONVERTS:
            look_at_results(tool, FuncMetadata)
        if has_names(arguments, tool.parameters) or has_names(arguments, schema := taken_by(tool)):
            return await send(arguments)
        facts = Facts.of_tool(call.tool, tool)
        nature = self.boundary.reader.effects.nature(facts)
        extra = fate(self.boundary.options.extra, arguments, schema, nature)
        if extra == "reject":
            raise all_problems(tool, arguments)
        result = await send(arguments)
        note(call, unknown_names(arguments, schema), facts, extra)
        return result


# Before 1.10 results were made elsewhere.
_CONVERTS = hasattr(FuncMetadata, "convert_result")


def _look_at_results(server: Any) -> None:
    if _CONVERTS:
        return
    original = server._tool_manager.call_tool

    async def call_tool(name: str, *given: Any, **options: Any) -> Any:
        result = await original(name, *given, **options)
        if current.get() is None:
            return result
        result = unwrapped(result)
        tool_ended(name)
        return result

    server._tool_manager.call_tool = call_tool


def _check_posts(server: Any, boundary: Boundary) -> None:
    """Have what is posted and is no request answered."""
    original = server.streamable_http_app

    def streamable_http_app(*given: Any, **options: Any) -> Any:
        app = original(*given, **options)
        manager = server.session_manager
        if not isinstance(getattr(manager.handle_request, "__self__", None), CheckedPosts):
            manager.handle_request = CheckedPosts(manager.handle_request, boundary).__call__
        return app

    server.streamable_http_app = streamable_http_app
