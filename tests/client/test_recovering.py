"""A recovering client on real servers that fail as a script says, over pipes and sockets, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import failwell as fw
from failwell import read
from failwell.client import Recovering, patched
from failwell.formats import FORMATS
from failwell.model import HELD, Action, Effect
from failwell.recovery import IDEMPOTENCY_KEY, Attempt, Report
from failwell.recovery.retry_limits import DONE_BEFORE
from failwell.testing import FakeClock, Fault, Script, Tool, scripted

BUSY = fw.Transient("Busy.", code="SERVER_BUSY")
LIMITED = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=30)
# What is waited for in vain is given a short time where it is asked for; the rest has all the time it may need.
QUICK = fw.Policy(base_delay=0.01)
# The same for those who wait for nothing in vain but may have to try more than once, on a busy machine.
STUBBORN = fw.Policy(base_delay=0.01, max_delay=0.1, max_attempts=50, circuit_breaker=False)
WIRES = [("stdio", "auto"), ("stdio", "legacy"), ("http", "auto"), ("http", "legacy")]
KINDS = ["mcp", "fastmcp"]


def client_of(kind: str, target: Any, mode: str = "auto") -> Any:
    if kind == "mcp":
        return Client(target, mode=mode)
    import fastmcp
    from fastmcp.client.transports import StdioTransport

    if isinstance(target, StdioServerParameters):
        target = StdioTransport(target.command, list(target.args), env=target.env)
    return fastmcp.Client(target, mode=mode)


@asynccontextmanager
async def agent(*tools: Tool, kind: str = "mcp", transport: str = "stdio", mode: str = "auto", **options: Any) -> Any:
    options.setdefault("policy", QUICK)
    async with (
        scripted(Script(*tools), transport=transport) as server,
        Recovering(client_of(kind, server.target, mode), **options) as recovering,
    ):
        recovering.server = server
        yield recovering


def run(story: Callable[..., Any], *arguments: Any) -> None:
    async def bounded() -> None:
        with anyio.fail_after(300):
            await story(*arguments)

    anyio.run(bounded)


def text_of(report: Report) -> str:
    return "\n".join(block.text for block in report.result.content if block.type == "text")


TAKES_ID = {"type": "object", "properties": {"id": {"type": "string"}}}
PAY = {"effect": True, "key": "id", "input_schema": TAKES_ID}
READ = {"read_only": True, "key": "id", "input_schema": TAKES_ID}
# What strikes, what may be made again whatever it is, and what a write that is nothing special comes to. The names are the
# ids of the payments: without white space, since only an identifier is passed on to the call that tells.
FAULTS: dict[str, tuple[Fault, str]] = {
    "busy": (Fault.error(BUSY), "recovers"),
    "busy-over-HTTP": (Fault.http(503, {"Retry-After": "0.05"}), "not said"),
    "too-many": (Fault.http(429, {"Retry-After": "0.05"}), "not said"),
    "dead-before": (Fault.crash(at="before"), "unknown"),
    "dead-after": (Fault.crash(at="after"), "unknown"),
    "cut-before": (Fault.cut(at="before"), "unknown"),
    "cut-after": (Fault.cut(at="after"), "unknown"),
    "cut-midway": (Fault.cut(at="after", midway=True), "unknown"),
    "null": (Fault.malformed("null_result", at="after"), "unknown"),
    "half-an-error": (Fault.malformed("no_message", at="after"), "unknown"),
}


@pytest.mark.parametrize(("transport", "mode"), WIRES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_is_recovered_from_or_told_truthfully(kind: str, transport: str, mode: str) -> None:
    # FastMCP's own connection does not hear of a frame that is none: there the timeout ends the wait.
    silent = {"null", "half-an-error"} if kind == "fastmcp" and transport == "stdio" else set()
    names = [name for name in FAULTS if name not in silent]
    plan = {name: [FAULTS[name][0]] for name in names}

    async def story() -> None:
        async with agent(
            Tool("pay", plan=plan, **PAY), Tool("get_payment", plan=plan, reads="pay", **READ),
            kind=kind, transport=transport, mode=mode,
            policy=fw.Policy(base_delay=0.05, max_attempts=6, circuit_breaker=False),
        ) as it:  # fmt: skip
            for name in names:
                seen = await it.call("get_payment", {"id": name})
                assert seen.ok, (name, str(seen))
                assert seen.recovered, (name, str(seen))
                paid = await it.call("pay", {"id": name})
                done = [effect.arguments["id"] for effect in it.server.effects].count(name)
                if FAULTS[name][1] == "recovers":
                    assert paid.ok, (name, str(paid))
                    assert done == 1, name
                    continue
                assert paid.calls == 1, (name, str(paid))
                assert done <= 1, name
                again = await it.call("pay", {"id": name})
                assert (again.calls, again.error.code) == (0, HELD), (name, str(again))
                assert "Next: call get_payment with {" in text_of(again)
                if FAULTS[name][1] == "not said":
                    assert paid.error.effect is None, (name, str(paid))
                else:
                    assert paid.error.effect == "unknown", (name, str(paid))
                    assert paid.error.verify == Action("get_payment", arguments={"id": name}), name
                    assert "get_payment" in text_of(paid)

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_never_comes_ends_by_itself(kind: str) -> None:
    async def story() -> None:
        async with agent(
            Tool("pay", faults=[Fault.hang(at="after")], **PAY), Tool("get", faults=[Fault.hang()], **READ),
            Tool("noisy", faults=[Fault.malformed("null_result")], **READ),
            kind=kind, policy=STUBBORN,
        ) as it:  # fmt: skip
            # The time of a call is also that of opening, so what is to be quick is open before.
            await it.list_tools()
            soon = {it._driver.timeout_option: 1.5}
            paid = await it.call("pay", {"id": "1"}, **soon)
            assert (paid.error.code, paid.error.effect, paid.error.delivery) == ("TIMEOUT", "unknown", "unanswered")
            assert (await it.call("get", {"id": "1"}, **soon)).recovered
            assert (await it.call("noisy", {"id": "1"}, **soon)).recovered
            assert len(it.server.effects) == 1

    run(story)


def test_what_the_server_says_comes_first_and_is_never_too_early() -> None:
    async def story() -> None:
        clock = FakeClock()
        async with agent(Tool("pay", faults=[Fault.error(LIMITED)], **PAY), clock=clock, jitter=lambda: 0.5) as it:
            assert (await it.call("pay", {"id": "1"})).recovered
        assert clock.slept == [31.5]

    run(story)


def test_where_it_says_nothing_the_waits_grow_and_are_spread() -> None:
    async def story() -> None:
        clock = FakeClock()
        policy = fw.Policy(base_delay=1.0, max_attempts=4)
        async with agent(
            Tool("get", faults=[Fault.error(BUSY)] * 3), clock=clock, jitter=lambda: 0.5, policy=policy
        ) as it:
            assert (await it.call("get")).recovered
        assert clock.slept == [0.5, 1.0, 2.0]

    run(story)


@pytest.mark.parametrize("wait", [-1, 10**9, "soon", "NaN", None, True, [], 0])
def test_no_wait_that_a_server_names_can_harm(wait: Any) -> None:
    frame = {
        "isError": True,
        "content": [{"type": "text", "text": '{"type":"TRANSIENT","message":"m","recoverable":true}'}],
        "_meta": {"io.github.failwell/tool-error": {"failwell": 1, "code": "RATE_LIMITED", "kind": "transient", "message": "m", "retry_after": wait}},
    }  # fmt: skip

    async def story() -> None:
        clock = FakeClock()
        async with agent(Tool("pay", faults=[Fault.raw(frame)] * 50, **PAY), clock=clock) as it:
            report = await it.call("pay", {"id": "1"})
            assert not report.ok
            assert report.calls <= 3
            assert sum(clock.slept) <= 600
            assert it.server.effects == []

    run(story)


def test_the_deadline_ends_a_server_that_always_says_again() -> None:
    async def story() -> None:
        clock = FakeClock()
        policy = fw.Policy(max_attempts=1000, deadline=100, circuit_breaker=False)
        async with agent(
            Tool("get", faults=[Fault.error(LIMITED)] * 50), clock=clock, jitter=lambda: 0, policy=policy
        ) as it:
            report = await it.call("get")
        assert (report.calls, clock.slept, report.error.code) == (4, [30, 30, 30], "RATE_LIMITED")

    run(story)


def test_the_same_call_is_not_made_for_ever() -> None:
    missing = fw.NotFound("There is no invoice inv_9.", suggestion="Call list_invoices first.")

    async def story() -> None:
        clock = FakeClock()
        async with agent(Tool("get", faults=[Fault.error(missing)] * 50), Tool("pay", effect=True), clock=clock) as it:
            told = [await it.call("get", {"id": "inv_9"}) for _ in range(4)]
            assert [report.calls for report in told] == [1, 1, 0, 0]
            assert text_of(told[0]) == "There is no invoice inv_9. Call list_invoices first."
            assert text_of(told[1]) == text_of(told[0])
            assert text_of(told[2]) == (
                "Not called: the same call failed twice in the same way. There is no invoice inv_9. "
                "Call list_invoices first. Use another one, or look for it first."
            )
            assert (await it.call("get", {"id": "inv_8"})).calls == 1
            # Something may have changed now.
            assert (await it.call("pay")).ok
            assert (await it.call("get", {"id": "inv_9"})).calls == 1
            assert (await it.call("get", {"id": "inv_9"})).calls == 1
            assert (await it.call("get", {"id": "inv_9"})).calls == 0
            clock.advance(301)
            assert (await it.call("get", {"id": "inv_9"})).calls == 1

    run(story)


def test_a_tool_that_does_not_work_is_left_alone_and_tried_again() -> None:
    broken = fw.ToolError("It broke.", code="INTERNAL_ERROR")

    async def story() -> None:
        clock = FakeClock()
        async with agent(Tool("get", faults=[Fault.error(broken)] * 6), Tool("other"), clock=clock) as it:
            for number in range(5):
                assert (await it.call("get", {"id": number})).calls == 1
            refused = await it.call("get", {"id": 9})
            assert (refused.calls, refused.error.code, refused.error.retry_after) == (0, "UNAVAILABLE", 30)
            assert (refused.error.effect, refused.error.delivery) == ("none", "never_sent")
            assert text_of(refused).startswith("Not called: get failed 5 times in a row.")
            assert (await it.call("other")).ok
            clock.advance(31)
            assert (await it.call("get", {"id": 10})).calls == 1
            assert (await it.call("get", {"id": 11})).error.retry_after == 60
            clock.advance(61)
            assert (await it.call("get", {"id": 12})).ok
            assert (await it.call("get", {"id": 13})).ok

    run(story)


def test_arguments_are_corrected_as_the_server_proposes_once() -> None:
    wrong = fw.Invalid(
        "Unknown argument 'limt'.", fields=[("limt", "There is no such argument.")],
        patch=[{"op": "rename", "path": ["limt"], "to": "limit"}],
    )  # fmt: skip
    seen: list[Attempt] = []

    async def story() -> None:
        async with agent(Tool("search", faults=[Fault.error(wrong)]), fix=patched, on_decision=seen.append) as it:
            report = await it.call("search", {"limt": 5})
            assert report.recovered
            assert [call.arguments for call in it.server.calls] == [{"limt": 5}, {"limit": 5}]
        async with agent(
            Tool("search", faults=[Fault.error(wrong)] * 9), fix=lambda error, arguments: {"limit": 9, **arguments}
        ) as it:
            assert (await it.call("search", {"limt": 5})).calls == 2
        async with agent(Tool("search", faults=[Fault.error(wrong)])) as it:
            assert (await it.call("search", {"limt": 5})).calls == 1

    run(story)
    assert [(attempt.number, attempt.decision.next) for attempt in seen] == [(1, "fix")]


def test_the_user_is_asked_and_the_answer_sent() -> None:
    question = fw.NeedsInput("Which workspace?", fields=["workspace"])
    forbidden = fw.Denied("Not without approval.", code="FORBIDDEN")

    async def story() -> None:
        async def ask(asked: Any) -> Any:
            return {"workspace": "w_1"} if isinstance(asked, fw.NeedsInput) else True

        async with agent(
            Tool("add", faults=[Fault.error(question)]), Tool("open", faults=[Fault.error(forbidden)] * 3), ask=ask
        ) as it:
            assert (await it.call("add", {"name": "x"})).recovered
            assert it.server.calls[-1].arguments == {"name": "x", "workspace": "w_1"}
            # Granted once; a server that still says no is believed.
            assert (await it.call("open")).calls == 2
        async with agent(Tool("add", faults=[Fault.error(question)] * 99), ask=ask) as it:
            report = await it.call("add")
            assert report.calls == 6
            assert isinstance(report.error, fw.NeedsInput)
        async with agent(Tool("add", faults=[Fault.error(question)])) as it:
            assert isinstance((await it.call("add")).error, fw.NeedsInput)

    run(story)


def test_holders_are_negotiated_with() -> None:
    held = fw.Conflict("Held.", recoverable=True, conflicts=[{"agent_id": "a2", "pattern": "src/*", "held_by": "a2"}])
    asked: list[Any] = []

    async def story() -> None:
        def negotiate(error: fw.ToolError, holders: tuple[str, ...]) -> bool:
            asked.append(holders)
            return True

        async with agent(Tool("reserve", faults=[Fault.error(held)]), negotiate=negotiate) as it:
            assert (await it.call("reserve")).recovered
        async with agent(Tool("reserve", faults=[Fault.error(held)] * 99), negotiate=negotiate) as it:
            assert (await it.call("reserve")).calls == 3

    run(story)
    assert asked[0] == ("a2",)


@pytest.mark.parametrize("answer", [RuntimeError("boom"), 7, "yes", [], None])
def test_callbacks_that_raise_or_answer_nonsense_change_nothing(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    def odd(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    faults = {
        "fix": fw.Invalid("Wrong.", fields=[("a", "is wrong")]),
        "ask": fw.Denied("No."),
        "question": fw.NeedsInput("Which?", fields=["a"]),
        "negotiate": fw.Conflict("Held.", conflicts=[{"held_by": "a"}]),
    }

    async def story() -> None:
        tools = [Tool(name, faults=[Fault.error(error)]) for name, error in faults.items()]
        async with agent(*tools, fix=odd, ask=odd, negotiate=odd, on_decision=odd) as it:
            for name in faults:
                report = await it.call(name)
                made = 2 if name == "negotiate" and answer in (7, "yes") else 1
                assert report.calls == made, name

    run(story)


def test_callbacks_that_hang_end_with_the_deadline() -> None:
    async def story() -> None:
        async def hang(*_: Any) -> None:
            await anyio.sleep_forever()

        policy = fw.Policy(deadline=3.0)
        faults = [Fault.error(fw.Denied("No."))]
        async with agent(Tool("get", faults=faults), ask=hang, policy=policy) as it:
            await it.list_tools()
            report = await it.call("get")
            assert (report.calls, report.error.kind) == (1, "permission")

    run(story)


PROSE_429 = "Client error '429 Too Many Requests' for url 'https://x.example/y'"


def test_prose_is_understood_and_is_no_permission() -> None:
    async def story() -> None:
        async with agent(
            Tool("read", faults=[Fault.text(PROSE_429)], read_only=True),
            Tool("write", faults=[Fault.text(PROSE_429)], effect=True),
            Tool("get_rate", faults=[Fault.text(PROSE_429)]),
            Tool("frobnicate", faults=[Fault.text(PROSE_429)]),
        ) as it:
            assert (await it.call("read")).recovered
            # A server that only writes prose has not said that the call may be made twice.
            written = await it.call("write")
            assert (written.calls, written.error.effect, written.error.standing) == (1, None, "quoted")
            assert text_of(written) == PROSE_429
            assert (await it.call("write")).error.code == HELD
            # Named as a read, it counts as one; where nothing tells, nobody calls it again.
            assert (await it.call("get_rate")).recovered
            unmarked = await it.call("frobnicate")
            assert (unmarked.calls, unmarked.error.effect, unmarked.error.standing) == (1, None, "quoted")
            assert text_of(unmarked).startswith(PROSE_429)
            assert (await it.call("frobnicate")).ok

    run(story)


LIMITED_BODIES = {
    **{format: fw.render(LIMITED, format) for format in FORMATS},
    "prefixed": f"Error executing tool pay: {fw.render(LIMITED, 'typed')}",
    "record": '{"status": 503, "error": "Service Unavailable", "retry_after": 1}',
    "no success": '{"success": false, "error": "Service busy, try again later"}',
    "prose": "Error: too many requests, try again in 1 second",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_that_worked_is_returned_untouched_whatever_it_says(kind: str) -> None:
    plan = {name: [Fault.text(body, at="after", is_error=False)] * 2 for name, body in LIMITED_BODIES.items()}
    asked: list[Any] = []

    async def story() -> None:
        hooks: dict[str, Any] = {"fix": asked.append, "ask": asked.append, "negotiate": asked.append}
        async with agent(Tool("pay", plan=plan, **PAY), kind=kind, clock=FakeClock(), **hooks) as it:
            for name, body in LIMITED_BODIES.items():
                report = await it.call("pay", {"id": name})
                # By contracts 001 and 003 these are failures without `isError`, too; the call is not made again.
                assert (report.ok, report.calls) == (name not in ("v1", "envelope"), 1), name
                assert (text_of(report), report.result.is_error) == (body, name == "v1"), name
            assert [effect.arguments["id"] for effect in it.server.effects] == list(LIMITED_BODIES)

    run(story)
    assert asked == []


def test_a_success_of_a_read_that_looks_like_a_passing_failure_is_tried_again_and_stays_a_success() -> None:
    body = LIMITED_BODIES["no success"]
    faults = [Fault.text(body, is_error=False)]

    async def story() -> None:
        async with agent(
            Tool("passes", faults=faults, read_only=True),
            Tool("stays", faults=faults * 9, read_only=True),
            Tool("keeps", faults=faults * 9, idempotent=True),
            Tool("dies", faults=[*faults, Fault.text("No such record.")], idempotent=True),
            Tool("missing", faults=[Fault.text('{"success": false, "error": "User 7 not found"}', is_error=False)], read_only=True),
            clock=FakeClock(), policy=fw.Policy(circuit_breaker=False),
        ) as it:  # fmt: skip
            passed = await it.call("passes")
            assert (passed.ok, passed.recovered, passed.calls) == (True, True, 2)
            for name in ("stays", "keeps"):
                stayed = await it.call(name)
                assert (stayed.ok, stayed.calls, len(stayed.attempts)) == (True, 3, 3), name
                assert (text_of(stayed), stayed.result.is_error) == (body, False), name
            # Nor does what becomes of looking again: the call worked.
            dies = await it.call("dies")
            assert (dies.ok, dies.calls) == (True, 2)
            assert (text_of(dies), dies.result.is_error) == (body, False)
            # What would not pass is not even tried.
            missing = await it.call("missing")
            assert (missing.ok, missing.calls, missing.attempts) == (True, 1, [])

    run(story)


def test_reads_says_of_a_server_that_does_not_what_only_reads() -> None:
    faults = [
        Fault.text(PROSE_429),
        Fault.http(503),
        Fault.crash(),
        Fault.text(LIMITED_BODIES["no success"], is_error=False),
    ]
    tools = [Tool(name, faults=faults, **more) for name, more in (
        ("get_weather", {}), ("find", {}), ("get_pay", {"destructive": True}), ("pay", {"effect": True}),
    )]  # fmt: skip
    policy = fw.Policy(max_attempts=9, trust_annotations=False)

    async def story() -> None:
        async with agent(*tools, reads=["get_*", "find"], clock=FakeClock(), policy=policy) as it:
            calls = {tool.name: (await it.call(tool.name)).calls for tool in tools}
        # A pattern is no word against a tool that calls itself destructive.
        assert calls == {"get_weather": 5, "find": 5, "get_pay": 1, "pay": 1}

    run(story)


@pytest.mark.parametrize("reads", ["get_*", [1]])
def test_reads_is_a_list_of_names(reads: Any) -> None:
    with pytest.raises(TypeError, match="reads is a list of names"):
        Recovering(Client("http://127.0.0.1:9/mcp"), reads=reads)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": 5}, "policy is a failwell.Policy, such as Policy(max_attempts=2), not 5."),
        ({"policy": {}}, "policy is a failwell.Policy, such as Policy(max_attempts=2), not {}."),
        ({"clock": 5}, "clock needs monotonic(), now() and sleep(), as in failwell.testing.FakeClock; not 5."),
    ],
)
def test_a_policy_and_a_clock_that_are_none_are_refused_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        Recovering(Client("http://127.0.0.1:9/mcp"), **options)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ((5, {}), "call_tool() takes the name of a tool, a text, not 5."),
        ((None,), "call_tool() takes the name of a tool, a text, not None."),
        (("pay", [1]), "call_tool() takes the arguments as a dict, not as list."),
        (("pay", "{}"), "call_tool() takes the arguments as a dict, not as str."),
        (("pay", ""), "call_tool() takes the arguments as a dict, not as str."),
    ],
)
def test_what_is_no_call_is_refused_in_one_line_before_anything_is_sent(call: Any, words: str) -> None:
    async def story() -> None:
        # Nobody listens there, so whatever was tried would be told as a failure.
        async with Recovering(Client("http://127.0.0.1:9/mcp")) as it:
            for entry in (it.call, it.call_tool):
                with pytest.raises(TypeError) as caught:
                    await entry(*call)
                assert str(caught.value) == words
            assert not it.reports

    run(story)


def test_a_whole_envelope_of_a_failure_counts_without_the_flag() -> None:
    fine = Fault.text('{"success": true, "data": {"n": 1}}', is_error=False)
    gone = Fault.text(fw.render(fw.NotFound("There is no user 7."), "envelope"), is_error=False)
    busy = Fault.text(fw.render(LIMITED, "envelope"), is_error=False)

    async def story() -> None:
        policy = fw.Policy(hold=0)
        async with agent(
            Tool("pay", faults=[gone, fine, gone, busy], effect=True), clock=FakeClock(), policy=policy
        ) as it:
            before, first, after, limited = [await it.call("pay") for _ in range(4)]
        assert (before.ok, first.ok, after.ok, limited.ok) == (False, True, False, False)
        assert (after.error.kind, after.error.standing, after.result.is_error) == ("not_found", "quoted", False)
        # It is a failure, and still nothing that was stated: nobody pays again because of it.
        assert (limited.error.code, limited.calls, limited.error.effect) == ("rate_limited", 1, None)

    run(story)


def test_a_question_counts_where_it_is_the_whole_answer() -> None:
    question = fw.render(fw.NeedsInput("Which one?", fields=["id"]), "v1")

    async def story() -> None:
        asked: list[Any] = []

        def ask(question: Any) -> Any:
            asked.append(question)
            return {"id": "7"}

        faults = {
            "whole": Fault.text(question, is_error=False),
            "quoted": Fault.text(f"Filed: {question}", is_error=False),
            "prefixed": Fault.text(f"Error executing tool a: {question}", is_error=False),
            "quoted in a failure": Fault.text(f"Error executing tool a: {question}"),
        }
        plan = {name: [fault] for name, fault in faults.items()}
        async with agent(Tool("file", key="case", plan=plan, effect=True), ask=ask) as it:
            calls = {name: (await it.call("file", {"case": name})).calls for name in faults}
        assert calls == {"whole": 2, "quoted": 1, "prefixed": 1, "quoted in a failure": 1}
        assert [each.message for each in asked] == ["Which one?"]

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_server_says_of_a_write_stays_as_it_is_and_the_call_is_held(kind: str) -> None:
    tools = [Tool("pay", faults=[Fault.text(PROSE_429)], **PAY), Tool("get_payment", reads="pay", **READ)]

    async def story() -> None:
        async with agent(*tools, kind=kind) as it:
            report = await it.call("pay", {"id": "p1"})
            again = await it.call("pay", {"id": "p1"})
        assert (report.result.is_error, text_of(report)) == (True, PROSE_429)
        found = read(report.result)
        assert (found.code, found.effect, found.standing) == ("RATE_LIMITED", None, "quoted")
        assert not fw.decide(found, tool="pay").repeats
        assert text_of(again) == (
            "pay was not run again: the call before may have been done already. "
            'Next: call get_payment with {"id":"p1"} to see whether it was.'
        )

    run(story)


def test_many_tasks_share_one_client_and_one_reconnection() -> None:
    async def story() -> None:
        plan = {"7": [Fault.crash()]}
        async with agent(Tool("get", plan=plan, **READ), policy=fw.Policy(base_delay=0.01, max_attempts=5)) as it:
            reports: list[Report] = []

            async def one(number: int) -> None:
                reports.append(await it.call("get", {"id": str(number)}))

            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, number)
            assert [report.ok for report in reports] == [True] * 20, [str(report) for report in reports]
            assert it._connection.opened == 2

    run(story)


FREEZING = """
import os, signal, sys
from pathlib import Path
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp_types import ToolAnnotations

