"""`failwell wrap URL`: stdio in front of a server over HTTP, over real sockets and pipes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server import FaultyServer
from playbook import MODERN
from served import serving
from wrapped import Wrapped

META = "io.github.failwell/tool-error"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[FaultyServer, str]]:
    faulty = FaultyServer()
    with serving(faulty, lifespan="off") as url:
        yield faulty, url


@pytest.fixture(scope="module")
def relay(server: tuple[FaultyServer, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wrapped]:
    ledger = tmp_path_factory.mktemp("url") / "ledger"
    given = ("--header", "X-Team: blue", "--trust-annotations", "yes", server[1])
    with Wrapped(ledger, *given, command=()) as wrapped:
        yield wrapped


def told(answer: Any) -> tuple[str, str | None, str | None]:
    """Its text, and what it says about the effect and the delivery."""
    error = answer["result"].get("_meta", {}).get(META, {})
    return answer["result"]["content"][0]["text"], error.get("effect"), error.get("delivery")


def test_an_answer_comes_through_and_the_headers_are_the_operators(relay: Wrapped, server: Any) -> None:
    assert relay.call(1, "pay_invoice", id="plain") == {
        "jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "1"}]},
    }  # fmt: skip
    sent = server[0].seen[-1]
    assert (sent["x-team"], sent["mcp-session-id"], sent["mcp-protocol-version"]) == ("blue", "s1", "2025-11-25")


def test_a_header_that_the_server_quotes_is_not_told(server: Any, tmp_path: Path) -> None:
    given = ("--header", "X-Shop: daisyword", "--header", "Authorization: Bearer tulipword", server[1])
    with Wrapped(tmp_path / "ledger", *given, command=()) as relay:
        told = str(relay.call(1, "get_invoice", id="quote:1"))
    assert " | [redacted] | Bearer [redacted] | " in told
    assert "daisyword" not in told
    assert "tulipword" not in told


def test_a_list_over_several_lines_is_one_line(relay: Wrapped) -> None:
    assert [tool["name"] for tool in relay.ask(2, "tools/list")["result"]["tools"]] == ["pay_invoice", "get_invoice"]


def test_a_session_that_is_gone_is_begun_anew_and_a_read_is_sent_again_there(relay: Wrapped, server: Any) -> None:
    begun = server[0].begun
    assert relay.text(3, "get_invoice", id="forget:r").startswith("0")
    assert server[0].begun == begun + 1


@pytest.mark.parametrize("fault", ["forget", "always", "denied"])
def test_a_write_in_a_session_that_is_gone_is_sent_once(relay: Wrapped, server: Any, fault: str) -> None:
    before = len(server[0].seen)
    _, effect, delivery = told(relay.call(f"l{fault}", "pay_invoice", id=f"{fault}:1"))
    assert (effect, delivery) == ("unknown", "unanswered")
    assert server[0].done.count(f"{fault}:1") == (0 if fault == "forget" else 1)
    # The call, and the greeting of the next session with its notification.
    assert len(server[0].seen) <= before + 3
    assert relay.text(f"n{fault}", "pay_invoice", id=f"after {fault}").startswith("1")


@pytest.mark.parametrize("fault", ["502", "503", "504", "cut", "before", "accepted"])
def test_a_write_that_may_have_been_done_is_told_as_that_and_made_once(relay: Wrapped, server: Any, fault: str) -> None:
    what = f"{fault}:pay"
    text, effect, _ = told(relay.call(f"w{fault}", "pay_invoice", id=what))
    assert effect == "unknown"
    assert "may have been done already" in text
    assert f'call get_invoice with {{"id":"{what}"}}' in text
    assert server[0].done.count(what) == (0 if fault == "before" else 1)


def test_a_client_behind_the_relay_is_not_told_to_send_a_call_again(server: Any, tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", server[1], command=(), greet=False) as relay:
        params = {"name": "pay_invoice", "arguments": {"id": "-32020:1"}, "_meta": MODERN}
        _, effect, _ = told(relay.ask(1, "tools/call", params))
    assert (effect, server[0].done.count("-32020:1")) == (None, 1)


def test_a_write_that_a_gateway_denies_in_words_says_them_and_is_not_run_again(relay: Wrapped, server: Any) -> None:
    first, second = (told(relay.call(f"l{each}", "pay_invoice", id="lost:pay")) for each in range(2))
    assert first[:2] == ("Session not found", None)
    assert second[0] == (
        "pay_invoice was not run again: the call before may have been done already. "
        'Next: call get_invoice with {"id":"lost:pay"} to see whether it was.'
    )
    assert server[0].done.count("lost:pay") == 1


@pytest.mark.parametrize("fault", ["502", "cut", "before"])
def test_a_read_is_made_again(relay: Wrapped, fault: str) -> None:
    assert relay.text(f"r{fault}", "get_invoice", id=f"{fault}:read") == "0"


def test_a_stream_that_breaks_is_resumed_where_the_server_says(relay: Wrapped, server: Any) -> None:
    assert relay.text(9, "pay_invoice", id="resume:1") == "1"
    assert server[0].done.count("resume:1") == 1


def test_in_the_newer_era_each_request_stands_for_itself(server: Any, tmp_path: Path) -> None:
    faulty, url = server
    with Wrapped(tmp_path / "ledger", url, command=(), greet=False) as relay:
        params = {"name": "pay_invoice", "arguments": {"id": "modern — «1»"}, "_meta": MODERN}
        assert relay.ask(1, "tools/call", params)["result"]["content"][0]["text"] == "1"
        sent = faulty.seen[-1]
        assert "mcp-session-id" not in sent
        assert {name: sent[name] for name in ("mcp-protocol-version", "mcp-method", "mcp-name")} == {
            "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "pay_invoice",
        }  # fmt: skip
        # What is given up ends with its stream.
        params = {"name": "pay_invoice", "arguments": {"id": "hang:1"}, "_meta": MODERN}
        relay.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        while "hang:1" not in faulty.done:
            relay.ask("wait", "tools/list", {"_meta": MODERN})
        relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        while "hang:1" not in faulty.cancelled:
            relay.ask("wait", "tools/list", {"_meta": MODERN})
        assert relay.close() == (0, "")


def test_an_expired_login_is_told_with_who_must_do_what(tmp_path: Path) -> None:
    faulty = FaultyServer()
    with serving(faulty, lifespan="off") as url, Wrapped(tmp_path / "ledger", url, command=()) as relay:
        faulty.is_locked = True
        text, _, _ = told(relay.call(1, "pay_invoice", id="a"))
        assert text.startswith(f"{url} asks for a login, which is missing or has expired.")
        assert f"Ask the user to log in to {url} again" in text
        faulty.is_locked = False
        # A status proves nothing, so the agent looks first.
        held, _, _ = told(relay.call(2, "pay_invoice", id="a"))
        assert held.startswith("pay_invoice was not run again")
        assert relay.text(3, "get_invoice", id="a").startswith("0")
        assert relay.text(4, "pay_invoice", id="a") == "1"


def test_nothing_is_sent_to_where_a_redirect_leads(tmp_path: Path) -> None:
    away, faulty = FaultyServer(), FaultyServer()
    with serving(away, lifespan="off") as there, serving(faulty, lifespan="off") as url:
        given = ("--header", "Authorization: Bearer s3cret-token-of-ann", url)
        with Wrapped(tmp_path / "ledger", *given, command=()) as relay:
            faulty.elsewhere = there
            text, effect, _ = told(relay.call(1, "pay_invoice", id="a"))
    assert effect == "unknown"
    assert f"{url} leads to {there}, where nothing is sent to" in text
    assert away.seen == []
    assert "s3cret" not in text


def test_a_call_is_not_sent_again_by_a_redirect(tmp_path: Path) -> None:
    faulty = FaultyServer()
    with serving(faulty, lifespan="off") as url, Wrapped(tmp_path / "ledger", url, command=()) as relay:
        assert relay.text(1, "pay_invoice", id="a") == "1"
        before = len(faulty.seen)
        faulty.elsewhere = url
        _, effect, _ = told(relay.call(2, "pay_invoice", id="b"))
        assert (effect, len(faulty.seen)) == ("unknown", before + 1)


def test_the_server_is_where_the_handshake_was_led_to(tmp_path: Path) -> None:
    faulty, asked = FaultyServer(), []

    async def moved(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not scope["path"].endswith("/"):
            asked.append(scope["method"])
            start = {"type": "http.response.start", "status": 307, "headers": [(b"location", b"/mcp/")]}
            await send(start)
            await send({"type": "http.response.body", "body": b""})
            return
        await faulty(scope, receive, send)

    with serving(moved, lifespan="off") as url, Wrapped(tmp_path / "ledger", url, command=()) as relay:
        assert relay.text(1, "pay_invoice", id="a") == "1"
        assert relay.text(2, "pay_invoice", id="b") == "1"
    assert asked.count("POST") == 1


def test_an_address_where_nobody_is_and_one_that_is_no_server(tmp_path: Path) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<html>hello</html>"})

    with serving(page, lifespan="off") as url, Wrapped(tmp_path / "l", url, command=(), greet=False) as relay:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = relay.ask(1, "initialize", params)
        code, errors = relay.close()
    line = f"cannot use the server at {url}: The server answered 200, and no answer will come."
    assert (code, errors, answer["error"]["message"]) == (2, f"failwell: {line}\n", line)
    with Wrapped(tmp_path / "l", url, command=(), greet=False) as relay:
        answer = relay.ask(1, "initialize", params)
        code, errors = relay.close()
    assert code == 2
    assert re.fullmatch(rf"failwell: cannot use the server at {re.escape(url)}: .*refused.*\n", errors), errors


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    from failwell.cli import main

    for given, line in (
        (["ftp://x/mcp"], "ftp://x/mcp is no address of a server: it begins with http:// or https://"),
        (["http://x/mcp", "y"], "y is one word too many"),
        (["http://x/mcp", "--header", "Authorization: a\nb"], "a header is written as 'Name: value', on one line"),
        (["http://x/mcp", "--header", "A: b ${NO_SUCH_ONE}"], "--header 'A': the variable NO_SUCH_ONE is not set"),
        (["http://x/mcp", "--", sys.executable], "name either a command after -- or a URL, not both"),
    ):
        assert main(["wrap", *given]) == 2
        assert line in capsys.readouterr().err


@pytest.mark.parametrize("command", ["wrap", "check"])
@pytest.mark.parametrize("url", ["ftp://x/mcp", "http://[::1", "http://a:99999/", "http:///mcp"])
def test_an_address_that_is_none_is_one_line(command: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    from failwell.cli import main

    assert main([command, url]) == 2
    assert capsys.readouterr().err.startswith(f"failwell: {url} is no address of a server: ")
