"""Runs agents against servers with real tools, and holds what they say against what the tools wrote down."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

import failwell as fw
from ledger_check import Said
from ledger_clients import Agent, timed
from ledger_real_causes import CAUSES
from ledger_real_check import Tally, check, written
from ledger_real_clients import CLIENTS, PEERS, Opened, Target
from ledger_real_plan import Job, Server, Step, draw
from ledger_real_words import STATED
from repeating_agents import TIMES, WAYS, Answered, Repeats, Trail, repeat

AGENTS = 8
_PROGRAM = Path(__file__).with_name("ledger_real_server.py")


@dataclass(frozen=True, slots=True)
class Lane:
    """A server, and who calls its tools."""

    server: Server
    client: str = "Failwell Recovering"

    def __str__(self) -> str:
        return f"{self.server}, {self.client}" if self.client != "Failwell Recovering" else str(self.server)


_FRAMEWORKS = ("mcpserver", "lowlevel", "fastmcp")
LANES = [
    *(
        Lane(Server(framework, transport, installed, keyed))
        for framework in _FRAMEWORKS
        for transport, installed, keyed in (
            ("stdio", False, False),
            ("stdio", True, False),
            ("http", False, False),
            ("http", True, False),
            ("http", True, True),
        )
    ),
    *(Lane(Server(framework, "stdio"), "the server's word") for framework in _FRAMEWORKS),
    Lane(Server("mcpserver"), "bridge, openai-agents"),
    Lane(Server("fastmcp", installed=False), "bridge, LangChain"),
]

PEER_LANES = [Server("mcpserver"), Server("fastmcp", installed=False)]
"""The servers of the comparison: one with Failwell and one without."""


def shares(calls: int, lanes: int = len(LANES)) -> list[int]:
    """How many calls each lane makes, so that they are so many together."""
    return [calls // lanes + (number < calls % lanes) for number in range(lanes)]


def run(lane: Lane, seed: str, count: int, agents: int = AGENTS) -> Tally:
    """The figures of one lane, with everything that is wrong."""
    jobs = draw(seed, count, lane.server)
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-real-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            with serving(lane, jobs, folder) as target:
                said = anyio.run(_calls, CLIENTS[lane.client], target, jobs, agents)
            lines, ran = written(folder)
    finally:
        logging.disable(logging.NOTSET)
    tally = check(
        said,
        lines,
        ran,
        lane.server,
        owes=lane.client == "Failwell Recovering",
        words=lane.client == "the server's word",
    )
    tally.seconds = time.monotonic() - began
    return tally


REPEATED = ("pay", "delete_file", "add_note")
REPEAT_LANES = [
    *(Lane(Server(framework, "stdio"), "the server's word") for framework in _FRAMEWORKS),
    *(Lane(Server(framework, "stdio", installed=False)) for framework in _FRAMEWORKS),
]
"""Who holds a call that is in doubt: the server itself, or the client in front of one that knows nothing of it."""


def run_repeats(lane: Lane, seed: str, count: int) -> Repeats:
    """The figures of agents that repeat writes which raised after their effect, each time they run."""
    chance = random.Random(seed)
    # What an author states may allow the call, and then it runs.
    causes = [name for name in CAUSES if name not in STATED and not name.startswith(("ToolError,", "upstream MCP"))]
    jobs = [
        Job(f"{number:05}", chance.choice(REPEATED), (Step(chance.choice(causes), "after"),) * (2 + TIMES))
        for number in range(count)
    ]
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-real-", ignore_cleanup_errors=True) as name:
            with serving(lane, jobs, Path(name)) as target:
                trails = anyio.run(_repeats, lane, target, jobs)
            lines, _ = written(Path(name))
    finally:
        logging.disable(logging.NOTSET)
    figures = Repeats()
    for trail, job in zip(trails, jobs, strict=True):
        figures.add(trail, lines.get(job.id, {}).get("credit", 0))
    return figures


async def _repeats(lane: Lane, target: Target, jobs: Sequence[Job]) -> list[Trail]:
    trails = []
    try:
        async with CLIENTS[lane.client](target) as agent:
            for number, job in enumerate(jobs):

                async def write(job: Job = job) -> Answered:
                    return Answered((await agent.call(job)).ok)  # type: ignore[arg-type]

                async def look(job: Job = job) -> bool:
                    return (await agent.call(Job(f"look {job.id}", "find_order"))).ok  # type: ignore[arg-type]

                name = f"{job.tool} {job.id}, which met {job.steps[0].cause} on {lane},"
                trails.append(await repeat(name, WAYS[number % len(WAYS)], write, look))
    finally:
        await target.close()
    return trails


@contextmanager
def serving(lane: Lane, jobs: Sequence[Job], folder: Path) -> Iterator[Target]:
    """The server of a lane; over stdio each client starts a process of its own."""
    server = lane.server
    plan = {
        "framework": server.framework,
        "installed": server.installed,
        "keyed": server.keyed,
        "header": lane.client not in PEERS,
        "jobs": {job.id: job.as_json() for job in jobs},
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "ran").mkdir()
    # The SDKs hand on few variables, and the server must have the same Failwell.
    source = str(Path(fw.__file__).parents[1])
    command = ["env", f"PYTHONPATH={source}", sys.executable, str(_PROGRAM), str(folder), server.transport]
    if server.transport == "stdio":
        yield Target("stdio", command, folder=folder)
        return
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            port = int(process.stdout.readline())
            yield Target("http", command, f"http://127.0.0.1:{port}/mcp", folder)
        finally:
            process.stdin.close()


async def _calls(opened: Opened, target: Target, jobs: Sequence[Job], agents: int) -> list[Said]:
    said: list[Said] = []
    waiting = list(reversed(jobs))
    try:
        if target.transport == "stdio":
            # One process for all: they take a second to start.
            async with opened(target) as agent:
                await asyncio.gather(*(_work(agent, waiting, said, "shared") for _ in range(agents)))
        else:
            await asyncio.gather(*(_alone(opened, target, waiting, said, f"client {one}") for one in range(agents)))
    finally:
        await target.close()
    heard = {each.job.id for each in said}
    return said + [Said(job, hung=True) for job in jobs if job.id not in heard]  # type: ignore[arg-type]


async def _work(agent: Agent, waiting: list[Job], said: list[Said], client: str) -> None:
    while waiting:
        outcome = await timed(agent, waiting.pop(), client)  # type: ignore[arg-type]
        said.append(outcome)
        if outcome.aborted or outcome.hung or getattr(outcome, "spent", False):
            return


async def _alone(opened: Opened, target: Target, waiting: list[Job], said: list[Said], client: str) -> None:
    # A client that cancels the task it is used in takes only that task along; the agent goes on in another.
    async def life() -> None:
        async with opened(target) as agent:
            await _work(agent, waiting, said, client)

    while waiting:
        before = len(waiting)
        task = asyncio.ensure_future(life())
        await asyncio.wait([task])
        if not task.cancelled() and (failure := task.exception()) is not None and len(waiting) == before:
            raise failure
