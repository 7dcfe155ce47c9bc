"""What Prometheus is told of a relay: the calls by tool, kind and code, and how the relay itself fares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector as _Collector
from prometheus_client.registry import CollectorRegistry

from failwell.observe import UNKNOWN, CallEvent, Stats, prometheus_collector


class RelayTally:
    """How often what happened, for as long as the relay runs."""

    def __init__(self) -> None:
        self.stats = Stats()
        self.counts: Counter[str] = Counter()
        """`restarts` of servers, and `renewals` of sessions with them."""
        self.retries: Counter[str] = Counter()
        self.recoveries: Counter[str] = Counter()

    def __call__(self, event: CallEvent) -> None:
        """A call has ended."""
        # A name that somebody made up is none of ours.
        is_made_up = event.error is not None and event.error.code == "UNKNOWN_TOOL"
        counted = UNKNOWN if is_made_up else event.tool
        self.stats.add(counted, event.seconds, not event.ok and not event.asked, event.error, event.asked)
        tool = event.tool if event.ok else "(failed)"
        if event.attempts > 1:
            self.retries[tool] += event.attempts - 1
            self.recoveries[tool] += event.ok


class RelayCollector(_Collector):
    """What is not about one call."""

    def __init__(
        self,
        tally: RelayTally,
        refused: Mapping[str, int],
        sessions: Callable[[], int],
    ) -> None:
        self._tally, self._refused, self._sessions = tally, refused, sessions

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("failwell_relay_sessions", "Clients with a session.", self._sessions())
        for name, told in (("restarts", "Servers that were started again."), ("renewals", "Sessions begun anew.")):
            yield CounterMetricFamily(f"failwell_relay_{name}", told, self._tally.counts[name])
        for name, said, counted, label in (
            ("refusals", "Requests that were not taken, by why.", self._refused, "reason"),
            ("retries", "Calls that were made again.", self._tally.retries, "tool"),
            ("recoveries", "Calls that worked in the end, after a failure.", self._tally.recoveries, "tool"),
        ):
            family = CounterMetricFamily(f"failwell_relay_{name}", said, labels=[label])
            for value, count in counted.items():
                family.add_metric([value], count)
            yield family


def page(collector: RelayCollector, stats: Stats) -> bytes:
    """All of it, as Prometheus reads it."""
    registry = CollectorRegistry()
    registry.register(prometheus_collector(stats.read))
    registry.register(collector)
    return generate_latest(registry)
