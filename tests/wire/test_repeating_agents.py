"""Agents that repeat what failed, at each place that holds a call: nothing is done twice before a look."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import commands

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import ledger_real
import ledger_run
import relay_ledger
from repeating_agents import TIMES, WAYS, Answered, Repeats, Way, repeat

SEED = 7


@pytest.fixture(scope="module", autouse=True)
def whoever_starts_the_servers() -> None:
    commands.python()


@pytest.mark.parametrize(
    "lane",
    [ledger_run.Lane("stdio", shared=True), ledger_run.Lane("http", "legacy", "fastmcp", shared=True)],
    ids=str,
)
def test_a_scripted_server_behind_the_client(lane: ledger_run.Lane) -> None:
    assert_nothing_twice(ledger_run.run_repeats(lane, str(SEED), 18))


@pytest.mark.parametrize("lane", ledger_real.REPEAT_LANES, ids=str)
def test_real_tools(lane: ledger_real.Lane) -> None:
    assert_nothing_twice(ledger_real.run_repeats(lane, str(SEED), 18))


def test_a_server_behind_the_relay() -> None:
    assert_nothing_twice(relay_ledger.run_repeats(SEED, 9))


def assert_nothing_twice(figures: Repeats) -> None:
    assert figures.wrong == []
    assert figures.looks
    assert figures.done


@pytest.mark.parametrize(("way", "wrong"), [("at once", True), ("after a look", True), ("never", False)])
def test_a_server_that_holds_nothing_is_caught(way: Way, wrong: bool) -> None:
    done = 0

    async def write() -> Answered:
        nonlocal done
        done += 1
        return Answered(False)

    async def look() -> bool:
        return True

    trail = asyncio.run(repeat("inv_1", way, write, look))
    assert trail.calls == done == (1 if way == "never" else 1 + TIMES)
    assert bool(trail.wrong(done)) is wrong
    # Before the look once, and once after it.
    assert trail.wrong(2 if way == "after a look" else 1) == []


def test_each_way_is_taken() -> None:
    assert set(WAYS) == {"at once", "after a look", "never"}
