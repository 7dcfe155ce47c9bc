"""What `make matrix` wrote down of each generation of the SDKs: the same answers, but for what is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import ALL, LISTINGS, applicable
from generations import DIFFERENT, KNOWN_AS, NOT_ASKED, ROWS, TABLE, is_named
from test_matrix import SNAPSHOTS, misread
from wire import LEGACY

FILE: dict[str, Any] = json.loads(SNAPSHOTS.text(TABLE))
PLACES = [f"{row.name}-{server}/{LEGACY}" for row in ROWS for server in row.servers]


def test_every_row_is_in_the_table() -> None:
    assert sorted(FILE["places"]) == sorted(PLACES)


def test_an_answer_that_differs_is_named() -> None:
    named = {case for cases in DIFFERENT.values() for case in cases}
    told = {
        case
        for case, kept in FILE["cases"].items()
        for other in kept.get("except", {}).values()
        if other != "(not asked)"
    }
    assert told - named == set()


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_every_failure_has_its_code_in_every_row(row: Any) -> None:
    for server in row.servers:
        cases = [
            case
            for case in applicable(ALL, KNOWN_AS.get(server, server), LEGACY)
            if not is_named(NOT_ASKED, row.name, case.id) and case.id not in LISTINGS
        ]
        answers = SNAPSHOTS.read(TABLE, f"{row.name}-{server}/{LEGACY}")
        assert sorted(answers) == sorted(case.id for case in cases)
        assert misread(cases, answers) == []
        assert "hunter2" not in json.dumps(answers)


def test_recovering_does_the_same_around_every_client() -> None:
    kept = json.loads((Path(__file__).parent / f"snapshots/{TABLE}-clients.json").read_text())
    # Where a server is killed the client is asked over pipes, where it starts another one.
    others = {case: list(answer["except"].values()) for case, answer in kept["cases"].items() if "except" in answer}
    assert {case for case, told in others.items() if told != ["(not asked)"]} == set()
    assert kept["cases"]["1. busy"]["answer"]["attempts"] == ["retry", "retry"]
