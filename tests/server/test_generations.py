"""What `make matrix` wrote down of each generation of the SDKs: the same answers, but for what is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases import ALL, LISTINGS, applicable
from generations import CLIENTS, DIFFERENT, KNOWN_AS, NOT_ASKED, PLACES, ROWS, TABLE, is_named
from test_matrix import SNAPSHOTS, misread
from wire import ERAS, LEGACY, SERVERS


def test_every_row_is_in_the_table() -> None:
    here = {f"{server}/{era}" for server in SERVERS for era in ERAS}
    assert sorted({*SNAPSHOTS.places(TABLE)} - here) == sorted(PLACES)


def test_an_answer_that_differs_is_named() -> None:
    named = {case for cases in DIFFERENT.values() for case in cases}
    assert set(SNAPSHOTS.differing(TABLE, PLACES)) - named == set()


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
        assert misread(cases, answers, shows_text=row.name != "mcp-2.3") == []
        assert "hunter2" not in json.dumps(answers)


def test_recovering_does_the_same_around_every_client() -> None:
    # Where a server is killed the client is asked over pipes, where it starts another one.
    assert SNAPSHOTS.differing(CLIENTS) == {}
    [busy] = {json.dumps(SNAPSHOTS.read(CLIENTS, place)["1. busy"]["attempts"]) for place in SNAPSHOTS.places(CLIENTS)}
    assert busy == '["retry", "retry"]'