# A client that keeps the list answers for a server that is gone.
kept = {"tools/list": CacheHint(ttl_ms=600_000)}
server = MCPServer("freezing", log_level="ERROR", cache_hints=kept)
marks = Path(sys.argv[1])

def freeze(name: str) -> dict[str, int]:
    calls = len(list(marks.glob(f"{name}-*"))) + 1
    (marks / f"{name}-{calls}").touch()
    if calls == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    return {"calls": calls}

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> dict[str, int]:
    return freeze("look")

@server.tool()
def pay() -> dict[str, int]:
    return freeze("pay")

server.run()
"""


def freezing(marks: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-c", FREEZING, str(marks)])


def test_a_server_that_froze_is_left_for_a_new_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with Recovering(Client(freezing(tmp_path)), policy=STUBBORN) as it:
            await it.list_tools()
            report = await it.call("look", read_timeout_seconds=4.0)
            assert (report.ok, report.calls) == (True, 2), str(report)

    run(story)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == ["look-1", "look-2"]


def test_after_a_write_that_froze_the_next_call_finds_a_server_that_works(tmp_path: Path) -> None:
    async def story() -> None:
        client = client_of("fastmcp", freezing(tmp_path))
        async with Recovering(client, policy=replace(STUBBORN, hold=0)) as it:
            await it.list_tools()
            report = await it.call("pay", timeout=2.5)
            assert report.failure is not None
            assert (report.failure.effect, report.calls) == (Effect.UNKNOWN, 1)
            assert (await it.call("pay")).result.data == {"calls": 2}

    run(story)


def test_a_slow_tool_does_not_cost_the_connection() -> None:
    async def story() -> None:
        slow = Tool("get", faults=[Fault.late(3.0)], **READ)
        async with agent(slow) as it:
            await it.list_tools()
            report = await it.call("get", {"id": "1"}, read_timeout_seconds=2.0)
            assert (report.ok, report.calls) == (True, 2), str(report)
            assert it._connection.opened == 1

    run(story)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_it_is_opened_used_and_closed_in_different_tasks(kind: str, transport: str) -> None:
    """As fixtures, lifespans and agent frameworks do."""

    async def story() -> None:
        async with scripted(Script(Tool("get", **READ)), transport=transport) as server:
            recovering = Recovering(client_of(kind, server.target), policy=QUICK)
            await asyncio.create_task(recovering.__aenter__())
            reports = [await asyncio.create_task(recovering.call("get", {"id": str(number)})) for number in range(3)]
            assert all(report.ok for report in reports)
            await asyncio.create_task(recovering.__aexit__(None, None, None))
            # Nothing of it is left.
            assert asyncio.all_tasks() == {asyncio.current_task()}

    run(story)


def test_a_cancelled_call_is_not_made_again_and_leaves_nothing_behind() -> None:
    async def story() -> None:
        async with agent(Tool("get", faults=[Fault.error(LIMITED)] * 9), Tool("slow", faults=[Fault.late(5)])) as it:
            for made, tool in enumerate(("get", "slow"), start=1):
                with anyio.CancelScope() as scope:
                    async with anyio.create_task_group() as group:
                        group.start_soon(it.call, tool)
                        while len(it.server.calls) < made:
                            await anyio.sleep(0.01)
                        scope.cancel()
                assert scope.cancelled_caught
            await anyio.sleep(0.2)
            assert len(it.server.calls) == 2
            assert not it._connection.live.calls

    run(story)


def test_a_server_that_cannot_be_started_is_an_error_and_no_traceback() -> None:
    async def story() -> None:
        for target, code in (
            (StdioServerParameters(command="/nonexistent/server"), "NOT_CONFIGURED"),
            (StdioServerParameters(command=sys.executable, args=["-c", "raise SystemExit(3)"]), "NETWORK_ERROR"),
            ("http://127.0.0.1:9/mcp", "NETWORK_ERROR"),
        ):
            for kind in KINDS:
                async with Recovering(client_of(kind, target), policy=QUICK) as it:
                    report = await it.call("pay", {"id": "1"})
                    error = report.error
                    assert (error.code, error.effect, error.delivery, report.calls) == (
                        code,
                        "none",
                        "never_sent",
                        0,
                    ), (kind, target, error)

    run(story)


ENDLESS: dict[str, Any] = {}
ENDLESS["a"] = ENDLESS


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_cannot_be_sent_are_not_and_harm_nobody_else(kind: str) -> None:
    async def story() -> None:
        async with agent(Tool("put", effect=True), Tool("slow", faults=[Fault.late(0.5)]), kind=kind) as it:
            slow: list[Report] = []

            async def under_way() -> None:
                slow.append(await it.call("slow"))

            async with anyio.create_task_group() as group:
                group.start_soon(under_way)
                while not it.server.calls:
                    await anyio.sleep(0.01)
                for arguments in ({"a": "\ud800"}, {"a": ["\udfff"]}, {1: 2}, {"a": object()}, {"a": b"\xff"}, ENDLESS):
                    report = await it.call("put", arguments)
                    error = report.error
                    assert (error.code, error.effect, error.delivery) == ("VALIDATION_ERROR", "none", "never_sent")
            assert slow[0].ok
            assert [call.tool for call in it.server.calls] == ["slow"]

    run(story)


def test_an_option_that_the_client_does_not_have_is_a_mistake_and_no_failure() -> None:
    async def story() -> None:
        async with agent(Tool("get")) as it:
            with pytest.raises(TypeError, match="has no option 'timeot'"):
                await it.call_tool("get", {}, timeot=3)

    run(story)


def test_fastmcp_raises_for_errors_as_it_always_does() -> None:
    from fastmcp.exceptions import ToolError

    async def story() -> None:
        missing = fw.NotFound("There is no invoice inv_9.")
        async with agent(Tool("get", faults=[Fault.error(missing)] * 9), kind="fastmcp") as it:
            with pytest.raises(ToolError, match="There is no invoice"):
                await it.call_tool("get", {"id": 1})
            result = await it.call_tool("get", {"id": 2}, raise_on_error=False)
            assert result.is_error
            assert read(result).kind == "not_found"

    run(story)


def test_call_tool_takes_what_the_client_takes() -> None:
    async def story() -> None:
        async def progress(*_: Any) -> None: ...

        async with agent(Tool("get")) as it:
            result = await it.call_tool("get", {"id": 1}, 60.0, progress, meta={"a": 1})
            assert result.is_error is False
            assert [tool.name for tool in (await it.list_tools()).tools] == ["get"]
            assert [report.ok for report in it.reports] == [True]
        async with agent(Tool("get"), kind="fastmcp") as it:
            assert (await it.call_tool("get", {"id": 1}, timeout=60)).is_error is False

    run(story)


def test_a_transport_that_connects_once_says_so() -> None:
    from mcp.client.stdio import stdio_client

    @asynccontextmanager
    async def mine(target: Any) -> Any:
        async with stdio_client(target) as streams:
            yield streams

    async def story() -> None:
        script = Script(Tool("get", faults=[Fault.crash()], **READ))
        async with (
            scripted(script) as server,
            Recovering(Client(mine(server.target)), policy=QUICK) as it,
        ):
            report = await it.call("get", {"id": "1"})
            assert (report.error.code, report.calls) == ("NOT_CONFIGURED", 1)
            assert "give Recovering a function that makes the client" in text_of(report)
        async with (
            scripted(script) as server,
            Recovering(lambda: Client(mine(server.target)), policy=QUICK) as it,
        ):
            assert (await it.call("get", {"id": "1"})).recovered

    run(story)


@pytest.mark.parametrize("wrong", [object(), "http://localhost", 7])
def test_what_is_no_client_is_refused_in_one_line(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"Recovering takes an mcp\.Client"):
        Recovering(wrong)


def test_a_transport_is_no_client_yet() -> None:
    with pytest.raises(TypeError, match=r"Give the transport to a client first\.$"):
        Recovering(streamable_http_client("http://127.0.0.1:9/mcp"))


def test_keys_are_named_as_published() -> None:
    assert IDEMPOTENCY_KEY == "io.github.failwell/idempotency-key"


@pytest.mark.checklist(258)
def test_what_is_left_stands_in_the_log_and_the_user_hears_what_nobody_can_mend(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[fw.ToolError] = []
    faults = {
        "unsafe": fw.catalogs.JsonRpc.UNSAFE_OPERATION("Cannot modify ether1, password=hunter2hunter2."),
        "missing": fw.NotFound("No such device."),
        "fine": fw.Transient("Busy.", code="SERVER_BUSY", retry_after=1),
    }

    async def story() -> None:
        tools = [Tool(name, faults=[Fault.error(error)], read_only=True) for name, error in faults.items()]
        async with agent(*tools, notify_user=told.append) as it:
            for name in faults:
                await it.call(name)

    run(story)
    assert [(error.code, error.message) for error in told] == [
        ("UNSAFE_OPERATION", "Cannot modify ether1, password=[redacted]")
    ]
    lines = [
        (record.levelname, record.getMessage()) for record in caplog.records if "tool_error" in record.getMessage()
    ]
    assert [(level, line.split(" (")[0]) for level, line in lines] == [
        ("ERROR", "tool_error unsafe: UNSAFE_OPERATION: Cannot modify ether1, password=[redacted]"),
        ("WARNING", "tool_error missing: NOT_FOUND: No such device."),
    ]


@pytest.mark.parametrize(
    ("traits", "notes"),
    [
        ({"effect": True, "idempotent": True}, ["It was tried twice.", DONE_BEFORE]),
        ({"read_only": True}, ["It was tried twice."]),
    ],
)
def test_what_is_gone_by_now_may_be_gone_by_an_earlier_try(traits: dict[str, Any], notes: list[str]) -> None:
    gone = fw.NotFound("Invoice inv_1 does not exist.")
    faults = [Fault.crash(at="after"), Fault.error(gone)]

    async def story() -> None:
        async with agent(Tool("delete", input_schema=TAKES_ID, faults=faults, **traits)) as it:
            report = await it.call("delete", {"id": "inv_1"})
            assert report.calls == 2
            told = report.result.meta["io.github.failwell/tool-error"]
            assert told["next_steps"][: len(notes)] == notes

    run(story)
