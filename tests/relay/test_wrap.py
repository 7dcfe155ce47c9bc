"""`failwell wrap` over real processes that write, die, hang and leave others behind."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp
import pytest
from wrapped import GIVEN, PLAIN, SERVER, WRAP, Wrapped, lives

from failwell.formats import META_KEY
from failwell.relay.processes import Child, fresh_mark, mark_below, sweep

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the relay of Windows is another one")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Wrapped]:
    with Wrapped(tmp_path / "ledger") as wrapped:
        yield wrapped


def gone(*pids: int) -> bool:
    """Whether they end, sooner or later: the system says when."""
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([process], [], [], 60)
        os.close(process)
        if not ended:
            return False
    return True


def test_a_server_that_dies_is_told_truthfully_and_comes_back(server: Wrapped) -> None:
    first = server.text(1, "say")
    before = server.call(2, "pay_invoice", id="before_1")["result"]
    after = server.call(3, "pay_invoice", id="after_1")["result"]
    cut = server.call(4, "pay_invoice", id="cut_1")["result"]
    assert [each["_meta"][META_KEY]["effect"] for each in (before, after, cut)] == ["unknown"] * 3
    assert after["content"][0]["text"] == (
        "pay_invoice failed part-way (the server stopped with exit code 7: Error: the bank is closed; what it had open, such "
        "as a login or a browser, is gone), so it may have been done already. Next: call get_invoice with "
        '{"id":"after_1"} to see whether it was.'
    )
    assert [server.text(5, "get_invoice", id=each) for each in ("before_1", "after_1", "cut_1")] == ["0", "1", "1"]
    assert server.text(6, "say") != first
    assert server.done() == ["after_1", "cut_1"]


def test_with_a_thread_for_each_pipe_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILWELL_WRAP_THREADS", "1")
    with Wrapped(tmp_path / "ledger") as server:
        pids = [int(server.text(1, "say")), int(server.text(2, "say", child=True))]
        assert server.call(3, "pay_invoice", id="after_1")["result"]["_meta"][META_KEY]["effect"] == "unknown"
        assert server.text(4, "get_invoice", id="after_1") == "1"
        assert len(server.text(5, "say", large=1_000_000)) == 1_000_000
        server.process.stdin.close()  # type: ignore[union-attr]
        server.process.stdin = None
        assert server.close()[0] == 0
    assert gone(*pids)


def test_a_secret_in_an_argument_with_blanks_is_not_quoted(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", command=GIVEN) as server:
        told = server.call(1, "pay_invoice", id="quote_1")
    assert "bad value [redacted] here" in told["result"]["content"][0]["text"]
    assert "birch-fern" not in json.dumps(told)


def test_large_messages_noise_and_floods(server: Wrapped) -> None:
    assert len(server.text(1, "say", large=5_000_000)) == 5_000_000
    assert server.text(2, "say", pad="x" * 3_000_000)
    # Nobody reads our stderr meanwhile.
    assert server.text(3, "say", flood=200_000, noise=True)
    server.process.stdin.close()  # type: ignore[union-attr]
    server.process.stdin = None
    code, errors = server.close()
    assert code == 0
    assert "writes to stdout what is no message: listening on stdio" in errors


def test_a_client_that_goes_away_leaves_no_process(server: Wrapped) -> None:
    pids = [int(server.text(1, "say")), int(server.text(2, "say", child=False)), int(server.text(3, "say", child=True))]
    assert all(map(lives, pids))
    server.process.stdin.close()  # type: ignore[union-attr]
    server.process.stdin = None
    assert server.close()[0] == 0
    assert gone(*pids)


def test_what_a_server_that_died_left_behind_ends_before_the_next_one_is_there(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger") as server, Wrapped(tmp_path / "other") as other:
        left, elsewhere = int(server.text(1, "say", child=True)), int(other.text(1, "say", child=True))
        assert lives(left)
        server.call(2, "pay_invoice", id="before_1")
        assert gone(left)
        # What the next one starts is its own, and ends with it.
        following = int(server.text(3, "say", child=True))
        assert server.text(4, "say")
        assert lives(following)
        server.call(5, "pay_invoice", id="before_2")
        assert gone(following)
        assert lives(elsewhere)
    assert gone(elsewhere)


def test_a_mark_is_no_other_that_begins_like_it() -> None:
    waiting = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(600)"]
    mark = fresh_mark()
    started = [Child(waiting, dict(os.environ), None, each) for each in (mark, f"{mark}1", mark_below(mark))]
    for child in started:
        select.select([child.stdout], [], [], 60)
    sweep(mark)
    first, second, third = started
    assert gone(first.pid, third.pid)
    assert lives(second.pid)
    for child in started:
        child.end(politely=False)


def test_what_a_server_hid_from_us_is_found_all_the_same(server: Wrapped) -> None:
    pid = int(server.text(1, "say", hidden=True))
    assert lives(pid)
    server.process.stdin.close()  # type: ignore[union-attr]
    server.process.stdin = None
    assert server.close()[0] == 0
    assert gone(pid)


def test_a_relay_that_is_killed_leaves_no_process(server: Wrapped) -> None:
    pids = [int(server.text(1, "say")), int(server.text(2, "say", child=False)), int(server.text(3, "say", child=True))]
    server.process.kill()
    server.process.wait(timeout=60)
    assert gone(*pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_what_is_under_way_come_to_its_end(server: Wrapped, number: int) -> None:
    pid = int(server.text(0, "say"))
    server.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say", "arguments": {"sleep": 0.5}}}
    )
    server.send({"jsonrpc": "2.0", "id": 2, "method": "vendor/a"})
    server.process.send_signal(number)
    assert {server.read()["id"], server.read()["id"]} == {1, 2}
    assert server.read() is None
    assert server.close()[0] == 0
    assert gone(pid)


def test_a_call_that_hangs_is_cancelled_and_the_next_one_works(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", "--timeout", "0.5") as server:
        told = server.call(1, "pay_invoice", id="hang_1")["result"]
        assert told["_meta"][META_KEY]["effect"] == "unknown"
        assert server.text(2, "get_invoice", id="hang_1") == "1"
        assert server.done() == ["hang_1"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            ["/nowhere/server", "--port", "1"],
            "failwell: cannot start /nowhere/server --port 1: there is no /nowhere/server",
        ),
        (
            [sys.executable, "-S", "-c", "import sys; print('Welcome!', flush=True); sys.exit('no licence found')"],
            "before it answered; it said: no licence found",
        ),
        ([str(Path(__file__).parent)], "Permission denied"),
    ],
)
def test_a_server_that_never_starts_says_why_and_ends_with_two(tmp_path: Path, command: list[str], line: str) -> None:
    with Wrapped(tmp_path / "ledger", command=command, greet=False) as server:
        server.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        answer = server.read()
        code, errors = server.close()
    assert code == 2
    assert line in errors.splitlines()[-1]
    assert answer["error"]["message"] in errors


def test_what_comes_through_a_shell_pipe_is_answered(tmp_path: Path) -> None:
    lines = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}\n'
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger")}
    run = subprocess.run([*WRAP, "--", *SERVER], input=lines, capture_output=True, timeout=60, env=env, check=True)
    assert run.stdout.startswith(b'{"jsonrpc": "2.0", "id": 1, "result"')


def test_what_a_store_of_events_has_to_say_is_json_where_the_log_is(tmp_path: Path) -> None:
    lines = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}\n'
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger")}
    command = [*WRAP, "--log", "json", "--events", "postgresql://127.0.0.1:1/none", "--", *SERVER]
    run = subprocess.run(command, input=lines, capture_output=True, timeout=60, env=env, check=True)
    told = [json.loads(line) for line in run.stderr.splitlines()]
    first = "Events cannot be written yet: cannot reach postgresql://127.0.0.1:1/none: "
    assert told[0]["message"].startswith(first)
    assert {(each["level"], each["logger"]) for each in told} == {("warning", "failwell.observe")}
    assert told[-1]["message"] == "1 events were dropped, and the store does not say so."


def test_what_a_server_says_when_it_starts_is_not_told_as_why_it_ended(tmp_path: Path) -> None:
    boots = (
        f"import runpy, sys; print('boot', file=sys.stderr, flush=True); runpy.run_path({PLAIN!r}, run_name='__main__')"
    )
    with Wrapped(tmp_path / "ledger", command=[sys.executable, "-S", "-c", boots]) as server:
        assert "(the server stopped with exit code 7; what" in server.text(1, "pay_invoice", id="before_1")
        assert "exit code 7: Error: the bank is closed; what" in server.text(2, "pay_invoice", id="after_1")


@pytest.mark.parametrize("log", ["text", "json"])
def test_what_a_server_writes_to_stderr_passes_without_its_secrets(tmp_path: Path, log: str) -> None:
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger"), "SHOP_TOKEN": "f3a9c41b77d2e6508a1b"}
    says = (
        "import os, runpy, sys; print('token is', os.environ['SHOP_TOKEN'], file=sys.stderr, flush=True);"
        f"runpy.run_path({PLAIN!r}, run_name='__main__')"
    )
    command = [*WRAP, "--log", log, "--", sys.executable, "-S", "-c", says]
    # With the answer to a call it has said what it says at the start.
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}\n'
    run = subprocess.run(command, input=line, capture_output=True, timeout=60, env=env, check=True)
    if log == "text":
        assert run.stderr == b"token is [redacted]\n"
    else:
        told = json.loads(run.stderr)
        assert (told["logger"], told["message"]) == ("server", "token is [redacted]")


@pytest.mark.parametrize(("timeout", "gap"), [("1", 0.3), ("2", 0.7)])
def test_a_frozen_server_is_replaced_whatever_the_rhythm_of_calls(tmp_path: Path, timeout: str, gap: float) -> None:
    with Wrapped(tmp_path / "ledger", "--timeout", timeout) as server:
        pid = int(server.text(1, "say"))
        os.kill(pid, signal.SIGSTOP)
        until, number = time.monotonic() + 60, 1
        answer: dict[str, Any] = {}
        while answer.get("result", {"isError": True}).get("isError"):
            assert time.monotonic() < until
            number += 1
            server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "say"}})
            if select.select([server.process.stdout], [], [], gap)[0]:
                answer = server.read()
        assert int(answer["result"]["content"][0]["text"]) != pid
        assert not lives(pid)


def test_a_last_line_without_an_end_counts_on_both_sides(tmp_path: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"last":1}}}'
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger")}
    run = subprocess.run([*WRAP, "--", *SERVER], input=line, capture_output=True, timeout=60, env=env, check=True)
    answer = json.loads(run.stdout)
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "the last word")
    assert run.stdout.endswith(b"\n")


def test_a_command_is_needed() -> None:
    run = subprocess.run(WRAP, capture_output=True, timeout=60, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr == (
        "failwell: name the command of a server after --, or its URL, as in: failwell wrap -- npx -y some-server\n"
    )


ASKING = """
import sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("shop", log_level="CRITICAL")


