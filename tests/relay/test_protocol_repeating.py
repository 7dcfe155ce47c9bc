"""What is made again, what is stopped, and how long a call may take."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playbook import Table, result

from failwell.formats import META_KEY


def test_a_read_that_fails_in_a_passing_way_is_made_again() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.heard()
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    assert table.told() == []
    table.passes(30)
    (again,) = table.heard()
    table.server(result(again["id"], "paid"))
    assert table.told() == [result(1, "paid")]


INVITING: dict[str, dict[str, Any]] = {
    "a flag": {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "reset", "retryable": True},
    "a flag in an envelope": {
        "success": False,
        "data": None,
        "error": {"code": "timeout", "message": "no answer in time", "retryable": True},
    },
    "a delay": {
        "kind": "toolError:v1",
        "code": "RATE_LIMITED",
        "message": "slow",
        "retryable": True,
        "retryAfterMs": 9,
    },
    "our own words": {"failwell": 1, "kind": "transient", "message": "slow", "retryable": True, "effect": "none"},
}


def test_a_failed_envelope_without_the_flag_passes_as_it_came_and_its_write_is_held() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.heard()
    table.server(result(1, json.dumps(INVITING["a flag in an envelope"])))
    assert table.told() == [result(1, json.dumps(INVITING["a flag in an envelope"]))]
    table.passes(30)
    assert table.heard() == []
    table.call(2, "pay_invoice", {"invoice_id": "i"})
    assert table.heard() == []
    (held,) = table.told()
    assert "was not run again" in held["result"]["content"][0]["text"]


@pytest.mark.parametrize("form", INVITING)
@pytest.mark.parametrize("tool", ["pay_invoice", "get_invoice"])
def test_a_write_that_says_it_may_be_repeated_is_told_and_not_repeated(form: str, tool: str) -> None:
    table = Table()
    table.call(1, tool, {"invoice_id": "i"})
    table.heard()
    table.server(result(1, json.dumps(INVITING[form]), is_error=True))
    told = table.told()
    table.passes(40)
    if tool == "get_invoice":
        assert (told, len(table.heard())) == ([], 1)
        return
    assert table.heard() == []
    assert "tried" not in told[0]["result"]["content"][0]["text"]
    assert told[0]["result"]["_meta"][META_KEY]["retryable"] is True


def test_a_write_that_was_never_sent_is_sent() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.died(unwritten=(table.sent[-1].request,))
    table.passes(5)
    table.revive()
    table.passes(30)
    assert [each["params"]["name"] for each in table.heard() if each.get("method") == "tools/call"] == ["pay_invoice"]


@pytest.mark.parametrize(
    ("options", "tool", "made_again"),
    [
        # Of a server that is not trusted, its name proves no more than its annotations.
        ({"trusted": False}, "get_invoice", False),
        ({"trusted": False, "reads": ("get_*",)}, "get_invoice", True),
        ({"reads": ("pay_invoice",)}, "pay_invoice", True),
        ({"reads": ("p*",)}, "pay_invoice", False),
    ],
)
def test_who_says_that_a_tool_only_reads(options: dict[str, Any], tool: str, made_again: bool) -> None:
    table = Table(**options)
    table.call(1, tool, {"invoice_id": "i"})
    table.heard()
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    table.passes(30)
    assert bool(table.heard()) is made_again


def test_a_cancelled_call_is_not_made_again_and_not_answered() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    table.heard()
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    table.passes(100)
    assert (table.heard(), table.told()) == ([], [])


def test_a_cancellation_names_the_repeat_by_the_id_that_the_server_knows() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    table.heard()
    table.passes(30)
    (again,) = table.heard()
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert table.heard()[0]["params"] == {"requestId": again["id"]}


def test_the_same_call_that_fails_the_same_way_is_stopped() -> None:
    table = Table()
    texts = []
    for id in (1, 2, 3, 4):
        table.call(id, "get_invoice", {"invoice_id": "nope"})
        for message in table.heard():
            table.server(result(message["id"], "Invoice nope not found", is_error=True))
        texts.append(table.told()[0]["result"]["content"][0]["text"])
    assert texts == [
        "Invoice nope not found",
        "Invoice nope not found\n\nThe same call has now failed twice in the same way. Use another one, or look for it first.",
        "Invoice nope not found\n\nThe same call has now failed 3 times in the same way and will not be made again for 10 "
        "seconds. Use another one, or look for it first.",
        "Not called for 10 seconds: the same call failed 3 times in the same way. Invoice nope not found. Use another one, "
        "or look for it first.",
    ]
    # What the user has done meanwhile is not seen here.
    table.passes(10)
    table.call(5, "get_invoice", {"invoice_id": "nope"})
    assert [each["id"] for each in table.heard()] == [5]


def test_a_hanging_call_is_cancelled_and_answered_and_progress_extends_it() -> None:
    table = Table(timeout=10.0)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta={"progressToken": "t"})
    table.heard()
    table.passes(8)
    table.server(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}}
    )
    table.told()
    table.passes(8)
    assert table.told() == []
    table.passes(3)
    cancelled, knock = table.heard()
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", 1)
    assert knock["method"] == "ping"
    (told,) = table.told()
    assert told["result"]["_meta"][META_KEY]["effect"] == "unknown"
    table.server(result(1, "paid after all"))
    assert table.told() == []


ASKED = {"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {"message": "Sure?"}}


@pytest.mark.parametrize(
    "ends",
    [
        lambda table: table.client({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept", "content": {}}}),
        lambda table: table.client({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}}),
        lambda table: table.server({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
    ],
    ids=["answered", "refused", "taken back"],
)
def test_the_time_that_the_user_takes_is_not_the_servers(ends: Callable[[Table], None]) -> None:
    table = Table(timeout=10.0)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(8)
    table.server(ASKED)
    table.told()
    for _ in range(10):
        table.passes(7)
    assert table.told() == []
    ends(table)
    table.told()
    table.heard()
    table.passes(9)
    assert (table.told(), table.heard()) == ([], [])
    table.passes(2)
    (told,) = table.told()
    assert "may have been done already" in told["result"]["content"][0]["text"]


def test_what_the_server_asked_before_a_call_gives_that_call_no_time() -> None:
    table = Table(timeout=10.0)
    table.server({**ASKED, "method": "roots/list"})
    table.passes(1)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.told()
    table.passes(11)
    assert [each["id"] for each in table.told()] == [1]


def test_a_server_that_is_frozen_is_started_anew_and_one_that_is_busy_is_not() -> None:
    table = Table(timeout=10.0)
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": f"i{id}"})
        table.passes(10)
        knock = table.heard()[-1]
        assert knock["method"] == "ping"
        if id == 1:
            table.server({"jsonrpc": "2.0", "id": knock["id"], "result": {}})
        table.passes(10)
    assert table.stops == 1


def test_a_tool_that_fails_again_and_again_is_left_alone_until_its_server_is_another_one() -> None:
    table = Table()
    for id in range(11):
        table.call(id, "pay_invoice", {"invoice_id": f"i{id}"})
        for message in table.heard():
            table.server(result(message["id"], "Error: 503 Service Unavailable", is_error=True))
    assert table.told()[-1]["result"]["content"][0]["text"].startswith(
        "Not called: pay_invoice failed 10 times in a row."
    )
    table.died()
    table.passes(0)
    table.revive()
    table.call(17, "pay_invoice", {"invoice_id": "i17"})
    assert [each["method"] for each in table.heard()] == ["tools/call"]


@pytest.mark.parametrize(
    ("between", "options", "runs"),
    [
        ("nothing", {}, False),
        ("nothing", {"hold": 0.0}, True),
        ("five minutes", {}, True),
        ("a look", {}, True),
        ("a look that failed", {}, False),
        ("another write", {}, False),
    ],
)
def test_a_write_that_was_lost_is_held_until_the_agent_has_looked(
    between: str, options: dict[str, Any], runs: bool
) -> None:
    table = Table(timeout=10.0, **options)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(11)
    table.server({"jsonrpc": "2.0", "id": table.heard()[-1]["id"], "result": {}})
    if between == "five minutes":
        table.passes(300)
    elif between != "nothing":
        table.call(2, "pay_invoice" if between == "another write" else "get_invoice", {"invoice_id": "j"})
        table.server(result(2, "open", is_error=between == "a look that failed"))
    table.heard()
    table.call(3, "pay_invoice", {"invoice_id": "i"})
    assert [each["id"] for each in table.heard() if each["method"] == "tools/call"] == [3] * runs
