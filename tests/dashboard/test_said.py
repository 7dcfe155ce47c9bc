"""What the documentation says of the numbers is what the page says; and the queries of the Grafana dashboard name real metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

import failwell as fw
from failwell.dashboard.pages import MEANS
from failwell.observe.counters import Stats
from failwell.observe.prometheus import Collector

DOCS = Path(__file__).parents[2] / "docs"


def test_each_number_is_one_sentence_in_the_documentation() -> None:
    said = (DOCS / "dashboard.md").read_text("utf-8")
    assert [name for name, sentence in MEANS.items() if sentence not in said] == []


def test_the_queries_for_grafana_name_metrics_that_exist() -> None:
    stats = Stats()
    stats.add("search", 0.3, failed=True, error=fw.Transient("busy"))
    registry = CollectorRegistry()
    registry.register(Collector(stats.read))
    metrics = set(re.findall(r"^(\w+)\{", generate_latest(registry).decode(), re.MULTILINE))
    board = json.loads((DOCS / "grafana" / "failwell.json").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for query in queries for name in re.findall(r"failwell_\w+", query)}
    assert len(queries) == 8
    assert named <= metrics
