"""Version 2 of the SDK: `mcp.server.MCPServer`, and the low-level `Server`.

Handlers of the low-level Server are wrapped where the runner looks them up. The methods of an MCPServer are wrapped on
the instance, where exceptions are still exceptions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from types import CodeType
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import HandlerEntry, Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, UnexpectedToolError
from mcp.server.mcpserver.exceptions import ToolError as DeliberateError
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from failwell.model import ToolError, frames
from failwell.observe import UNKNOWN
from failwell.readers import code_of, extras_policy
from failwell.schema import has_names, unknown_names
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import publish_declared
from failwell.server.replies import report_unknown_arguments
from failwell.server.served_call import (
    EXTENSION,
    FailedCall,
    MiddlewareFrame,
    ServedCall,
    ToolInfo,
    connection_of,
    current,
    group_of,
    is_within,
    middleware_frame,
    reraise_control_flow,
)
from failwell.server.wrong_requests import missing_arguments, no_such

from .shared import (
    CheckedTool,
    Listings,
    all_problems,
    cause_of,
    could_mean_unknown,
    list_only_data,
    look_at_results,
    settings,
    taken_by,
)
from .wrong_messages import check_posts, check_streams

Handler = Callable[[Any, Any], Awaitable[Any]]
Wrapper = Callable[[Handler], Handler]
_MOST_PAGES: Final = 100
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
# What the runner itself says about a request.
_RUNNERS: Final = frozenset({-32700, -32600, -32601, -32602, -32603})


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

    def wrapper(place: str, named: Callable[[Any], str]) -> Wrapper:
        def wrap(handler: Handler) -> Handler:
            async def guarded(ctx: Any, params: Any) -> Any:
                try:
                    return await handler(ctx, params)
                except BaseException as exc:
                    failed = reraise_control_flow(exc)
                what = named(params)
                raise boundary.request_error(failed, what, {place: what}, ctx)

            return guarded

        return wrap

    return {
        "resources/read": wrapper("uri", lambda params: str(params.uri)),
        "prompts/get": wrapper("name", lambda params: params.name),
        "completion/complete": wrapper("argument", lambda params: params.argument.name),
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

    async def failwell_middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answers for other middleware: what it raises about a call, before the tool or after it, the model should
        know."""
        calls = ctx.method == "tools/call"
        frame = MiddlewareFrame(ctx)
        token = middleware_frame.set(frame)
        try:
            result = await call_next(ctx)
            if ctx.method == "initialize":
                # The SDK takes the extension out for that era. FastMCP gives the object, the SDK its JSON.
                greeting: Any = result
                if isinstance(result, BaseModel):
                    greeting = result = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                capabilities = greeting.setdefault("capabilities", {})
                for place in ("experimental", "extensions"):
                    capabilities.setdefault(place, {})[EXTENSION] = settings(boundary)
            return result
        except ValidationError as exc:
            # The request itself is malformed.
            raise boundary.wrong.invalid_params(exc, ctx.method, ctx.params, ctx.request_id) from None
        except MCPError as exc:
            if exc is frame.raised:
                # It has been answered so, and written down.
                raise
            # What the runner says about a request is the protocol's business, and so is a failure that the options send
            # as a protocol error; any other number is somebody's own.
            is_contract = isinstance(exc.data, dict) and "mcp_error_code" in exc.data
            is_protocol = exc.code in _RUNNERS or boundary.is_protocol(exc, ctx.protocol_version)
            if tool_info is None or (frame.is_of_tool(exc) and (is_protocol or is_contract or not calls)):
                refused = boundary.redact_protocol_error(exc)
                completed = boundary.wrong.complete_error(refused.error, ctx.method, ctx.request_id)
                raise (refused if completed is None else MCPError.from_error_data(completed)) from None
            failed: BaseException = exc
        except BaseException as exc:
            if tool_info is None:
                raise
            failed = reraise_control_flow(exc)
        finally:
            middleware_frame.reset(token)
        if not calls:
            raise boundary.request_error(failed, ctx.method, {}, ctx)
        params = ctx.params or {}
        tool = tool_info(str(params.get("name", "")))
        arguments = params.get("arguments")
        call = ServedCall(tool.name, arguments if isinstance(arguments, dict) else {}, ctx)
        answer = await boundary.answer_around(call, failed, tool, frame.marks)
        wire = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        if call.era in MODERN_PROTOCOL_VERSIONS:
            # It goes out without passing the runner, which would have added this.
            wire |= {
                "resultType": "complete",
                "_meta": {**wire.get("_meta", {}), SERVER_INFO: server.server_info_stamp},
            }
        return wire

    middleware: list[Any] = server.middleware
    # Inside telemetry, so that the span sees the answer; outside everybody else.
    outer = bool(middleware) and type(middleware[0]).__name__ == "OpenTelemetryMiddleware"
    middleware.insert(1 if outer else 0, failwell_middleware)


