"""Version 2 of the SDK: `mcp.server.MCPServer`, and the low-level `Server`.

Handlers of the low-level Server are wrapped where the runner looks them up. The methods of an MCPServer are wrapped on
the instance, where exceptions are still exceptions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import HandlerEntry, Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as DeliberateError
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp_types import CallToolRequestParams, PaginatedRequestParams

from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary
from failwell.server.declared_failures import publish_declared
from failwell.server.served_call import (
    EXTENSION,
    ServedCall,
    ToolInfo,
    connection_of,
    is_within,
)
from failwell.server.wrong_requests import missing_arguments

from .shared import answer_request, settings
from .tool_calls import FunctionTools, ListedTools, ToolCall, list_only_data
from .wrong_messages import add_middleware, check_posts, check_streams

Handler = Callable[[Any, Any], Awaitable[Any]]
Wrapper = Callable[[Handler], Handler]
_MOST_PAGES: Final = 100


def wrap_handlers(server: Server[Any], wrappers: Mapping[str, Wrapper]) -> None:
    """Wrap handlers at look-up, so that it does not matter when they are registered."""
    look_up = server.get_request_handler
    made: dict[str, tuple[HandlerEntry[Any], HandlerEntry[Any]]] = {}

    def get_request_handler(method: str) -> HandlerEntry[Any] | None:
        entry = look_up(method)
        if entry is None or method not in wrappers:
            return entry
        known = made.get(method)
        if known is None or known[0] is not entry:
            known = made[method] = (entry, HandlerEntry(entry.params_type, wrappers[method](entry.handler)))
        return known[1]

    server.get_request_handler = get_request_handler  # type: ignore[method-assign]


def requests(boundary: Boundary) -> dict[str, Wrapper]:
    """Wrappers for the requests that have no result to put a failure in."""

    def wrapper(kind: str, named: Callable[[Any], str]) -> Wrapper:
        def wrap(handler: Handler) -> Handler:
            def answer(ctx: Any, params: Any) -> Awaitable[Any]:
                return answer_request(boundary, kind, named(params), ctx, lambda: handler(ctx, params))

            return answer

        return wrap

    return {
        "resources/read": wrapper("resource", lambda params: str(params.uri)),
        "prompts/get": wrapper("prompt", lambda params: params.name),
        "completion/complete": wrapper("completion", lambda params: params.argument.name),
    }


def install_on(
    server: Server[Any],
    boundary: Boundary,
    wrappers: Mapping[str, Wrapper],
    tool_info: Callable[[str], ToolInfo] | None = None,
) -> None:
    """Put the boundary on a low-level server of 2.x. Without `tool_info` a framework on top of it answers for whatever
    fails, and only the words of the protocol are completed here."""
    server.extensions.setdefault(EXTENSION, settings(boundary))
    wrap_handlers(server, wrappers)
    check_streams(server, boundary)

    add_middleware(server, boundary, tool_info)


def path_of(app: Any, options: Any) -> str:
    return str(options.get("streamable_http_path", "/mcp"))


def install_lowlevel(server: Server[Any], boundary: Boundary) -> None:
    async def show(ctx: ServerRequestContext[Any, Any]) -> None:
        entry, cursor = server.get_request_handler("tools/list"), None
        for _ in range(_MOST_PAGES if entry is not None else 0):
            params = PaginatedRequestParams(cursor=cursor)
            result = await entry.handler(replace(ctx, method="tools/list", params=None), params)  # type: ignore[union-attr]
            if not (cursor := getattr(result, "next_cursor", None)):
                break

    tools = ListedTools(server, boundary, show)

    def calling(handler: Handler) -> Handler:
        def answer(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> Awaitable[Any]:
            def send(arguments: dict[str, Any]) -> Awaitable[Any]:
                is_same = arguments is params.arguments
                return handler(ctx, params if is_same else params.model_copy(update={"arguments": arguments}))

            if is_within(ctx):
                return handler(ctx, params)
            call = ServedCall(params.name, params.arguments or {}, ctx)
            return boundary.handle(call, ToolCall(tools, call, send))

        return answer

    def listing(handler: Handler) -> Handler:
        """Sees what the client is shown, so that calls are held against the same."""

        async def observe(ctx: Any, params: Any) -> Any:
            result = await handler(ctx, params)
            is_more = getattr(params, "cursor", None) is not None
            tools.remember(connection_of(ctx), getattr(result, "tools", None) or (), is_more=is_more)
            return result

        return observe

    boundary.list_tools = tools.all
    install_on(server, boundary, {**requests(boundary), "tools/call": calling, "tools/list": listing}, tools.get)
    check_posts(server, "streamable_http_app", boundary, path_of)


class _FunctionTools(FunctionTools):
    kind = FuncMetadata
    errors = (DeliberateError, UnexpectedToolError)

    def get(self, name: str) -> ToolInfo:
        tool = self.server._tool_manager.get_tool(name)
        return ToolInfo(name) if tool is None else ToolInfo.of_tool(name, tool)


def install_mcpserver(server: MCPServer[Any], boundary: Boundary) -> None:
    """The server's own methods turn exceptions into what a client is to see: they are wrapped on the instance."""
    manager, tools = server._tool_manager, _FunctionTools(server, boundary)

    async def function(name: str) -> Any:
        return getattr(manager.get_tool(name), "fn", None)

    boundary.list_tools = tools.all
    install_on(
        server._lowlevel_server, boundary, {**requests(boundary), "tools/list": publish_declared(function)}, tools.get
    )
    check_posts(server._lowlevel_server, "streamable_http_app", boundary, path_of)
    list_only_data(manager, func_metadata)
    call, read, prompt = server.call_tool, server.read_resource, server.get_prompt

    def call_tool(name: str, arguments: dict[str, Any], context: Any = None) -> Awaitable[Any]:
        # Called from Python, or by another tool: there the SDK's own exceptions are the contract.
        if context is None or is_within(request := _request_of(context)):
            return call(name, arguments, context)
        served = ServedCall(name, arguments, request)
        if not served.is_clients:
            return call(name, arguments, context)
        return boundary.handle(served, ToolCall(tools, served, partial(call, name, context=context)))

    def read_resource(uri: Any, context: Any = None) -> Awaitable[Any]:
        def uris() -> list[Any]:
            return [each.uri for each in server._resource_manager.list_resources()]

        if context is None or is_within(request := _request_of(context)):
            return read(uri, context)
        return answer_request(boundary, "resource", str(uri), request, lambda: read(uri, context), names=uris)

    def get_prompt(name: str, arguments: Any = None, context: Any = None) -> Awaitable[Any]:
        def names() -> list[str]:
            return [each.name for each in server._prompt_manager.list_prompts()]

        async def render() -> Any:
            known = server._prompt_manager.get_prompt(name)
            if known is not None and (problem := missing_arguments(known, arguments)):
                raise problem
            return await prompt(name, arguments, context)

        if context is None or is_within(request := _request_of(context)):
            return prompt(name, arguments, context)
        return answer_request(boundary, "prompt", name, request, render, names=names)

    server.call_tool = call_tool  # type: ignore[assignment]
    server.read_resource = read_resource  # type: ignore[assignment]
    server.get_prompt = get_prompt  # type: ignore[assignment]


def _request_of(context: Any) -> Any:
    """The request of a context. Its property asks for it twice, and each time pydantic looks for it in Python."""
    held = getattr(context, "__pydantic_private__", None) or {}
    return held.get("_request_context") or context.request_context
