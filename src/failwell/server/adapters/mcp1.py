"""Version 1 of the SDK: its FastMCP, its low-level Server, and what FastMCP 2 and 3 have in common with them.

The SDK's own handler of `tools/call` makes a text of every exception. The function that it calls is watched, so that
its way with results stays as it is. All handlers are wrapped as they are registered, whenever that is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

import mcp.types
from mcp.server.fastmcp.utilities.func_metadata import FuncMetadata  # type: ignore[import-not-found]
from mcp.server.lowlevel.server import request_ctx  # type: ignore[attr-defined]

from failwell.model import Effect, Nature, ToolError, unwrapped
from failwell.readers import code_of, from_schema
from failwell.sdk import CallToolResult
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary
from failwell.server.declared_failures import publish
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
)
from failwell.server.wrong_requests import missing_arguments

from .background import whole_results
from .shared import answer_request, cause_of, is_masked, is_nested, is_of_proxy, is_refusal, settings, trail
from .tool_calls import FunctionTools, ListedTools, ServedTools, ToolCall
from .wrong_messages import check_posts, check_streams

types: Any = mcp.types
Handler = Callable[[Any], Awaitable[Any]]
Wrapper = Callable[[Handler], Handler]
LATEST: Final = str(types.LATEST_PROTOCOL_VERSION)
_SPOKEN: Final[list[str]] = import_module("mcp.shared.version").SUPPORTED_PROTOCOL_VERSIONS


class OlderRequest:
    """A request of 1.x, and its session, by the names that 2.x has for what the boundary asks of them. Nothing is read
    before somebody needs it."""

    may_go_on = False

    def __init__(self, context: Any) -> None:
        self._context = context
        self._connection = context.session
        self.request_id = context.request_id
        self.request = getattr(context, "request", None)

    @property
    def params(self) -> Mapping[str, Any]:
        meta = self._context.meta
        return {} if meta is None else {"_meta": meta.model_dump(by_alias=True, exclude_none=True)}

    @property
    def protocol_version(self) -> str:
        sent = getattr(self._connection, "client_params", None)
        asked = LATEST if sent is None else str(sent.protocolVersion)
        return asked if asked in _SPOKEN else LATEST

    @property
    def session(self) -> OlderRequest:
        return self

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
                token, progress, total, message=message, related_request_id=str(self.request_id)
            )


def _request_now() -> OlderRequest | None:
    """The request that is being answered."""
    context = request_ctx.get(None)
    return None if context is None else OlderRequest(context)


def _is_within() -> bool:
    """Whether the call of the present request is being answered already."""
    call = current.get()
    return call is not None and getattr(call.request, "_context", None) is request_ctx.get()


class _Handlers(dict[type, Handler]):
    """The handlers of a server, each with what is wrapped around it, whenever it is registered."""

    def __init__(self, handlers: Mapping[type, Handler], wrappers: Mapping[type, Wrapper]) -> None:
        super().__init__()
        self._wrappers = wrappers
        for kind, handler in handlers.items():
            self[kind] = handler

    def __setitem__(self, kind: type, handler: Handler) -> None:
        wrap = self._wrappers.get(kind)
        super().__setitem__(kind, handler if wrap is None else wrap(handler))


class OlderTools(ServedTools):
    """The tools of a server of 1.x, as the SDK's handler of `tools/call` runs them."""

    def shown(self, request: Any, result: Any) -> None:
        """A client, or the SDK itself, was shown these tools."""

    def has_finished(self, name: str) -> bool:
        """Whether a tool came to its end, where a call of it has a result: somebody around it may have answered."""
        return True

    async def stands_for_another(self, name: str) -> bool:
        """Whether a tool is only another name of one on another server."""
        return False

    def explain(self, raised: BaseException, tool: ToolInfo) -> tuple[BaseException, dict[str, bool]]:
        links = trail(raised)
        nested = is_nested(links, code_of(tool.function))
        return links[-1][0], {
            "rejected": not nested and is_refusal(links),
            "nested": nested,
            "masked": is_masked(links),
        }

    def call(self, handler: Handler) -> Handler:
        is_sdks = _note_runs(handler)

        async def answer(request: Any) -> Any:
            params = request.params
            if _is_within():
                return await handler(request)
            call = ServedCall(params.name, params.arguments or {}, OlderRequest(request_ctx.get()))
            made = _OlderCall(self, handler, is_sdks, call, request)
            result = await self.boundary.handle(call, made)
            last = made.last
            # Made as it is: to hold it against all that a server may answer takes as long as to write it.
            return last if last is not None and result is last.root else types.ServerResult.model_construct(result)

        return answer


def _note_runs(handler: Handler) -> bool:
    """Have the function that the SDK's handler of `tools/call` calls watched; False of a handler of somebody's own."""
    code = getattr(handler, "__code__", None)
    if code is None or "func" not in code.co_freevars:
        return False
    cell = (handler.__closure__ or ())[code.co_freevars.index("func")]
    function = cell.cell_contents

    async def note_run(*given: Any, **options: Any) -> Any:
        call = _current_run.get()
        if call is None:
            return await function(*given, **options)
        call.entered = True
        try:
            call.returned = unwrapped(await function(*given, **options))
        except BaseException as exc:
            call.raised = exc
            raise
        return call.returned

    cell.cell_contents = note_run
    return True


