"""Writes in doubt that several processes know of: replicas of a server and relays that share a store."""

from __future__ import annotations

import itertools
import logging
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from places import keys_at

import failwell as fw
import failwell.server
from databases import Redis
from failwell.idempotency import open_store
from failwell.idempotency.holds import SharedHold
from failwell.idempotency.leased_keys import LeasedKeys
from failwell.model import Effect
from failwell.recovery import Hold
from failwell.relay import RelayOptions, app

sys.path.append(str(Path(__file__).parents[1] / "relay"))
from served import serving

MODERN = "2026-07-28"
HELD = "was not run again: the call before may have been done already."
PAY = ("pay", {"id": "inv_1"})
_numbers = itertools.count()


def fail(hold: Hold, effect: str | None, call: tuple[str, dict[str, str]] = PAY) -> None:
    error = fw.ToolError("Lost.", effect=effect, standing=None if effect else "quoted")  # type: ignore[arg-type]
    hold.failed(*call, error, None, time.monotonic())


def found(hold: Hold, call: tuple[str, dict[str, str]] = PAY) -> Effect | str | None:
    held = hold.find(*call, time.monotonic())
    return "free" if held is None else held.effect


@pytest.mark.parametrize(
    ("effect", "after_write", "after_look"), [("unknown", "unknown", "free"), (None, "free", "free")]
)
def test_what_one_has_in_doubt_all_hold_until_the_agent_has_looked_anywhere(
    opened: Callable[[], LeasedKeys], effect: str | None, after_write: str, after_look: str
) -> None:
    one, other, stranger = (SharedHold(300, opened(), scope) for scope in ("ann", "ann", "bob"))
    began = time.monotonic()
    assert (found(one), found(other)) == ("free", "free")
    fail(one, effect)
    assert (found(one), found(other), found(stranger)) == (effect, effect, "free")
    assert found(other, ("pay", {"id": "inv_2"})) == "free"
    # What began before the call failed says nothing about it.
    other.succeeded(began, reads=True)
    assert (found(one), found(other)) == (effect, effect)
    other.succeeded(time.monotonic() + 0.05, reads=False)
    assert (found(one), found(other)) == (after_write, after_write)
    other.succeeded(time.monotonic() + 0.05, reads=True)
    assert (found(one), found(other)) == (after_look, after_look)


def test_the_users_yes_at_one_ends_it_at_all_and_so_does_time(opened: Callable[[], LeasedKeys]) -> None:
    one, other = (SharedHold(300, opened(), "ann") for _ in range(2))
    fail(one, "unknown")
    assert found(other) == "unknown"
    other.release(*PAY)
    assert (found(one), found(other)) == ("free", "free")
    short, late = (SharedHold(0.2, opened(), "eve") for _ in range(2))
    fail(short, "unknown")
    until = time.monotonic() + 30
    while (found(short), found(late)) != ("free", "free") and time.monotonic() < until:
        time.sleep(0.01)
    assert (found(short), found(late)) == ("free", "free")


def test_a_failure_after_a_look_on_its_way_is_held(opened: Callable[[], LeasedKeys]) -> None:
    """The look at one ends what it knew of, not what came meanwhile."""
    one, other = (SharedHold(300, opened(), "ann") for _ in range(2))
    fail(one, "unknown")
    found(other)
    fail(one, "unknown")
    other.succeeded(time.monotonic() + 0.05, reads=True)
    assert found(other) == "unknown"


def test_zero_turns_it_off(opened: Callable[[], LeasedKeys]) -> None:
    hold = SharedHold(0, opened(), "ann")
    fail(hold, "unknown")
    assert found(hold) == "free"


