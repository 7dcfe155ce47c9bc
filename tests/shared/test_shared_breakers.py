"""Breakers that several machines share, in a real Redis and a real PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from databases import running_postgres, running_redis
from failwell import Policy, ToolError
from failwell.model import Effect
from failwell.recovery import Breakers
from failwell.recovery.patience import Patience
from failwell.shared import SharedBreakers, breakers_at, sessions_at

_names = count()
POLICY = Policy(break_after=2, break_for=10.0, max_delay=20.0)


@pytest.fixture(scope="module", params=["redis", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "redis":
        with running_redis(tmp_path_factory.mktemp("redis")) as server:
            yield server.url
        return
    import tempfile
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory(prefix="pg") as folder, running_postgres(Path(folder)) as found:
            yield found


@pytest.fixture
def relays(url: str) -> Iterator[list[tuple[Breakers, SharedBreakers]]]:
    """Two of them in front of one server, and one in front of another."""
    server = f"server {next(_names)}"
    made = []
    for name in (server, server, f"not {server}"):
        breakers = Breakers(POLICY)
        made.append((breakers, breakers_at(url, name, breakers, pause=3600.0)))
    yield made
    for _, shared in made:
        shared.close()


def test_what_one_finds_not_to_work_the_others_leave_alone(relays: list[tuple[Breakers, SharedBreakers]]) -> None:
    (one, ones), (other, others), (apart, aparts) = relays
    now = time.monotonic()
    assert not one.failed("pay", now)
    ones.turn()
    others.turn()
    assert other.wait("pay", now) is None
    assert one.failed("pay", now)
    for each in (ones, others, aparts):
        each.turn()
    found = other.wait("pay", time.monotonic())
    assert found is not None
    assert found[0] == 2
    assert 0 < found[1] <= 10
    assert apart.wait("pay", now) is other.wait("look", now) is None
    # When its time is over one call tries; it works, and all know.
    later = now + 30
    assert other.wait("pay", later) is None
    other.worked("pay")
    others.turn()
    ones.turn()
    assert one.wait("pay", time.monotonic()) is None
    assert not one


def test_while_the_store_is_away_each_goes_on_alone_and_tells_later(
    relays: list[tuple[Breakers, SharedBreakers]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (one, ones), (other, others), _ = relays
    now = time.monotonic()

    def away(*_: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(ones._store, "shut", away)
        one.failed("pay", now)
        one.failed("pay", now)
        with pytest.raises(ConnectionError):
            ones.turn()
        assert one.wait("pay", now) == (2, 10.0)
    ones.turn()
    others.turn()
    assert other.wait("pay", now) is not None


def test_a_session_is_worth_the_same_at_all_relays(url: str) -> None:
    policy = Policy(loop_after=3, loop_window=600.0, retry_budget=2)
    server = f"server {next(_names)}"
    shared = [sessions_at(url, server, pause=3600.0) for _ in range(2)]
    one, other = (Patience(policy, elsewhere=each.session("of ann")) for each in shared)
    bobs = Patience(policy, elsewhere=shared[1].session("of bob"))
    missing = ToolError("There is no such thing", code="NOT_FOUND", kind="not_found")

    def turn() -> None:
        for each in (*shared, shared[0]):
            each.turn()

    now, call = time.monotonic(), ("find", {"id": 7})
    assert [one.times(*call, missing, now) for _ in range(2)] == [1, 2]
    turn()
    assert other.refuses(*call, now, first=True) is None
    assert other.times(*call, missing, now) == 3
    turn()
    for each in (one, other):
        refusal = each.refuses(*call, now, first=True)
        assert refusal is not None
        assert refusal.message.startswith("Not called: the same call failed 3 times in the same way.")
        assert refusal.code == "NOT_FOUND"
    assert bobs.refuses(*call, now, first=True) is None
    # Something was done, after which it may work.
    other.worked("make", {}, changed=True)
    turn()
    assert one.refuses(*call, now, first=True) is None
    passing = ToolError("It is down", code="UNAVAILABLE")
    assert one.take(passing)
    turn()
    assert other.take(passing)
    turn()
    assert (one.take(passing), other.take(passing), bobs.take(passing)) == (False, False, True)
    for shares in shared:
        shares.close()


def test_a_call_that_failed_at_another_relay_alone_is_refused_as_one(url: str) -> None:
    policy = Policy(loop_after=2, loop_window=600.0)
    server = f"server {next(_names)}"
    shared = [sessions_at(url, server, pause=3600.0) for _ in range(2)]
    one, other = (Patience(policy, elsewhere=each.session("of ann")) for each in shared)
    now, lost = time.monotonic(), ToolError("The answer was lost", code="UPSTREAM_ERROR", effect="unknown")
    assert [one.times("pay", {"id": 7}, lost, now) for _ in range(2)] == [1, 2]
    for each in shared:
        each.turn()
    refusal = other.refuses("pay", {"id": 7}, now, first=True)
    assert refusal is not None
    assert (refusal.code, refusal.effect) == ("UPSTREAM_ERROR", Effect.UNKNOWN)
    assert refusal.message.startswith("Not called: the same call failed twice in the same way.")
    for shares in shared:
        shares.close()


def test_nobody_has_a_tool_left_alone_for_longer_than_it_would_be_anyway() -> None:
    breakers = Breakers(POLICY)
    breakers.heard("pay", 9, 1e9, 100.0)
    assert breakers.wait("pay", 100.0) == (9, 20.0)
    breakers.heard("pay", 9, -5.0, 100.0)
    assert breakers.wait("pay", 100.0) == (9, 20.0)
