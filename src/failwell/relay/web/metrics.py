"""What Prometheus is told of a relay: the calls by tool, kind and code, and how the relay itself fares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from failwell.observe import UNKNOWN, CallEvent, Stats, prometheus_collector


class RelayMetrics(Collector):
    """How often what happened, for as long as the relay runs. It is a hook for calls that have ended."""

    def __init__(self, rejected: Mapping[str, int], sessions: Callable[[], int]) -> None:
        self.counts: Counter[str] = Counter()
        """`restarts` of servers, and `renewals` of sessions with them."""
        self._stats, self._rejected, self._sessions = Stats(), rejected, sessions
        self._retries: Counter[str] = Counter()
        self._recoveries: Counter[str] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(prometheus_collector(self._stats.read))
        self._registry.register(self)

    def __call__(self, event: CallEvent) -> None:
        # A name that somebody made up is none of ours.
        is_made_up = event.error is not None and event.error.code == "UNKNOWN_TOOL"
        counted = UNKNOWN if is_made_up else event.tool
        self._stats.add(counted, event.seconds, not event.ok and not event.asked, event.error, event.asked)
        if event.attempts > 1:
            tool = event.tool if event.ok else "(failed)"
            self._retries[tool] += event.attempts - 1
            self._recoveries[tool] += event.ok

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("failwell_relay_sessions", "Clients with a session.", self._sessions())
        for name, text in (("restarts", "Servers that were started again."), ("renewals", "Sessions begun anew.")):
            yield CounterMetricFamily(f"failwell_relay_{name}", text, self.counts[name])
        for name, text, counted, label in (
            ("refusals", "Requests that were not accepted, by reason.", self._rejected, "reason"),
            ("retries", "Calls that were made again.", self._retries, "tool"),
            ("recoveries", "Calls that worked in the end, after a failure.", self._recoveries, "tool"),
        ):
            family = CounterMetricFamily(f"failwell_relay_{name}", text, labels=[label])
            for value, count in counted.items():
                family.add_metric([value], count)
            yield family

    def page(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