def test_while_the_store_is_away_each_holds_what_it_saw_and_says_so_once(
    redis_here: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(keys_at(redis_here.url)) as claims, closing(keys_at(redis_here.url)) as others:
        one, other = SharedHold(300, claims, "away"), SharedHold(300, others, "away")
        redis_here.kill()
        try:
            with caplog.at_level(logging.WARNING, "failwell.idempotency"):
                fail(one, "unknown")
                assert (found(one), found(other)) == ("unknown", "free")
            lines = [record.getMessage() for record in caplog.records]
            assert len(lines) == 2
            assert all(line.endswith("each process holds only the writes in doubt that it saw.") for line in lines)
        finally:
            redis_here.start()
        assert found(one) == "unknown"
        # With the next that it has to tell, it tells what it could not.
        fail(one, None, ("pay", {"id": "inv_2"}))
        assert (found(other), found(other, ("pay", {"id": "inv_2"}))) == ("unknown", None)


def test_no_argument_is_kept(redis_here: Redis) -> None:
    with closing(keys_at(redis_here.url, namespace="discreet")) as claims:
        fail(SharedHold(300, claims, "ann"), "unknown", ("pay", {"id": "canary-91"}))
    client = redis_here.client()
    notes = [client.hgetall(key) for key in client.keys("*hold:*")]
    assert any(notes)
    assert "canary-91" not in str(notes)


class Verifier:
    async def verify_token(self, token: str) -> AccessToken:
        return AccessToken(token=token, client_id=token, scopes=[])


def bank(store: Any, paid: list[str]) -> Any:
    """A replica whose clients log in, without sessions."""
    settings = {
        "issuer_url": "http://127.0.0.1",
        "resource_server_url": "http://127.0.0.1",
        "validate_token_resource": False,
    }
    server = MCPServer(
        "bank", log_level="CRITICAL", token_verifier=Verifier(), auth=AuthSettings.model_validate(settings)
    )

    @server.tool()
    async def pay_invoice(id: str) -> str:
        paid.append(id)
        raise TimeoutError

    @server.tool()
    async def get_invoice(id: str) -> str:
        return "paid" if id in paid else "open"

    failwell.server.install(server, idempotency=store)
    return server.streamable_http_app(json_response=True)


def call(url: str, who: str, tool: str, id: str) -> str:
    envelope = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {"id": id}, "_meta": envelope}
    headers = {
        "accept": "application/json, text/event-stream", "authorization": f"Bearer {who}", "mcp-method": "tools/call",
        "mcp-name": tool, "mcp-protocol-version": MODERN,
    }  # fmt: skip
    message = {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": params}
    answer = httpx2.post(url, json=message, headers=headers, timeout=30).json()
    return str(answer["result"]["content"][0]["text"])


def test_replicas_hold_a_write_of_a_login_wherever_its_calls_go(place: str) -> None:
    namespace = f"bank {next(_numbers)}"
    paid: list[str] = []
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(keys_at(place, namespace=namespace))) for _ in range(2)]
        one, other = (stack.enter_context(serving(bank(store, paid))) for store in stores)
        assert "may have been done already" in call(one, "ann", "pay_invoice", "inv_1")
        assert call(other, "ann", "pay_invoice", "inv_1") == (
            f'pay_invoice {HELD} Next: call get_invoice with {{"id":"inv_1"}} to see whether it was.'
        )
        # One caller's doubt is no other's.
        assert HELD not in call(other, "bob", "pay_invoice", "inv_1")
        assert paid == ["inv_1", "inv_1"]
        assert call(other, "ann", "get_invoice", "inv_1") == "paid"
        assert HELD not in call(one, "ann", "pay_invoice", "inv_1")
        assert len(paid) == 3


def test_relays_hold_a_write_of_a_login_wherever_its_calls_go(redis_here: Redis) -> None:
    paid: list[str] = []
    server = MCPServer("bank", log_level="CRITICAL")

    @server.tool()
    async def pay_invoice(id: str) -> str:
        paid.append(id)
        raise ValueError("could not parse amount from the bank response")

    @server.tool()
    async def get_invoice(id: str) -> str:
        return "paid" if id in paid else "open"

    with ExitStack() as stack:
        upstream = stack.enter_context(serving(server.streamable_http_app(json_response=True)))
        relays = []
        for _ in range(2):
            keys = stack.enter_context(closing(open_store(redis_here.url, cached=True)))
            options = RelayOptions(keys=keys)
            relay = app(upstream, options=options, tokens=("ann-token-123456", "bob-token-123456"))
            relays.append(stack.enter_context(serving(relay)))
        one, other = relays
        ann, bob = "ann-token-123456", "bob-token-123456"
        assert HELD not in call(one, ann, "pay_invoice", "inv_1")
        assert call(other, ann, "pay_invoice", "inv_1").startswith(f"pay_invoice {HELD}")
        assert paid == ["inv_1"]
        assert HELD not in call(other, bob, "pay_invoice", "inv_1")
        assert call(one, ann, "get_invoice", "inv_1") == "paid"
        assert HELD not in call(other, ann, "pay_invoice", "inv_1")
        assert len(paid) == 3
