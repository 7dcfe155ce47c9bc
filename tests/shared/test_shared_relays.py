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
from failwell.relay import RelayOptions, app
from failwell.relay.state import KeptAnswer, keys_at

sys.path.append(str(Path(__file__).parents[1] / "relay"))
from served import serving
from wrapped import SERVER, Wrapped


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


def test_a_key_from_before_the_store_was_emptied_is_not_made_again(redis: Redis) -> None:
    with closing(keys_at(redis.url)) as one, closing(keys_at(redis.url)) as other:
        assert one.begin("k", "call") is None
        one.finish("k", b"{}")
        assert other.begin("k", "call") == KeptAnswer("call", "done", b"{}")
        redis.client().flushall()
        # Whoever made it knows it; whoever did not cannot know that it is new.
        assert one.begin("k", "call") == KeptAnswer("call", "done", b"{}")
        assert other.begin("k", "call") == KeptAnswer("call", "lost")
        assert other.begin("new", "call", is_first=True) is None
        other.forget("new")
        assert one.begin("old", "call") == KeptAnswer("call", "lost")


def test_an_answer_is_kept_as_it_came_and_what_is_no_text_as_a_mark(redis: Redis) -> None:
    with closing(keys_at(redis.url)) as one, closing(keys_at(redis.url)) as other:
        for key, answer in (("odd", b'{ "id":1,"result":{"n":1e400,"a":1,"a":2} }\n'), ("bytes", b'{"t":"\xff\0"}\n')):
            one.begin(key, "call", is_first=True)
            one.finish(key, answer)
            seen = answer.replace(b"\xff", b"\xef\xbf\xbd").replace(b"\0", b"\xef\xbf\xbd")
            assert one.begin(key, "call") == KeptAnswer("call", "done", answer)
            assert other.begin(key, "call") == KeptAnswer("call", "done", seen)


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
    with closing(keys_at(redis.url)) as kept, serving(app(SERVER, options=RelayOptions(keys=kept))) as url:
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
