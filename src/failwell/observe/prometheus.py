"""The counters for Prometheus, read when it asks: calls pay nothing for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

from failwell.packages import needed

try:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.registry import Collector as _Collector
except ImportError as problem:
    raise needed(__name__, "prometheus", problem) from None

from .counters import ToolStats


class Collector(_Collector):
    """A collector for any `prometheus_client` registry: `REGISTRY.register(Collector(lambda: stats(server)))`."""

    def __init__(self, read: Callable[[], Mapping[str, ToolStats]]) -> None:
        self._read = read

    def describe(self) -> Iterator[Metric]:
        """The names alone, with which a registry sees that nobody else has them."""
        return self._families({})

    def collect(self) -> Iterator[Metric]:
        """The counters as they stand."""
        return self._families(self._read())

    def _families(self, tools: Mapping[str, ToolStats]) -> Iterator[Metric]:
        calls = CounterMetricFamily("failwell_tool_calls", "Tool calls.", labels=["tool"])
        asked = CounterMetricFamily(
            "failwell_tool_questions", "Tool calls that ended in a question to the user.", labels=["tool"]
        )
        failures = CounterMetricFamily(
            "failwell_tool_failures", "Failed tool calls, by what went wrong.", labels=["tool", "kind", "code"]
        )
        took = HistogramMetricFamily("failwell_tool_duration_seconds", "How long tool calls took.", labels=["tool"])
        for name, tool in tools.items():
            calls.add_metric([name], tool.calls)
            asked.add_metric([name], tool.asked)
            for (kind, code), count in tool.errors.items():
                failures.add_metric([name, kind, code], count)
            took.add_metric([name], [(_le(bound), count) for bound, count in tool.buckets.items()], tool.seconds)
        yield from (calls, asked, failures, took)


def _le(bound: float) -> str:
    return "+Inf" if bound == inf else str(bound)


__all__ = ["Collector"]
