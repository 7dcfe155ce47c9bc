"""The grade follows what happens: servers built to please a checker, a ladder of servers, the same in other words."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from failwell.check import CheckOptions, CheckReport, Waits, check

BUILT = Path(__file__).parent / "gamers" / "built.py"
GAMERS = (
    *("sends-to-a-write", "same-again", "refuses-all", "copies-the-schema", "names-everything", "always-the-same"),
    *("never-the-same", "as-success", "no-annotations", "a-tool-of-its-own", "call-that-fails", "retryable"),
)
LADDER = tuple(f"level-{number}" for number in range(7))
ENGLISH = ("level-6", "terse", "polite", "blunt", "question", "passive", "coded", "long")
LANGUAGES = ("german", "french", "japanese", "json")


@pytest.fixture(scope="module")
def reports() -> dict[str, CheckReport]:
    def look(way: str) -> CheckReport:
        return check([sys.executable, "-IS", str(BUILT), way], CheckOptions(era="2025-11-25", waits=Waits(60, 20)))

    ways = (*GAMERS, "mediocre", *LADDER, *ENGLISH[1:], *LANGUAGES)
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(ways, pool.map(look, ways), strict=True))


def test_no_server_that_is_built_for_it_passes_an_honest_one_of_the_middle(reports: dict[str, CheckReport]) -> None:
    honest = reports["mediocre"].score
    assert {way: reports[way].score for way in GAMERS if reports[way].score >= honest} == {}
    assert reports["mediocre"].grade in ("B", "C")


def test_each_rung_of_the_ladder_is_higher_than_the_one_below(reports: dict[str, CheckReport]) -> None:
    scores = [reports[way].score for way in LADDER]
    assert scores == sorted(set(scores)), scores
    assert (scores[0] < 40, scores[-1] >= 95) == (True, True)


def test_the_same_in_other_words_and_languages_scores_the_same(reports: dict[str, CheckReport]) -> None:
    scores = {way: reports[way].score for way in (*ENGLISH, *LANGUAGES)}
    assert max(scores.values()) - min(scores.values()) <= 3, scores


def test_without_annotations_the_grade_is_said_to_be_based_on_refusals(reports: dict[str, CheckReport]) -> None:
    report = reports["no-annotations"]
    assert (report.to_dict()["basis"], report.limited_by) == ("refusals only", "refusals only")


@pytest.mark.parametrize(
    ("way", "rule"),
    [
        ("sends-to-a-write", "advice.write"),
        ("same-again", "advice.same-call"),
        ("a-tool-of-its-own", "advice.works"),
        ("no-annotations", "calls.annotations"),
        ("level-2", "answer.fault"),
    ],
)
def test_what_is_wrong_is_named(way: str, rule: str, reports: dict[str, CheckReport]) -> None:
    assert rule in {finding.rule for finding in reports[way].findings}
    assert rule not in {finding.rule for finding in reports["level-6"].findings}
