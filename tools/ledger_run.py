"""Runs agents against a server that keeps a ledger, and looks at what is left when they have gone."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio

from failwell.testing import ScriptedServer, scripted
from ledger_check import Said, Tally, check
from ledger_clients import PEERS, Agent, failwell, timed
from ledger_plan import AWAY, Job, draw, script_of
from repeating_agents import WAYS, Answered, Repeats, repeat

AGENTS = 8


@dataclass(frozen=True, slots=True)
class Lane:
    """One way to a server: how it is reached, by which client, by how many."""

    transport: Literal["stdio", "http"]
    mode: str = "auto"
    client: str = "mcp"
    shared: bool = False
    """Whether all agents share one client; otherwise each has its own."""
    peer: str | None = None
    """Whose client it is, if not Failwell's."""

    def __str__(self) -> str:
        how = "one client" if self.shared else "a client each"
        return f"{self.transport} {self.mode} {self.client}, {how}" if self.peer is None else self.peer

    @property
    def away(self) -> bool:
        """Whether a server that dies stays away for a while, so that connections are refused."""
        return self.transport == "http" and not self.shared

    def open(self, server: ScriptedServer) -> AbstractAsyncContextManager[Agent]:
        if self.peer is not None:
            return PEERS[self.peer](server)
        return failwell(server, self.client, self.mode)


LANES = [
    Lane(transport, mode, client, shared)
    for transport in ("stdio", "http")
    for mode in ("auto", "legacy")
    for client in ("mcp", "fastmcp")
    for shared in (True, False)
]


def run(lane: Lane, seed: str, count: int, agents: int = AGENTS) -> Tally:
    """The figures of one lane, with everything that is wrong."""
    jobs = draw(seed, count, lane.transport)
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-ledger-") as folder:
            before, others = _descriptors(), frozenset(_processes(folder))
            began = time.monotonic()
            tally = anyio.run(_run, lane, jobs, Path(folder), agents)
            tally.seconds = time.monotonic() - began
            tally.left += _left_behind(folder, before, others)
    finally:
        logging.disable(logging.NOTSET)
    return tally


async def _run(lane: Lane, jobs: Sequence[Job], folder: Path, agents: int) -> Tally:
    said: list[Said] = []
    waiting = list(reversed(jobs))
    async with scripted(
        script_of(jobs), lane.transport, directory=folder, restart_after=AWAY if lane.away else 0.0
    ) as server:
        if lane.shared:
            async with lane.open(server) as agent, anyio.create_task_group() as group:
                for _ in range(agents):
                    group.start_soon(_work, agent, waiting, said, "shared")
        else:
            async with anyio.create_task_group() as group:
                for number in range(agents):
                    group.start_soon(_alone, lane.open, server, waiting, said, f"client {number}")
        calls, effects = server.calls, server.effects
    tally = check(said, calls, effects, over_http=lane.transport == "http", away=lane.away)
    missing = {job.id for job in jobs} - {each.job.id for each in said}
    tally.wrong += [f"no outcome for {id}" for id in sorted(missing)]
    tally.left += await _tasks()
    return tally


def run_repeats(lane: Lane, seed: str, count: int) -> Repeats:
    """The figures of agents that repeat writes which failed, one after the other on one client."""
    # A job without faults works at once, and nobody repeats it.
    drawn = draw(seed, 10 * count, lane.transport)
    jobs = [job for job in drawn if job.kind.effect and not job.kind.repeatable and job.strikes][:count]
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-ledger-") as folder:
            return anyio.run(_repeats, lane, jobs, Path(folder))
    finally:
        logging.disable(logging.NOTSET)


async def _repeats(lane: Lane, jobs: Sequence[Job], folder: Path) -> Repeats:
    figures, trails = Repeats(), []
    async with scripted(script_of(jobs), lane.transport, directory=folder) as server:
        # A call that verifies is a look, and these agents say themselves when they look.
        async with failwell(server, lane.client, lane.mode, verifies=False) as agent:
            for number, job in enumerate(jobs):

                async def write(job: Job = job) -> Answered:
                    said = await agent.call(job)
                    return Answered(said.ok, said.allows)

                async def look(job: Job = job) -> bool:
                    # Of a fax no tool tells; any read is a look then.
                    return (await agent.call(Job(job.id, job.kind.check or "find_order", ()))).ok

                trails.append(await repeat(f"{job.tool} {job.id}", WAYS[number % len(WAYS)], write, look))
        done = Counter(f"{effect.tool} {effect.call.key}" for effect in server.effects)
    for trail in trails:
        figures.add(trail, done[trail.id])
    return figures


async def _work(agent: Agent, waiting: list[Job], said: list[Said], client: str) -> None:
    while waiting:
        outcome = await timed(agent, waiting.pop(), client)
        said.append(outcome)
        if outcome.aborted or outcome.hung:
            return


async def _alone(
    opened: Callable[[Any], AbstractAsyncContextManager[Agent]],
    server: ScriptedServer,
    waiting: list[Job],
    said: list[Said],
    client: str,
) -> None:
    # A client that cancels the task it is used in takes only that task along; the agent goes on in another.
    while waiting:
        life = asyncio.ensure_future(_one_life(opened, server, waiting, said, client))
        before = len(waiting)
        await asyncio.wait([life])
        if not life.cancelled() and (failure := life.exception()) is not None and len(waiting) == before:
            raise failure


async def _one_life(
    opened: Callable[[Any], AbstractAsyncContextManager[Agent]],
    server: ScriptedServer,
    waiting: list[Job],
    said: list[Said],
    client: str,
) -> None:
    async with opened(server) as agent:
        await _work(agent, waiting, said, client)


async def _tasks() -> list[str]:
    """The tasks that have not ended, after a moment to do so."""
    for _ in range(20):
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if not left:
            return []
        await asyncio.sleep(0.05)
    return [f"a task: {task.get_coro()}" for task in left]


def _descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def _left_behind(folder: str, before: int, others: frozenset[str]) -> list[str]:
    """Processes of the run that still live, and descriptors that are still open."""
    left: list[str] = []
    for _ in range(20):
        gc.collect()
        left = [f"a process: {line}" for line in _processes(folder, others)]
        if (now := _descriptors()) > before:
            left.append(f"{now - before} descriptors")
        if not left:
            return []
        time.sleep(0.1)
    return left


def _processes(folder: str, others: frozenset[str] = frozenset()) -> list[str]:
    """The children of this process, and everybody who works in the folder; without those that were there before."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    mine = str(os.getpid())
    found = []
    for line in listing.stdout.splitlines():
        pid, parent, *command = line.split(None, 2)
        told = command[0] if command else ""
        if (parent == mine and not told.startswith("ps ") and told not in others) or (folder in told and pid != mine):
            found.append(told)
    return found
