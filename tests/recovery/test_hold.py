"""A write that is in doubt is not run again: what begins a hold, what it answers, and what ends it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

import failwell as fw
from failwell.client import Recovering
from failwell.dashboard import Query
from failwell.model import HELD, Action, Effect, Traits
from failwell.observe import CallEvent, store
from failwell.observe.stores import Reading
from failwell.recovery import SECONDS, Engine, Hold, Run, Tools, leaves_in_doubt
from failwell.server import install
from failwell.testing import FakeClock

LOST = fw.Transient("Lost.", code="TIMEOUT", effect="unknown", origin="local", delivery="unanswered")
WORDS = fw.Invalid("reason is too short", origin="peer", standing="quoted")
UNSENT = fw.Transient("Away.", code="NETWORK_ERROR", effect="none", origin="local", delivery="never_sent")
LOOK = Action("get_order", arguments={"id": 7})
TOOLS = Tools(
    {
        "cancel_order": {"name": "cancel_order", "inputSchema": {"properties": {"id": {}}}},
        "put_order": {"name": "put_order", "annotations": {"idempotentHint": True}},
        "frobnicate": {"name": "frobnicate"},
        "get_order": {
            "name": "get_order",
            "inputSchema": {"properties": {"id": {}}, "required": ["id"]},
            "annotations": {"readOnlyHint": True},
        },
    }
)


def held_by(*failures: fw.ToolError, at: float = 0.0, seconds: float = SECONDS) -> Hold:
    """A hold after `cancel_order {"id": 7}` has failed so."""
    hold = Hold(seconds)
    for error in failures:
        hold.failed("cancel_order", {"id": 7}, error, LOOK, at)
    return hold


def test_only_the_identical_call_is_held() -> None:
    hold = held_by(LOST)
    held = hold.find("cancel_order", {"id": 7}, 0)
    assert held is not None
    assert (held.tool, held.effect, held.verify) == ("cancel_order", Effect.UNKNOWN, LOOK)
    assert hold.find("cancel_order", {"id": 8}, 0) is None
    assert hold.find("cancel_order", {"id": "7"}, 0) is None
    assert hold.find("cancel_order", {}, 0) is None
    assert hold.find("delete_order", {"id": 7}, 0) is None


def test_the_order_of_arguments_makes_no_other_call() -> None:
    hold = Hold()
    hold.failed("pay", {"to": {"name": "Ann", "ids": [1, 2]}, "amount": 5}, LOST, None, 0)
    assert hold.find("pay", {"amount": 5, "to": {"ids": [1, 2], "name": "Ann"}}, 0)
    assert hold.find("pay", {"amount": 5, "to": {"ids": [2, 1], "name": "Ann"}}, 0) is None


def test_the_answer_names_the_call_that_tells() -> None:
    held = held_by(LOST).find("cancel_order", {"id": 7}, 0)
    assert held is not None
    answer = held.answer()
    assert (answer.code, answer.effect, answer.retryable, answer.recoverable) == (HELD, Effect.UNKNOWN, False, False)
    assert answer.strategy == "user_action_required"
    assert fw.render(answer, "text") == (
        "cancel_order was not run again: the call before may have been done already. Next: call get_order with "
        '{"id":7} to see whether it was.'
    )
    assert fw.render(held._replace(verify=None).answer(), "text").endswith("already. Next: ask the user.")


def test_it_ends_after_five_minutes() -> None:
    hold = held_by(LOST, at=10)
    assert hold.find("cancel_order", {"id": 7}, 309.9)
    assert hold.find("cancel_order", {"id": 7}, 310) is None
    assert not hold, "and is forgotten"


def test_it_can_be_turned_off() -> None:
    assert not held_by(LOST, seconds=0)


def test_a_look_ends_it_and_another_success_only_where_nobody_said_what_was_done() -> None:
    for error, reads, is_over in (
        (LOST, True, True),
        (LOST, False, False),
        (LOST.replace(effect="partial"), True, True),
        (LOST.replace(effect="done"), False, False),
        (WORDS, True, True),
        (WORDS, False, True),
    ):
        hold = held_by(error, at=5)
        hold.succeeded(6, reads=reads)
        assert (hold.find("cancel_order", {"id": 7}, 6) is None) is is_over, (error, reads)


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("error", [LOST, WORDS])
def test_what_began_before_the_failure_tells_nothing_of_it(error: fw.ToolError, reads: bool) -> None:
    hold = held_by(error, at=5)
    hold.succeeded(4.9, reads=reads)
    assert hold.find("cancel_order", {"id": 7}, 6)


def test_the_word_of_the_user_ends_it_for_one_call() -> None:
    hold = held_by(LOST)
    hold.failed("cancel_order", {"id": 8}, LOST, None, 0)
    hold.release("cancel_order", {"id": 7})
    assert hold.find("cancel_order", {"id": 7}, 0) is None
    assert hold.find("cancel_order", {"id": 8}, 0)


def test_a_call_that_was_not_made_does_not_clear_an_identical_one_that_was() -> None:
    hold = held_by(LOST, UNSENT)
    assert hold.find("cancel_order", {"id": 7}, 0)


def test_the_worse_of_two_identical_calls_counts() -> None:
    held = held_by(LOST, WORDS).find("cancel_order", {"id": 7}, 0)
    assert held is not None
    assert held.effect is Effect.UNKNOWN


def test_memory_is_bounded_and_holds_no_arguments() -> None:
    hold = Hold()
    for number in range(3_000):
        hold.failed("pay", {"secret": f"hunter{number}"}, LOST, None, 0)
    assert len(hold._held) == 1_000
    assert "hunter" not in repr(hold._held)
    assert hold.find("pay", {"secret": "hunter2999"}, 0)


@pytest.mark.parametrize(
    ("error", "is_held"),
    [
        # The author's word.
        (fw.Transient("Busy.", code="RATE_LIMITED", retry_after=3), False),
        (fw.NotFound("No order 7.", effect="none"), False),
        (fw.Conflict("Held.", effect="unknown"), True),
        (fw.ToolError("It broke.", code="BROKEN", kind="internal"), True),
        # An exception of theirs, whatever its text.
        (fw.Invalid("Nothing was done, try again.", standing="quoted"), True),
        (fw.Transient("Busy.", code="RATE_LIMITED", standing="quoted"), True),
        # What the transport saw, and a server's words.
        (LOST, True),
        (UNSENT, False),
        (UNSENT.replace(delivery="not_taken"), False),
        (WORDS, True),
        # A contract, with a word about the effect.
        (fw.Conflict("Held.", origin="peer", standing="stated", effect="none"), False),
        (fw.Conflict("Held.", origin="peer", standing="stated", effect="partial"), True),
        # It worked.
        (fw.ToolError("Nearly full.", severity="warning"), False),
    ],
)
def test_what_leaves_a_write_in_doubt(error: fw.ToolError, is_held: bool) -> None:
    assert leaves_in_doubt(error) is is_held


@pytest.mark.parametrize("text", ["Paid.", "Nothing was done. Safe to retry.", "Nicht gefunden", "请稍后再试", ""])
def test_no_word_of_a_message_holds_or_frees_a_call(text: str) -> None:
    for error in (LOST, UNSENT, WORDS, fw.Internal("x", standing="quoted")):
        assert leaves_in_doubt(error.replace(message=text)) is leaves_in_doubt(error)


# The engine


def engine(**policy: Any) -> tuple[Engine, FakeClock]:
    clock = FakeClock()
    return Engine(fw.Policy(**policy), clock, lambda: 1.0), clock


def made(it: Engine, tool: str = "cancel_order", *failures: fw.ToolError, **arguments: Any) -> Run:
    """A call that fails so, or works; one that is refused is left at that."""
    run = it.begin(tool, arguments or {"id": 7})
    if (refusal := run.refusal(TOOLS)) is not None:
        run.record_refusal(refusal)
        return run
    run.sending()
    if not failures:
        run.worked(TOOLS)
        return run
    run.failed(failures[0])
    run.ending(run.after(failures[0], TOOLS).outcome, TOOLS)
    return run


def test_an_identical_call_is_not_made_before_somebody_has_looked() -> None:
    it, _ = engine()
    made(it, "cancel_order", LOST)
    again = made(it)
    assert (again.report.calls, again.failures[0].code) == (0, HELD)
    assert again.failures[0].verify == LOOK
    assert made(it, id=8).report.calls == 1, "another call"
    assert made(it).report.calls == 0, "and no look"
    assert made(it, "get_order").report.calls == 1
    assert made(it).report.calls == 1


def test_the_words_of_a_server_hold_a_write_until_something_works() -> None:
    it, _ = engine()
    made(it, "cancel_order", WORDS)
    assert made(it).report.calls == 0
    made(it, "cancel_order", WORDS, id=8)
    assert made(it).report.calls == 0, "a failure is no step"
    made(it, id=9)
    assert made(it).report.calls == 1


@pytest.mark.parametrize("tool", ["get_order", "put_order", "frobnicate"])
def test_what_is_no_write_is_never_held(tool: str) -> None:
    it, _ = engine(circuit_breaker=False, max_attempts=1)
    for _ in range(3):
        assert made(it, tool, LOST).report.calls == 1


def test_an_unmarked_tool_is_held_where_its_owner_says_that_it_writes() -> None:
    it, _ = engine()
    tools = Tools({"frobnicate": {"name": "frobnicate"}}, unmarked="write")
    assert tools.traits("frobnicate") == Traits("frobnicate", unmarked="write")
    run = it.begin("frobnicate", {})
    run.sending()
    run.failed(LOST)
    run.ending(run.after(LOST, tools).outcome, tools)
    assert it.begin("frobnicate", {}).held(tools)


def test_a_look_that_began_before_the_call_failed_does_not_end_the_hold() -> None:
    it, clock = engine()
    look = it.begin("get_order", {"id": 7})
    assert look.refusal(TOOLS) is None
    look.sending()
    clock.advance(1)
    made(it, "cancel_order", LOST)
    clock.advance(1)
    look.worked(TOOLS)
    assert made(it).report.calls == 0
    made(it, "get_order")
    assert made(it).report.calls == 1


def test_the_hold_of_an_engine_ends_with_its_time() -> None:
    it, clock = engine()
    made(it, "cancel_order", LOST)
    clock.advance(SECONDS - 1)
    assert made(it).report.calls == 0
    clock.advance(1)
    assert made(it).report.calls == 1


def test_a_policy_without_a_hold_holds_nothing() -> None:
    it, _ = engine(hold=0, circuit_breaker=False)
    for _ in range(3):
        assert made(it, "cancel_order", LOST).report.calls == 1


def test_a_call_that_never_left_is_not_held() -> None:
    it, _ = engine(max_attempts=1, circuit_breaker=False)
    for _ in range(2):
        made(it, "cancel_order", UNSENT)
        assert not it.hold


# A client, a server, and what is seen of it


def bank(*, looks: bool) -> tuple[MCPServer, list[int]]:
    """A server whose `pay_invoice` fails after it has paid; without `looks` no call of it tells."""
    server, paid = MCPServer("bank", log_level="CRITICAL"), list[int]()

    @server.tool()
    def pay_invoice(invoice: int) -> str:
        paid.append(invoice)
        raise TimeoutError

    if looks:

        @server.tool()
        def get_invoice(invoice: int) -> str:
            return "paid" if invoice in paid else "open"

    return server, paid


@pytest.mark.parametrize("answer", [True, False, None, {"invoice": 7}, "yes"])
def test_the_user_is_asked_where_no_call_would_tell(answer: Any) -> None:
    server, paid = bank(looks=False)
    install(server, hold=0)
    asked: list[fw.ToolError] = []

    def ask(outcome: fw.ToolError) -> Any:
        asked.append(outcome)
        return answer if outcome.code == HELD else None

    async def main() -> fw.ToolError | None:
        async with Recovering(Client(server), ask=ask) as agent:
            await agent.call("pay_invoice", {"invoice": 7})
            return (await agent.call("pay_invoice", {"invoice": 7})).error

    error = asyncio.run(main())
    assert [each.code for each in asked].count(HELD) == 1
    assert error is not None
    assert (len(paid), error.code == HELD) == ((2, False) if answer is True else (1, True))


def test_nobody_is_asked_where_a_call_would_tell() -> None:
    server, paid = bank(looks=True)
    install(server, hold=0)
    asked: list[Any] = []

    async def main() -> None:
        async with Recovering(Client(server), ask=asked.append) as agent:
            first = await agent.call("pay_invoice", {"invoice": 7})
            again = await agent.call("pay_invoice", {"invoice": 7})
            assert (first.calls, again.calls, again.error.code) == (1, 0, HELD)
            assert again.error.verify == Action("get_invoice", arguments={"invoice": 7})
            await agent.call("get_invoice", {"invoice": 7})
            assert (await agent.call("pay_invoice", {"invoice": 7})).calls == 1

    asyncio.run(main())
    assert (asked, len(paid)) == ([], 2)


def twice(hook: Any, *, seat: str) -> None:
    """Pay twice, where one of the two holds the second, and tells."""
    server, paid = bank(looks=True)
    is_servers = seat == "server"
    install(server, **({"hooks": [hook]} if is_servers else {"hold": 0}))
    policy = fw.Policy(hold=0) if is_servers else None

    async def main() -> None:
        async with Recovering(Client(server), policy=policy, events=None if is_servers else hook) as agent:
            for _ in range(2):
                await agent.call("pay_invoice", {"invoice": 7})
            await agent.call("get_invoice", {"invoice": 7})

    asyncio.run(main())
    assert paid == [7]


@pytest.mark.parametrize("seat", ["server", "client"])
def test_a_held_call_is_an_event_of_a_double_that_was_prevented(seat: str) -> None:
    seen: list[CallEvent] = []
    twice(seen.append, seat=seat)
    first, again, look = seen
    assert (first.tool, first.ok, first.error and first.error.code) == ("pay_invoice", False, "TIMEOUT")
    assert (again.tool, again.ok, again.error and again.error.code, again.prevented) == (
        "pay_invoice",
        False,
        HELD,
        True,
    )
    assert (look.ok, look.prevented) == (True, False)


@pytest.mark.parametrize("seat", ["server", "client"])
def test_the_dashboard_counts_it_and_no_repeat(seat: str, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    twice(url, seat=seat)
    store(url).close()
    reading = Reading.of(url)
    try:
        numbers, doubts = reading.numbers(Query.of({}).selection), reading.doubts(Query.of({}).selection)
    finally:
        reading.close()
    assert (numbers["held"], numbers["held_looked"]) == (1, 1)
    assert (numbers["doubt"], numbers["doubt_looked"], numbers["doubt_again"], doubts) == (1, 1, 0, [])
