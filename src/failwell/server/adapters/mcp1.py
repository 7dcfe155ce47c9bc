"""Version 1 of the SDK: its FastMCP, its low-level Server, and what FastMCP 2 and 3 have in common with them.

The SDK's own handler of `tools/call` makes a text of every exception. The function that it calls is noted, so that its
way with results stays as it is. All handlers are wrapped where the server looks them up, so that it does not matter
when they are registered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

import mcp.types
from mcp.server.fastmcp.utilities.func_metadata import FuncMetadata  # type: ignore[import-not-found]
from mcp.server.lowlevel.server import request_ctx  # type: ignore[attr-defined]

from failwell.model import Effect, Nature, ToolError, marks, unwrapped
from failwell.readers import code_of, exc_text, extras_policy, from_schema
from failwell.schema import has_names, unknown_names
from failwell.sdk import CallToolResult
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import publish
from failwell.server.replies import report_unknown_arguments
from failwell.server.served_call import (
    EXTENSION,
    BrokenResult,
    FailedCall,
    ServedCall,
    ToolInfo,
    current,
    has_finished,
    is_teardown_failure,
    mark_finished,
    mark_teardown_failed,
    record_failed_run,
    reraise_control_flow,
)
from failwell.server.wrong_requests import missing_arguments, no_such

from .background import whole_results
from .shared import (
    CheckedTool,
    Listings,
    all_problems,
    cause_of,
    could_mean_unknown,
    is_check_of_arguments,
    is_frameworks,
    is_masked,
    is_nested,
    is_of_proxy,
    look_at_results,
    settings,
    taken_by,
)
from .wrong_messages import check_posts, check_streams

types: Any = mcp.types
Handler = Callable[[Any], Awaitable[Any]]
Wrapper = Callable[[Handler], Handler]
Send = Callable[[dict[str, Any]], Awaitable[Any]]
LATEST: Final = str(types.LATEST_PROTOCOL_VERSION)
_SPOKEN: Final[list[str]] = import_module("mcp.shared.version").SUPPORTED_PROTOCOL_VERSIONS


class _Notes:
    """What became of one call inside the SDK's handler."""

    # Values of the class: most calls change two of them.
    runs: tuple[BaseException, ...] = ()
    """What each run of the tool has raised: somebody's middleware may have it run again."""
    entered = False
    raised: BaseException | None = None
    refused: BaseException | None = None
    """What kept the SDK from looking up the tool: it asks the server's own list, past middleware."""
    returned: Any = None


_noting: ContextVar[_Notes | None] = ContextVar("failwell_noting", default=None)


def run_raised(name: str, exc: BaseException) -> None:
    """Say what a run of a tool has raised; arguments that were refused were no run."""
    notes, call = _noting.get(), current.get()
    if notes is not None and call is not None and call.is_of(name) and not is_check_of_arguments(exc):
        notes.runs += (cause_of(exc),)


class OlderSession:
    """A session of 1.x by the names that 2.x has for what the boundary asks of it."""

    __slots__ = ("_connection", "_context")

    def __init__(self, context: Any) -> None:
        self._context = context
        self._connection = context.session

    @property
    def client_params(self) -> SimpleNamespace | None:
        sent = getattr(self._connection, "client_params", None)
        return None if sent is None else SimpleNamespace(client_info=sent.clientInfo)

    @property
    def client_capabilities(self) -> SimpleNamespace | None:
        sent = getattr(self._connection, "client_params", None)
        if sent is None:
            return None
        asks = getattr(sent.capabilities, "elicitation", None)
        if asks is not None:
            # Before there were two ways to ask, whoever could be asked at all took forms.
            ways = asks if isinstance(asks, Mapping) else asks.model_dump()
            asks = SimpleNamespace(form=ways.get("form"), url=ways.get("url"))
        return SimpleNamespace(elicitation=asks, extensions=getattr(sent.capabilities, "extensions", None))

    @property
    def can_send_request(self) -> bool:
        return hasattr(self._connection, "elicit")

    async def elicit_form(self, message: str, schema: Any, *, related_request_id: Any) -> Any:
        return await self._connection.elicit(message, schema, related_request_id)

    async def report_progress(self, progress: float, total: float, message: str) -> None:
        token = getattr(self._context.meta, "progressToken", None)
        if token is not None:
            await self._connection.send_progress_notification(
                token, progress, total, message=message, related_request_id=str(self._context.request_id)
            )


