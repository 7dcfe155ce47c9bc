"""Law 5: a call that may have had an effect is not repeated unless something says that it may be."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import (
    CLASSES,
    EVERY_CODE,
    FORMATS,
    WIRE_TEXTS,
    Laws,
    denies_its_code,
    errors,
    in_doubt,
    moments,
    noted,
    outcomes,
    texts,
    values,
)

import failwell as fw
from failwell import Policy
from failwell.model import Effect, Kind, Nature, Next, Strategy, Traits

_maybe = st.sampled_from((None, True, False))
_hints = st.fixed_dictionaries(
    {},
    optional={
        "readOnlyHint": st.one_of(_maybe, values),
        "idempotentHint": st.one_of(_maybe, values),
        "destructiveHint": _maybe,
        "name": values,
        "annotations": values,
    },
)
traits = st.builds(Traits, st.none() | texts, _maybe, _maybe, _maybe)
tools = st.one_of(
    st.none(),
    texts,
    traits,
    _hints,
    st.fixed_dictionaries({"name": texts, "annotations": st.one_of(_hints, st.none())}),
    st.builds(SimpleNamespace, name=texts, annotations=st.builds(SimpleNamespace, read_only_hint=_maybe)),
    st.builds(SimpleNamespace, name=texts, annotations=st.builds(SimpleNamespace, readOnlyHint=_maybe)),
    values,
)
deliveries: st.SearchStrategy[Any] = st.sampled_from((None, "never_sent", "refused", "unanswered", "answered"))
_wait = st.one_of(st.floats(0, 1000), st.sampled_from((0.0, math.inf, 1e308)))
policies = st.one_of(
    st.none(),
    st.builds(
        Policy,
        max_attempts=st.integers(1, 6),
        max_fixes=st.integers(0, 3),
        base_delay=_wait,
        max_delay=_wait,
        trust_annotations=st.booleans(),
    ),
)
histories = st.lists(errors, max_size=3)


def may_repeat(error: fw.ToolError, tool: Traits, delivery: str | None, policy: Policy) -> bool:
    """The law, in its own words."""
    if error.effect in (Effect.DONE, Effect.PARTIAL):
        return False
    if repeatable(tool, policy):
        return True
    delivery = delivery or error.delivery
    if delivery in ("never_sent", "refused"):
        return True
    if delivery == "unanswered" or error.standing == "quoted" or error.legacy or error.effect is Effect.UNKNOWN:
        return False
    # What counts as an invitation is for test_law_standing.
    return error.effect is Effect.NONE or (error.retryable and error.origin != "local")


def repeatable(tool: Traits, policy: Policy) -> bool:
    """Whether twice is as good as once, by the word of somebody who is to be believed."""
    reads = (tool.read_only is True and tool.destructive is not True) or tool.nature is Nature.NAMED_READ
    return (policy.trust_annotations or tool.told) and (reads or tool.idempotent is True)


def one_line(reason: str) -> bool:
    return bool(reason.strip()) and len(reason.splitlines()) == 1


@given(outcomes, tools, deliveries, histories, policies)
def test_it_always_decides(
    error: Any, tool: Any, delivery: Any, history: list[fw.ToolError], policy: Policy | None
) -> None:
    decision = fw.decide(error, tool=tool, delivery=delivery, history=history, policy=policy)
    assert isinstance(decision.next, Next)
    assert one_line(decision.reason), decision.reason
    assert decision.reason.encode()
    assert decision.repeats is (decision.next is Next.RETRY)
    assert decision.attempts_left >= 0
    assert fw.decide(error, tool=tool, delivery=delivery, history=history, policy=policy).next is decision.next


@given(errors, tools, deliveries, histories, policies)
def test_it_repeats_only_what_may_be_repeated(
    error: fw.ToolError, tool: Any, delivery: Any, history: list[fw.ToolError], policy: Policy | None
) -> None:
    rules = policy or Policy()
    decision = fw.decide(error, tool=tool, delivery=delivery, history=history, policy=policy)
    if not decision.repeats:
        return
    assert error.is_error
    assert may_repeat(error, Traits.of(tool), delivery, rules)
    assert len(history) + 1 < rules.max_attempts
    assert decision.attempts_left == rules.max_attempts - len(history) - 1
    assert decision.delay is not None
    assert 0 <= decision.delay <= rules.max_delay
    assert error.retry_after is None or decision.delay >= error.retry_after
    assert not decision.doubtful
    assert not decision.unproven


@st.composite
def _dangerous(draw: st.DrawFn) -> fw.ToolError:
    """Errors that look as if they wanted to be repeated."""
    given_fields = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "effect": st.sampled_from((*Effect, None)),
                "strategy": st.sampled_from(list(Strategy)),
                "recoverable": st.booleans(),
                "retry_after": st.sampled_from((1, 0.5, 1e9)),
                "reset_at": moments,
                "origin": st.sampled_from(("peer", "local")),
                "standing": st.sampled_from(("stated", "quoted")),
                "delivery": deliveries,
                "legacy": st.booleans(),
                "kind": st.sampled_from(list(Kind)),
                "verify": texts,
                "actions": st.lists(texts, max_size=2),
                "conflicts": st.lists(texts, max_size=2),
                "title": texts,
                "severity": st.sampled_from(("error", "error", "critical", "warning")),
            },
        )
    )
    maker: Any = draw(st.sampled_from((*EVERY_CODE, *CLASSES)))
    error: fw.ToolError = maker(draw(texts), **given_fields)
    return noted(error)


@given(_dangerous(), traits, deliveries, policies)
def test_a_write_whose_outcome_is_unknown_is_never_repeated(
    error: fw.ToolError, tool: Traits, delivery: Any, policy: Policy | None
) -> None:
    decision = fw.decide(error, tool=tool, delivery=delivery, policy=policy)
    assert one_line(decision.reason)
    if not may_repeat(error, tool, delivery, policy or Policy()):
        assert not decision.repeats
    if error.effect is Effect.DONE and error.is_error:
        assert decision.next is Next.GIVE_UP
    unanswered = (delivery or error.delivery) == "unanswered"
    if (
        unanswered
        and not repeatable(tool, policy or Policy())
        and error.effect not in (Effect.DONE, Effect.PARTIAL)
        and error.is_error
    ):
        # Not even a corrected or another call, before somebody knows what the first one did.
        assert decision.next in (Next.VERIFY, Next.ASK)
        assert decision.doubtful


@given(_dangerous(), deliveries)
def test_hints_of_a_server_that_is_not_trusted_change_nothing(error: fw.ToolError, delivery: Any) -> None:
    policy = Policy(trust_annotations=False)
    told = Traits("t", read_only=True, idempotent=True)
    bare = Traits("t")
    assert told.known(trusted=False) == bare
    assert (
        fw.decide(error, tool=told, delivery=delivery, policy=policy).next
        is fw.decide(error, tool=bare, delivery=delivery, policy=policy).next
    )


@given(_dangerous(), traits, deliveries)
def test_a_retry_comes_to_an_end(error: fw.ToolError, tool: Traits, delivery: Any) -> None:
    history: list[fw.ToolError] = []
    for _ in range(4):
        decision = fw.decide(error, tool=tool, delivery=delivery, history=history)
        if decision.next not in (Next.RETRY, Next.FIX):
            return
        history.append(error)
    pytest.fail("It never gives up.")


@given(errors, moments)
def test_any_moment_may_be_now(error: fw.ToolError, now: datetime) -> None:
    decision = fw.decide(error, now=now)
    assert one_line(decision.reason)


@given(st.sampled_from(FORMATS), errors, traits, deliveries)
def test_what_came_over_a_wire_is_no_safer(format: str, error: fw.ToolError, tool: Traits, delivery: Any) -> None:
    back = fw.parse(fw.render(error, format), format)
    if isinstance(back, fw.ToolError):
        decision = fw.decide(back, tool=tool, delivery=delivery)
        assert not decision.repeats or may_repeat(back, tool, delivery, Policy())


@given(errors, traits, deliveries)
# What only repeats the code and the kind is no statement, since no wire could tell it from one.
@example(fw.NotFound("m", effect="none"), Traits(), "unanswered")
@example(Laws.LawsFlaky("m", strategy="report_and_abort"), Traits(), None)
def test_carrying_an_error_over_a_wire_changes_no_decision(error: fw.ToolError, tool: Traits, delivery: Any) -> None:
    # A peer that says no where the catalogue says yes is believed, but that is its word, and what we write has ours.
    assume("wire_retryable" not in error._given)
    # Of a call that may have been done no wire says what would lead to another, even where that would do no harm.
    told = ("recoverable", "strategy", "retry_after", "reset_at")
    assume(not (in_doubt(error) and any(error.given(name) for name in told)))
    assume(not denies_its_code(error))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    for format in ("typed", "v1", "xml", "envelope", "jsonrpc", "canonical"):
        # Where it came from and in which format is not what it says.
        here = error.replace(origin="peer", format=format, legacy=None, delivery=None)
        if format in ("v1", "envelope"):
            # Their flag is the peer's word, which our guess about a code is not.
            here = here.replace(wire_retryable=here.retryable)
        back = fw.parse(fw.render(here, format, carry=True, guard=None))
        assert isinstance(back, fw.ToolError)
        if back.standing == "quoted":
            # What the form itself does not permit, the fields beside it cannot either.
            here = here.replace(standing="quoted", effect=back.effect)
        mine = fw.decide(here, tool=tool, delivery=delivery, now=now)
        theirs = fw.decide(back, tool=tool, delivery=delivery, now=now)
        assert (mine.next, mine.delay, mine.calls, mine.holders) == (
            theirs.next,
            theirs.delay,
            theirs.calls,
            theirs.holders,
        )


class Raising:
    """A tool that breaks when it is asked."""

    @property
    def name(self) -> str:
        raise RuntimeError("no")

    annotations = name


def test_a_tool_that_breaks_is_a_tool_nothing_is_known_of() -> None:
    assert fw.decide(fw.Transient("m"), tool=Raising()).next is fw.decide(fw.Transient("m")).next


@pytest.mark.parametrize(
    "prose", ["Connection reset by peer, please retry.", "429 Too Many Requests", *WIRE_TEXTS[-1:]]
)
def test_prose_is_no_permission(prose: str) -> None:
    error = fw.parse({"content": [{"type": "text", "text": prose}], "isError": True})
    assert isinstance(error, fw.ToolError)
    assert not fw.decide(error, tool="pay").repeats


@pytest.mark.parametrize("delay", [timedelta(seconds=1), 0.5, 299])
def test_a_server_that_says_so_is_believed(delay: Any) -> None:
    wire = fw.render(fw.Transient("Busy.", code="RATE_LIMITED", retry_after=delay), "v1")
    decision = fw.decide(fw.parse(wire), tool="pay")  # type: ignore[arg-type]
    assert decision.repeats
