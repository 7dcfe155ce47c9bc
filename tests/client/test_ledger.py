"""Agents whose server fails at every point, held against the ledger of what was really done; `make soak` makes more."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared import _httpx_utils

import commands
from failwell.client import Recovering
from failwell.model.codes import Effect as Done
from failwell.model.decision import Decision, Next, Policy
from failwell.recovery import engine
from failwell.testing import Call, Fault, RecordedEffect, Script, Tool, scripted

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import ledger_keys
from ledger_check import Said, Tally, check
from ledger_plan import KINDS, MAX_ATTEMPTS, Job, Known, Strike, draw, is_owed
from ledger_run import LANES, Lane, run

SEED = "make test"
CALLS = 24


@pytest.fixture(scope="module", autouse=True)
def whoever_starts_the_servers() -> None:
    """What a run leaves behind is counted, and this one stays."""
    commands.python()


@pytest.mark.parametrize("lane", LANES, ids=str)
def test_nothing_is_done_twice_nothing_is_said_that_is_not_so_and_what_can_succeed_does(lane: Lane) -> None:
    tally = run(lane, f"{SEED} {lane}", CALLS, agents=16 if lane.shared else 6)
    assert (tally.wrong, tally.left) == ([], []), f"seed: {SEED} {lane}"
    assert (tally.calls, tally.twice, tally.gambled, tally.lies, tally.lost) == (CALLS, 0, 0, 0, 0)
    # Something was there to be recovered from, and to be in doubt about.
    assert tally.recovered
    assert tally.verified
    assert tally.owed


def test_a_client_that_repeats_everything_is_caught() -> None:
    tally = run(Lane("stdio", peer="repeat everything"), SEED, 30, agents=8)
    assert tally.twice
    assert tally.gambled
    assert tally.wrong


def test_a_recovering_client_that_always_retries_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "decide", lambda *_, **__: Decision(Next.RETRY, "Why not.", delay=0.01))
    tally = run(Lane("stdio"), SEED, 30, agents=8)
    assert tally.twice
    assert tally.gambled


def test_a_recovering_client_that_says_that_nothing_was_done_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(self: Any, error: Any, tools: Any, **_: Any) -> Any:
        return error.replace(effect=Done.NONE)

    monkeypatch.setattr(engine.Run, "_in_all", lie)
    assert run(Lane("stdio"), SEED, 30, agents=8).lies


def test_a_recovering_client_that_gives_up_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "decide", lambda *_, **__: Decision(Next.GIVE_UP, "No.", doubtful=True))
    assert run(Lane("stdio"), SEED, 30, agents=8).lost


def test_a_key_makes_a_lost_answer_recoverable_or_unknown_and_never_twice() -> None:
    # With sessions, which die with the server.
    figures = ledger_keys.run(SEED, 16, keys=True, mode="legacy")
    assert (figures.wrong, figures.twice, figures.lies, figures.lost) == ([], 0, 0, 0)
    assert figures.recovered
    assert figures.unfinished
    without = ledger_keys.run(SEED, 16, keys=False)
    assert (without.wrong, without.twice, without.lies) == ([], 0, 0)
    assert without.succeeded < figures.succeeded


def job(tool: str, *met: Known) -> Job:
    return Job("1", tool, tuple(Strike(known, Fault.text("no"), known) for known in met))


def held_against(said: Said, *parts: bool, attempts: int = 1, **options: Any) -> Tally:
    """What the checker says of one call, with these lines in the ledger, each the whole effect or a part."""
    when = datetime.fromtimestamp(100, UTC)
    tool = said.job.tool
    calls = [Call(str(number), tool, {"id": "1"}, "1", number, None, when) for number in range(1, attempts + 1)]
    effects = [RecordedEffect(calls[min(number, attempts - 1)], part, when) for number, part in enumerate(parts)]
    return check([said], calls, effects, over_http=True, **options)


WHOLE, PART = False, True
VERIFY = {"tool": "get_payment", "arguments": {"id": "1"}}


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        (Said(job("pay"), ok=True), [WHOLE]),
        (Said(job("find_order"), ok=True), []),
        (Said(job("set_price"), ok=True), [WHOLE, WHOLE]),
        (Said(job("pay", "final"), effect="none"), []),
        (Said(job("pay", "told"), effect="done"), [WHOLE]),
        (Said(job("pay", "told"), effect="partial"), [PART]),
        (Said(job("pay", "doubt"), effect="unknown", verify=VERIFY, told=1), [PART]),
        (Said(job("send_fax", "doubt"), effect="unknown"), [WHOLE]),
        # The server said that it worked; of a write that is all that anybody can know.
        (Said(job("pay", "claimed"), ok=True), []),
        (Said(job("set_price", "worded"), ok=True), []),
        # What may simply be done again need not be said to have been done.
        (Said(job("set_price", "final")), [WHOLE]),
    ],
)
def test_the_checker_is_content_with_what_is_so(said: Said, lines: list[bool]) -> None:
    assert held_against(said, *lines).wrong == []


@pytest.mark.parametrize(
    ("said", "lines", "complaint"),
    [
        (Said(job("pay"), ok=True), [], "said to be done, and is not"),
        (Said(job("pay"), ok=True), [PART], "said to be done, and is not"),
        (Said(job("pay"), ok=True), [WHOLE, WHOLE], "done 2 times"),
        (Said(job("set_price"), ok=True), [PART], "said to be done, and is not"),
        (Said(job("pay", "final"), effect="none"), [PART], "said not to be done, and is"),
        (Said(job("set_price", "final"), effect="none"), [WHOLE], "said not to be done, and is"),
        (Said(job("pay", "told"), effect="done"), [PART], "said to be done, and is not"),
        (Said(job("pay", "told"), effect="partial"), [WHOLE], "said to be done in part, and is not"),
        (Said(job("pay", "doubt"), effect="unknown"), [], "the call that would tell is None"),
        (Said(job("pay", "doubt"), effect="unknown", verify=VERIFY), [], "did not answer"),
        (Said(job("pay", "doubt"), effect="unknown", verify=VERIFY, told=0), [WHOLE], "says 0, the ledger 1"),
        (Said(job("send_fax", "doubt"), effect="unknown", verify=VERIFY), [], "names a check where there is none"),
        (Said(job("pay", "refused"), effect="none"), [], "it had to succeed"),
        (Said(job("find_order", "doubt")), [], "it had to succeed"),
        (Said(job("find_order", "claimed"), ok=True), [], "a failure in a success was not tried again"),
        (Said(job("set_price", "claimed"), ok=True), [], "said to be done, and is not"),
        (Said(job("pay", "doubt"), effect="unknown", hung=True), [], "the call hung"),
        (Said(job("pay", "doubt"), effect="unknown", aborted=True), [], "the agent was cancelled"),
    ],
)
def test_the_checker_complains_about_what_is_not_so(said: Said, lines: list[bool], complaint: str) -> None:
    assert complaint in " ".join(held_against(said, *lines).wrong)


def test_a_success_that_was_tried_again_is_still_the_servers_word() -> None:
    said = Said(job("set_price", "claimed", "final"), ok=True)
    assert held_against(said, attempts=2).wrong == []
    assert held_against(Said(job("set_price", "final", "claimed"), ok=True), attempts=2).wrong != []


def test_the_checker_sees_a_gamble_that_went_well() -> None:
    lucky = held_against(Said(job("pay", "doubt"), ok=True), WHOLE, attempts=2)
    assert (lucky.gambled, lucky.twice, len(lucky.wrong)) == (1, 0, 1)
    assert held_against(Said(job("set_price", "doubt"), ok=True), WHOLE, attempts=2).gambled == 0
    assert held_against(Said(job("pay", "refused"), ok=True), WHOLE, attempts=2).gambled == 0


@pytest.mark.parametrize(
    ("tool", "met", "owed"),
    [
        ("pay", [], True),
        ("pay", ["refused", "refused", "refused"], True),
        ("pay", ["refused", "doubt"], False),
        ("delete_file", ["doubt"], False),
        ("pay", ["fine", "final"], True),
        ("pay", ["told"], False),
        ("pay", ["claimed"], False),
        ("find_order", ["claimed", "doubt"], True),
        ("find_order", ["worded"], False),
        ("set_price", ["doubt", "refused", "doubt"], True),
        ("find_order", ["doubt", "doubt", "doubt"], True),
        ("find_order", ["doubt", "final"], False),
        ("find_order", ["doubt"] * MAX_ATTEMPTS, False),
        ("find_order", ["doubt"] * (MAX_ATTEMPTS - 1), True),
    ],
)
def test_the_law_says_what_must_succeed(tool: str, met: list[Known], owed: bool) -> None:
    assert is_owed(job(tool, *met)) is owed


def test_a_server_that_died_for_another_call_excuses_a_write_and_costs_the_others_an_attempt() -> None:
    assert not is_owed(job("pay"), disturbances=1)
    assert is_owed(job("set_price", "doubt"), disturbances=1)
    assert not is_owed(job("set_price", "doubt"), disturbances=MAX_ATTEMPTS - 1)


def test_the_same_seed_gives_the_same_faults_and_all_of_them_are_drawn() -> None:
    assert draw("7", 50, "http") == draw("7", 50, "http")
    assert draw("7", 50, "http") != draw("8", 50, "http")
    jobs = draw("7", 2000, "http")
    assert {each.tool for each in jobs} == set(KINDS)
    assert {len(each.strikes) for each in jobs} == {0, 1, 2, 3}
    met = {(strike.fault.kind, strike.fault.at) for each in jobs for strike in each.strikes}
    everywhere = {"crash", "cut", "hang", "garbage", "raw", "text", "http", "error"}
    assert {(kind, at) for kind in everywhere for at in ("before", "during", "after")} <= met


def test_what_fails_after_the_answer_is_no_reason_to_call_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # The SDKs list the tools to check a result, after it came. A server may be gone by then.
    made = _httpx_utils.create_mcp_http_client
    refusal: list[int | None] = [None]

    def without_listing(**options: Any) -> httpx2.AsyncClient:
        client = made(**options)
        send = client.send

        async def sending(request: httpx2.Request, **more: Any) -> httpx2.Response:
            if b'"tools/list"' not in request.content:
                return await send(request, **more)
            if refusal[0] is None:
                raise httpx2.ConnectError("refused")
            return httpx2.Response(refusal[0], request=request)

        client.send = sending  # type: ignore[method-assign]
        return client

    monkeypatch.setattr(_httpx_utils, "create_mcp_http_client", without_listing)

    async def story() -> None:
        async with scripted(Script(Tool("pay", effect=True, key="id")), "http") as server:
            ways = [
                (kind, mode, status)
                for kind in ("mcp", "fastmcp")
                for mode in ("auto", "legacy")
                for status in (None, 503, 404)
            ]
            for way in ways:
                kind, mode, refusal[0] = way
                client = getattr(server, kind)(mode=mode)
                async with Recovering(client, policy=Policy(base_delay=0.01, timeout=5)) as agent:
                    report = await agent.call("pay", {"id": str(way)})
                assert report.calls == 1, way
                assert report.ok or report.error.effect == "unknown", way
            assert sorted(effect.call.key for effect in server.effects) == sorted(map(str, ways))

    anyio.run(story)
