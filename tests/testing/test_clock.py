"""The fake clock: time passes only when the test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from typing import Any

import anyio
import pytest

from failwell.testing import FakeClock

# asyncio is always there; trio is tried where it is installed.
BACKENDS = ["asyncio", *(["trio"] if find_spec("trio") else [])]


@pytest.fixture(params=BACKENDS)
def run(request: pytest.FixtureRequest) -> Any:
    return lambda work: anyio.run(work, backend=request.param)


def test_it_stands_still_until_it_is_moved() -> None:
    clock = FakeClock()
    assert (clock.monotonic(), clock.now()) == (0.0, datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(1.5)
    assert (clock.monotonic(), clock.now()) == (1.5, datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC))


def test_it_starts_when_it_is_told_and_speaks_utc() -> None:
    clock = FakeClock(start=datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))))
    assert clock.now().isoformat() == "2026-05-01T10:00:00+00:00"
    with pytest.raises(ValueError, match="time zone"):
        FakeClock(start=datetime(2026, 5, 1))


def test_time_does_not_go_back() -> None:
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="go back"):
            FakeClock().advance(seconds)


def test_a_sleep_returns_at_once_and_moves_the_time(run: Any) -> None:
    async def work() -> None:
        clock = FakeClock()
        for seconds in (3600, 0.25, 0, -1):
            await clock.sleep(seconds)
        assert clock.slept == [3600, 0.25, 0, -1]
        assert clock.monotonic() == 3600.25

    run(work)


def test_a_sleep_gives_others_their_turn_and_can_be_cancelled(run: Any) -> None:
    async def work() -> None:
        clock = FakeClock()
        turns: list[str] = []

        async def sleeper(name: str) -> None:
            for _ in range(2):
                turns.append(name)
                await clock.sleep(1)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper, "a")
            tasks.start_soon(sleeper, "b")
        assert sorted(turns[:2]) == ["a", "b"]
        with anyio.CancelScope() as scope:
            scope.cancel()
            await clock.sleep(1)
            turns.append("woke")
        assert "woke" not in turns

    run(work)


def test_without_auto_a_sleep_lasts_until_the_time_has_come(run: Any) -> None:
    async def work() -> None:
        clock = FakeClock(auto=False)
        woken: list[str] = []

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sleeper, "long", 10)
            tasks.start_soon(sleeper, "short", 2)
            tasks.start_soon(sleeper, "none", 0)
            await clock.until_sleeping(2)
            assert clock.sleeping == 2
            clock.advance(1.9)
            await anyio.wait_all_tasks_blocked()
            assert woken == ["none"]
            clock.advance(0.1)
            await anyio.wait_all_tasks_blocked()
            assert woken == ["none", "short"]
            clock.advance(100)
        assert woken == ["none", "short", "long"]
        assert clock.monotonic() == 102
        assert sorted(clock.slept) == [0, 2, 10]

    run(work)


def test_a_sleeper_that_is_cancelled_no_longer_sleeps(run: Any) -> None:
    async def work() -> None:
        clock = FakeClock(auto=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.sleep, 5)
            await clock.until_sleeping()
            tasks.cancel_scope.cancel()
        assert clock.sleeping == 0
        clock.advance(10)

    run(work)
