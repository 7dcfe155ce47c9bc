"""The numbers of a store against a simulation whose truth is known."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from failwell.observe import Store, store
from failwell.observe.stores import Period, Reading

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from store_world import Truth, events


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Reading, Truth]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'events.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql")
    truth = Truth()
    kept: Store = store(url, most=10**7)
    for event in events(12_000 if request.param == "postgresql" else 100_000, truth, key=kept.key):
        kept(event)
    assert kept.flush(300)
    kept.close()
    assert kept.dropped == 0
    reading = Reading.of(url)
    yield reading, truth
    reading.close()


def week() -> Period:
    now = int(time.time() * 1000)
    return Period(now - 8 * 86_400_000, now)


def test_the_numbers_are_what_was_planted(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    found = reading.numbers(week())
    assert found.calls == truth.calls
    assert found.failed == truth.failed
    assert found.after == tuple(truth.after[number] for number in range(1, 6))
    assert found.same == truth.same
    assert (found.retried, found.retried_ok) == (truth.retried, truth.retried_ok)
    assert (found.delays_us, found.obeyed_us) == (truth.us, truth.us_obeyed)
    assert (found.delays_client, found.obeyed_client) == (truth.client, truth.client_obeyed)
    assert found.prevented == truth.prevented
    assert (found.declared, found.undeclared) == (truth.declared, truth.undeclared)
    assert (found.loops, found.loop_calls) == (truth.loops, truth.loop_calls)
    assert found.loop_seconds == pytest.approx(truth.loop_seconds)


def test_they_are_so_for_each_code_and_tool(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    by_code = dict(reading.by("code", week()))
    assert {code: row.failed for code, row in by_code.items()} == dict(truth.by_code)
    assert {code: row.recovered for code, row in by_code.items() if row.recovered} == dict(truth.recovered_by_code)
    assert {tool: row.calls for tool, row in reading.by("tool", week())} == dict(truth.by_tool)
    assert sum(part.calls for _, part in reading.over_time(week())) == truth.calls
    assert {code for _, tool, code, _ in reading.undeclared(week()) if tool} == {"NOT_YOURS"}


@pytest.mark.parametrize(("since", "hours"), [(5, 3), (60, 47), (170, 170), (24 * 40, 24 * 40)])
def test_each_part_of_any_time_has_its_own(world: tuple[Reading, Truth], since: int, hours: int) -> None:
    reading, _ = world
    hour = 3_600_000
    first = int(time.time() * 1000) // hour - since
    period = Period(first * hour, (first + hours) * hour)
    rows = reading.database.all("SELECT at / 3600000, count(*) FROM event GROUP BY at / 3600000")
    parts = reading.over_time(period)
    size = (parts[1][0] - parts[0][0]) // hour if len(parts) > 1 else hours
    told = {at // hour: part.calls for at, part in parts if part.calls}
    counted: dict[int, int] = {}
    for at, calls in rows:
        if first <= at < first + hours:
            counted[at // size * size] = counted.get(at // size * size, 0) + calls
    assert told == counted
    assert reading.numbers(period).calls == sum(counted.values())


def test_what_nobody_knows_is_listed_until_somebody_looks(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    doubts = reading.doubts(week())
    assert (doubts.open, doubts.looked) == (truth.doubts_open, truth.doubts_looked)
    assert (doubts.worked, doubts.repeated) == (truth.doubts_worked, truth.doubts_repeated)
    listed = reading.open_doubts(week(), most=10**6)
    assert len(listed) == truth.doubts_open
    assert {(each.tool, each.code, each.verify) for each in listed} == {("pay", "OUTCOME_UNKNOWN", "get_invoice")}


def test_the_same_failure_is_listed_once(world: tuple[Reading, Truth]) -> None:
    reading, truth = world
    failures = reading.failures(week())
    by_code: dict[str, int] = {}
    for each in failures:
        by_code[each.code] = by_code.get(each.code, 0) + each.numbers.failed
    assert by_code == dict(truth.by_code)
    # All of them were there on the first day.
    assert not any(each.is_new or each.first_at > each.last_at for each in failures)
    flows = reading.flow(week())
    assert sum(flow.recovered + flow.left for flow in flows) == truth.failed
    assert sum(flow.recovered for flow in flows) == sum(truth.after.values())
    lost = [each.numbers.failed - each.numbers.recovered for each in reading.failures(week(), is_lost_first=True)]
    assert lost == sorted(lost, reverse=True)
    assert sum(lost) == truth.failed - sum(truth.after.values())
    first = failures[0]
    examples = reading.examples(first.tool, first.code, server=first.server)
    assert (len(examples), {each["server"] for each in examples}) == (20, {first.server})
    assert reading.failure(first.id) == (
        first.server,
        first.tool,
        first.kind,
        first.code,
        first.first_at,
        first.last_at,
    )


def test_a_session_can_be_followed(world: tuple[Reading, Truth]) -> None:
    reading, _ = world
    latest = reading.sessions(week(), most=1)[0]
    timeline = reading.timeline(latest)
    assert (len(timeline), sum(not row["ok"] for row in timeline)) == (latest.calls, latest.failed)
    assert [row["at"] for row in timeline] == sorted(row["at"] for row in timeline)
    assert (latest.first_at, latest.last_at) == (timeline[0]["at"], timeline[-1]["at"])
    assert reading.session(latest.name) == latest