class OlderRequest:
    """The same of a request. Nothing is read before somebody needs it."""

    may_go_on = False

    def __init__(self, context: Any) -> None:
        self._context = context
        self.request_id = context.request_id
        self.request = getattr(context, "request", None)
        self.session = OlderSession(context)

    @property
    def params(self) -> Mapping[str, Any]:
        meta = self._context.meta
        return {} if meta is None else {"_meta": meta.model_dump(by_alias=True, exclude_none=True)}

    @property
    def protocol_version(self) -> str:
        sent = getattr(self._context.session, "client_params", None)
        asked = LATEST if sent is None else str(sent.protocolVersion)
        return asked if asked in _SPOKEN else LATEST


def _request_now() -> OlderRequest | None:
    """The request that is being answered."""
    context = request_ctx.get(None)
    return None if context is None else OlderRequest(context)


def _is_within() -> bool:
    """Whether the call of the present request is being answered already."""
    call = current.get()
    return call is not None and getattr(call.request, "_context", None) is request_ctx.get()


class _Handlers(dict[type, Handler]):
    """The handlers of a server, each given out with what is wrapped around it."""

    def __init__(self, handlers: Mapping[type, Handler], wrappers: Mapping[type, Wrapper]) -> None:
        super().__init__(handlers)
        self._wrappers = wrappers
        self._made: dict[type, tuple[Handler, Handler]] = {}

    def __getitem__(self, kind: type) -> Handler:
        return self._wrapped(kind, super().__getitem__(kind))

    def get(self, kind: type, default: Any = None) -> Any:
        # So the SDK asks, at each request.
        handler = super().get(kind)
        return default if handler is None else self._wrapped(kind, handler)

    def _wrapped(self, kind: type, handler: Handler) -> Handler:
        known = self._made.get(kind)
        if known is None or known[0] is not handler:
            wrap = self._wrappers.get(kind)
            known = self._made[kind] = (handler, handler if wrap is None else wrap(handler))
        return known[1]