class _OlderCall(ToolCall):
    """A call that the SDK's handler makes, and what became of it inside that."""

    __slots__ = (
        "_handler",
        "_is_sdks",
        "_request",
        "_sent",
        "entered",
        "last",
        "raised",
        "refused",
        "returned",
        "runs",
    )

    def __init__(self, tools: OlderTools, handler: Handler, is_sdks: bool, call: ServedCall, request: Any) -> None:
        super().__init__(tools, call, handler)
        self._handler = handler
        self._is_sdks = is_sdks
        self._request = request
        self._sent = call.arguments
        self._forget()

    def _forget(self) -> None:
        self.entered = False
        self.raised: BaseException | None = None
        self.refused: BaseException | None = None
        """What kept the SDK from looking up the tool: it asks the server's own list, past middleware."""
        self.runs: tuple[BaseException, ...] = ()
        """What each run of the tool has raised: somebody's middleware may have it run again."""
        self.returned: Any = None
        self.last: Any = None
        """What the handler answered."""

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        made: Awaitable[Any] = self.tools.run(self.call, arguments, self._send)
        return made

    async def _send(self, arguments: dict[str, Any]) -> Any:
        asked, tools, name = self._request, self.tools, self.call.tool
        if arguments is not self._sent:
            params = asked.params.model_copy(update={"arguments": arguments})
            asked = asked.model_copy(update={"params": params})
        self._forget()
        token = _current_run.set(self)
        try:
            self.last = await self._handler(asked)
        except BaseException:
            if self.raised is None:
                raise
        finally:
            _current_run.reset(token)
        if (raised := self.raised) is not None:
            is_proxys = self.last is not None and not has_finished(name) and all(each is raised for each in self.runs)
            if is_proxys and is_of_proxy(raised) and await tools.stands_for_another(name):
                # What the server behind it says stands as it is.
                return self.last.root
            raise raised
        result, returned = self.last.root, self.returned
        if getattr(result, "isError", None) is not True or not self._is_sdks:
            return result
        if not self.entered:
            if self.refused is not None:
                raise self.refused
            # What the SDK found wrong with the arguments, in better words than its own.
            tool = await self.facts()
            problem = None if tool.schema is None else from_schema(tool.schema, self.call.arguments, tool=name)
            raise problem or ValueError(next((block.text for block in result.content if block.type == "text"), ""))
        if isinstance(returned, CallToolResult) and returned.isError:  # type: ignore[attr-defined]
            # Before 1.19 the SDK stumbles over a result that a tool has built itself.
            return returned
        # The SDK's word about what the tool returned, or somebody in its place.
        raise BrokenResult(data_in(returned), is_tools=tools.has_finished(name))

    async def read(self, raised: BaseException) -> FailedCall:
        call, tools = self.call, self.tools
        known = await tools.find(call.tool, call.request, call.arguments)
        if known is not None or has_finished(call.tool) or not tools.is_unknown(call, raised):
            cause = cause_of(raised)
            for earlier in (each for each in self.runs if each is not cause):
                record_failed_run(call.tool, earlier if getattr(earlier, "origin", None) is None else None)
            nature = tools.boundary.reader.effects.nature
            if is_teardown_failure(cause) and nature(known or ToolInfo(call.tool)) is not Nature.READ:
                mark_teardown_failed(call.tool)
        failed = await super().read(raised)
        outcome = failed.outcome
        if self.entered or not self._is_sdks or not isinstance(outcome, ToolError) or outcome.effect is Effect.NONE:
            return failed
        # The SDK has given up before it called anybody.
        return failed._replace(outcome=outcome.replace(effect=Effect.NONE, standing=None))

    async def stands_for_another(self) -> bool:
        found: bool = await self.tools.stands_for_another(self.call.tool)
        return found


_current_run: ContextVar[_OlderCall | None] = ContextVar("failwell_noting", default=None)


def run_raised(name: str, exc: BaseException) -> None:
    """Say what a run of a tool has raised; arguments that were refused were no run."""
    run_now, call = _current_run.get(), current.get()
    if run_now is not None and call is not None and call.is_of(name) and not is_refusal(links := trail(exc)):
        run_now.runs += (links[-1][0],)


def data_in(returned: Any) -> Any:
    """What a tool returned, out of what frameworks hand to the SDK: blocks and data, what is no object put into one."""
    data = returned[1] if isinstance(returned, tuple) and len(returned) == 2 else returned
    return data["result"] if isinstance(data, dict) and data.keys() == {"result"} else data


