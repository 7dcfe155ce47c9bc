"""What a store of events costs: one event on the caller's side, writing them, and every view as the store grows.

    python tools/bench_store.py [--most 1000000] [--postgresql URL]

The bars: an event costs its caller less than 30 µs, 20,000 are written in a second, every view and the report take less
than a second, whatever the size.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from failwell.dashboard import Query, report_data, report_document
from failwell.dashboard.views import VIEWS, failure, session
from failwell.observe import CallEvent, Reading, Store, keyed_fingerprint, store
from store_world import Truth, events

CALLER, WRITTEN, VIEW = 30e-6, 20_000, 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--postgresql", metavar="URL", help="this database too, which should be empty")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        urls = [f"sqlite:///{Path(folder) / 'events.db'}", *([options.postgresql] if options.postgresql else [])]
        for url in urls:
            print(f"{url.partition(':')[0]:<12}{'events':>10} {'caller':>9} {'written':>10}  slowest views")
            for before, size in steps(options.most):
                good &= measured(url, size, before)
    return 0 if good else 1


def steps(most: int) -> list[tuple[int, int]]:
    """The sizes, each with the one before it."""
    sizes = [size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= most]
    return list(zip([0, *sizes], sizes, strict=False))


def measured(url: str, size: int, before: int) -> bool:
    kept = store(url, most=100_000)
    made = [*events(min(size - before, 50_000), Truth(), key=kept.key, seed=size)]
    caller = cost(kept)
    kept.flush(600)
    # By the time of this process: whoever else uses the machine does not count.
    written, begun = kept.written, time.process_time()
    for event in made:
        kept(event)
    kept.flush(600)
    rate = (kept.written - written) / (time.process_time() - begun)
    for event in events(max(0, size - before - len(made)), Truth(), key=kept.key, seed=size + 1):
        while len(kept._queue) >= 50_000:
            time.sleep(0.01)
        kept(event)
    kept.flush(600)
    kept.close()
    reading = Reading.of(url)
    took = {name: timed(lambda make=make: make(reading, Query.of({"since": "30d"}))) for name, make in VIEWS.items()}  # type: ignore[misc]
    latest = reading.sessions(Query.of({"since": "30d"}).period, most=1)[0].name
    took["failures/1"] = timed(lambda: failure(reading, Query.of({"since": "30d"}), 1))
    took["sessions/…"] = timed(lambda: session(reading, Query.of({}), latest))
    took["report"] = timed(lambda: report_document(reading, Query.of({"since": "30d"})))
    took["report --json"] = timed(lambda: report_data(reading, Query.of({"since": "30d"})))
    reading.close()
    worst = sorted(took.items(), key=lambda each: -each[1])[:4]
    said = ", ".join(f"{name or 'overview'} {seconds * 1000:.0f} ms" for name, seconds in worst)
    print(f"{'':<12}{size:>10,} {caller * 1e6:>6.1f} µs {rate:>8,.0f}/s  {said}")
    good = caller < CALLER and worst[0][1] < VIEW and rate >= WRITTEN
    if not good:
        print("            below the bar", file=sys.stderr)
    return good


def cost(kept: Store) -> float:
    """What one call pays, in seconds: to be known again, to be an event, and to be handed over."""
    start = time.thread_time()
    for number in range(2_000):
        text, size = keyed_fingerprint("warm", {"query": "what is asked for", "limit": number}, kept.key)
        about = {
            "seat": "server",
            "session": "bench",
            "server": "shop",
            "client": "agent/1",
            "fingerprint": text,
            "size": size,
        }
        kept(CallEvent(tool="warm", ok=True, seconds=0.01, at=datetime.now(UTC), **about))
    return (time.thread_time() - start) / 2_000


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
