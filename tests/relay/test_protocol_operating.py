"""What an operator can say and set: rules, keys, when the server runs."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playbook import TOOLS, Table, frame, result

from failwell import ToolError
from failwell.cli import main
from failwell.formats import META_KEY, keys
from failwell.idempotency import KeysInMemory, KeysOnDisk, StoredCall, keys_on_disk
from failwell.relay import calls, rules

KEY = {keys.IDEMPOTENCY_KEY: "k1"}


def ruled(tmp_path: Path, text: str) -> rules.Rules:
    file = tmp_path / "failwell.toml"
    file.write_text(text, "utf-8")
    return rules.load(str(file))


RULES = """
[[rules]]
tool = "pay*"
text = "quota .* exceeded"
set = { code = "RATE_LIMITED", suggestion = "Pay by batch.", effect = "none", actions = [{ tool = "get_invoice" }] }

[[rules]]
code = "NOT_FOUND"
set = { suggestion = "Ask for the number of the invoice." }

[[rules]]
tool = "pay_invoice"
timeout = "20m"
"""


def test_a_rule_says_what_the_server_does_not(tmp_path: Path) -> None:
    table = Table(rules=ruled(tmp_path, RULES))
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "Invoice i not found", is_error=True))
    table.call(2, "pay_invoice", {"invoice_id": "i"})
    table.heard()
    table.server(result(2, "daily quota of 5 exceeded", is_error=True))
    (told,) = table.told()
    assert told["result"]["content"][0]["text"] == "Invoice i not found\n\nAsk for the number of the invoice."
    # Its operator says that nothing was done, and that it passes.
    table.passes(30)
    (again,) = table.heard()
    table.server(result(again["id"], "paid"))
    assert table.told() == [result(2, "paid")]


def test_a_tool_may_have_a_time_of_its_own(tmp_path: Path) -> None:
    table = Table(rules=ruled(tmp_path, RULES), timeout=5.0)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.passes(600)
    assert table.told() == []
    table.passes(601)
    assert table.told()[0]["result"]["_meta"][META_KEY]["code"] == "TIMEOUT"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = ", "is no TOML"),
        ("a = 1", "has no rules; one begins with [[rules]]"),
        ("[[rules]]\ntol = 'x'", "rule 1 of {file} has no 'tol'; did you mean 'tool'?"),
        ("[[rules]]\nset = { cod = 'x' }", "rule 1 of {file}, set has no 'cod'; did you mean 'code'?"),
        ("[[rules]]\ntool = 'x'", "rule 1 of {file} says nothing: it needs set or timeout"),
        ("[[rules]]\nset = { effect = 'maybe' }", "effect is one of none, unknown, partial, done, not 'maybe'"),
        ("[[rules]]\ntext = '('\nset = { code = 'X' }", "text is no pattern"),
        ("[[rules]]\nset = { retry_after = -5 }", "retry_after is a number of seconds above zero, not -5"),
        ("[[rules]]\nset = { retry_after = nan }", "retry_after is a number of seconds above zero, not nan"),
        ("[[rules]]\nset = { retry_after = inf }", "retry_after is a number of seconds above zero, not inf"),
        ("[[rules]]\nset = { code = 5 }", "code is a text, not 5"),
        ("[[rules]]\nset = { code = 'no such code!' }", "'no such code!' is no code; one looks like RATE_LIMITED"),
        ("[[rules]]\ntimeout = 'soon'", "'soon' is no time; it looks like 90, 90s or 5m"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str) -> None:
    file = tmp_path / "failwell.toml"
    file.write_text(text, "utf-8")
    assert main(["wrap", "--rules", str(file), "--", "true"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line.format(file=file) in said


def test_a_pattern_is_searched_in_the_beginning_of_the_words(tmp_path: Path) -> None:
    said = "quota exceeded"
    (rule,) = ruled(tmp_path, f"[[rules]]\ntext = '{said}'\nset = {{ code = 'QUOTA' }}").rules
    for space, fits in ((1_000 - len(said), True), (1_000, False)):
        assert rule.fits("pay_invoice", ToolError("no"), " " * space + said) is fits


# Keys


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        yield KeysInMemory()
        return
    kept = KeysOnDisk(str(tmp_path / "keys.db"))
    yield kept
    kept.close()


def test_a_repeated_write_gets_the_first_answer(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.server(frame(result(1, "paid — «once»")))
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert table.told() == [result(1, "paid — «once»"), result(2, "paid — «once»")]
    assert len(table.heard()) == 1


KEEPS = {"extensions": {META_KEY: {"idempotency": {}}}}


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"result": {"capabilities": KEEPS}}, 2),
        ({"result": {"capabilities": {"tools": {}}}}, 1),
        ({"error": {"code": -32601, "message": "Method not found"}}, 1),
    ],
)
def test_a_server_of_the_newer_era_that_knows_keys_keeps_them_itself(answer: dict[str, Any], sent: int) -> None:
    table = Table(modern=True, keys=KeysInMemory())
    table.client(table.request("d", "server/discover"))
    table.heard()
    table.server({"jsonrpc": "2.0", "id": "d", **answer})
    made: list[Any] = []
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        for each in table.heard():
            made.append(each)
            table.server(complete(each["id"]))
    assert [each["method"] for each in made] == ["tools/call"] * sent
    assert [each for each in table.told() if each["id"] != "d"] == [complete(1), complete(2)]


@pytest.mark.parametrize(("capabilities", "made"), [(KEEPS, 1), ({"tools": {}}, 0)])
def test_a_write_with_a_key_that_its_server_knows_is_repeated_where_it_says_so(
    capabilities: dict[str, Any], made: int
) -> None:
    table = Table(modern=True, keys=KeysInMemory())
    table.client(table.request("d", "server/discover"))
    table.server({"jsonrpc": "2.0", "id": "d", "result": {"capabilities": capabilities}})
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.heard()
    stated = {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "reset", "retryable": True}
    table.server(result(1, json.dumps(stated), is_error=True))
    table.passes(30)
    assert len(table.heard()) == made


def complete(id: object) -> dict[str, Any]:
    """A result as a server of the newer era gives it."""
    paid = result(id, "paid")
    return {**paid, "result": {"resultType": "complete", **paid["result"]}}


def test_one_that_comes_while_the_first_is_running_waits_for_it(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert len(table.heard()) == 1
    table.server(result(1, "paid"))
    assert table.told() == [result(1, "paid"), result(2, "paid")]


# As no program of ours writes them: numbers, escapes and names of which reading and writing again would make others.
ODD = rb'{"n":[1.0,1e2,1e400,12345678901234567890.123456789],"t":"caf\u00e9 \/ \u0041","a":1,"a":2, "b" : 3}'
AS_THEY_CAME = [
    b'{"jsonrpc" : "2.0","id":%b, "result":{"content":[],"structuredContent":' + ODD + b'},"x":1}\n',
    b'{"result":{"content":[],"structuredContent":' + ODD + b'},"jsonrpc":"2.0","id":%b}\r\n',
    b'{"vendor":{"id":5}, "id" : %b , "result":{"structuredContent":' + ODD + b',"content":[]},"jsonrpc":"2.0"}\n',
    b'{"jsonrpc":"2.0","id":%b,"result":{"content":[],"n":' + b"9" * 5_000 + b',"s":' + ODD + b"}}\n",
    b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"\xff"}]}}\n',
]


@pytest.mark.parametrize("answer", AS_THEY_CAME)
def test_a_key_that_is_used_again_gets_the_bytes_of_the_first_answer(store: Any, answer: bytes) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.server(answer % b"1")
    table.call("again", "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert table.frames == [answer % b"1", answer % b'"again"']
    assert len(table.heard()) == 1


def test_the_newer_era_adds_what_a_result_is_and_nothing_else() -> None:
    store, answer = KeysInMemory(), AS_THEY_CAME[0]
    for modern, id in ((False, 1), (True, 2)):
        table = Table(keys=store, modern=modern)
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        table.server(answer % b"1")
        for each in table.heard():
            if each["method"] == "server/discover":
                table.server({"jsonrpc": "2.0", "id": each["id"], "result": {"capabilities": {}}})
        expected = (answer % b"%d" % id).replace(
            b'"result":{', b'"result":{"resultType":"complete",' if modern else b'"result":{'
        )
        assert table.frames == [expected]


@pytest.mark.parametrize("answer", AS_THEY_CAME)
def test_a_success_of_a_call_that_was_made_again_leaves_as_it_came_but_for_its_id(answer: bytes) -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.heard()
    table.server(result(1, "503 Service Unavailable", is_error=True))
    table.passes(30)
    (again,) = table.heard()
    assert again["id"] != 1
    table.server(answer % json.dumps(again["id"]).encode())
    assert table.frames == [answer % b"1"]


def test_one_that_waits_can_be_cancelled(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.heard()
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    table.server(result(1, "paid"))
    assert (table.heard(), table.told()) == ([], [result(1, "paid")])


def test_a_write_whose_server_died_is_not_made_again_by_its_key(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.heard()
    table.died()
    table.passes(0)
    table.revive()
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    first, second = table.told()
    assert first["result"] == second["result"]
    assert [each for each in table.heard() if each["method"] == "tools/call"] == []


def test_a_refused_call_gives_its_key_back(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice": "i"}, meta=KEY)
    assert table.told()[0]["result"]["isError"] is True
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert len(table.heard()) == 1


def test_a_key_of_another_call_is_refused(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.server(result(1, "paid"))
    table.call(2, "pay_invoice", {"invoice_id": "j"}, meta=KEY)
    error = table.told()[1]["result"]["_meta"][META_KEY]
    assert (error["code"], error["effect"]) == ("IDEMPOTENCY_CONFLICT", "none")
    assert len(table.heard()) == 1


def test_a_cancelled_write_is_not_made_again_by_its_key(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    table.died()
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    error = table.told()[0]["result"]["_meta"][META_KEY]
    assert (error["code"], error["effect"]) == ("IDEMPOTENCY_UNFINISHED", "unknown")


def test_a_cancelled_write_that_ends_in_a_protocol_error_is_not_made_again_by_its_key(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    table.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error"}})
    table.heard()
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert table.heard() == []
    assert table.told()[-1]["result"]["_meta"][META_KEY]["effect"] == "unknown"


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "Method not found"}},
        {"error": {"code": -32700, "message": "Parse error"}},
        {"result": {"task": {"taskId": "t"}}},
        {"result": {"resultType": "task", "taskId": "t"}},
        {"result": {"resultType": "of a later day"}},
    ],
)
def test_what_does_not_say_that_nothing_was_done_keeps_the_key(answer: dict[str, Any]) -> None:
    table = Table(keys=KeysInMemory())
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        table.server({"jsonrpc": "2.0", "id": id, **answer})
    assert len(table.heard()) == 1
    assert [each["id"] for each in table.told()] == [1, 2]


@pytest.mark.parametrize(
    "answer", [{"error": {"code": -32042, "message": "Log in"}}, {"result": {"resultType": "input_required"}}]
)
def test_a_question_to_the_user_gives_the_key_back(answer: dict[str, Any]) -> None:
    table = Table(keys=KeysInMemory())
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        table.server({"jsonrpc": "2.0", "id": id, **answer})
    assert len(table.heard()) == 2


def test_a_key_is_the_same_for_a_client_that_calls_itself_something_else() -> None:
    """After an update, say: the call is the same."""
    table = Table(modern=True, keys=KeysInMemory())
    for id, version in ((1, "1"), (2, "2")):
        client = {"io.modelcontextprotocol/clientInfo": {"name": "agent", "version": version}}
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta={**KEY, **client})
        if id == 1:
            table.server(result(1, "paid"))
    assert [each["method"] for each in table.heard()] == ["tools/call"]
    assert [each["result"]["content"][0]["text"] for each in table.told()] == ["paid", "paid"]


@pytest.mark.parametrize("key", ["", "k" * 256, 5, ["k"], True])
def test_what_is_no_key_is_refused_and_nothing_is_done(key: Any) -> None:
    table = Table(keys=KeysInMemory())
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta={keys.IDEMPOTENCY_KEY: key})
    (told,) = table.told()
    error = told["result"]["_meta"][META_KEY]
    assert (error["code"], error["effect"], table.heard()) == ("INVALID_PARAMS", "none", [])


NO_KEY: dict[str, Any] = {keys.IDEMPOTENCY_KEY: None}


@pytest.mark.parametrize("modern", [False, True])
def test_a_key_that_is_null_is_as_if_none_was_sent(modern: bool) -> None:
    table = Table(keys=KeysInMemory(), modern=modern)
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"}, meta=NO_KEY)
        table.server(result(id, "paid"))
    assert [each["method"] for each in table.heard()] == ["tools/call", "tools/call"]
    assert table.told() == [result(1, "paid"), result(2, "paid")]


def test_a_write_whose_key_is_null_is_not_made_again_for_a_server_that_knows_keys() -> None:
    table = Table(keys=KeysInMemory(), modern=True)
    table.protocol.session.announced = {"extensions": {META_KEY: {"idempotency": {"instance": "a"}}}}
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=NO_KEY)
    busy = result(1, "Busy.", is_error=True)
    busy["result"]["_meta"] = {META_KEY: ToolError("Busy.", code="UNAVAILABLE", effect="none").to_dict()}
    table.server(busy)
    table.passes(20)
    assert len(table.heard()) == 1


def test_a_read_has_no_use_for_a_key() -> None:
    table = Table(keys=KeysInMemory())
    for id, tool in ((1, "get_invoice"), (2, "get_invoice"), (3, "pay_invoice")):
        table.call(id, tool, {"invoice_id": "i"}, meta=KEY)
        table.server(result(id, "ok"))
    assert len(table.heard()) == 3


def test_an_answer_that_is_too_large_is_told_as_done(store: Any) -> None:
    table = Table(keys=store)
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.server(result(1, "x" * 1_100_000))
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert table.told()[1]["result"]["_meta"][META_KEY]["effect"] == "done"
    assert len(table.heard()) == 1


LONG = b"9" * 5_000


@pytest.mark.parametrize(("more", "effect"), [({}, "unknown"), ({keys.IDEMPOTENCY_FIRST: True}, "none")])
def test_a_call_with_a_key_that_is_read_and_too_deep_to_be_compared_is_not_made(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], effect: str
) -> None:
    def too_deep(*given: object) -> str:
        raise RecursionError

    # How deep that is depends on who asks, so that another call with the key may have been made.
    monkeypatch.setattr(calls, "hash_of", too_deep)
    table = Table(keys=KeysInMemory())
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta={**KEY, **more})
    (told,) = table.told()
    assert (told["id"], told["result"]["_meta"][META_KEY]["effect"], table.heard()) == (1, effect, [])


def test_a_repeated_write_gets_the_first_answer_byte_for_byte(store: Any) -> None:
    table = Table(keys=store)
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"a":%b}}}\n'
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.server(answer % (1, LONG))
    table.call(3, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    assert table.frames == [answer % (number, LONG) for number in (1, 2, 3)]
    assert len(table.heard()) == 1


def test_whoever_waits_for_the_answer_to_another_call_does_so_no_longer_than_a_call_may_take(tmp_path: Path) -> None:
    store, other = (KeysOnDisk(str(tmp_path / "keys.db")) for _ in range(2))
    table, elsewhere = Table(keys=store, timeout=5.0), Table(keys=other)
    elsewhere.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
    for _ in range(30):
        table.passes(0.25)
    (told,) = table.told()
    assert (told["id"], told["result"]["_meta"][META_KEY]["code"]) == (2, "IDEMPOTENCY_UNFINISHED")
    # Beside the first call itself, which goes on and tells so.
    table.call(3, "pay_invoice", {"invoice_id": "j"}, meta={**KEY, keys.IDEMPOTENCY_KEY: "j", "progressToken": "p"})
    table.call(4, "pay_invoice", {"invoice_id": "j"}, meta={**KEY, keys.IDEMPOTENCY_KEY: "j"})
    for step in range(4):
        progress = {"progressToken": "p", "progress": step}
        table.server({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        table.passes(2.0)
    told = [each for each in table.told() if "id" in each]
    assert [(each["id"], each["result"]["_meta"][META_KEY]["effect"]) for each in told] == [(4, "unknown")]
    assert len(table.heard()) == 1
    store.close()
    other.close()


def test_keys_in_a_file_outlive_the_relay_and_a_call_that_it_left_is_unknown(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.db")
    store = KeysOnDisk(path)
    assert store.claim("done", "c") is None
    store.finish("done", b"{}")
    assert store.claim("left", "c") is None
    other = KeysOnDisk(path)
    assert other.claim("left", "c") == StoredCall("c", "running")
    store.close()
    assert other.claim("left", "c") == StoredCall("c", "lost")
    assert other.claim("done", "c") == StoredCall("c", "done", b"{}")
    assert oct(os.stat(path).st_mode & 0o777) == "0o600"
    other.close()


def test_relays_that_are_started_at_once_wait_for_the_one_that_makes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "keys[1].db"
    KeysOnDisk(str(path)).close()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        # As it is for a moment: made, and not yet in the mode in which several use it.
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.execute, ["COMMIT"]).start()
        store = KeysOnDisk(str(path))
    second = KeysOnDisk(str(path))
    assert store.claim("k", "c") is None
    assert second.claim("k", "c") == StoredCall("c", "running")
    second.close()
    store.close()


def test_a_state_file_of_another_kind_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, other, newer, link = (tmp_path / name for name in ("text", "other.db", "newer.db", "link"))
    text.write_text("not a database, but long enough to look at" * 40, "utf-8")
    link.symlink_to(text)
    for path, statement in ((other, "CREATE TABLE x (y)"), (newer, "PRAGMA user_version = 9")):
        if path is newer:
            KeysOnDisk(path).close()
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()
    for path, words in ((text, "is not a file of Failwell's keys"), (other, "is not a file of"), (newer, "another version (9)"),
                        (link, "cannot open")):  # fmt: skip
        assert main(["wrap", "--state", str(path), "--", "true"]) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert words in said


@pytest.mark.parametrize("place", ["", " "])
def test_a_state_without_a_name_is_said_to_be_one(capsys: pytest.CaptureFixture[str], place: str) -> None:
    assert main(["wrap", "--state", place, "--", "true"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said == "failwell: the place of the keys is empty; name a file, or the URL of a store"


def test_a_state_file_that_is_held_by_somebody_is_told_and_a_call_is_not_made_without_its_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_on_disk, "TIMEOUT", 0.01)
    file = tmp_path / "keys.db"
    store = KeysOnDisk(str(file))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        table = Table(keys=store)
        table.call(1, "pay_invoice", {"invoice_id": "i"}, meta={**KEY, keys.IDEMPOTENCY_FIRST: True})
        error = table.told()[0]["result"]["_meta"][META_KEY]
        assert (error["effect"], error["retry_after"], table.heard()) == ("none", 5, [])
        # It may have been made by another one who uses the file, or before.
        table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        error = table.told()[-1]["result"]["_meta"][META_KEY]
        assert (error["effect"], error["code"], table.heard()) == ("unknown", "UNAVAILABLE", [])
        assert main(["wrap", "--state", str(file), "--", "true"]) == 2
        assert "cannot be used (database is locked); end what holds it" in capsys.readouterr().err
        other.execute("COMMIT")
    store.close()
    KeysOnDisk(str(file)).close()


def test_a_state_file_of_another_user_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys.db"
    KeysOnDisk(str(file)).close()
    if os.getuid() == 0:
        os.chown(file, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert main(["wrap", "--state", str(file), "--", "true"]) == 2
    assert capsys.readouterr().err == (f"failwell: {file} belongs to another user; name a file of your own\n")


# When the server runs


def test_a_kept_answer_says_what_it_is_to_a_client_of_the_newer_era() -> None:
    kept = KeysInMemory()
    for modern in (False, True):
        table = Table(modern=modern, keys=kept)
        table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=KEY)
        for asked in table.heard():
            if asked["method"] == "server/discover":
                table.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"capabilities": {}}})
            elif asked["method"] == "tools/call":
                table.server(result(1, "paid"))
        (told,) = table.told()
        assert told["result"].get("resultType") == ("complete" if modern else None)


@pytest.mark.parametrize(("answer", "effect"), [({"error": {"code": -32601, "message": "no"}}, "unknown"), ({"result": {"action": "decline"}}, None)])  # fmt: skip
def test_a_tool_that_was_let_down_in_its_work_may_have_done_something(
    answer: dict[str, Any], effect: str | None
) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {"message": "Sure?"}})
    table.client({"jsonrpc": "2.0", "id": 7, **answer})
    table.server(result(1, "Elicitation not supported", is_error=True))
    *_, told = table.told()
    assert told["result"]["_meta"][META_KEY].get("effect") == effect


def test_a_call_does_not_wait_for_a_list_of_the_client_that_fails() -> None:
    table = Table(modern=True, connected=False)
    table.client(table.request("l", "tools/list"))
    table.heard()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    (asked,) = table.heard()
    table.server({"jsonrpc": "2.0", "id": "l", "error": {"code": -32603, "message": "no"}})
    table.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": TOOLS}})
    assert [each["method"] for each in table.heard()] == ["tools/call"]
