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
from failwell.observe.stores import Period, Reading, address_of, database
from failwell.observe.stores.event_rows import COLUMNS, EventRows
from failwell.observe.stores.journal import Journal

AT = datetime(2026, 11, 17, 6, tzinfo=UTC)
BUSY = fw.Transient("The index is busy.", code="RATE_LIMITED", retry_after=2)
LOST = fw.ToolError("It may have been done.", code="OUTCOME_UNKNOWN", kind="internal", effect="unknown").replace(
    verify=Action("get_invoice", arguments={"id": 1})
)
TOLD = tuple(name for name in COLUMNS if name not in ("id", "session"))


def event(tool: str, error: fw.ToolError | None = None, at: float = 0, print: str = "p", **more: Any) -> CallEvent:
    told = {"seat": "server", "session": "s", "server": "shop", "fingerprint": print, "seconds": 0.5, **more}
    return CallEvent(tool=tool, ok=error is None, error=error, at=AT + timedelta(seconds=at), **told)


def history(chance: random.Random, key: bytes) -> list[CallEvent]:
    """Calls of one session, each after the one before: of a tool that is often busy, and of one that leaves doubts."""
    check = keyed_fingerprint("get_invoice", {"id": 1}, key).text
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


def written(url: str, events: Sequence[CallEvent], *, writers: int) -> Any:
    """What is in a store, and what it says, when these events were written one after the other by so many."""
    opened = [database(address_of(url)) for _ in range(writers)]
    ((key,),) = opened[0].all("SELECT value FROM meta WHERE name = 'key'")
    rows = EventRows(bytes.fromhex(key), lambda: int(AT.timestamp() * 1000) + 10**8)
    journals = [Journal() for _ in opened]
    for number, each in enumerate(events):
        with opened[number % writers].transaction() as to:
            journals[number % writers].write(rows.of(each), to)
    found = opened[0].all(f"SELECT {', '.join(TOLD)} FROM event ORDER BY at")
    # Of two calls that settle a doubt the one that is told first is named; that it is settled does not depend on it.
    doubts = opened[0].all("SELECT at, how IS NULL FROM doubt ORDER BY at")
    for each in opened:
        each.close()
    reading = Reading.of(url)
    start = int(AT.timestamp() * 1000)
    period = Period(start, start + 10**7)
    numbers = reading.numbers(period), reading.doubts(period).open
    reading.close()
    return [dict(zip(TOLD, row, strict=True)) for row in found], doubts, numbers


@pytest.mark.parametrize("seed", range(60))
def test_the_order_in_which_calls_are_told_changes_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    urls = [f"sqlite:///{tmp_path / name}.db" for name in ("told", "late")]
    key = b"the same in both"
    for url in urls:
        opened = database(address_of(url))
        with opened.transaction() as to:
            to.many("UPDATE meta SET value = ? WHERE name = 'key'", [(key.hex(),)])
        opened.close()
    made = history(chance, key)
    late = list(made)
    for _ in range(chance.randint(1, 3)):
        late.insert(chance.randrange(len(late)), late.pop(chance.randrange(len(late))))
    in_order = written(urls[0], made, writers=1)
    assert written(urls[1], late, writers=2) == in_order


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
    found = reading.session("s")
    assert found is not None
    timeline = [
        (row["tool"], row["attempt"], row["ok"], row["recovered"], row["retry"], row["waited"])
        for row in reading.timeline(found)
    ]
    reading.close()
    assert timeline == [
        ("search", 1, 0, 2, 0, 3.5),
        ("search", 2, 0, 1, None, 3.5),
        ("search", 3, 1, None, None, None),
        ("pay", 1, 0, None, None, None),
        ("get_invoice", 1, 1, None, None, None),
        ("search", 1, 0, 1, 1, 4.5),
        ("search", 2, 1, None, None, None),
    ]
    start = int(AT.timestamp() * 1000)
    again = Reading.of(url)
    doubts = again.doubts(Period(start, start + 10**6))
    again.close()
    assert (doubts.open, doubts.looked) == (0, 1)
