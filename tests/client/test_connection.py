"""Calls under way are cut off when they must be, and whoever else cancels them is not forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from failwell.client import connection
from failwell.client.connection import BrokenConnection, Connection, Live


class _Client:
    """A client that only connects."""

    async def __aenter__(self) -> _Client:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None


class _Driver:
    def fresh(self, ended: Callable[[], None], asking: Any, changed: Any) -> Any:
        return _Client()

    def is_alive(self, client: Any) -> bool:
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_GRACE", 0.0)


def live(check: Callable[[Live], Awaitable[None]]) -> None:
    async def main() -> None:
        opened = Connection(_Driver())  # type: ignore[arg-type]
        await check(await opened.open(60.0))
        await opened.close()

    asyncio.run(asyncio.wait_for(main(), 300))


async def for_ever(live: Live, timeout: float = 60.0) -> None:
    async with live.calling(timeout):
        await anyio.sleep_forever()


def cancellations() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


def test_a_call_that_is_forgotten_ends_and_its_task_goes_on() -> None:
    async def check(live: Live) -> None:
        with pytest.raises(TimeoutError):
            await for_ever(live, 0.0)
        assert cancellations() == 0
        assert not live.calls
        await anyio.sleep(0)

    live(check)


def test_a_call_ends_with_its_connection() -> None:
    async def check(live: Live) -> None:
        asyncio.get_running_loop().call_later(0.01, live.abandon)
        with pytest.raises(BrokenConnection):
            await for_ever(live)
        assert cancellations() == 0

    live(check)


def test_whoever_cancels_a_call_cancels_it_even_as_it_is_cut_off() -> None:
    async def check(live: Live) -> None:
        for also_cut in (False, True):
            task = asyncio.create_task(for_ever(live))
            while not live.calls:
                await anyio.sleep(0)
            if also_cut:
                for call in live.calls:
                    call.cut(TimeoutError())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()

    live(check)


@pytest.mark.parametrize("also_cut", [False, True])
def test_a_scope_around_a_call_ends_it(also_cut: bool) -> None:
    async def check(live: Live) -> None:
        with anyio.CancelScope() as scope:
            asyncio.get_running_loop().call_soon(scope.cancel)
            if also_cut:
                asyncio.get_running_loop().call_soon(lambda: [call.cut(TimeoutError()) for call in live.calls])
            await for_ever(live)
        assert scope.cancelled_caught
        assert cancellations() == 0
        await anyio.sleep(0)

    live(check)


def test_an_answer_that_comes_as_the_call_is_cut_off_counts() -> None:
    async def check(live: Live) -> None:
        async with live.calling(60.0):
            for call in live.calls:
                call.cut(TimeoutError())
            try:
                await anyio.sleep_forever()
            except asyncio.CancelledError:
                answer = "it came"
        assert answer == "it came"
        assert cancellations() == 0

    live(check)
