"""A store whose disk is full, that somebody else holds, and whose clock jumps, under calls over a real wire."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from failwell.cli import main
from failwell.dashboard import Query
from failwell.observe import BadStore, CallEvent, Store, store
from failwell.observe.stores import Database, Reading, Selection, address_of

APP = str(Path(__file__).with_name("seen_app.py"))


def event(at: float | None = None) -> CallEvent:
    when = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return CallEvent(tool="search", ok=True, seconds=0.1, at=when, session="s", fingerprint="f", seat="server")


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file can grow beyond this: the system refuses to write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_a_full_disk_holds_up_is_written_when_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept: Store = store(url)
    kept(event())
    assert kept.flush(30)
    with full_disk((tmp_path / "events.db-wal").stat().st_size):
        for _ in range(3_000):
            kept(event())
        assert not kept.flush(1)
    assert kept.flush(60)
    kept.close()
    assert (kept.written, kept.dropped) == (3_001, 0)
    assert [record.getMessage().startswith(f"Events cannot be written: {tmp_path}") for record in caplog.records] == [
        True
    ]


def test_what_is_dropped_stands_in_the_report_and_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept: Store = store(url, most=10)
    other = sqlite3.connect(tmp_path / "events.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(6_000):
        kept(event())
    assert kept.dropped
    other.close()
    kept(event())
    assert kept.flush(60)
    kept.close()
    assert kept.written + kept.dropped == 6_001
    reading = Reading.of(url)
    assert reading.numbers(Query.of({}).selection)["calls"] == kept.written
    reading.close()
    assert main(["report", url]) == 0
    assert f"  events dropped {kept.dropped:>8}  too many waited, or the store " in capsys.readouterr().out
    assert main(["report", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dropped"] == kept.dropped
    assert main(["report", url, "--html", "-"]) == 0
    assert " events were dropped: too many waited" in capsys.readouterr().out
    assert main(["report", url, "--fail-on", "dropped>0"]) == 1


def test_a_burst_waits_on_the_disk_and_nothing_is_dropped(tmp_path: Path) -> None:
    kept: Store = store(f"sqlite:///{tmp_path / 'events.db'}")
    other = sqlite3.connect(tmp_path / "events.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(30_000):
        kept(event())
    assert len(kept._queue) <= 20_000
    other.close()
    assert kept.flush(120)
    kept.close()
    assert (kept.written, kept.dropped) == (30_000, 0)


def test_a_corrupt_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    kept: Store = store(f"sqlite:///{path}")
    kept(event())
    kept.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for use in (Reading.of, lambda url: store(url, days=3.0)):
        with pytest.raises(BadStore, match="malformed"):
            use(f"sqlite:///{path}")


def test_what_no_store_will_ever_say_is_said_at_the_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept: Store = store(f"sqlite:///{tmp_path / 'events.db'}")
    kept(event())
    assert kept.flush(30)
    with full_disk((tmp_path / "events.db-wal").stat().st_size):
        for _ in range(3_000):
            kept(event())
        kept.close(0.01)
        assert kept.flush(60)
    assert caplog.records[-1].getMessage() == f"{kept.dropped} events were dropped, and the store does not say so."


def test_calls_are_answered_while_somebody_else_holds_the_store(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    url = f"sqlite:///{path}"
    store(url).close()
    other = sqlite3.connect(path, isolation_level=None)

    async def call() -> list[str]:
        env = {**os.environ, "SEEN_EVENTS": url}
        parameters = StdioServerParameters(command=sys.executable, args=[APP], env=env)
        async with Client(stdio_client(parameters)) as client:
            other.execute("BEGIN IMMEDIATE")
            answers = [await client.call_tool("search", {"query": str(number)}) for number in range(40)]
            # All of them are here, and not one event can have been written.
            assert other.execute("SELECT count(*) FROM event").fetchall() == [(0,)]
            other.execute("ROLLBACK")
        return [answer.content[0].text for answer in answers]  # type: ignore[union-attr]

    assert asyncio.run(call()) == [f"found {number}" for number in range(40)]
    assert other.execute("SELECT count(*), sum(outcome = 'ok') FROM event").fetchall() == [(40, 40)]
    other.close()


def test_a_clock_that_jumps_breaks_nothing_and_retires_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    jump, year = 0.0, 365 * 86_400.0
    kept = Store(lambda: Database(address_of(f"sqlite:///{path}")), now=lambda: time.time() + jump)
    started = time.time()
    for jump in (0.0, year, -year, 0.0):
        kept(event(time.time() + jump))
        assert kept.flush(30)
    kept.close()
    reading = Reading.of(f"sqlite:///{path}")
    times = [round((row["at"] / 1000 - started) / year) for row in reading.after(0)]
    assert times == [0, 1, -1, 0]
    now = int(time.time() * 1000)
    assert reading.numbers(Selection(since=now - 86_400_000, until=now))["calls"] == 2
    reading.close()
