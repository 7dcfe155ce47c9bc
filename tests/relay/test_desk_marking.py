"""A plain failure that was sent as a success is marked as one; whatever only speaks of errors passes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from desk_table import Table, frame, result

from failwell.formats import META_KEY


def test_a_plain_failure_sent_as_a_success_is_marked_and_stays_whole() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "inv_7"})
    sent = {
        "content": [{"type": "text", "text": "Error: cannot load inv_7: connect ECONNREFUSED 127.0.0.1:6379"}],
        "vendor": 1,
    }
    table.server({"jsonrpc": "2.0", "id": 1, "result": sent})
    (told,) = table.told()
    answer = told["result"]
    assert answer["isError"] is True
    assert answer["content"][0] == sent["content"][0]
    assert answer["vendor"] == 1
    assert answer["_meta"][META_KEY]["standing"] == "quoted"
    table.heard()
    table.passes(1000)
    assert table.heard() == []


def test_what_is_added_to_a_marked_success_names_no_place() -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "i"})
    sent = result(1, "Error: connect ECONNREFUSED 10.0.0.1:5432 (/home/ann/hidden/x.js)")
    table.server(sent)
    answer = table.told()[0]["result"]
    assert answer["content"][0] == sent["result"]["content"][0]
    assert "…/x.js" in answer["content"][1]["text"]
    assert "hidden" not in json.dumps([answer["content"][1:], answer["_meta"]])


def test_a_marked_success_of_a_write_may_have_been_done_and_stops_no_later_call() -> None:
    table = Table()
    for id in range(4):
        table.call(id, "pay", {"invoice_id": "i"})
        table.server(result(id, "Error: connect ECONNREFUSED 127.0.0.1:6379"))
    told = table.told()
    assert len(table.heard()) == 4
    assert {each["result"]["content"][1]["text"] for each in told} == {
        'pay failed part-way (It said: "connect ECONNREFUSED 127.0.0.1:6379"), so it may have been done already. Next: call get_invoice '
        'with {"invoice_id":"i"} to see whether it was.'
    }


@pytest.mark.parametrize(
    "text",
    [
        "There were 3 errors in the log: timeout",
        "The function raises ValueError: bad input when x is None.",
        '{"errors": [], "data": 1}',
        "User 7 not found",
        # Of a tool that reads these may be what was read.
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
        "404 Not Found",
        '{"status": "failed", "error": {"code": 500, "message": "boom"}}',
        "# Error: connect ECONNREFUSED\n\nThis error means that nothing listens.",
    ],
)
def test_an_answer_that_speaks_of_errors_passes_as_it_came(text: str) -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(frame(result(1, text)))
    assert table.frames == [frame(result(1, text))]


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "is_marked"),
    [
        ("send_mail", {}, "Error: connect ECONNREFUSED 127.0.0.1:25", True),
        ("send_mail", {}, '{"success": false, "error": "mailbox is full"}', True),
        ("weather", {"city": "Lyon"}, "Error executing tool weather: HTTP 503 Service Unavailable", True),
        ("weather", {"city": "Lyon"}, "Error: no data for Lyon: Request failed with status code 500", True),
        ("weather", {"city": "Lyon"}, "Error: Request failed with status code 500", False),
        ("read_files", {"paths": ["a.txt"]}, "a.txt: Error - ENOENT: no such file or directory, open 'a.txt'", True),
        # Of several one may have been read.
        ("read_files", {"paths": ["a.txt", "b.txt"]}, "a.txt: Error - ENOENT: no such file, open 'a.txt'", False),
        ("columns", {"table": "orders"}, json.dumps({"success": False, "a": 1, "error": "No orders."}, indent=2), True),
        ("search", {"query": "ECONNREFUSED"}, "Error: connect ECONNREFUSED 10.0.0.1:80", False),
        ("translate", {"text": "Fehler"}, "Error: connection refused", False),
        ("sentry", {}, "Error: connect ETIMEDOUT 10.0.0.1:443 (seen 34 times in production since Monday)", False),
        ("send_mail", {}, "Error: connect ECONNREFUSED 127.0.0.1:25\n" * 8, False),
        # What the caller sent says nothing about what became of it.
        ("create_ticket", {"title": "Error: connect ECONNREFUSED"}, "Error: connect ECONNREFUSED", False),
        ("save_note", {"note": {"text": 'a "b" failed'}}, '{"saved": {"text": "a \\"b\\" failed"}}', False),
        ("post_message", {"text": '{"success": false, "error": "x"}'}, '{"success": false, "error": "x"}', False),
        ("post_message", {"text": "connect ECONNREFUSED"}, "Error: connect ECONNREFUSED", True),
    ],
)
def test_only_a_failure_of_the_tool_itself_is_marked(
    tool: str, arguments: dict[str, Any], text: str, is_marked: bool
) -> None:
    table = Table(validate="off")
    table.call(1, tool, arguments)
    table.server(frame(result(1, text)))
    assert (json.loads(table.frames[0])["result"]["isError"], len(table.frames)) == (is_marked, 1)


def test_with_strict_success_a_success_is_one() -> None:
    table = Table(mark_successes=False)
    table.call(1, "pay", {"invoice_id": "i"})
    sent = frame(result(1, "Error: connect ECONNREFUSED 127.0.0.1:6379"))
    table.server(sent)
    assert table.frames == [sent]
