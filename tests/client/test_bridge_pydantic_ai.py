"""pydantic-ai: what its model is told, in which messages, about the failures of real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from bridge_cases import CASES, LOST, STYLES, Case, Restraint, check_restraint, command, serving
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, ApprovalRequired, ModelRetry, ToolFailed, UnexpectedModelBehavior
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

import failwell as fw
from failwell.client.pydantic_ai import recovering


def asking(*calls: tuple[str, dict[str, Any]]) -> FunctionModel:
    """A model that makes these calls, one after the other, and then stops."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = sum(isinstance(message, ModelResponse) for message in messages)
        if step == len(calls):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(calls[step][0], calls[step][1], tool_call_id=f"c{step}")])

    return FunctionModel(answer)


async def seen(toolset: AbstractToolset[Any], *calls: tuple[str, dict[str, Any]]) -> list[tuple[str, object]]:
    """What the model is shown after each call: how it is marked, and what it holds."""
    result = await Agent(asking(*calls), toolsets=[toolset], output_type=str).run("go")
    parts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    return [(part.outcome, part.content) for part in parts]


@asynccontextmanager
async def on_stdio(style: str, **options: Any) -> AsyncIterator[MCPToolset[Any]]:
    python, *args = command(style)
    # The toolset waits five seconds for a server to start, which is little on a busy machine.
    async with MCPToolset(StdioTransport(python, args), init_timeout=60, **options) as toolset:
        yield toolset


def marked(case: Case) -> str:
    return "retried" if case.fix else "failed" if case.error else "success"


async def check(toolset: MCPToolset[Any], style: str) -> None:
    bridged = recovering(toolset)
    for name, case in CASES.items():
        [(outcome, content)] = await seen(bridged, (case.tool, case.arguments))
        assert (name, outcome, content) == (name, marked(case), case.text(style))
        if case.calls is not None:
            assert (name, await toolset.direct_call_tool("called", {"name": case.tool})) == (name, case.calls)


@pytest.mark.parametrize("style", STYLES)
def test_the_model_sees_each_outcome_once_and_marked(style: str) -> None:
    async def main() -> None:
        async with on_stdio(style) as toolset:
            await check(toolset, style)

    anyio.run(main)


def test_it_is_the_same_over_http() -> None:
    async def main(url: str) -> None:
        async with MCPToolset(url, init_timeout=60) as toolset:
            await check(toolset, "failwell")

    with serving("failwell") as url:
        anyio.run(main, url)


@pytest.mark.parametrize("behavior", ["retry", "failed", "error"])
def test_it_is_the_same_however_the_toolset_treats_errors(behavior: Any) -> None:
    async def main() -> None:
        async with on_stdio("failwell", tool_error_behavior=behavior) as toolset:
            case = CASES["not found"]
            bridged = recovering(toolset.prefixed("a"))
            [(outcome, content)] = await seen(bridged, ("a_find_user", case.arguments))
            assert (outcome, content) == ("failed", case.failwell)
            # What the model is to call next it knows by the toolset's name.
            case = CASES["write of unknown outcome"]
            [(outcome, content)] = await seen(bridged, ("a_pay", case.arguments))
            words = case.failwell.replace("pay failed", "a_pay failed").replace("call called", "call a_called")
            assert (outcome, content) == ("failed", words)

    anyio.run(main)


def test_wrong_arguments_never_end_the_run() -> None:
    wrong = ("add", {"count": "many"})

    async def main() -> None:
        async with on_stdio("failwell") as toolset:
            with pytest.raises(UnexpectedModelBehavior):
                await seen(toolset, wrong, wrong, wrong)
            outcomes = [outcome for outcome, _ in await seen(recovering(toolset), wrong, wrong, wrong)]
            assert outcomes == ["retried", "failed", "failed"]

    anyio.run(main)


def test_what_cannot_be_fixed_costs_nothing_of_the_budget() -> None:
    lost, wrong = ("find_user", {"id": 7}), ("find_user", {"id": "x"})

    async def main() -> None:
        async with on_stdio("failwell") as toolset:
            outcomes = [outcome for outcome, _ in await seen(recovering(toolset), lost, lost, lost, wrong)]
            assert outcomes == ["failed", "failed", "failed", "retried"]

    anyio.run(main)


def test_a_server_that_dies_is_a_failure_of_the_call() -> None:
    async def main() -> None:
        async with on_stdio("plain") as toolset:
            [(outcome, content)] = await seen(recovering(toolset), ("die", {}))
            assert (outcome, content) == ("failed", LOST)

    anyio.run(main)


async def shown_of(raising: Callable[[], Any]) -> list[tuple[str, object]]:
    toolset: FunctionToolset[Any] = FunctionToolset()

    @toolset.tool_plain
    def work() -> Any:
        return raising()

    return await seen(recovering(toolset), ("work", {}))


def raises(exc: Exception) -> Callable[[], Any]:
    def raising() -> Any:
        raise exc

    return raising


FUNCTIONS: list[tuple[Callable[[], Any], str, object]] = [
    (lambda: {"a": [1, 2]}, "success", {"a": [1, 2]}),
    (lambda: "fine", "success", "fine"),
    (raises(fw.NotFound("Gone.", suggestion="Look elsewhere.")), "failed", "Gone. Look elsewhere."),
    (raises(fw.Invalid("Too short.")), "retried", "Too short. Correct the arguments, then call again."),
    (
        raises(fw.NeedsInput("Which one?", fields=["id"])),
        "success",
        "Which one? Ask the user for id, then call again with the answer.",
    ),
    (lambda: "Error: User 7 not found", "success", "Error: User 7 not found"),
    (lambda: {"success": False, "error": "no"}, "success", {"success": False, "error": "no"}),
    (raises(ModelRetry("My own words.")), "retried", "My own words."),
    (raises(ToolFailed("My last words.")), "failed", "My last words."),
    (
        raises(RuntimeError("password is hunter2")),
        "failed",
        "The tool failed unexpectedly. Next: end the task and report the failure. Do not call it again.",
    ),
    (
        raises(ValueError("The amount must be above zero.")),
        "retried",
        "The amount must be above zero. Correct the arguments, then call again.",
    ),
    (
        lambda: int("12,50"),
        "retried",
        "An argument was rejected: invalid literal for int() with base 10: '12,50'. Correct the arguments, "
        "then call again.",
    ),
]


@pytest.mark.parametrize(("work", "outcome", "content"), FUNCTIONS)
def test_functions_are_tools_too(work: Callable[[], Any], outcome: str, content: object) -> None:
    [(marked, told)] = anyio.run(shown_of, work)
    assert (marked, told) == (outcome, content)


def test_what_pydantic_ai_says_by_exceptions_passes() -> None:
    with pytest.raises(Exception, match="DeferredToolRequests"):
        anyio.run(shown_of, raises(ApprovalRequired()))


def test_a_server_is_spared_and_a_model_is_kept_from_loops() -> None:
    async def main() -> None:
        async with on_stdio("plain") as toolset:

            async def ask(row: Restraint) -> list[str]:
                # Each call in a run of its own: what was seen in one counts in the next.
                bridged = recovering(toolset, policy=row.policy)
                return [str((await seen(bridged, (row.tool, row.arguments)))[0][1]) for _ in range(row.times)]

            async def count(name: str) -> object:
                return await toolset.direct_call_tool("called", {"name": name})

            await check_restraint(ask, count)

    anyio.run(main)
