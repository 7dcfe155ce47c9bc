"""Keys that several processes share: in a file, in a real Redis and in a real PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from places import keys_at

import failwell.server
from databases import Redis, running_redis
from failwell.client import Recovering
from failwell.formats import keys as names
from failwell.idempotency import HoldStore, KeysInMemory, KeysInRedis, KeyStore, StoredCall, StoreUnusable, open_store
from failwell.idempotency.leased_keys import LeasedKeys

sys.path.append(str(Path(__file__).parents[1] / "relay"))
from wrapped import Wrapped

PATIENCE = 60.0
HERE = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
_names = count()


def test_a_key_is_claimed_once_and_known_by_all(opened: Callable[..., LeasedKeys]) -> None:
    one, other = opened(), opened()
    assert one.instance == other.instance
    assert one.claim("k", "call") is None
    assert other.claim("k", "call") == one.claim("k", "call") == StoredCall("call", "running")
    one.finish("k", b"the answer")
    assert other.claim("k", "another call") == StoredCall("call", "done", b"the answer")
    # Whoever has not begun it has nothing to say about it.
    other.release("k")
    other.lose("k")
    assert one.claim("k", "call") == StoredCall("call", "done", b"the answer")


def test_what_did_nothing_is_free_and_what_nobody_knows_stays_so(opened: Callable[..., LeasedKeys]) -> None:
    one, other = opened(), opened()
    assert one.claim("k", "call") is None
    one.release("k")
    assert other.claim("k", "call") is None
    other.lose("k")
    assert one.claim("k", "call") == StoredCall("call", "lost")


def test_namespaces_are_apart(place: str) -> None:
    one, other = keys_at(place, namespace="a"), keys_at(place, namespace="b")
    assert one.instance != other.instance
    assert one.claim("apart", "call") is other.claim("apart", "call") is None
    one.close()
    other.close()


def test_of_many_at_once_one_has_the_key(opened: Callable[..., LeasedKeys]) -> None:
    replicas = [opened() for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        for number in range(12):
            found = list(pool.map(lambda each, key=f"k{number}": each.claim(key, "call"), replicas * 4))
            assert [each for each in found if each is not None] == [StoredCall("call", "running")] * 15


def test_what_a_dead_process_began_is_lost_and_never_free(place: str, opened: Callable[..., LeasedKeys]) -> None:
    namespace = f"dying {next(_names)}"
    begins = (
        "import os, sys; from places import keys_at; "
        "claims = keys_at(sys.argv[1], namespace=sys.argv[2], lease=0.3); "
        "print(claims.claim('k', 'call'), flush=True); os._exit(1)"
    )
    told = subprocess.run(
        [sys.executable, "-c", begins, place, namespace], stdout=subprocess.PIPE, check=False, env=HERE
    )
    assert told.stdout == b"None\n"
    mine = opened(namespace=namespace)
    until = time.monotonic() + PATIENCE
    while (found := mine.claim("k", "call")) == StoredCall("call", "running") and time.monotonic() < until:
        time.sleep(0.02)
    assert found == mine.claim("k", "call") == StoredCall("call", "lost")


# Takes the key, and pays when it is told to.
PAYS = """
import sys
from pathlib import Path
from places import keys_at
claims = keys_at(sys.argv[1], namespace=sys.argv[2], lease=0.2, ttl=0.4)
assert claims.claim("k", "call") is None
print("begun", flush=True)
sys.stdin.readline()
Path(sys.argv[3]).open("a").write("paid\\n")
claims.finish("k", b"the answer")
print("paid", flush=True)
"""


def test_a_frozen_holder_keeps_its_key_past_lease_and_ttl(
    place: str, opened: Callable[..., LeasedKeys], tmp_path: Path
) -> None:
    namespace, ledger = f"frozen holder {next(_names)}", tmp_path / "ledger"
    mine = opened(namespace=namespace, lease=0.2, ttl=0.4)
    command = [sys.executable, "-c", PAYS, place, namespace, str(ledger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=HERE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "begun\n"
        holder.send_signal(signal.SIGSTOP)
        try:
            assert eventually(lambda: mine.claim("k", "call"), StoredCall("call", "lost"))
            assert mine.claim("answered", "call") is None
            mine.finish("answered", b"answer")
            assert eventually(lambda: mine.claim("answered", "call"), None)
            mine._renew_now()
            assert mine.claim("k", "call") == StoredCall("call", "lost")
        finally:
            holder.send_signal(signal.SIGCONT)
        assert eventually(lambda: mine.claim("k", "call"), StoredCall("call", "running"))
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "paid\n"
        assert mine.claim("k", "call") == StoredCall("call", "done", b"the answer")
    assert ledger.read_text() == "paid\n"


def eventually(look: Callable[[], object], wanted: object) -> bool:
    until = time.monotonic() + PATIENCE
    while look() != wanted and time.monotonic() < until:
        time.sleep(0.02)
    return time.monotonic() < until


def test_a_running_call_keeps_its_key_past_ttl_without_a_renewal(opened: Callable[..., LeasedKeys]) -> None:
    one, other = opened(lease=0.2, ttl=0.4), opened(lease=0.2, ttl=0.4)
    one._renew = broken  # type: ignore[method-assign]
    assert one.claim("k", "call") is other.claim("answered", "call") is None
    other.finish("answered", b"answer")
    assert eventually(lambda: other.claim("answered", "call"), None)
    other._renew_now()
    assert other.claim("k", "call") == StoredCall("call", "lost")


def test_a_renewal_on_its_way_does_not_make_an_ended_call_run_again(opened: Callable[..., LeasedKeys]) -> None:
    one = opened()
    for key, end in (("finished", one.finish), ("lost", one.lose)):
        assert one.claim(key, "call") is None
        running = dict(one._tokens)
        end(*(key, b"answer")[: 2 if key == "finished" else 1])
        one._renew(running)
    assert one.claim("finished", "call") == StoredCall("call", "done", b"answer")
    assert one.claim("lost", "call") == StoredCall("call", "lost")


def test_a_ttl_below_twice_the_lease_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match=r"^ttl must be at least twice the lease: ttl is 59 seconds, the lease 30\.$"):
        KeysInRedis("redis://localhost", ttl=59)


def test_a_lease_is_renewed_while_its_process_lives(opened: Callable[..., LeasedKeys]) -> None:
    one, other = opened(ttl=0.6, lease=0.3), opened()
    turns: list[dict[str, str]] = []
    renew = one._renew
    one._renew = lambda running: (renew(running), turns.append(running))[0]  # type: ignore[method-assign]
    assert one.claim("k", "call") is None
    until = time.monotonic() + PATIENCE
    while len(turns) < 6 and time.monotonic() < until:
        time.sleep(0.02)
    # Two leases have passed.
    assert turns[-1].keys() == {"k"}
    # A busy machine may let a lease run out for a moment.
    assert eventually(lambda: other.claim("k", "call"), StoredCall("call", "running"))


@pytest.mark.parametrize("is_used", [False, True], ids=["before its first call", "after it"])
def test_a_fork_is_another_process(opened: Callable[..., LeasedKeys], is_used: bool) -> None:
    mine, other = opened(), opened()
    assert (mine if is_used else other).claim("parent", "call") is None
    child = os.fork()
    if child == 0:
        try:
            alright = (
                mine.claim("parent", "call") == StoredCall("call", "running") and mine.claim("child", "call") is None
            )
            os._exit(0 if alright else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    (mine if is_used else other).finish("parent", b"done")
    assert mine.claim("parent", "call") == StoredCall("call", "done", b"done")


def broken(*_: Any, **__: Any) -> Any:
    raise StoreUnusable("away")


def test_a_claim_whose_answer_was_lost_is_given_back(opened: Callable[..., LeasedKeys]) -> None:
    mine, other = opened(), opened()
    claim = mine._claim

    def unheard(*given: Any) -> Any:
        claim(*given)
        raise StoreUnusable("the answer was lost")

    mine._claim = unheard  # type: ignore[method-assign]
    with pytest.raises(StoreUnusable):
        mine.claim("k", "call")
    assert other.claim("k", "call") == StoredCall("call", "running")
    mine._renew_now()
    assert other.claim("k", "call") is None
    # It is taken back more than once, and what others have claimed meanwhile is theirs.
    mine._renew_now()
    assert mine._unsent
    mine._renew_now()
    assert not mine._unsent
    assert opened().claim("k", "call") == StoredCall("call", "running")


def test_an_answer_that_could_not_be_kept_is_kept_later(opened: Callable[..., LeasedKeys]) -> None:
    mine, other = opened(), opened()
    assert mine.claim("k", "call") is None
    end = mine._end
    mine._end = broken  # type: ignore[method-assign]
    with pytest.raises(StoreUnusable):
        mine.finish("k", b"the answer")
    mine._end = end  # type: ignore[method-assign]
    assert other.claim("k", "call") == StoredCall("call", "running")
    mine._renew_now()
    assert other.claim("k", "call") == StoredCall("call", "done", b"the answer")


def test_nobody_waits_twice_for_a_store_that_is_frozen(redis_here: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.idempotency.keys_in_redis.TIMEOUT", 0.1)
    monkeypatch.setattr("failwell.idempotency.leased_keys._SLOW", 0.05)
    monkeypatch.setattr("failwell.idempotency.leased_keys._LOOK", 0.05)
    claims = KeysInRedis(redis_here.url, namespace=f"frozen {next(_names)}")
    assert redis_here.process is not None
    redis_here.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnusable):
            claims.claim("k", "call")
        assert claims._frozen
        with monkeypatch.context() as patched:
            patched.setattr(claims, "_claim", lambda *_: pytest.fail("somebody waits"))
            with pytest.raises(StoreUnusable, match="Timeout reading from socket"):
                claims.claim("other", "call")
    finally:
        redis_here.process.send_signal(signal.SIGCONT)
    while claims.problem() is not None:
        pass
    assert claims.claim("k", "call") is None
    claims.close()


def test_redis_killed_and_brought_back_knows_what_had_begun(redis_here: Redis) -> None:
    claims = KeysInRedis(redis_here.url, namespace="killed")
    assert claims.claim("k", "call") is None
    redis_here.kill()
    try:
        with pytest.raises(StoreUnusable, match=r"^redis://127\.0\.0\.1:\d+ does not answer: "):
            claims.claim("other", "call")
        with pytest.raises(StoreUnusable):
            claims.finish("k", b"the answer")
    finally:
        redis_here.start()
    claims._renew_now()
    assert claims.claim("k", "call") == StoredCall("call", "done", b"the answer")
    claims.close()


def test_a_redis_that_was_emptied_is_another_one(redis_here: Redis) -> None:
    claims = KeysInRedis(redis_here.url, namespace="emptied")
    assert claims.claim("k", "call") is None
    before = claims.instance
    redis_here.client().flushall()
    with pytest.raises(StoreUnusable, match="emptied"):
        claims.claim("k", "call")
    assert claims.instance != before
    assert claims.claim("k", "call") is None
    claims.close()


def test_a_redis_that_does_not_write_down_each_change_is_another_one_after_a_crash(tmp_path: Path) -> None:
    with running_redis(tmp_path, "--appendonly", "no") as server:
        claims = KeysInRedis(server.url)
        server.client().save()
        assert claims.claim("k", "call") is None
        claims.finish("k", b"the answer")
        before = claims.instance
        server.kill()
        server.start()
        with pytest.raises(StoreUnusable, match="emptied"):
            claims.claim("k", "call")
        assert claims.instance != before
        assert claims.former == (before,)
        claims.close()


def test_a_redis_that_forgets_is_refused(redis_here: Redis) -> None:
    with redis_here.client() as db:
        db.config_set("maxmemory", "100mb")
        db.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with pytest.raises(StoreUnusable, match="set it to noeviction"):
                KeysInRedis(redis_here.url)
        finally:
            db.config_set("maxmemory", "0")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://:hunter2@127.0.0.1:1", r"cannot use redis://127\.0\.0\.1:1: "),
        ("postgresql://u:hunter2@127.0.0.1:1/x", r"postgresql://127\.0\.0\.1/x cannot be used: "),
        ("postgresql://[", "cannot read the URL of the store"),
        ("mysql://x", "a shared store is redis://"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_without_its_password(url: str, words: str) -> None:
    with pytest.raises(StoreUnusable, match=words) as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_names_of_the_server_take_their_own_urls() -> None:
    with pytest.raises(ValueError, match="KeysInRedis takes a URL such as redis://localhost"):
        KeysInRedis("postgresql://localhost")
    with pytest.raises(ValueError, match="lease is a number of seconds above zero"):
        KeysInRedis("redis://localhost", lease=0)


def bank(store: Any, ledger: list[str], gate: asyncio.Event) -> MCPServer:
    server = MCPServer("bank", log_level="CRITICAL")

    @server.tool()
    async def pay(to: str) -> str:
        """Pay."""
        ledger.append(to)
        await gate.wait()
        return f"Paid {to}."

    return failwell.server.install(server, idempotency=store)


KEYED = {names.IDEMPOTENCY_KEY: "a key of the agent's"}


def test_two_replicas_that_get_the_same_key_at_once_pay_once(place: str) -> None:
    namespace = f"replicas {next(_names)}"
    one, other = keys_at(place, namespace=namespace), keys_at(place, namespace=namespace)
    assert isinstance(one, KeyStore)
    assert isinstance(one, HoldStore)
    ledger: list[str] = []

    async def story() -> None:
        gate = asyncio.Event()
        async with Client(bank(one, ledger, gate)) as first, Client(bank(other, ledger, gate)) as second:
            calls = [
                asyncio.ensure_future(each.call_tool("pay", {"to": "Ann"}, meta=KEYED)) for each in (first, second)
            ]
            while not ledger:
                await asyncio.sleep(0.01)
            gate.set()
            results = await asyncio.gather(*calls)
            texts = [result.content[0].text for result in results]
            marks = [(result.meta or {}).get("io.github.failwell/replayed") for result in results]
            assert (texts, sorted(marks, key=str)) == (["Paid Ann."] * 2, [None, True])

    asyncio.run(story())
    assert ledger == ["Ann"]
    one.close()
    other.close()


def test_a_new_call_is_made_after_the_store_was_emptied_and_an_old_one_is_not(redis_here: Redis) -> None:
    store = KeysInRedis(redis_here.url, namespace="emptied under agents")
    ledger: list[str] = []

    async def story() -> None:
        gate = asyncio.Event()
        gate.set()
        async with Recovering(Client(bank(store, ledger, gate)), jitter=lambda: 0.0) as agent:
            assert (await agent.call("pay", {"to": "Ann"})).ok
            redis_here.client().flushall()
            assert (await agent.call("pay", {"to": "Ben"})).ok
            async with Client(bank(store, ledger, gate)) as client:
                old = {names.IDEMPOTENCY_KEY: "old", names.IDEMPOTENCY_INSTANCE: store.former[0]}
                told = ((await client.call_tool("pay", {"to": "Cid"}, meta=old)).meta or {})[names.TOOL_ERROR]
                assert (told["code"], told["effect"]) == ("IDEMPOTENCY_UNFINISHED", "unknown")

    asyncio.run(story())
    assert ledger == ["Ann", "Ben"]
    store.close()


def test_the_first_call_goes_to_the_process_that_will_know_it(caplog: pytest.LogCaptureFixture) -> None:
    mine, other = KeysInMemory(), KeysInMemory()
    ledger: list[str] = []

    async def story() -> None:
        gate = asyncio.Event()
        gate.set()
        async with Client(bank(mine, ledger, gate)) as client:
            first = {names.IDEMPOTENCY_KEY: "new", names.IDEMPOTENCY_INSTANCE: other.instance}
            for more, told in (
                ({names.IDEMPOTENCY_FIRST: True}, ("UNAVAILABLE", "none")),
                ({}, ("IDEMPOTENCY_UNFINISHED", "unknown")),
            ):
                result = await client.call_tool("pay", {"to": "Ann"}, meta={**first, **more})
                error = (result.meta or {})[names.TOOL_ERROR]
                assert (error["code"], error["effect"]) == told

    asyncio.run(story())
    assert ledger == []


def test_while_the_store_is_away_keyed_calls_are_refused_and_others_are_made(tmp_path: Path) -> None:
    with running_redis(tmp_path) as server:
        store = KeysInRedis(server.url)
        ledger: list[str] = []

        async def story() -> None:
            gate = asyncio.Event()
            gate.set()
            async with Client(bank(store, ledger, gate)) as client:
                server.kill()
                refused = await client.call_tool("pay", {"to": "Ann"}, meta={**KEYED, names.IDEMPOTENCY_FIRST: True})
                told = (refused.meta or {})["io.github.failwell/tool-error"]
                assert (refused.is_error, told["code"], told["effect"], told["retryable"]) == (
                    True,
                    "UNAVAILABLE",
                    "none",
                    True,
                )
                plain = await client.call_tool("pay", {"to": "Ben"})
                assert not plain.is_error
                server.start()
                assert not (await client.call_tool("pay", {"to": "Ann"}, meta=KEYED)).is_error

        asyncio.run(story())
        assert ledger == ["Ben", "Ann"]
        store.close()


def test_answers_are_kept_for_their_time(opened: Callable[..., LeasedKeys]) -> None:
    store = opened(ttl=0.3, lease=0.1)
    assert store.claim("k", "call") is None
    store.finish("k", b"answer")
    assert store.claim("k", "call") in (StoredCall("call", "done", b"answer"), None)
    store.release("k")
    assert eventually(lambda: store.claim("k", "call"), None)


def test_two_relays_share_their_keys(place: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    options = ("--state", place)
    params = {"name": "pay_invoice", "arguments": {"id": "i1"}, "_meta": KEYED}
    with Wrapped(ledger, *options) as one, Wrapped(ledger, *options) as other:
        first = one.ask(1, "tools/call", params)
        assert other.ask(1, "tools/call", params) == first
        assert other.ask(2, "tools/call", {**params, "arguments": {"id": "i2"}})["result"]["isError"]
        assert one.done() == ["i1"]