class FrameworkTools:
    """The tools of one server, and how calls of them are answered. Each framework has one of its own."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        self.server = server
        self.boundary = boundary

    async def facts(self, name: str) -> ToolInfo | None:
        """What a tool is; None if there is none of that name."""
        raise NotImplementedError

    async def all(self) -> list[ToolInfo]:
        raise NotImplementedError

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Awaitable[Any]:
        """Make the call with these arguments, or with what is left of them; `send` makes it."""
        return send(arguments)

    def shown(self, request: Any, result: Any) -> None:
        """A client, or the SDK itself, was shown these tools."""

    def unknown(self, raised: BaseException, tool: ToolInfo | None) -> bool:
        """Whether what was raised says that there is no such tool."""
        return tool is None

    def has_finished(self, name: str) -> bool:
        """Whether a tool came to its end, where a call of it has a result: somebody around it may have answered."""
        return True

    async def stands_for_another(self, name: str) -> bool:
        """Whether a tool is only another name of one on another server."""
        return False

    def call(self, handler: Handler) -> Handler:
        boundary = self.boundary
        is_sdks = _note_runs(handler)

        async def guarded(request: Any) -> Any:
            params = request.params
            if _is_within():
                return await handler(request)
            call = ServedCall(params.name, params.arguments or {}, OlderRequest(request_ctx.get()))
            made = _OlderCall(self, handler, is_sdks, call, request)
            result = await boundary.handle(call, made)
            last = made.last
            # Made as it is: to hold it against all that a server may answer takes as long as to write it.
            return last if last is not None and result is last.root else types.ServerResult.model_construct(result)

        return guarded


def _note_runs(handler: Handler) -> bool:
    """Have the function that the SDK's handler of `tools/call` calls noted; False of a handler of somebody's own."""
    code = getattr(handler, "__code__", None)
    if code is None or "func" not in code.co_freevars:
        return False
    cell = (handler.__closure__ or ())[code.co_freevars.index("func")]
    function = cell.cell_contents

    async def noted(*given: Any, **options: Any) -> Any:
        notes = _noting.get()
        if notes is None:
            return await function(*given, **options)
        notes.entered = True
        try:
            notes.returned = unwrapped(await function(*given, **options))
        except BaseException as exc:
            notes.raised = exc
            raise
        return notes.returned

    cell.cell_contents = noted
    return True


class _OlderCall(FrameworkCall):
    """A call that the SDK's handler makes."""

    __slots__ = ("_call", "_handler", "_is_sdks", "_notes", "_request", "_sent", "_tools", "last")

    def __init__(self, tools: FrameworkTools, handler: Handler, is_sdks: bool, call: ServedCall, request: Any) -> None:
        self._tools = tools
        self._handler = handler
        self._is_sdks = is_sdks
        self._call = call
        self._request = request
        self._sent = call.arguments
        self._notes = _Notes()
        self.last: Any = None
        """What the handler answered last."""

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        return self._tools.run(self._call, arguments, self._send)

    async def _send(self, arguments: dict[str, Any]) -> Any:
        asked, tools = self._request, self._tools
        if arguments is not self._sent:
            params = asked.params.model_copy(update={"arguments": arguments})
            asked = asked.model_copy(update={"params": params})
        notes = self._notes = _Notes()
        self.last = None
        token = _noting.set(notes)
        try:
            self.last = await self._handler(asked)
        except BaseException:
            if notes.raised is None:
                raise
        finally:
            _noting.reset(token)
        if (raised := notes.raised) is not None:
            if self.last is not None and await self._is_of_proxy(raised):
                # What the server behind it says stands as it is.
                return self.last.root
            raise raised
        result, returned = self.last.root, notes.returned
        if getattr(result, "isError", None) is not True or not self._is_sdks:
            return result
        if not notes.entered:
            raise notes.refused or await self._refused(result)
        if isinstance(returned, CallToolResult) and returned.isError:  # type: ignore[attr-defined]
            # Before 1.19 the SDK stumbles over a result that a tool has built itself.
            return returned
        # The SDK's word about what the tool returned, or somebody in its place.
        raise BrokenResult(data_in(returned), is_tools=tools.has_finished(self._call.tool))

    async def _refused(self, result: Any) -> BaseException:
        """What the SDK found wrong with the arguments, in better words than its own."""
        tool = await self.facts()
        found = None if tool.schema is None else from_schema(tool.schema, self._call.arguments, tool=tool.name)
        return found or ValueError(next((block.text for block in result.content if block.type == "text"), ""))

    async def _is_of_proxy(self, raised: BaseException) -> bool:
        """Whether the server behind a proxy has answered with a failure."""
        is_proxys = not _has_run() and is_of_proxy(raised) and all(each is raised for each in self._notes.runs)
        return is_proxys and await self._tools.stands_for_another(self._call.tool)

    async def facts(self) -> ToolInfo:
        return await self._tools.facts(self._call.tool) or ToolInfo(self._call.tool)

    async def read(self, raised: BaseException) -> FailedCall:
        call, tools, notes = self._call, self._tools, self._notes
        boundary = tools.boundary
        known = await tools.facts(call.tool)
        if not _has_run() and tools.unknown(raised, known):
            return boundary.no_such_tool(call, [each.name for each in await tools.all()], raised)
        tool, cause = known or ToolInfo(call.tool), cause_of(raised)
        for earlier in (each for each in notes.runs if each is not cause):
            record_failed_run(call.tool, earlier if getattr(earlier, "origin", None) is None else None)
        if is_teardown_failure(cause) and boundary.reader.effects.nature(tool) is not Nature.READ:
            mark_teardown_failed(call.tool)
        nested = is_nested(raised, code_of(tool.function))
        rejected = not nested and is_check_of_arguments(raised)
        about = {"rejected": rejected, "nested": nested, "masked": is_masked(raised)}
        failed = boundary.read(cause, tool, call.arguments, era=call.era, **about)
        outcome = failed.outcome
        if notes.entered or not self._is_sdks or not isinstance(outcome, ToolError) or outcome.effect is Effect.NONE:
            return failed
        # The SDK has given up before it called anybody.
        return failed._replace(outcome=outcome.replace(effect=Effect.NONE, standing=None))

    async def stands_for_another(self) -> bool:
        return await self._tools.stands_for_another(self._call.tool)


def _has_run() -> bool:
    passed = marks.get()
    return passed is not None and passed.has_run


def data_in(returned: Any) -> Any:
    """What a tool returned, out of what frameworks hand to the SDK: blocks and data, what is no object put into one."""
    data = returned[1] if isinstance(returned, tuple) and len(returned) == 2 else returned
    return data["result"] if isinstance(data, dict) and data.keys() == {"result"} else data