def path_of(app: Any, options: Any) -> str:
    return str(options.get("streamable_http_path", "/mcp"))


def install_lowlevel(server: Server[Any], boundary: Boundary) -> None:
    tools = _ListedTools(server, boundary)

    async def listed() -> list[ToolInfo]:
        call = current.get()
        return tools.listings.all(None if call is None else connection_of(call.request))

    def facts(name: str) -> ToolInfo:
        known = tools.listings.find(None, name)
        return known.facts if known is not None else ToolInfo(name)

    boundary.list_tools = listed
    wrappers = {**requests(boundary), "tools/call": tools.call, "tools/list": tools.listing}
    install_on(server, boundary, wrappers, facts)
    check_posts(server, "streamable_http_app", boundary, path_of)


class _ListedTools:
    """What a low-level server lists, and the calls that are held against it."""

    def __init__(self, server: Server[Any], boundary: Boundary) -> None:
        self._server = server
        self.boundary = boundary
        self.listings = Listings(boundary)

    def call(self, handler: Handler) -> Handler:
        boundary = self.boundary

        def guarded(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> Awaitable[Any]:
            if is_within(ctx):
                return handler(ctx, params)
            call = ServedCall(params.name, params.arguments or {}, ctx)
            made = _ListedCall(self, handler, call, params)
            return boundary.handle(call, made) if made.tool is not None else looked_up(call, made)

        async def looked_up(call: ServedCall, made: _ListedCall) -> Any:
            await self.list_anew(call.request)
            if made.tool is None:
                call.counted = UNKNOWN
            return await boundary.handle(call, made)

        return guarded

    def listing(self, handler: Handler) -> Handler:
        """Sees what the client is shown, so that calls are held against the same."""

        async def observed(ctx: Any, params: Any) -> Any:
            result = await handler(ctx, params)
            is_more = getattr(params, "cursor", None) is not None
            self.listings.remember(connection_of(ctx), getattr(result, "tools", None) or (), is_more=is_more)
            return result

        return observed

    async def list_anew(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        """Whether the tools were listed anew."""
        entry = self._server.get_request_handler("tools/list")
        if entry is None:
            return False
        handler = entry.handler

        async def show() -> None:
            cursor: str | None = None
            for _ in range(_MOST_PAGES):
                params = PaginatedRequestParams(cursor=cursor)
                result = await handler(replace(ctx, method="tools/list", params=None), params)
                cursor = getattr(result, "next_cursor", None)
                if not cursor:
                    break

        return await self.listings.renew(connection_of(ctx), show)


class _ListedCall(FrameworkCall):
    """A call of a tool that a low-level server lists, or does not."""

    __slots__ = ("_call", "_handler", "_params", "_tools")

    def __init__(self, tools: _ListedTools, handler: Handler, call: ServedCall, params: CallToolRequestParams) -> None:
        self._tools = tools
        self._handler = handler
        self._call = call
        self._params = params

    @property
    def tool(self) -> CheckedTool | None:
        """The tool as whoever calls it was shown it."""
        return self._tools.listings.find(connection_of(self._call.request), self._call.tool)

    async def _send(self, arguments: dict[str, Any]) -> Any:
        params = self._params
        asked = params if arguments is params.arguments else params.model_copy(update={"arguments": arguments})
        return await self._handler(self._call.request, asked)

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        call, tools = self._call, self._tools
        list_anew = partial(tools.list_anew, call.request)
        return tools.listings.call(connection_of(call.request), call, arguments, self._send, list_anew)

    async def facts(self) -> ToolInfo:
        tool = self.tool
        return tool.facts if tool is not None else ToolInfo(self._call.tool)

    async def read(self, raised: BaseException) -> FailedCall:
        call, boundary = self._call, self._tools.boundary
        if self.tool is None and could_mean_unknown(raised):
            known = self._tools.listings.all(connection_of(call.request))
            if known:
                return boundary.no_such_tool(call, [each.name for each in known], raised)
        call.counted = call.tool
        return boundary.read(raised, await self.facts(), call.arguments, era=call.era)


def install_mcpserver(server: MCPServer[Any], boundary: Boundary) -> None:
    manager = server._tool_manager

    def facts(name: str, arguments: Mapping[str, Any] | None = None) -> ToolInfo:
        tool = manager.get_tool(name)
        return ToolInfo(name) if tool is None else ToolInfo.of_tool(name, tool, arguments)

    async def listed() -> list[ToolInfo]:
        return [facts(tool.name) for tool in manager.list_tools()]

    async def function(name: str) -> Any:
        return getattr(manager.get_tool(name), "fn", None)

    boundary.list_tools = listed
    wrappers = {**requests(boundary), "tools/list": publish_declared(function)}
    # The server's own methods turn exceptions into what a client is to see; the handlers are wrapped for the rest.
    install_on(server._lowlevel_server, boundary, wrappers, facts)
    check_posts(server._lowlevel_server, "streamable_http_app", boundary, path_of)
    list_only_data(manager, func_metadata)
    server.call_tool = _call_tool(server, boundary)  # type: ignore[method-assign]
    server.read_resource = _read_resource(server, boundary)  # type: ignore[method-assign]
    server.get_prompt = _get_prompt(server, boundary)  # type: ignore[method-assign]


def _call_tool(server: MCPServer[Any], boundary: Boundary) -> Callable[..., Coroutine[Any, Any, Any]]:
    original, find = server.call_tool, server._tool_manager.get_tool

    def call_tool(name: str, arguments: dict[str, Any], context: Any = None) -> Coroutine[Any, Any, Any]:
        # Called from Python, or by another tool: there the SDK's own exceptions are the contract.
        if context is None or is_within(request := _request_of(context)):
            return original(name, arguments, context)
        call = ServedCall(name, arguments, request)
        if not call.is_clients:
            return original(name, arguments, context)
        tool = find(name)
        if tool is not None:
            look_at_results(tool, FuncMetadata)
        return boundary.handle(call, _FunctionCall(server, boundary, original, call, tool, context))

    return call_tool


def _request_of(context: Any) -> Any:
    """The request of a context. Its property asks for it twice, and each time pydantic looks for it in Python."""
    held = getattr(context, "__pydantic_private__", None) or {}
    return held.get("_request_context") or context.request_context


class _NoSuchTool(Exception):
    """The server has no tool of that name."""


class _FunctionCall(FrameworkCall):
    """A call of a function that is a tool."""

    __slots__ = ("_boundary", "_call", "_context", "_original", "_server", "_tool")

    def __init__(
        self,
        server: MCPServer[Any],
        boundary: Boundary,
        original: Callable[..., Coroutine[Any, Any, Any]],
        call: ServedCall,
        tool: Any,
        context: Any,
    ) -> None:
        self._server = server
        self._boundary = boundary
        self._original = original
        self._call = call
        self._tool = tool
        self._context = context

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        tool = self._tool
        if tool is None:
            raise _NoSuchTool
        # A group looks at its arguments itself, once it knows the action.
        if has_names(arguments, tool.parameters) or group_of(tool.fn) is not None:
            return self._original(self._call.tool, arguments, self._context)
        return self._run_without_unknown(arguments)

    async def _run_without_unknown(self, arguments: dict[str, Any]) -> Any:
        tool, boundary, call = self._tool, self._boundary, self._call
        if has_names(arguments, schema := taken_by(tool)):
            return await self._original(call.tool, arguments, self._context)
        facts = ToolInfo.of_tool(call.tool, tool)
        extra = extras_policy(boundary.options.extra, arguments, schema, boundary.reader.effects.nature(facts))
        if extra == "reject":
            raise all_problems(tool, arguments)
        result = await self._original(call.tool, arguments, self._context)
        report_unknown_arguments(call, unknown_names(arguments, schema))
        return result

    async def facts(self) -> ToolInfo:
        call, tool = self._call, self._tool
        return ToolInfo(call.tool) if tool is None else ToolInfo.of_tool(call.tool, tool, call.arguments)

    async def read(self, raised: BaseException) -> FailedCall:
        call, boundary, tool = self._call, self._boundary, self._tool
        if isinstance(raised, _NoSuchTool):
            return boundary.no_such_tool(call, [each.name for each in self._server._tool_manager.list_tools()])
        cause, rejected, nested = _unwrap(raised, code_of(tool.fn))
        return boundary.read(cause, await self.facts(), call.arguments, era=call.era, rejected=rejected, nested=nested)


def _unwrap(exc: BaseException, code: CodeType | None) -> tuple[BaseException, bool, bool]:
    """What the tool raised, whether it was the arguments of this very call that were rejected, and whether it is the
    failure of another tool, which this one has called."""
    rejected = nested = False
    while isinstance(exc, DeliberateError) and exc.__cause__ is not None:
        is_crash = isinstance(exc, UnexpectedToolError)
        if not is_crash and not str(exc).startswith("Error executing tool "):
            break
        # Another tool, called by this one, fails after this one has begun.
        nested = nested or any(trace.tb_frame.f_code is code for trace in frames(exc))
        rejected = not is_crash and isinstance(exc.__cause__, ValidationError) and not nested
        exc = exc.__cause__
    return exc, rejected, nested


def _read_resource(server: MCPServer[Any], boundary: Boundary) -> Callable[..., Any]:
    original = server.read_resource

    async def read_resource(uri: Any, context: Any = None) -> Any:
        if context is None or is_within(context.request_context):
            return await original(uri, context)
        what = str(uri)
        try:
            return await original(uri, context)
        except ResourceNotFoundError:
            uris = [str(each.uri) for each in server._resource_manager.list_resources()]
            failed: BaseException = no_such("resource", what, uris)
        except BaseException as exc:
            failed = cause_of(reraise_control_flow(exc))
        raise boundary.request_error(failed, what, {"uri": what}, context.request_context)

    return read_resource


def _get_prompt(server: MCPServer[Any], boundary: Boundary) -> Callable[..., Any]:
    original, manager = server.get_prompt, server._prompt_manager

    async def get_prompt(name: str, arguments: Any = None, context: Any = None) -> Any:
        if context is None or is_within(context.request_context):
            return await original(name, arguments, context)
        prompt = manager.get_prompt(name)
        problem: ToolError | None
        if prompt is None:
            problem = no_such("prompt", name, [each.name for each in manager.list_prompts()])
        else:
            problem = missing_arguments(prompt, arguments)
        try:
            if problem is not None:
                raise problem
            return await original(name, arguments, context)
        except BaseException as exc:
            # The SDK gives every exception here the same class; the cause is what happened.
            failed = cause_of(reraise_control_flow(exc))
        raise boundary.request_error(failed, name, {"name": name}, context.request_context)

    return get_prompt
