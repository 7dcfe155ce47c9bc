"""Hooks are told of each call, and cannot harm one."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from typing import Any

import pytest

import failwell as fw
from failwell.observe import CallEvent, Hook, events, new_id
from failwell.observe.events import emit

EVENT = CallEvent(tool="search", ok=True, seconds=0.5, at=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture(autouse=True)
def nothing_reported_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_reported", {})


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False

    def __call__(self, event: CallEvent) -> None:
        raise RuntimeError("broken")


def test_each_hook_gets_the_event() -> None:
    first: list[CallEvent] = []
    second: list[CallEvent] = []
    emit([first.append, second.append], EVENT)
    assert first == second == [EVENT]
    assert first[0] is EVENT


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        EVENT.ok = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        CallEvent("search", True, 0.5, datetime.now(UTC))  # type: ignore[call-arg]


@pytest.mark.checklist(170)
def test_the_status_of_an_event_is_not_its_text() -> None:
    error = fw.Conflict("Success: everything went well.", code="LOCKED")
    event = CallEvent(tool="t", ok=False, seconds=0, at=EVENT.at, error=error)
    assert (event.ok, event.error and event.error.code) == (False, "LOCKED")


def test_a_hook_that_raises_is_not_felt_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    got: list[CallEvent] = []

    def broken(event: CallEvent) -> None:
        raise RuntimeError("no route to postgres://app:hunter2@db/main")

    hooks: list[Hook] = [broken, Unhashable(), got.append]
    for _ in range(3):
        emit(hooks, EVENT)
    assert got == [EVENT] * 3
    assert [(record.name, record.levelno, record.getMessage()) for record in caplog.records] == [
        (
            "failwell.observe",
            logging.WARNING,
            "The hook test_a_hook_that_raises_is_not_felt_and_reported_once.<locals>.broken raised, which is said only "
            "once: RuntimeError: no route to postgres://app:[redacted]@db/main",
        ),
        (
            "failwell.observe",
            logging.WARNING,
            "The hook Unhashable raised, which is said only once: RuntimeError: broken",
        ),
    ]


def test_an_async_hook_is_refused_and_not_left_hanging(caplog: pytest.LogCaptureFixture) -> None:
    async def later(event: CallEvent) -> None: ...

    emit([later], EVENT)
    assert "a hook is a plain function, not an async one" in caplog.text


def test_a_log_that_raises_is_not_felt_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(events.log, "warning", broken)
    emit([broken], EVENT)


@pytest.mark.parametrize("order", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_orders_to_stop_pass(order: type[BaseException]) -> None:
    def stop(event: CallEvent) -> None:
        raise order

    with pytest.raises(order):
        emit([stop], EVENT)


def test_broken_hooks_do_not_fill_the_memory() -> None:
    for _ in range(500):
        emit([Unhashable()], EVENT)
    assert len(events._reported) == 100


def test_ids_are_short_and_never_the_same() -> None:
    made = {new_id() for _ in range(10_000)}
    assert len(made) == 10_000
    assert all(re.fullmatch("[0-9a-f]{12}", each) for each in made)
    assert all(fw.Guard()(fw.ToolError(f"See {each}.")).message == f"See {each}." for each in made)
