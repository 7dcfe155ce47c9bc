"""A mark is believed as long as it stands in the list of the server that is there: before a call is made again on its
word, a server that may be another one is asked for its tools."""

from __future__ import annotations

from typing import Any

import pytest
from playbook import TOOLS, Table, result

ANOTHER = [TOOLS[0], {**TOOLS[1], "annotations": {"readOnlyHint": False}}]
AWAY = "503 Service Unavailable: try again in 1 second."


def lists(table: Table) -> list[Any]:
    return [each["id"] for each in table.heard() if each.get("method") == "tools/list"]


def failed_call(**options: Any) -> Table:
    """A call of a read that failed in a passing way, a minute after its tools were listed."""
    table = Table(modern=True, **{"remote": True, **options})
    table.passes(60)
    table.call(1, "get_invoice", {"invoice_id": "7"})
    assert [each["id"] for each in table.heard()] == [1]
    table.server(result(1, AWAY, is_error=True))
    return table


def listed(table: Table, tools: list[dict[str, Any]]) -> None:
    (asked,) = lists(table)
    table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": tools}})


def test_behind_an_address_a_tool_that_became_a_write_is_not_called_again() -> None:
    table = failed_call()
    table.passes(10)
    listed(table, ANOTHER)
    (told,) = (each for each in table.told() if "id" in each)
    assert table.heard() == []
    assert told["result"]["content"][0]["text"] == AWAY


def test_a_tool_that_still_reads_is_called_again() -> None:
    table = failed_call()
    for _ in range(2):
        table.passes(10)
        listed(table, TOOLS)
        (again,) = table.heard()
        assert again["params"]["name"] == "get_invoice"
        table.passes(5)
        table.server(result(again["id"], AWAY, is_error=True))


def test_without_a_list_nothing_is_called_again_until_there_is_one() -> None:
    table, asked = failed_call(), []
    for _ in range(6):
        table.passes(1.1)
        asked += table.heard()
    assert {each["method"] for each in asked} == {"tools/list"}
    while not (ids := lists(table)):
        table.passes(0.3)
    table.server({"jsonrpc": "2.0", "id": ids[0], "result": {"tools": TOOLS}})
    assert [each["params"]["name"] for each in table.heard()] == ["get_invoice"]


def test_without_a_list_a_call_ends_with_what_it_failed_of() -> None:
    table = failed_call()
    for _ in range(60):
        table.passes(1.0)
    (told,) = table.told()
    assert all(each["method"] == "tools/list" for each in table.heard())
    assert "503" in told["result"]["content"][0]["text"]


def test_many_calls_that_fail_at_once_ask_for_one_list() -> None:
    table = Table(modern=True, remote=True)
    table.passes(60)
    for id in (1, 2, 3):
        table.call(id, "get_invoice", {"invoice_id": str(id)})
    table.heard()
    for id in (1, 2, 3):
        table.server(result(id, AWAY, is_error=True))
    table.passes(10)
    (asked,) = lists(table)
    table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": ANOTHER}})
    assert {each["id"] for each in table.told() if "id" in each} == {1, 2, 3}


@pytest.mark.parametrize("options", [{"trusted": False}, {"remote": False}, {"trusted": False, "reads": ("get_*",)}])
def test_nobody_is_asked_where_no_mark_counts_or_the_server_is_the_same(options: dict[str, Any]) -> None:
    assert lists(failed_call(**options)) == []


def test_a_call_that_was_given_up_meanwhile_stays_given_up() -> None:
    table = failed_call()
    table.passes(10)
    (asked,) = lists(table)
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": TOOLS}})
    table.passes(10)
    assert (table.told(), table.heard()) == ([], [])


def test_an_end_while_the_tools_are_listed_tells_what_is_known() -> None:
    table = failed_call()
    table.do(table.protocol.drain())
    assert not table.protocol.is_drained
    table.do(table.protocol.drain())
    (told,) = table.told()
    assert told["id"] == 1
    assert told["result"]["isError"] is True
    assert "503" in told["result"]["content"][0]["text"]


def test_after_a_restart_a_call_waits_for_what_its_tool_is_by_now() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "7"})
    table.heard()
    table.died()
    table.passes(5)
    for message in table.heard():
        if message.get("method") == "initialize":
            table.server({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25"}})
    (asked,) = lists(table)
    table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": ANOTHER}})
    table.passes(10)
    assert [each for each in table.heard() if each.get("method") == "tools/call"] == []
    told = next(each for each in table.told() if each.get("id") == 1)
    assert "may have been done" in told["result"]["content"][0]["text"]


@pytest.mark.parametrize("tools", [TOOLS, ANOTHER])
@pytest.mark.parametrize("is_listed_first", [True, False])
def test_a_server_that_is_back_before_the_wait_is_over_is_asked_too(
    tools: list[dict[str, Any]], is_listed_first: bool
) -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "7"})
    table.heard()
    table.died()
    table.passes(0)
    for message in table.heard():
        if message.get("method") == "initialize":
            table.server({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "2025-11-25"}})
    (asked,) = lists(table)
    if is_listed_first:
        table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": tools}})
        table.passes(1)
    else:
        table.passes(1)
        assert table.heard() == []
        table.server({"jsonrpc": "2.0", "id": asked, "result": {"tools": tools}})
    made = [each for each in table.heard() if each.get("method") == "tools/call"]
    told = [each for each in table.told() if each.get("id") == 1]
    assert (len(made), len(told)) == ((1, 0) if tools is TOOLS else (0, 1))
    assert tools is TOOLS or "may have been done" in told[0]["result"]["content"][0]["text"]
