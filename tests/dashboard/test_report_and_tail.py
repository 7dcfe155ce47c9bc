"""`failwell report`, `tail` and `dashboard`, as commands."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from served_page import SECRET, hostile
from test_pages import Elements

import failwell as fw
from failwell.cli import main
from failwell.idempotency import open_store, shared_hold
from failwell.observe import CallEvent, keyed_fingerprint, store


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_few_lines(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "report", filled)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert re.fullmatch(r"\S+ \S+ to \S+ \S+ UTC: \d+ calls, \d+ failed \(\d+ %\)", lines[0])
    assert [line.split()[0] for line in lines[1:7]] == ["recovered", "not", "unknown", "in", "held", "loops"]
    assert lines[7] == "what fails most:"
    assert SECRET not in out


def test_the_same_for_programs(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "report", filled, "--json", "--since", "8d")
    found = json.loads(out)
    assert code == 0
    assert list(found) == (
        "failwell store since until numbers dropped failures tools servers clients codes doubt".split()
    )
    numbers = found["numbers"]
    assert numbers["recovered"] + numbers["lost"] + numbers["unknown"] == numbers["failed"]
    for name in ("tools", "servers", "clients"):
        assert sum(each["calls"] for each in found[name]) == numbers["calls"]
    for name in ("failures", "codes"):
        assert sum(each["failed"] for each in found[name]) == numbers["failed"]
    assert SECRET not in out


def test_one_page_that_needs_nothing_else(filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.html"
    assert said(capsys, "report", filled, "--html", str(file)) == (0, "", "")
    page = file.read_text("utf-8")
    attributes = {name for name, _ in Elements(page).attributes}
    assert not [name for name in attributes if name in ("src", "href", "action") or name.startswith("on")]
    assert "<script" not in page
    assert "url(" not in page
    assert "&lt;script&gt;" in page
    assert SECRET not in page


def test_a_report_fails_where_it_is_told_to(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "report", filled, "--fail-on", "recovery<0.99", "--fail-on", "loops>1000000")
    assert code == 1
    assert re.fullmatch(r"failwell: recovery<0.99 holds: it is 0\.\d+\n", err)
    assert said(capsys, "report", filled, "--fail-on", "recovery<1%")[0] == 0


WRONG = {
    (
        "--fail-on",
        "joy<1",
    ): "there is no number 'joy'; there are recovery, failure-rate, failures, not-recovered, in-doubt, run-again, loops, dropped",
    (
        "--fail-on",
        "recovery",
    ): "'recovery' is no condition; write it as 'recovery<0.5', 'in-doubt>0' or 'failure-rate>5%'",
    ("--fail-on", "recovery<nan"): (
        "'recovery<nan' is no condition; write it as 'recovery<0.5', 'in-doubt>0' or 'failure-rate>5%'"
    ),
    ("--fail-on", "in-doubt>5%"): "in-doubt is a count, and no share; write it as 'in-doubt>0'",
    ("--since", "2999-01-01"): "'2999-01-01' has not come yet, and there is nothing to see after now",
    ("--since", "1h", "--until", "2h"): "'1h' comes after '2h': begin with the earlier one",
    ("--since", "soon"): "'soon' is no time; write 90m, 24h, 7d, or a date such as 2026-11-17T06:30",
    ("--html", "/nowhere/at/all.html"): "cannot write /nowhere/at/all.html: No such file or directory",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options_are_told_in_one_line(
    filled: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "report", filled, *options) == (2, "", f"failwell: {WRONG[options]}\n")


def test_a_store_that_is_not_there_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    line = (
        f"failwell: there is no store at {tmp_path / 'none.db'}; fill it with `failwell wrap --events {url} -- CMD`, "
        "install(hooks=…) or Recovering(events=…)\n"
    )
    assert [said(capsys, command, url) for command in ("report", "tail")] == [(2, "", line)] * 2
    assert said(capsys, "report", "otlp:")[2] == (
        "failwell: otlp: is sent to, and cannot be read; name a sqlite: or postgresql: store\n"
    )


def test_a_store_that_cannot_be_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.db").touch()
    told = {
        "postgresql://user:word@[::bad/x": "the host of this postgresql: address cannot be read; ",
        f"sqlite:///{tmp_path}": f"{tmp_path} is a folder; name a file in it",
        f"sqlite:///{tmp_path / 'none.db'}": f"there are no events in sqlite:///{tmp_path / 'none.db'} yet; fill it with ",
    }
    for url, line in told.items():
        code, out, err = said(capsys, "report", url)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"failwell: {line}")
        assert "word" not in err


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    store(url).close()
    code, out, _ = said(capsys, "report", url)
    assert code == 0
    assert out.startswith(f"There are no events in {url} yet; fill it with `failwell wrap --events {url} -- CMD`")


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_is_none_is_told_in_one_line(filled: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"failwell: there is no port {port}; name one from 0 to 65535\n"
    assert said(capsys, "dashboard", filled, "--port", port) == (2, "", line)


def test_tail_shows_what_is_there(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "tail", filled, "--no-follow", "--last", "3")
    assert (code, len(out.splitlines())) == (0, 3)
    assert re.search(r"  =HYPERLINK\(1\) effect=unknown: .*  100 ms$", out.splitlines()[0])
    assert SECRET not in out
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  ", line) for line in out.splitlines())
    _, out, _ = said(capsys, "tail", filled, "--no-follow", "--last", "40", "--failed", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["failed"] for row in rows] == [1] * 40
    assert all(row["session"] for row in rows)
    assert said(capsys, "tail", filled, "--no-follow", "--last", "0") == (0, "", "")


def test_the_operator_says_what_became_of_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept = store(url)
    kept(hostile()[0])
    kept.close()
    assert (
        said(capsys, "resolve", "7", "done", url)[2] == f"failwell: there is no call in doubt by the id '7' in {url}\n"
    )
    code, out, _ = said(capsys, "resolve", "1", "not-done", url)
    assert (code, out.endswith(", call 1: not done\n")) == (0, True)
    assert said(capsys, "resolve", "1", "done", url)[2] == "failwell: the call 1 is not in doubt any more: not done\n"
    assert "the operator says: not done" in said(capsys, "tail", url, "--no-follow")[1]
    assert said(capsys, "report", url, "--fail-on", "in-doubt>0")[0] == 0


def test_what_the_operator_says_ends_the_hold_for_every_server_that_shares_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, keys = f"sqlite:///{tmp_path / 'events.db'}", tmp_path / "keys.db"
    lost = fw.ToolError("It may have been done.", code="TIMEOUT", kind="transient", effect="unknown")
    kept = store(url)
    invoices = ({"invoice": 1}, {"invoice": 2})
    one, other = (shared_hold(open_store(str(keys)), 300, "ann") for _ in range(2))
    assert one is not None
    assert other is not None
    for sent in invoices:
        one.failed("pay", sent, lost, None, time.monotonic())
        printed = keyed_fingerprint("pay", sent, kept.key)
        at = datetime.now(UTC)
        kept(CallEvent(tool="pay", ok=False, error=lost, seconds=1, at=at, session="s", fingerprint=printed))
    kept.close()
    assert said(capsys, "resolve", "2", "not-done", url, "--state", str(keys))[0] == 0
    assert [other.find("pay", sent, time.monotonic()) is None for sent in invoices] == [False, True]
    assert [one.find("pay", sent, time.monotonic()) is None for sent in invoices] == [False, True]


def test_the_command_serves_this_machine_and_ends_when_told(filled: str) -> None:
    command = [sys.executable, "-m", "failwell.cli", "dashboard", filled, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert httpx.get(address, timeout=60).status_code == 200
        assert httpx.get(address, headers={"host": "127.0.0.1"}, timeout=60).status_code == 421
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err.strip()) == (0, "")
    finally:
        process.kill()
        process.communicate()
