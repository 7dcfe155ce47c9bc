"""The engine alone: what it lets through, what it has done after a failure, and what it tells. Nobody waits here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import failwell as fw
from failwell.model.decision import Next
from failwell.model.tool import fingerprint
from failwell.recovery import (
    IDEMPOTENCY_FIRST,
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_STORE,
    Engine,
    KeyForgotten,
    Limits,
    Run,
    Tools,
    store_of,
)
from failwell.recovery.attempts import spread
from failwell.testing import FakeClock

DOWN = fw.Transient("Down.", code="UNAVAILABLE", effect="none", origin="peer", standing="stated")
BUSY = fw.Transient("Busy.", code="RATE_LIMITED", retry_after=7, effect="none", origin="peer", standing="stated")
LOST = fw.Transient("Lost.", code="TIMEOUT", effect="unknown", origin="local", delivery="unanswered")
GONE = fw.NotFound("No order 7.", origin="peer", standing="stated")
ORDERS = Tools(
    {
        "cancel_order": {"name": "cancel_order", "inputSchema": {"properties": {"id": {}}}},
        "get_order": {
            "name": "get_order",
            "inputSchema": {"properties": {"id": {}}, "required": ["id"]},
            "annotations": {"readOnlyHint": True},
        },
        "find": {"name": "find", "annotations": {"readOnlyHint": True}},
    }
)


def engine(limits: Limits | None = None, **policy: Any) -> tuple[Engine, FakeClock]:
    clock = FakeClock()
    return Engine(fw.Policy(**policy), clock, lambda: 1.0, limits=limits), clock


def driven(it: Engine, clock: FakeClock, *failures: fw.ToolError, tool: str = "find", **arguments: Any) -> Run:
    """What becomes of a call that fails so, one after the other, and then works."""
    run, left = it.begin(tool, arguments), list(failures)
    while (refusal := run.refusal(ORDERS)) is None:
        run.sending()
        if not left:
            run.worked(ORDERS)
            return run
        run.failed(error := left.pop(0))
        verdict = run.after(error, ORDERS)
        if not run.may_follow(verdict, ORDERS) or not run.consume_budget(verdict):
            break
        assert verdict.wait is not None
        clock.advance(verdict.wait)
    else:
        run.record_refusal(refusal)
    return run


def text_of(run: Run) -> str:
    return run.ending(run.report.attempts[-1].error, ORDERS).text


def test_what_passes_is_waited_out_as_long_as_the_server_says() -> None:
    run = driven(*engine(), BUSY, BUSY)
    assert run.report.calls == 3
    assert [attempt.wait for attempt in run.report.attempts] == [pytest.approx(7.7)] * 2


def test_the_last_failure_says_how_often_it_was_tried_and_what_to_do() -> None:
    run = driven(*engine(), DOWN, DOWN, DOWN)
    assert run.report.attempts[-1].decision.next is Next.GIVE_UP
    assert text_of(run) == "Down. It was tried 3 times. Wait 1 second, then make the same call again."


def test_a_server_that_is_started_anew_is_waited_for_longer_than_one_that_never_was_there() -> None:
    away = fw.Transient("Away.", code="NETWORK_ERROR", effect="none", origin="local", delivery="never_sent")
    it, clock = engine()
    assert len(driven(it, clock, *[away] * 9, n=1).report.attempts) == 3
    it, clock = engine()
    driven(it, clock)
    run = driven(it, clock, *[away] * 4, tool="cancel_order")
    assert (run.report.calls, [attempt.wait for attempt in run.report.attempts]) == (1, [1, 2, 4, 8])
    run = driven(it, clock, away, BUSY, away, away, n=2)
    assert (len(run.report.attempts), run.report.calls) == (4, 2), "what could not be sent is no call"
    run = driven(it, clock, BUSY, BUSY, BUSY, away, n=3)
    assert len(run.report.attempts) == 3, "it had all the calls that it is worth"
    it, clock = engine(max_attempts=1)
    driven(it, clock)
    assert len(driven(it, clock, *[away] * 9).report.attempts) == 1, "who wants no repetition gets none"
    assert [spread(4, away, chance) for chance in (0, 1)] == [2, 4], "a server needs its time"


def test_a_tool_that_fails_again_and_again_is_left_alone_and_then_tried_by_one() -> None:
    it, clock = engine(Limits(break_after=2, loop_after=99), max_attempts=1)
    assert [driven(it, clock, DOWN, n=number).report.calls for number in range(3)] == [1, 1, 0]
    assert text_of(driven(it, clock, n=3)) == (
        "Not called: find failed twice in a row. Wait 30 seconds, then make the same call again."
    )
    clock.advance(30)
    first, second = it.begin("find", {}), it.begin("find", {})
    assert first.refusal(ORDERS) is None
    assert second.refusal(ORDERS) is not None, "only one tries"
    first.release()
    assert second.refusal(ORDERS) is None, "given up: the next one may"
    second.worked(ORDERS)
    assert driven(it, clock, n=5).report.calls == 1


def test_another_tool_of_the_same_server_is_not_to_blame() -> None:
    it, clock = engine(Limits(break_after=1), max_attempts=1)
    driven(it, clock, DOWN)
    assert driven(it, clock).report.calls == 0
    assert driven(it, clock, tool="get_order", id=7).report.calls == 1


def test_repetitions_are_taken_from_one_budget() -> None:
    it, clock = engine(Limits(budget=3, break_after=99, loop_after=99))
    assert [driven(it, clock, DOWN, DOWN, DOWN, n=number).report.calls for number in range(3)] == [3, 2, 1]
    run = driven(it, clock, DOWN, n=4)
    assert run.report.attempts[-1].decision.reason == (
        "This server was given all the repetitions it is worth at present."
    )
    for _ in range(11):
        driven(it, clock, n=5)
    assert driven(it, clock, DOWN, n=6).report.calls == 2, "a success is worth a tenth"


def test_the_same_call_is_not_made_a_third_time_before_something_has_changed() -> None:
    it, clock = engine()
    texts = [text_of(driven(it, clock, GONE, id=7)) for _ in range(3)]
    assert texts == [
        "No order 7. Look for another one; the same call will fail again.",
        "No order 7. The same call has now failed twice in the same way and will not be made again. Use another one, or "
        "look for it first.",
        "Not called: the same call failed twice in the same way. No order 7. Use another one, or look for it first.",
    ]
    driven(it, clock, id=8)
    assert driven(it, clock, id=7).report.calls == 0, "what only reads has changed nothing"
    driven(it, clock, tool="cancel_order", id=8)
    assert driven(it, clock, id=7).report.calls == 1


def test_whoever_looks_as_told_may_call_once_more_and_not_for_ever() -> None:
    it, clock = engine(Limits(break_after=99), hold=0)
    held = fw.Conflict("The order is held.", effect="unknown", origin="peer", standing="stated")

    def cancelled() -> Run:
        return driven(it, clock, held, tool="cancel_order", id=7)

    made = []
    for _ in range(3):
        made.append(cancelled())
        text_of(made[-1])
    assert [run.report.calls for run in made] == [1, 1, 0]
    driven(it, clock, tool="find", id=8)
    assert cancelled().report.calls == 0, "that was another look"
    made.clear()
    for _ in range(20):
        driven(it, clock, tool="get_order", id=7)
        made.append(cancelled())
        text_of(made[-1])
    assert sum(run.report.calls for run in made) == 5


def test_a_call_that_may_have_been_done_is_made_once_and_told_with_the_one_that_tells() -> None:
    run = driven(*engine(), LOST, tool="cancel_order", id=7)
    ending = run.ending(run.report.attempts[-1].error, ORDERS)
    assert (run.report.calls, ending.decision.next, ending.in_doubt) == (1, Next.VERIFY, True)
    assert ending.text == (
        'The answer was lost, so cancel_order may have been done already. Next: call get_order with {"id":7} to see '
        "whether it was."
    )


@pytest.mark.parametrize("arguments", [{"id": 7}, {}, {"reason": "no"}])
def test_the_words_of_a_write_that_was_refused_are_passed_on_as_they_are(arguments: dict[str, Any]) -> None:
    words = fw.Invalid("reason is too short", origin="peer", standing="quoted")
    run = driven(*engine(), words, tool="cancel_order", **arguments)
    assert (run.report.calls, text_of(run)) == (1, "reason is too short")


def test_what_an_earlier_attempt_may_have_done_is_not_denied_by_the_last() -> None:
    it, _ = engine()
    run = it.begin("put", {})
    tools = Tools({"put": {"name": "put", "annotations": {"idempotentHint": True}}})
    for error in (LOST, GONE.replace(effect="none")):
        assert run.refusal(tools) is None
        run.sending()
        run.failed(error)
        verdict = run.after(error, tools)
    ending = run.ending(verdict.outcome, tools)
    assert isinstance(ending.outcome, fw.ToolError)
    assert ending.outcome.effect is None


def test_after_the_deadline_nothing_is_begun() -> None:
    run = driven(*engine(deadline=10), BUSY, BUSY)
    assert run.report.calls == 2
    assert run.report.attempts[-1].decision.reason == "The next call would come after the deadline of 10 seconds."


def test_a_call_that_was_never_sent_does_not_count_as_one() -> None:
    run = driven(*engine(), DOWN.replace(origin="local", delivery="never_sent"))
    assert (run.report.calls, [attempt.made for attempt in run.report.attempts]) == (1, [False])


def test_the_user_is_asked_once_for_leave_and_a_few_times_for_answers() -> None:
    it, _ = engine()
    run = it.begin("pay", {})
    assert [run.asks(fw.Denied("No.")) for _ in range(2)] == [True, False]
    run = it.begin("pay", {})
    assert [run.asks(fw.NeedsInput("Which?", fields=["id"])) for _ in range(6)] == [True] * 5 + [False]


def attempt(run: Run, store: str | None, outcome: fw.ToolError) -> dict[str, Any]:
    """What goes with the call to a server with this store of keys, before it fails."""
    assert run.refusal(ORDERS) is None
    run.use_key(store, ORDERS)
    sent = dict(run.key.meta)
    run.sending()
    run.failed(outcome)
    return sent


def test_a_key_makes_a_lost_write_repeatable_as_long_as_its_store_is_there() -> None:
    it, _ = engine()
    run = it.begin("cancel_order", {"id": 7}, {"mine": 1})
    first = attempt(run, "store", LOST)
    assert run.after(LOST, ORDERS).decision.repeats
    second = attempt(run, "store", LOST)
    # The first one is known to be the first.
    assert first == {**second, IDEMPOTENCY_FIRST: True}
    assert second.keys() == {IDEMPOTENCY_KEY, IDEMPOTENCY_STORE, "mine"}
    assert run.refusal(ORDERS) is None
    with pytest.raises(KeyForgotten):
        run.use_key("another", ORDERS)


def test_what_may_be_called_twice_gets_another_key_from_another_store() -> None:
    it, _ = engine()
    run = it.begin("find", {})
    keys = [attempt(run, store, LOST)[IDEMPOTENCY_KEY] for store in ("one", "two")]
    assert len(set(keys)) == 2


def without_a_store(run: Run) -> None:
    attempt(run, None, LOST)


def without_a_word(run: Run) -> None:
    assert run.refusal(ORDERS) is None
    run.sending()
    run.failed(LOST)


@pytest.mark.parametrize("sends", [without_a_store, without_a_word])
def test_a_call_that_once_went_without_its_key_is_known_by_none(sends: Callable[[Run], None]) -> None:
    it, _ = engine()
    run = it.begin("cancel_order", {"id": 7}, {IDEMPOTENCY_KEY: "mine"})
    sends(run)
    assert not run.after(LOST, ORDERS).decision.repeats
    # It goes along for whoever knows it on the way, and proves nothing.
    assert attempt(run, "store", LOST)[IDEMPOTENCY_KEY] == "mine"
    assert not run.key.is_known


@pytest.mark.parametrize("sends", [without_a_store, without_a_word])
def test_a_key_of_ours_is_not_sent_where_the_call_once_went_without_it(sends: Callable[[Run], None]) -> None:
    it, _ = engine()
    run = it.begin("cancel_order", {"id": 7})
    sends(run)
    assert IDEMPOTENCY_KEY not in attempt(run, "store", LOST)


def test_a_key_of_ones_own_goes_to_a_server_that_says_nothing_of_keys() -> None:
    """A relay in between may know it."""
    it, _ = engine()
    run = it.begin("cancel_order", {"id": 7}, {IDEMPOTENCY_KEY: "mine"})
    assert attempt(run, None, LOST) == {IDEMPOTENCY_KEY: "mine"}


def test_a_key_of_ones_own_is_kept() -> None:
    it, _ = engine()
    sent = attempt(it.begin("pay", {}, {IDEMPOTENCY_KEY: "mine"}), "store", LOST)
    # It may have been used before.
    assert sent == {IDEMPOTENCY_KEY: "mine", IDEMPOTENCY_STORE: "store"}


def test_a_call_that_did_nothing_has_given_its_key_back() -> None:
    it, _ = engine()
    run = it.begin("cancel_order", {"id": 7})
    busy = fw.ToolError(
        "Busy.", code="UNAVAILABLE", effect="none", standing="stated", origin="peer", delivery="answered"
    )
    first = attempt(run, "store", busy)
    assert run.after(busy, ORDERS).decision.repeats
    # Another server may take it: nobody has it yet.
    assert attempt(run, "another", LOST) == {**first, IDEMPOTENCY_STORE: "another"}
    assert IDEMPOTENCY_FIRST not in attempt(run, "another", LOST)


class Capabilities:
    extensions: Any = None
    experimental: Any = None

    def __init__(self, **places: Any) -> None:
        vars(self).update(places)


@pytest.mark.parametrize("place", ["extensions", "experimental"])
@pytest.mark.parametrize(
    ("settings", "store"),
    [({"idempotency": {"instance": "i"}}, "i"), ({"idempotency": {"instance": 7}}, None), ({"idempotency": True}, None), ([], None)],
)  # fmt: skip
def test_a_server_says_by_its_capabilities_which_store_it_has(place: str, settings: Any, store: str | None) -> None:
    assert store_of(Capabilities(**{place: {"io.github.failwell/tool-error": settings}})) == store
    assert store_of(None) is None


def test_copies_share_what_is_known() -> None:
    it, clock = engine(Limits(break_after=1), max_attempts=1)
    driven(it, clock, DOWN)
    assert driven(copy.deepcopy(it), clock).report.calls == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("pay", {"a": 1, "b": {"c": 2, "d": 3}}), ("pay", {"b": {"d": 3, "c": 2}, "a": 1}), True),
        (("pay", {"a": 1}), ("pay", {"a": "1"}), False),
        (("pay", {"a": [1, 2]}), ("pay", {"a": [2, 1]}), False),
        (("pay", {}), ("pays", {}), False),
        (("pay", {"a": True}), ("pay", {"a": 1}), False),
    ],
)
def test_two_calls_are_the_same_if_tool_and_arguments_are(one: Any, other: Any, same: bool) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) is same
    assert "pay" not in fingerprint(*one)


def test_a_servers_number_and_field_alone_have_no_write_made_again() -> None:
    refused = fw.read(
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "id is bad", "data": {"field": "id"}}}
    )
    assert isinstance(refused, fw.ToolError)
    run = driven(*engine(), refused, tool="cancel_order", id=7)
    assert (run.report.calls, text_of(run)) == (1, "id is bad")
