"""One function per client: it connects to a server, calls tools, and gives back what a model would be shown for each.

Nothing here says how a client ought to behave; where a client has choices, its defaults are taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).parent
NODE: Final = Path(sys.executable).with_name("node")
PATIENCE: Final = 60.0

Call = tuple[str, dict[str, Any]]
Target = Sequence[str] | str
"""The command of a server that is started, or the address of one that listens."""


class Shown(NamedTuple):
    """The text that reaches the model, whether the client marks it as a failure, whether it hands over the structured
    content beside it, and what it threw instead."""

    text: str
    marked: bool = False
    structured: bool = False
    thrown: str | None = None


def _joined(blocks: Sequence[Any]) -> str:
    return "\n".join(block.text if hasattr(block, "text") else block["text"] for block in blocks)


async def python_sdk(target: Target, calls: Sequence[Call], mode: str = "auto") -> list[Shown]:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client

    if not isinstance(target, str):
        with open(os.devnull, "w") as nowhere:
            parameters = StdioServerParameters(command=target[0], args=list(target[1:]))
            async with mcp.Client(stdio_client(parameters, errlog=nowhere), mode=mode) as client:
                return await _python_sdk_calls(client, calls)
    async with mcp.Client(target, mode=mode) as client:
        return await _python_sdk_calls(client, calls)


async def _python_sdk_calls(client: Any, calls: Sequence[Call]) -> list[Shown]:
    import mcp

    await client.list_tools()
    shown = []
    for name, arguments in calls:
        try:
            result = await client.call_tool(name, arguments)
        except (mcp.MCPError, RuntimeError) as exc:
            shown.append(Shown("", thrown=str(exc)))
        else:
            shown.append(Shown(_joined(result.content), result.is_error, result.structured_content is not None))
    return shown


async def typescript(target: Target, calls: Sequence[Call], sdk: int, pin: str | None = None) -> list[Shown]:
    """Version 1 or 2 of the TypeScript SDK, in a process of its own."""
    where = {"url": target} if isinstance(target, str) else {"command": list(target)}
    order = {"sdk": sdk, "calls": calls, "pin": pin, **where}
    ran = subprocess.run(
        [str(NODE), str(HERE / "typescript.mjs"), json.dumps(order)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    return [_typescript_shown(**json.loads(line)) for line in ran.stdout.splitlines()]


def _typescript_shown(result: dict[str, Any] | None = None, thrown: dict[str, Any] | None = None) -> Shown:
    if result is None:
        return Shown("", thrown=(thrown or {})["message"])
    return Shown(_joined(result["content"]), result.get("isError", False), "structuredContent" in result)


def _fastmcp_transport(target: Target) -> Any:
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if isinstance(target, str):
        return StreamableHttpTransport(target)
    return StdioTransport(target[0], list(target[1:]), keep_alive=False, log_file=Path(os.devnull))


async def fastmcp(target: Target, calls: Sequence[Call], *, raises: bool = True) -> list[Shown]:
    """`call_tool`, whose exception says what is shown, or `call_tool_mcp`, which gives back the result as it came."""
    import fastmcp
    from fastmcp.exceptions import ToolError
    from mcp.shared.exceptions import MCPError

    shown = []
    async with fastmcp.Client(_fastmcp_transport(target)) as client:
        await client.list_tools()
        for name, arguments in calls:
            try:
                result: Any = await (client.call_tool if raises else client.call_tool_mcp)(name, arguments)
            except ToolError as exc:
                shown.append(Shown(str(exc), marked=True))
            except (MCPError, RuntimeError) as exc:
                shown.append(Shown("", thrown=str(exc)))
            else:
                shown.append(Shown(_joined(result.content), result.is_error, result.structured_content is not None))
    return shown


async def pydantic_ai(target: Target, calls: Sequence[Call], behaviour: Any = "retry") -> list[Shown]:
    """An agent whose model makes one of the calls and then reads the part of the history that answers it."""
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    shown: list[Shown] = []

    async def run(name: str, arguments: dict[str, Any]) -> None:
        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            answers = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
            if not answers:
                return ModelResponse(parts=[ToolCallPart(name, arguments)])
            part = answers[0]
            shown.append(Shown(part.model_response_str(wrap_if_error=False), part.outcome != "success"))
            return ModelResponse(parts=[TextPart("done")])

        await Agent(FunctionModel(model), toolsets=[toolset]).run("Go.")

    toolset: MCPToolset[Any] = MCPToolset(
        _fastmcp_transport(target), tool_error_behavior=behaviour, init_timeout=PATIENCE
    )
    async with toolset:
        for name, arguments in calls:
            await run(name, arguments)
    return shown


async def openai_agents(target: Target, calls: Sequence[Call], *, stale: bool = False) -> list[Shown]:
    """A run whose model makes all calls in one turn, and reads the outputs in the next.

    With `stale` the agent's list of tools also has those that the server does not have (any more).
    """
    import agents
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    read: dict[str, Any] = {}

    class Fake(Model):
        async def get_response(self, system_instructions: Any, input: Any, *more: Any, **rest: Any) -> Any:
            read.update(
                {item["call_id"]: item["output"] for item in input if item.get("type") == "function_call_output"}
            )
            if read:
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                output: list[Any] = [
                    ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
                ]
            else:
                output = [
                    ResponseFunctionToolCall(
                        type="function_call", call_id=f"c_{number}", name=name, arguments=json.dumps(arguments)
                    )
                    for number, (name, arguments) in enumerate(calls)
                ]
            return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

        def stream_response(self, *more: Any, **rest: Any) -> Any:
            raise NotImplementedError

    base: Any = MCPServerStreamableHttp if isinstance(target, str) else MCPServerStdio
    parameters: Any = {"url": target} if isinstance(target, str) else {"command": target[0], "args": list(target[1:])}

    class Server(base):
        async def list_tools(self, *more: Any) -> Any:
            tools = await super().list_tools(*more)
            gone = {name for name, _ in calls} - {tool.name for tool in tools} if stale else set()
            return [*tools, *(tools[0].model_copy(update={"name": name}) for name in sorted(gone))]

    async with Server(parameters, client_session_timeout_seconds=PATIENCE) as server:
        agent = agents.Agent(name="a", model=Fake(), mcp_servers=[server])
        await agents.Runner.run(agent, "Go.", run_config=agents.RunConfig(tracing_disabled=True))
    return [Shown(_agents_text(read[f"c_{number}"])) for number in range(len(calls))]


def _agents_text(output: Any) -> str:
    return output if isinstance(output, str) else "\n".join(item["text"] for item in output)
