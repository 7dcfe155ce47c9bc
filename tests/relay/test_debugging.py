"""For those who debug: records of what passes, and events."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from desk_table import Table, frame, result
from wrapped import Wrapped

from failwell.cli import main
from failwell.observe import CallEvent
from failwell.relay import record
from failwell.relay.own_secrets import OwnSecrets


def test_a_record_is_private_and_guarded(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    with Wrapped(tmp_path / "ledger", "--record", str(file)) as server:
        listing = server.ask(1, "tools/list")
        paid = server.call(2, "pay_invoice", id="a", password="hunter2secret", note="postgres://u:hunter2secret@h/d")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert "private" in rows[0]["note"]
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert "hunter2secret@h" not in file.read_text("utf-8")
    assert {row.get("side") for row in rows[1:]} == {"client", "server", "to client", "to server"}
    assert [row["frame"] for row in rows if row.get("side") == "to client"][-2:] == [listing, paid]


HALF = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"cut \\ud83d"}]}}\n'


def test_half_a_character_is_written_down(tmp_path: Path) -> None:
    kept = record.Record(str(tmp_path / "r.jsonl"), lambda: 0.0, OwnSecrets(["hunter2hunter2"]))
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"\\udce9"}}}\n'
    kept("client", asked)
    kept("to client", b'{"jsonrpc":"2.0","id":7,"result":{"text":"caf\xe9"}}\n')
    kept("to client", HALF % 1 + b" ")
    kept("server", HALF.replace(b"cut", b"hunter2hunter2") % 1)
    kept.close()
    lines = (tmp_path / "r.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[1])["frame"] == json.loads(asked)
    assert json.loads(lines[4])["frame"]["result"]["content"][0]["text"].endswith(" \ud83d")


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


def test_a_record_follows_no_link_and_a_broken_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    assert main(["wrap", "--record", str(link), "--", "true"]) == 2
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


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--header", "A: b"], "--header is for a server behind an address"),
        (["--token", "s3cret-of-ann"], "--token is for --listen"),
        (["--allow-host", "relay.example"], "--allow-host is for --listen"),
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


def test_each_call_that_ends_is_an_event() -> None:
    events: list[CallEvent] = []
    table = Table(hooks=(events.append,))
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


def test_the_relay_imports_no_sdk_and_nothing_that_draws() -> None:
    code = "import sys; import failwell.cli.wrap, failwell.relay.desk, failwell.relay.stdio; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"mcp", "mcp_types", "rich", "pydantic", "fastmcp", "anyio", "jsonschema"})
