"""Relays that share a store, over real sockets, with a real Redis."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from databases import Redis, running_redis
from failwell.formats import keys
from failwell.idempotency import StoredCall, open_store
from failwell.relay import RelayOptions, app

sys.path.append(str(Path(__file__).parents[1] / "relay"))
from served import serving
from wrapped import SERVER, Wrapped


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


def test_a_key_from_before_the_store_was_emptied_is_not_made_again(redis: Redis) -> None:
    with closing(open_store(redis.url, cached=True)) as one, closing(open_store(redis.url, cached=True)) as other:
        assert one.claim("k", "call") is None
        one.finish("k", b"{}")
        assert other.claim("k", "call") == StoredCall("call", "done", b"{}")
        redis.client().flushall()
        # Whoever made it knows it; whoever did not cannot know that it is new.
        assert one.claim("k", "call") == StoredCall("call", "done", b"{}")
        assert (other.claim("k", "call"), other.may_have_lost_keys) == (None, True)
        other.lose("k")
        assert other.claim("k", "call") == StoredCall("call", "lost")
        assert (one.claim("old", "call"), one.may_have_lost_keys) == (None, True)


def test_a_relay_does_not_make_an_old_call_after_the_store_was_emptied(redis: Redis, tmp_path: Path) -> None:
    params = {"name": "pay_invoice", "arguments": {"id": "i1"}, "_meta": {keys.IDEMPOTENCY_KEY: "old"}}
    new = {**params, "_meta": {keys.IDEMPOTENCY_KEY: "new", keys.IDEMPOTENCY_FIRST: True}}
    with Wrapped(tmp_path / "ledger", "--state", redis.url) as relay:
        redis.client().flushall()
        old = relay.ask(1, "tools/call", params)["result"]
        assert (old["isError"], _effect(old), relay.done()) == (True, "unknown", [])
        assert "result" in relay.ask(2, "tools/call", new)
        assert relay.done() == ["i1"]


def test_an_answer_is_kept_as_it_came(redis: Redis) -> None:
    with closing(open_store(redis.url, cached=True)) as one, closing(open_store(redis.url, cached=True)) as other:
        for key, answer in (("odd", b'{ "id":1,"result":{"n":1e400,"a":1,"a":2} }\n'), ("bytes", b'{"t":"\xff\0"}\n')):
            one.claim(key, "call")
            one.finish(key, answer)
            assert one.claim(key, "call") == StoredCall("call", "done", answer)
            assert other.claim(key, "call") == StoredCall("call", "done", answer)


def test_while_the_store_is_away_nobody_says_of_a_key_that_nothing_was_done(redis: Redis, tmp_path: Path) -> None:
    """Another relay may have made the call; only a client that says that it is the first knows better."""
    options = ("--state", redis.url)
    params = {"name": "pay_invoice", "arguments": {"id": "i1"}, "_meta": {keys.IDEMPOTENCY_KEY: "k1"}}
    new = {**params, "_meta": {keys.IDEMPOTENCY_KEY: "k2", keys.IDEMPOTENCY_FIRST: True}}
    with Wrapped(tmp_path / "ledger", *options) as one, Wrapped(tmp_path / "ledger", *options) as other:
        first = one.ask(1, "tools/call", params)
        redis.kill()
        try:
            told = [other.ask(number, "tools/call", each)["result"] for number, each in ((1, params), (2, new))]
            assert [(each["isError"], _effect(each)) for each in told] == [(True, "unknown"), (True, "none")]
            # Whoever made it knows it.
            assert one.ask(1, "tools/call", params) == first
        finally:
            redis.start()
        assert other.ask(3, "tools/call", params)["result"] == first["result"]
        assert one.done() == ["i1"]


def _effect(result: dict[str, Any]) -> str:
    return str(result["_meta"][keys.TOOL_ERROR]["effect"])


def test_health_tells_whether_the_store_is_there(redis: Redis) -> None:
    with (
        closing(open_store(redis.url, cached=True)) as kept,
        serving(app(SERVER, options=RelayOptions(keys=kept))) as url,
    ):
        health = url.replace("/mcp", "/healthz")
        found = httpx2.get(health)
        assert (found.status_code, found.json()["status"], found.json()["store"]) == (200, "ok", "up")
        redis.kill()
        while (found := httpx2.get(health)).json()["store"] == "up":
            pass
        # It goes on alone.
        assert (found.status_code, found.json()["status"]) == (200, "degraded")
        redis.start()
        while httpx2.get(health).json() != {**found.json(), "status": "ok", "store": "up"}:
            pass
