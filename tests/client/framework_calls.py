"""Agent frameworks that make MCP calls themselves, on flaky_app.py: what a model is shown of each call, as JSON.

    python framework_calls.py {stdio|plain} WAY …

It runs where the framework is installed: `make bridges` makes such an environment for each. No model is asked: what it
would ask for is done by the framework's own part that answers a model.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import failwell as fw
from failwell.observe import store

APP = str(Path(__file__).parents[1] / "server/flaky_app.py")
POLICY = fw.Policy(base_delay=0.01)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("busy", {"city": "Oslo"}),
    ("find_order", {"id": 7}),
    ("get_payment", {"invoce": "inv_1"}),
    ("pay", {"invoice": "inv_1", "amount": 5}),
    ("get_payment", {"invoice": "inv_1"}),
    ("dies", {"city": "Oslo"}),
    ("ship", {"order": "o_1"}),
)
ONE_CONNECTION = ("crewai_tools", "openai_agents", "openai_agents_old")
"""Whose connection is lost for good when its server dies."""
UNCOUNTED = ("openai_agents", "openai_agents_old")
"""Whose framework refuses a call by itself, or cannot send by what other seats know one."""


class Shown(NamedTuple):
    """What a model is shown of a call, and whether the framework knows that it failed."""

    text: str
    is_error: bool


Ask = Callable[[str, dict[str, Any]], Awaitable[Shown]]


def args(style: str, folder: str) -> list[str]:
    return [APP, style, folder]


def events(folder: str) -> str:
    """The store that client and server write to: a call that both have seen is in it once."""
    return f"sqlite:///{folder}/events.db"


def counted(folder: str) -> dict[str, int]:
    """How often each tool was called, by the seats that have seen the attempt: 1 is the server, 4 the client.

    Without the one that not all of them are asked for."""
    store(events(folder)).close()
    with closing(sqlite3.connect(Path(folder) / "events.db")) as kept:
        told = "SELECT tool || ' ' || seats, count(*) FROM event WHERE tool <> 'dies' GROUP BY tool, seats ORDER BY tool, seats"
        return dict(kept.execute(told).fetchall())


async def langchain(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    """A bridge that is tested without this, whose words the others are held against."""
    from langchain_core.tools import BaseTool, StructuredTool
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

    from failwell.client.langchain import recovering

    params = StdioServerParameters(command=sys.executable, args=args(style, folder))

    def adapted(each: Any) -> BaseTool:
        async def call(**arguments: Any) -> Any:
            async with Client(params) as client:
                result = await client.call_tool(each.name, arguments)
            return [block.model_dump(include={"type", "text"}) for block in result.content], result

        return StructuredTool(
            name=each.name,
            description=each.description,
            args_schema=each.input_schema,
            coroutine=call,
            response_format="content_and_artifact",
            metadata={"annotations": each.annotations},
        )

    async with Client(params) as client:
        listed = (await client.list_tools()).tools
    tools = {
        each.name: each for each in recovering([adapted(each) for each in listed], policy=POLICY, events=events(folder))
    }

    async def ask(name: str, arguments: dict[str, Any]) -> Shown:
        message = await tools[name].ainvoke({"name": name, "args": arguments, "id": "c1", "type": "tool_call"})
        text = message.content if isinstance(message.content, str) else message.content[0]["text"]
        return Shown(text, message.status == "error")

    await calls(ask)


async def langchain_mcp(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from langchain_core.messages import AIMessage
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langgraph.graph import MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from failwell.client.langchain_mcp import recovering

    server = {"transport": "stdio", "command": sys.executable, "args": args(style, folder)}
    client = MultiServerMCPClient({"shop": server}, tool_name_prefix=True)
    tools = ToolNode(await recovering(client, policy=POLICY, events=events(folder)).get_tools())
    graph = StateGraph(MessagesState).add_node("tools", tools).set_entry_point("tools").compile()

    async def ask(name: str, arguments: dict[str, Any]) -> Shown:
        asked = AIMessage("", tool_calls=[{"name": f"shop_{name}", "args": arguments, "id": "c1"}])
        answer = (await graph.ainvoke({"messages": [asked]}))["messages"][-1]
        [block] = answer.content
        return Shown(block["text"].replace("shop_", ""), answer.status == "error")

    await calls(ask)


async def google_adk(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
    from google.genai import types
    from mcp import StdioServerParameters

    from failwell.client.google_adk import recovering

    asked: list[tuple[str, dict[str, Any]]] = []
    seen: list[Any] = []

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            last = llm_request.contents[-1].parts[-1]
            if last.function_response is not None:
                seen.append(last.function_response.response)
                part = types.Part(text="Done.")
            else:
                name, arguments = asked[-1]
                part = types.Part(function_call=types.FunctionCall(name=name, args=arguments))
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    params = StdioServerParameters(command=sys.executable, args=args(style, folder))
    toolset = recovering(
        McpToolset(connection_params=StdioConnectionParams(server_params=params, timeout=30), tool_name_prefix="shop"),
        policy=POLICY,
        events=events(folder),
    )
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=[toolset])
    runner = InMemoryRunner(agent=agent, app_name="shop")

    async def ask(name: str, arguments: dict[str, Any]) -> Shown:
        asked.append((f"shop_{name}", arguments))
        await runner.run_debug("Go on.", quiet=True)
        response = seen[-1]
        return Shown(response["content"][0]["text"].replace("shop_", ""), bool(response.get("isError")))

    try:
        await calls(ask)
    finally:
        await toolset.close()


async def llama_index(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from llama_index.core.llms.llm import ToolSelection
    from llama_index.core.tools.calling import acall_tool_with_selection
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    from failwell.client.llama_index import recovering

    spec = recovering(
        McpToolSpec(BasicMCPClient(sys.executable, args(style, folder))), policy=POLICY, events=events(folder)
    )
    tools = await spec.to_tool_list_async()

    async def ask(name: str, arguments: dict[str, Any]) -> Shown:
        chosen = ToolSelection(tool_id="c1", tool_name=name, tool_kwargs=arguments)
        output = await acall_tool_with_selection(chosen, tools)
        # What worked is what LlamaIndex makes of it: the written form of the SDK's object.
        content = output.content if output.is_error else output.raw_output.content[0].text
        return Shown(content, output.is_error)

    await calls(ask)


async def openai_agents(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage
    from agents.mcp import MCPServerStdio
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from failwell.client.openai_agents import recovering

    class Scripted(Model):
        """It makes one call, keeps what it is shown, and stops."""

        def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
            self.call = ResponseFunctionToolCall(
                type="function_call", call_id="c", name=tool, arguments=json.dumps(arguments)
            )
            self.shown: list[Any] = []

        async def get_response(self, system_instructions: Any, input: Any, *more: Any, **rest: Any) -> ModelResponse:
            self.shown = [each["output"] for each in input if each.get("type") == "function_call_output"]
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            done = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            return ModelResponse(output=[done if self.shown else self.call], usage=Usage(), response_id=None)

        def stream_response(self, *more: Any, **rest: Any) -> Any:
            raise NotImplementedError

    params: Any = {"command": sys.executable, "args": args(style, folder)}
    async with MCPServerStdio(params, cache_tools_list=True, client_session_timeout_seconds=30) as server:
        bridged = recovering(server, policy=POLICY, events=events(folder))

        async def ask(name: str, arguments: dict[str, Any]) -> Shown:
            model = Scripted(name, arguments)
            agent = Agent(name="clerk", model=model, mcp_servers=[bridged])
            await Runner.run(agent, "Go on.", run_config=RunConfig(tracing_disabled=True))
            [output] = model.shown
            text = _text_in(output)
            # The SDK marks no error, so the text does.
            return Shown(text.removeprefix("Error: "), text.startswith("Error: "))

        await calls(ask)


async def openai_agents_old(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    """The same in the oldest that is taken, which cannot send by what other seats know a call."""
    await openai_agents(style, folder, calls)


def _text_in(output: Any) -> str:
    """The text of an item: a list of parts, or before that the text block itself as JSON."""
    if isinstance(output, list):
        return str(output[0]["text"])
    return str(json.loads(output)["text"])


async def crewai(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from crewai import Agent
    from crewai.mcp import MCPServerStdio

    from failwell.client.crewai import recovering

    def tools() -> list[Any]:
        agent = Agent(role="clerk", goal="sell", backstory="none", llm=_silent_model())
        server = MCPServerStdio(command=sys.executable, args=args(style, folder))
        return recovering(agent.get_mcp_tools([server]), policy=POLICY, events=events(folder))

    made = await asyncio.to_thread(tools)
    await calls(_crewai_ask(made))


async def crewai_tools(style: str, folder: str, calls: Callable[[Ask], Awaitable[None]]) -> None:
    from crewai_tools import MCPServerAdapter
    from mcp import StdioServerParameters

    from failwell.client.crewai import recovering

    server = MCPServerAdapter(StdioServerParameters(command=sys.executable, args=args(style, folder)))
    try:
        await calls(_crewai_ask([*recovering(server, policy=POLICY, events=events(folder)).tools]))
    finally:
        server.stop()


def _silent_model() -> Any:
    from crewai import BaseLLM

    class Silent(BaseLLM):
        def call(self, *given: Any, **options: Any) -> str:
            return ""

    return Silent(model="silent")


def _crewai_ask(tools: list[Any]) -> Ask:
    from crewai.tools.tool_failure import detect_tool_failure
    from crewai.utilities.string_utils import sanitize_tool_name

    first = next(tool.name for tool in tools if tool.name.endswith("busy"))
    prefix = first.removesuffix("busy")

    async def ask(name: str, arguments: dict[str, Any]) -> Shown:
        tool = next(tool for tool in tools if tool.name == prefix + name)
        result = await asyncio.to_thread(lambda: tool.run(**arguments))
        failed = detect_tool_failure(result)
        text = failed.as_agent_message() if failed else tool.format_output_for_agent(result)
        # The names of its tools begin with the server's, and of long ones a part is a hash.
        for each in (each.name for each in tools):
            text = text.replace(sanitize_tool_name(each), each.removeprefix(prefix))
        return Shown(text, failed is not None)

    return ask


WAYS = {
    way.__name__: way
    for way in (
        langchain,
        langchain_mcp,
        google_adk,
        llama_index,
        openai_agents,
        openai_agents_old,
        crewai,
        crewai_tools,
    )
}


async def asked_of(way: str, style: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        # It is there before anybody writes to it.
        store(events(folder)).close()

        async def calls(ask: Ask) -> None:
            for number, (name, arguments) in enumerate(CALLS, 1):
                if name == "dies" and way in ONE_CONNECTION:
                    continue
                shown = await ask(name, arguments)
                # The validator's link names its version.
                text = re.sub(r"pydantic\.dev/2\.\d+/", "pydantic.dev/2/", shown.text)
                found[f"{number}. {name}"] = shown._replace(text=text)._asdict()

        await WAYS[way](style, folder, calls)
        for effect in ("payments", "shipped"):
            found[effect] = len((Path(folder) / effect).read_text())
        if style != "plain" and way not in UNCOUNTED:
            found["seen"] = counted(folder)
    return found


if __name__ == "__main__":
    logging.disable()
    [style, *ways] = sys.argv[1:]
    # On one line, the last: CrewAI prints what it does.
    print(json.dumps({way: asyncio.run(asked_of(way, style)) for way in ways}))
