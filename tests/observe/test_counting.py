"""Counters: right for many tasks and threads at once, bounded, and honest about how long calls took."""

from __future__ import annotations

import asyncio
import math
import threading
from bisect import bisect_left
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.model import Kind
from failwell.observe import UNKNOWN
from failwell.observe.counters import BOUNDS, MOST_CODES, MOST_TOOLS, Stats, ToolStats

SECONDS = st.one_of(st.floats(0, 0.02), st.floats(0, 200), st.sampled_from(BOUNDS))


def counted(times: list[float]) -> ToolStats:
    stats = Stats()
    for seconds in times:
        stats.add("t", seconds)
    return stats.read()["t"]


@pytest.mark.checklist(279)
def test_failures_are_counted_by_tool_kind_and_code() -> None:
    stats = Stats()
    stats.add("find", 0.25)
    stats.add("find", 0.25, True, fw.NotFound("no"))
    stats.add("find", 0.25, True, fw.NotFound("no", code="NO_SUCH_PROJECT"))
    stats.add("find", 0.25, True, fw.Transient("later", code="TIMEOUT"))
    stats.add("find", 0.25, True, fw.ToolError("no"))
    stats.add("find", 0.25, True)
    stats.add("pay", 2, asked=True)
    assert stats.read() == {
        "find": ToolStats(
            calls=6,
            failures=5,
            seconds=1.5,
            slowest=0.25,
            errors={
                ("not_found", "NOT_FOUND"): 1,
                ("not_found", "NO_SUCH_PROJECT"): 1,
                ("transient", "TIMEOUT"): 1,
                ("internal", UNKNOWN): 1,
                (UNKNOWN, UNKNOWN): 1,
            },
            buckets={bound: 6 if bound >= 0.25 else 0 for bound in (*BOUNDS, math.inf)},
        ),
        "pay": ToolStats(
            calls=1,
            asked=1,
            seconds=2,
            slowest=2,
            buckets={bound: 1 if bound >= 2.5 else 0 for bound in (*BOUNDS, math.inf)},
        ),
    }
    find = stats.read()["find"]
    assert find.kinds == {"not_found": 2, "transient": 1, "internal": 1, UNKNOWN: 1}
    assert find.codes == {"NOT_FOUND": 1, "NO_SUCH_PROJECT": 1, "TIMEOUT": 1, UNKNOWN: 2}


@pytest.mark.checklist(170)
@pytest.mark.parametrize("text", ["Success, all went well.", "INTERNAL: timeout, permission denied", "404 Not Found"])
def test_what_is_counted_is_the_code_and_not_the_text(text: str) -> None:
    stats = Stats()
    stats.add("t", 0.1, True, fw.Conflict(text, code="LOCKED"))
    assert stats.read()["t"].errors == {("conflict", "LOCKED"): 1}


@pytest.mark.checklist(52)
def test_fifty_tasks_count_right_while_somebody_reads() -> None:
    stats = Stats()

    async def call(number: int) -> None:
        for turn in range(20):
            await asyncio.sleep(0)
            stats.add(f"t{number % 5}", 0.01, turn % 2 == 0, fw.Conflict("no"))

    async def watch() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
            assert all(tool.failures <= tool.calls for tool in stats.read().values())

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(50):
                tasks.create_task(call(number))
            tasks.create_task(watch())

    asyncio.run(main())
    assert {name: (tool.calls, tool.failures) for name, tool in stats.read().items()} == {
        f"t{number}": (200, 100) for number in range(5)
    }


