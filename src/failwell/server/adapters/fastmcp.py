"""FastMCP: a transform that puts every component behind the boundary, and the outermost middleware that answers.

FastMCP logs what a tool raises, and writes it into the span, before any middleware sees it. So the exception is read
inside the component's own run, and only what may leave goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import new_class
from typing import Any, Final

from fastmcp import FastMCP
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
from fastmcp.exceptions import ToolError as FastMCPToolError
from fastmcp.server.dependencies import fastmcp_request_ctx
from fastmcp.server.middleware import Middleware
from fastmcp.server.transforms import Transform
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from failwell.formats import MODERN_ERA, in_words
from failwell.model import Kind, Nature, NeedsInput, Source, ToolError, is_same_tool, marks
from failwell.observe import mark_span
from failwell.readers import SHIPPED, code_of, text_of
from failwell.schema import Checkers
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import add_declared, declared_of
from failwell.server.groups.fastmcp import GroupRefusal
from failwell.server.replies import convert_result
from failwell.server.served_call import (
    BrokenResult,
    FailedCall,
    ServedCall,
    ToolInfo,
    add_alias,
    current,
    group_of,
    innermost,
    is_teardown_failure,
    is_within,
    mark_finished,
    mark_teardown_failed,
    record_failed_run,
    record_returned_error,
    reraise_control_flow,
)
from failwell.server.wrong_requests import missing_arguments

from .background import guard_tasks
from .mcp2 import install_on, requests
from .shared import Twins, answer_request, cause_of, is_nested, is_refusal, named_like, trail, twin_of
from .wrong_messages import check_posts, path_of_fastmcp


def install(server: FastMCP[Any], boundary: Boundary) -> None:
    boundary.reader.masks = server._mask_error_details
    boundary.reader.shows_text = True
    guard_components(server, boundary)

    async def listed() -> list[ToolInfo]:
        return [ToolInfo.of_tool(tool.name, tool) for tool in await server.list_tools(run_middleware=False)]

    boundary.list_tools = listed
    server.middleware.insert(0, _AnswersMiddleware(server, boundary))
    install_on(server._mcp_server, boundary, {"completion/complete": requests(boundary)["completion/complete"]})
    check_posts(server, "http_app", boundary, path_of_fastmcp)
    guard_tasks(server, boundary, ToolResult.from_mcp_result, MODERN_ERA)


def guard_components(server: FastMCP[Any], boundary: Boundary) -> None:
    """Put a server's components behind the boundary; a mounted server has its own."""
    if not any(isinstance(each, _Guard) for each in server.transforms):
        server.add_transform(_Guard(boundary, server._mask_error_details))


class CarriedProtocolError(FastMCPError):
    """Carries a protocol error through code that would make any MCPError into something else."""

    def __init__(self, error: MCPError) -> None:
        super().__init__(error.message, log_level=logging.INFO)
        self.error = error


class CarriedFailure(FastMCPToolError):
    """What a tool's failure looks like to FastMCP and to other middleware: nothing but what may leave."""

    def __init__(self, failed: FailedCall) -> None:
        # Failwell's own line says more.
        super().__init__(log_level=logging.DEBUG)
        self.failed = failed

    def __str__(self) -> str:
        # The answer is made further out, where more is known; here it is put into words only for who looks.
        return in_words(self.failed.redacted())


# Middleware that retries looks for these, so the failure stays one.
class _Unreachable(CarriedFailure, ConnectionError):
    pass


class _TimedOut(CarriedFailure, TimeoutError):
    pass


_ALIKE: Final = ((TimeoutError, _TimedOut), (ConnectionError, _Unreachable))


@SHIPPED.maps(CarriedFailure)
def _read_carried(exc: CarriedFailure) -> ToolError:
    outcome = exc.failed.redacted()
    return outcome.to_error() if isinstance(outcome, NeedsInput) else outcome


