"""What is kept of the calls: what was tried, and nothing that is large."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from mcp import Client
from test_recovering_hostile import JSON, QUICK, Hostile, hosted, http, run

import failwell as fw
from failwell.client import Recovering
from failwell.recovery import Report, shorten_report

LONG = "x" * 1_600_000
# Of one report, whatever the call was.
MOST = 60_000


@pytest.mark.parametrize("failed", [False, True])
def test_a_result_is_given_to_the_caller_and_not_kept(failed: bool) -> None:
    async def story() -> None:
        result = {"content": [{"type": "text", "text": LONG}], "isError": failed}
        async with (
            hosted(Hostile(lambda method, _: result if method == "tools/call" else None)) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            report = await it.call("pay", {"note": LONG, "parts": [LONG] * 3, "id": 7})
            [kept] = it.reports
            assert report.result.content[0].text == LONG
            assert report.arguments["note"] == LONG
            assert kept.result is None
            assert (kept.ok, kept.calls, kept.tool, kept.arguments["id"]) == (not failed, 1, "pay", 7)
            assert kept.arguments["parts"] == "(list of 3, cut)"
            assert kept.arguments["note"].startswith("xxxx")
            assert len(pickle.dumps(kept)) < MOST

    run(story)


def test_a_failure_is_kept_small_and_without_its_cause() -> None:
    async def story() -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": LONG}}).encode()
        async with (
            hosted(Hostile(lambda method, _: http(503, body, JSON) if method == "tools/call" else None)) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            report = await it.call("get_payment", {"id": LONG})
            [kept] = it.reports
            assert (kept.calls, len(kept.attempts), len(report.attempts)) == (3, 3, 3)
            assert str(kept) == str(report)
            assert kept.failure is not None
            assert kept.failure.__cause__ is None
            assert len(pickle.dumps(kept)) < MOST

    run(story)


ARGUMENTS: list[dict[str, Any]] = [
    {"id": 1},
    {"text": "short", "tags": ["a", {"b": None}], "n": 1.5, "yes": True},
    {f"name {number}": number for number in range(100)},
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_what_is_small_is_kept_as_it_is(arguments: dict[str, Any]) -> None:
    assert shorten_report(Report("get", arguments, result=object())) == Report("get", arguments)


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)
LARGE: list[dict[str, Any]] = [
    {"text": LONG},
    {"number": 10**100_000},
    {"deep": [[[[LONG]]]]},
    {"many": list(range(100_000))},
    {"blob": b"x" * 1_000_000},
    {str(number): "y" * 100 for number in range(10_000)},
    {LONG: 1},
    {"endless": ENDLESS},
]


@pytest.mark.parametrize("arguments", LARGE, ids=lambda arguments: next(iter(arguments))[:9])
def test_what_is_large_is_cut(arguments: dict[str, Any]) -> None:
    assert len(pickle.dumps(shorten_report(Report(LONG, arguments)))) < MOST


def test_a_question_is_kept_small_too() -> None:
    kept = shorten_report(Report("get", {}, error=fw.NeedsInput(LONG, fields=["id"])))
    assert len(pickle.dumps(kept)) < MOST
