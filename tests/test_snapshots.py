"""The snapshots: what is folded comes back whole, and what changes in one place alone is noticed there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snapshots
from snapshots import Snapshots

PLACES = ("fastmcp/2025-11-25", "fastmcp/2026-07-28", "lowlevel/2025-11-25", "lowlevel/2026-07-28")
STAMP = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "shop", "version": "1"}}}

BUSY = {"code": "BUSY", "message": "Everybody is at lunch, and nobody knows until when.", "tags": ["late", "long"]}
TOLD = {"structuredContent": BUSY, "isError": True}
ORDERED = {"tags": BUSY["tags"], **BUSY}


def answers(place: str) -> dict[str, Any]:
    stamp = STAMP if place.endswith("2026-07-28") else {}
    told: dict[str, Any] = {
        "same": {"result": {"content": [{"type": "text", "text": "hi"}], **stamp}},
        "other words": {
            "result": {"content": [{"type": "text", "text": f"hi from {place[:4]}"}], "a/b~": [1], **stamp}
        },
        "error": {"error": {"code": -32602, "message": "no"}},
        "told": {"result": {**TOLD, "content": [{"type": "text", "text": json.dumps(BUSY)}], **stamp}},
        "told again": {"result": {**TOLD, "content": [{"type": "text", "text": json.dumps(BUSY, indent=2)}], **stamp}},
        "list": [1, 2, {"a": None}],
    }
    if place == PLACES[2]:
        block = {"type": "text", "text": json.dumps(ORDERED)}
        told["told"] = {"result": {"structuredContent": ORDERED, "isError": True, "content": [block]}}
    if place == PLACES[0]:
        told["only here"] = {"result": {}}
    if place == PLACES[3]:
        told["same"] = {"result": {"content": [], "isError": True}}
    return told


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshots:
    made = Snapshots(tmp_path)
    with monkeypatch.context() as writing:
        writing.setattr(snapshots, "WRITE", True)
        for place in reversed(PLACES):
            assert made.compare("group", answers(place), place) == []
    monkeypatch.setattr(snapshots, "WRITE", False)
    return made


def test_what_was_written_is_read_again(kept: Snapshots) -> None:
    for place in PLACES:
        assert kept.read("group", place) == answers(place)
        assert kept.compare("group", answers(place), place) == []


@pytest.mark.parametrize("place", PLACES)
def test_what_changes_in_one_place_is_noticed_there(kept: Snapshots, place: str) -> None:
    for case in answers(place):
        now = answers(place)
        now[case] = {"result": {"content": [{"type": "text", "text": "changed"}]}}
        [problem] = kept.compare("group", now, place)
        assert problem.startswith(f"{case}:\n")
        del now[case]
        assert kept.compare("group", now, place) == [f"{case}: in the snapshot, not asked"]
    [problem] = kept.compare("group", {**answers(place), "new": 1}, place)
    assert problem == "new: not in the snapshot: 1"


def test_a_stamp_that_is_missing_is_noticed(kept: Snapshots) -> None:
    now = answers(PLACES[1])
    del now["other words"]["result"]["resultType"]
    assert len(kept.compare("group", now, PLACES[1])) == 1


def test_each_answer_is_written_once(kept: Snapshots) -> None:
    file = json.loads(kept.text("group"))
    assert file["cases"]["error"] == {"answer": answers(PLACES[0])["error"]}
    assert file["cases"]["only here"]["except"] == {", ".join(PLACES[1:]): "(not asked)"}
    assert [*file["stamps"]] == ["2026-07-28"]


def test_what_repeats_is_named(kept: Snapshots) -> None:
    cases = json.loads(kept.text("group"))["cases"]
    assert cases["told"]["answer"]["result"]["content"] == ["(structuredContent)"]
    assert cases["told again"] == {"like": "told", "with": {"/result/content/0": "(structuredContent, indented)"}}
    # An order that the usual answer does not have can only be spelt out.
    assert cases["told"]["except"] == {PLACES[2]: {"/result/content/0": json.dumps(ORDERED)}}


def test_what_every_answer_has_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Snapshots(tmp_path)
    told = {"one": {"jsonrpc": "2.0", "result": {}}, "two": {"jsonrpc": "2.0", "error": {"code": 1}}}
    with monkeypatch.context() as writing:
        writing.setattr(snapshots, "WRITE", True)
        made.compare("group", told)
    assert json.loads(made.text("group"))["cases"]["one"] == {"answer": {"result": {}}}
    assert made.read("group") == told


def test_who_differs_is_told_without_what_the_eras_do(kept: Snapshots) -> None:
    assert kept.places("group") == list(PLACES)
    assert kept.differing("group") == {
        "same": [PLACES[3]],
        "other words": list(PLACES[2:]),
        "told": [PLACES[2]],
    }
    assert kept.differing("group", PLACES[:3]) == {"other words": [PLACES[2]], "told": [PLACES[2]]}
