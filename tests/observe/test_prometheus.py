"""What Prometheus gets when it asks, over a real socket."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

import failwell as fw
from failwell.observe import UNKNOWN
from failwell.observe.counters import BOUNDS, Stats
from failwell.observe.prometheus import Collector


@pytest.fixture
def stats() -> Stats:
    made = Stats()
    made.add("find", 0.004)
    made.add("find", 0.2, True, fw.NotFound("no"))
    made.add("find", 0.2, True, fw.NotFound("no"))
    made.add("find", 100, True, fw.Transient("later", code="TIMEOUT"))
    made.add("pay", 1, asked=True)
    made.add('we"ird\\\n', 0.0005, True)
    return made


@pytest.fixture
def address(stats: Stats) -> Iterator[str]:
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(stats.read))
    server, thread = prometheus_client.start_http_server(0, "127.0.0.1", registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join()


def scraped(address: str) -> dict[str, dict[tuple[str, ...], float]]:
    with urllib.request.urlopen(address) as answer:
        text = answer.read().decode()
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(sample.labels[name] for name in ("tool", "kind", "code", "le") if name in sample.labels)
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


@pytest.mark.checklist(279)
def test_a_scrape_tells_calls_failures_and_durations(address: str) -> None:
    found = scraped(address)
    buckets = found.pop("failwell_tool_duration_seconds_bucket")
    # A name is on one line.
    weird = 'we"ird\\'
    assert found == {
        "failwell_tool_calls_total": {("find",): 4, ("pay",): 1, (weird,): 1},
        "failwell_tool_questions_total": {("find",): 0, ("pay",): 1, (weird,): 0},
        "failwell_tool_failures_total": {
            ("find", "not_found", "NOT_FOUND"): 2,
            ("find", "transient", "TIMEOUT"): 1,
            (weird, UNKNOWN, UNKNOWN): 1,
        },
        "failwell_tool_duration_seconds_count": {("find",): 4, ("pay",): 1, (weird,): 1},
        "failwell_tool_duration_seconds_sum": {("find",): 100.404, ("pay",): 1, (weird,): 0.0005},
    }
    assert {bound: count for (tool, bound), count in buckets.items() if tool == "find"} == {
        **{str(bound): 0 if bound < 0.005 else 1 if bound < 0.25 else 3 for bound in BOUNDS},
        "+Inf": 4,
    }


def test_each_scrape_reads_anew(address: str, stats: Stats) -> None:
    assert scraped(address)["failwell_tool_calls_total"]["pay",] == 1
    stats.add("pay", 1)
    assert scraped(address)["failwell_tool_calls_total"]["pay",] == 2


def test_registering_reads_nothing_and_a_second_one_is_refused() -> None:
    def never() -> Any:
        raise AssertionError("nobody asked")

    registry = prometheus_client.CollectorRegistry(auto_describe=True)
    registry.register(Collector(never))
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(Collector(never))


def test_the_room_needs_nothing_but_the_standard_library() -> None:
    program = "import sys; before = set(sys.modules); import failwell.observe; print(*(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    roots = {name.partition(".")[0] for name in out.split()}
    assert roots - set(sys.stdlib_module_names) == {"failwell"}
