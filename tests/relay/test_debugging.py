"""For those who debug: records that are played again, faults on purpose, a table that lives, schemas that are mended."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from desk_table import TOOLS, Table, frame, result
from wrapped import Wrapped

from failwell.cli import main
from failwell.formats import META_KEY
from failwell.observe import CallEvent
from failwell.relay import injection, record, watching
from failwell.relay.own_secrets import OwnSecrets
from failwell.relay.tool_schemas import is_sound, listed


def test_a_record_is_private_guarded_and_played_again(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    with Wrapped(tmp_path / "ledger", "--record", str(file)) as server:
        listing = server.ask(1, "tools/list")
        paid = server.call(2, "pay_invoice", id="a", password="hunter2secret", note="postgres://u:hunter2secret@h/d")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert "private" in rows[0]["note"]
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert "hunter2secret@h" not in file.read_text("utf-8")
    assert {row.get("side") for row in rows[1:]} == {"client", "server", "to client", "to server"}
    replay = record.Replay(file.read_text("utf-8").splitlines())
    (again,) = replay.answer(frame({"jsonrpc": "2.0", "id": 77, "method": "tools/list"}))
    assert json.loads(again) == {**listing, "id": 77}
    (unknown,) = replay.answer(frame({"jsonrpc": "2.0", "id": 78, "method": "prompts/list"}))
    assert json.loads(unknown)["error"]["message"] == "The record has no answer to this prompts/list."
    with Wrapped(tmp_path / "ledger", "--replay", str(file), command=()) as server:
        assert server.call(
            5, "pay_invoice", id="a", password="hunter2secret", note="postgres://u:hunter2secret@h/d"
        ) == {
            **paid,
            "id": 5,
        }


HALF = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"cut \\ud83d"}]}}\n'


def test_half_a_character_is_written_down_and_played_again(tmp_path: Path) -> None:
    kept = record.Record(str(tmp_path / "r.jsonl"), lambda: 0.0, OwnSecrets(["hunter2hunter2"]))
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"\\udce9"}}}\n'
    kept("client", asked)
    kept("to client", b'{"jsonrpc":"2.0","id":7,"result":{"text":"caf\xe9"}}\n')
    # What is masked is no longer played as the bytes that came.
    kept("to client", HALF % 1 + b" ")
    kept("server", HALF.replace(b"cut", b"hunter2hunter2") % 1)
    kept.close()
    lines = (tmp_path / "r.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[1])["frame"] == json.loads(asked)
    assert json.loads(lines[4])["frame"]["result"]["content"][0]["text"].endswith(" \ud83d")
    (again,) = record.Replay(lines).answer(asked.replace(b'"id":1', b'"id":2'))
    assert json.loads(again) == json.loads(HALF % 2)


def test_a_relay_that_writes_down_half_a_character_goes_on(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", "--record", str(tmp_path / "r.jsonl")) as server:
        server.send(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay_invoice","arguments":{"id":"a\\ud83d"}}}\n'
        )
        assert server.read()["id"] == 1
        assert "result" in server.call(2, "pay_invoice", id="b")


def test_a_name_that_comes_twice_hides_nothing_from_a_record(tmp_path: Path) -> None:
    kept = record.Record(str(tmp_path / "r.jsonl"), lambda: 0.0, OwnSecrets(["hunter2hunter2"]))
    kept("to client", b'{"jsonrpc":"2.0","id":1,"result":{"a":"hunter2hunter2","a":"x"}}\n')
    kept.close()
    assert "hunter2hunter2" not in (tmp_path / "r.jsonl").read_text("utf-8")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits the files of another process")
@pytest.mark.parametrize("log", ["text", "json"])
def test_a_disk_that_is_full_ends_the_record_and_nothing_else(tmp_path: Path, log: str) -> None:
    file = tmp_path / "r.jsonl"
    with Wrapped(tmp_path / "ledger", "--record", str(file), "--log", log) as server:
        assert server.ask(1, "tools/list")["id"] == 1
        # The next byte of the file is one too many.
        size = file.stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        for id in range(2, 6):
            assert server.ask(id, "ping")["id"] == id
        code, errors = server.close()
    assert code == 0
    (line,) = errors.splitlines()
    assert f"nothing more is written to {file}: File too large" in line
    assert line.startswith('{"time"' if log == "json" else "failwell: ")


def test_a_record_that_cannot_be_begun_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: record.Record, row: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record.Record, "_write", full)
    with pytest.raises(record.BadRecord, match=r"cannot write .*: No space left on device"):
        record.Record(str(tmp_path / "r.jsonl"), lambda: 0.0)


@pytest.mark.parametrize("option", ["--record", "--replay"])
def test_a_record_follows_no_link_and_a_broken_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    command = ["--", "true"] if option == "--record" else []
    assert main(["wrap", option, str(link), *command]) == 2
    assert not (tmp_path / "elsewhere").exists()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_record_masks_by_names_and_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "log.jsonl", tmp_path / "letter.txt"
    for name in ("log.jsonl", "log-2.jsonl", "log-3.jsonl"):
        kept = record.Record(str(file), lambda: 1.0)
        assert kept.path.name == name
        kept("client", frame({"method": "tools/call", "params": {"arguments": {"password": "hunter2secret"}}}))
        kept.close()
        (row,) = (tmp_path / name).read_text("utf-8").splitlines()[1:]
        assert json.loads(row)["frame"]["params"] == {"arguments": {"password": "[redacted]"}}
    other.write_text("Dear Ann\n", "utf-8")
    other.chmod(0o644)
    assert main(["wrap", "--record", str(other), "--", "true"]) == 2
    assert "no record of ours" in capsys.readouterr().err
    mode = os.stat(os.devnull).st_mode
    assert main(["wrap", "--record", os.devnull, "--", "true"]) == 2
    assert (capsys.readouterr().err, os.stat(os.devnull).st_mode) == (
        f"failwell: {os.devnull} is no file: name one with --record\n",
        mode,
    )
    assert main(["wrap", "--state", str(other), "--", "true"]) == 2
    assert (other.read_text("utf-8"), oct(other.stat().st_mode & 0o777)) == ("Dear Ann\n", "0o644")


def test_a_record_masks_what_the_server_was_given(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    kept = record.Record(str(file), lambda: 1.0, OwnSecrets.of({"GITHUB_TOKEN": "plainlookingvalue77"}))
    kept("to client", frame(result(1, "you are plainlookingvalue77")))
    kept.close()
    (row,) = file.read_text("utf-8").splitlines()[1:]
    assert json.loads(row) == {"at": 1.0, "side": "to client", "frame": result(1, "you are [redacted]")}


def test_a_record_masks_what_a_server_behind_an_address_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    given = ["--header", "X-Shop: daisyword", "http://127.0.0.1:1/s/9f8a7b6c5d4e3f2a1b0c"]
    words = "got daisyword at /s/9f8a7b6c5d4e3f2a1b0c"
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"note": words}}
    command = [sys.executable, "-m", "failwell", "wrap", "--record", str(file), *given]
    done = subprocess.run(command, input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=60)
    assert "daisyword" not in (kept := file.read_text("utf-8"))
    assert "9f8a7b6c5d4e3f2a1b0c" not in f"{kept}{done.stdout}{done.stderr}"
    assert "http://127.0.0.1:1/s/[redacted]" in done.stderr
    assert "got [redacted] at /s/[redacted]" in kept


def test_a_record_masks_what_was_sent_for_a_secret_argument(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    kept = record.Record(str(file), lambda: 1.0)
    properties = {"pin": {"type": "integer", "format": "password"}, "phrase": {"type": "string", "writeOnly": True}}
    listed = {"tools": [{"name": "pay_invoice", "inputSchema": {"type": "object", "properties": properties}}]}
    kept("to client", frame({"jsonrpc": "2.0", "id": 1, "result": listed}))
    params = {"name": "pay_invoice", "arguments": {"pin": 848201, "phrase": "blue horse"}}
    kept("client", frame({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}))
    kept("to client", frame(result(2, "refused: 848201, blue horse", is_error=True)))
    kept.close()
    *_, called, answered = (json.loads(line)["frame"] for line in file.read_text("utf-8").splitlines()[1:])
    assert called["params"]["arguments"] == {"pin": "[redacted]", "phrase": "[redacted]"}
    assert answered == result(2, "refused: [redacted], [redacted]", is_error=True)


def test_a_record_is_played_again_as_the_bytes_that_it_was(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    kept = record.Record(str(file), lambda: 1.0)
    for id, answer in ((1, b'"n": 1e400, "m": 1.00, "t": "\\u00e9"'), (2, b'"n":1e400,"token":"hunter2secret"')):
        kept("client", frame({"jsonrpc": "2.0", "id": id, "method": f"x/{id}"}))
        kept("to client", b'{"jsonrpc":"2.0","id":%d,"result":{%s}}\n' % (id, answer))
    kept.close()
    assert "Infinity" not in file.read_text("utf-8")
    replay = record.Replay(file.read_text("utf-8").splitlines())
    assert replay.answer(frame({"jsonrpc": "2.0", "id": "a", "method": "x/1"})) == [
        b'{"jsonrpc":"2.0","id":"a","result":{"n": 1e400, "m": 1.00, "t": "\\u00e9"}}\n'
    ]
    odd = b'{"id":5 , "jsonrpc":"2.0", "result":{"n":1.00}}\n'
    assert record.Replay(
        [
            json.dumps({"side": "client", "frame": {"id": 5, "method": "x"}}),
            json.dumps({"side": "to client", "frame": json.loads(odd), "line": odd.decode().strip()}),
        ]
    ).answer(frame({"jsonrpc": "2.0", "id": 5, "method": "x"})) == [odd]
    (masked,) = replay.answer(frame({"jsonrpc": "2.0", "id": 2, "method": "x/2"}))
    assert json.loads(masked)["result"] == {"n": None, "token": "[redacted]"}
    (pong,) = replay.answer(frame({"jsonrpc": "2.0", "id": 3, "method": "ping"}))
    assert json.loads(pong) == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--inject", 'pay=raw:{"x":1}'], "There is no malformed answer"),
        (["--inject", "pay=crash*0"], "is made no times"),
        (["--inject", "pay=late:-5"], "a late answer says by how many seconds"),
        (["--inject", "pay=late:0"], "a late answer says by how many seconds"),
        (["--inject", "pay=late:inf"], "a late answer says by how many seconds"),
        (["--inject", "p[=crash"], "'p[' names no tool: a [ without its ]"),
        (["--tool", "pay_invoice"], "--tool is for --explain FILE, which is not there"),
        (["--header", "A: b"], "--header is for a server behind an address"),
        (["--token", "s3cret-of-ann"], "--token is for --listen"),
        (["--max-body", "7"], "--max-body is for --listen"),
        (["--reads", ""], "--reads names no tool"),
    ],
)
def test_what_would_be_of_no_effect_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], given: list[str], line: str
) -> None:
    assert main(["wrap", *given, "--", "true"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said


@pytest.mark.parametrize(
    "given", [["--max-tools", "-1"], ["--max-tools", "0"], ["--min-score", "500"], ["--env", "=x"]]
)
def test_a_check_is_not_made_with_what_means_nothing(capsys: pytest.CaptureFixture[str], given: list[str]) -> None:
    try:
        code = main(["check", *given, "--", "true"])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert given[0] in capsys.readouterr().err


def test_faults_on_purpose_are_met_as_real_ones_are(tmp_path: Path) -> None:
    faults = ["pay_invoice=crash@after", "get_invoice=text:Error: 503 Service Unavailable", "say=twice"]
    options = [part for fault in faults for part in ("--inject", fault)]
    with Wrapped(tmp_path / "ledger", *options) as server:
        told = server.call(1, "pay_invoice", id="x")["result"]
        assert told["_meta"][META_KEY]["effect"] == "unknown"
        assert server.text(2, "get_invoice", id="x") == "1"
        assert server.call(3, "say")["id"] == 3
        assert server.call(4, "say")["id"] == 4
        assert server.done() == ["x"]


def test_a_late_answer_comes_late_and_a_late_call_is_made_late() -> None:
    now = 0.0
    kept = injection.Injection(
        [
            injection.Injected("pay_invoice", {"fault": "late", "seconds": 2, "at": when})
            for when in ("after", "before")
        ],
        lambda: now,
    )
    call = frame({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay_invoice"}})
    answer = frame(result(1, "paid"))
    assert kept.to_server(call) == (call, [], False)
    assert kept.from_server(answer) == ([], False)
    assert kept.to_server(call, "it") == (None, [], False)
    assert (kept.due(), kept.wakes_at) == ([], 2.0)
    now = 2.0
    assert kept.due() == [injection.Late(answer, None, is_answer=True), injection.Late(call, "it", is_answer=False)]
    assert (kept.due(), kept.wakes_at) == ([], None)
    assert main(["wrap", "--inject", "pay=late:soon", "--", "true"]) == 2


def test_a_late_answer_over_a_real_wire(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", "--inject", "say=late:0.2", "--inject", "pay_invoice=late:30") as server:
        say, other = ({"jsonrpc": "2.0", "id": id, "method": method} for id, method in ((1, "tools/call"), (2, "ping")))
        server.send({**say, "params": {"name": "say", "arguments": {}}})
        server.send(other)
        assert [server.read()["id"], server.read()["id"]] == [2, 1]


def test_a_fault_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--inject", "pay=explode", "--", "true"]) == 2
    assert "it looks like pay=crash@after" in capsys.readouterr().err


def test_each_call_that_ends_is_an_event_and_a_row_of_the_table() -> None:
    events: list[CallEvent] = []
    drawn = io.StringIO()
    watch = watching.LiveTable(drawn, clock=lambda: 0.0)
    table = Table(hooks=(events.append, watch))
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    table.passes(30)
    table.server(result(table.heard()[-1]["id"], "paid"))
    table.call(2, "pay_invoice", {"invoice_id": "i"})
    table.server(result(2, "Error: 503 Service Unavailable", is_error=True))
    assert [(each.tool, each.ok, each.attempts, each.client) for each in events] == [
        ("get_invoice", True, 2, "claude-code/2"),
        ("pay_invoice", False, 1, "claude-code/2"),
    ]
    assert [line.split() for line in watch.table()[1:]] == [
        ["get_invoice", "1", "0", "1", "0", "30000.0"],
        ["pay_invoice", "1", "1", "0", "0", "0.0", "UNAVAILABLE"],
    ]


def test_a_call_that_is_held_is_an_event_that_says_so() -> None:
    events: list[CallEvent] = []
    table = Table(hooks=(events.append,))
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"})
        table.server(result(1, "boom", is_error=True))
    assert [(each.error and each.error.code, each.prevented, each.made) for each in events] == [
        (None, False, True),
        ("CALL_IN_DOUBT", True, False),
    ]


def test_watch_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--watch", "--", "true"]) == 2
    assert capsys.readouterr().err == "failwell: --watch draws on a terminal, and stderr is none\n"


BROKEN: list[dict[str, Any]] = [
    {"name": "no_schema"},
    {"name": "union", "inputSchema": {"anyOf": [{"properties": {"a": {"type": "array"}}}], "required": ["a", "zz"]}},
    {"name": "old", "inputSchema": {"type": "object", "properties": {"n": {"minimum": 1, "exclusiveMinimum": True}}}},
    {"name": "bad name!", "inputSchema": {"type": "object", "properties": {}}},
]


def test_schemas_that_apis_of_models_refuse_are_mended_or_left_out() -> None:
    assert all(map(is_sound, TOOLS))
    assert [tool["inputSchema"] for tool in listed(BROKEN, "fix")] == [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}, "required": ["a"]},
        {"type": "object", "properties": {"n": {"exclusiveMinimum": 1}}},
    ]
    assert all(map(is_sound, listed(BROKEN, "fix")))
    assert listed([*TOOLS, *BROKEN], "drop") == TOOLS


@pytest.mark.parametrize(("mend", "count"), [("keep", 6), ("fix", 5), ("drop", 2)])
def test_the_list_is_changed_only_where_that_was_asked_for(mend: str, count: int) -> None:
    table = Table(connected=False, mend=mend)
    table.client(table.request(1, "tools/list"))
    sent = frame({"jsonrpc": "2.0", "id": 1, "result": {"tools": [*TOOLS, *BROKEN], "ttlMs": 5}})
    table.server(sent)
    assert (table.frames == [sent]) is (mend == "keep")
    (told,) = table.told()
    assert (len(told["result"]["tools"]), told["result"]["ttlMs"]) == (count, 5)


@pytest.mark.parametrize("mend", ["fix", "drop"])
def test_tools_that_are_left_out_are_named(mend: str) -> None:
    table = Table(connected=False, mend=mend)
    table.client(table.request("list", "tools/list"))
    odd = [
        {"name": name, "inputSchema": {"type": "object", "properties": {}}}
        for name in ("pay now", "pay_invoice", "x" * 65)
    ]
    table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": odd}})
    assert [tool["name"] for tool in table.told()[0]["result"]["tools"]] == ["pay_invoice"]
    assert table.notes[-1].line == f"left out, since models could not call them: pay now, {'x' * 65}"


def test_the_relay_imports_no_sdk_and_nothing_that_draws() -> None:
    code = "import sys; import failwell.cli.wrap, failwell.relay.desk, failwell.relay.pipes; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"mcp", "mcp_types", "rich", "pydantic", "fastmcp", "anyio", "asyncio", "jsonschema"})
