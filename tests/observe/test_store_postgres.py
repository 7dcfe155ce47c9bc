"""A store in a real PostgreSQL: days as partitions, rights, and a server that is killed and comes back."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
import psycopg
import pytest

import failwell as fw
from databases import patiently, until_it_answers
from failwell.observe import BadStore, CallEvent, Store, store
from failwell.observe.stores import Database, Reading, Selection, address_of

BUSY = fw.Transient("The index is busy.", code="RATE_LIMITED")


def event(error: fw.ToolError | None = None, ago: float = 0.0, **more: Any) -> CallEvent:
    at = datetime.now(UTC) - timedelta(days=ago)
    about = {"seat": "server", "session": "s", "fingerprint": "f", **more}
    return CallEvent(tool="search", ok=error is None, error=error, seconds=0.1, at=at, **about)


def asked(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(sql)
        return done.fetchall() if done.description else []


def numbers(url: str) -> tuple[int, int]:
    reading = Reading.of(url)
    now = int(time.time() * 1000)
    found = reading.numbers(Selection(since=now - 89 * 86_400_000, until=now))
    reading.close()
    return found["calls"], found["failed"]


def test_what_is_old_goes_and_the_sums_stay(postgresql: str) -> None:
    kept: Store = store(postgresql, days=10.0)
    for days in (40, 3, 2, 1, 0):
        kept(event(BUSY if days else None, days))
    assert kept.flush(60)
    kept.close()
    assert numbers(postgresql) == (5, 4)
    assert asked(postgresql, "SELECT count(*) FROM failwell.event") == [(4,)]


def test_two_writers_write_one_row_of_one_call(postgresql: str) -> None:
    before = numbers(postgresql)
    first, second = store(postgresql, days=10.0), store(postgresql, days=11.0)
    assert first.key == second.key
    first(event(BUSY, call_id="s/1/1"))
    assert first.flush(60)
    second(event(BUSY, call_id="s/1/1", seat="client", decision="retry"))
    assert second.flush(60)
    first(event(call_id="s/1/2"))
    assert first.flush(60)
    first.close()
    second.close()
    assert numbers(postgresql) == (before[0] + 2, before[1] + 1)
    told = "SELECT seats, decision, attempt, outcome, after FROM failwell.event WHERE call_id LIKE 's/1/%' ORDER BY id"
    assert asked(postgresql, told) == [(5, "retry", 1, "recovered", 1), (1, "", 2, "ok", 0)]


def test_a_server_that_is_killed_and_comes_back_loses_nothing(
    postgresql: str, postgresql_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    kept: Store = store(postgresql, days=12.0)
    kept(event())
    assert kept.flush(60)
    # Others may have written to it, too.
    before = numbers(postgresql)[0] - 1
    postmaster = psutil.Process(postgresql_server.get_pid())
    processes = [postmaster, *postmaster.children()]
    for process in processes:
        # Its children end by themselves when they see it gone, some of them before their turn.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    # Where nobody asks after the dead, they count as running.
    for file in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (postgresql_server.pgdata / file).unlink(missing_ok=True)
    for _ in range(50):
        kept(event())
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes):
        assert not kept.flush(0.1)
    patiently(postgresql_server.ensure_postgres_running)
    until_it_answers(postgresql)
    kept(event())
    assert kept.flush(120)
    kept.close()
    assert (kept.written, kept.dropped) == (52, 0)
    assert numbers(postgresql)[0] == before + 52
    assert all("cannot reach postgresql:" in record.getMessage() for record in caplog.records)


def test_who_has_no_rights_hears_so_in_one_line(postgresql: str, postgresql_server: Any) -> None:
    secret = "hunter2secret"
    asked(postgresql, f"CREATE ROLE nobody LOGIN PASSWORD '{secret}'")
    name = urlsplit(postgresql).path.strip("/")
    url = f"postgresql://nobody:{secret}@/{name}?{urlsplit(postgresql).query}"
    with pytest.raises(BadStore) as told:
        Database(address_of(url))
    assert "permission denied" in str(told.value)
    assert secret not in str(told.value)


def test_a_server_that_is_not_there_does_not_stop_whoever_writes(caplog: pytest.LogCaptureFixture) -> None:
    url = f"postgresql://u:{quote('hunter2secret')}@127.0.0.1:9/none"
    with pytest.raises(BadStore, match=r"cannot reach postgresql://127\.0\.0\.1:9/none: "):
        Reading.of(url)
    kept: Store = store(url)
    kept(event())
    kept.close(0.2)
    assert "hunter2secret" not in caplog.text
