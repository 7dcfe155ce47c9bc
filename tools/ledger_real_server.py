"""A server whose tools do real things and really raise: `python ledger_real_server.py FOLDER stdio|http`.

`FOLDER/plan.json` says what each call meets. What is done is appended to `FOLDER/ledger.jsonl`, and is on the disk
before anything else happens; `FOLDER/ran` has a file for each call, with a byte for each time its tool ran. Over HTTP
the port is printed, and a gateway stands before the server which forwards calls and then answers by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types

import failwell
from ledger_real_answers import ANSWERS, PLAIN
from ledger_real_causes import World, provoke
from ledger_real_gateway import Gateway
from ledger_real_plan import KINDS, READS, Kind

Convert = Callable[[types.CallToolResult], Any]
_SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "note": {"type": "string"}},
    "required": ["id"],
}


class Bank:
    """Does what the tools are there for, and meets what the plan says."""

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self._folder = folder
        self._jobs = plan["jobs"]
        self.world: World | None = None

    async def perform(self, kind: Kind, id: str) -> types.CallToolResult:
        """One run of a tool that says nowhere where its effects are."""
        step = self._begin(id)
        return self._succeed(kind, id) if step is None else await self._fail(kind, id, step)

    def marked(self, kind: Kind, convert: Convert = lambda result: result) -> Callable[..., Any]:
        """A tool that says where its effects are, in the calls where the plan says so. The function of the tool itself
        has to: of one that is called by it, nobody says what was done before."""

        async def tool(id: str, note: str = ""):  # type: ignore[no-untyped-def]
            step = self._begin(id)
            if step is not None and step["guarded"]:
                if step["at"] == "before":
                    await self._provoke(step)
                with failwell.effects():
                    self._do(kind, id, *_PARTS[step["at"]])
                    if step["at"] == "between":
                        await self._provoke(step)
                await self._provoke(step)
            return convert(self._succeed(kind, id) if step is None else await self._fail(kind, id, step))

        return tool

    def _begin(self, id: str) -> dict[str, Any] | None:
        """What this run of the tool meets; None if it works."""
        steps, ran = self._jobs[id]["steps"] if id in self._jobs else [], self._run(id)
        return steps[ran] if ran < len(steps) else None

    def _succeed(self, kind: Kind, id: str) -> types.CallToolResult:
        self._do(kind, id, "debit", "credit")
        answer = self._jobs[id]["answer"] if id in self._jobs else "plain"
        return types.CallToolResult.model_validate(ANSWERS[answer] if kind.writes else PLAIN)

    async def _fail(self, kind: Kind, id: str, step: dict[str, Any]) -> types.CallToolResult:
        self._do(kind, id, *_PARTS[step["at"]])
        await self._provoke(step)
        raise AssertionError(step)

    async def _provoke(self, step: dict[str, Any]) -> None:
        assert self.world is not None
        await provoke(step["cause"], self.world)

    def _run(self, id: str) -> int:
        """How often the tool ran for this call before. Another process may ask next, so it is kept in a file."""
        with open(self._folder / "ran" / id, "ab") as file:
            before = file.tell()
            file.write(b".")
        return before

    def _do(self, kind: Kind, id: str, *parts: str) -> None:
        if not kind.writes:
            return
        for part in parts:
            line = json.dumps({"id": id, "tool": kind.name, "part": part}) + "\n"
            ledger = os.open(self._folder / "ledger.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(ledger, line.encode())
                os.fsync(ledger)
            finally:
                os.close(ledger)


_PARTS: dict[str, tuple[str, ...]] = {"before": (), "between": ("debit",), "after": ("debit", "credit")}


def mcpserver(bank: Bank, installed: bool) -> tuple[Any, type[Exception], Callable[[], Any]]:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("bank", log_level="CRITICAL")

    for kind in KINDS.values():
        tool = bank.marked(kind)
        tool.__annotations__["return"] = types.CallToolResult
        server.add_tool(tool, name=kind.name, description="Work.", annotations=kind.annotations)
    return server, ToolError, lambda: server.call_tool("pay", {"idd": "1"})


def fastmcp(bank: Bank, installed: bool) -> tuple[Any, type[Exception], Callable[[], Any]]:
    from fastmcp import FastMCP
    from fastmcp.exceptions import ToolError
    from fastmcp.tools.base import ToolResult

    server: Any = FastMCP("bank")

    def convert(done: types.CallToolResult) -> ToolResult:
        return ToolResult(done.content, done.structured_content, meta=done.meta)

    for kind in KINDS.values():
        server.tool(bank.marked(kind, convert), name=kind.name, description="Work.", annotations=kind.annotations)
    return server, ToolError, lambda: server.call_tool("pay", {"idd": "1"})


def lowlevel(bank: Bank, installed: bool) -> tuple[Any, type[Exception], Callable[[], Any]]:
    from mcp import MCPError
    from mcp.server.lowlevel import Server

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        tools = [
            types.Tool(name=kind.name, description="Work.", input_schema=_SCHEMA, annotations=kind.annotations)
            for kind in KINDS.values()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
        try:
            return await bank.perform(KINDS[params.name], str((params.arguments or {})["id"]))
        except MCPError:
            raise
        except Exception as broken:
            if installed:
                raise
            # As most servers without a framework do it.
            return types.CallToolResult(content=[types.TextContent(text=f"Error: {broken}")], is_error=True)

    _, planned, nested = mcpserver(bank, installed)
    return Server("bank", on_list_tools=list_tools, on_call_tool=call_tool), planned, nested


FRAMEWORKS = {"mcpserver": mcpserver, "fastmcp": fastmcp, "lowlevel": lowlevel}


def install(server: Any, keyed: bool) -> None:
    """Put Failwell on it, with the patterns of reads where this Failwell knows them."""
    import failwell.server

    options: dict[str, Any] = {"idempotency": keyed, "logger": logging.getLogger("quiet")}
    try:
        failwell.server.install(server, **options, reads=READS)
    except TypeError:
        failwell.server.install(server, **options)


def main() -> None:
    folder, transport = Path(sys.argv[1]), sys.argv[2]
    plan = json.loads((folder / "plan.json").read_text())
    logging.disable(logging.CRITICAL)
    # Who runs a thousand calls does not want to read what a server says when its client has gone.
    os.dup2(os.open(folder / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    bank = Bank(folder, plan)
    server, tool_error, nested = FRAMEWORKS[plan["framework"]](bank, plan["installed"])
    bank.world = World(folder, tool_error, nested)
    if plan["installed"]:
        install(server, plan["keyed"])
    if transport == "stdio":
        asyncio.run(_stdio(plan["framework"], server))
    else:
        _http(plan, server)


async def _stdio(framework: str, server: Any) -> None:
    if framework == "mcpserver":
        await server.run_stdio_async()
    elif framework == "fastmcp":
        await server.run_stdio_async(show_banner=False)
    else:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def _http(plan: dict[str, Any], server: Any) -> None:
    import uvicorn

    app = server.http_app(path="/mcp") if plan["framework"] == "fastmcp" else server.streamable_http_app()
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)

    def end_with_stdin() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    gates = {id: job["gates"] for id, job in plan["jobs"].items()}
    gateway = Gateway(app, gates, plan["header"])
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(gateway, log_level="critical", log_config=None)).run(sockets=[listening])


if __name__ == "__main__":
    main()