class Sure(BaseModel):
    sure: bool


@server.tool()
async def pay(ctx: Context) -> str:
    with open(sys.argv[1], "a") as ledger:
        ledger.write("paid ")
    await ctx.elicit("Sure?", Sure)
    return "paid"


server.run()
"""


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_whose_question_cannot_be_asked_is_not_run_again(tmp_path: Path, mode: Any) -> None:
    ledger, script = tmp_path / "ledger", tmp_path / "asking.py"
    script.write_text(ASKING)
    command, *options = [*WRAP, "--", sys.executable, str(script), str(ledger)]

    async def called() -> Any:
        async with mcp.Client(mcp.StdioServerParameters(command=command, args=options), mode=mode) as client:
            return [await client.call_tool("pay", {}) for _ in range(2)]

    first, second = asyncio.run(called())
    assert ledger.read_text() == "paid "
    # In the newer era only the server's words say that it could not ask.
    assert first.meta[META_KEY].get("effect") == ("unknown" if mode == "legacy" else None)
    assert second.content[0].text == (
        "pay was not run again: the call before may have been done already. Next: ask the user."
    )


def test_relays_that_use_one_file_of_keys_at_once_make_a_call_once(tmp_path: Path) -> None:
    def say(id: int, what: str, seconds: float) -> dict[str, Any]:
        meta = {"io.github.failwell/idempotency-key": what}
        params = {"name": "say", "arguments": {"begun": what, "sleep": seconds}, "_meta": meta}
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}

    ledger, file = tmp_path / "ledger", str(tmp_path / "keys.db")
    with Wrapped(ledger, "--state", file) as first, Wrapped(ledger, "--state", file) as second:

        def begin(what: str, seconds: float) -> None:
            first.send(say(1, what, seconds))
            while what not in first.done():
                time.sleep(0.01)

        begin("running", 0.5)
        second.send(say(2, "running", 0.5))
        answer = first.read()["result"]
        assert second.read()["result"] == answer
        # Answered, while both of them live.
        second.send(say(3, "running", 0.5))
        assert second.read()["result"] == answer
        begin("left", 600)
        first.process.kill()
        first.process.wait()
        second.send(say(4, "left", 600))
        error = second.read()["result"]["_meta"]["io.github.failwell/tool-error"]
        assert (error["code"], error["effect"]) == ("IDEMPOTENCY_UNFINISHED", "unknown")
        assert second.done() == ["running", "left"]


def test_a_command_needs_no_dashes_before_it(tmp_path: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}\n'
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger")}
    run = subprocess.run(
        [*WRAP, sys.executable, PLAIN], input=line, capture_output=True, timeout=60, env=env, check=True
    )
    assert json.loads(run.stdout)["id"] == 1


def test_the_options_of_a_command_without_dashes_before_it_are_its_own(tmp_path: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{}}}\n'
    env = {**os.environ, "LEDGER": str(tmp_path / "ledger")}
    command = [*WRAP, "--validate", "on", sys.executable, "-X", "dev", PLAIN, "--verbose", "--nope", "--", "--log"]
    run = subprocess.run(command, input=line, capture_output=True, timeout=60, env=env, check=True)
    assert json.loads(run.stdout)["id"] == 1
