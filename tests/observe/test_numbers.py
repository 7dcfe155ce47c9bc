"""The numbers of a store against a simulation whose truth is known."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from failwell.observe import Store, store
from failwell.observe.stores import Reading, Selection

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from store_world import Truth, events

HOUR = 3_600_000


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Reading, Truth]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'events.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql")
    truth = Truth()
    kept: Store = store(url)
    for event in events(12_000 if request.param == "postgresql" else 100_000, truth, key=kept.key):
        kept(event)
    assert kept.flush(300)
    kept.close()
    assert kept.dropped == 0
    reading = Reading.of(url)
    yield reading, truth
    reading.close()


def week() -> Selection:
    now = int(time.time() * 1000)
    return Selection(since=now - 8 * 86_400_000, until=now)


def test_the_numbers_are_what_was_planted(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    found = reading.numbers(week())
    assert (found["calls"], found["failed"], found["loops"]) == (truth.calls, truth.failed, truth.loops)
    # Whoever has looked has recovered, too: the session knows what became of its call.
    assert found["recovered"] == sum(truth.after.values()) + truth.doubts_looked
    assert found["recovered"] + found["lost"] + found["unknown"] == found["failed"]
    assert found["recovery_rate"] == found["recovered"] / found["failed"]
    doubts = [found[f"doubt_{how}"] for how in ("open", "looked", "again", "confirmed")]
    assert doubts == [truth.doubts_open, truth.doubts_looked, truth.doubts_worked, 0]


def test_they_are_so_for_each_code_tool_server_and_client(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    by_code = {row["code"]: row for row in reading.totals(week(), ("code",))}
    assert {code: row["failed"] for code, row in by_code.items()} == dict(truth.by_code)
    recovered = {code: row["recovered"] - row["doubt_looked"] for code, row in by_code.items() if row["recovered"]}
    assert recovered == dict(truth.recovered_by_code)
    assert {row["tool"]: row["calls"] for row in reading.totals(week(), ("tool",))} == dict(truth.by_tool)
    for column in ("server", "client"):
        rows = reading.totals(week(), (column,))
        assert sum(row["calls"] for row in rows) == truth.calls
        for row in rows:
            assert reading.numbers(replace(week(), **{column: row[column]}))["failed"] == row["failed"]
    assert sum(part["calls"] for _, part in reading.over_time(week())) == truth.calls


def test_a_part_of_a_name_selects(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    found = reading.totals(replace(week(), text="INVOI"), ("tool",))
    assert [(row["tool"], row["calls"]) for row in found] == [("get_invoice", truth.by_tool["get_invoice"])]
    calls = reading.calls(replace(week(), text="is not yours"), most=30)
    assert {call["code"] for call in calls} == ({"NOT_YOURS"} if reading.url.startswith("sqlite") else set())


@pytest.mark.parametrize(("since", "hours"), [(5, 3), (60, 47), (170, 170), (24 * 40, 24 * 40)])
def test_each_part_of_any_time_has_its_own(world: tuple[Reading, Truth], since: int, hours: int) -> None:
    reading, _ = world
    first = int(time.time() * 1000) // HOUR - since
    selection = Selection(since=first * HOUR, until=(first + hours) * HOUR)
    parts = reading.over_time(selection)
    step = parts[1][0] - parts[0][0]
    counted: dict[int, int] = {}
    for call in reading.calls(selection, most=10**6):
        at = call["at"] // step * step
        counted[at] = counted.get(at, 0) + 1
    assert {at: part["calls"] for at, part in parts if part["calls"]} == counted
    assert reading.numbers(selection)["calls"] == sum(counted.values())


def test_an_hour_has_minutes(world: tuple[Reading, Truth]) -> None:
    reading, _ = world
    now = int(time.time() * 1000)
    assert len(reading.over_time(Selection(since=now - HOUR, until=now))) in (60, 61)


def test_what_nobody_knows_is_listed_until_somebody_looks(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    listed = reading.doubts(week(), most=10**6)
    assert len(listed) == truth.doubts_open
    assert {(each["tool"], each["code"], each["verify"]) for each in listed} == {
        ("pay", "OUTCOME_UNKNOWN", "get_invoice")
    }


def test_the_same_failure_is_listed_once(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    failures = reading.failures(week())
    by_code: dict[str, int] = {}
    for each in failures:
        by_code[each["code"]] = by_code.get(each["code"], 0) + each["failed"]
    assert by_code == dict(truth.by_code)
    # All of them were there on the first day.
    assert not any(each["new"] or each["first_at"] > each["last_at"] for each in failures)
    first = failures[0]
    own = {name: first[name] for name in ("server", "tool", "kind", "code")}
    examples = reading.calls(Selection(outcome="failed", **own), most=20)
    assert (len(examples), {each["server"] for each in examples}) == (20, {first["server"]})
    assert (examples[0]["at"], examples[0]["message"]) == (first["last_at"], first["message"])


def test_a_session_can_be_followed(world: tuple[Reading, Truth]) -> None:
    reading, _ = world
    latest = reading.sessions(week(), most=1)[0]
    calls = reading.calls(Selection(session=latest["name"]), most=500)
    assert (len(calls), sum(call["failed"] for call in calls)) == (latest["calls"], latest["failed"])
    assert [call["at"] for call in calls] == sorted((call["at"] for call in calls), reverse=True)
    assert (latest["first_at"], latest["last_at"]) == (calls[-1]["at"], calls[0]["at"])
    middle = len(calls) // 2
    around = reading.around(calls[middle], before=2, after=2)
    assert [call["id"] for call in around] == [call["id"] for call in reversed(calls[max(0, middle - 2) : middle + 3])]
