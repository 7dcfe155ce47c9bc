"""The scripted server itself: a low-level MCP server whose tools fail as the script says."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable
from typing import IO, Any, Literal, NoReturn, cast

import anyio
import anyio.lowlevel
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool

from failwell.formats import to_jsonrpc, to_result
from failwell.readers import from_http

from .faulty_wire import ORDER, Connections, HttpWire, StdoutWriter
from .ledger import Call, Ledger
from .script import Fault, Tool, outcome_of

Transport = Literal["stdio", "http"]


class Stage:
    """Where the script is played: each call finds its fault, and has its effect or has it not."""

    def __init__(self, ledger: Ledger, transport: Transport, leave: Callable[[int], NoReturn] = os._exit) -> None:
        self.ledger = ledger
        self.transport = transport
        self.leave = leave

    def server(self) -> Server[Any]:
        return Server("scripted", version="1", on_list_tools=self.list, on_call_tool=self.call)

    async def list(self, ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_listed(tool) for tool in self.ledger.script.tools.values()])

    async def call(self, ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = self.ledger.script.tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        call = self.ledger.arrive(tool.name, params.arguments or {})
        fault = call.fault
        if fault is not None and fault.kind == "late" and fault.at == "before":
            await anyio.sleep(fault.options["seconds"])
            fault = None
        if tool.effect and (fault is None or fault.at != "before"):
            self.ledger.take_effect(call, part=fault is not None and fault.at == "during")
        self.ledger.sync()
        era = ctx.protocol_version
        result = self.answer(tool, call) if fault is None else await self.failing(tool, call, fault, era)
        return CallToolResult.model_validate(result)

    async def failing(self, tool: Tool, call: Call, fault: Fault, era: str) -> dict[str, Any]:
        """The result of a call that meets a fault, if it has one."""
        options = fault.options
        match fault.kind:
            case "error":
                outcome = outcome_of(fault)
                if options.get("protocol"):
                    error: Any = to_jsonrpc(outcome, era=era)["error"]
                    raise MCPError(error["code"], error["message"], error.get("data"))
                given = {"output_schema": tool.output_schema is not None, **options.get("options", {})}
                return to_result(outcome, options["format"], era=era, **given)
            case "text":
                return {"content": [{"type": "text", "text": options["text"]}], "isError": options["is_error"]}
            case "protocol":
                raise MCPError(options["code"], options["message"], options.get("data"))
            case "http" if self.transport == "stdio":
                answered = from_http(options["status"], options.get("headers"), options.get("body"), method="POST")
                # As words: whoever passes a status on has looked at nothing else.
                return to_result(answered, era=era, meta=False)
            case "crash":
                self.leave(options["code"])
            case "hang":
                await anyio.sleep_forever()
            case "late":
                await anyio.sleep(options["seconds"])
                return self.answer(tool, call)
        # The right answer, with an order to the wire to send something else. A script may leave out some of it.
        order = {"do": fault.kind, "headers": {}, "body": None, **options}
        return {**self.answer(tool, call), "_meta": {ORDER: order}}

    def answer(self, tool: Tool, call: Call) -> dict[str, Any]:
        """The result of a call that worked."""
        said: dict[str, Any] = {"ok": True, "attempt": call.attempt} if tool.answer is None else dict(tool.answer)
        if tool.reads is not None:
            times = self.ledger.times(tool.reads, call.key)
            said |= {"done": times > 0, "times": times}
        return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}


def _listed(tool: Tool) -> ListedTool:
    hints = {
        "readOnlyHint": tool.read_only,
        "idempotentHint": tool.idempotent,
        "destructiveHint": tool.destructive,
    }
    given = {name: hint for name, hint in hints.items() if hint is not None}
    schema: dict[str, Any] = {"type": "object", **tool.input_schema}
    if tool.key is not None and tool.key not in schema.get("properties", {}):
        # The schema knows the tool's key: whoever looks for a call that tells, looks there.
        schema["properties"] = {**schema.get("properties", {}), tool.key: {}}
        if tool.reads is not None:
            schema["required"] = [*schema.get("required", ()), tool.key]
    return ListedTool(
        name=tool.name,
        description=tool.description,
        input_schema=schema,
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=ToolAnnotations.model_validate(given) if given else None,
    )


def serve_stdio(ledger: Ledger, leave: Callable[[int], NoReturn] = os._exit, watched: tuple[int, ...] = ()) -> NoReturn:
    """Serve one client on stdin and stdout until it leaves, or until what is watched ends."""
    asyncio.run(_stdio(Stage(ledger, "stdio", leave), watched))
    leave(0)


async def _stdio(stage: Stage, watched: tuple[int, ...]) -> None:
    _end_with(watched)
    # The wire gets a descriptor of its own, so that a stray print does not reach it.
    writer = StdoutWriter(os.dup(1), stage.leave)
    os.dup2(2, 1)
    server = stage.server()
    async with stdio_server(stdout=anyio.wrap_file(cast("IO[str]", writer))) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(ledger: Ledger, listener: socket.socket, watched: tuple[int, ...] = ()) -> NoReturn:
    """Serve on a socket that listens, until what is watched ends."""
    # Everything that goes wrong here is meant to.
    logging.disable(logging.CRITICAL)
    app = HttpWire(Stage(ledger, "http").server().streamable_http_app())
    config = uvicorn.Config(
        app, http=Connections, loop="asyncio", ws="none", lifespan="on", log_config=None, access_log=False
    )

    async def serve() -> None:
        _end_with(watched)
        await uvicorn.Server(config).serve(sockets=[listener])

    asyncio.run(serve())
    os._exit(0)


def _end_with(watched: tuple[int, ...]) -> None:
    """End this process when one of these descriptors does: what stands behind it is gone."""
    loop = asyncio.get_running_loop()
    for descriptor in watched:
        loop.add_reader(descriptor, os._exit, 0)
