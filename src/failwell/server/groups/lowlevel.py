"""Groups on the low-level `mcp` Server: their tools stand beside those of the server's own handlers.

The server's two handlers for tools become ours, and whoever registers another one gets the place behind them. So it
does not matter when that happens, and a server without any handler of its own says that it has tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, get_args, get_origin, get_type_hints

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from pydantic import ValidationError
from pydantic_core import to_json, to_jsonable_python

from failwell.formats import render
from failwell.model import ToolError, unwrapped
from failwell.server.served_call import current

from .group import GROUPS, Bound, Group, GroupAction, taken
from .mcpserver import rejection

Handler = Callable[[Any, Any], Awaitable[Any]]

_HOST: Final = "_failwell_group_host"


def bind(group: Group, server: Server[Any]) -> None:
    host: Host = getattr(server, _HOST, None) or Host(server)
    host.add(group)


class Host:
    """The groups of one server, in front of its own tools."""

    def __init__(self, server: Server[Any]) -> None:
        self._ours: dict[str, Handler] = {"tools/list": self.list_tools, "tools/call": self.call_tool}
        self._params: dict[str, Any] = {"tools/list": PaginatedRequestParams, "tools/call": CallToolRequestParams}
        self._theirs: dict[str, Handler] = {}
        self._groups: dict[str, Group] = {}
        self._tools: dict[str, LowlevelGroupTool] = {}
        register = server.add_request_handler
        known = {method: server._request_handlers.get(method) for method in self._ours}

        def add_request_handler(method: str, params_type: Any, handler: Any) -> None:
            if method in self._ours:
                self._theirs[method] = handler
                handler = self._ours[method]
            register(method, params_type, handler)

        for method, entry in known.items():
            if entry is None:
                register(method, self._params[method], self._ours[method])
            else:
                add_request_handler(method, entry.params_type, entry.handler)
        server.add_request_handler = add_request_handler  # type: ignore[method-assign]
        setattr(server, GROUPS, self._groups)
        setattr(server, _HOST, self)

    def add(self, group: Group) -> None:
        if group.name in self._groups:
            raise taken(group)
        self._tools[group.name] = LowlevelGroupTool(group)
        self._groups[group.name] = group

    async def list_tools(self, ctx: Any, params: Any) -> Any:
        ours = [tool.listed for tool in self._tools.values()]
        theirs = self._theirs.get("tools/list")
        if theirs is None:
            return ListToolsResult(tools=ours)
        result = await theirs(ctx, params)
        page = ListToolsResult.model_validate(result) if isinstance(result, dict) else result
        # Nothing is listed twice: a group comes with the first page, and before a tool that has its name.
        ours = [] if getattr(params, "cursor", None) else ours
        return page.model_copy(
            update={"tools": [*(each for each in page.tools if each.name not in self._tools), *ours]}
        )

    async def call_tool(self, ctx: Any, params: Any) -> Any:
        tool = self._tools.get(params.name)
        if tool is not None:
            return await tool.run(ctx, params.arguments or {})
        theirs = self._theirs.get("tools/call")
        if theirs is None:
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {params.name}")
        return await theirs(ctx, params)


class LowlevelGroupTool:
    """What is listed for a group, and how it is called."""

    def __init__(self, group: Group) -> None:
        contexts = {name: _context_parameter(each.fn) for name, each in group.actions.items()}
        self._actions: dict[str, tuple[GroupAction, FuncMetadata, str | None]] = {
            name: (each, func_metadata(each.fn, [*filter(None, [contexts[name]])], False), contexts[name])
            for name, each in group.actions.items()
        }
        self._bound: Bound = group.bound(
            {
                name: metadata.arg_model.model_json_schema(by_alias=True)
                for name, (_, metadata, _) in self._actions.items()
            }
        )
        self.listed = Tool(
            name=group.name,
            title=group.title,
            description=group.description,
            input_schema=self._bound.listed,
            annotations=group.annotations,
        )

    async def run(self, ctx: Any, arguments: dict[str, Any]) -> Any:
        try:
            action, metadata, context, values = self._understood(arguments)
        except ToolError as error:
            if current.get() is not None:
                raise
            # Nobody else would tell the model.
            return CallToolResult(content=[_text(render(error, "text"))], is_error=True)
        given = {} if context is None else {context: ctx}
        return result_of(await metadata.call_fn(action.fn, _is_async(action.fn), values, given))

    def _understood(self, arguments: dict[str, Any]) -> tuple[GroupAction, FuncMetadata, str | None, dict[str, Any]]:
        name, own = self._bound.split(arguments)
        action, metadata, context = self._actions[name]
        if not self._bound.has(name, own):
            raise self._bound.refusal(name, own, rejection(metadata, own))
        try:
            return action, metadata, context, metadata.validate_arguments(own)
        except ValidationError as exc:
            raise self._bound.refusal(name, own, exc) from exc


def _context_parameter(fn: Callable[..., Any]) -> str | None:
    try:
        hints = get_type_hints(fn)
    except Exception:
        # Where the hints cannot be read, nothing can be seen to be a context.
        return None
    return next((name for name, hint in hints.items() if name != "return" and _is_context(hint)), None)


def _is_context(hint: Any) -> bool:
    return any(ServerRequestContext in (part, get_origin(part)) for part in (hint, *get_args(hint)))


def _is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def result_of(value: Any) -> CallToolResult | InputRequiredResult:
    """What an action returned, as a result: blocks as they are, texts as text, and the rest as JSON."""
    value = unwrapped(value)
    if isinstance(value, (CallToolResult, InputRequiredResult)):
        return value
    if value is None:
        return CallToolResult(content=[])
    if isinstance(value, str):
        return CallToolResult(content=[_text(value)])
    blocks = list(value) if isinstance(value, (list, tuple)) else [value]
    if blocks and all(isinstance(block, ContentBlock) for block in blocks):
        return CallToolResult(content=blocks)
    plain = to_jsonable_python(value, by_alias=True, fallback=str)
    structured = plain if isinstance(plain, dict) else None
    return CallToolResult(content=[_text(to_json(plain).decode())], structured_content=structured)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)
