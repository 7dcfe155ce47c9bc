"""The store: what it keeps of events, what follows from them, and what becomes of calls when it is broken."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.model import Action
from failwell.observe import BadStore, CallEvent, Store, Try, store
from failwell.observe.stores import Database, Reading, Selection, address_of, resolve
from failwell.observe.stores.rows import Row, add_to_totals
from failwell.observe.stores.tables import COLUMNS, COUNTERS, KEY

AT = datetime.now(UTC) - timedelta(hours=3)
BUSY = fw.Transient("The index is busy.", code="RATE_LIMITED", retry_after=2)
LOST = fw.ToolError("It may have been done.", code="OUTCOME_UNKNOWN", kind="internal", effect="unknown").replace(
    verify=Action("get_invoice", arguments={"id": 1})
)


def event(tool: str, error: fw.ToolError | None = None, at: float = 0, print: str = "p", **more: Any) -> CallEvent:
    told = {"seat": "server", "session": "s", "server": "shop", "fingerprint": print, "seconds": 0.5, **more}
    return CallEvent(tool=tool, ok=error is None, error=error, at=AT + timedelta(seconds=at), **told)


def rows(path: Path, *columns: str, table: str = "event") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1").fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.db"


@pytest.fixture
def kept(path: Path) -> Iterator[Store]:
    found: Store = store(f"sqlite:///{path}")
    yield found
    found.close()


def told(kept: Store, *events: CallEvent) -> None:
    for each in events:
        kept(each)
    assert kept.flush(30)


def assert_sums_are_those_of_the_rows(path: Path) -> None:
    """The sums that were kept while writing are what the rows add up to."""
    sums: dict[tuple[Any, ...], list[float]] = {}
    for values in rows(path, *COLUMNS):
        add_to_totals(sums, Row(**dict(zip(COLUMNS, values, strict=True))), 1)
    names = ("step", "start", *KEY, *COUNTERS, "seconds")
    stored = {tuple(row[: len(KEY) + 2]): list(row[len(KEY) + 2 :]) for row in rows(path, *names, table="total")}
    assert {key: pytest.approx(sum) for key, sum in sums.items() if any(sum)} == {
        k: v for k, v in stored.items() if any(v)
    }


def test_a_failure_is_recovered_by_a_later_call_of_the_tool(kept: Store, path: Path) -> None:
    told(
        kept,
        event("search", BUSY, 0),
        event("list", None, 1),
        event("search", BUSY, 5),
        event("search", None, 6, print="corrected"),
        event("search", BUSY, 10),
    )
    assert rows(path, "id", "tool", "outcome", "attempt", "after") == [
        (1, "search", "recovered", 1, 2),
        (2, "list", "ok", 1, 0),
        (3, "search", "recovered", 2, 1),
        (4, "search", "ok", 1, 0),
        (5, "search", "unknown", 3, 0),
    ]
    told(kept, event("list", None, 12))
    # The session went on without it.
    assert rows(path, "id", "outcome")[4:] == [(5, "lost"), (6, "ok")]
    assert_sums_are_those_of_the_rows(path)


def test_the_attempts_of_one_event_are_rows_of_their_own(kept: Store, path: Path) -> None:
    tried = (
        Try(error=BUSY, seconds=1, decision="retry", waited=2.5),
        Try(error=BUSY, seconds=1, decision="retry", waited=1),
    )
    told(kept, event("search", None, 10, seconds=7, tried=tried, attempts=3))
    ago = int((AT + timedelta(seconds=10)).timestamp() * 1000)
    assert rows(path, "at", "outcome", "attempt", "decision", "waited", "seconds", "after") == [
        (ago - 6000, "recovered", 1, "retry", 2.5, 1.0, 2),
        (ago - 2500, "recovered", 2, "retry", 1.0, 1.0, 1),
        (ago, "ok", 3, "", None, 1.5, 0),
    ]
    assert_sums_are_those_of_the_rows(path)


def test_a_doubt_is_open_until_somebody_looks(kept: Store, path: Path) -> None:
    told(kept, event("pay", LOST, 0), event("pay", LOST, 5, print="other"))
    ((seen,),) = rows(path, "verify_print")[:1]
    told(kept, event("get_invoice", None, 6, print="of another"))
    assert rows(path, "outcome", "doubt", "verify")[1:] == [("unknown", "open", "get_invoice")] * 2
    told(kept, event("get_invoice", None, 7, print=seen), event("pay", None, 9, print="other"))
    told(kept, event("pay", LOST, 20, print="again"), event("pay", None, 21, print="again"))
    assert rows(path, "id", "outcome", "doubt") == [
        (1, "recovered", "looked"),
        (2, "recovered", "looked"),
        (3, "ok", ""),
        (4, "ok", ""),
        (5, "ok", ""),
        (6, "recovered", "again"),
        (7, "ok", ""),
    ]
    assert_sums_are_those_of_the_rows(path)


def test_a_held_call_is_no_failure_and_shares_the_doubt(kept: Store, path: Path) -> None:
    held = fw.ToolError("pay was not run again.", code="CALL_IN_DOUBT", effect="unknown", verify="get_invoice")
    told(kept, event("pay", LOST.replace(verify=Action("get_invoice")), 0), event("pay", held, 3, made=False))
    assert rows(path, "outcome", "doubt", "failed") == [("held", "open", 0), ("unknown", "open", 1)]
    told(kept, event("get_invoice", None, 5, print="of some invoice"))
    assert rows(path, "outcome", "doubt")[0] == ("held", "looked")
    assert rows(path, "sum(failed)", "sum(held)", "sum(held_looked)", table="total") == [(2, 2, 2)]
    assert_sums_are_those_of_the_rows(path)


@pytest.mark.parametrize(("is_done", "word", "outcome"), [(True, "done", "recovered"), (False, "not_done", "unknown")])
def test_the_operator_says_what_became_of_a_call(
    kept: Store, path: Path, is_done: bool, word: str, outcome: str
) -> None:
    told(kept, event("pay", LOST.replace(correlation_id="1f0c2d3e4a5b"), 0, client="agent/1"))
    database = Database(address_of(f"sqlite:///{path}"))
    assert resolve(database, "1f0c2d3e4a5b", is_done=is_done).tool == "pay"
    for id, said in (("1", "is not in doubt any more"), ("999", "no call in doubt by the id '999'")):
        with pytest.raises(BadStore, match=said):
            resolve(database, id, is_done=is_done)
    database.close()
    assert rows(path, "id", "tool", "outcome", "doubt", "decision") == [
        (1, "pay", outcome, word, ""),
        (2, "pay", "operator", "", f"the operator says: {word.replace('_', ' ')}"),
    ]
    assert rows(path, "calls", "failed", "client", table="session") == [(1, 1, "agent/1")]
    assert_sums_are_those_of_the_rows(path)


def test_new_is_what_was_not_seen_when_the_store_was_young(kept: Store, path: Path) -> None:
    gone = fw.NotFound("It is gone.", code="GONE")
    told(kept, event("search", BUSY, -20 * 86_400), event("search", BUSY), event("search", gone))
    reading = Reading.of(f"sqlite:///{path}")
    now = int(AT.timestamp() * 1000) + 3_600_000
    found = reading.failures(Selection(since=now - 30 * 86_400_000, until=now))
    assert [(each["code"], each["new"], each["message"]) for each in found] == [
        ("RATE_LIMITED", False, "The index is busy."),
        ("GONE", True, "It is gone."),
    ]
    reading.close()


def test_a_tool_that_tells_without_arguments_has_looked_whatever_it_was_asked(kept: Store, path: Path) -> None:
    lost = fw.Transient("It may have been done.", code="TIMEOUT", effect="unknown", verify="get_invoice")
    told(kept, event("pay", lost), event("get_invoice", None, 2, print="of some invoice"))
    assert rows(path, "id", "doubt") == [(1, "looked"), (2, "")]


def test_a_file_that_was_moved_away_is_made_anew_and_nothing_is_lost(kept: Store, path: Path) -> None:
    told(kept, event("search", None))
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).rename(path.with_name(f"old.db{end}"))
    told(kept, event("search", None), event("search", BUSY))
    assert (rows(path, "count(*)"), rows(path.with_name("old.db"), "count(*)")) == ([(2,)], [(1,)])
    assert (kept.written, kept.dropped) == (3, 0)


def test_what_two_seats_tell_of_one_call_is_one_row(kept: Store, path: Path) -> None:
    told(kept, event("pay", None, 0, call_id="s/1/1"))
    gone = fw.Transient("No answer came.", code="TIMEOUT", effect="unknown")
    told(kept, event("pay", gone, 1, call_id="s/1/1", seat="client", decision="ask", prevented=True))
    assert rows(path, "seats", "outcome", "code", "effect", "decision", "prevented", "message") == [
        (5, "unknown", "TIMEOUT", "unknown", "ask", 1, "No answer came.")
    ]
    assert rows(path, "calls", "failed", table="session") == [(1, 1)]
    assert_sums_are_those_of_the_rows(path)


def test_a_call_that_the_client_tells_of_first_is_still_one_of_its_server(kept: Store, path: Path) -> None:
    told(kept, event("pay", BUSY, 0, call_id="s/1/1", seat="client", server=None))
    told(kept, event("pay", BUSY, 0, call_id="s/1/1"))
    assert rows(path, "seats", "server", "code") == [(5, "shop", "RATE_LIMITED")]
    assert_sums_are_those_of_the_rows(path)
    reading = Reading.of(f"sqlite:///{path}")
    now = int(AT.timestamp() * 1000) + 3_600_000
    found = reading.failures(Selection(since=now - 86_400_000, until=now))
    reading.close()
    assert [(each["server"], each["code"]) for each in found] == [("shop", "RATE_LIMITED")]


def test_the_words_of_failures_are_kept_redacted_and_only_where_they_may_be(tmp_path: Path) -> None:
    secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e"
    error = fw.ToolError(f"The key {secret} of card 4111 is wrong.", code=f"x_{secret}", details={"key": secret})
    more = {"client": f"agent/{secret}", "server": secret, "correlation_id": secret}
    for name, messages in (("quiet.db", False), ("loud.db", True)):
        kept = store(f"sqlite:///{tmp_path / name}", messages=messages)
        told(kept, event(f"tool_{secret}", error, **more))
        kept.close()
        held = b"".join(file.read_bytes() for file in tmp_path.glob(f"{name}*"))
        assert secret.encode() not in held
        assert (b"card 4111" in held) is messages


def test_the_file_is_its_owners_alone(kept: Store, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_comes_from_the_future_came_now(kept: Store, path: Path) -> None:
    before = datetime.now(UTC).timestamp() * 1000
    told(kept, event("search", None, at=1e8), event("search", None, at=-1e5))
    ((old,), (new,)) = rows(path, "at")
    assert before - 1000 <= new <= datetime.now(UTC).timestamp() * 1000
    assert old < before - 9e7


def test_two_writers_on_one_file_lose_nothing(path: Path) -> None:
    first, second = (store(f"sqlite:///{path}", most=most) for most in (19_999, 19_998))
    assert first is not second
    assert first.key == second.key

    def tell(kept: Store, seat: str) -> None:
        for number in range(300):
            kept(event("search", BUSY if number % 3 else None, number, call_id=f"s/{number:x}/1", seat=seat))

    threads = [threading.Thread(target=tell, args=each) for each in ((first, "server"), (second, "client"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (first.flush(60), second.flush(60)) == (True, True)
    first.close()
    second.close()
    assert (first.dropped, second.dropped) == (0, 0)
    assert rows(path, "seats", "count(*)") == [(5, 300)]
    assert_sums_are_those_of_the_rows(path)


def test_a_full_queue_drops_and_says_so(path: Path) -> None:
    opened = threading.Event()
    address = address_of(f"sqlite:///{path}")
    is_first = True

    def slow() -> Any:
        nonlocal is_first
        if not is_first:
            opened.wait(30)
        is_first = False
        return Database(address)

    kept = Store(slow, most=10)
    for number in range(5000):
        kept(event("search", None, number))
    dropped = kept.dropped
    assert dropped >= 5000 - 2 * 2000 - 10
    opened.set()
    assert kept.flush(30)
    kept(event("search", None))
    assert kept.flush(30)
    kept.close()
    assert kept.dropped + kept.written == 5001
    assert [sum(each) for each in zip(*rows(path, "count", table="dropped"), strict=True)] == [kept.dropped]


def test_a_broken_store_is_not_felt(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    address = address_of(f"sqlite:///{path}")
    healthy = True

    def opened() -> Any:
        return Database(address) if healthy else {}["on fire"]

    kept = Store(opened)
    healthy = False
    for number in range(100):
        kept(event("search", None, number))
    while not kept.dropped:
        kept.flush(0.05)
    healthy = True
    told(kept, event("search", None))
    kept.close()
    assert kept.dropped + kept.written == 101
    assert sum(count for (count,) in rows(path, "count", table="dropped")) == kept.dropped
    assert [record.getMessage().startswith("Events cannot be written: ") for record in caplog.records] == [True]


def test_a_locked_store_waits_and_loses_nothing(kept: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(50):
        kept(event("search", None, number))
    assert not kept.flush(0.1)
    other.close()
    assert kept.flush(30)
    assert (kept.dropped, kept.written) == (0, 50)


def test_what_is_old_goes_and_the_sums_stay(path: Path) -> None:
    kept = store(f"sqlite:///{path}", days=1.0)
    told(kept, event("search", BUSY, at=-3 * 86_400), event("search", None))
    kept.close()
    again = Store(lambda: Database(address_of(f"sqlite:///{path}")), days=1.0)
    told(again, event("search", None))
    again.close()
    assert rows(path, "count(*)") == [(2,)]
    assert rows(path, "step", "sum(calls)", "sum(failed)", table="total GROUP BY step") == [
        (3_600_000, 3, 1),
        (86_400_000, 3, 1),
    ]


def test_a_forked_process_writes_for_itself(path: Path) -> None:
    kept = store(f"sqlite:///{path}")
    told(kept, event("search", None))
    if (child := os.fork()) == 0:
        kept(event("pay", None))
        os._exit(0 if kept.flush(30) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    told(kept, event("search", None))
    kept.close()
    assert rows(path, "tool", "count(*)")[0][1] == 3


WRONG = {
    "events.db": "a store is named by a URL; for this file write sqlite:///events.db",
    "mysql://u:pw@host/x": "this is no address of a store: 'mysql'…; write sqlite:///events.db, postgresql://user@host/database or otlp:",
    "sqlite://events.db": "sqlite: names a file after three slashes: sqlite:///events.db, sqlite:////var/lib/events.db",
    "sqlite:////nowhere/at/all.db": "cannot write /nowhere/at/all.db: No such file or directory",
}


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_address_is_told_in_one_line(url: str) -> None:
    with pytest.raises(BadStore) as told:
        store(url)
    assert str(told.value) == WRONG[url]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    other, newer, text = tmp_path / "other.db", tmp_path / "newer.db", tmp_path / "notes.txt"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    store(f"sqlite:///{newer}").close()
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE name = 'version'")
        connection.commit()
    text.write_text("These are my notes, and no database at all.\n" * 100)
    said = []
    for file in (other, newer, text):
        with pytest.raises(BadStore) as told:
            store(f"sqlite:///{file}", days=2.0)
        said.append(str(told.value))
    assert said == [
        f"{other} is a database of something else; name another file",
        f"sqlite:///{newer} is a store of version 99, and this is version 2; name another one, or use the failwell that wrote it",
        f"{text} is not a SQLite database; name another file",
    ]