class _Guard(Transform):
    """Gives out components that read their own failures."""

    def __init__(self, boundary: Boundary, masks: bool) -> None:
        self.boundary = boundary
        self.masks = masks
        self.checkers = Checkers()
        self._listed = Twins(lambda tool: add_declared(tool, declared_of(getattr(tool, "fn", None))))
        self._tools = Twins(partial(self._guard, _guard_tool))
        self._readable = Twins(partial(self._guard, partial(_guard_component, "_read")))
        self._prompts = Twins(partial(self._guard, partial(_guard_component, "_render")))

    async def list_tools(self, tools: Sequence[Any]) -> Sequence[Any]:
        return list(map(self._listed, tools))

    async def get_tool(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self._tools(await call_next(name, version=version))

    async def get_resource(self, uri: str, call_next: Any, *, version: Any = None) -> Any:
        return self._readable(await call_next(uri, version=version))

    async def get_resource_template(self, uri: str, call_next: Any, *, version: Any = None) -> Any:
        return self._readable(await call_next(uri, version=version))

    async def get_prompt(self, name: str, call_next: Any, *, version: Any = None) -> Any:
        return self._prompts(await call_next(name, version=version))

    def _guard(self, make: Callable[[type], type], component: Any) -> Any:
        if component is None or "_failwell" in component.__dict__:
            return component
        mounted = getattr(innermost(component), "_server", None)
        if isinstance(mounted, FastMCP):
            guard_components(mounted, self.boundary)
        return twin_of(component, make(type(component)), self)


@cache
def _guard_tool(kind: type) -> type:
    class GuardedTool(kind):  # type: ignore[misc]
        async def _run(self, arguments: dict[str, Any]) -> Any:
            if _is_from_python():
                return await super()._run(arguments)
            mine: _Guard = self.__dict__["_failwell"]
            if (inner := self.__dict__["_failwell_inner"]) is not None:
                add_alias(self.name, inner)
            try:
                result = await super()._run(arguments)
                is_error = getattr(result, "is_error", False) is True
                if is_error:
                    record_returned_error(self.name, _to_sdk(result))
                elif mine.boundary.options.validate and self.output_schema is not None:
                    is_promised = isinstance(result, ToolResult) and not isinstance(result, InputRequiredToolResult)
                    held = result.structured_content if is_promised else None
                    if is_promised and not mine.checkers(self.output_schema).fits(held):
                        # What is no object was put into one.
                        held = held["result"] if isinstance(held, dict) and held.keys() == {"result"} else held
                        raise BrokenResult(text_of(_to_sdk(result)) if held is None else held)
                if not is_error:
                    mark_finished(self.name)
                return result
            except BaseException as exc:
                failure = _read_failure(self, mine, arguments, exc)
            raise failure

        def convert_result(self, raw_value: Any) -> Any:
            if _is_from_python():
                return super().convert_result(raw_value)
            return convert_result(super().convert_result, raw_value)

    return named_like(GuardedTool, kind)


def _read_failure(tool: Any, mine: _Guard, arguments: dict[str, Any], exc: BaseException) -> BaseException:
    """What goes on from inside a tool's run: nothing of the exception but what it means."""
    boundary, info = mine.boundary, ToolInfo.of_tool(tool.name, tool, arguments)
    try:
        failed = reraise_control_flow(exc)
    except BaseException:
        record_failed_run(tool.name)
        raise
    links = trail(failed)
    is_torn = is_teardown_failure(exc)
    rejected = not is_torn and is_refusal(links)
    if is_torn and boundary.reader.effects.nature(info) is not Nature.READ:
        mark_teardown_failed(tool.name)
    if isinstance(failed, GroupRefusal) and failed.__cause__ is not None:
        failed = failed.__cause__
        links = trail(failed)
    if isinstance(failed, CarriedFailure):
        failed = failed if _stands_for(tool) else _wrap_inner(boundary, failed, info, arguments)
    elif not isinstance(failed, CarriedProtocolError):
        # FastMCP itself may have put something around it.
        failed = failed if rejected else links[-1][0]
        nested = not rejected and is_nested(links[-1:], code_of(info.function))
        about = {"rejected": rejected, "nested": nested, "masked": mine.masks}
        request = fastmcp_request_ctx.get()
        # The newest version of the protocol where nobody is spoken to.
        era = (request.protocol_version if request is not None else None) or MODERN_ERA
        try:
            read = boundary.read(failed, info, arguments, era=era, **about)
        except MCPError as protocol:
            record_failed_run(tool.name)
            return CarriedProtocolError(protocol)
        if current.get() is None:
            # Nobody answers what somebody made of the client's call, so nobody else writes it down.
            boundary.redact_and_log(read)
        else:
            # FastMCP's span ends before the answer is made.
            error = read.outcome if isinstance(read.outcome, ToolError) else None
            mark_span(error, tool=info.name, action=info.action, asked=error is None)
        failed = next((made for alike, made in _ALIKE if isinstance(failed, alike)), CarriedFailure)(read)
    record_failed_run(tool.name, failed.failed.outcome if isinstance(failed, CarriedFailure) else None)
    return failed


def _is_from_python() -> bool:
    """Whether a component is used without any request: there FastMCP's own exceptions are the contract."""
    return current.get() is None and fastmcp_request_ctx.get() is None


def _stands_for(tool: Any) -> bool:
    """Whether the failure of another tool is its own: of the same on the server that it is mounted from, or of the
    action that a group has chosen."""
    return isinstance(getattr(tool, "_server", None), FastMCP) or group_of(getattr(tool, "fn", None)) is not None


def _wrap_inner(boundary: Boundary, failure: CarriedFailure, tool: ToolInfo, arguments: Any) -> CarriedFailure:
    """The failure of another tool, which this one called, and which says nothing about what this one did before."""
    outcome = failure.failed.redacted()
    if not isinstance(outcome, ToolError):
        return failure
    if outcome.kind is Kind.VALIDATION:
        # What was wrong with a call that this tool made is nothing that its own caller could correct.
        outcome = ToolError(outcome.message, code="UPSTREAM_ERROR")
    changes = boundary.reader.effects.of(outcome, tool, source=Source.ESCAPED, exc=failure, nested=True)
    outcome = outcome.replace(**changes, tool=tool.name, action=tool.action)
    return type(failure)(boundary.reader.failed(outcome, tool, failure.failed.raised, arguments))


@cache
def _guard_component(entry: str, kind: type) -> type:
    """A kind of resource, template or prompt that reads its own failures. A template is told which URI to read."""
    run, is_prompt = getattr(kind, entry), entry == "_render"

    async def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        async def check_and_run() -> Any:
            if is_prompt and (missing := missing_arguments(self, args[0] if args else kwargs.get("arguments"))):
                raise missing
            return await run(self, *args, **kwargs)

        if _is_from_python():
            return await run(self, *args, **kwargs)
        what = self.name if is_prompt else str(args[0] if args else self.uri)
        boundary, asked = self.__dict__["_failwell"].boundary, fastmcp_request_ctx.get()
        return await answer_request(boundary, "prompt" if is_prompt else "resource", what, asked, check_and_run)

    return named_like(new_class(kind.__name__, (kind,), exec_body=lambda names: names.update({entry: answer})), kind)


def _to_sdk(result: Any) -> Any:
    """FastMCP's result as the SDK's; None for what is no result of a tool."""
    if isinstance(result, InputRequiredToolResult):
        return result.input_required
    if not isinstance(result, ToolResult):
        return None
    whole = result.to_mcp_result()
    if isinstance(whole, CallToolResult):
        return whole
    content, structured = whole if isinstance(whole, tuple) else (whole, None)
    return CallToolResult(content=content, structured_content=structured)


class _ComponentCall(FrameworkCall):
    """A call of a component, as the outermost middleware sees it."""

    __slots__ = ("_answers", "_call", "_context", "_next")
    flag = "is_error"

    def __init__(self, answers: _AnswersMiddleware, call: ServedCall, context: Any, call_next: Any) -> None:
        self._answers = answers
        self._call = call
        self._context = context
        self._next = call_next

    def run(self, arguments: dict[str, Any]) -> Any:
        context = self._context
        message = context.message
        if arguments is message.arguments or not arguments:
            return self._next(context)
        return self._next(context.copy(message=message.model_copy(update={"arguments": arguments})))

    async def read(self, left: BaseException) -> FailedCall:
        call, boundary = self._call, self._answers.boundary
        name = call.tool
        # FastMCP has middleware of its own that makes a number of any exception.
        raised = left if isinstance(left, (CarriedFailure, CarriedProtocolError)) else cause_of(left)
        if isinstance(raised, CarriedProtocolError):
            raise raised.error
        has_run = (passed := marks.get()) is not None and passed.has_run
        if isinstance(raised, CarriedFailure):
            if not has_run and is_same_tool(name, raised.failed.tool.name):
                return raised.failed
            tool = await self._answers.tool(name)
            # By another name a transformation gives it out, or else some middleware has called another one.
            if not has_run and (_stands_for(tool) or "_failwell" not in getattr(tool, "__dict__", {})):
                return raised.failed
            return _wrap_inner(boundary, raised, await self.facts(), call.arguments).failed
        if isinstance(raised, (NotFoundError, DisabledError)) and not has_run:
            names = [each.name for each in await self._answers.server.list_tools(run_middleware=False)]
            # Where the tool is there, somebody's middleware did not find something else.
            if name not in names:
                return boundary.no_such_tool(call, names, raised)
        # Of other middleware, before the tool ran or after it; or what is to run in the background was refused.
        rejected = not has_run and is_refusal(trail(left))
        return boundary.read(raised, await self.facts(), call.arguments, era=call.era, rejected=rejected)

    async def facts(self) -> ToolInfo:
        name = self._call.tool
        tool = await self._answers.server.get_tool(name)
        return ToolInfo(name) if tool is None else ToolInfo.of_tool(name, tool, self._call.arguments)

    def to_sdk(self, result: Any) -> Any:
        return _to_sdk(result)

    def from_sdk(self, result: Any) -> Any:
        if isinstance(result, InputRequiredResult):
            return InputRequiredToolResult(result)
        return ToolResult.from_mcp_result(result)

    async def stands_for_another(self) -> bool:
        tool = await self._answers.tool(self._call.tool)
        return _stands_for(tool) or getattr(tool, "fn", None) is None


class _AnswersMiddleware(Middleware):
    """Outermost: turns what is left of a failure into the answer."""

    def __init__(self, server: FastMCP[Any], boundary: Boundary) -> None:
        self.server = server
        self.boundary = boundary
        self._named: dict[str, tuple[str, str, Any]] = {
            "resources/read": ("resource", "uri", server.list_resources),
            "prompts/get": ("prompt", "name", server.list_prompts),
        }

    def __call__(self, context: Any, call_next: Any) -> Any:
        # Outermost of all hooks at once, and without building a chain of them for each call.
        held = context.fastmcp_context
        request = held.request_context if held is not None else None
        if context.method == "tools/call" and hasattr(context.message, "name"):
            return self._call(context, call_next, request)
        return self._answer_request(context, call_next, request)

    def _call(self, context: Any, call_next: Any, request: Any) -> Any:
        # Called from Python, or by another tool: there FastMCP's own exceptions are the contract.
        if request is None or is_within(asked := request._srctx):
            return call_next(context)
        message = context.message
        call = ServedCall(message.name, message.arguments or {}, asked)
        if not call.is_clients:
            return call_next(context)
        # FastMCP has ended its span by the time that the call is answered here.
        call.in_span = False
        return self.boundary.handle(call, _ComponentCall(self, call, context, call_next))

    async def _answer_request(self, context: Any, call_next: Any, request: Any) -> Any:
        named, bound, message = self._named.get(context.method), fastmcp_request_ctx.get(), context.message
        if named is not None and not hasattr(message, named[1]):
            named = None
        asked = bound if named is None else request
        if context.type != "request" or (asked is None and named is not None):
            return await call_next(context)
        if asked is not None and is_within(asked._srctx):
            return await call_next(context)
        if named is not None:
            kind, place, list_all = named

            async def known() -> list[Any]:
                return [getattr(each, place) for each in await list_all(run_middleware=False)]

            what = str(getattr(message, place))
            return await answer_request(self.boundary, kind, what, bound, lambda: call_next(context), names=known)
        try:
            return await call_next(context)
        except (NotFoundError, DisabledError, ValidationError):
            # FastMCP's own words about the request.
            raise
        except BaseException as exc:
            failed = reraise_control_flow(exc)
        raise self.boundary.request_error(failed, str(context.method), {}, bound)

    async def tool(self, name: str) -> Any:
        try:
            return await self.server.get_tool(name)
        except Exception:
            return None
