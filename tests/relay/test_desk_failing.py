"""A failed call leaves with the words that make a model recover, and with what the server sent."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from desk_table import TOOLS, Table, frame, result

from failwell.formats import META_KEY, keys
from failwell.guards import MASK
from failwell.model import ToolError
from failwell.relay import answers, calls, failures
from failwell.relay.gate import Gate
from failwell.relay.web.address import RemoteServer


def failing(text: str, *, tool: str = "get_invoice", **options: Any) -> tuple[Table, dict[str, Any]]:
    """What the client is told of a call that the server answered with this error."""
    table = Table(**options)
    table.call(9, tool, {"invoice_id": "inv_1"})
    table.server(result(9, text, is_error=True))
    (told,) = table.told()
    assert told["id"] == 9
    answer: dict[str, Any] = told["result"]
    return table, answer


def test_words_become_words_that_say_what_to_do() -> None:
    _, answer = failing("Error executing tool get_invoice: Invoice inv_1 not found", tool="get_invoice")
    sent = frame(result(9, "Error executing tool get_invoice: Invoice inv_1 not found", is_error=True)).decode().strip()
    assert answer["content"] == [
        {
            "type": "text",
            "text": 'It said: "Invoice inv_1 not found". Look for another one; the same call will fail again.',
        }
    ]
    assert answer["isError"] is True
    assert answer["_meta"][keys.ORIGINAL] == {"frame": sent}
    error = answer["_meta"][META_KEY]
    assert (error["code"], error["standing"], error["tool"]) == ("NOT_FOUND", "quoted", "get_invoice")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "No changes staged for commit. Use git_add to stage changes first.",
            'It said: "No changes staged for commit. Use git_add to stage changes first."',
        ),
        (
            "No changes found. 3 files.",
            'It said: "No changes found. 3 files." Look for another one; the same call will fail again.',
        ),
    ],
)
def test_the_servers_own_advice_is_not_contradicted(text: str, words: str) -> None:
    _, answer = failing(text, tool="get_invoice")
    assert answer["content"][0]["text"] == words


def test_words_that_nobody_can_place_do_not_shut_a_tool() -> None:
    table = Table(validate="off")
    for id in range(8):
        table.call(id, "odd", {"n": id})
        table.server(result(id, f"something odd about {chr(97 + id)}", is_error=True))
    assert len(table.heard()) == 8


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [50, 500, 5_000])
@pytest.mark.parametrize(
    "form",
    [b'"result":{"content":[],"isError":true,"structuredContent":%s}', b'"error":{"code":1,"message":"x","data":%s}'],
)
def test_a_failure_however_deep_is_answered_once_and_the_relay_lives(levels: int, form: bytes) -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "i"})
    table.server(b'{"jsonrpc":"2.0","id":1,' + form % deep(levels) + b"}\n")
    (told,) = table.told()
    assert (told["id"], told["result"]["isError"], told["result"]["_meta"][META_KEY]["effect"]) == (1, True, "unknown")
    table.call(2, "pay", {"invoice_id": "j"})
    table.server(result(2, "paid"))
    assert table.told() == [result(2, "paid")]


@pytest.mark.parametrize("levels", [300, 600, 5_000])
def test_a_success_however_deep_passes_and_so_does_a_request(levels: int) -> None:
    table = Table(validate="off")
    table.call(1, "pay", {"invoice_id": "i"})
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":' + deep(levels) + b"}}\n"
    table.server(answer)
    assert table.frames == [answer]
    table.heard()
    asked = (
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pay","arguments":{"a":'
        + deep(levels)
        + b"}}}\n"
    )
    table.client(asked)
    assert [each.frame for each in table.sent] == [asked]
    table.frames.clear()
    table.died()
    assert table.told()[0]["id"] == 2


def test_an_answer_that_says_neither_how_it_went_nor_what_failed_is_told_as_one_that_cannot_be_read() -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "i"})
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


def test_without_the_original_there_is_none() -> None:
    _, answer = failing("Invoice inv_1 not found", keep_original=False)
    assert list(answer["_meta"]) == [META_KEY]


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


def test_stack_traces_and_paths_go_and_what_was_sent_stays() -> None:
    text = (
        "Error: cannot open /srv/shop/data/inv.db for /home/me/inv_1.pdf\n"
        "    at Foo.bar (/srv/node/x.js:10:3)\n    at async Z (/srv/node/y.js:1:1)"
    )
    table = Table(validate="off")
    table.call(9, "get_invoice", {"invoice_id": "/home/me/inv_1.pdf"})
    table.server(result(9, text, is_error=True))
    words = table.told()[0]["result"]["content"][0]["text"]
    assert words.startswith('It said: "cannot open …/inv.db for /home/me/inv_1.pdf"')
    assert "x.js" not in words


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
    "haskell": "no ledger\nCallStack (from HasCallStack):\n  error, called at src/Hidden.hs:3:5 in main:Main",
    "c++": "no ledger\n#0  0x00007f in hidden () from /home/ann/hidden.so\n#1  0x0001 in main () at /home/ann/hidden.cpp:3",
    "swift": "Fatal error: no ledger: file /home/ann/hidden.swift, line 3\n0 libswift 0x00007fff hidden + 16",
    "node, on one line": "TypeError: no ledger at hidden (/home/ann/a.js:1:5) at Object.<anonymous> (/home/ann/b.js:1:1)",
    "lua": "no ledger\nstack traceback:\n\t[C]: in function 'hidden'\n\thidden.lua:3: in function 'pay'",
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
    table.call(9, "pay", {"invoice_id": "inv_1"})
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
    _, answer = failing(text, tool="pay")
    assert "hidden" not in json.dumps(answer)
    assert "no ledger" in answer["content"][0]["text"]
    assert answer["_meta"][META_KEY]["effect"] == "unknown"


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
        _, answer = failing(said, tool="pay")
        assert not [word for word in ("hidden", "/home/ann", "b.py") if word in json.dumps(answer)]
        assert "no ledger" in answer["content"][0]["text"]
        assert answer["_meta"][keys.ORIGINAL]["redacted"] is True


def test_a_colour_alone_changes_nothing_of_the_original() -> None:
    _, answer = failing("\x1b[31mno ledger\x1b[0m for a/b<br>today")
    kept = json.loads(answer["_meta"][keys.ORIGINAL]["frame"])
    assert kept["result"]["content"][0]["text"] == "\x1b[31mno ledger\x1b[0m for a/b<br>today"


@pytest.mark.parametrize("language", ["go", "rust", "rust before 1.73"])
def test_a_panic_is_no_refusal_whatever_its_words(language: str) -> None:
    _, answer = failing(TRACES[language].replace("no ledger", "index out of bounds"), tool="pay")
    assert answer["_meta"][META_KEY]["effect"] == "unknown"
    assert "may have been done already" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    "path",
    [
        "/home/zoe/a.db", "/data/zoe/a.db", "/nfs/zoe/a.db", "file:///home/zoe/a.db", "file:///C:/zoe/a.db",
        "ENOENT:/home/zoe/a.db", "-I/home/zoe/a.db", "sqlite:////home/zoe/a.db", "sqlite:///home/zoe/a.db", "1./home/zoe/a.db",
        "jar:file:/home/zoe/a.db", "git@host:/home/zoe/a.db", "ssh://host/home/zoe/a.db", "%2Fhome%2Fzoe%2Fa.db",
        "D:/files/zoe/a.db", r"D:\Program Files\zoe\a.db", r"\\server\share\zoe\a.db", r"D:\\files\\zoe\\a.db",
        "\x1b[31m/home/zoe/a.db\x1b[39m", "\x1b[2m/home/\x1b[22mzoe/\x1b[1ma.db\x1b[22m", "/ho\u200bme/zoe/a.db",
        r"\u001b[31m/home/zoe/a.db\u001b[39m", r"\x1b[31m/home/zoe/a.db\x1b[0m", r"\/home\/zoe\/a.db", "//home//zoe//a.db",
    ],
)  # fmt: skip
def test_no_absolute_path_is_in_any_part_of_the_answer(path: str) -> None:
    sent = result(9, f"cannot open {path}", is_error=True)
    sent["result"]["content"].append({"type": "text", "text": f"It lies at {path}."})
    sent["result"]["structuredContent"] = {"code": "GONE", "message": f"cannot open {path}", "details": {"cwd": path}}
    sent["result"]["_meta"] = {"com.example/where": path}
    table = Table()
    table.call(9, "pay", {"invoice_id": "inv_1"})
    table.server(sent)
    told = table.told()[0]["result"]
    assert "zoe" not in json.dumps(told)
    assert re.search(r"cannot open \S*…/a\.db", told["content"][0]["text"])
    assert told["_meta"]["com.example/where"].endswith("…/a.db")
    assert told["_meta"][keys.ORIGINAL]["redacted"] is True


@pytest.mark.parametrize(
    "text",
    [
        "POST /data/v1/users gave 404", "https://x.org/data/a is gone", r"A:\d+ does not match", "https://home/a/b is gone",
        "https://x.org:8080/home/a is gone", "https://x-y/home/a is gone", "./home/a/b is gone", "team%2Fdata%2Fa is gone",
        "https://home//a//b is gone", "//home.example//a//b is gone", r"A\/B is gone",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_path_stays(text: str) -> None:
    _, answer = failing(text)
    assert text in answer["content"][0]["text"]
    assert "redacted" not in answer["_meta"][keys.ORIGINAL]


def test_of_a_long_output_only_the_frames_go() -> None:
    output = "building a\n" * 60 + "Error: gone\n    at read (/srv/hidden.js:1:2)\n3 of 4 failed"
    _, answer = failing(output, tool="pay")
    words = answer["content"][0]["text"]
    assert "building a\nError: gone\n3 of 4 failed" in words
    assert "hidden" not in json.dumps(answer)


def test_a_picture_beside_a_failure_is_no_text() -> None:
    sent = result(9, "gone", is_error=True)
    picture = {"type": "image", "mimeType": "image/png", "data": "AA+/home/AAAA"}
    sent["result"]["content"].append(picture)
    table = Table()
    table.call(9, "pay", {"invoice_id": "inv_1"})
    table.server(sent)
    assert picture in table.told()[0]["result"]["content"]


def test_a_write_that_failed_in_words_may_have_been_done() -> None:
    table, answer = failing("Error: 503 Service Unavailable", tool="pay")
    assert answer["content"][0]["text"] == (
        'pay failed part-way (It said: "503 Service Unavailable"), so it may have been done already. Next: call get_invoice with '
        '{"invoice_id":"inv_1"} to see whether it was.'
    )
    assert answer["_meta"][META_KEY]["effect"] == "unknown"
    table.passes(1000)
    assert [each["method"] for each in table.heard()] == ["tools/call"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Nothing was done.",
            'pay failed part-way (It said: "Nothing was done."), so it may have been done already. Next: ',
        ),
        (
            "No changes were made: locked",
            'pay failed part-way (It said: "No changes were made: locked"), so it may have been done already. Next: ',
        ),
        (
            "Validation failed for response: paid=true but receipt is missing",
            'pay failed part-way (It said: "Validation failed for response: paid=true but receipt is missing"), so it may',
        ),
        (
            "invalid JSON in upstream answer",
            'pay failed part-way (It said: "invalid JSON in upstream answer"), so it may have been done already. Next: ',
        ),
        (
            "java.lang.IllegalStateException: ledger is closed",
            'pay failed part-way (It said: "java.lang.IllegalStateException: ledger is closed"), so it may have been',
        ),
    ],
)
def test_what_a_server_says_of_its_own_failure_is_read_and_no_word_of_ours(text: str, words: str) -> None:
    _, answer = failing(text, tool="pay")
    assert answer["content"][0]["text"].startswith(words)
    error = answer["_meta"][META_KEY]
    # Whatever it says, nobody is told that nothing was done, nor to correct the call.
    assert error.get("effect") in ("unknown", None)
    assert "orrect" not in answer["content"][0]["text"]


@pytest.mark.parametrize(
    "text", ["ValueError: amount must be positive", "x.txt missing", "Invalid amount", "title is required"]
)
def test_of_a_write_that_only_words_call_refused_one_step_is_told(text: str) -> None:
    _, answer = failing(text, tool="pay")
    step = 'Next: call get_invoice with {"invoice_id":"inv_1"} to see what came of it.'
    assert answer["content"][0]["text"] == f'It said: "{text}". {step}'
    # Nobody knows whether it was done, and nobody says that it was not.
    assert "effect" not in answer["_meta"][META_KEY]


@pytest.mark.parametrize(
    ("text", "tool", "words"),
    [
        ("amount must be positive", "get_invoice", 'It said: "amount must be positive". Correct the arguments, then call again.'),
        ("amount must be positive. Use a larger one.", "pay", 'It said: "amount must be positive. Use a larger one."'),
    ],
)  # fmt: skip
def test_a_read_is_corrected_and_the_servers_own_step_is_the_only_one(text: str, tool: str, words: str) -> None:
    _, answer = failing(text, tool=tool)
    assert answer["content"][0]["text"] == words


@pytest.mark.parametrize(
    "text",
    [
        "file not found after the payment was made: receipt.pdf",
        "paid=true but receipt is missing",
        "Payment sent, but the receipt is invalid",
        "The order was placed; however the address is not valid",
        "permission denied, although the transfer has been executed",
    ],
)
def test_a_refusal_that_tells_of_something_done_is_none(text: str) -> None:
    _, answer = failing(text, tool="pay")
    assert answer["content"][0]["text"] == (
        f'pay failed part-way (It said: "{text}"), so it may have been done already. Next: call get_invoice with '
        '{"invoice_id":"inv_1"} to see whether it was.'
    )
    assert answer["_meta"][META_KEY]["effect"] == "unknown"


@pytest.mark.parametrize(
    "text",
    ["Invoice inv_1 not found", "No payment with this id was made", "Not allowed to delete inv_1"],
)  # fmt: skip
def test_a_refusal_that_tells_of_nothing_done_stays_one(text: str) -> None:
    _, answer = failing(text, tool="pay")
    assert "may have been done" not in answer["content"][0]["text"]


def test_that_a_server_says_to_try_again_is_left_out_of_a_call_in_doubt_and_the_gap_is_seen() -> None:
    _, answer = failing("rate limit exceeded, retry after 5 seconds", tool="pay")
    assert answer["content"][0]["text"].startswith('pay failed part-way (It said: "rate limit exceeded …"), so it may')


@pytest.mark.parametrize("text", ["invalid value for answer", "Invalid JSON in the argument", "illegal argument x"])
def test_an_argument_may_be_called_like_an_answer(text: str) -> None:
    _, answer = failing(text)
    assert answer["_meta"][META_KEY]["kind"] == "validation"


def test_the_output_of_what_failed_part_way_is_kept() -> None:
    output = "Command failed with exit code 1\n" + "line of output\n" * 60
    _, answer = failing(output, tool="pay")
    words = answer["content"][0]["text"]
    assert words.startswith('pay failed part-way (It said: "Command failed with exit code 1')
    assert words.endswith("line of output\n")


def test_a_trace_inside_json_stays_with_the_operator() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    trace = "Error: Output o_1 was lost\n    at read (file:///srv/lib/core.js:12:34)\n    at async run (file:///srv/lib/mcp.js:1:2)"
    data = {"errorMessage": trace}
    sent = {"content": [{"type": "text", "text": json.dumps(data)}], "isError": True, "structuredContent": data}
    table.server({"jsonrpc": "2.0", "id": 1, "result": sent})
    answer = table.told()[0]["result"]
    assert answer["content"] == [
        {"type": "text", "text": 'It said: "Output o_1 was lost". Tell the user that it failed.'}
    ]
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
    assert "See the log." in answer["content"][0]["text"]
    assert answer["content"][1:] == [picture]
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
    assert (
        answer["content"][0]["text"]
        == 'It said: "Invoice i not found". Look for another one; the same call will fail again.'
    )
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
    "result is a text": {"result": PYTHON},
}


@pytest.mark.parametrize("form", ODD)
def test_a_failed_call_is_one_in_whatever_form_a_server_says_so(form: str) -> None:
    table = Table(env={"DB_PASSWORD": "ledger"})
    table.call(1, "pay", {"invoice_id": "i"})
    table.server({"jsonrpc": "2.0", "id": 1, **ODD[form]})
    (told,) = table.told()
    answer = told["result"]
    assert answer["isError"] is True
    assert not [word for word in ("hidden", "/home/ann", "ledger") if word in json.dumps(told)]
    assert "may have been done already" in answer["content"][0]["text"]


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
    table.call(1, "pay", {"invoice_id": "i"})
    table.server({"id": 1, **sent})
    (told,) = table.told()
    assert not [word for word in ("hidden", "/home/ann", "ledger") if word in json.dumps(told)]
    assert told["jsonrpc"] == "2.0"
    assert "may have been done already" in told["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "sent",
    [{"result": {"content": [], "isError": flag}} for flag in (False, 0, None, "false")]
    + [{"result": {"content": []}, "error": error} for error in (None, {}, "")]
    + [{"result": "Written to /home/ann/a.txt"}],
)
def test_a_success_is_one_in_whatever_form_a_server_says_so(sent: dict[str, Any]) -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "i"})
    passed = frame({"jsonrpc": "2.0", "id": 1, **sent})
    table.server(passed)
    assert table.frames == [passed]


@pytest.mark.parametrize("number", [-32601, -32700, -32042, -32021])
def test_what_only_the_client_can_act_on_passes_without_what_must_not_leave(number: int) -> None:
    table = Table(env={"DB_PASSWORD": "gardenword"})
    asked = [{"mode": "url", "elicitationId": "e", "url": "https://x.org/data/login?token=aB3dE5gH7jK9mN1pQ3"}]
    data = {"elicitations": asked, "stack": PYTHON, f"ghp_{'a1B2' * 9}": "/home/ann/hidden/x"}
    table.call(1, "pay", {"invoice_id": "i"})
    error = {"code": number, "message": f"gardenword, {PYTHON}", "data": data}
    table.server({"jsonrpc": "2.0", "id": 1, "error": error})
    (told,) = table.told()
    assert not [word for word in ("hidden", "/home/ann", "gardenword", "ghp_") if word in json.dumps(told)]
    assert (told["error"]["code"], told["error"]["data"]["elicitations"]) == (number, asked)
    plain = frame({"jsonrpc": "2.0", "id": 2, "error": {"code": number, "message": "Log in.", "data": {"a": 1}}})
    table.call(2, "pay", {"invoice_id": "i"})
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


def test_wrong_arguments_get_the_words_of_the_tools_own_schema() -> None:
    text = (
        "Error executing tool pay: 1 validation error for payArguments\ninvoice_id\n  Field required [type=missing, "
        "input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.14/v/missing"
    )
    table = Table(validate="off")
    table.call(1, "pay", {})
    table.server(result(1, text, is_error=True))
    answer = table.told()[0]["result"]
    error = answer["_meta"][META_KEY]
    assert (error["effect"], error["fields"][0]["path"]) == ("none", ["invoice_id"])
    assert "pydantic.dev" not in answer["content"][0]["text"]


def test_the_number_of_an_operating_system_is_not_told() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "inv_7"})
    said = "Invalid id: [Errno 36] File name too long; see [Errno 5]"
    table.server(frame(result(1, said, is_error=True)))
    (answer,) = table.told()
    assert "Invalid id: File name too long; see [Errno 5]" in answer["result"]["content"][0]["text"]
    # What the server sent is kept as it came.
    assert said in answer["result"]["_meta"][keys.ORIGINAL]["frame"]


# Failures that are sent as successes


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


# What is prevented


def test_arguments_that_the_schema_refuses_never_reach_the_server() -> None:
    table = Table()
    table.call(1, "pay", {"invoice": "inv_1"})
    answer = table.told()[0]["result"]
    assert table.heard() == []
    error = answer["_meta"][META_KEY]
    assert (error["effect"], error["delivery"]) == ("none", "never_sent")
    assert [each["path"] for each in error["fields"]] == [["invoice_id"], []]
    assert "invoice_id" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("mode", "arguments", "sent"),
    [
        ("auto", {"invoice_id": "i", "amount": "5"}, True),
        ("on", {"invoice_id": "i", "amount": "5"}, False),
        ("auto", {"invoice_id": "i", "amount": [5]}, False),
        ("auto", {"invoice_id": "i", "dry_run": True}, False),
        ("off", {}, True),
    ],
)
def test_what_a_server_might_take_is_sent(mode: str, arguments: dict[str, Any], sent: bool) -> None:
    table = Table(validate=mode)
    table.call(1, "pay", arguments)
    assert bool(table.heard()) is sent


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {}}, "required": ["b"]}, {"b": 1}),
        ({"properties": {"a": {}}, "required": ["b"], "additionalProperties": False}, {"b": 1}),
        ({"properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}),
        ({**DRAFT_7, "properties": {"a": {}}, "dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "on"])
def test_what_a_schema_asks_for_is_never_unknown(mode: str, schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    table = Table(validate=mode, connected=False)
    table.client(table.request("list", "tools/list"))
    tool = {"name": "pay", "inputSchema": {"type": "object", **schema}}
    table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": [tool]}})
    table.heard()
    table.call(1, "pay", arguments)
    assert [each["id"] for each in table.heard()] == [1]
    missing = {name: value for name, value in arguments.items() if name != "b"}
    table.call(2, "pay", missing)
    assert not table.heard()


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "value", "sent"),
    [
        ({"type": "boolean"}, 1, True),
        ({"type": "integer"}, True, True),
        ({"type": "integer"}, "5", True),
        ({"type": "integer"}, "1,000", True),
        ({"type": "integer"}, "abc", False),
        ({"type": ["integer", "null"]}, "none", True),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "abc", False),
        ({"type": "integer"}, 5.5, False),
        ({"type": ["integer", "number"]}, 5.5, True),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "abc", False),
        ({"type": "string", "format": "duration"}, 3600, True),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "5", True),
        ({"type": "string"}, None, True),
        ({"type": "array"}, "[1]", True),
        ({"enum": ["low", "high"]}, "High", True),
        ({"enum": ["low", "high"]}, "highest", False),
        ({"type": "string", "maxLength": 3}, "abc ", True),
        ({"type": "string", "maxLength": 3}, "abcd", False),
        ({"type": "string"}, {"a": 1}, False),
        ({"type": "array"}, 5, False),
        ({"type": "integer", "minimum": 1}, 0, False),
        ({"anyOf": [POINT, {"type": "string"}]}, {"x": "1"}, True),
        ({"anyOf": [POINT, {"type": "string"}]}, {"x": "abc"}, False),
        ({"anyOf": [POINT, {"type": "string"}]}, {"y": 1}, False),
        ({"anyOf": [POINT, {"type": "string"}]}, 5, True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, {"x": "1"}, True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, [{"x": "1"}], True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, [{"x": []}], False),
        ({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]}, 3, True),
        ({"type": "array", "uniqueItems": True}, [1, 1], True),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 5, True),
        ({"const": "v1"}, "V1", True),
        ({"const": "v1"}, "v2", False),
        ({"type": "number", "multipleOf": 0.1}, 0.35, False),
        (
            {"type": "object", "dependentRequired": {"x": ["y"]}, "properties": {"x": {"not": {"const": 1}}}},
            {"x": 1},
            False,
        ),
    ],
)
def test_only_what_is_sure_to_fail_is_refused(schema: dict[str, Any], value: Any, sent: bool) -> None:
    table = Table(connected=False)
    listed = {"type": "object", "properties": {"a": schema, "b": {"type": "string", "default": "x"}}, "required": ["b"]}
    table.client(table.request("list", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": [{"name": "put", "inputSchema": listed}]}})
    table.heard()
    table.call(1, "put", {"a": value})
    assert bool(table.heard()) is sent


def test_a_misspelt_tool_is_told_with_the_nearest_one() -> None:
    table = Table()
    table.call(1, "get_invoce", {"invoice_id": "i"})
    assert (
        table.told()[0]["result"]["content"][0]["text"]
        == "There is no tool 'get_invoce'. Did you mean 'get_invoice'? Next: call get_invoice."
    )
    assert table.heard() == []
    table.call(2, "restart_reactor", {})
    assert [each["id"] for each in table.heard()] == [2]


def test_a_name_that_is_misspelt_inside_an_argument_is_renamed_and_no_reason_to_give_the_tool_up() -> None:
    gate, arguments = Gate("auto"), {"a": {"X": 1}}
    schema = {"type": "object", "properties": {"a": POINT}}
    listing: Any = SimpleNamespace(known={"put": {"inputSchema": schema}}, is_fresh=True, is_recalled=False)
    error = gate.refuses("put", arguments, listing)
    assert error is not None
    assert [(change.op, change.path, change.to) for change in error.patch] == [("rename", ("a", "X"), "x")]
    gate.heard(error, "put", listing)
    assert gate.refuses("put", arguments, listing) == error


def test_a_tool_whose_own_answers_contradict_its_schema_is_given_up() -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "i"})
    text = "1 validation error for payArguments\ncurrency\n  Field required [type=missing, input_value={}, input_type=dict]"
    table.server(result(1, text, is_error=True))
    table.told()
    table.heard()
    table.call(2, "pay", {"invoice_id": "i", "currency": "EUR"})
    assert [each["id"] for each in table.heard()] == [2]


def test_tools_are_listed_before_the_first_call_of_a_client_that_does_not() -> None:
    table = Table(connected=False)
    table.client(table.request(0, "initialize", {"protocolVersion": "2025-11-25"}))
    table.server({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}})
    table.heard()
    table.call(1, "pay", {"invoice_id": "i"})
    (first,) = table.heard()
    table.server({"jsonrpc": "2.0", "id": first["id"], "result": {"tools": TOOLS[:1], "nextCursor": "2"}})
    (second,) = table.heard()
    assert second["params"] == {"cursor": "2"}
    table.server({"jsonrpc": "2.0", "id": second["id"], "result": {"tools": TOOLS[1:]}})
    assert [each["id"] for each in table.heard()] == [1]
    assert list(table.desk.listing.known) == ["pay", "get_invoice"]


def test_a_server_that_does_not_list_gets_its_calls_all_the_same() -> None:
    table = Table(connected=False)
    table.call(1, "pay", {"invoice_id": "i"})
    table.heard()
    table.passes(6)
    assert [each["id"] for each in table.heard()] == [1]


# What is repeated


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


@pytest.mark.parametrize("form", INVITING)
@pytest.mark.parametrize("tool", ["pay", "get_invoice"])
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
    table.call(1, "pay", {"invoice_id": "i"})
    table.died(unwritten=(table.sent[-1].request,))
    table.passes(5)
    table.revive()
    table.passes(30)
    assert [each["params"]["name"] for each in table.heard() if each.get("method") == "tools/call"] == ["pay"]


@pytest.mark.parametrize(
    ("options", "tool", "made_again"),
    [
        ({"trusted": False}, "get_invoice", False),
        ({"trusted": False, "reads": ("get_*",)}, "get_invoice", True),
        ({"reads": ("pay",)}, "pay", True),
        ({"reads": ("p*",)}, "pay", False),
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
        'It said: "Invoice nope not found". Look for another one; the same call will fail again.',
        'It said: "Invoice nope not found". The same call has now failed twice in the same way. Use another one, or look for it first.',
        'It said: "Invoice nope not found". The same call has now failed 3 times in the same way and will not be made again for 10 '
        "seconds. Use another one, or look for it first.",
        'Not called for 10 seconds: the same call failed 3 times in the same way. It said: "Invoice nope not found". Use another one, '
        "or look for it first.",
    ]
    # What the user has done meanwhile is not seen here.
    table.passes(10)
    table.call(5, "get_invoice", {"invoice_id": "nope"})
    assert [each["id"] for each in table.heard()] == [5]


def test_what_was_not_called_again_is_not_said_to_have_failed_part_way_itself() -> None:
    table = Table(validate="off")
    for id in (1, 2, 3, 4):
        table.call(id, "pay", {})
        for message in table.heard():
            table.server(result(message["id"], "2 tests failed", is_error=True))
    assert table.told()[3]["result"]["content"][0]["text"].startswith(
        'pay failed part-way (It said: "2 tests failed"; it failed 3 times like that, and was not called this time), so it may have'
    )


def test_a_hanging_call_is_cancelled_and_answered_and_progress_extends_it() -> None:
    table = Table(timeout=10.0)
    table.call(1, "pay", {"invoice_id": "i"}, meta={"progressToken": "t"})
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
    table.call(1, "pay", {"invoice_id": "i"})
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
    table.call(1, "pay", {"invoice_id": "i"})
    table.told()
    table.passes(11)
    assert [each["id"] for each in table.told()] == [1]


def test_a_server_that_is_frozen_is_started_anew_and_one_that_is_busy_is_not() -> None:
    table = Table(timeout=10.0)
    for id in (1, 2):
        table.call(id, "pay", {"invoice_id": f"i{id}"})
        table.passes(10)
        knock = table.heard()[-1]
        assert knock["method"] == "ping"
        if id == 1:
            table.server({"jsonrpc": "2.0", "id": knock["id"], "result": {}})
        table.passes(10)
    assert table.stops == 1


def test_a_write_of_a_tool_that_is_left_alone_is_not_to_be_made_again_later() -> None:
    table = Table()
    for id in range(11):
        table.call(id, "pay", {"invoice_id": f"inv_{id % 10}"})
        for message in table.heard():
            table.server(result(message["id"], "503 Service Unavailable", is_error=True))
    *_, last = table.told()
    assert last["result"]["content"][0]["text"] == (
        'pay failed part-way (It said: "503 Service Unavailable"; pay failed 10 times in a row, and was not called this time), so it '
        'may have been done already. Next: call get_invoice with {"invoice_id":"inv_0"} to see whether it was.'
    )
    error = last["result"]["_meta"][META_KEY]
    assert (error["effect"], error["retryable"], "retry_after" in error) == ("unknown", False, False)


def test_a_tool_that_fails_again_and_again_is_left_alone_until_its_server_is_another_one() -> None:
    table = Table()
    for id in range(11):
        table.call(id, "pay", {"invoice_id": f"i{id}"})
        for message in table.heard():
            table.server(result(message["id"], "Error: 503 Service Unavailable", is_error=True))
    assert table.told()[-1]["result"]["content"][0]["text"].startswith("Not called: pay failed 10 times in a row.")
    table.died()
    table.passes(0)
    table.revive()
    table.call(17, "pay", {"invoice_id": "i17"})
    assert [each["method"] for each in table.heard()] == ["tools/call"]


# What the server was given


GIVEN = {
    "GITHUB_TOKEN": "plainlookingvalue77",
    "DB_PASSWORD": 'zebra/"x"',
    "API_KEY": "short",
    "APP_SECRET": "production",
}


@pytest.mark.parametrize("form", ["result", "error", "json", "success"])
def test_a_secret_that_the_server_was_given_is_masked_wherever_it_turns_up(form: str) -> None:
    table = Table(env=GIVEN)
    table.call(1, "pay", {"invoice_id": "i"})
    words = 'Error: connect ECONNREFUSED with plainlookingvalue77 and zebra/"x", a short one in production'
    answer: dict[str, Any] = result(1, words, is_error=form == "result")
    if form == "error":
        answer = {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32603, "message": words, "data": {"k_plainlookingvalue77": 1}},
        }
    elif form == "json":
        answer = result(1, json.dumps({"error": words}).replace("/", "\\/"), is_error=True)
    table.server(answer)
    (told,) = table.frames
    assert b"plainlookingvalue77" not in told
    assert b"zebra" not in told
    assert b"short one in production" in told
    meta = json.loads(told)["result"]["_meta"]
    assert form == "success" or meta[answers.ORIGINAL]["redacted"] is True


def test_where_one_is_and_where_a_secret_is_kept_are_no_secrets(tmp_path: Path) -> None:
    (tmp_path / "key.json").touch()
    kept = {"PWD": "/srv/gone", "OLDPWD": "/srv/gone", "APP_CREDENTIALS": str(tmp_path / "key.json")}
    table = Table(env=kept, command=f"serve /srv/gone/x {tmp_path}/key.json")
    table.died()
    assert table.notes[0].line.startswith(f"serve /srv/gone/x {tmp_path}/key.json ended")


HEADERS = {
    "Authorization": "Bearer tulipword",
    "Proxy-Authorization": "Basic am9lOnBlb255d29yZA==",
    "X-Api-Key": "roseword",
    "X-Shop": "daisyword",
    "Cookie": "theme=dark; sid=lilyword",
    "X-Region": "eu-west-1",
    "X-GitHub-Api-Version": "2022-11-28",
    "Accept": "application/json",
    "User-Agent": "shopbot/1.0",
    "X-Env": "production",
    "X-Short": "blue",
    "X-Kind": "project",
}
URL = "https://joe:ivyword7@api.example/s/9f8a7b6c5d4e3f2a1b0c/mcp?token=elmword7"
SENT = ["tulipword", "am9lOnBlb255d29yZA==", "peonyword", "roseword", "daisyword", "lilyword", "9f8a7b6c5d4e3f2a1b0c"]
PLAIN = [
    "dark",
    "eu-west-1",
    "2022-11-28",
    "application/json",
    "shopbot/1.0",
    "production",
    "blue",
    "project",
    "Bearer",
]


@pytest.mark.parametrize("form", ["result", "error", "http", "other"])
def test_what_a_server_behind_an_address_is_sent_is_masked_and_what_says_nothing_is_not(form: str) -> None:
    table = Table(headers=HEADERS, url=URL, remote=True, command="https://api.example/s/9f8a7b6c5d4e3f2a1b0c/mcp")
    words = " | ".join(["refused: Bearer", *SENT, "ivyword7", "elmword7", *PLAIN])
    if form == "other":
        table.client(table.request(1, "resources/read", {"uri": "a:b"}))
    else:
        table.call(1, "get_invoice", {"invoice_id": "i"})
    if form == "result":
        table.server(result(1, words, is_error=True))
    elif form == "http":
        table.do(table.desk.failed(b"1", ToolError(words, code="UNAUTHORIZED", details={"body": words})))
    else:
        table.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": words}})
    (told,) = table.frames
    assert [each for each in [*SENT, "ivyword7", "elmword7"] if each.encode() in told] == []
    assert [each for each in PLAIN if each.encode() not in told] == []


def test_an_address_is_told_without_what_is_secret_in_its_path_and_known_by_it() -> None:
    paths = ("/s/Zk48842qqw12", "/key/Zk48842", "/v2")
    told = [RemoteServer(URL.replace("/s/9f8a7b6c5d4e3f2a1b0c", path)) for path in paths]
    assert [each.name for each in told] == [
        f"https://api.example/s/{MASK}/mcp", f"https://api.example/key/{MASK}/mcp", "https://api.example/v2/mcp",
    ]  # fmt: skip
    # Two that differ in nothing else are two servers, with keys of their own.
    assert told[0].place == "https://api.example/s/Zk48842qqw12/mcp"


FORMS: dict[str, Callable[[str], str]] = {
    "as an address": lambda text: quote(text),
    "as an address, all of it": lambda text: quote(text, safe=""),
    "as an address, in small letters": lambda text: re.sub("%..", lambda each: each[0].lower(), quote(text, safe="")),
    "as JavaScript does": lambda text: quote(text, safe=";/?:@&=+$,#!*'()"),
    "in base64": lambda text: b64encode(text.encode()).decode(),
    "in base64, after a name": lambda text: b64encode(f"joe:{text}".encode()).decode(),
    "in base64 for addresses": lambda text: urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "in JSON in JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "in markup": lambda text: escape(text),
    "in hex": lambda text: text.encode().hex(),
    "in HEX": lambda text: text.encode().hex().upper(),
    "in hex, with colons": lambda text: text.encode().hex(":"),
    "in HEX, with colons": lambda text: text.encode().hex(":").upper(),
    "in hex, with blanks": lambda text: text.encode().hex(" "),
    "in hex, as code writes bytes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "as an address, with each letter": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "as an address in an address": lambda text: quote(quote(text, safe=""), safe=""),
    "in JSON of PHP in JSON": lambda text: json.dumps(json.dumps(text)[1:-1].replace("/", "\\/"))[1:-1],
    "in capitals": str.upper,
    "in small letters": str.lower,
    "in code": lambda text: repr(text)[1:-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_in_each_form_that_programs_write_it_in(form: str) -> None:
    secret = "Tr0ub/4dör&3\\~"
    table = Table(env={"SHOP_API_TOKEN": secret})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    written = FORMS[form](secret)
    table.server(result(1, f"GET https://api.example/v1/x/{written}/y refused", is_error=True))
    (told,) = table.told()
    assert written not in json.dumps(told, ensure_ascii=False)
    assert written[8:-4] not in json.dumps(told)
    assert MASK in told["result"]["content"][0]["text"]


def test_in_letters_of_another_size_a_short_secret_or_a_word_may_be_something_else() -> None:
    table = Table(env={"DB_PASSWORD": "Orders2024", "API_TOKEN": "GardenHouses"})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "no table orders2024 in gardenhouses", is_error=True))
    assert "no table orders2024 in gardenhouses" in table.told()[0]["result"]["content"][0]["text"]


@pytest.mark.parametrize("place", ["error", "_meta", "structuredContent"])
def test_a_secret_is_masked_where_it_is_a_name(place: str) -> None:
    table = Table(env={"DB_PASSWORD": "plainword", "OTHER_PASSWORD": "otherword"})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    named = {"plainword": [["x"]], "otherword": 2, "text": 3}
    answer: dict[str, Any] = result(1, "refused", is_error=True)
    if place == "error":
        answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x", "data": named}}
    else:
        answer["result"][place] = named
    table.server(answer)
    (told,) = table.told()
    assert "plainword" not in json.dumps(told)
    assert "otherword" not in json.dumps(told)
    kept = json.loads(told["result"]["_meta"][answers.ORIGINAL]["frame"])
    kept = kept["error"]["data"] if place == "error" else kept["result"][place]
    assert kept == {MASK: [["x"]], f"{MASK}_": 2, "text": 3}


@pytest.mark.parametrize("place", ["structuredContent", "vendor", "_meta", "data"])
def test_what_is_a_secret_or_a_path_by_its_looks_leaves_as_no_name(place: str) -> None:
    token = f"ghp_{'a1B2' * 9}"
    named = {
        token: "revoked",
        "postgres://bob:sup3rpw@db/x": "down",
        "/home/ann/hidden/x.txt": 1,
        "/home/ann/hide/x.txt": 2,
    }
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    answer: dict[str, Any] = result(1, "failed", is_error=True)
    if place == "data":
        answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "failed", "data": named}}
    else:
        answer["result"][place] = named
    table.server(answer)
    (told,) = table.told()
    assert not [word for word in (token, "sup3rpw", "/home/ann", "hidden") if word in json.dumps(told)]
    expected = {MASK: "revoked", f"postgres://bob:{MASK}@db/x": "down", "…/x.txt": 1, "…/x.txt 2": 2}
    kept = json.loads(told["result"]["_meta"][answers.ORIGINAL]["frame"])
    assert (kept["error"]["data"] if place == "data" else kept["result"][place]) == expected
    assert place == "data" or expected.items() <= told["result"][place].items()


@pytest.mark.parametrize("schema", [{"type": "object", "properties": {}}, TOOLS[1]["inputSchema"]])
@pytest.mark.parametrize("name", ["/home/ann/hidden/x.txt", "hidden/x", "hidden.x"])
def test_what_is_no_argument_of_a_tool_is_none_of_its_next_call(name: str, schema: dict[str, Any]) -> None:
    table = Table()
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "look", "inputSchema": schema}]}})
    table.told()
    table.call(1, "look", {} if not schema["properties"] else {"invoice_id": "i"})
    answer = result(1, "failed", is_error=True)
    answer["result"]["structuredContent"] = {"errors": {name: "ENOENT"}}
    table.server(answer)
    words = table.told()[0]["result"]["content"][0]["text"]
    assert "Next: call look" not in words
    assert "home" not in words


@pytest.mark.parametrize("parted", ["\u200b", "\u00ad", "\x1b[31m", "\x00", "\n", "\\u200b", "\\x1b[31m"])
@pytest.mark.parametrize("given", ["server", "caller"])
def test_a_secret_is_masked_though_something_parts_it_that_goes(given: str, parted: str) -> None:
    table = Table(env={"GITHUB_TOKEN": "hunter2hunter2"} if given == "server" else {}, validate="off")
    table.call(
        1, "pay", {"invoice_id": "i", "password": "hunter2hunter2"} if given == "caller" else {"invoice_id": "i"}
    )
    sent = result(1, f"bad token hunter2{parted}hunter2", is_error=True)
    sent["result"]["structuredContent"] = {"said": f"hunter2{parted}hunter2"}
    table.server(sent)
    (told,) = table.told()
    assert "hunter2" not in json.dumps(told)
    assert told["result"]["_meta"][answers.ORIGINAL]["redacted"] is True


def test_a_success_is_no_failure_whatever_it_holds() -> None:
    table = Table(env=GIVEN)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    sent = frame(result(1, "paid with plainlookingvalue77"))
    table.server(sent)
    assert table.frames == [sent]


def test_a_server_that_ends_does_not_tell_what_it_was_given() -> None:
    table = Table(env=GIVEN)
    table.call(1, "pay", {"invoice_id": "i"})
    table.died(3, "x" * 280 + " Error: plainlookingvalue77 refused\n")
    assert b"plainlooking" not in table.frames[0]
    assert not [note for note in table.notes if "plainlooking" in note.line]


@pytest.mark.parametrize("word", ["SECRETTOK", "hunter2", "Zebra", "x9", "MYSECRET"])
def test_what_follows_an_option_for_a_secret_is_not_told(word: str) -> None:
    line = f"serve --token {word} --password={word} -p {word} API_KEY={word} --auth --port 80"
    told = failures.command_line(line.split(" "))
    assert told == (f"serve --token {MASK} --password={MASK} -p {MASK} API_KEY={MASK} --auth --port 80")


@pytest.mark.parametrize(
    "line",
    ["--password hunter2zz -phunter2zz", "--user joe:hunter2zz hunter2zz", "--url db://a:hunter2zz@h/ hunter2zz"],
)
def test_what_is_a_secret_in_one_place_of_a_command_is_one_in_all_and_on_stderr(line: str) -> None:
    table = Table(command=f"serve {line} -p 8080 --port 8080", connected=False)
    table.died(3, "Error: login with -p hunter2zz refused on 8080\n")
    assert not [note for note in table.notes if "hunter2zz" in note.line]
    assert table.notes[-1].line.endswith(f"it said: Error: login with -p {MASK} refused on 8080")
    assert f"-p {MASK} --port 8080 ended" in table.notes[-1].line


OPTIONS = [
    ["--header", "Authorization: Bearer birch-fern-4711-oak"],
    ["--header", "Authorization:Bearer birch-fern-4711-oak"],
    ["--header=X-Api-Key: birch-fern-4711-oak"],
    ["-H", "X-Api-Key: birch-fern-4711-oak"],
    ["--db", "postgres://u:birch-fern-4711-oak@h/x"],
    ["https://h/mcp?token=birch-fern-4711-oak&x=1"],
    ["--connection-string", "Server=x;Password=birch-fern-4711-oak;"],
    ["--key", "birch-fern-4711-oak"],
    ["--openai-key=birch-fern-4711-oak"],
    ["--auth", "user:birch-fern-4711-oak"],
    ["-u", "user:birch-fern-4711-oak"],
    ["--config", '{"apiKey": "birch-fern-4711-oak"}'],
    ["--secret:birch-fern-4711-oak"],
    ["/password:birch-fern-4711-oak"],
    ["sh", "-c", "curl --token birch-fern-4711-oak x"],
    ["--password", "birch fern oak"],
]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_secret_is_known_wherever_it_stands_on_the_command_line(words: list[str], last: bool) -> None:
    given = ("serve", *words) if last else ("serve", *words, "--verbose", "-H", "X-Tenant: acme")
    table = Table(command=" ".join(given), words=given)
    table.call(1, "pay", {"invoice_id": "i"})
    table.server(result(1, "bad value birch-fern-4711-oak, or birch fern oak", is_error=True))
    secret = "birch fern oak" if "birch fern oak" in words else "birch-fern-4711-oak"
    assert secret not in json.dumps(table.told()[0])
    table.died(1, f"Error: {secret}\n")
    assert not [note for note in table.notes if secret in note.line]
    assert last or table.notes[-1].line.split(" ended")[0].endswith(" --verbose -H X-Tenant: acme")


def test_what_is_no_secret_on_a_command_line_is_known_by_nothing() -> None:
    words = (
        "python",
        "-u",
        "server.py",
        "-u",
        "1000:1000",
        "--key",
        "certs/tls-2.key",
        "--sort-key",
        "created",
        "--at=10:30",
    )
    table = Table(command=" ".join(words), words=words)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    said = "server.py: 1000, certs/tls-2.key, created at 10:30"
    table.server(result(1, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]
    table.died()
    assert table.notes[0].line.startswith(" ".join(words))


VARIABLES = {
    "OPENAI_KEY": "birch-fern-4711-oak",
    "AUTHORIZATION": "Bearer birch-fern-4711-oak",
    "AUTH_HEADER": "Bearer birch-fern-4711-oak",
    "MCP_HEADERS": "Authorization: Bearer birch-fern-4711-oak",
    "OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer birch-fern-4711-oak", "X-V": "1"}',
    "DATABASE_URL": "postgres://app:birch-fern-4711-oak@db/main",
    "REDIS_URL": "redis://:birch-fern-4711-oak@r/0",
    "DB_CONNECTION_STRING": "Server=x;Password=birch-fern-4711-oak;",
    "SENTRY_DSN": "https://birch-fern-4711-oak@sentry.example/4",
    "SLACK_WEBHOOK_URL": "https://hooks.slack.example/services/T0/B0/birch-fern-4711-oak",
    "GOOGLE_JSON": '{"private_key": "birch-fern-4711-oak"}',
}


@pytest.mark.parametrize("name", VARIABLES)
def test_of_a_variable_the_part_that_is_secret_is_known_alone(name: str) -> None:
    table = Table(env={name: VARIABLES[name]})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "login with birch-fern-4711-oak refused by db, hooks.slack.example and main", is_error=True))
    told = table.told()[0]
    assert "birch-fern-4711-oak" not in json.dumps(told)
    assert f"login with {MASK} refused by db, hooks.slack.example and main" in told["result"]["content"][0]["text"]


def test_variables_that_only_sound_like_secrets_hold_none() -> None:
    plain = {
        "SORT_KEY": "created_at",
        "SSL_KEY": "certs/tls-2.key",
        "HOME_URL": "https://joe@example.org/a1b2c3",
        "EXAMPLE_URL": "postgres://user:password@db/main",
    }
    table = Table(env=plain)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    said = "no password for joe: created_at, certs/tls-2.key, a1b2c3"
    table.server(result(1, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"authorization": "Bearer birch-fern-4711-oak"},
        {"headers": {"Authorization": "Bearer birch-fern-4711-oak"}},
        {"tokens": ["birch-fern-4711-oak"]},
        {"env": [{"name": "API_KEY", "value": "birch-fern-4711-oak"}]},
        {"url": "https://u:birch-fern-4711-oak@h/"},
    ],
    ids=str,
)
def test_of_an_argument_the_part_that_is_secret_is_in_no_part_of_a_failure(arguments: dict[str, Any]) -> None:
    table = Table(validate="off")
    table.call(1, "get_invoice", {"invoice_id": "i", **arguments})
    table.server(result(1, "login with birch-fern-4711-oak refused", is_error=True))
    (told,) = table.told()
    assert "birch-fern-4711-oak" not in json.dumps(told)
    assert f"login with {MASK} refused" in told["result"]["content"][0]["text"]


def test_what_was_sent_as_a_secret_is_in_no_part_of_a_failure() -> None:
    table = Table(connected=False)
    table.connect()
    secret = {"type": "object", "properties": {"phrase": {"type": "string", "writeOnly": True}}}
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "open", "inputSchema": secret}]}})
    table.told()
    table.call(1, "open", {"phrase": "blue horse"})
    table.server(result(1, "refused for blue horse today", is_error=True))
    (told,) = table.told()
    assert "blue horse" not in json.dumps(told)
    assert told["result"]["_meta"]["io.github.failwell/original"]["redacted"] is True


TWICE: dict[str, str] = {
    "an error": '"error":{"code":-32000,"message":"first KEY"},"error":{"code":-32000,"message":"second"}',
    "an error of the protocol": '"error":{"code":-32601,"message":"first KEY"},"error":{"code":-32601,"message":"second"}',
    "a result": '"result":{"isError":true,"content":[{"type":"text","text":"KEY"}],"content":[{"type":"text","text":"x"}]}',
    "a member": '"result":{"isError":true,"content":[{"type":"text","text":"KEY","text":"x"}]}',
    "our own words": '"result":{"isError":true,"isError":true,"content":[{"type":"text","text":"KEY","text":"x"}],'
    '"_meta":{"META":{"failwell":1,"kind":"not_found","message":"x"}}}',
}


@pytest.mark.parametrize("form", TWICE)
@pytest.mark.parametrize("secret", ["hunter2hunter2", "\\u0068unter2hunter2", "/home/ann/x.py"])
@pytest.mark.parametrize("tool", ["pay", ""])
def test_what_stands_under_a_name_that_comes_again_does_not_leave(form: str, secret: str, tool: str) -> None:
    table = Table(env={"API_KEY": "hunter2hunter2"})
    if tool:
        table.call(1, tool, {"invoice_id": "i"})
    else:
        table.client(table.request(1, "resources/read"))
    members = TWICE[form].replace("KEY", secret).replace("META", META_KEY)
    table.server(f'{{"jsonrpc":"2.0","id":1,{members}}}\n'.encode())
    (sent,) = table.frames
    told = json.loads(sent)
    if tool or "error" in told:
        assert not [each for each in (b"unter2", b"/home/ann") if each in sent]
    original = told.get("result", {}).get("_meta", {}).get(keys.ORIGINAL)
    assert original is None or original["redacted"] is True


def test_an_answer_keeps_its_id_though_it_looks_like_a_secret_that_was_sent() -> None:
    table = Table()
    secret = {"type": "object", "properties": {"pin": {"type": "integer", "format": "password"}}}
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "open", "inputSchema": secret}]}})
    table.told()
    table.call(848201, "open", {"pin": 848201})
    # What only the client can act on passes as it is.
    table.server({"jsonrpc": "2.0", "id": 848201, "error": {"code": -32042, "message": "Log in, not with 848201"}})
    (told,) = table.told()
    assert (told["id"], told["error"]["message"]) == (848201, "Log in, not with [redacted]")
