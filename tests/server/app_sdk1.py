"""The servers of app.py on version 1 of the SDK: `mcp.server.fastmcp.FastMCP`, the low-level Server, and FastMCP 2 and 3."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import app
from sdk_names import UrlElicitationRequiredError

import failwell as fw


def tools_for(framework: str) -> list[app.Tool]:
    absent = {"url_elicitation"} if UrlElicitationRequiredError is None else set()
    return [each for each in app.tools_for(framework) if each.name not in absent]


def fastmcp1() -> Any:
    from mcp.server.fastmcp import FastMCP
    from mcp.server.fastmcp.prompts.base import Prompt
    from mcp.types import Completion

    server = FastMCP(app.NAME)
    app.calls_by(lambda name, arguments: server.call_tool(name, arguments))
    server._mcp_server.version = app.VERSION
    for each in tools_for("fastmcp1"):
        server.add_tool(each.fn, annotations=each.annotations)
    for uri in app.RESOURCES:
        server.resource(uri, name=uri.rpartition("/")[2])(app._reader(uri))
    server.resource(app.TEMPLATE)(app.book)
    for fn in app.PROMPTS:
        server.add_prompt(Prompt.from_function(fn))

    @server._mcp_server.completion()
    async def completion(ref: Any, argument: Any, *context: Any) -> Completion:
        return Completion(values=app.complete(argument.value))

    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP
    from fastmcp.server.middleware import Middleware
    from mcp.types import Completion

    class Around(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            app.limit(context.message.name)
            result = await call_next(context)
            await app.audit(context.message.name)
            return result

    server = FastMCP(app.NAME, version=app.VERSION, middleware=[Around()])

    # FastMCP 2 has no public way but to run the tool by hand.
    call_tool = getattr(server, "call_tool", None) or server._tool_manager.call_tool
    app.calls_by(call_tool, app.by_hand(server))
    timed = "timeout" in inspect.signature(server.tool).parameters
    for each in tools_for("fastmcp"):
        more = {"timeout": each.timeout} if timed else {}
        server.tool(each.fn, annotations=each.annotations, **more)
    for uri in app.RESOURCES:
        server.resource(uri, name=uri.rpartition("/")[2])(app._reader(uri))
    server.resource(app.TEMPLATE)(app.book)
    for fn in app.PROMPTS:
        server.prompt(fn)

    @server._mcp_server.completion()
    async def completion(ref: Any, argument: Any, *context: Any) -> Completion:
        return Completion(values=app.complete(argument.value))

    return server


def lowlevel() -> Any:
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.lowlevel.helper_types import ReadResourceContents

    tools = {each.name: each for each in tools_for("lowlevel")}
    server = _WithApp(Server)(app.NAME, version=app.VERSION)
    structured = "outputSchema" in types.Tool.model_fields
    takes_results = "isinstance(results, types.CallToolResult)" in inspect.getsource(Server.call_tool)

    @server.list_tools()
    async def list_tools() -> list[types.Tool]:
        return [
            types.Tool(
                name=each.name,
                description=each.fn.__doc__,
                inputSchema=app._input_schema(each.fn),
                annotations=each.annotations,
                **({"outputSchema": app._output_schema(each.fn)} if structured else {}),
            )
            for each in tools.values()
        ]

    @server.call_tool()
    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        if name not in tools:
            raise ValueError(f"Unknown tool: {name}")
        fn = tools[name].fn
        known = inspect.signature(fn).parameters
        value = fn(**{key: given for key, given in arguments.items() if key in known})
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, fw.Ok):
            return fw.Ok(_content(value.value))
        return value if isinstance(value, (fw.ToolError, fw.NeedsInput, fw.Err)) else _content(value)

    def _content(value: Any) -> Any:
        """What this SDK takes from a tool: blocks, and since 1.10 what is structured beside them."""
        result = app._result(value)
        if isinstance(value, app.Nothing) or (isinstance(value, types.CallToolResult) and takes_results):
            return value
        beside = getattr(result, "structuredContent", None)
        return result.content if beside is None or not structured else (result.content, beside)

    @server.list_resources()
    async def list_resources() -> list[types.Resource]:
        return [types.Resource(uri=uri, name=uri.rpartition("/")[2]) for uri in app.RESOURCES]

    @server.list_resource_templates()
    async def list_templates() -> list[types.ResourceTemplate]:
        return [types.ResourceTemplate(uriTemplate=app.TEMPLATE, name="book")]

    @server.read_resource()
    async def read_resource(uri: Any) -> Any:
        start, _, isbn = str(uri).rpartition("/")
        found = app.book(isbn) if start == "shop://books" else app._read(str(uri))
        return [ReadResourceContents(content=found, mime_type="text/plain")]

    @server.list_prompts()
    async def list_prompts() -> list[types.Prompt]:
        return [types.Prompt(name=fn.__name__) for fn in app.PROMPTS]

    @server.get_prompt()
    async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
        fn = {fn.__name__: fn for fn in app.PROMPTS}.get(name)
        if fn is None:
            raise ValueError(f"Unknown prompt: {name}")
        content = types.TextContent(type="text", text=fn(**(arguments or {})))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    @server.completion()
    async def completion(ref: Any, argument: Any, *context: Any) -> types.Completion:
        return types.Completion(values=app.complete(argument.value))

    return server


def _WithApp(kind: type) -> type:
    """The low-level server of 1.x with what 2.x has: an application that serves it over HTTP."""

    class Server(kind):  # type: ignore[misc]
        def streamable_http_app(self) -> Any:
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
            from starlette.applications import Starlette
            from starlette.routing import Route

            manager = StreamableHTTPSessionManager(app=self)

            @asynccontextmanager
            async def lifespan(app: Any) -> AsyncIterator[None]:
                async with manager.run():
                    yield

            class Serving:
                async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
                    await manager.handle_request(scope, receive, send)

            return Starlette(routes=[Route("/mcp", endpoint=Serving())], lifespan=lifespan)

    return Server


SERVERS: dict[str, Callable[[], Any]] = {"fastmcp1": fastmcp1, "lowlevel": lowlevel}
try:
    import fastmcp as _  # noqa: F401
except ImportError:
    pass
else:
    SERVERS = {"fastmcp": fastmcp}
