"""Several processes tell of one session, each when it comes to it: what counts is when the calls were made."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.model import Action
from failwell.observe import CallEvent, Store, keyed_fingerprint, store
from failwell.observe.stores import Database, Reading, Selection, address_of
from failwell.observe.stores.batches import write
from failwell.observe.stores.rows import EventRows
from failwell.observe.stores.tables import COLUMNS

AT = datetime(2026, 11, 17, 6, tzinfo=UTC)
BUSY = fw.Transient("The index is busy.", code="RATE_LIMITED", retry_after=2)
LOST = fw.ToolError("It may have been done.", code="OUTCOME_UNKNOWN", kind="internal", effect="unknown").replace(
    verify=Action("get_invoice", arguments={"id": 1})
)
TOLD = tuple(name for name in COLUMNS if name not in ("id", "session"))
"""What does not depend on who has written it."""


def event(tool: str, error: fw.ToolError | None = None, at: float = 0, print: str = "p", **more: Any) -> CallEvent:
    told = {"seat": "server", "session": "s", "server": "shop", "fingerprint": print, "seconds": 0.5, **more}
    return CallEvent(tool=tool, ok=error is None, error=error, at=AT + timedelta(seconds=at), **told)


def history(chance: random.Random, key: bytes) -> list[CallEvent]:
    """Calls of one session, each after the one before: of a tool that is often busy, and of one that leaves doubts."""
    check = keyed_fingerprint("get_invoice", {"id": 1}, key)
    made = []
    for number in range(chance.randint(2, 14)):
        at = number * chance.choice((1, 3))
        tool, printed, errors = chance.choice(
            (
                ("search", chance.choice("ab"), (None, BUSY, BUSY)),
                ("pay", chance.choice("cd"), (None, LOST)),
                ("get_invoice", chance.choice((check, "e")), (None, None, BUSY)),
            )
        )
        made.append(event(tool, chance.choice(errors), 4 * number + at % 4, printed))
    return made


def written(url: str, events: Sequence[CallEvent], *, key: bytes, writers: int) -> Any:
    """What is in a store, and what it says, when these events were written one after the other by so many."""
    opened = [Database(address_of(url)) for _ in range(writers)]
    rows = EventRows(key, lambda: int(AT.timestamp() * 1000) + 10**8)
    for number, each in enumerate(events):
        database = opened[number % writers]
        with database.transaction() as to:
            write(database, to, rows.of(each))
    for each in opened:
        each.close()
    reading = Reading.of(url)
    start = int(AT.timestamp() * 1000)
    found = reading.calls(Selection(since=start, until=start + 10**7), most=1_000)
    # Of two calls that settle a doubt the one that is told first is named.
    told = [{name: row[name] or None if name == "doubt" else row[name] for name in TOLD} for row in found]
    for row in told:
        row["doubt"] = row["doubt"] if row["doubt"] in (None, "open") else "settled"
    numbers = reading.numbers(Selection(since=start, until=start + 10**8)), reading.sessions(Selection())
    reading.close()
    for name in ("doubt_looked", "doubt_again"):
        del numbers[0][name]
    return told, numbers


@pytest.mark.parametrize("seed", range(60))
def test_the_order_in_which_calls_are_told_changes_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    urls = [f"sqlite:///{tmp_path / name}.db" for name in ("told", "late")]
    key = b"the same in both"
    made = history(chance, key)
    late = list(made)
    for _ in range(chance.randint(1, 3)):
        late.insert(chance.randrange(len(late)), late.pop(chance.randrange(len(late))))
    in_order = written(urls[0], made, key=key, writers=1)
    assert written(urls[1], late, key=key, writers=2) == in_order


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from test_store_order import BUSY, event, store

kept = store(sys.argv[2])
kept(event("search", BUSY, 5))
kept(event("search", None, 9))
kept(event("get_invoice", None, 20, "i"))
assert kept.flush(30)
print("written", flush=True)
sys.stdin.read()
kept(event("search", None, 30, "q"))
kept.close()
"""


def test_two_processes_that_write_one_file_tell_one_story(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept: Store = store(url)
    command = [sys.executable, "-c", CHILD, str(Path(__file__).parent), url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        # What came before it is told after it; between the two it looked as if the first attempt had worked.
        kept(event("search", BUSY, 1))
        kept(event("pay", LOST.replace(verify=Action("get_invoice")), 15))
        kept(event("search", BUSY, 25, "q"))
        assert kept.flush(30)
        child.communicate()
    kept.close()
    reading = Reading.of(url)
    calls = reading.calls(Selection(session="s"), most=50)
    timeline = [(row["tool"], row["attempt"], row["outcome"], row["after"], row["doubt"]) for row in reversed(calls)]
    start = int(AT.timestamp() * 1000)
    numbers = reading.numbers(Selection(since=start, until=start + 10**6))
    reading.close()
    assert timeline == [
        ("search", 1, "recovered", 2, ""),
        ("search", 2, "recovered", 1, ""),
        ("search", 3, "ok", 0, ""),
        ("pay", 1, "recovered", 0, "looked"),
        ("get_invoice", 1, "ok", 0, ""),
        ("search", 1, "recovered", 1, ""),
        ("search", 2, "ok", 0, ""),
    ]
    assert (numbers["doubt"], numbers["doubt_looked"]) == (1, 1)
