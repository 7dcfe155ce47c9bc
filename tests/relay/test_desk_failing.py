"""A failed call leaves with the words that make a model recover, and with what the server sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from desk_table import Table, failing, frame, result

from failwell.formats import META_KEY, keys
from failwell.relay import calls


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
        "/workspaces/zoe/a.db", "/github/workspace/zoe/a.db", "/builds/zoe/a.db", "/kaggle/zoe/a.db", "/databricks/zoe/a.db",
        "/sandbox/zoe/a.db", "/repo/zoe/a.db", "/u01/zoe/a.db", "/vol1/zoe/a.db", "/dev/shm/zoe/a.db", "/lambda/zoe/a.db",
        "/storage/emulated/0/zoe/a.db", "/d/Users/zoe/a.db",
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
        "/projects/7 is gone", "/workspaces/12/runs is gone", "/builds/7 is gone", "/repos/acme/site is gone", "/u/7 is gone",
        "Permission denied: /projects/7", "GET /projects/7: permission denied", "/projects/7: permission denied",
        "No such project: /projects/7", "Permission denied; see '/docs/rights'", "https://x.org/a/7: permission denied",
        "No such file or directory: https://x.org/a/b", "ENOENT: no such file or directory, open '/projects'",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_path_stays(text: str) -> None:
    _, answer = failing(text)
    assert text in answer["content"][0]["text"]
    assert "redacted" not in answer["_meta"][keys.ORIGINAL]


@pytest.mark.parametrize(
    "text",
    [
        "ENOENT: no such file or directory, open '/projects/zoe/a.db'", "[Errno 2] No such file or directory: '/content/zoe/a.db'",
        "Permission denied: '/config/zoe/a.db'", "[Errno 13] Permission denied: '/config/zoe/My Files/a.db'",
        "EXDEV: cross-device link not permitted, rename '/projects/zoe/b.db' -> '/content/zoe/a.db'",
        "open /projects/zoe/a.db: no such file or directory", "cat: /projects/zoe/a.db: Permission denied",
        "ls: cannot access '/projects/zoe/a.db': No such file or directory", "bash: line 1: /projects/zoe/a.db: Permission denied",
        "java.io.FileNotFoundException: /projects/zoe/a.db (Permission denied)", "NoSuchFileException: /projects/zoe/a.db",
        "Could not find file '/projects/zoe/a.db'.", "Access to the path '/projects/zoe/a.db' is denied.",
        "file_get_contents(/projects/zoe/a.db): Failed to open stream: No such file or directory",
        "No such file or directory @ rb_sysopen - /projects/zoe/a.db", "mkdir /projects/zoe/a.db: read-only file system",
        "failed to open /projects/zoe/a.db: No such file or directory (os error 2)",
        "{ errno: -2, code: 'ENOENT', syscall: 'open', path: '/projects/zoe/a.db' }",
        "ENOENT: no such file or directory, open '/projects/zoe/a.db",
    ],
)  # fmt: skip
def test_a_path_that_an_operating_system_names_goes_whatever_its_root(text: str) -> None:
    _, answer = failing(text)
    assert "zoe" not in json.dumps(answer)
    assert "…/a.db" in answer["content"][0]["text"]
    table = Table()
    table.call(9, "get_invoice", {"invoice_id": re.findall(r"/[^' ]*/a\.db|/[^']*/a\.db", text)[-1]})
    table.server(result(9, text, is_error=True))
    assert "zoe" in table.told()[0]["result"]["content"][0]["text"], "what was sent stays"


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
    "text",
    [
        "ENOENT: no such file or directory, open 'templates/receipt.html'",
        "[Errno 13] Permission denied: 'receipts.log'",
        "EACCES: permission denied, mkdir 'receipts'",
        "Unknown tool: send_receipt",
    ],
)
def test_what_a_write_misses_in_its_own_work_is_no_refusal(text: str) -> None:
    _, answer = failing(text, tool="pay")
    error = answer["_meta"][META_KEY]
    assert (error["kind"], error["effect"], error["retryable"]) == ("internal", "unknown", False)
    step = 'so it may have been done already. Next: call get_invoice with {"invoice_id":"inv_1"} to see whether it was.'
    assert answer["content"][0]["text"].endswith(step)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ENOENT: no such file or directory, open 'invoices/inv_1.json'", "not_found"),
        ("[Errno 13] Permission denied: 'inv_1'", "permission"),
        ("Unknown tool: pay", "not_found"),
        ("Permission denied: 'write' is needed", "permission"),
    ],
)
def test_a_refusal_that_names_what_was_sent_stays_one(text: str, kind: str) -> None:
    _, answer = failing(text, tool="pay")
    error = answer["_meta"][META_KEY]
    assert (error["kind"], error.get("effect")) == (kind, None)


def test_of_a_write_that_misses_something_else_than_it_was_sent_one_step_is_told() -> None:
    step = 'Next: call get_invoice with {"invoice_id":"inv_1"} to see what came of it.'
    told = {
        "Template not found": step,
        "Receipt for inv_1 not found": step,
        "Invoice inv_1 not found": "Look for another one; ",
    }
    for text, after in told.items():
        _, answer = failing(text, tool="pay")
        assert answer["content"][0]["text"].startswith(f'It said: "{text}". {after}')


LEFT_OPEN = "What it did before that is not known: find that out first, or ask the user."
TOOLS: list[dict[str, Any]] = [
    {"name": name, "inputSchema": {"properties": {"to": {}, "copies": {}}}} for name in ("send_email", "list_mails")
]


def sending(text: str, tool: str = "send_email", times: int = 1) -> Any:
    table = Table(connected=False)
    table.connect(TOOLS)
    for id in range(times):
        table.call(id, tool, {"to": "bob", "copies": 4})
        table.server(result(id, text, is_error=True))
    return table.told()[-1]["result"]


@pytest.mark.parametrize(
    ("text", "tool", "after"),
    [
        ("404 Client Error: Not Found for url: https://api.mail/send", "send_email", LEFT_OPEN),
        ("Template not found", "send_email", LEFT_OPEN),
        ("User bobby not found", "send_email", LEFT_OPEN),
        ("User bob not found", "send_email", "Look for another one; the same call will fail again."),
        ("Unknown tool: send_email", "send_email", "Look for another one; the same call will fail again."),
        ("Template not found", "list_mails", "Look for another one; the same call will fail again."),
    ],
)
def test_of_a_write_that_missed_something_else_and_cannot_be_looked_at_it_is_left_open_what_it_did(
    text: str, tool: str, after: str
) -> None:
    answer = sending(text, tool)
    assert answer["content"][0]["text"] == f'It said: "{text}". {after}'
    assert "effect" not in answer["_meta"][META_KEY]


@pytest.mark.parametrize("times", [2, 3, 4])
@pytest.mark.parametrize(
    "text", ["Template not found", "Invalid response from the provider", "Validation error: no label"]
)
def test_however_often_it_met_something_else_nobody_is_told_to_use_another_one(text: str, times: int) -> None:
    answer = sending(text, times=times)
    told = answer["content"][0]["text"]
    assert "in the same way" in told
    assert told.endswith(LEFT_OPEN)
    # A program is not told to correct the call either.
    assert answer["_meta"][META_KEY]["strategy"] == "user_action_required"


@pytest.mark.parametrize("text", ["copies must be below 3", "Invalid recipient: bob", "Invalid arguments"])
def test_what_names_an_argument_or_what_was_sent_may_be_corrected(text: str) -> None:
    told = [sending(text, times=times)["content"][0]["text"] for times in (1, 2)]
    assert told[0] == f'It said: "{text}".'
    assert told[1].endswith("Change the arguments before you call it again.")


@pytest.mark.parametrize("text", ["Receipt for inv_1 not found", "Invoice inv_1 was paid, but no receipt was found"])
def test_the_call_that_tells_is_told_each_time_and_nothing_against_it(text: str) -> None:
    table, told = Table(), []
    for id in (1, 2, 3, 4):
        table.call(id, "pay", {"invoice_id": "inv_1"})
        for message in table.heard():
            table.server(result(message["id"], text, is_error=True))
        told.append(table.told()[0]["result"]["content"][0]["text"])
    assert all('Next: call get_invoice with {"invoice_id":"inv_1"} to see ' in each for each in told)
    assert "was not called this time" in told[3] or told[3].startswith("Not called for 10 seconds")
    assert not any("another one" in each for each in told)


def test_what_failed_with_other_words_did_not_fail_in_the_same_way() -> None:
    table, told = Table(), []
    for id, text in enumerate(
        ["Mandate for inv_1 not found", "Bank of inv_1 not found", "Bank of inv_2 not found", ""]
    ):
        table.call(id, "pay", {"invoice_id": "inv_1"})
        for message in table.heard():
            table.server(result(message["id"], text, is_error=True))
        told.append(table.told()[0]["result"]["content"][0]["text"])
    assert "The same call has now failed twice. " in told[1]
    assert "The same call has now failed 3 times and will not be made again for 10 seconds. " in told[2]
    assert told[3].startswith("Not called for 10 seconds: the same call failed 3 times. ")


def test_a_part_of_a_number_names_nothing_that_was_sent() -> None:
    table = Table()
    table.call(1, "pay", {"invoice_id": "inv_1", "amount": 4})
    table.server(result(1, "404 Client Error: Not Found for url: https://api.mail/send", is_error=True))
    step = 'Next: call get_invoice with {"invoice_id":"inv_1"} to see what came of it.'
    assert table.told()[0]["result"]["content"][0]["text"].endswith(step)


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
        "Payment sent; template receipt.html does not exist",
        "The payment was made. No template receipt.html was found",
        "LookupError: Payment sent, template receipt.html does not exist",
        "charged card, but customer cus_1 not found in CRM",
        "Created the order in SAP but customer cus_1 not found",
        "Paid inv_1; mailbox not found",
        "Charged inv_1 (mailbox not found)",
        "inv_1 has been paid — receipt not found",
        "Paid. Invoice inv_1 not found in CRM",
        "Payment captured but Invoice inv_1 not found",
        "Charge succeeded; invoice inv_1 not found",
        "Debited acc_1; account acc_2 not found",
        "a.txt saved; linter not found",
        "Invoice inv_1 not found. The payment was captured.",
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
    [
        "Invoice inv_1 not found", "No payment with this id was made", "Not allowed to delete inv_1",
        "Invoice inv_1 was deleted. It cannot be paid.", "Invalid amount sent, must be one of 1, 2", "No mail was sent; template not found",
        "Invoice inv_1 not found. No payment was made.", "Invoice inv_1 not found; make sure that it was created",
    ],
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
