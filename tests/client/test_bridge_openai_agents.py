"""The OpenAI Agents SDK: what its model is told, in which items, about the failures of real servers."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.exceptions import UserError
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from agents.models.interface import Model
from bridge_cases import (
    CASES,
    LOST,
    SCAN,
    SCAN_ORIGINAL,
    SCAN_REST,
    SCAN_STRUCTURED,
    STYLES,
    Case,
    Restraint,
    check_restraint,
    command,
    serving,
)
from mcp_types import CallToolResult
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import failwell as fw
from failwell.client.openai_agents import recovering


class Asking(Model):
    """A model that makes one call, keeps what it is shown, and stops."""

    def __init__(self, tool: str, arguments: str) -> None:
        self.call = ResponseFunctionToolCall(type="function_call", call_id="c", name=tool, arguments=arguments)
        self.shown: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *more: Any, **rest: Any) -> ModelResponse:
        self.shown = [item for item in input if item.get("type") == "function_call_output"]
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        done = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[done if self.shown else self.call], usage=Usage(), response_id=None)

    def stream_response(self, *more: Any, **rest: Any) -> Any:
        raise NotImplementedError


async def shown(tool: str, arguments: object, *, servers: list[MCPServer]) -> list[Any]:
    model = Asking(tool, arguments if isinstance(arguments, str) else json.dumps(arguments))
    agent = Agent(name="a", model=model, mcp_servers=servers)
    await Runner.run(agent, "Go.", run_config=RunConfig(tracing_disabled=True))
    return model.shown


def item(text: str) -> dict[str, Any]:
    return {"call_id": "c", "type": "function_call_output", "output": [{"type": "input_text", "text": text}]}


def marked(case: Case, style: str) -> str:
    text = case.text(style)
    return f"Error: {text.removeprefix('Error: ')}" if case.error else text


def on_stdio(style: str, **options: Any) -> MCPServerStdio:
    python, *args = command(style)
    return MCPServerStdio({"command": python, "args": args}, client_session_timeout_seconds=30, **options)


async def check(server: MCPServer, style: str) -> None:
    for name, case in CASES.items():
        assert (name, await shown(case.tool, case.arguments, servers=[server])) == (name, [item(marked(case, style))])
        if case.calls is not None:
            counted = await server.call_tool("called", {"name": case.tool})
            assert (name, counted.structured_content) == (name, {"result": case.calls})


@pytest.mark.parametrize("style", STYLES)
def test_the_model_sees_each_outcome_once_and_marked(style: str) -> None:
    async def main() -> None:
        async with on_stdio(style) as server:
            await check(recovering(server), style)

    anyio.run(main)


def test_it_is_the_same_over_http() -> None:
    async def main(url: str) -> None:
        async with MCPServerStreamableHttp({"url": url}, client_session_timeout_seconds=30) as server:
            await check(recovering(server), "failwell")

    with serving("failwell") as url:
        anyio.run(main, url)


def test_structured_content_and_a_second_recovering_change_nothing() -> None:
    async def main() -> None:
        async with on_stdio("failwell", use_structured_content=True) as server:
            bridged = recovering(recovering(server), policy=fw.Policy(max_attempts=2))
            assert bridged is server
            [told] = await shown("busy", {}, servers=[bridged])
            assert told == item(
                "Error: Too many requests. It was tried twice. Wait 0.1 seconds, then make the same call again."
            )
            [worked] = await shown("add", {"count": 1}, servers=[bridged])
            assert worked["output"] == '{"result": "The sum is 2."}'

    anyio.run(main)


def test_its_own_blind_repetitions_are_off() -> None:
    async def main() -> None:
        server = recovering(
            on_stdio("plain", max_retry_attempts=-1, retry_backoff_seconds_base=0.01, cache_tools_list=True)
        )
        assert server.max_retry_attempts == 0
        async with server:
            assert await shown("die", {}, servers=[server]) == [item(f"Error: {LOST}")]

    anyio.run(main)


def test_programs_find_the_error_in_the_result() -> None:
    async def main() -> CallToolResult:
        async with on_stdio("plain") as server:
            return await recovering(server).call_tool("find_user", {"id": 7})

    result = anyio.run(main)
    error = fw.parse(result)
    assert isinstance(error, fw.ToolError)
    assert (result.is_error, error.code, error.message) == (True, "NOT_FOUND", "User 7 not found")


def test_what_else_a_server_sends_with_a_failure_stays() -> None:
    async def main() -> tuple[CallToolResult, list[Any]]:
        async with on_stdio("plain", use_structured_content=True) as server:
            bridged = recovering(server)
            return await bridged.call_tool("scan", {}), await shown("scan", {}, servers=[bridged])

    result, [told] = anyio.run(main)
    wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert wire["content"] == [{"type": "text", "text": f"Error: {SCAN}"}, *SCAN_REST]
    assert (wire["isError"], wire["structuredContent"]) == (True, SCAN_STRUCTURED)
    assert wire["_meta"]["io.github.failwell/original"] == SCAN_ORIGINAL
    assert [each["type"] for each in told["output"]] == ["input_text", "input_image", "input_text", "input_text"]


def test_what_the_sdk_checks_by_itself_is_told_as_well() -> None:
    async def main() -> None:
        async with on_stdio("failwell") as server:
            assert await shown("add", {}, servers=[recovering(server)]) == [
                item('Error: count is missing. Next: call add with {"count": "<integer>"}.')
            ]
        with pytest.raises(UserError, match="not initialized"):
            await recovering(server).call_tool("add", {})

    anyio.run(main)


ANSWER_LOST = "Error: The answer was lost, so pay may have been done already. Next: ask the user."
SAID = [
    (
        "HTTP error 503",
        "Error: The upstream service answered 503 Service Unavailable.",
    ),
    (
        "HTTP error 429",
        "Error: The upstream service answered 429 Too Many Requests.",
    ),
    ("Connection lost. The server may have disconnected.", ANSWER_LOST),
    ("Connection timeout.", ANSWER_LOST),
    ("Request failed.", ANSWER_LOST),
]


@pytest.mark.parametrize(("words", "text"), SAID, ids=[words for words, _ in SAID])
def test_what_the_sdk_says_of_a_transport_is_understood(words: str, text: str) -> None:
    class Failing(MCPServerStdio):
        async def call_tool(self, *given: Any, **options: Any) -> Any:
            raise UserError(f"Failed to call tool 'pay' on MCP server 'bank': {words}")

    async def main() -> None:
        result = await recovering(Failing({"command": "none"})).call_tool("pay", {"id": 1})
        assert [block.text for block in result.content] == [text]

    anyio.run(main)


def test_a_server_is_spared_and_a_model_is_kept_from_loops() -> None:
    async def main() -> None:
        async with on_stdio("plain") as server:

            async def ask(row: Restraint) -> list[str]:
                bridged = recovering(server, policy=row.policy)
                told = [await shown(row.tool, row.arguments, servers=[bridged]) for _ in range(row.times)]
                return [each["output"][0]["text"].removeprefix("Error: ") for [each] in told]

            async def count(name: str) -> object:
                return (await server.call_tool("called", {"name": name})).structured_content["result"]

            await check_restraint(ask, count)

    anyio.run(main)
