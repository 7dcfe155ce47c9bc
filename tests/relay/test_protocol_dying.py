"""A server that dies: every call is answered, with what it may have done, and nobody drops its tools."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playbook import TOOLS, Table, frame, result

from failwell.formats import META_KEY
from failwell.relay import Death, Quit


def error_of(told: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = told["result"]["_meta"][META_KEY]
    return error


@pytest.mark.parametrize("modern", [False, True])
def test_a_write_that_was_with_the_server_may_have_been_done(modern: bool) -> None:
    table = Table(modern=modern)
    table.call(5, "pay_invoice", {"invoice_id": "inv_1"})
    table.died(3, "ValueError: no such account\n")
    (told,) = table.told()
    assert told["id"] == 5
    assert told["result"]["isError"] is True
    assert told["result"]["content"] == [
        {
            "type": "text",
            "text": "pay_invoice failed part-way (the server stopped with exit code 3: ValueError: no such account; what it had "
            "open, such as a login or a browser, is gone), so it may have been done already. Next: call get_invoice "
            'with {"invoice_id":"inv_1"} to see whether it was.',
        }
    ]
    error = error_of(told)
    assert (error["effect"], error["verify"], error["retryable"]) == (
        "unknown",
        {"tool": "get_invoice", "arguments": {"invoice_id": "inv_1"}},
        False,
    )
    assert table.starts == 1
    table.passes(0)
    assert table.starts == 2


def test_a_write_of_which_no_byte_was_written_is_made_by_the_next_server() -> None:
    table = Table()
    table.call(5, "pay_invoice", {"invoice_id": "inv_1"})
    (sent,) = table.sent
    table.heard()
    table.died(unwritten=(sent.request,))
    assert table.told() == []
    table.passes(0)
    table.revive()
    table.passes(20)
    (again,) = table.heard()
    assert (again["method"], again["params"]) == (
        "tools/call",
        {"name": "pay_invoice", "arguments": {"invoice_id": "inv_1"}},
    )
    table.server(result(again["id"], "paid"))
    assert table.told() == [result(5, "paid")]


def test_a_read_is_made_again_and_its_answer_has_a_mark() -> None:
    table = Table()
    table.call(5, "get_invoice", {"invoice_id": "inv_1"})
    table.died()
    table.passes(0)
    table.revive()
    table.passes(20)
    (again,) = table.heard()
    assert again["id"] != 5
    table.server(frame(result(again["id"], "paid — «ok»")))
    assert table.told() == [result(5, "paid — «ok»")]


@given(st.lists(st.sampled_from(["pay_invoice", "get_invoice"]), min_size=1, max_size=6), st.data())
def test_a_call_that_may_have_had_an_effect_is_never_sent_twice(tools: list[str], data: st.DataObject) -> None:
    """Whatever happens, each write reaches a server at most once, and each call is answered exactly once."""
    table = Table()
    writes: list[str] = []
    answered: list[object] = []
    for number, tool in enumerate(tools):
        table.call(number, tool, {"invoice_id": f"inv_{number}"})
        for _ in range(data.draw(st.integers(0, 3))):
            event = data.draw(st.sampled_from(["die", "fail", "work", "pass", "hang"]))
            sent, table.sent = list(table.sent), []
            for each in sent:
                message: dict[str, Any] = json.loads(each.frame)
                if message.get("method") == "tools/list":
                    table.server({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}})
                elif message.get("method") == "initialize":
                    table.server({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": "x"}})
                elif message.get("method") == "tools/call":
                    if message["params"]["name"] == "pay_invoice":
                        writes.append(message["params"]["arguments"]["invoice_id"])
                    if event == "fail":
                        table.server(result(message["id"], "Error: 503 Service Unavailable", is_error=True))
                    elif event == "work":
                        table.server(result(message["id"], "ok"))
            if event == "die" and table.protocol.state in ("up", "starting"):
                table.died(1, "")
            table.passes(data.draw(st.sampled_from([0, 1, 40])))
        answered += [told["id"] for told in table.told() if "id" in told]
    assert len(writes) == len(set(writes))
    assert len(answered) == len(set(answered))


@pytest.mark.parametrize("modern", [False, True])
def test_the_tools_are_listed_while_there_is_no_server(modern: bool) -> None:
    table = Table(modern=modern)
    table.died()
    table.client(table.request("again", "tools/list"))
    table.client(table.request("alive", "ping"))
    assert table.told() == [
        {"jsonrpc": "2.0", "id": "again", "result": {"tools": TOOLS}},
        {"jsonrpc": "2.0", "id": "alive", "result": {}},
    ]


def test_the_handshake_is_played_again_with_log_level_and_subscriptions() -> None:
    table = Table()
    level = table.request(1, "logging/setLevel", {"level": "debug"})
    kept = table.request(2, "resources/subscribe", {"uri": "file:///a"})
    left = table.request(3, "resources/subscribe", {"uri": "file:///b"})
    gone = table.request(4, "resources/unsubscribe", {"uri": "file:///b"})
    for request in (level, kept, left, gone):
        table.client(request)
        table.server({"jsonrpc": "2.0", "id": request["id"], "result": {}})
    table.heard()
    table.told()
    table.died()
    table.passes(0)
    (greeting,) = table.heard()
    assert greeting["method"] == "initialize"
    assert greeting["params"]["clientInfo"] == {"name": "claude-code", "version": "2"}
    table.server({"jsonrpc": "2.0", "id": greeting["id"], "result": {"protocolVersion": "2025-11-25"}})
    assert [(each["method"], each.get("params")) for each in table.heard()] == [
        ("notifications/initialized", None),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "file:///a"}),
        ("tools/list", None),
    ]
    assert table.told() == []


def test_a_stream_of_subscriptions_is_asked_for_again() -> None:
    table = Table(modern=True)
    listen = table.request("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    table.client(listen)
    table.heard()
    for _ in range(3):
        table.died()
        table.passes(10)
        assert listen in table.heard()
    assert table.told() == []


def test_other_tools_of_a_new_server_are_announced() -> None:
    table = Table()
    table.died()
    table.passes(0)
    (greeting,) = table.heard()
    table.server({"jsonrpc": "2.0", "id": greeting["id"], "result": {"protocolVersion": "2025-11-25"}})
    listing = table.heard()[-1]
    table.server({"jsonrpc": "2.0", "id": listing["id"], "result": {"tools": TOOLS[:1]}})
    assert table.told() == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]


@pytest.mark.parametrize(
    ("recent", "told"), [("", "exit code 3;"), ("bye\n", "exit code 3: bye;"), (None, "exit code 3: boot;")]
)
def test_what_a_server_said_when_it_was_started_is_not_why_it_ended(recent: str | None, told: str) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.do(table.protocol.died(Death(3, "boot\n" + (recent or ""), recent=recent)))
    assert told in table.told()[0]["result"]["content"][0]["text"]


def test_one_second_is_one() -> None:
    table = Table(timeout=1.0)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(1)
    assert "said nothing for 1 second, and" in table.told()[0]["result"]["content"][0]["text"]


def test_a_success_of_a_new_server_is_the_bytes_that_came() -> None:
    table = Table()
    table.died()
    table.passes(0)
    table.revive()
    table.call(2, "get_invoice", {"invoice_id": "i"})
    sent = b'{"result": {"content":[ {"type":"text","text":"\\u00e9"} ],  "n":1.50,"n":1e5},"jsonrpc":"2.0","id":2}\n'
    table.server(sent)
    assert table.frames == [sent]


def test_a_server_that_the_relay_had_to_end_is_not_said_to_have_been_killed_by_somebody() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.do(table.protocol.died(Death(-9, ended_for="its stdout closed, so the relay ended it")))
    assert "(the server stopped with its stdout closed, so the relay ended it; what" in table.frames[0].decode()


def test_who_ends_the_relay_twice_gets_what_is_under_way_told_as_it_is() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.client(table.request(2, "resources/read", {"uri": "a:b"}))
    table.do(table.protocol.drain())
    assert (table.told(), table.quit) == ([], None)
    table.call(3, "pay_invoice", {"invoice_id": "j"})
    table.do(table.protocol.drain())
    late, lost, other = table.told()
    assert [each["id"] for each in (late, lost, other)] == [3, 1, 2]
    assert [error_of(each)["effect"] for each in (late, lost)] == ["none", "unknown"]
    assert lost["result"]["content"][0]["text"].startswith(
        "pay_invoice failed part-way (the relay was told to end before"
    )
    assert other["error"]["message"] == "The relay was told to end."
    assert table.quit is not None


def test_calls_wait_for_the_server_and_are_told_why_it_does_not_come() -> None:
    table = Table()
    table.died()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    assert table.told() == []
    table.passes(0)
    table.died(1, "Error: port 80 is taken\n")
    (told,) = table.told()
    assert told["result"]["content"][0]["text"] == (
        "The server does not start: pay-server ended with exit code 1: Error: port 80 is taken. Tell the user that the "
        "server has to be looked at."
    )
    assert error_of(told)["effect"] == "none"


def test_a_call_waits_for_a_restart_no_longer_than_it_may_take() -> None:
    table = Table(timeout=3.0)
    for _ in range(3):
        table.died()
        table.passes(30)
    table.died()
    table.heard()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(2)
    assert table.told() == []
    table.passes(1)
    (told,) = table.told()
    assert told["result"]["content"][0]["text"] == (
        "The server has stopped, and was not there again after 3 seconds; this call was not sent to it. Wait 1 second, "
        "then make the same call again."
    )
    assert (error_of(told)["effect"], error_of(told)["delivery"]) == ("none", "never_sent")
    table.passes(60)
    table.revive()
    assert [each for each in table.heard() if each["method"] == "tools/call"] == []


def test_a_server_that_is_starting_when_the_time_is_over_gets_as_long_again() -> None:
    table = Table(timeout=3.0)
    table.died()
    table.passes(0)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(3)
    assert table.told() == []
    table.passes(3)
    (told,) = table.told()
    assert (error_of(told)["effect"], error_of(told)["delivery"]) == ("none", "never_sent")


def test_a_call_that_was_sent_in_time_has_waited_for_nothing() -> None:
    table = Table(timeout=3.0)
    table.died()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(0)
    table.revive()
    table.passes(2)
    table.server(result(1, "paid"))
    table.passes(60)
    assert [each["id"] for each in table.told()] == [1]


def test_a_server_that_falls_again_and_again_is_started_less_and_less_often() -> None:
    table = Table()
    starts = []
    for _ in range(12):
        table.died()
        for _ in range(200):
            before = table.starts
            table.passes(0.25)
            if table.starts > before:
                starts.append(table.clock.seconds)
                break
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    assert gaps == sorted(gaps)
    assert table.starts == 6
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(30)
    assert table.starts == 7


@pytest.mark.parametrize(
    ("death", "line"),
    [
        (Death(None, problem="there is no nodejs"), "cannot start pay-server: there is no nodejs"),
        (
            Death(
                1,
                "Traceback (most recent call last):\n  File \"/srv/a.py\", line 1\nImportError: No module named 'x'\n",
            ),
            "pay-server ended with exit code 1 before it answered; it said: ImportError: No module named 'x'",
        ),
        (Death(-9), "pay-server ended with signal SIGKILL before it answered"),
    ],
)
def test_a_server_that_never_starts_says_why_in_one_line(death: Death, line: str) -> None:
    table = Table(connected=False)
    table.client(table.request(0, "initialize", {"protocolVersion": "2025-11-25"}))
    table.do(table.protocol.died(death))
    assert table.told() == [{"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": line}}]
    assert table.quit is not None
    assert (table.quit.code, [note.line for note in table.notes]) == (2, [line])


@pytest.mark.parametrize("asked", [True, False])
def test_a_client_that_asks_after_the_server_has_failed_to_start_is_told_why(asked: bool) -> None:
    table = Table(connected=False)
    table.do(table.protocol.died(Death(None, problem="there is no nodejs")))
    assert table.quit is None
    if asked:
        table.client(table.request(0, "initialize", {"protocolVersion": "2025-11-25"}))
        (told,) = table.told()
        assert told["error"]["message"] == "cannot start pay-server: there is no nodejs"
    else:
        table.do(table.protocol.drain())
    assert table.quit is not None
    assert table.quit.code == 2
    assert len(table.notes) == 1


def test_a_server_that_answers_nothing_at_all_is_told_in_the_end() -> None:
    table = Table(connected=False)
    table.client(table.request(0, "initialize", {"protocolVersion": "2025-11-25"}))
    table.passes(119)
    assert (table.told(), table.quit) == ([], None)
    table.passes(1)
    line = "pay-server has not answered in 120 seconds"
    assert table.told() == [{"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": line}}]
    assert ([note.line for note in table.notes], table.quit) == ([line], Quit(2))


def test_what_a_dead_server_asked_is_taken_back_and_never_reaches_the_next_one() -> None:
    table = Table()
    asked = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {}}
    table.server(asked)
    table.told()
    table.died()
    assert table.told() == [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}]
    table.passes(0)
    table.revive()
    table.heard()
    table.server(asked)
    (renamed,) = table.told()
    table.client({"jsonrpc": "2.0", "id": 1, "result": "of the old one"})
    assert table.heard() == []
    table.client({"jsonrpc": "2.0", "id": renamed["id"], "result": "of the new one"})
    assert table.heard() == [{"jsonrpc": "2.0", "id": 1, "result": "of the new one"}]


@pytest.mark.parametrize(
    ("code", "line", "told"),
    [
        (-9, "INFO Processing request", "signal SIGKILL;"),
        (-6, "FATAL ERROR: heap out of memory", "signal SIGABRT: FATAL ERROR: heap out of memory;"),
        (1, "bye", "exit code 1: bye;"),
    ],
)
def test_what_a_server_said_last_is_told_where_it_says_why(code: int, line: str, told: str) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.died(code, f"{line}\n")
    assert f"(the server stopped with {told} what it had open" in table.frames[0].decode()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("ValueError('no licence')", "ValueError: no licence"),
        ("KeyError('a'), ExceptionGroup('more', [OSError('disk gone')])", "OSError: disk gone"),
        # The word alone says little, and more than what is drawn below it.
        ("asyncio.CancelledError()", "asyncio.exceptions.CancelledError"),
    ],
)
def test_of_exceptions_that_were_raised_together_the_last_is_told(raised: str, told: str) -> None:
    code = f"import asyncio\nraise BaseExceptionGroup('unhandled errors in a TaskGroup', [{raised}])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    for errors in (run.stderr, run.stderr[run.stderr.index("+-+") :]):
        table = Table()
        table.call(1, "pay_invoice", {"invoice_id": "i"})
        table.died(1, errors)
        assert f"(the server stopped with exit code 1: {told}; what it had open" in table.frames[0].decode()


def test_secrets_on_stderr_stay_there() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.died(1, "Error: login failed for postgres://app:hunter2secret@db/main\n")
    assert "hunter2secret" not in table.frames[0].decode()
    assert all("hunter2secret" not in note.line for note in table.notes)


def test_a_call_that_waited_for_the_list_is_a_call_after_a_restart_too() -> None:
    table = Table()
    table.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    assert [each["method"] for each in table.heard()] == ["tools/list"]
    table.died()
    table.passes(0)
    table.revive()
    table.told()
    table.died(1, "")
    (told,) = table.told()
    assert error_of(told)["effect"] == "unknown"


@pytest.mark.parametrize("tool", ["pay_invoice", "get_invoice"])
def test_a_crash_loop_is_told_at_once(tool: str) -> None:
    table = Table()
    for _ in range(6):
        table.died()
        table.passes(30)
    table.died()
    table.call(1, tool, {"invoice_id": "i"})
    (told,) = table.told()
    error = told["result"]["_meta"][META_KEY]
    assert (error["code"], error["effect"], error["retry_after"] > 1) == ("UNAVAILABLE", "none", True)
    assert "ends whenever it is started" in error["message"]
