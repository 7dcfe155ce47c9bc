"""Keys that several machines share, in a real Redis and a real PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

import failwell.server
from databases import Redis, running_redis
from failwell.client import Recovering
from failwell.formats import keys as names
from failwell.server import Kept, KeysInMemory, KeysInPostgres, KeysInRedis, KeyStore
from failwell.shared import Claimed, SharedClaims, StoreUnusable, claims_at

sys.path.append(str(Path(__file__).parents[1] / "relay"))
from wrapped import Wrapped

PATIENCE = 60.0
_names = count()


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., SharedClaims]]:
    """Claims as one process has them; each call is another process, of the same namespace."""
    namespace = f"test {next(_names)}"
    made: list[SharedClaims] = []

    def make(**options: Any) -> SharedClaims:
        made.append(claims_at(url, **{"namespace": namespace, **options}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def keys(url: str, namespace: str, **options: Any) -> Any:
    kind = KeysInRedis if url.startswith("redis") else KeysInPostgres
    return kind(url, namespace=namespace, **options)


def test_a_key_is_claimed_once_and_known_by_all(opened: Callable[..., SharedClaims]) -> None:
    one, other = opened(), opened()
    assert one.instance == other.instance
    assert one.begin("k", "call") is None
    assert other.begin("k", "call") == one.begin("k", "call") == Claimed("call", "running")
    one.finish("k", "the answer")
    assert other.begin("k", "another call") == Claimed("call", "done", "the answer")
    # Whoever has not begun it has nothing to say about it.
    other.forget("k")
    other.lose("k")
    assert one.begin("k", "call") == Claimed("call", "done", "the answer")


def test_what_did_nothing_is_free_and_what_nobody_knows_stays_so(opened: Callable[..., SharedClaims]) -> None:
    one, other = opened(), opened()
    assert one.begin("k", "call") is None
    one.forget("k")
    assert other.begin("k", "call") is None
    other.lose("k")
    assert one.begin("k", "call") == Claimed("call", "lost")


def test_namespaces_are_apart(url: str) -> None:
    one, other = claims_at(url, namespace="a"), claims_at(url, namespace="b")
    assert one.instance != other.instance
    assert one.begin("apart", "call") is other.begin("apart", "call") is None
    one.close()
    other.close()


def test_of_many_at_once_one_has_the_key(opened: Callable[..., SharedClaims]) -> None:
    replicas = [opened() for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        for number in range(12):
            found = list(pool.map(lambda each, key=f"k{number}": each.begin(key, "call"), replicas * 4))
            assert [each for each in found if each is not None] == [Claimed("call", "running")] * 15


def test_what_a_dead_process_began_is_lost_and_never_free(url: str, opened: Callable[..., SharedClaims]) -> None:
    namespace = f"dying {next(_names)}"
    begins = (
        "import os, sys; from failwell.shared import claims_at; "
        "claims = claims_at(sys.argv[1], namespace=sys.argv[2], lease=0.3); "
        "print(claims.begin('k', 'call'), flush=True); os._exit(1)"
    )
    told = subprocess.run([sys.executable, "-c", begins, url, namespace], stdout=subprocess.PIPE, check=False)
    assert told.stdout == b"None\n"
    mine = opened(namespace=namespace)
    until = time.monotonic() + PATIENCE
    while (found := mine.begin("k", "call")) == Claimed("call", "running") and time.monotonic() < until:
        time.sleep(0.02)
    assert found == mine.begin("k", "call") == Claimed("call", "lost")


# Takes the key, and pays when it is told to.
PAYS = """
import sys
from pathlib import Path
from failwell.shared import claims_at
claims = claims_at(sys.argv[1], namespace=sys.argv[2], lease=0.2, ttl=0.4)
assert claims.begin("k", "call") is None
print("begun", flush=True)
sys.stdin.readline()
Path(sys.argv[3]).open("a").write("paid\\n")
claims.finish("k", "the answer")
print("paid", flush=True)
"""


def test_a_frozen_holder_keeps_its_key_past_lease_and_ttl(
    url: str, opened: Callable[..., SharedClaims], tmp_path: Path
) -> None:
    namespace, ledger = f"frozen holder {next(_names)}", tmp_path / "ledger"
    mine = opened(namespace=namespace, lease=0.2, ttl=0.4)
    command = [sys.executable, "-c", PAYS, url, namespace, str(ledger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "begun\n"
        holder.send_signal(signal.SIGSTOP)
        try:
            assert eventually(lambda: mine.begin("k", "call"), Claimed("call", "lost"))
            assert mine.begin("answered", "call") is None
            mine.finish("answered", "answer")
            assert eventually(lambda: mine.begin("answered", "call"), None)
            mine._turn()
            assert mine.begin("k", "call") == Claimed("call", "lost")
        finally:
            holder.send_signal(signal.SIGCONT)
        assert eventually(lambda: mine.begin("k", "call"), Claimed("call", "running"))
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "paid\n"
        assert mine.begin("k", "call") == Claimed("call", "done", "the answer")
    assert ledger.read_text() == "paid\n"


def eventually(look: Callable[[], object], wanted: object) -> bool:
    until = time.monotonic() + PATIENCE
    while look() != wanted and time.monotonic() < until:
        time.sleep(0.02)
    return time.monotonic() < until


def test_a_running_call_keeps_its_key_past_ttl_without_a_renewal(opened: Callable[..., SharedClaims]) -> None:
    one, other = opened(lease=0.2, ttl=0.4), opened(lease=0.2, ttl=0.4)
    one._renew = broken  # type: ignore[method-assign]
    assert one.begin("k", "call") is other.begin("answered", "call") is None
    other.finish("answered", "answer")
    assert eventually(lambda: other.begin("answered", "call"), None)
    other._turn()
    assert other.begin("k", "call") == Claimed("call", "lost")


def test_a_renewal_on_its_way_does_not_make_an_ended_call_run_again(opened: Callable[..., SharedClaims]) -> None:
    one = opened()
    for key, end in (("finished", one.finish), ("lost", one.lose)):
        assert one.begin(key, "call") is None
        running = dict(one._tokens)
        end(*(key, "answer")[: 2 if key == "finished" else 1])
        one._renew(running)
    assert one.begin("finished", "call") == Claimed("call", "done", "answer")
    assert one.begin("lost", "call") == Claimed("call", "lost")


def test_a_ttl_below_twice_the_lease_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(ValueError, match=r"^ttl must be at least twice the lease: ttl is 59 seconds, the lease 30\.$"):
        keys(url, "short", ttl=59)


def test_a_lease_is_renewed_while_its_process_lives(opened: Callable[..., SharedClaims]) -> None:
    one, other = opened(lease=0.3), opened()
    turns: list[dict[str, str]] = []
    renew = one._renew
    one._renew = lambda running: (renew(running), turns.append(running))[0]  # type: ignore[method-assign]
    assert one.begin("k", "call") is None
    until = time.monotonic() + PATIENCE
    while len(turns) < 6 and time.monotonic() < until:
        time.sleep(0.02)
    # Two leases have passed.
    assert turns[-1].keys() == {"k"}
    assert other.begin("k", "call") == Claimed("call", "running")


def test_a_fork_is_another_process(opened: Callable[..., SharedClaims]) -> None:
    mine = opened()
    assert mine.begin("parent", "call") is None
    child = os.fork()
    if child == 0:
        try:
            alright = mine.begin("parent", "call") == Claimed("call", "running") and mine.begin("child", "call") is None
            os._exit(0 if alright else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    mine.finish("parent", "done")
    assert mine.begin("parent", "call") == Claimed("call", "done", "done")


def broken(*_: Any, **__: Any) -> Any:
    raise StoreUnusable("away")


def test_a_claim_whose_answer_was_lost_is_given_back(opened: Callable[..., SharedClaims]) -> None:
    mine, other = opened(), opened()
    begin = mine._begin

    def unheard(*given: Any) -> Any:
        begin(*given)
        raise StoreUnusable("the answer was lost")

    mine._begin = unheard  # type: ignore[method-assign]
    with pytest.raises(StoreUnusable):
        mine.begin("k", "call")
    assert other.begin("k", "call") == Claimed("call", "running")
    mine._turn()
    assert other.begin("k", "call") is None
    # It is taken back more than once, and what others have claimed meanwhile is theirs.
    mine._turn()
    assert mine._owed
    mine._turn()
    assert not mine._owed
    assert opened().begin("k", "call") == Claimed("call", "running")


def test_an_answer_that_could_not_be_kept_is_kept_later(opened: Callable[..., SharedClaims]) -> None:
    mine, other = opened(), opened()
    assert mine.begin("k", "call") is None
    end = mine._end
    mine._end = broken  # type: ignore[method-assign]
    with pytest.raises(StoreUnusable):
        mine.finish("k", "the answer")
    mine._end = end  # type: ignore[method-assign]
    assert other.begin("k", "call") == Claimed("call", "running")
    mine._turn()
    assert other.begin("k", "call") == Claimed("call", "done", "the answer")


def test_nobody_waits_twice_for_a_store_that_is_frozen(redis_here: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.shared.in_redis.PATIENCE", 0.1)
    monkeypatch.setattr("failwell.shared.claims._SLOW", 0.05)
    monkeypatch.setattr("failwell.shared.claims._LOOK", 0.05)
    claims = claims_at(redis_here.url, namespace=f"frozen {next(_names)}")
    assert redis_here.process is not None
    redis_here.process.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnusable):
            claims.begin("k", "call")
        assert claims.is_stuck
        with monkeypatch.context() as patched:
            patched.setattr(claims, "_begin", lambda *_: pytest.fail("somebody waits"))
            with pytest.raises(StoreUnusable, match="Timeout reading from socket"):
                claims.begin("other", "call")
    finally:
        redis_here.process.send_signal(signal.SIGCONT)
    while claims.problem() is not None:
        pass
    assert claims.begin("k", "call") is None
    claims.close()


def test_redis_killed_and_brought_back_knows_what_had_begun(redis_here: Redis) -> None:
    claims = claims_at(redis_here.url, namespace="killed")
    assert claims.begin("k", "call") is None
    redis_here.kill()
    try:
        with pytest.raises(StoreUnusable, match=r"^redis://127\.0\.0\.1:\d+ does not answer: "):
            claims.begin("other", "call")
        with pytest.raises(StoreUnusable):
            claims.finish("k", "the answer")
    finally:
        redis_here.start()
    claims._turn()
    assert claims.begin("k", "call") == Claimed("call", "done", "the answer")
    claims.close()


def test_a_redis_that_was_emptied_is_another_one(redis_here: Redis) -> None:
    claims = claims_at(redis_here.url, namespace="emptied")
    assert claims.begin("k", "call") is None
    before = claims.instance
    redis_here.client().flushall()
    with pytest.raises(StoreUnusable, match="emptied"):
        claims.begin("k", "call")
    assert claims.instance != before
    assert claims.begin("k", "call") is None
    claims.close()


def test_a_redis_that_does_not_write_down_each_change_is_another_one_after_a_crash(tmp_path: Path) -> None:
    with running_redis(tmp_path, "--appendonly", "no") as server:
        claims = claims_at(server.url)
        server.client().save()
        assert claims.begin("k", "call") is None
        claims.finish("k", "the answer")
        before = claims.instance
        server.kill()
        server.start()
        with pytest.raises(StoreUnusable, match="emptied"):
            claims.begin("k", "call")
        assert claims.instance != before
        assert claims.former == (before,)
        claims.close()


def test_a_redis_that_forgets_is_refused(redis_here: Redis) -> None:
    with redis_here.client() as db:
        db.config_set("maxmemory", "100mb")
        db.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with pytest.raises(StoreUnusable, match="set it to noeviction"):
                claims_at(redis_here.url)
        finally:
            db.config_set("maxmemory", "0")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://:hunter2@127.0.0.1:1", r"cannot use redis://127\.0\.0\.1:1: "),
        ("postgresql://u:hunter2@127.0.0.1:1/x", r"postgresql://127\.0\.0\.1/x cannot be used: "),
        ("postgresql://[", "cannot read the URL of the store"),
        ("mysql://x", "a shared store is redis://"),
        ("keys.db", "a shared store is redis://"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line_without_its_password(url: str, words: str) -> None:
    with pytest.raises(StoreUnusable, match=words) as caught:
        claims_at(url)
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


def test_two_replicas_that_get_the_same_key_at_once_pay_once(url: str) -> None:
    namespace = f"replicas {next(_names)}"
    one, other = keys(url, namespace), keys(url, namespace)
    assert isinstance(one, KeyStore)
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


def test_answers_are_kept_for_their_time(url: str) -> None:
    store = keys(url, f"ttl {next(_names)}", ttl=0.3, lease=0.1)

    async def story() -> None:
        assert await store.begin("k", "call") is None
        await store.finish("k", "answer")
        kept = await store.begin("k", "call")
        assert kept in (Kept("call", "answer"), None)
        until = time.monotonic() + PATIENCE
        while kept is not None and time.monotonic() < until:
            await asyncio.sleep(0.02)
            kept = await store.begin("k", "call")
        assert kept is None

    asyncio.run(story())
    store.close()


def test_two_relays_share_their_keys(url: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    options = ("--state", url)
    params = {"name": "pay_invoice", "arguments": {"id": "i1"}, "_meta": KEYED}
    with Wrapped(ledger, *options) as one, Wrapped(ledger, *options) as other:
        first = one.ask(1, "tools/call", params)
        assert other.ask(1, "tools/call", params) == first
        assert other.ask(2, "tools/call", {**params, "arguments": {"id": "i2"}})["result"]["isError"]
        assert one.done() == ["i1"]
