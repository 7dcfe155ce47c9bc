"""`failwell wrap --listen`: streamable HTTP in front of a server, over real sockets."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from http_server import FaultyServer
from http_server import answer as answers
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playbook import MODERN
from served import serving
from wrapped import GIVEN, SERVER, WRAP, lives

from failwell.cli import main
from failwell.idempotency import KeysInMemory
from failwell.model import Policy
from failwell.relay import Relay, RelayLimits, RelayOptions, app
from failwell.relay.messages import read_frame, written
from failwell.relay.runner import ANY
from failwell.relay.web.client_session import ClientSession

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
META = "io.github.failwell/tool-error"


class Caller:
    """A client that knows nothing but HTTP."""

    def __init__(self, url: str, **headers: str) -> None:
        self.http = httpx2.Client(headers={**ACCEPT, **headers}, timeout=30)
        self.url = url
        self.headers: dict[str, str] = {}

    def post(self, message: Any, **headers: str) -> httpx2.Response:
        return self.http.post(self.url, json=message, headers={**self.headers, **headers})

    def greet(self) -> httpx2.Response:
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info})
        if "mcp-session-id" in answer.headers:
            self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
            self.headers["mcp-protocol-version"] = "2025-11-25"
            assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
        return answer

    def call(self, id: Any, tool: str, what: str) -> httpx2.Response:
        params = {"name": tool, "arguments": {"id": what}}
        return self.post({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def modern(self, id: Any, method: str, params: dict[str, Any], **headers: str) -> httpx2.Response:
        named = {"mcp-name": params["name"]} if "name" in params else {}
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": MODERN}}
        return self.post(message, **{"mcp-protocol-version": "2026-07-28", "mcp-method": method, **named, **headers})

    def close(self) -> None:
        self.http.close()


def said(answer: httpx2.Response) -> tuple[str, str | None]:
    """Its text, and what it says about the effect."""
    message = answer.json()
    error = message["result"].get("_meta", {}).get(META, {})
    return message["result"]["content"][0]["text"], error.get("effect")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("listen") / "ledger"
    file.touch()
    return file


@pytest.fixture(scope="module")
def relay(ledger: Path) -> Iterator[str]:
    """In front of a command."""
    front = app(SERVER, env={"LEDGER": str(ledger), "FAILWELL_TOKEN": "s3cret"})
    with serving(front) as url:
        yield url


@pytest.fixture(scope="module")
def faulty() -> FaultyServer:
    return FaultyServer()


@pytest.fixture(scope="module")
def remote(faulty: FaultyServer) -> Iterator[str]:
    """In front of a server behind an address."""
    with serving(faulty, lifespan="off") as upstream, serving(app(upstream)) as url:
        yield url


@pytest.fixture
def caller(relay: str) -> Iterator[Caller]:
    with closing(Caller(relay)) as made:
        made.greet()
        yield made


def test_what_a_server_that_died_left_behind_ends_and_what_others_have_stays(ledger: Path) -> None:
    def say(caller: Caller, **given: Any) -> int:
        params = {"name": "say", "arguments": given}
        return int(said(caller.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))[0])

    front = app(SERVER, env={"LEDGER": str(ledger)})
    with serving(front) as url, closing(Caller(url)) as caller, closing(Caller(url)) as another:
        caller.greet()
        another.greet()
        left, elsewhere = say(caller, child=True), say(another, child=True)
        caller.call(2, "pay_invoice", "before_1")
        following = say(caller, child=True)
        assert [lives(each) for each in (left, elsewhere, following)] == [False, True, True]


def test_a_session_from_its_beginning_to_its_end(relay: str) -> None:
    with closing(Caller(relay)) as caller:
        answer = caller.greet()
        assert answer.status_code == 200
        assert answer.json()["result"]["serverInfo"]["name"] == "plain"
        listed = caller.post({"jsonrpc": "2.0", "id": "l", "method": "tools/list"})
        assert listed.headers["content-type"] == "application/json"
        assert [tool["name"] for tool in listed.json()["result"]["tools"]] == ["pay_invoice", "get_invoice", "say"]
        assert caller.call(1, "pay_invoice", "first").json() == {
            "jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "first"}]},
        }  # fmt: skip
        assert said(caller.call(2, "pay_invoise", "first"))[0].startswith("There is no tool 'pay_invoise'.")
        assert caller.http.delete(relay, headers=caller.headers).status_code == 200
        gone = caller.call(3, "pay_invoice", "late")
        assert (gone.status_code, gone.json()["error"]["message"]) == (404, "Session not found")


def test_what_kills_one_clients_server_touches_no_other(relay: str, ledger: Path, caller: Caller) -> None:
    with closing(Caller(relay)) as other:
        other.greet()
        text, effect = said(caller.call(1, "pay_invoice", "after-1"))
        assert effect == "unknown"
        assert 'call get_invoice with {"id":"after-1"}' in text
        assert other.call(1, "pay_invoice", "beside").json()["result"] == {
            "content": [{"type": "text", "text": "beside"}]
        }
        again = caller.call(2, "get_invoice", "after-1").json()["result"]
        assert (again["content"][0]["text"], "_meta" in again) == ("1", False)
    assert ledger.read_text("utf-8").split().count("after-1") == 1


def test_clients_of_the_newer_era_share_a_server_and_get_their_own_answers(relay: str) -> None:
    def pays(number: int) -> str:
        with closing(Caller(relay)) as caller:
            answer = caller.modern(7, "tools/call", {"name": "pay_invoice", "arguments": {"id": f"m{number}"}})
            assert (answer.status_code, answer.json()["id"]) == (200, 7)
            return said(answer)[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(pays, range(16))) == [f"m{number}" for number in range(16)]


@pytest.mark.parametrize("era", ["older", "newer"])
def test_each_token_has_keys_and_a_hold_of_its_own(ledger: Path, era: str) -> None:
    key, what = {"io.github.failwell/idempotency-key": "order-1"}, f"own-{era}"
    newer = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay_invoice"}

    def pay(caller: Caller, what: str, meta: dict[str, Any]) -> str:
        more = MODERN if era == "newer" else {}
        params = {"name": "pay_invoice", "arguments": {"id": what}, "_meta": {**meta, **more}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = newer if era == "newer" else caller.headers
        return said(caller.http.post(caller.url, json=message, headers=headers))[0]

    options, tokens = RelayOptions(keys=KeysInMemory()), ["of-ann-1234", "of-bob-1234"]
    # However the same token is written.
    logins = "Bearer of-ann-1234", "Bearer of-bob-1234", "bearer  of-ann-1234"
    with serving(app(SERVER, env={"LEDGER": str(ledger)}, options=options, tokens=tokens)) as url, ExitStack() as open:
        ann, bob, ann_again = (open.enter_context(closing(Caller(url, authorization=login))) for login in logins)
        for each in (ann, bob, ann_again) if era == "older" else ():
            each.greet()
        paid = [pay(each, what, key) for each in (ann, bob, ann_again)]
        assert (paid, ledger.read_text("utf-8").split().count(what)) == ([what] * 3, 2)
        told = [pay(each, f"refuse-{what}", {}) for each in (ann, ann, bob, bob)]
        assert ["was not run again" in each for each in told] == [False, True, False, True]
        assert ledger.read_text("utf-8").split().count(f"refuse-{what}") == 2


def test_each_session_holds_its_own_calls_and_clients_that_nothing_tells_apart_hold_none(ledger: Path) -> None:
    def pay(caller: Caller, what: str) -> str:
        if caller.headers:
            return said(caller.call(1, "pay_invoice", what))[0]
        return said(caller.modern(1, "tools/call", {"name": "pay_invoice", "arguments": {"id": what}}))[0]

    for policy in (None, Policy()):
        front = app(SERVER, env={"LEDGER": str(ledger)}, options=RelayOptions(policy=policy))
        with serving(front) as url, ExitStack() as open:
            ann, bob, carl, dora = (open.enter_context(closing(Caller(url))) for _ in range(4))
            for each in (ann, bob):
                each.greet()
            told = [pay(each, f"refuse-held-{policy is None}") for each in (ann, ann, bob, bob, carl, dora)]
        # The words of a server that may have done it, and only who made the call before is not heard again.
        assert ["was not run again" in each for each in told] == [False, True, False, True, False, False]
        assert ledger.read_text("utf-8").split().count(f"refuse-held-{policy is None}") == 4


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-name": "get_invoice"}, -32020),
        ({"mcp-protocol-version": "2026-07-29"}, -32020),
    ],
)
def test_headers_that_contradict_the_body_are_refused(relay: str, headers: dict[str, str], code: int) -> None:
    with closing(Caller(relay)) as caller:
        answer = caller.modern(1, "tools/call", {"name": "pay_invoice", "arguments": {"id": "never"}}, **headers)
        assert (answer.status_code, answer.json()["error"]["code"], answer.json()["id"]) == (400, code, 1)


def test_no_secret_of_ours_reaches_a_child(caller: Caller) -> None:
    answer = caller.post(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "say", "arguments": {"env": "FAILWELL_TOKEN"}},
        }
    )
    assert said(answer)[0] == "None"


def test_a_secret_in_an_argument_with_blanks_is_not_quoted(ledger: Path) -> None:
    with serving(app(GIVEN, env={"LEDGER": str(ledger)})) as url, closing(Caller(url)) as caller:
        caller.greet()
        answer = caller.call(1, "pay_invoice", "quote_1")
    assert "bad value [redacted] here" in said(answer)[0]
    assert "birch-fern" not in answer.text


def test_a_lost_session_behind_the_relay_is_no_business_of_the_client(remote: str, faulty: FaultyServer) -> None:
    with closing(Caller(remote)) as caller:
        caller.greet()
        begun = faulty.begun
        assert said(caller.call(1, "get_invoice", "forget:l"))[0].startswith("0")
        assert faulty.begun == begun + 1
        text, effect = said(caller.call(2, "pay_invoice", "502:l"))
        assert (effect, faulty.done.count("502:l")) == ("unknown", 1)
        assert "may have been done already" in text


@pytest.mark.parametrize("era", ["older", "newer"])
def test_a_write_that_is_denied_with_a_json_rpc_error_is_made_once(remote: str, faulty: FaultyServer, era: str) -> None:
    denials = [
        f"deny {status} {code}" for status in (200, 400, 404, 500) for code in (-32601, -32602, -32600, -32700, -32001)
    ]
    with closing(Caller(remote, authorization=f"Bearer of-denied-{era}")) as caller:
        if era == "older":
            caller.greet()
        for number, denial in enumerate(denials):
            what = f"{denial}:{era}"
            params = {"name": "pay_invoice", "arguments": {"id": what}}
            for id in (f"{number}.1", f"{number}.2"):
                answer = (
                    caller.call(id, "pay_invoice", what) if era == "older" else caller.modern(id, "tools/call", params)
                )
            assert "pay_invoice was not run again" in said(answer)[0], denial
            assert faulty.done.count(what) == 1, denial


def test_a_login_that_the_server_quotes_is_not_told(remote: str) -> None:
    with closing(Caller(remote, authorization="Bearer tulipword")) as caller:
        caller.greet()
        answer = caller.call(1, "get_invoice", "quote:login").text
    assert "[redacted]" in answer
    assert "tulipword" not in answer


def test_a_login_goes_to_the_server_and_what_the_server_says_of_it_comes_back(
    remote: str, faulty: FaultyServer
) -> None:
    with closing(Caller(remote, authorization="Bearer of-ann-1234")) as caller:
        caller.greet()
        caller.call(1, "pay_invoice", "ann")
        assert faulty.seen[-1]["authorization"] == "Bearer of-ann-1234"
        faulty.is_locked = True
        try:
            answer = caller.call(2, "pay_invoice", "locked")
            fresh = Caller(remote)
            unknown = fresh.greet()
            fresh.close()
        finally:
            faulty.is_locked = False
        asked = 'Bearer resource_metadata="https://login.example/r"'
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, asked)
        assert "has expired" in said(answer)[0]
        assert (unknown.status_code, unknown.headers["www-authenticate"]) == (401, asked)
        assert "has expired" in unknown.json()["error"]["message"]
        # A session belongs to who began it.
        stolen = caller.post({"jsonrpc": "2.0", "id": 3, "method": "ping"}, authorization="Bearer of-bob-1234")
        assert stolen.status_code == 404


def test_who_hangs_up_in_the_newer_era_has_given_up(remote: str, faulty: FaultyServer) -> None:
    with closing(Caller(remote)) as caller:
        with pytest.raises(httpx2.ReadTimeout):
            caller.http.post(
                remote,
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "pay_invoice", "arguments": {"id": "hang:2"}, "_meta": MODERN},
                },
                headers={
                    "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay_invoice",
                },
                timeout=httpx2.Timeout(10, read=0.5),
            )  # fmt: skip
        while "hang:2" not in faulty.cancelled:
            caller.modern(2, "tools/list", {})


def slow(url: str) -> bytes:
    """The first line of what somebody is told who does not send what was announced."""
    host, port = url.split("/")[2].split(":")
    head = f"POST /mcp HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer of-ann-1234\r\ncontent-length: 100\r\n"
    more = "".join(f"{name}: {value}\r\n" for name, value in ACCEPT.items())
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(f"{head}{more}\r\n{{".encode())
        return connection.recv(1 << 16).partition(b"\r\n")[0]


def test_what_a_stranger_sends_is_refused_and_counted(ledger: Path) -> None:
    limits = RelayLimits(body=2_000, headers=4_000, sessions=1, body_timeout=0.2)
    relay = Relay(SERVER, env={"LEDGER": str(ledger)}, limits=limits, tokens=["of-ann-1234", "of-bob-1234"])
    with serving(relay.app()) as url, closing(Caller(url, authorization="Bearer of-ann-1234")) as ann:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for host in ("evil.example", "a@127.0.0.1", "127.0.0.1:1,evil", "127.0.0.1:1.evil.example"):
            assert ann.post(hello, host=host).status_code == 421
        for origin in ("https://evil.example", "http://127.0.0.1:1.evil.example"):
            assert ann.post(hello, origin=origin).status_code == 403
        assert ann.post(hello, **{"content-type": "application/jsonx"}).status_code == 415
        assert ann.post(hello, authorization="").status_code == 401
        wrong = ann.post(hello, authorization="Bearer of-ann-123")
        assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, 'Bearer realm="failwell"')
        large = ann.post({**hello, "params": {"x": "y" * 3_000}})
        assert (large.status_code, "2000 are accepted" in large.text) == (413, True)
        parts = (b" " * 500 for _ in range(10))
        assert ann.http.post(url, content=parts).status_code == 413

        assert slow(url) == b"HTTP/1.1 408 Request Timeout"
        many = ann.post(hello, **{f"x-{number}": "1" for number in range(120)})
        assert (many.status_code, "100 headers" in many.text) == (431, True)
        assert ann.post(hello, **{"x-long": "1" * 5_000}).status_code == 431
        assert ann.post(hello, **{"mcp-session-id": "guessed"}).status_code == 404
        ann.greet()
        # With the token of somebody else a session that was found out is of no use.
        assert ann.post(hello, authorization="Bearer of-bob-1234").status_code == 404
        with closing(Caller(url, authorization="Bearer of-bob-1234")) as bob:
            full = bob.greet()
        assert (full.status_code, "1 sessions are open, which is the limit" in full.text) == (
            503,
            True,
        )
        assert ann.http.put(url).status_code == 405
        assert ann.post([hello]).status_code == 400
        assert ann.http.get(url.replace("/mcp", "/etc/passwd")).status_code == 404
        assert ann.call(2, "pay_invoice", "still").status_code == 200
    assert dict(relay.access.rejected) == {
        "host": 4, "origin": 2, "content-type": 1, "token": 2, "body": 2, "slow body": 1, "headers": 2, "session": 2, "sessions": 1,
        "method": 1, "protocol": 1, "path": 1,
    }  # fmt: skip


def test_one_client_has_so_many_requests_under_way_and_no_more(faulty: FaultyServer) -> None:
    options = RelayOptions(timeout=60)
    with serving(faulty, lifespan="off") as upstream:
        front = app(upstream, options=options, limits=RelayLimits(calls=2))
        with serving(front) as url, closing(Caller(url)) as caller, ThreadPoolExecutor(2) as pool:
            caller.greet()
            hung = [pool.submit(caller.call, f"h{n}", "pay_invoice", f"hang:c{n}") for n in range(2)]
            while not {"hang:c0", "hang:c1"} <= set(faulty.done):
                pass
            answer = caller.call(9, "pay_invoice", "toomany")
            assert answer.status_code == 429
            assert "2 requests of one client are under way, which is the limit" in answer.text
            assert "toomany" not in faulty.done
            caller.http.delete(url, headers=caller.headers)
            assert {each.result().status_code for each in hung} == {502}
            # Another client is not concerned.
            with closing(Caller(url)) as other:
                other.greet()
                assert said(other.call(1, "pay_invoice", "other"))[0] == "1"


def test_health_tells_whether_the_server_is_there(relay: str) -> None:
    assert httpx2.get(relay.replace("/mcp", "/healthz")).json()["status"] == "ok"
    with serving(FaultyServer(), lifespan="off") as gone:
        pass
    with serving(app(gone)) as url:
        answer = httpx2.get(url.replace("/mcp", "/healthz"))
        assert (answer.status_code, answer.json()["upstream"]) == (503, "down")


def test_whoever_looks_without_reading_is_told_the_same_status(relay: str) -> None:
    health = relay.replace("/mcp", "/healthz")
    whole, head = httpx2.get(health), httpx2.head(health)
    assert (head.status_code, head.headers["content-length"], head.content) == (
        200,
        whole.headers["content-length"],
        b"",
    )
    assert httpx2.head(relay.replace("/mcp", "/metrics")).status_code == 200
    assert httpx2.head(relay).status_code == 405


def test_health_tells_of_a_command_that_does_not_start() -> None:
    with serving(app([sys.executable, "-c", ""])) as url, closing(Caller(url)) as caller:
        health = url.replace("/mcp", "/healthz")
        assert httpx2.get(health).status_code == 200
        caller.greet()
        answer = httpx2.get(health)
        assert (answer.status_code, answer.json()["upstream"]) == (503, "down")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le"])
def test_a_message_in_another_encoding_is_taken(caller: Caller, relay: str, encoding: str) -> None:
    params = {"name": "pay_invoice", "arguments": {"id": f"é-{encoding}"}}
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, ensure_ascii=False)
    answer = caller.http.post(relay, content=message.encode(encoding), headers=caller.headers)
    assert said(answer)[0] == f"é-{encoding}"


def test_a_cookie_is_for_the_client_that_it_was_given_to(remote: str, faulty: FaultyServer) -> None:
    with closing(Caller(remote)) as one, closing(Caller(remote)) as other:
        for caller in (one, other):
            caller.greet()
        one.call(1, "pay_invoice", "cookie:1")
        seen = []
        for caller in (one, other):
            caller.call(2, "pay_invoice", f"plain-{len(seen)}")
            seen.append(faulty.seen[-1].get("cookie"))
    assert seen == ["lane=of-one", None]


def test_server_messages_come_on_the_stream_of_their_request(caller: Caller, relay: str) -> None:
    params = {"name": "say", "arguments": {"progress": 2}, "_meta": {"progressToken": "p"}}
    answer = caller.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert answer.headers["content-type"] == "text/event-stream"
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [each.get("method", each.get("id")) for each in events] == ["notifications/progress"] * 2 + [1]


def test_the_command_listens_reads_its_rules_anew_and_ends_with_everything_it_started(
    ledger: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "failwell.toml"
    rules.write_text('[[rules]]\ntext = "503"\nset = { suggestion = "Wait for Ann." }\n', "utf-8")
    process = subprocess.Popen(
        [*WRAP, "--listen", "127.0.0.1:0", "--log", "json", "--rules", str(rules), "--", *SERVER],
        stderr=subprocess.PIPE,
        env={**os.environ, "LEDGER": str(ledger)},
        text=True,
    )
    assert process.stderr is not None
    line = json.loads(process.stderr.readline())
    assert line["message"].startswith("listening on http://127.0.0.1:")
    with closing(Caller(line["message"].split()[-1])) as caller:
        caller.greet()
        answer = caller.post(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say", "arguments": {}}}
        )
        pid = int(said(answer)[0])
        assert lives(pid)
        assert "Wait for Ann." in said(caller.call(3, "pay_invoice", "refuse-1"))[0]
        told = json.loads(process.stderr.readline())
        assert (told["tool"], told["ok"], told["error"]["suggestion"]) == ("pay_invoice", False, "Wait for Ann.")
        rules.write_text('[[rules]]\ntext = "503"\nset = { suggestion = "Wait for Bob." }\n', "utf-8")
        process.send_signal(signal.SIGHUP)
        assert json.loads(process.stderr.readline())["message"] == f"the rules of {rules} are in use"
        assert "Wait for Bob." in said(caller.call(4, "pay_invoice", "refuse-2"))[0]
        with ThreadPoolExecutor(1) as pool:
            # What is under way comes to its end.
            slow = {"name": "say", "arguments": {"begun": "slow", "sleep": 0.3}}
            under_way = pool.submit(caller.post, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": slow})
            while "slow" not in ledger.read_text("utf-8").split():
                pass
            process.send_signal(signal.SIGTERM)
            assert int(said(under_way.result())[0]) == pid
    assert process.wait(30) == 0
    process.stderr.close()
    assert not lives(pid)


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for given, line in (
            (["--listen", f"127.0.0.1:{port}"], f"cannot listen on 127.0.0.1:{port}: Address already in use"),
            (
                ["--listen", "0.0.0.0:0"],
                "0.0.0.0 can be reached by others: ask for a token (--token, or FAILWELL_TOKEN)",
            ),
            (["--listen", "8000"], "--listen 8000: it is written as HOST:PORT, such as 127.0.0.1:8000"),
            (["--listen", "127.0.0.1:0", "--token", "with\na line end"], "a token has eight characters or more"),
            (["--listen", "127.0.0.1:0", "--", "no-such-command"], "cannot start no-such-command: there is no"),
        ):
            assert main(["wrap", *given, *([] if "--" in given else ["--", *SERVER])]) == 2
            (told,) = capsys.readouterr().err.splitlines()
            assert line in told


def test_an_address_at_which_there_is_no_server_is_told_before_anybody_comes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await answers(send, 200, b"<html>hello</html>")

    away = FaultyServer(elsewhere="https://elsewhere.example/mcp")
    with serving(page, lifespan="off") as url, serving(away, lifespan="off") as leading:
        for given, words in (
            (
                url,
                f"cannot use the server at {url}: The server answered 200, and no answer will come. Check the address.",
            ),
            (leading, f"{leading} leads to https://elsewhere.example/mcp, where nothing is sent to."),
        ):
            assert main(["wrap", "--listen", "127.0.0.1:0", given]) == 2
            (told,) = capsys.readouterr().err.splitlines()
            assert words in told
    # One that is down may come back.
    process = subprocess.Popen([*WRAP, "--listen", "127.0.0.1:0", url], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    problem, listening = process.stderr.readline(), process.stderr.readline()
    process.terminate()
    assert process.wait(30) == 0
    process.stderr.close()
    assert problem.startswith(f"failwell: cannot use the server at {url}: ")
    assert problem.endswith(". Start it, or check the address.\n")
    assert listening.startswith("failwell: listening on http://127.0.0.1:")


@pytest.mark.parametrize("era", ["older", "newer"])
def test_the_key_of_a_client_that_left_in_the_middle_is_told_as_unfinished(
    ledger: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failwell.relay.calls._LAST_WORD", 0.1)
    what, key = f"hang-{era}", {"io.github.failwell/idempotency-key": f"k-{era}"}
    params = {"name": "pay_invoice", "arguments": {"id": what}}
    with serving(app(SERVER, env={"LEDGER": str(ledger)}, options=RelayOptions(keys=KeysInMemory()))) as url:

        def pay(caller: Caller, **more: Any) -> httpx2.Response:
            meta = key if era == "older" else {**MODERN, **key}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
            newer = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay_invoice"}
            headers = caller.headers if era == "older" else newer
            return caller.http.post(url, json=message, headers=headers, **more)

        with closing(Caller(url)) as first, ThreadPoolExecutor(1) as pool:
            if era == "older":
                first.greet()
            left = pool.submit(pay, first, timeout=0.5)
            while what not in ledger.read_text("utf-8").split():
                pass
            with pytest.raises(httpx2.ReadTimeout):
                left.result()
            if era == "older":
                first.http.delete(url, headers=first.headers)
        with closing(Caller(url)) as second:
            if era == "older":
                second.greet()
            error = pay(second).json()["result"]["_meta"][META]
    assert (error["code"], error["effect"]) == ("IDEMPOTENCY_UNFINISHED", "unknown")
    assert ledger.read_text("utf-8").split().count(what) == 1


def test_an_id_that_is_used_again_at_once_is_answered() -> None:
    session = ClientSession("v", "", RelayLimits(), print, print, is_shared=True)
    session.runner = SimpleNamespace(from_client=lambda *given: None)  # type: ignore[assignment]
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pay_invoice"}}
    told = b'{"jsonrpc":"2.0","id":7,"result":{}}\n'
    key, first = session.ask(written(asked), asked)
    session.send(told, ANY)
    again, second = session.ask(written(asked), asked)
    assert again == key
    # Whoever waited for the first one is done with it by now.
    session.forget(key, first, is_cancelled=True)
    session.send(told, ANY)
    assert (first.answer, second.answer) == (told, told)


@pytest.mark.parametrize("id", [7, "seven"])
def test_an_id_that_two_clients_use_at_once_becomes_another_of_its_kind(id: object) -> None:
    sent: list[Any] = []
    session = ClientSession("v", "", RelayLimits(), print, print, is_shared=True)
    session.runner = SimpleNamespace(from_client=lambda frames, *more: sent.extend(map(read_frame, frames)))  # type: ignore[assignment]
    params = {"name": "pay_invoice", "_meta": {"progressToken": id}}
    asked = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
    exchanges = [session.ask(written(asked), asked)[1] for _ in range(3)]
    assert [type(each["id"]) for each in sent] == [type(id)] * 3
    assert [type(each["params"]["_meta"]["progressToken"]) for each in sent] == [type(id)] * 3
    assert len({each["id"] for each in sent}) == 3
    for each in sent:
        session.send(written({"jsonrpc": "2.0", "id": each["id"], "result": {}}), ANY)
    assert [read_frame(each.answer or b"")["id"] for each in exchanges] == [id] * 3


def test_an_answer_that_nobody_here_can_read_comes_back_as_it_is() -> None:
    session = ClientSession("v", "", RelayLimits(), print, print, is_shared=True)
    session.runner = SimpleNamespace(from_client=lambda *given: None)  # type: ignore[assignment]
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pay_invoice"}}
    _, exchange = session.ask(written(asked), asked)
    told = b'{"jsonrpc":"2.0","id":7,"result":{"n":' + b"9" * 5_000 + b"}}\n"
    session.send(told, ANY)
    assert exchange.answer == told


def test_what_prometheus_is_told(faulty: FaultyServer) -> None:
    with serving(faulty, lifespan="off") as upstream:
        options = RelayOptions(reads=("get_*",))
        with serving(app(upstream, options=options)) as url, closing(Caller(url)) as caller:
            caller.greet()
            assert said(caller.call(1, "get_invoice", "502:metrics"))[0] == "0"
            caller.call(2, "pay_invoice", "502:metrics2")
            caller.call(3, "pay_invoice", "forget:metrics")
            caller.call(4, "pay_invoise", "made-up")
            caller.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, origin="https://evil.example")
            text = httpx2.get(url.replace("/mcp", "/metrics")).text
    for line in (
        'failwell_tool_calls_total{tool="get_invoice"} 1.0',
        'failwell_tool_failures_total{code="UPSTREAM_ERROR",kind="transient",tool="pay_invoice"} 1.0',
        'failwell_tool_calls_total{tool="(unknown)"} 1.0',
        'failwell_relay_retries_total{tool="get_invoice"} 1.0',
        'failwell_relay_recoveries_total{tool="get_invoice"} 1.0',
        'failwell_relay_refusals_total{reason="origin"} 1.0',
        "failwell_relay_renewals_total 1.0",
        "failwell_relay_restarts_total 0.0",
        "failwell_relay_sessions 1.0",
    ):
        assert line in text, text


def test_spans_are_in_the_trace_of_the_client(faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    sent = f"00-{'a' * 32}-{'b' * 16}-01"
    with serving(faulty, lifespan="off") as upstream, serving(app(upstream)) as url, closing(Caller(url)) as caller:
        caller.greet()
        params = {"name": "pay_invoice", "arguments": {"id": "traced"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        caller.post(message, traceparent=sent)
        assert faulty.seen[-1]["traceparent"] == sent
        meta = {"_meta": {"traceparent": sent.replace("a", "c")}, "arguments": {"id": "502:traced"}}
        caller.post({**message, "params": {**params, **meta}})
        caller.call(3, "pay_invoice", "alone")
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["tools/call pay_invoice"] * 3
    known = [(f"{span.context.trace_id:032x}"[0], span.parent and f"{span.parent.span_id:016x}") for span in spans[:2]]
    assert known == [("a", "b" * 16), ("c", "b" * 16)]
    assert spans[2].parent is None
    failed = spans[1].attributes or {}
    assert (failed["failwell.error.code"], failed["error.type"]) == ("UPSTREAM_ERROR", "tool_error")
    assert [span.status.status_code.name for span in spans] == ["UNSET", "ERROR", "UNSET"]


def test_an_event_that_comes_in_pieces_is_one_answer(remote: str) -> None:
    with closing(Caller(remote)) as caller:
        caller.greet()
        assert said(caller.call(1, "pay_invoice", "pieces:1"))[0] == "é" * 3_000


@pytest.mark.parametrize("fault", ["large", "largeevent"])
def test_an_answer_that_is_too_large_is_told_as_that(faulty: FaultyServer, fault: str) -> None:
    with (
        serving(faulty, lifespan="off") as upstream,
        serving(app(upstream, options=RelayOptions(longest=50_000))) as url,
        closing(Caller(url)) as caller,
    ):
        caller.greet()
        answer = caller.call(1, "pay_invoice", f"{fault}:1").json()["result"]
        assert (answer["_meta"][META]["code"], answer["_meta"][META]["effect"]) == ("RESPONSE_TOO_LARGE", "unknown")
        # What else is sent goes on.
        assert said(caller.call(2, "pay_invoice", f"after {fault}"))[0] == "1"


def test_a_call_that_was_never_written_did_nothing_and_reads_go_on_when_the_server_is_back(
    faulty: FaultyServer,
) -> None:
    options = RelayOptions(policy=Policy(max_attempts=2))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ExitStack() as open:
        with serving(faulty, lifespan="off", port=port) as upstream:
            url = open.enter_context(serving(app(upstream, options=options)))
            caller = open.enter_context(closing(Caller(url)))
            caller.greet()
            assert said(caller.call(1, "pay_invoice", "before-restart"))[0] == "1"
        assert said(caller.call(2, "pay_invoice", "unsent"))[1] == "none"
        # It comes back without its sessions: one is begun anew, and what only reads is sent again there.
        faulty.sessions.clear()
        with serving(faulty, lifespan="off", port=port):
            assert said(caller.call(3, "get_invoice", "before-restart"))[0] == "1"
            assert said(caller.call(4, "pay_invoice", "unsent"))[0] == "1"
    assert faulty.done.count("unsent") == 1


def test_no_write_is_made_twice_and_none_is_said_to_have_done_nothing() -> None:
    """Calls through a relay to a server behind gateways that fail in every way, held against what was really done."""
    server, chance = FaultyServer(), random.Random(11)
    faults = ("", "", "", "502", "503", "504", "cut", "before", "resume", "lost", "accepted", "forget")
    with serving(server, lifespan="off") as upstream, serving(app(upstream)) as url:

        def pays(number: int) -> tuple[str, str, str | None]:
            what = f"{chance.choice(faults)}:{number}"
            with closing(Caller(url)) as caller:
                if number % 2:
                    caller.greet()
                    answer = caller.call(number, "pay_invoice", what)
                else:
                    params = {"name": "pay_invoice", "arguments": {"id": what}}
                    answer = caller.modern(number, "tools/call", params)
                return what, *said(answer)

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(pays, range(60)))
    assert len(answers) == 60
    for what, text, effect in answers:
        done = server.done.count(what)
        assert done <= 1, what
        if effect is None:
            assert (text, done) == ("Session not found" if what.startswith("lost:") else "1", 1), what
        elif effect == "none":
            assert done == 0, what
        else:
            assert (effect, "may have been done already" in text) == ("unknown", True), what
    assert {effect for _, _, effect in answers} >= {None, "unknown"}


def test_each_login_of_the_newer_era_has_a_process_of_its_own(ledger: Path) -> None:
    with serving(app(SERVER, env={**os.environ, "LEDGER": str(ledger)})) as url, closing(Caller(url)) as caller:
        params = {"name": "say", "arguments": {}}
        pids = [
            said(caller.modern(number, "tools/call", params, **headers))[0]
            for number, headers in enumerate([
                {"authorization": "Bearer of-ann"}, {"authorization": "Bearer of-bob"}, {"authorization": "Bearer of-ann"}, {}, {},
            ])
        ]  # fmt: skip
    assert pids[0] == pids[2]
    assert pids[3] == pids[4]
    assert len(set(pids)) == 3


def test_where_clients_share_no_failure_of_one_closes_a_tool_for_another(ledger: Path) -> None:
    with serving(app(SERVER, env={**os.environ, "LEDGER": str(ledger)})) as url, closing(Caller(url)) as caller:
        calls = [{"name": "pay_invoice", "arguments": {"id": f"refuse-lane-{number}"}} for number in range(15)]
        told = [said(caller.modern(number, "tools/call", params))[0] for number, params in enumerate(calls)]
    assert not any("Not called" in text for text in told)
