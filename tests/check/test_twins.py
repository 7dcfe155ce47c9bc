"""The checker tells a planted defect from its mended twin."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from grading import RULES, TS_TWINS, TWINS, at, graded, report_of
from raw import LEGACY, nursery

# A wait costs nobody anything, so they are waited for together; the parts are for those who run tests in several processes.
PARTS = 3
# The one that has to be waited for most is left to `make twins`, as are the other frameworks, TypeScript and HTTP.
SOON = tuple(twin for twin in TWINS if twin.name != "wedged")


@pytest.fixture(scope="module")
def door() -> Iterator[Path]:
    # Not pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder, nursery(Path(folder)) as made:
        yield made


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(PARTS))
def test_each_defect_is_found_and_not_on_its_twin(part: int, door: Path) -> None:
    pairs = graded(SOON[part::PARTS], at(door), era=LEGACY, at_a_time=12)
    assert {pair.twin.name: pair.missed for pair in pairs if pair.missed} == {}
    assert {pair.twin.name: pair.mistaken for pair in pairs if pair.mistaken} == {}


def test_each_pair_is_about_a_rule() -> None:
    assert RULES.keys() == {twin.name for twin in (*TWINS, *TS_TWINS)}


def test_plain_sentences_are_enough_for_a_good_grade(door: Path) -> None:
    assert report_of(["plain"], door, LEGACY).score >= 85


def test_what_failwell_installed_changes(door: Path) -> None:
    assert report_of(["twenty"], door, LEGACY).score < 85
    assert report_of(["twenty", "--installed"], door, LEGACY).score >= 95