@pytest.mark.checklist(52)
def test_eight_threads_count_right_while_somebody_reads() -> None:
    stats = Stats()
    started = threading.Barrier(9)
    torn: list[ToolStats] = []

    def work() -> None:
        started.wait()
        for turn in range(2000):
            stats.add("t", turn % 100, True, fw.NotFound("no"))

    def watch() -> None:
        started.wait()
        for _ in range(200):
            torn.extend(tool for tool in stats.read().values() if tool.calls != tool.failures)

    threads = [threading.Thread(target=work) for _ in range(8)] + [threading.Thread(target=watch)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tool = stats.read()["t"]
    assert torn == []
    assert (tool.calls, tool.errors) == (16_000, {("not_found", "NOT_FOUND"): 16_000})
    assert tool.seconds == 8 * 20 * sum(range(100))
    assert (tool.slowest, tool.buckets[60.0]) == (99, 16_000 * 61 // 100)


@pytest.mark.checklist(52)
def test_a_copy_does_not_change_later() -> None:
    stats = Stats()
    stats.add("t", 0.1, True, fw.NotFound("no"))
    before = stats.read()
    stats.add("t", 5, True, fw.NotFound("no"))
    assert before == {
        "t": ToolStats(
            calls=1,
            failures=1,
            seconds=0.1,
            slowest=0.1,
            errors={("not_found", "NOT_FOUND"): 1},
            buckets={bound: 1 if bound >= 0.1 else 0 for bound in (*BOUNDS, math.inf)},
        )
    }


def test_made_up_codes_do_not_fill_the_memory() -> None:
    stats = Stats()
    for number in range(1000):
        stats.add("t", 0, True, fw.ToolError("no", code=f"C{number}"))
    stats.add("t", 0, True, fw.ToolError("no", code="C" * 1_000_000))
    tool = stats.read()["t"]
    assert sum(tool.codes.values()) == tool.failures == 1001
    assert (len(tool.codes), tool.codes[UNKNOWN]) == (MOST_CODES + 1, 1001 - MOST_CODES)


def test_made_up_tools_do_not_fill_the_memory() -> None:
    stats = Stats()
    for _ in range(2):
        for number in range(3000):
            stats.add(f"t{number}", 0)
    tools = stats.read()
    assert len(tools) == MOST_TOOLS
    assert sum(tool.calls for tool in tools.values()) == 6000
    assert tools["t0"].calls == 2
    assert tools[UNKNOWN].calls == 6000 - 2 * (MOST_TOOLS - 1)


@given(st.lists(SECONDS, min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_stands_in_the_bucket_of_the_true_one_and_not_above_the_slowest(
    times: list[float], q: float
) -> None:
    tool = counted(times)
    true = sorted(times)[max(1, math.ceil(q * len(times))) - 1]
    guess = tool.quantile(q)
    edges = (0.0, *BOUNDS, math.inf)
    bucket = bisect_left(BOUNDS, true)
    assert edges[bucket] <= guess <= edges[bucket + 1]
    assert guess <= max(times)


@given(st.lists(SECONDS, max_size=60), st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_quantiles_are_monotone(times: list[float], shares: list[float]) -> None:
    tool = counted(times) if times else ToolStats()
    told = [tool.quantile(share) for share in sorted(shares)]
    assert told == sorted(told)
    assert tool.p50 <= tool.p95 <= tool.p99 <= tool.quantile(1) == max(times, default=0.0)


@given(st.lists(SECONDS, min_size=1, max_size=60))
def test_buckets_hold_the_calls_up_to_their_bound(times: list[float]) -> None:
    tool = counted(times)
    assert tool.buckets == {bound: sum(each <= bound for each in times) for bound in (*BOUNDS, math.inf)}
    assert (tool.calls, tool.slowest) == (len(times), max(times))


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        ToolStats().quantile(share)


def test_kinds_and_codes_add_up_to_the_failures() -> None:
    stats = Stats()
    kinds = Counter[str]()
    for number, kind in enumerate(Kind):
        for _ in range(number + 1):
            stats.add("t", 0, True, fw.ToolError("no", kind=kind, code="SAME"))
            kinds[kind.value] += 1
    assert stats.read()["t"].kinds == kinds
    assert stats.read()["t"].codes == {"SAME": kinds.total()}