def install_on(
    server: Any,
    boundary: Boundary,
    tools: OlderTools,
    *,
    uris: Callable[[], Any] | None = None,
    prompts: Callable[[], Any] | None = None,
    check_prompt: Callable[[Any], Awaitable[ToolError | None]] | None = None,
) -> None:
    """Put the boundary on a low-level server of 1.x, which tells the text of any exception. A framework on top of it
    gives the names of what it has, and says what is wrong with the request for a prompt."""
    boundary.list_tools = tools.all
    boundary.reader.shows_text = True

    def answering(kind: str, named: Callable[[Any], str], names: Callable[[], Any] | None = None) -> Wrapper:
        def wrap(handler: Handler) -> Handler:
            async def answer(request: Any) -> Any:
                async def run() -> Any:
                    if (
                        kind == "prompt"
                        and check_prompt is not None
                        and (problem := await check_prompt(request.params))
                    ):
                        raise problem
                    return await handler(request)

                if _is_within():
                    return await handler(request)
                return await answer_request(boundary, kind, named(request.params), _request_now(), run, names=names)

            return answer

        return wrap

    async def function(name: str) -> Any:
        found = await tools.find(name)
        return None if found is None else found.function

    def listing(handler: Handler) -> Handler:
        """Notes what it raised to the SDK, which asks it before it calls a tool."""

        async def list_tools(request: Any) -> Any:
            run_now = _current_run.get()
            try:
                result = (await handler(request)).root
            except Exception as exc:
                if run_now is not None and not run_now.entered:
                    run_now.refused = exc
                raise
            tools.shown(request, result)
            # The SDK itself does not read what a tool declares.
            return types.ServerResult(result if run_now is not None else await publish(result, function))

        return list_tools

    wrappers: dict[type, Wrapper] = {
        types.CallToolRequest: tools.call,
        types.ReadResourceRequest: answering("resource", lambda params: str(params.uri), uris),
        types.GetPromptRequest: answering("prompt", lambda params: str(params.name), prompts),
        types.CompleteRequest: answering("completion", lambda params: str(params.argument.name)),
        types.ListToolsRequest: listing,
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


class _NobodyInParticular:
    """In the place of a session outside of any request: something that is gone at once."""


class _ListedTools(OlderTools, ListedTools):
    def call(self, handler: Handler) -> Handler:
        names = getattr(getattr(handler, "__code__", None), "co_freevars", ())
        cells = dict(zip(names, getattr(handler, "__closure__", None) or (), strict=True))
        # Which it could not before 1.10.
        self.validates = bool(cells["validate_input"].cell_contents) if "validate_input" in cells else True
        return super().call(handler)

    def shown(self, request: Any, result: Any) -> None:
        context = request_ctx.get(None)
        session = _NobodyInParticular() if context is None else context.session
        is_more = getattr(getattr(request, "params", None), "cursor", None) is not None
        self.remember(session, getattr(result, "tools", None) or (), is_more=is_more)

    def request_now(self) -> Any:
        return _request_now()

    async def all(self, request: Any = None) -> list[ToolInfo]:
        # Nobody is told of a tool that only another client was shown.
        await self._list_anew(request or self.request_now())
        return await super().all(request)


def install_lowlevel(server: Any, boundary: Boundary) -> None:
    async def show(request: Any) -> None:
        handler = server.request_handlers.get(types.ListToolsRequest)
        if handler is not None:
            # As the SDK itself asks, where it wants to know what a tool promises.
            await handler(types.ListToolsRequest(method="tools/list"))

    install_on(server, boundary, _ListedTools(server, boundary, show))


class _FunctionTools(OlderTools, FunctionTools):
    """Of what MCPServer was called in version 1 of the SDK: `mcp.server.fastmcp.FastMCP`."""

    # Before 1.10 results were made elsewhere.
    kind = FuncMetadata if hasattr(FuncMetadata, "convert_result") else None

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Any) -> Awaitable[Any]:
        made = super().run(call, arguments, send)
        return made if self.kind is not None else self._noting_breaks(call, made)

    async def _noting_breaks(self, call: ServedCall, made: Awaitable[Any]) -> Any:
        try:
            return await made
        except Exception as exc:
            # Nothing of an author's stands between the end of a tool and what is made of its result.
            if not has_finished(call.tool):
                raise
            raise BrokenResult(call.returned) from exc


def install_fastmcp(server: Any, boundary: Boundary) -> None:
    manager = server._tool_manager

    async def check(params: Any) -> ToolError | None:
        prompt = server._prompt_manager.get_prompt(params.name)
        return None if prompt is None else missing_arguments(prompt, params.arguments)

    install_on(
        server._mcp_server,
        boundary,
        _FunctionTools(server, boundary),
        uris=lambda: [each.uri for each in server._resource_manager.list_resources()],
        prompts=lambda: [each.name for each in server._prompt_manager.list_prompts()],
        check_prompt=check,
    )
    if _FunctionTools.kind is None:
        run = manager.call_tool

        async def call_tool(name: str, *given: Any, **options: Any) -> Any:
            result = await run(name, *given, **options)
            if current.get() is not None:
                result = unwrapped(result)
                mark_finished(name)
            return result

        manager.call_tool = call_tool
    path = server.settings.streamable_http_path
    check_posts(server, "streamable_http_app", boundary, lambda app, options: str(path))
