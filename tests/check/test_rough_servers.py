"""Servers that behave badly: a finding or one clear line for each, and the rest goes on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

ROUGH = Path(__file__).with_name("rough.py")


def checked(mode: str, **waits: float) -> CheckReport:
    options = CheckOptions(waits=Waits(**{"start": 60, "call": 20, **waits}))
    return check(CheckTarget([sys.executable, str(ROUGH), mode]), options)


def found(report: CheckReport, rule: str) -> list[tuple[str | None, str]]:
    return [(finding.tool, finding.message) for finding in report.findings if finding.rule == rule]


def test_a_server_that_prints_to_stdout() -> None:
    report = checked("noise")
    assert found(report, "protocol.envelope") == [
        (None, "The server prints to stdout, where only messages belong: 'Starting up!'")
    ]
    assert report.graded["fully"] == 1


def test_a_server_that_never_answers() -> None:
    report = checked("mute", start=1)
    assert report.score == 0
    assert report.examined.reason == "it did not answer initialize within 1 seconds; it is still running"


def test_a_server_that_needs_something_to_start() -> None:
    report = checked("needs")
    assert report.examined.reason == (
        "it was gone before it answered initialize; it ended with exit code 1; "
        "stderr ends with: error: WEATHER_KEY is not set"
    )
    assert [finding.rule for finding in report.findings] == ["harm.starts"]


def test_a_server_that_answers_twice() -> None:
    report = checked("twice")
    [(tool, message)] = found(report, "protocol.envelope")
    assert tool is None
    assert message.endswith("requests were answered more than once.")


def test_a_tool_that_is_never_answered_while_the_server_lives() -> None:
    report = checked("silent", call=0.3)
    assert {tool for tool, _ in found(report, "calls.answered")} == {None, "weather"}
    assert not found(report, "harm.crash")
    assert report.examined.notes[0] == "weather: it does not answer, so no more calls were made."


def test_a_server_that_dies_at_a_probe_is_started_again() -> None:
    report = checked("dies")
    assert ("weather", "The server ended after this call (missing).") in found(report, "harm.crash")
    assert report.score <= 59
    # Everything that came after was asked and answered.
    assert report.examined.probes["weather"] > 5
    assert not found(report, "calls.answered")


@pytest.mark.thorough
def test_a_server_that_hangs_at_a_probe_is_started_again() -> None:
    report = checked("hangs", call=0.3)
    assert found(report, "harm.crash")[-1] == (
        "weather",
        "The server answers nothing any more after this call (missing).",
    )
    assert report.examined.probes["weather"] > 5


def test_a_server_that_ends_on_a_bad_frame() -> None:
    report = checked("fragile")
    assert found(report, "protocol.survives") == [(None, "The server ended after that frame (bad json).")]


@pytest.mark.thorough
def test_answers_out_of_order_are_found_by_their_ids() -> None:
    report = checked("late", call=0.3)
    # Each is answered behind the question whether the server lives.
    assert not found(report, "calls.answered")
    assert report.examined.probes["weather"] > 5
    assert not found(report, "protocol.envelope")


def test_two_thousand_tools() -> None:
    report = checked("many")
    assert (report.graded["tools"], report.graded["refusals"]) == (2_000, 50)
    assert report.examined.notes == [
        "1,950 of 2,000 tools were not graded: choose with --tool.",
        "No valid call was seen to work: the grade is based on refusals only. Try --examples, --reads, --env.",
    ]
    assert (report.grade, report.limited_by) == ("D", "refusals only")


@pytest.fixture(scope="module")
def schemas() -> Any:
    return checked("schemas")


def test_schemas_that_nobody_can_read_stop_nothing(schemas: CheckReport) -> None:
    assert {tool["name"] for tool in schemas.tools} == {
        "recursive", "itself", "invalid", "worse", "list", "text", "outside",
    }  # fmt: skip
    assert not found(schemas, "harm.crash")
    assert schemas.graded["refusals"] >= 3
    [note] = [each for each in schemas.examined.notes if each.startswith("Schemas that cannot be used")]
    assert [name for name in ("invalid", "worse", "list", "text", "outside") if f"{name} (" not in note] == []
