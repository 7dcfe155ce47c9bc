"""Tools that really raise after they really did something, and what is said of it; `make soak` makes more calls."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import ledger_real
from ledger_real import LANES, Lane, run, shares
from ledger_real_answers import ANSWERS
from ledger_real_causes import CAUSES
from ledger_real_check import ADVICE, DENIED, GAMBLED, HUNG, LOST, MISSTATED, NONE, TWICE, UNTRUE, WHATS, check
from ledger_real_clients import Heard, Word
from ledger_real_gateway import GATES
from ledger_real_plan import KINDS, Job, Server, Step, draw, is_owed, may_follow
from ledger_real_words import STATED

SEED = "make test"
CALLS = 512
BARE = Server("mcpserver", "http", installed=False)
INSTALLED = Server("mcpserver", "http")
KEYED = Server("mcpserver", "http", keyed=True)


@pytest.mark.parametrize(("lane", "calls"), list(zip(LANES, shares(CALLS), strict=True)), ids=list(map(str, LANES)))
def test_what_may_have_been_done_is_not_made_twice_and_not_said_to_be_nothing(lane: Lane, calls: int) -> None:
    tally = run(lane, f"{SEED} {lane}", calls, agents=4)
    assert [str(wrong) for wrong in tally.wrong] == [], f"seed: {SEED} {lane}"
    assert tally.calls == calls
    # The tools were there, and did something.
    assert tally.ran >= calls // 2


def test_a_client_that_repeats_everything_is_caught() -> None:
    tally = run(Lane(BARE, "repeat everything"), SEED, 16)
    assert tally.count(TWICE)
    assert tally.count(GAMBLED)


def test_a_client_that_says_that_nothing_was_done_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar(Word):
        async def call(self, job: Any) -> Any:
            said = await super().call(job)
            said.ok, said.effect = False, "none"
            return said

    @asynccontextmanager
    async def liar(server: Any) -> AsyncIterator[Any]:
        async with server.mcp() as client:
            yield Liar(client)

    monkeypatch.setitem(ledger_real.CLIENTS, "liar", liar)
    tally = run(Lane(Server("mcpserver", "stdio", installed=False), "liar"), SEED, 16)
    assert tally.count(NONE)
    assert tally.count(DENIED)


def after(tool: str = "pay", cause: str = "KeyError", **more: Any) -> Job:
    return Job("1", tool, (Step(cause, "after", **more),))


def before(tool: str = "pay", cause: str = "KeyError", **more: Any) -> Job:
    return Job("1", tool, (Step(cause, "before", **more),))


BUSY = "stated: busy, none"
LIMITED = "Rate limit exceeded, try again in 1 second"
DONE, HALF, NOTHING = Counter(debit=1, credit=1), Counter(debit=1), Counter[str]()


@pytest.mark.parametrize(
    ("said", "lines", "runs", "server", "wrong"),
    [
        (Heard(Job("1", "pay"), ok=True), DONE, 1, BARE, []),
        (Heard(after(), effect="unknown"), DONE, 1, BARE, []),
        (Heard(after(), effect="unknown", texts=["It broke. Do not call again."]), DONE, 1, BARE, []),
        (Heard(after(cause="ToolError, limit"), effect="unknown", texts=[LIMITED]), DONE, 1, BARE, []),
        (Heard(before(cause=BUSY), ok=True), DONE, 2, INSTALLED, []),
        (Heard(before(guarded=True), effect="none"), NOTHING, 1, INSTALLED, []),
        (Heard(after("set_price"), ok=True), DONE + DONE, 2, INSTALLED, []),
        (Heard(Job("1", "pay", gates=("502",)), effect="unknown"), DONE, 1, BARE, []),
        (Heard(Job("1", "pay", gates=("502",)), ok=True), DONE, 1, KEYED, []),
        (Heard(Job("1", "pay"), ok=True), DONE + DONE, 2, BARE, [TWICE, GAMBLED]),
        (Heard(before(), ok=True), DONE, 2, INSTALLED, [GAMBLED]),
        (Heard(before(cause=BUSY), ok=True), DONE, 2, BARE, [GAMBLED]),
        (Heard(before("draw_ticket"), ok=True), DONE, 2, INSTALLED, [GAMBLED]),
        (Heard(Job("1", "pay", gates=("502",)), ok=True), DONE + DONE, 2, KEYED, [TWICE, GAMBLED]),
        (Heard(after(), effect="none"), DONE, 1, BARE, [NONE]),
        (Heard(after("set_price"), effect="none"), HALF, 1, BARE, [NONE]),
        (Heard(after(), effect="unknown", stated=["none"]), DONE, 1, BARE, [NONE]),
        (Heard(after(), effect="unknown", texts=["Nothing was done."]), DONE, 1, BARE, [NONE]),
        (Heard(after(), effect="done"), HALF, 1, BARE, [UNTRUE]),
        (Heard(Job("1", "pay", answer="typed busy"), effect="unknown"), DONE, 1, BARE, [DENIED]),
        (Heard(Job("1", "set_price", answer="typed busy"), effect="unknown"), DONE, 1, BARE, [DENIED]),
        (Heard(Job("1", "find_order", gates=("502",))), NOTHING, 1, BARE, [LOST]),
        (Heard(Job("1", "find_order")), NOTHING, 1, BARE, [LOST]),
        (Heard(Job("1", "pay", gates=("502",)), effect="unknown"), DONE, 1, KEYED, [LOST]),
        (Heard(before(cause=BUSY), effect="none"), NOTHING, 1, INSTALLED, [LOST]),
        (Heard(after(), effect="unknown", hung=True), DONE, 1, BARE, [HUNG]),
        (Heard(after(), effect="unknown", texts=["Wait, then make the same call again."]), DONE, 1, BARE, [ADVICE]),
    ],
)
def test_the_checker_tells_what_holds_from_what_does_not(
    said: Heard, lines: Counter[str], runs: int, server: Server, wrong: list[str]
) -> None:
    assert [each.what for each in check([said], {"1": lines}, {"1": runs}, server).wrong] == wrong


@pytest.mark.parametrize(
    ("job", "effect", "holds"),
    [
        (after(), "unknown", True),
        (before(), "unknown", True),
        (before(), "none", False),
        (after(), None, False),
        (before("set_price"), "none", False),
        (before("find_order"), "none", True),
        (before("draw_ticket"), None, True),
        (before("draw_ticket"), "none", False),
        (before(cause=BUSY), "none", True),
        (before(cause=BUSY), "unknown", False),
        (before(guarded=True), "none", True),
        (after(guarded=True), "done", True),
        (after(guarded=True), "unknown", False),
    ],
)
def test_the_servers_word_is_held_against_what_it_can_know(job: Job, effect: str | None, holds: bool) -> None:
    lines = DONE if job.steps[0].at == "after" else NOTHING
    found = check([Heard(job, effect=effect)], {"1": lines}, {"1": 1}, INSTALLED, owes=False, words=True)
    assert [each.what for each in found.wrong] == ([] if holds else [MISSTATED])


def test_the_law_says_who_may_run_again_and_who_must() -> None:
    assert not may_follow(before(), 1, INSTALLED)
    assert may_follow(before(cause=BUSY), 1, INSTALLED)
    assert not may_follow(before(cause=BUSY), 2, INSTALLED)
    assert may_follow(after("find_order"), 3, BARE)
    assert is_owed(before("find_order", "httpx2 503"), INSTALLED)
    assert not is_owed(before("find_order", "httpx2 503"), BARE)
    assert not is_owed(before("find_order", "httpx2 404"), INSTALLED)
    assert not is_owed(before("pay", "httpx2 503"), INSTALLED)
    assert is_owed(before("pay", "httpx2 503", guarded=True), INSTALLED)


def test_the_same_seed_gives_the_same_calls_and_everything_is_drawn() -> None:
    assert draw("7", 50, INSTALLED) == draw("7", 50, INSTALLED)
    assert draw("7", 50, INSTALLED) != draw("8", 50, INSTALLED)
    jobs = draw("7", 20_000, INSTALLED)
    assert {job.tool for job in jobs} == set(KINDS)
    assert {step.cause for job in jobs for step in job.steps} == set(CAUSES)
    assert {gate for job in jobs for gate in job.gates} == set(GATES)
    assert {job.answer for job in jobs} == set(ANSWERS)
    assert not {step.cause for job in draw("7", 2000, BARE) for step in job.steps} & set(STATED)
    assert not [job for job in draw("7", 2000, Server(transport="stdio")) if job.gates]
    assert sum(shares(CALLS)) == CALLS
    assert len(set(WHATS)) == len(WHATS)