@dataclass(frozen=True, slots=True)
class Named:
    """What is asked for by a name, resources or prompts, as far as a framework tells."""

    kind: str
    names: Callable[[], Awaitable[list[str]]] | None = None
    """What there is."""
    check: Callable[[Any], Awaitable[ToolError | None]] | None = None
    """What is wrong with a request."""

    def wrap(self, boundary: Boundary) -> Wrapper:
        kind, check = self.kind, self.check

        def wrapped(handler: Handler) -> Handler:
            async def guarded(request: Any) -> Any:
                if _is_within():
                    return await handler(request)
                params = request.params
                place, what = ("uri", str(params.uri)) if kind == "resource" else ("name", params.name)
                try:
                    if check is not None and (problem := await check(params)) is not None:
                        raise problem
                    return await handler(request)
                except BaseException as exc:
                    failed = cause_of(reraise_control_flow(exc))
                if is_frameworks(failed) and exc_text(failed).startswith(f"Unknown {kind}"):
                    failed = no_such(kind, what, await self._names())
                raise boundary.request_error(failed, what, {place: what}, _request_now())

            return guarded

        return wrapped

    async def _names(self) -> list[str]:
        try:
            return [] if self.names is None else await self.names()
        except Exception:
            return []


_RESOURCES: Final = Named("resource")
_PROMPTS: Final = Named("prompt")


def install_on(
    server: Any,
    boundary: Boundary,
    tools: FrameworkTools,
    *,
    resources: Named = _RESOURCES,
    prompts: Named = _PROMPTS,
) -> None:
    """Put the boundary on a low-level server of 1.x, which tells the text of any exception."""
    boundary.list_tools = tools.all
    boundary.reader.shows_text = True

    def completing(handler: Handler) -> Handler:
        async def guarded(request: Any) -> Any:
            try:
                return await handler(request)
            except BaseException as exc:
                failed = cause_of(reraise_control_flow(exc))
            name = request.params.argument.name
            raise boundary.request_error(failed, name, {"argument": name}, _request_now())

        return guarded

    wrappers: dict[type, Wrapper] = {
        types.CallToolRequest: tools.call,
        types.ReadResourceRequest: resources.wrap(boundary),
        types.GetPromptRequest: prompts.wrap(boundary),
        types.CompleteRequest: completing,
        types.ListToolsRequest: _listing(tools),
    }
    if (asks_for_task := getattr(types, "GetTaskPayloadRequest", None)) is not None:
        wrappers[asks_for_task] = whole_results
    server.request_handlers = _Handlers(server.request_handlers, wrappers)
    original = server.get_capabilities

    def get_capabilities(*given: Any, **options: Any) -> Any:
        capabilities = original(*given, **options)
        changes = {
            place: {**(getattr(capabilities, place, None) or {}), EXTENSION: settings(boundary)}
            for place in ("experimental", "extensions")
        }
        return capabilities.model_copy(update=changes)

    server.get_capabilities = get_capabilities
    check_streams(server, boundary)


def _listing(tools: FrameworkTools) -> Wrapper:
    """The handler of `tools/list`, with a note of what it raised to the SDK, which asks it before it calls a tool."""

    async def function(name: str) -> Any:
        found = await tools.facts(name)
        return None if found is None else found.function

    def wrap(handler: Handler) -> Handler:
        async def listing(request: Any) -> Any:
            notes = _noting.get()
            try:
                result = (await handler(request)).root
            except Exception as exc:
                if notes is not None and not notes.entered:
                    notes.refused = exc
                raise
            tools.shown(request, result)
            # The SDK itself does not read what a tool declares.
            return types.ServerResult(result if notes is not None else await publish(result, function))

        return listing

    return wrap


class _NobodyInParticular:
    """In the place of a session outside of any request: something that is gone at once."""


def _session_now() -> Any:
    context = request_ctx.get(None)
    return _NobodyInParticular() if context is None else context.session


