"""The tables of the relay, and that nothing happens which they do not have, whatever comes in which order."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from playbook import Table, result

from failwell.model import NOTHING_RAN, Effect
from failwell.relay.states import REQUEST, SERVER, Event, ServerState, State


def test_only_what_was_with_the_server_may_have_changed_anything() -> None:
    for state, row in REQUEST.items():
        for step in row.values():
            if step.effect is Effect.UNKNOWN:
                assert state in (State.SENT, State.CANCELLED)
            assert (step.delivery in NOTHING_RAN) is (step.effect is Effect.NONE)


def test_every_state_can_be_reached_and_every_request_can_end() -> None:
    reached = {step.to for row in REQUEST.values() for step in row.values()}
    assert reached | {State.NEW} == set(State)
    assert {to for row in SERVER.values() for to in row.values()} | {ServerState.OFF} == set(ServerState)
    for state, row in REQUEST.items():
        targets = {step.to for step in row.values()}
        assert state is State.DONE or targets & {State.DONE, State.SETTLING}
        assert state in (State.DONE, State.SETTLING, State.CANCELLED) or Event.CUT_SHORT in row


KEY = {"io.github.failwell/idempotency-key": "k"}
ids = st.integers(1, 4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pay"), ids),
        st.tuples(st.just("pay by key"), ids),
        st.tuples(st.just("get"), ids),
        st.tuples(st.just("list"), ids),
        st.tuples(st.just("cancel"), ids),
        st.tuples(st.just("paid"), ids),
        st.tuples(st.just("busy"), ids),
        st.tuples(st.just("large"), ids),
        st.tuples(st.just("die"), ids),
        st.tuples(st.just("lose"), ids),
        st.tuples(st.just("revive"), ids),
        st.tuples(st.just("wait"), st.sampled_from((1, 5, 40, 200))),
        st.tuples(st.just("changed"), ids),
        st.tuples(st.just("drain"), ids),
    ),
    max_size=40,
)


@given(steps, st.booleans(), st.booleans())
@settings(max_examples=300)
def test_each_request_has_one_answer_whatever_comes_in_which_order(
    steps: list[tuple[str, int]], modern: bool, connected: bool
) -> None:
    table = Table(modern=modern, connected=connected, timeout=30.0)
    asked: set[Any] = set()
    cancelled: set[Any] = set()
    answered: list[Any] = []
    for number, (step, value) in enumerate(steps):
        id = f"{number}-{value}"
        if step in ("pay", "pay by key", "get"):
            asked.add(id)
            tool = "get_invoice" if step == "get" else "pay_invoice"
            table.call(id, tool, {"invoice_id": str(value)}, KEY if step == "pay by key" else None)
        elif step == "list":
            asked.add(id)
            table.client(table.request(id, "resources/list"))
        elif step == "cancel" and asked:
            given_up = sorted(asked)[value % len(asked)]
            cancelled.add(given_up)
            params = {"requestId": given_up}
            table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        elif step in ("paid", "busy", "large"):
            for message in table.heard():
                if "id" in message and "method" in message:
                    told = result(message["id"], "503 Service Unavailable" if step == "busy" else "paid")
                    told["result"]["isError"] = step == "busy"
                    table.server(told)
        elif step == "die":
            table.died(unwritten=tuple(each.request for each in table.sent[:value] if each.request is not None))
        elif step == "lose":
            table.lose()
        elif step == "revive":
            table.revive()
        elif step == "wait":
            table.passes(value)
        elif step == "changed":
            table.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        elif step == "drain":
            table.do(table.protocol.drain())
        answered += [each["id"] for each in table.told() if "method" not in each]
    for _ in range(2):
        table.do(table.protocol.drain())
    answered += [each["id"] for each in table.told() if "method" not in each]
    mine = [id for id in answered if id in asked]
    assert len(mine) == len(set(mine))
    if table.quit is not None and table.quit.code == 0:
        assert asked - cancelled <= set(mine)
