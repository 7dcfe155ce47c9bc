"""The three counters that keep a call from being made, with time from outside."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.model import Action
from failwell.recovery.retry_limits import Breaker, Limits, RetryLimits, is_to_blame, repeat_note


def test_a_breaker_opens_after_so_many_failures_in_a_row_and_lets_one_call_try() -> None:
    breaker = Breaker(after=3, pause=10, longest=25)
    for _ in range(2):
        breaker.fail(0)
    assert breaker.wait(0) is None
    breaker.fail(0)
    assert breaker.wait(4) == 6
    assert breaker.wait(10) is None, "one tries"
    assert breaker.wait(10) == 1, "and only one"
    breaker.fail(11)
    assert breaker.wait(11) == 20, "twice as long"
    assert breaker.wait(31) is None
    breaker.fail(31)
    assert breaker.wait(31) == 25, "but not for ever"
    assert breaker.wait(56) is None


def test_a_try_that_was_given_up_leaves_the_next_one_free() -> None:
    breaker = Breaker(after=1, pause=10, longest=10)
    breaker.fail(0)
    assert breaker.wait(10) is None
    breaker.release()
    assert breaker.wait(10) is None


@given(st.lists(st.tuples(st.sampled_from(["call", "worked", "failed"]), st.floats(0, 40))))
def test_while_a_breaker_is_open_at_most_one_call_is_under_way(steps: list[tuple[str, float]]) -> None:
    breaker, now, trying = Breaker(after=2, pause=10, longest=100), 0.0, 0
    for step, passed in steps:
        now += passed
        if step == "call":
            wait = breaker.wait(now)
            if breaker.closed_at is not None and wait is None:
                trying += 1
            assert trying <= 1
            assert wait is None or 0 < wait <= 100
        elif step == "worked":
            breaker, trying = Breaker(after=2, pause=10, longest=100), 0
        else:
            breaker.fail(now)
            trying = 0


@given(st.floats(0, 10), st.lists(st.booleans()))
def test_a_budget_is_never_overdrawn_nor_overfilled(most: float, steps: list[bool]) -> None:
    limits, taken, earned = RetryLimits(fw.Policy(), Limits(budget=most)), 0, 0
    for takes in steps:
        if takes:
            taken += limits.take(fw.Transient("m", code="UNAVAILABLE"))
        else:
            limits.succeed("get", {}, changed=False)
            earned += 1
        assert 0 <= limits.budget_left <= most
    assert taken <= most + earned / 10 + 1e-9


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        (fw.Transient("m", code="UNAVAILABLE"), 3),
        (fw.Transient("m", code="UNAVAILABLE", retry_after=0.1), 7),
        (fw.Transient("m", code="RATE_LIMITED"), 7),
        (fw.Transient("m", code="TIMEOUT"), 2),
    ],
)
def test_a_server_that_asks_to_wait_is_worth_more_repetitions_than_one_that_is_silent(
    error: fw.ToolError, taken: int
) -> None:
    limits = RetryLimits(fw.Policy(), Limits(budget=3))
    assert [limits.take(error) for _ in range(9)] == [True] * taken + [False] * (9 - taken)


class Loops(RetryLimits):
    def __init__(self) -> None:
        super().__init__(fw.Policy(), Limits())

    def refusal(self, tool: str, arguments: Any, now: float) -> str | None:
        refused = self.refuses(tool, arguments, now, first=True)
        return None if refused is None else refused.message


MISSING = fw.NotFound("There is no user 7.")


def test_the_same_call_counts_whatever_the_order_of_its_arguments() -> None:
    loops = Loops()
    assert loops.count("get", {"a": 1, "b": [1, {"c": None}]}, MISSING, 0) == 1
    assert loops.count("get", {"b": [1, {"c": None}], "a": 1}, MISSING, 0) == 2
    assert (
        loops.refusal("get", {"a": 1, "b": [1, {"c": None}]}, 0)
        == "Not called: the same call failed twice in the same way. There is no user 7."
    )
    assert loops.refusal("get", {"a": 2, "b": [1, {"c": None}]}, 0) is None
    assert loops.refusal("put", {"a": 1, "b": [1, {"c": None}]}, 0) is None


def test_another_way_of_failing_begins_anew() -> None:
    loops = Loops()
    loops.count("get", {}, MISSING, 0)
    assert loops.count("get", {}, fw.Denied("No."), 0) == 1
    loops.count("get", {}, fw.Invalid("m", fields=[("a", "wrong")]), 0)
    assert loops.count("get", {}, fw.Invalid("m", fields=[("b", "wrong")]), 0) == 1
    assert loops.count("get", {}, fw.Invalid("other words", fields=[("b", "wrong")]), 0) == 2


def test_what_passes_may_be_tried_again_when_its_time_has_come() -> None:
    loops = Loops()
    busy = fw.Transient("m", code="RATE_LIMITED", retry_after=7)
    for _ in range(2):
        loops.count("get", {}, busy, 0)
    assert loops.refusal("get", {}, 6) is not None
    assert loops.refusal("get", {}, 7) is None


def test_a_look_counts_for_each_call_that_names_it() -> None:
    loops = Loops()
    lost = fw.Internal("m", effect="unknown", verify=Action("find", None, {"id": 1}))
    for name in "ab":
        for _ in range(2):
            loops.count("put", {"a": name}, lost, 0)
    loops.succeed("put", {"a": "a"}, changed=False)
    loops.succeed("find", {"id": 2}, changed=False)
    assert loops.refusal("put", {"a": "b"}, 0) == "Not called: the same call failed twice in the same way. m"
    loops.succeed("find", {"id": 1}, changed=False)
    assert loops.refusal("put", {"a": "b"}, 0) is None
    assert loops.count("put", {"a": "b"}, MISSING, 0) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": float("nan")},
        {"a": object()},
        {"a": {1: 2, "b": 3}},
        {"a": {(1, 2): 3}},
        {"\ud800": "\ud800"},
        {"a": b"x"},
    ],
    ids=["nan", "object", "mixed keys", "tuple keys", "surrogates", "bytes"],
)
def test_any_arguments_can_be_remembered(arguments: Any) -> None:
    loops = Loops()
    for _ in range(2):
        loops.count("get", arguments, MISSING, 0)
    assert loops.refusal("get", arguments, 0) is not None
    loops.succeed("get", arguments, changed=False)
    assert loops.refusal("get", arguments, 0) is None


def test_arguments_that_hold_themselves_can_be_remembered() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    assert Loops().count("get", endless, MISSING, 0) == 1


def test_memory_is_bounded_and_holds_no_arguments() -> None:
    loops = Loops()
    for number in range(3_000):
        loops.count("get", {"secret": f"hunter{number}"}, MISSING, 0)
    assert len(loops._calls) == 1_000
    assert "hunter" not in repr(loops._calls)


@pytest.mark.parametrize(
    ("error", "blamed"),
    [
        (fw.Internal("m"), True),
        (fw.Transient("m", code="UNAVAILABLE"), True),
        (fw.Transient("m", code="RATE_LIMITED", retry_after=3), False),
        (fw.Invalid("m"), False),
        (fw.NotFound("m"), False),
        (fw.Denied("m"), False),
        (fw.Conflict("m"), False),
    ],
)
def test_only_the_servers_own_failures_count_against_it(error: fw.ToolError, blamed: bool) -> None:
    assert is_to_blame(error) is blamed


@pytest.mark.parametrize("field", ["timeout", "deadline"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "60", None, True])
def test_a_policy_without_a_limit_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{field} is a number of seconds above zero"):
        fw.Policy(**{field: value})


WRONG_COUNTS = [-1, 2.5, "3", None, True, float("nan")]
WRONG_AMOUNTS = [-1, -0.5, "x", None, True, float("nan")]


@pytest.mark.parametrize(
    ("field", "values", "words"),
    [
        ("max_attempts", [0, *WRONG_COUNTS], "is a whole number, at least 1"),
        ("max_fixes", WRONG_COUNTS, "is a whole number, 0 or more"),
        *((field, WRONG_AMOUNTS, "is a number of seconds, 0 or more") for field in ("base_delay", "max_delay")),
        *((field, ["no", 1, None], "is True or False") for field in ("trust_annotations", "circuit_breaker")),
    ],
)
def test_a_policy_says_at_once_what_it_cannot_use(field: str, values: list[Any], words: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=f"^{field} {words}") as caught:
            fw.Policy(**{field: value})
        assert str(caught.value).endswith(f", not {value!r}.")


def test_a_policy_may_say_that_nothing_is_waited_for_and_nothing_tried_again() -> None:
    for none in ({"base_delay": 0}, {"max_delay": float("inf")}, {"max_fixes": 0}, {"hold": 0}):
        assert fw.Policy(**none) != fw.Policy()


def test_each_field_of_a_policy_is_looked_at() -> None:
    for field in fields(fw.Policy):
        with pytest.raises(ValueError, match=f"^{field.name} "):
            fw.Policy(**{field.name: object()})  # type: ignore[arg-type]


def test_what_the_text_says_may_be_called_again_is_not_refused_when_its_time_has_come() -> None:
    harmless = fw.Transient("Busy.", code="SERVER_BUSY", effect="none")
    for error, first in (
        (harmless, fw.Policy().base_delay),
        (harmless.replace(effect="unknown"), Limits().break_for),
    ):
        loops = Loops()
        for _ in range(3):
            loops.count("get", {}, error, 0)
        assert loops.refusal("get", {}, first - 0.1) is not None
        assert loops.refusal("get", {}, first) is None
        assert ("will not be made again" in repeat_note(error, 2, Limits())) == (error is not harmless)