class _ListedTools(FrameworkTools):
    """What a low-level server lists, and the calls that are held against it."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        super().__init__(server, boundary)
        self._listings = Listings(boundary)
        self._validates: bool | None = True
        """Whether the SDK holds arguments against schemas: None where it cannot, which it could not before 1.10."""

    def call(self, handler: Handler) -> Handler:
        names = getattr(getattr(handler, "__code__", None), "co_freevars", ())
        cells = dict(zip(names, getattr(handler, "__closure__", None) or (), strict=True))
        self._validates = bool(cells["validate_input"].cell_contents) if "validate_input" in cells else None
        return super().call(handler)

    def shown(self, request: Any, result: Any) -> None:
        is_more = getattr(getattr(request, "params", None), "cursor", None) is not None
        self._listings.remember(_session_now(), getattr(result, "tools", None) or (), is_more=is_more)

    async def facts(self, name: str) -> ToolInfo | None:
        tool = await self._find(name)
        return None if tool is None else tool.facts

    async def all(self) -> list[ToolInfo]:
        await self._list()
        return self._listings.all(_session_now())

    def unknown(self, raised: BaseException, tool: ToolInfo | None) -> bool:
        return tool is None and bool(self._listings.all(_session_now())) and could_mean_unknown(cause_of(raised))

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Any:
        await self._find(call.tool)
        session = _session_now()
        return await self._listings.call(session, call, arguments, send, self._list, validates=self._validates)

    async def _find(self, name: str) -> CheckedTool | None:
        """A tool as whoever calls it was shown it."""
        known = self._listings.find(_session_now(), name)
        if known is None and await self._list():
            known = self._listings.find(_session_now(), name)
        return known

    async def _list(self) -> bool:
        """Whether the tools were listed anew."""
        handler = self.server.request_handlers.get(types.ListToolsRequest)
        if handler is None:
            return False
        # As the SDK itself asks, where it wants to know what a tool promises.
        return await self._listings.renew(_session_now(), lambda: handler(types.ListToolsRequest(method="tools/list")))


def install_lowlevel(server: Any, boundary: Boundary) -> None:
    install_on(server, boundary, _ListedTools(server, boundary))


# Before 1.10 results were made elsewhere.
_CONVERTS = hasattr(FuncMetadata, "convert_result")


class _FunctionTools(FrameworkTools):
    """The tools of what MCPServer was called in version 1 of the SDK: `mcp.server.fastmcp.FastMCP`."""

    async def facts(self, name: str) -> ToolInfo | None:
        tool = self.server._tool_manager.get_tool(name)
        return None if tool is None else ToolInfo.of_tool(name, tool)

    async def all(self) -> list[ToolInfo]:
        return [ToolInfo.of_tool(tool.name, tool) for tool in self.server._tool_manager.list_tools()]

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Any:
        tool = self.server._tool_manager.get_tool(call.tool)
        if tool is None:
            return await send(arguments)
        if _CONVERTS:
            look_at_results(tool, FuncMetadata)
        unknown: list[str] = []
        if not has_names(arguments, tool.parameters) and not has_names(arguments, schema := taken_by(tool)):
            facts = ToolInfo.of_tool(call.tool, tool)
            nature = self.boundary.reader.effects.nature(facts)
            extra = extras_policy(self.boundary.options.extra, arguments, schema, nature)
            if extra == "reject":
                raise all_problems(tool, arguments)
            unknown = unknown_names(arguments, schema)
        try:
            result = await send(arguments)
        except Exception as exc:
            # Nothing of an author's stands between the end of a tool and what is made of its result.
            if not has_finished(call.tool):
                raise
            raise BrokenResult(call.returned) from exc
        if unknown:
            report_unknown_arguments(call, unknown)
        return result


def install_fastmcp(server: Any, boundary: Boundary) -> None:
    async def uris() -> list[str]:
        return [str(each.uri) for each in server._resource_manager.list_resources()]

    async def check(params: Any) -> ToolError | None:
        prompt = server._prompt_manager.get_prompt(params.name)
        if prompt is None:
            return no_such("prompt", params.name, [each.name for each in server._prompt_manager.list_prompts()])
        return missing_arguments(prompt, params.arguments)

    tools = _FunctionTools(server, boundary)
    resources, prompts = Named("resource", uris), Named("prompt", check=check)
    install_on(server._mcp_server, boundary, tools, resources=resources, prompts=prompts)
    if not _CONVERTS:
        run = server._tool_manager.call_tool

        async def call_tool(name: str, *given: Any, **options: Any) -> Any:
            result = await run(name, *given, **options)
            if current.get() is not None:
                result = unwrapped(result)
                mark_finished(name)
            return result

        server._tool_manager.call_tool = call_tool
    path = server.settings.streamable_http_path
    check_posts(server, "streamable_http_app", boundary, lambda app, options: str(path))
