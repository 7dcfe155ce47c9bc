"""Whether agents get on after a failure: scripted agents, servers with Failwell and without, and a matrix of faults.

    python tools/bench_recovery.py [--runs N] [--agents A;…] [--servers S;…] [--faults F;…] [--details] [--json]

Every server is a process of its own, spoken to over stdio, and every fault is real. What was done is read from the
ledger of the service behind the servers, never from what an agent believes. The exit code is 1 when an agent with
Failwell, on a server with Failwell, did something twice, did what nobody asked for, or said that it was done and it
was not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import anyio
import bpe_openai
from mcp import StdioServerParameters

from bench import Report
from recovery_agents import AGENTS, Session, caller_for
from recovery_goals import FAULTS, judge
from recovery_server import SERVERS
from recovery_world import World

RUNS = 6
AT_ONCE = 3
BETWEEN = 3_600.0
"""Seconds between two goals, so that no goal sees the trouble of the one before."""


@dataclass(frozen=True)
class Row:
    """What became of one goal."""

    agent: str
    server: str
    fault: str
    run: int
    word: str
    """What the agent told its user."""
    success: bool
    duplicates: int
    wrong: int
    untrue: bool
    calls: int
    tokens: int
    texts: list[str]


def count_tokens() -> Callable[[str], int]:
    encoding = bpe_openai.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text))


async def run_pair(agent: str, server: str, faults: list[str], runs: int, seed: int, folder: Path) -> list[Row]:
    world, tokens, rows = World(folder), count_tokens(), []
    place = command(server, world)
    try:
        async with caller_for(agent, place, world.clock, Random(seed)) as caller:
            for fault in faults:
                for run in range(runs):
                    # The same for every agent on every server.
                    random = Random(zlib.crc32(f"{seed} {fault} {run}".encode()))
                    goal = FAULTS[fault](world, random, run)
                    caller.session = session = Session()
                    word = await AGENTS[agent](goal, caller, world.clock)
                    # What was in the way is over by then, and the ledger can be read.
                    world.clock.advance(BETWEEN)
                    verdict = judge(world, goal, word, session.sent)
                    read = session.read
                    cost = {"calls": len(session.sent), "tokens": sum(map(tokens, read)), "texts": read}
                    rows.append(Row(agent, server, fault, run, word=word, **asdict(verdict), **cost))
    finally:
        world.close()
    return rows


def command(server: str, world: World) -> StdioServerParameters:
    script = str(Path(__file__).with_name("recovery_server.py"))
    arguments = [script, server, world.service.url, world.warehouse.url, str(world.folder)]
    return StdioServerParameters(command=sys.executable, args=arguments)


async def run_all(agents: list[str], servers: list[str], faults: list[str], runs: int, seed: int) -> list[Row]:
    found: dict[tuple[str, str], list[Row]] = {(agent, server): [] for agent in agents for server in servers}
    places = anyio.CapacityLimiter(AT_ONCE)

    async def one(agent: str, server: str) -> None:
        async with places:
            with tempfile.TemporaryDirectory(prefix="failwell-recovery-", ignore_cleanup_errors=True) as folder:
                found[agent, server] = await run_pair(agent, server, faults, runs, seed, Path(folder))

    async with anyio.create_task_group() as group:
        for pair in found:
            group.start_soon(one, *pair)
    return [row for rows in found.values() for row in rows]


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    rows = list(rows)
    return {
        "goals": len(rows),
        "success": sum(row.success for row in rows) / len(rows),
        "calls": sum(row.calls for row in rows) / len(rows),
        "duplicates": sum(row.duplicates for row in rows),
        "wrong": sum(row.wrong for row in rows),
        "untrue": sum(row.untrue for row in rows),
        "tokens": sum(row.tokens for row in rows) / len(rows),
    }


def broken(rows: Iterable[Row]) -> list[str]:
    """What must never happen, and did."""
    return [
        f"{row.agent} on {row.server}, {row.fault} {row.run}: {what}"
        for row in rows
        if row.agent == "failwell" and SERVERS[row.server].guarded
        for what, seen in (("a double effect", row.duplicates), ("a wrong effect", row.wrong), ("untrue", row.untrue))
        if seen
    ]


def show(rows: list[Row], agents: list[str], servers: list[str], faults: list[str], details: bool) -> None:
    report = Report()
    columns = ["agent", "server", "success", "calls", "double", "wrong", "untrue", "tokens"]
    lines = []
    for agent in agents:
        for server in servers:
            told = summary(row for row in rows if (row.agent, row.server) == (agent, server))
            counts = [str(told[name]) for name in ("duplicates", "wrong", "untrue")]
            lines.append(
                [agent, server, f"{told['success']:.0%}", f"{told['calls']:.1f}", *counts, f"{told['tokens']:.0f}"]
            )
    goals = len(rows) // (len(agents) * len(servers))
    report.table(f"Recovery: {goals} goals in each row; calls and tokens per goal", columns, lines)
    if details:
        for agent in agents:
            grid = []
            for fault in faults:
                cells = [
                    [row for row in rows if (row.agent, row.server, row.fault) == (agent, server, fault)]
                    for server in servers
                ]
                grid.append([fault, *(_cell(cell) for cell in cells)])
            report.table(f"{agent}: goals reached, and what was done twice", ["fault", *servers], grid)


def _cell(rows: list[Row]) -> str:
    told = summary(rows)
    twice = f", {told['duplicates']} twice" if told["duplicates"] else ""
    return f"{sum(row.success for row in rows)}/{len(rows)}{twice}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="goals for each fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agents", type=_names(AGENTS), default=list(AGENTS), help="separated by semicolons")
    parser.add_argument("--servers", type=_names(SERVERS), default=list(SERVERS))
    parser.add_argument("--faults", type=_names(FAULTS), default=list(FAULTS))
    parser.add_argument("--details", action="store_true", help="for each fault")
    parser.add_argument("--json", action="store_true", help="every goal, with the texts that were read")
    chosen = parser.parse_args()
    rows = anyio.run(run_all, chosen.agents, chosen.servers, chosen.faults, chosen.runs, chosen.seed)
    misses = broken(rows)
    if chosen.json:
        print(json.dumps({"goals": [asdict(row) for row in rows], "broken": misses}, indent=1))
    else:
        show(rows, chosen.agents, chosen.servers, chosen.faults, chosen.details)
        for miss in misses:
            print(f"broken: {miss}")
    return 1 if misses else 0


def _names(known: Iterable[str]) -> Callable[[str], list[str]]:
    def names(given: str) -> list[str]:
        chosen = [name.strip() for name in given.split(";")]
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {name!r}; use {'; '.join(known)}")
        return chosen

    return names


if __name__ == "__main__":
    sys.exit(main())
