"""Laws of recovering, on a server that lives in the test: it does what a plan says, and remembers what it did.

A write happens at most once unless its tool says that twice does no harm.
What a call that failed says of its effect is true.
Whatever is cancelled, at whatever point, is not made again, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

import failwell as fw
from failwell.client import Recovering
from failwell.recovery import Report
from failwell.testing import FakeClock

# What the server does (nothing, a part, all of it), and what the client gets to hear.
DOES = ["none", "partial", "done"]
LOST = ["closed", "timeout", "broken", "garbage"]


@dataclass
class Step:
    """One call on the server."""

    does: str = "done"
    says: str = "success"
    """success, an error that tells the truth, one that says nothing of its effect, prose, or nothing at all."""
    code: str = "UNAVAILABLE"


@dataclass
class Wire:
    """A driver without a wire: the plan decides what each call meets."""

    plan: list[Step]
    tool: dict[str, Any]
    keys: bool = False
    store: int = 1
    done: int = 0
    parts: int = 0
    calls: int = 0
    answers: dict[str, CallToolResult] = field(default_factory=dict)
    timeout: float | None = None
    interactive = False
    timeout_option = "read_timeout_seconds"
    positional = ()
    options = ()

    def fresh(self, ended: Any, asking: Any, changed: Any) -> Any:
        wire = self

        class Fresh:
            protocol_version = "2026-07-28"

            async def __aenter__(self) -> Any:
                settings = {"idempotency": {"instance": wire.store}} if wire.keys else {}
                self.server_capabilities = SimpleNamespace(extensions={"io.github.failwell/tool-error": settings})
                await anyio.lowlevel.checkpoint()
                return self

            async def __aexit__(self, *_: Any) -> None:
                await anyio.lowlevel.checkpoint()

        return Fresh()

    def is_alive(self, client: Any) -> bool:
        return True

    async def tools(self, client: Any) -> list[Any]:
        await anyio.lowlevel.checkpoint()
        return [SimpleNamespace(name="write", annotations=self.tool, input_schema={})]

    async def send(self, client: Any, tool: str, arguments: Any, timeout: float, meta: Any, options: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        self.calls += 1
        key = meta.get("io.github.failwell/idempotency-key") if self.keys else None
        if self.keys and meta.get("io.github.failwell/idempotency-instance", self.store) != self.store:
            return CallToolResult.model_validate(fw.to_result(fw.Conflict("Forgotten.", effect="unknown")))
        if key in self.answers:
            return self.answers[key]
        step = self.plan.pop(0) if self.plan else Step()
        self.done += step.does == "done"
        self.parts += step.does == "partial"
        await anyio.lowlevel.checkpoint()
        answer = self._answer(step)
        if key is not None and step.does != "none":
            self.answers[key] = (
                answer if isinstance(answer, CallToolResult) else self._answer(Step(says="truth", does=step.does))
            )
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _answer(self, step: Step) -> Any:
        match step.says:
            case "success":
                return CallToolResult(content=[])
            case "truth":
                error = fw.ToolError("It failed.", code=step.code, effect=step.does)
                return CallToolResult.model_validate(fw.to_result(error))
            case "silence":
                error = fw.ToolError("It failed.", code=step.code)
                return CallToolResult.model_validate(fw.to_result(error))
            case "lookalike":
                text = fw.render(fw.Transient("Busy.", code="RATE_LIMITED", retry_after=1), "v1")
                return CallToolResult.model_validate({"content": [{"type": "text", "text": text}], "isError": False})
            case "prose":
                return CallToolResult.model_validate(
                    {"content": [{"type": "text", "text": "503 Service Unavailable"}], "isError": True}
                )
            case "timeout":
                return MCPError(-32001, "Request 'tools/call' timed out")
            case "garbage":
                return MCPError(-32700, "Failed to parse JSON response: no")
            case "broken":
                return anyio.BrokenResourceError()
            case _:
                return MCPError(-32000, "Connection closed")

    def failure(self, outcome: Any, era: str) -> Any:
        return CallToolResult.model_validate({"isError": True, **fw.to_result(outcome, era=era)})

    def is_marked(self, result: Any) -> bool:
        return bool(result.is_error)

    def with_meta(self, result: Any, outcome: Any, *, note: str = "", text: str = "") -> Any:
        return result

    def give(self, result: Any, options: Any) -> Any:
        return result


@st.composite
def steps(draw: st.DrawFn) -> Step:
    """What a truthful server may do and say: silence about the effect only where nothing was done, or where the code says
    by itself that nobody knows."""
    does = draw(st.sampled_from(DOES))
    if does == "none":
        says = draw(st.sampled_from(["truth", "silence", "prose", *LOST]))
    elif does == "partial":
        says = draw(st.sampled_from(["truth", "prose", *LOST]))
    else:
        says = draw(st.sampled_from(["success", "lookalike", "truth", "prose", *LOST]))
    return Step(
        does,
        says,
        draw(st.sampled_from(["UNAVAILABLE", "RATE_LIMITED", "SERVER_BUSY", "VALIDATION_ERROR", "INTERNAL_ERROR"])),
    )


TOOLS = [{}, {"destructive_hint": True}, {"idempotent_hint": True}, {"read_only_hint": False, "idempotent_hint": False}]


def recovering(wire: Wire, **options: Any) -> Recovering:
    agent = Recovering(Client(MCPServer("stands in")), clock=FakeClock(), jitter=lambda: 0.5, **options)
    agent._driver = wire
    return agent


def call(wire: Wire, **options: Any) -> Report:
    async def story() -> Report:
        async with recovering(wire, **options) as agent:
            return await agent.call("write", {"id": 1})

    return asyncio.run(story())


@given(st.lists(steps(), max_size=5), st.sampled_from(TOOLS), st.booleans())
@example([Step("done", "closed"), Step("none", "truth")], {"idempotent_hint": True}, False)
@example([Step("done", "closed")], {}, True)
def test_a_write_happens_once_and_what_is_said_of_it_is_true(
    plan: list[Step], tool: dict[str, Any], keys: bool
) -> None:
    wire = Wire(list(plan), tool, keys)
    report = call(wire, policy=fw.Policy(max_attempts=4), fix=lambda error, arguments: {**arguments, "fixed": True})
    if not tool.get("idempotent_hint"):
        assert wire.done + wire.parts <= 1
    if report.ok:
        assert wire.done >= 1
        return
    assert isinstance(report.error, fw.ToolError)
    match report.error.effect:
        case "none":
            assert wire.done == wire.parts == 0
        case "partial":
            assert wire.parts >= 1
        case "done":
            assert wire.done >= 1
        case None:
            # It was only said in words, which say nothing of the effect, or may simply be done again.
            assert report.error.standing == "quoted" or tool.get("idempotent_hint") or wire.done == wire.parts == 0
        case effect:
            assert effect == "unknown"
    assert report.calls <= 5


@given(st.lists(steps(), max_size=4))
def test_a_key_means_nothing_to_a_server_that_has_forgotten_it(plan: list[Step]) -> None:
    wire = Wire(list(plan), {}, keys=True)
    send = wire.send

    async def restarted(*arguments: Any) -> Any:
        try:
            return await send(*arguments)
        finally:
            wire.store += 1
            wire.answers.clear()

    wire.send = restarted  # type: ignore[method-assign]
    call(wire)
    assert wire.done + wire.parts <= 1


@pytest.mark.parametrize("plan", [
    [Step("none", "truth", "RATE_LIMITED")] * 9, [Step("none", "closed")] * 9, [Step("none", "truth", "VALIDATION_ERROR")] * 9, [],
])  # fmt: skip
def test_whatever_is_cancelled_at_whatever_point_is_not_made_again(plan: list[Step]) -> None:
    async def story(point: int) -> bool:
        wire = Wire(list(plan), {"read_only_hint": True})

        async def slow(*_: Any) -> Any:
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()

        async with recovering(wire, fix=slow, on_decision=slow, policy=fw.Policy(max_attempts=4)) as agent:
            task = asyncio.ensure_future(agent.call("write", {"id": 1}))
            for _ in range(point):
                await asyncio.sleep(0)
            ended = task.done()
            task.cancel()
            calls = wire.calls
            with pytest.raises(asyncio.CancelledError) if not ended else _nothing():
                await task
            for _ in range(20):
                await asyncio.sleep(0)
            assert ended or wire.calls <= calls + 1, "what was under way may still arrive; nothing more"
            live = agent._connection.live if agent._connection else None
            assert live is None or not live.calls
            wire.plan.clear()
            agent._clock.advance(10_000)  # type: ignore[attr-defined]
            again = await agent.call("write", {"id": 2})
            assert again.ok, str(again)
        assert len(asyncio.all_tasks()) == 1
        return ended

    point = 0
    while not asyncio.run(story(point)):
        point += 1
    assert point > 5


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: Any) -> None: ...
