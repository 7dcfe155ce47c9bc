"""Events with a known truth: sessions of agents that recover, repeat, loop, wait and look, planted and counted.

    from store_world import events, Truth

What a store says about them is held against what was planted: `Truth` is counted here, while the events are made, and
knows nothing of how a store counts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import failwell as fw
from failwell.model import Action
from failwell.observe import CallEvent, Try, keyed_fingerprint

READS = ("search", "get_invoice", "list_orders", "read_file", "weather")
BUSY = fw.Transient("The index is busy.", code="RATE_LIMITED", retry_after=2)
MISSING = fw.NotFound("There is no such order.", code="ORDER_MISSING")
WRONG = fw.Invalid("The limit is too large.", code="LIMIT_TOO_LARGE")
DENIED = fw.Denied("It is not yours.", code="NOT_YOURS")
LOST = fw.ToolError("It may have been done.", code="OUTCOME_UNKNOWN", kind="internal", effect="unknown").replace(
    verify=Action("get_invoice", arguments={"id": 7})
)
CLIENTS = ("claude-code/2.1", "cursor/3.0", "my-agent/0.4")
SERVERS = ("shop", "files")


@dataclass
class Truth:
    """What was planted."""

    calls: int = 0
    failed: int = 0
    after: Counter[int] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    recovered_by_code: Counter[str] = field(default_factory=Counter)
    by_tool: Counter[str] = field(default_factory=Counter)
    same: int = 0
    retried: int = 0
    retried_ok: int = 0
    us: int = 0
    us_obeyed: int = 0
    client: int = 0
    client_obeyed: int = 0
    prevented: int = 0
    undeclared: int = 0
    declared: int = 0
    loops: int = 0
    loop_calls: int = 0
    loop_seconds: float = 0.0
    doubts_open: int = 0
    doubts_looked: int = 0
    doubts_worked: int = 0
    doubts_repeated: int = 0


class _Session:
    def __init__(self, name: str, number: int, server: str, at: datetime, truth: Truth, chance: random.Random) -> None:
        self.name, self.server, self.at, self.truth, self.chance = name, server, at, truth, chance
        self.client, self.seat = CLIENTS[number % 3], ("server", "client", "relay")[number % 3]
        self.check: str | None = None
        self._prints = 0

    def print(self) -> str:
        """A fingerprint that nothing else has."""
        self._prints += 1
        return f"{self.name[-8:]}{self._prints:08x}"

    def call(self, tool: str, error: fw.ToolError | None = None, wait: float = 1.0, **more: Any) -> CallEvent:
        seconds = 0.25
        self.at += timedelta(seconds=wait + seconds)
        truth = self.truth
        truth.calls += 1
        truth.by_tool[tool] += 1
        if error is not None:
            truth.failed += 1
            truth.by_code[error.code or ""] += 1
        about = {"seat": self.seat, "session": self.name, "client": self.client, "server": self.server}
        about["fingerprint"] = more.pop("print", None) or self.print()
        if self.seat != "server":
            about["call_id"] = f"{self.name}/{int(self.at.timestamp() * 1000) & 0xFFFFFFFF:x}/1"
        return CallEvent(tool=tool, ok=error is None, error=error, seconds=seconds, at=self.at, **about, **more)

    def recovered(self, error: fw.ToolError, after: int, *, same: bool) -> None:
        truth = self.truth
        truth.after[after] += 1
        truth.recovered_by_code[error.code or ""] += 1
        truth.same += same

    # What agents do

    def works(self) -> Iterator[CallEvent]:
        for tool in READS[: self.chance.randint(1, 5)]:
            yield self.call(tool)

    def corrects(self) -> Iterator[CallEvent]:
        """Wrong, then right with other arguments; in between something else is called."""
        yield self.call("list_orders", WRONG, decision="fix")
        yield self.call("weather")
        yield self.call("list_orders")
        self.recovered(WRONG, 1, same=False)

    def repeats(self) -> Iterator[CallEvent]:
        """The same call again, after the time that was named or before it, until it works."""
        waits = self.chance.choice(((2.5, 3.0), (0.5, 3.0), (0.1, 0.1)))
        print, truth = self.print(), self.truth
        yield self.call("search", BUSY, print=print)
        yield self.call("search", BUSY, wait=waits[0], print=print)
        yield self.call("search", wait=waits[1], print=print)
        self.recovered(BUSY, 2, same=True)
        self.recovered(BUSY, 1, same=True)
        truth.retried += 1
        truth.client += 2
        truth.client_obeyed += (waits[0] >= 2) + (waits[1] >= 2)

    def is_waited_for(self) -> Iterator[CallEvent]:
        """One event of whoever repeats by itself: two attempts that failed, and one that worked."""
        truth = self.truth
        tried = (
            Try(error=BUSY, seconds=0.25, decision="retry", waited=2.1),
            Try(error=BUSY, seconds=0.25, decision="retry", waited=1.0),
        )
        event = self.call("read_file", wait=4.0, tried=tried, attempts=3)
        yield CallEvent(**{**{name: getattr(event, name) for name in event.__slots__}, "seconds": 3.85})
        truth.calls += 2
        truth.by_tool["read_file"] += 2
        truth.failed += 2
        truth.by_code["RATE_LIMITED"] += 2
        self.recovered(BUSY, 2, same=True)
        self.recovered(BUSY, 1, same=True)
        truth.us, truth.us_obeyed, truth.retried = truth.us + 2, truth.us_obeyed + 1, truth.retried + 1

    def works_at_once_again(self) -> Iterator[CallEvent]:
        print = self.print()
        yield self.call("weather", MISSING, print=print, declared=True)
        yield self.call("weather", print=print)
        self.truth.retried, self.truth.retried_ok = self.truth.retried + 1, self.truth.retried_ok + 1
        self.truth.declared += 1
        self.recovered(MISSING, 1, same=True)

    def loops(self) -> Iterator[CallEvent]:
        times, print = self.chance.randint(3, 8), self.print()
        for _ in range(times):
            yield self.call("delete_file", DENIED, print=print, declared=False)
        truth = self.truth
        truth.loops, truth.loop_calls = truth.loops + 1, truth.loop_calls + times - 2
        truth.loop_seconds += 0.25 * (times - 2)
        truth.retried += 1
        truth.undeclared += times

    def gives_up(self) -> Iterator[CallEvent]:
        yield self.call("open_ticket", DENIED, decision="ask")

    def too_late(self) -> Iterator[CallEvent]:
        """Six different calls fail and the seventh works: five of them count as recovered."""
        for _ in range(6):
            yield self.call("convert", WRONG)
        yield self.call("convert")
        for after in range(1, 6):
            self.recovered(WRONG, after, same=False)

    def is_lost(self) -> Iterator[CallEvent]:
        """Nobody knows whether it was done: somebody looks, nobody does, or it is made again all the same."""
        truth, print = self.truth, self.print()
        end = self.chance.choice(("looked", "open", "repeated"))
        yield self.call("pay", LOST, print=print, decision="verify", prevented=True)
        truth.prevented += 1
        if end == "looked":
            yield self.call("get_invoice", print=self.check)
            truth.doubts_looked += 1
        elif end == "open":
            truth.doubts_open += 1
        else:
            yield self.call("pay", print=print)
            truth.doubts_worked, truth.doubts_repeated = truth.doubts_worked + 1, truth.doubts_repeated + 1
            truth.retried, truth.retried_ok = truth.retried + 1, truth.retried_ok + 1
            self.recovered(LOST, 1, same=True)


SCENES = "corrects repeats is_waited_for works_at_once_again loops gives_up too_late is_lost".split()


def events(
    count: int, truth: Truth, *, key: bytes, days: float = 7.0, seed: int = 7, servers: int = 2
) -> Iterator[CallEvent]:
    """About so many events, over so many days until now; what they hold is counted into `truth`."""
    chance = random.Random(seed)
    names = [*SERVERS, *(f"server-{number}" for number in range(len(SERVERS), servers))]
    check = keyed_fingerprint("get_invoice", {"id": 7}, key)
    made, number = 0, 0
    start = datetime.now(UTC) - timedelta(days=days, minutes=5)
    while made < count:
        number += 1
        at = start + timedelta(days=days * made / count)
        session = _Session(f"{number:010x}{seed:06x}", number, names[number % len(names)], at, truth, chance)
        session.check = check
        # Each scene once at most, so that no call of one is taken for one of another.
        for scene in [*chance.sample(SCENES, chance.randint(0, 3)), "works"]:
            for event in getattr(session, scene)():
                made += 1
                yield event
