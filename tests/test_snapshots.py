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


def answers(place: str) -> dict[str, Any]:
    stamp = STAMP if place.endswith("2026-07-28") else {}
    told: dict[str, Any] = {
        "same": {"result": {"content": [{"type": "text", "text": "hi"}], **stamp}},
        "other words": {
            "result": {"content": [{"type": "text", "text": f"hi from {place[:4]}"}], "a/b~": [1], **stamp}
        },
        "error": {"error": {"code": -32602, "message": "no"}},
        "list": [1, 2, {"a": None}],
    }
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
