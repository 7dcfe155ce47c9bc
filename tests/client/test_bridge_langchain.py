"""LangChain: the messages that come back from tools that fail, alone and in front of real servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from bridge_cases import CASES, SCAN, SCAN_ORIGINAL, SCAN_REST, STYLES, Restraint, check_restraint, command
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

import failwell as fw
from failwell.client import Recovering
from failwell.client.langchain import recovering


def tools_of(client: Any, listed: list[Any]) -> list[BaseTool]:
    """The tools of a server, as an adapter makes them: blocks for the model, the result as the artifact."""

    def adapted(each: Any) -> BaseTool:
        async def call(**arguments: Any) -> Any:
            result = await client.call_tool(each.name, arguments)
            return [block.model_dump(include={"type", "text"}) for block in result.content], result

        return StructuredTool(
            name=each.name,
            description=each.description,
            args_schema=each.input_schema,
            coroutine=call,
            response_format="content_and_artifact",
            metadata=None if each.annotations is None else each.annotations.model_dump(by_alias=True),
        )

    return [adapted(each) for each in listed]


async def answer(tools: list[BaseTool], name: str, arguments: dict[str, Any]) -> list[ToolMessage]:
    """One turn of an agent's loop: what answers the calls in a model's message."""
    by_name = {each.name: each for each in tools}
    asked = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])
    return [await by_name[call["name"]].ainvoke({**call, "type": "tool_call"}) for call in asked.tool_calls]


def shown(message: ToolMessage) -> tuple[object, ...]:
    return message.name, message.tool_call_id, message.status, message.content


@pytest.mark.parametrize("style", STYLES)
def test_the_model_sees_each_outcome_once_and_marked(style: str) -> None:
    python, *args = command(style)

    async def main() -> None:
        async with Client(StdioServerParameters(command=python, args=args)) as client:
            tools = [recovering(each) for each in tools_of(client, (await client.list_tools()).tools)]
            for name, case in CASES.items():
                [message] = await answer(tools, case.tool, case.arguments)
                content: object = case.text(style)
                if not case.error:
                    content = [{"type": "text", "text": content}]
                status = "error" if case.error else "success"
                assert (name, *shown(message)) == (name, case.tool, "c1", status, content)
                assert message.artifact.content  # the server's own result
                if case.calls is not None:
                    counted = await client.call_tool("called", {"name": case.tool})
                    assert (name, counted.structured_content) == (name, {"result": case.calls})

    anyio.run(main)


def test_a_recovering_client_waits_and_the_bridge_marks() -> None:
    python, *args = command("failwell")

    async def main() -> None:
        async with Recovering(Client(StdioServerParameters(command=python, args=args))) as agent:
            once = fw.Policy(max_attempts=1)
            tools = [recovering(each, policy=once) for each in tools_of(agent, (await agent.list_tools()).tools)]
            [worked] = await answer(tools, "quota", {})
            assert shown(worked)[2:] == ("success", [{"type": "text", "text": "It took 2 calls."}])
            [failed] = await answer(tools, "find_user", {"id": 7})
            assert shown(failed)[2:] == ("error", CASES["not found"].failwell)
            await answer(tools, "pay", {"amount": 5})
            assert (await agent.call_tool("called", {"name": "pay"})).structured_content == {"result": 1}

    anyio.run(main)


def test_what_else_a_server_sends_with_a_failure_stays() -> None:
    python, *args = command("plain")

    async def main() -> list[ToolMessage]:
        async with Client(StdioServerParameters(command=python, args=args)) as client:

            async def scan() -> Any:
                result = await client.call_tool("scan", {})
                wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                # LangChain has no block for a resource.
                return wire["content"][:-1], result

            made = StructuredTool.from_function(
                coroutine=scan, name="scan", description="Scan.", response_format="content_and_artifact"
            )
            return await answer([recovering(made)], "scan", {})

    [message] = anyio.run(main)
    assert (message.status, message.content) == ("error", [{"type": "text", "text": SCAN}, *SCAN_REST[:-1]])
    assert message.additional_kwargs == {"io.github.failwell/original": SCAN_ORIGINAL[:-1]}
    assert message.artifact.structured_content["pages"] == 6


def raises(exc: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise exc

    return work


def fails_once() -> Callable[[], str]:
    calls: list[int] = []

    def work() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise fw.Transient("Busy.", code="RATE_LIMITED", retry_after=0.01)
        return f"{len(calls)} calls"

    return work


CRASHED = "The tool failed unexpectedly. Next: end the task and report the failure. Do not call it again."
REFUSED = "The amount must be above zero. Correct the arguments, then call again."
BROKEN = (
    "An argument was rejected: invalid literal for int() with base 10: '12,50'. Correct the arguments, then call again."
)
GONE = "User 7 not found"
FUNCTIONS: list[tuple[Callable[[], Callable[[], Any]], str, Any]] = [
    (lambda: lambda: "fine", "success", "fine"),
    (lambda: lambda: {"a": 1}, "success", '{"a": 1}'),
    (fails_once, "success", "2 calls"),
    (lambda: raises(fw.NotFound("Gone.", suggestion="Look elsewhere.")), "error", "Gone. Look elsewhere."),
    (lambda: raises(ToolException("User 7 not found")), "error", GONE),
    (lambda: lambda: "Error: User 7 not found", "success", "Error: User 7 not found"),
    (lambda: lambda: {}["password is hunter2"], "error", CRASHED),
    (lambda: raises(ValueError("The amount must be above zero.")), "error", REFUSED),
    (lambda: lambda: int("12,50"), "error", BROKEN),
    (
        lambda: raises(fw.NeedsInput("Which one?", fields=["id"])),
        "success",
        "Which one? Ask the user for id, then call again with the answer.",
    ),
]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(("make", "status", "content"), FUNCTIONS)
def test_functions_are_tools_too(make: Callable[[], Any], status: str, content: Any, way: str) -> None:
    bridged = recovering(StructuredTool.from_function(make(), name="work", description="Work."))
    if way == "sync":
        message = bridged.invoke({"name": "work", "args": {}, "id": "c1", "type": "tool_call"})
    else:
        [message] = anyio.run(answer, [bridged], "work", {})
    assert shown(message) == ("work", "c1", status, content)


@tool
def add(count: int) -> int:
    """Add one."""
    return count + 1


def test_wrong_arguments_are_told_with_the_whole_next_call() -> None:
    [message] = anyio.run(answer, [recovering(add)], "add", {"count": "many"})
    assert shown(message)[2:] == (
        "error",
        'count must be an integer. Next: call add with {"count": "<integer>"}.',
    )


def test_a_model_sees_the_same_tool() -> None:
    assert convert_to_openai_tool(recovering(add)) == convert_to_openai_tool(add)
    assert recovering(add).args == add.args


def test_without_a_call_to_answer_the_text_comes_back() -> None:
    lost = recovering(
        StructuredTool.from_function(raises(ToolException("User 7 not found")), name="w", description="W.")
    )
    words = recovering(StructuredTool.from_function(lambda: GONE, name="w", description="W."))
    assert (recovering(add).invoke({"count": 1}), lost.invoke({}), words.invoke({})) == (2, GONE, GONE)


def test_artifacts_are_kept() -> None:
    bridged = recovering(
        StructuredTool.from_function(
            lambda: (fw.render(fw.NeedsInput("Which one?", fields=["id"]), "v1"), {"rows": 0}),
            name="work",
            description="Work.",
            response_format="content_and_artifact",
        )
    )
    message = bridged.invoke({"name": "work", "args": {}, "id": "c1", "type": "tool_call"})
    told = "Which one? Ask the user for id, then call again with the answer."
    assert (*shown(message), message.artifact) == ("work", "c1", "success", told, {"rows": 0})


class GraphBubbleUp(Exception):
    """By this name LangGraph interrupts a run."""


@pytest.mark.parametrize("exc", [GraphBubbleUp(), NotImplementedError("not in sync"), KeyboardInterrupt()])
def test_what_is_no_failure_passes(exc: BaseException) -> None:
    bridged = recovering(StructuredTool.from_function(raises(exc), name="work", description="Work."))
    with pytest.raises(type(exc)):
        bridged.invoke({"name": "work", "args": {}, "id": "c1", "type": "tool_call"})


def test_a_server_is_spared_and_a_model_is_kept_from_loops() -> None:
    python, *args = command("plain")

    async def main() -> None:
        async with Client(StdioServerParameters(command=python, args=args)) as client:
            listed = (await client.list_tools()).tools

            async def ask(row: Restraint) -> list[str]:
                tools = recovering(tools_of(client, listed), policy=row.policy)
                answers = [await answer(tools, row.tool, row.arguments) for _ in range(row.times)]
                return [str(message.content) for [message] in answers]

            async def count(name: str) -> object:
                return (await client.call_tool("called", {"name": name})).structured_content["result"]

            await check_restraint(ask, count)

    anyio.run(main)


def test_a_tool_alone_knows_no_other_one() -> None:
    def cancel_order(id: int) -> str:
        """Cancel an order."""
        raise TimeoutError

    def get_order(id: int) -> str:
        """Look at an order."""
        return "open"

    tools = [StructuredTool.from_function(work) for work in (cancel_order, get_order)]
    call = {"name": "cancel_order", "args": {"id": 7}, "id": "c1", "type": "tool_call"}
    alone = recovering(tools[0]).invoke(call).content
    together = recovering(tools)[0].invoke(call).content
    assert (alone.rpartition("Next: ")[2], together.rpartition("Next: ")[2]) == (
        "ask the user.",
        'call get_order with {"id":7} to see whether it was.',
    )


def test_a_copy_of_a_tool_knows_what_the_tool_knows() -> None:
    calls: list[int] = []

    def work() -> str:
        """Work."""
        calls.append(1)
        raise fw.NotFound("Gone.")

    bridged = recovering(StructuredTool.from_function(work))
    for each in (bridged, bridged.model_copy(), bridged.model_copy(deep=True)):
        last = each.invoke({})
    assert (len(calls), last) == (
        2,
        "Not called: the same call failed twice in the same way. Gone. Use another one, or look for it first.",
    )
