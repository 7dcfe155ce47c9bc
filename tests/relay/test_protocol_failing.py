"""A failed call leaves with the words that make a model recover, and with what the server sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playbook import Table, failing, frame, result

from failwell.formats import META_KEY, keys
from failwell.relay import calls


def test_the_servers_own_words_pass_as_they_are_with_what_programs_count() -> None:
    _, answer = failing("Error executing tool get_invoice: Invoice inv_1 not found", tool="get_invoice")
    sent = frame(result(9, "Error executing tool get_invoice: Invoice inv_1 not found", is_error=True)).decode().strip()
    assert answer["content"] == [{"type": "text", "text": "Error executing tool get_invoice: Invoice inv_1 not found"}]
    assert answer["isError"] is True
    assert answer["_meta"][keys.ORIGINAL] == {"frame": sent}
    error = answer["_meta"][META_KEY]
    assert (error["code"], error["standing"], error["tool"]) == ("NOT_FOUND", "quoted", "get_invoice")


def test_words_that_nobody_can_place_do_not_shut_a_tool() -> None:
    table = Table(validate="off")
    for id in range(8):
        table.call(id, "odd", {"n": id})
        table.server(result(id, f"something odd about {chr(97 + id)}", is_error=True))
    assert len(table.heard()) == 8


def error_of(told: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = told["result"]["_meta"][META_KEY]
    return error


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [50, 500, 5_000])
@pytest.mark.parametrize(
    "form",
    [b'"result":{"content":[],"isError":true,"structuredContent":%s}', b'"error":{"code":1,"message":"x","data":%s}'],
)
def test_a_failure_however_deep_is_answered_once_and_the_relay_lives(levels: int, form: bytes) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server(b'{"jsonrpc":"2.0","id":1,' + form % deep(levels) + b"}\n")
    (told,) = table.told()
    assert (told["id"], told["result"]["isError"]) == (1, True)
    assert told["result"]["_meta"][META_KEY].get("effect") in (None, "unknown")
    table.call(2, "pay_invoice", {"invoice_id": "j"})
    table.server(result(2, "paid"))
    assert table.told() == [result(2, "paid")]


@pytest.mark.parametrize("levels", [300, 600, 5_000])
def test_a_success_however_deep_passes(levels: int) -> None:
    table = Table(validate="off")
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":' + deep(levels) + b"}}\n"
    table.server(answer)
    assert table.frames == [answer]
    table.heard()
    asked = (
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay_invoice","arguments":{"a":'
        + deep(levels)
        + b"}}}\n"
    )
    table.frames.clear()
    table.client(asked)
    if levels > 1_000:
        assert (table.sent, [each["error"]["code"] for each in table.told()]) == ([], [-32700])
        return
    assert [each.frame for each in table.sent] == [asked]
    table.died()
    assert table.told()[0]["id"] == 2


def test_an_answer_that_says_neither_how_it_went_nor_what_failed_is_told_as_one_that_cannot_be_read() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server({"jsonrpc": "2.0", "id": 1})
    (told,) = table.told()
    assert (told["id"], told["result"]["_meta"][META_KEY]["effect"]) == (1, "unknown")


def test_a_large_failure_is_read_at_its_ends_only(monkeypatch: pytest.MonkeyPatch) -> None:
    read = calls.read
    sizes: list[int] = []
    monkeypatch.setattr(calls, "read", lambda message: (sizes.append(len(json.dumps(message))), read(message))[1])
    _, answer = failing("Error: boom " + "x" * 3_000_000)
    assert max(sizes) < 20_000
    assert len(json.dumps(answer)) < 60_000
    assert answer["_meta"][keys.ORIGINAL]["cut"] > 3_000_000


def test_an_original_with_a_secret_is_guarded_and_says_so() -> None:
    _, answer = failing("Login failed for postgres://app:hunter2secret@db/main")
    kept = answer["_meta"][keys.ORIGINAL]
    assert kept["redacted"] is True
    assert "hunter2secret" not in json.dumps(answer)


@pytest.mark.parametrize(
    "data", [{"password": "hunter2secret", "user": "bob"}, [{"name": "api_key", "value": "hunter2secret"}]]
)
def test_a_secret_under_its_name_is_guarded_wherever_the_answer_goes(data: Any) -> None:
    table = Table()
    table.call(9, "get_invoice", {"invoice_id": "i"})
    sent = result(9, "Login failed", is_error=True)
    sent["result"]["structuredContent"] = data
    table.server(sent)
    (told,) = table.told()
    assert "hunter2secret" not in json.dumps(told)
    assert told["result"]["_meta"][keys.ORIGINAL]["redacted"] is True


def test_a_huge_original_is_not_sent_twice() -> None:
    _, answer = failing("x" * 100_000)
    assert answer["_meta"][keys.ORIGINAL] == {"cut": 100_100}


def test_stack_traces_go_and_paths_stay() -> None:
    text = (
        "Error: cannot open /srv/shop/data/inv.db for /home/me/inv_1.pdf\n"
        "    at Foo.bar (/srv/node/x.js:10:3)\n    at async Z (/srv/node/y.js:1:1)"
    )
    table = Table(validate="off")
    table.call(9, "get_invoice", {"invoice_id": "/home/me/inv_1.pdf"})
    table.server(result(9, text, is_error=True))
    words = table.told()[0]["result"]["content"][0]["text"]
    assert words == "Error: cannot open /srv/shop/data/inv.db for /home/me/inv_1.pdf"


# What each language prints, with the name of a file or of an argument in every frame.
TRACES = {
    "java": "java.lang.IllegalStateException: no ledger\n"
    + "\tat com.acme.hidden.Ledger.append(Hidden.java:112)\n" * 40
    + "Caused by: java.sql.SQLException: hidden\n\tat org.hidden.Driver.connect(Driver.java:264)\n\t... 4 more",
    "dotnet": "System.InvalidOperationException: no ledger\r\n   at Hidden.Pay.Run(String id) in C:\\src\\Hidden.cs:line 12",
    "go": "panic: no ledger\n\ngoroutine 18 [running]:\nmain.hidden(0xc0000b4000)\n\t/home/ann/hidden.go:41 +0x1d9\nexit status 2",
    "rust": "thread 'main' panicked at src/hidden.rs:42:9:\nno ledger\nstack backtrace:\n   0: hidden_unwind\n"
    "             at /rustc/hidden/panicking.rs:1\nnote: run with `RUST_BACKTRACE=full` hidden",
    "rust before 1.73": "thread 'main' panicked at 'no ledger', src/hidden.rs:42:9",
    "php": "PHP Fatal error:  Uncaught RuntimeException: no ledger in /var/www/Hidden.php:31\nStack trace:\n"
    "#0 /var/www/App.php(77): Pay->run('hidden')\n#1 {main}\n  thrown in /var/www/Hidden.php on line 31",
    "ruby": "app/hidden.rb:12:in `pay': no ledger (RuntimeError)\n\tfrom app/hidden.rb:3:in `block in run'",
    "ruby, outermost first": "Traceback (most recent call last):\n\t1: from hidden.rb:5:in `<main>'\nhidden.rb:2:in `pay': no ledger",
    "perl": "no ledger at /home/ann/Hidden.pm line 12.\n\tShop::pay('hidden') called at /home/ann/hidden.pl line 3",
    "elixir": "** (RuntimeError) no ledger\n    (shop 0.1.0) lib/hidden.ex:12: Shop.Pay.run/1\n    (stdlib 3.17) hidden.erl:6: :x/6",
    "r": 'Error in pay("hidden") : no ledger\nCalls: hidden -> pay\nExecution halted',
    "dart": "no ledger\n#0      pay (file:///home/ann/hidden.dart:3:5)\n#1      main (package:hidden/main.dart:9)",
    "c++": "no ledger\n#0  0x00007f in hidden () from /home/ann/hidden.so\n#1  0x0001 in main () at /home/ann/hidden.cpp:3",
    "swift": "Fatal error: no ledger: file /home/ann/hidden.swift, line 3\n0 libswift 0x00007fff hidden + 16",
    "node, on one line": "TypeError: no ledger at hidden (/home/ann/a.js:1:5) at Object.<anonymous> (/home/ann/b.js:1:1)",
}


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("language", TRACES)
def test_of_a_trace_of_any_language_nothing_but_its_words_leaves_in_any_part_of_the_answer(
    language: str, structured: bool
) -> None:
    text = f"{TRACES[language]}\nCall list_ledgers first."
    sent = result(9, text, is_error=True)
    if structured:
        sent["result"]["structuredContent"] = {"error": {"code": "NOT_FOUND", "message": text}}
    table = Table()
    table.call(9, "pay_invoice", {"invoice_id": "inv_1"})
    table.server(sent)
    told = table.told()[0]["result"]
    assert "hidden" not in json.dumps(told).lower()
    assert "no ledger" in told["content"][0]["text"]
    assert ("Call list_ledgers first" in told["content"][0]["text"]) or language == "dotnet"
    assert told["_meta"][keys.ORIGINAL]["redacted"] is True


GROUP = (
    '  + Exception Group Traceback (most recent call last):\n  |   File "/home/ann/a.py", line 1, in <module>\n'
    "  |     asyncio.run(hidden())\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
    "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
    '    |   File "/home/ann/b.py", line 3, in hidden\n    |     charge(hidden)\n    | RuntimeError: no ledger\n'
    "    +------------------------------------"
)
COLOURED = (
    'Traceback (most recent call last):\n  File \x1b[35m"/home/ann/b.py"\x1b[0m, line \x1b[35m3\x1b[0m, in \x1b[35mhidden\x1b[0m\n'
    "    \x1b[31mhidden\x1b[0m()\n\x1b[1;35mRuntimeError\x1b[0m: \x1b[35mno ledger\x1b[0m"
)
PYTHON = 'Traceback (most recent call last):\n  File "/home/ann/b.py", line 3, in hidden\nRuntimeError: no ledger'


@pytest.mark.parametrize(
    "text", [GROUP, json.dumps({"error": {"message": "no ledger", "stack": "\n".join([GROUP] * 3)}})]
)
def test_exceptions_that_were_raised_at_once_are_told_as_one_is(text: str) -> None:
    _, answer = failing(text, tool="pay_invoice")
    assert "hidden" not in json.dumps(answer)
    assert "no ledger" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    "text",
    [
        COLOURED,
        json.dumps({"error": {"message": "no ledger", "stack": COLOURED}}),
        "RuntimeError: no ledger\n\x1b[90m    at hidden (/home/ann/a.js:1:2)\x1b[39m",
        f"<pre>{PYTHON}</pre>".replace("\n", "<br>"),
        f"<p>{PYTHON}</p>".replace('"', "&quot;").replace("  ", "&nbsp;&nbsp;").replace("\n", "<br />\n"),
    ],
    ids=["python", "json", "node", "page", "escaped page"],
)
def test_neither_colours_nor_markup_hide_a_trace(text: str) -> None:
    for said in (text, *(["built a\n" * 80 + f"{text}\n"] if "{" not in text else [])):
        _, answer = failing(said, tool="pay_invoice")
        assert not [word for word in ("hidden", "/home/ann", "b.py") if word in json.dumps(answer)]
        assert "no ledger" in answer["content"][0]["text"]
        assert answer["_meta"][keys.ORIGINAL]["redacted"] is True


def test_a_colour_alone_changes_nothing_of_the_original() -> None:
    _, answer = failing("\x1b[31mno ledger\x1b[0m for a/b<br>today")
    kept = json.loads(answer["_meta"][keys.ORIGINAL]["frame"])
    assert kept["result"]["content"][0]["text"] == "\x1b[31mno ledger\x1b[0m for a/b<br>today"


def test_of_a_long_output_only_the_frames_go() -> None:
    output = "building a\n" * 60 + "Error: gone\n    at read (/srv/hidden.js:1:2)\n3 of 4 failed"
    _, answer = failing(output, tool="pay_invoice")
    words = answer["content"][0]["text"]
    assert "building a\nError: gone\n3 of 4 failed" in words
    assert "hidden" not in json.dumps(answer)


def test_a_picture_beside_a_failure_is_no_text() -> None:
    sent = result(9, "gone", is_error=True)
    picture = {"type": "image", "mimeType": "image/png", "data": "AA+/home/AAAA"}
    sent["result"]["content"].append(picture)
    table = Table()
    table.call(9, "pay_invoice", {"invoice_id": "inv_1"})
    table.server(sent)
    assert picture in table.told()[0]["result"]["content"]


@pytest.mark.parametrize(
    "text",
    [
        "Error: 503 Service Unavailable",
        "ValueError: amount must be positive",
        "Nothing was done.",
        "Invoice inv_1 not found",
        "rate limit exceeded, retry after 5 seconds",
        "付款可能已经完成",
    ],
)
def test_a_write_that_failed_in_words_says_them_and_is_held_whatever_they_are(text: str) -> None:
    table, answer = failing(text, tool="pay_invoice")
    assert answer["content"] == [{"type": "text", "text": text}]
    assert "effect" not in answer["_meta"][META_KEY]
    table.passes(200)
    table.call(10, "pay_invoice", {"invoice_id": "inv_1"})
    assert [each["id"] for each in table.heard()] == [9]
    held = table.told()[0]["result"]
    assert held["content"][0]["text"] == (
        "pay_invoice was not run again: the call before may have been done already. Next: call get_invoice with "
        '{"invoice_id":"inv_1"} to see whether it was.'
    )
    error = held["_meta"][META_KEY]
    assert (error["code"], error["effect"], error["retryable"]) == ("CALL_IN_DOUBT", "unknown", False)


def test_a_trace_inside_json_stays_with_the_operator() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    trace = "Error: Output o_1 was lost\n    at read (file:///srv/lib/core.js:12:34)\n    at async run (file:///srv/lib/mcp.js:1:2)"
    data = {"errorMessage": trace}
    sent = {"content": [{"type": "text", "text": json.dumps(data)}], "isError": True, "structuredContent": data}
    table.server({"jsonrpc": "2.0", "id": 1, "result": sent})
    answer = table.told()[0]["result"]
    assert json.loads(answer["content"][0]["text"]) == {"errorMessage": "Error: Output o_1 was lost"}
    assert answer["structuredContent"] == {"errorMessage": "Error: Output o_1 was lost"}


def test_pictures_data_and_meta_of_the_server_stay() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    sent = {
        "content": [{"type": "text", "text": "Invoice i not found"}, picture, {"type": "text", "text": "See the log."}],
        "isError": True,
        "structuredContent": {"near": ["inv_2"]},
        "_meta": {"vendor/x": 1},
        "vendor": True,
    }
    table.server({"jsonrpc": "2.0", "id": 1, "result": sent})
    answer = table.told()[0]["result"]
    assert answer["content"] == sent["content"]
    assert (answer["structuredContent"], answer["_meta"]["vendor/x"], answer["vendor"]) == (
        {"near": ["inv_2"]},
        1,
        True,
    )


@pytest.mark.parametrize("modern", [False, True])
def test_a_protocol_error_becomes_a_result_that_the_model_sees(modern: bool) -> None:
    table = Table(modern=modern)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Invoice i not found"}})
    answer = table.told()[0]["result"]
    assert answer["content"][0]["text"] == "Invoice i not found"
    assert answer.get("resultType") == ("complete" if modern else None)


def test_a_failure_in_our_own_words_passes_as_it_came() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    canonical = {"failwell": 1, "code": "NOT_FOUND", "kind": "not_found", "message": "No invoice i."}
    sent = result(1, "No invoice i. Call list_invoices.", is_error=True)
    sent["result"]["_meta"] = {META_KEY: canonical}
    table.server(frame(sent))
    assert table.frames == [frame(sent)]


def test_a_failure_in_our_own_words_passes_without_what_must_not_leave() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    call = {"tool": "list_files", "arguments": {"folder": "/home/ann/shown"}}
    canonical = {"failwell": 1, "kind": "not_found", "message": PYTHON, "actions": [call]}
    sent = result(1, f"{PYTHON}\nIt is no file of /home/ann/hid/den.", is_error=True)
    sent["result"]["content"].append({"type": "text", "text": "Call list_files with /home/ann/shown."})
    sent["result"]["_meta"] = {META_KEY: canonical}
    table.server(frame(sent))
    (told,) = table.told()
    assert "hidden" not in json.dumps(told)
    assert told["result"]["_meta"][META_KEY]["actions"] == [call]
    assert told["result"]["content"][1]["text"] == "Call list_files with /home/ann/shown."


def is_held(table: Table) -> bool:
    """Whether the same call is not run again."""
    table.heard()
    table.call("again", "pay_invoice", {"invoice_id": "i"})
    return not table.heard() and error_of(table.told()[-1])["code"] == "CALL_IN_DOUBT"


ODD: dict[str, dict[str, Any]] = {
    "result and error": {"result": {"content": []}, "error": {"code": -1, "message": PYTHON}},
    "no content": {"result": {"isError": True, "content": None, "detail": PYTHON}},
    "content is a text": {"result": {"isError": True, "content": PYTHON}},
    "content is a block": {"result": {"isError": True, "content": {"type": "text", "text": PYTHON}}},
    "a flag in words": {"result": {"isError": "true", "content": [{"type": "text", "text": PYTHON}]}},
    "a number as a flag": {"result": {"isError": 1, "content": [{"type": "text", "text": PYTHON}]}},
    "error is a text": {"error": PYTHON},
    "error is a list": {"error": [PYTHON]},
    "error without a code": {"error": {"message": PYTHON}},
    "an error of the protocol's number": {"error": {"code": -32603, "message": PYTHON}},
}


@pytest.mark.parametrize("form", ODD)
def test_a_failed_call_is_one_in_whatever_form_a_server_says_so(form: str) -> None:
    table = Table(env={"DB_PASSWORD": "ledger"})
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server({"jsonrpc": "2.0", "id": 1, **ODD[form]})
    (told,) = table.told()
    answer = told["result"]
    assert answer["isError"] is True
    assert not [word for word in ("hidden", "/home/ann", "ledger") if word in json.dumps(told)]
    assert is_held(table)


@pytest.mark.parametrize(
    "sent",
    [
        {"jsonrpc": "2.0", "result": {"isError": True}},
        {"jsonrpc": "2.0", "result": {"isError": 1, "_meta": {}}},
        {"jsonrpc": "2.0", "result": {"isError": True, "structuredContent": {"reason": PYTHON}}},
        {"result": {"isError": True, "content": [{"type": "text", "text": PYTHON}]}},
        {"jsonrpc": "1.0", "error": {"code": -32000, "message": PYTHON}},
        {"error": PYTHON},
    ],
)
def test_a_failure_without_a_word_or_a_version_is_one(sent: dict[str, Any]) -> None:
    table = Table(env={"DB_PASSWORD": "ledger"})
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server({"id": 1, **sent})
    (told,) = table.told()
    assert not [word for word in ("hidden", "/home/ann", "ledger") if word in json.dumps(told)]
    assert told["jsonrpc"] == "2.0"
    assert is_held(table)


SUCCESSES: list[dict[str, Any]] = [
    *({"result": {"content": [], "isError": flag}} for flag in (False, 0, None, "false")),
    *({"result": {"content": []}, "error": error} for error in (None, {}, "")),
    {"result": "Written to /home/ann/a.txt"},
    {"result": PYTHON},
]


@pytest.mark.parametrize("sent", SUCCESSES)
def test_a_success_is_one_in_whatever_form_a_server_says_so(sent: dict[str, Any]) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    passed = frame({"jsonrpc": "2.0", "id": 1, **sent})
    table.server(passed)
    assert table.frames == [passed]


@pytest.mark.parametrize("number", [-32601, -32700, -32042, -32021])
def test_what_only_the_client_can_act_on_passes_without_what_must_not_leave(number: int) -> None:
    table = Table(env={"DB_PASSWORD": "gardenword"})
    asked = [{"mode": "url", "elicitationId": "e", "url": "https://x.org/data/login?token=aB3dE5gH7jK9mN1pQ3"}]
    data = {"elicitations": asked, "stack": PYTHON, f"ghp_{'a1B2' * 9}": 1}
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    error = {"code": number, "message": f"gardenword, {PYTHON}", "data": data}
    table.server({"jsonrpc": "2.0", "id": 1, "error": error})
    (told,) = table.told()
    assert not [word for word in ("hidden", "/home/ann", "gardenword", "ghp_") if word in json.dumps(told)]
    assert (told["error"]["code"], told["error"]["data"]["elicitations"]) == (number, asked)
    plain = frame({"jsonrpc": "2.0", "id": 2, "error": {"code": number, "message": "Log in.", "data": {"a": 1}}})
    table.call(2, "pay_invoice", {"invoice_id": "j"})
    table.server(plain)
    assert table.frames == [plain]


@pytest.mark.parametrize(
    ("format", "start"),
    [("typed", '{"type":"NOT_FOUND"'), ("xml", '<tool_error code="NOT_FOUND"')],
)
def test_the_failure_leaves_in_the_chosen_format(format: str, start: str) -> None:
    _, answer = failing("Invoice inv_1 not found", format=format)
    assert any(block["text"].replace(": ", ":").startswith(start) for block in answer["content"])
    assert answer["_meta"][META_KEY]["code"] == "NOT_FOUND"


def test_wrong_arguments_get_the_corrected_call_after_the_servers_words() -> None:
    text = (
        "Error executing tool pay_invoice: 1 validation error for payArguments\ninvoice_id\n  Field required [type=missing, "
        "input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.14/v/missing"
    )
    table = Table(validate="off")
    table.call(1, "pay_invoice", {})
    table.server(result(1, text, is_error=True))
    answer = table.told()[0]["result"]
    assert answer["content"][0]["text"] == f'{text}\n\nNext: call pay_invoice with {{"invoice_id": "<string>"}}.'
    error = answer["_meta"][META_KEY]
    assert (error.get("effect"), error["fields"][0]["path"]) == (None, ["invoice_id"])
