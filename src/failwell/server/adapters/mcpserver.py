"""`mcp.server.MCPServer`: its own methods, wrapped on the instance, where exceptions are still exceptions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import CodeType
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, UnexpectedResourceError, UnexpectedToolError
from mcp.server.mcpserver.exceptions import ToolError as DeliberateError
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from pydantic import ValidationError

from failwell.model import frames
from failwell.readers import code_of, fate, said
from failwell.schema import has_names, unknown_names
from failwell.server.absent import missing_arguments, no_such
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import publishing
from failwell.server.extras import note
from failwell.server.served_call import EXTENSION, Facts, Failed, ServedCall, group_of, is_within, taken

from .lowlevel import add_middleware, check_messages, requests, wrap_handlers
from .shared import all_problems, list_only_data, look_at_results, settings, taken_by


def install(server: MCPServer[Any], boundary: Boundary) -> None:
    lowlevel = server._lowlevel_server
    lowlevel.extensions.setdefault(EXTENSION, settings(boundary))

    async def listed() -> list[Facts]:
        return [_facts(server, tool.name) for tool in server._tool_manager.list_tools()]

    boundary.listed = listed
    # The server's own methods turn exceptions into what a client is to see; the handlers below are for the rest.
    wrap_handlers(lowlevel, {**requests(boundary), **_published(server, boundary)})
    add_middleware(lowlevel, boundary, lambda name: _facts(server, name))
    check_messages(lowlevel, boundary)
    list_only_data(server._tool_manager, func_metadata)
    server.call_tool = _Tools(server, boundary).call_tool  # type: ignore[method-assign]
    server.read_resource = _read_resource(server, boundary)  # type: ignore[method-assign]
    server.get_prompt = _get_prompt(server, boundary)  # type: ignore[method-assign]


def _published(server: MCPServer[Any], boundary: Boundary) -> dict[str, Any]:
    async def function(name: str) -> Any:
        return getattr(server._tool_manager.get_tool(name), "fn", None)

    return {"tools/list": publishing(function)} if boundary.options.publish else {}


def _facts(server: MCPServer[Any], name: str, arguments: Mapping[str, Any] | None = None) -> Facts:
    tool = server._tool_manager.get_tool(name)
    return Facts(name) if tool is None else Facts.of_tool(name, tool, arguments)


class _Tools:
    """The tools of a server, and how calls of them are answered."""

    def __init__(self, server: MCPServer[Any], boundary: Boundary) -> None:
        self.server = server
        self.boundary = boundary
        self.original = server.call_tool
        self._skip = frozenset(boundary.options.skip)
        self._find = server._tool_manager.get_tool

    def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Coroutine[Any, Any, Any]:
        # Called from Python, or by another tool: there the SDK's own exceptions are the contract.
        if context is None or name in self._skip:
            return self.original(name, arguments, context)
        request = _request_of(context)
        if is_within(request):
            return self.original(name, arguments, context)
        tool = self._find(name)
        if tool is not None:
            look_at_results(tool, FuncMetadata)
        call = ServedCall(name, arguments, request)
        if not call.is_clients:
            return self.original(name, arguments, context)
        return self.boundary.handle(call, _FunctionCall(self, call, tool, context))


def _request_of(context: Any) -> Any:
    """The request of a context. Its property asks for it twice, and each time pydantic looks for it in Python."""
    held = getattr(context, "__pydantic_private__", None) or {}
    return held.get("_request_context") or context.request_context


class _FunctionCall(FrameworkCall):
    """A call of a function that is a tool."""

    __slots__ = ("_call", "_context", "_tool", "_tools")

    def __init__(self, tools: _Tools, call: ServedCall, tool: Any, context: Any) -> None:
        self._tools = tools
        self._call = call
        self._tool = tool
        self._context = context

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        tool = self._tool
        if tool is None:
            raise _NoSuchTool
        # A group looks at its arguments itself, once it knows the action.
        if has_names(arguments, tool.parameters) or group_of(tool.fn) is not None:
            return self._tools.original(self._call.tool, arguments, self._context)
        return self._run_without_unknown(arguments)

    async def _run_without_unknown(self, arguments: dict[str, Any]) -> Any:
        tool, boundary = self._tool, self._tools.boundary
        schema = taken_by(tool)
        if has_names(arguments, schema):
            return await self._tools.original(self._call.tool, arguments, self._context)
        facts = _facts(self._tools.server, self._call.tool)
        extra = fate(boundary.options.extra, arguments, schema, boundary.reader.effects.nature(facts))
        if extra == "reject":
            raise all_problems(tool, arguments)
        result = await self._tools.original(self._call.tool, arguments, self._context)
        note(self._call, unknown_names(arguments, schema), facts, extra)
        return result

    async def facts(self) -> Facts:
        return _facts(self._tools.server, self._call.tool, self._call.arguments)

    async def read(self, raised: BaseException) -> Failed:
        call, boundary, tool = self._call, self._tools.boundary, self._tool
        if isinstance(raised, _NoSuchTool):
            names = [each.name for each in self._tools.server._tool_manager.list_tools()]
            return boundary.no_such_tool(call, names)
        cause, rejected, nested = _unwrap(raised, code_of(tool.fn) if tool is not None else None)
        return boundary.read(cause, await self.facts(), call.arguments, era=call.era, rejected=rejected, nested=nested)


class _NoSuchTool(Exception):
    """The server has no tool of that name."""


def _unwrap(exc: BaseException, code: CodeType | None) -> tuple[BaseException, bool, bool]:
    """What the tool raised, whether it was the arguments of this very call that were rejected, and whether it is the
    failure of another tool, which this one has called."""
    rejected = nested = False
    while isinstance(exc, DeliberateError) and exc.__cause__ is not None and _is_wrapper(exc):
        is_refusal = not isinstance(exc, UnexpectedToolError) and isinstance(exc.__cause__, ValidationError)
        # Another tool, called by this one, fails after this one has begun.
        nested = nested or any(trace.tb_frame.f_code is code for trace in frames(exc))
        rejected = is_refusal and not nested
        exc = exc.__cause__
    return exc, rejected, nested


def _is_wrapper(exc: DeliberateError) -> bool:
    return isinstance(exc, UnexpectedToolError) or str(exc).startswith("Error executing tool ")


def _read_resource(server: MCPServer[Any], boundary: Boundary) -> Callable[..., Any]:
    original = server.read_resource

    async def read_resource(uri: Any, context: Any = None) -> Any:
        if context is None or is_within(context.request_context):
            return await original(uri, context)
        try:
            return await original(uri, context)
        except ResourceNotFoundError:
            uris = [str(each.uri) for each in server._resource_manager.list_resources()]
            failed: BaseException = no_such("resource", str(uri), uris)
        except BaseException as exc:
            failed = taken(exc)
        # A crash, wrapped; the server's own table is to see what crashed.
        while isinstance(failed, UnexpectedResourceError) and failed.__cause__ is not None:
            failed = failed.__cause__
        raise boundary.request_error(failed, str(uri), {"uri": str(uri)}, context.request_context)

    return read_resource


def _get_prompt(server: MCPServer[Any], boundary: Boundary) -> Callable[..., Any]:
    original = server.get_prompt

    async def get_prompt(name: str, arguments: Any = None, context: Any = None) -> Any:
        if context is None or is_within(context.request_context):
            return await original(name, arguments, context)
        prompt = server._prompt_manager.get_prompt(name)
        if prompt is None:
            names = [each.name for each in server._prompt_manager.list_prompts()]
            raise boundary.request_error(no_such("prompt", name, names), name, {"name": name}, context.request_context)
        if missing := missing_arguments(prompt, arguments):
            raise boundary.request_error(missing, name, {"name": name}, context.request_context)
        try:
            return await original(name, arguments, context)
        except BaseException as exc:
            failed = taken(exc)
        # The SDK gives every exception here the same class; the cause is what happened.
        while type(failed) is ValueError and failed.__cause__ is not None and _says_the_same(failed):
            failed = failed.__cause__
        raise boundary.request_error(failed, name, {"name": name}, context.request_context)

    return get_prompt


def _id(context: Any) -> str | int | None:
    found: str | int | None = context.request_context.request_id
    return found


def _says_the_same(exc: BaseException) -> bool:
    return str(exc).startswith("Error rendering prompt ") or said(exc) == said(exc.__cause__ or exc)
