"""The low-level `mcp` Server: every handler is wrapped where the runner looks it up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import HandlerEntry, Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from failwell.model import unwrapped
from failwell.observe import UNKNOWN
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.served_call import (
    EXTENSION,
    Facts,
    Failed,
    Passage,
    ServedCall,
    connection_of,
    current,
    is_within,
    passage,
    taken,
)

from .shared import CheckedTool, Listings, could_mean_unknown, judged, settings
from .wrong_messages import CheckedPosts, check_streams

Handler = Callable[[Any, Any], Awaitable[Any]]
_MOST_PAGES: Final = 100
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"


def install(server: Server[Any], boundary: Boundary) -> None:
    tools = ServedTools(server, boundary)

    async def listed() -> list[Facts]:
        return tools.all()

    boundary.listed = listed
    server.extensions.setdefault(EXTENSION, settings(boundary))
    wrap_handlers(server, {"tools/call": tools.call, "tools/list": tools.listing, **requests(boundary)})
    add_middleware(server, boundary, tools.facts)
    check_messages(server, boundary)


def check_messages(server: Server[Any], boundary: Boundary) -> None:
    """Have what is no request answered, on streams and over HTTP."""
    check_streams(server, boundary)
    original = server.streamable_http_app

    def streamable_http_app(**options: Any) -> Any:
        app = original(**options)
        manager = server.session_manager
        manager.asgi_app = CheckedPosts(manager.asgi_app, boundary)  # type: ignore[assignment]
        return app

    server.streamable_http_app = streamable_http_app  # type: ignore[method-assign]


Wrapper = Callable[[Handler], Handler]


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

    def wrapper(about: Callable[[Any], tuple[str, dict[str, Any]]]) -> Wrapper:
        def wrap(handler: Handler) -> Handler:
            async def guarded(ctx: Any, params: Any) -> Any:
                try:
                    return await handler(ctx, params)
                except BaseException as exc:
                    failed = taken(exc)
                raise boundary.request_error(failed, *about(params), ctx)

            return guarded

        return wrap

    return {
        "resources/read": wrapper(lambda params: (str(params.uri), {"uri": str(params.uri)})),
        "prompts/get": wrapper(lambda params: (params.name, {"name": params.name})),
        "completion/complete": wrapper(lambda params: (params.argument.name, {"argument": params.argument.name})),
    }


def advertised(result: Any, boundary: Boundary) -> Any:
    """The answer to a handshake with the extension put back, which the SDK takes out for that era."""
    if isinstance(result, dict):
        capabilities = result.setdefault("capabilities", {})
        for place in ("experimental", "extensions"):
            capabilities.setdefault(place, {})[EXTENSION] = settings(boundary)
    return result


class ServedTools:
    """What a low-level server lists, and the calls that are held against it."""

    def __init__(self, server: Server[Any], boundary: Boundary) -> None:
        self._server = server
        self.boundary = boundary
        self._listings = Listings(boundary)

    def facts(self, name: str) -> Facts:
        known = self._listings.find(None, name)
        return known.facts if known is not None else Facts(name)

    def all(self) -> list[Facts]:
        call = current.get()
        return self._listings.all(None if call is None else connection_of(call.request))

    def call(self, handler: Handler) -> Handler:
        boundary = self.boundary
        skip = frozenset(boundary.options.skip)

        def guarded(ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> Awaitable[Any]:
            name = params.name
            if name in skip or is_within(ctx):
                return handler(ctx, params)
            call = ServedCall(name, params.arguments or {}, ctx)
            known = self.known(ctx, name)
            if known is None:
                return looked_up(call, params)
            return boundary.handle(call, _LowlevelCall(self, handler, call, params, known))

        async def looked_up(call: ServedCall, params: CallToolRequestParams) -> Any:
            await self.list_anew(call.request)
            tool = self.known(call.request, call.tool)
            if tool is None:
                call.counted = UNKNOWN
            return await boundary.handle(call, _LowlevelCall(self, handler, call, params, tool))

        return guarded

    def listing(self, handler: Handler) -> Handler:
        """Sees what the client is shown, so that calls are held against the same."""

        async def observed(ctx: Any, params: Any) -> Any:
            result = await handler(ctx, params)
            is_more = getattr(params, "cursor", None) is not None
            self._listings.remember(connection_of(ctx), getattr(result, "tools", None) or (), is_more=is_more)
            return result

        return observed

    def known(self, ctx: ServerRequestContext[Any, Any], name: str) -> CheckedTool | None:
        """A tool as whoever calls it was shown it."""
        return self._listings.find(connection_of(ctx), name)

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

        return await self._listings.renew(connection_of(ctx), show)


class _LowlevelCall(FrameworkCall):
    """A call of a tool that a low-level server lists, or does not."""

    __slots__ = ("_call", "_handler", "_params", "_tool", "_tools")

    def __init__(
        self,
        tools: ServedTools,
        handler: Handler,
        call: ServedCall,
        params: CallToolRequestParams,
        tool: CheckedTool | None,
    ) -> None:
        self._tools = tools
        self._handler = handler
        self._call = call
        self._params = params
        self._tool = tool

    async def run(self, arguments: dict[str, Any]) -> Any:
        tool, params, tools = self._tool, self._params, self._tools
        verdict = judged(tool, arguments, tools.boundary)
        if verdict.problem is not None and await tools.list_anew(self._call.request):
            # What is refused is refused by what the tool is now.
            tool = self._tool = tools.known(self._call.request, self._call.tool)
            verdict = judged(tool, arguments, tools.boundary)
        if verdict.problem is not None:
            raise verdict.problem
        asked = params if arguments is params.arguments else params.model_copy(update={"arguments": arguments})
        result = unwrapped(await self._handler(self._call.request, asked))
        if tool is not None:
            verdict.finish(self._call, tool, result)
        return result

    async def facts(self) -> Facts:
        return self._tool.facts if self._tool is not None else Facts(self._call.tool)

    async def read(self, raised: BaseException) -> Failed:
        call, tools = self._call, self._tools
        if self._tool is None and (known := tools.all()) and could_mean_unknown(raised):
            return tools.boundary.no_such_tool(call, [each.name for each in known], raised)
        call.counted = call.tool
        return tools.boundary.read(raised, await self.facts(), call.arguments, era=call.era)


def add_middleware(server: Server[Any], boundary: Boundary, facts: Callable[[str], Facts]) -> None:
    """Answers for other middleware: what it raises about a call, before the tool or after it, the model should know."""

    async def failwell_middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        calls = ctx.method == "tools/call"
        way = Passage(ctx)
        token = passage.set(way)
        try:
            result = await call_next(ctx)
            return advertised(result, boundary) if ctx.method == "initialize" else result
        except ValidationError as exc:
            # The request itself is malformed.
            raise boundary.wrong.of_params(exc, ctx.method, ctx.params, ctx.request_id) from None
        except MCPError as exc:
            if exc is way.raised:
                # It has been answered so, and written down.
                raise
            # What the runner says about a request is the protocol's business; any other number is somebody's own.
            if way.is_of_tool(exc) and (
                exc.code in (-32700, -32600, -32601, -32602, -32603)
                or boundary.is_protocol(exc, ctx.protocol_version)
                or _is_contract(exc)
                or not calls
            ):
                refused = boundary.safe(exc)
                completed = boundary.wrong.completed(refused.error, ctx.method, ctx.request_id)
                if completed is not None:
                    raise MCPError.from_error_data(completed) from None
                if refused is exc:
                    raise
                raise refused from None
            failed: BaseException = exc
        except BaseException as exc:
            failed = taken(exc)
        finally:
            passage.reset(token)
        if not calls:
            raise boundary.request_error(failed, ctx.method, {}, ctx)
        params = ctx.params or {}
        tool = facts(str(params.get("name", "")))
        arguments = params.get("arguments")
        call = ServedCall(tool.name, arguments if isinstance(arguments, dict) else {}, ctx)
        answer = await boundary.failed_around(call, failed, tool, way.marks)
        return stamped(server, answer.model_dump(by_alias=True, mode="json", exclude_none=True), call.era)

    middleware: list[Any] = server.middleware
    # Inside telemetry, so that the span sees the answer; outside everybody else.
    outer = bool(middleware) and type(middleware[0]).__name__ == "OpenTelemetryMiddleware"
    middleware.insert(1 if outer else 0, failwell_middleware)


def stamped(server: Server[Any], result: dict[str, Any], era: str) -> dict[str, Any]:
    """A result that goes out without passing the runner, with what the runner would have added."""
    if era in MODERN_PROTOCOL_VERSIONS:
        result["resultType"] = "complete"
        result["_meta"] = {**result.get("_meta", {}), SERVER_INFO: server.server_info_stamp}
    return result


def _is_contract(exc: MCPError) -> bool:
    """A failure that the options send as a protocol error."""
    return isinstance(exc.data, dict) and "mcp_error_code" in exc.data
