"""Calls to a server that does them and then denies it, over every client: what arrived, and what was done, once each.

Redirects, `-32020`, sessions that are gone, gateways that ask for a login: whatever the layers below the client do
about these, a write leaves once.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import fastmcp
import httpx2
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

import failwell as fw
from failwell.client import Recovering

SERVER: Final = str(Path(__file__).with_name("once_server.py"))
REDIRECTS: Final = ("301", "302", "303", "307", "308", "307 /other", "308 /mcp?again=1")
LOST: Final = ("404", "404 Session not found", "404 <html>gone</html>", "404 rpc", "404 own")
REFUSED: Final = ("401", "403", "401 warning", "403 rpc")
BROKEN: Final = ("502 Bad gateway", "cut")
BY_NUMBER: Final = ("-32020", "-32022", "asks -32020")
FAULTS: Final = {
    "http": ("fine", "asks", *REDIRECTS, *LOST, *REFUSED, *BROKEN, *BY_NUMBER, "asks 307", "asks 404", "asks cut"),
    "stdio": ("fine", "asks", "exit", *BY_NUMBER),
}
# After these a read is worth another call, and gets through.
PASSING: Final = frozenset({*LOST, *BROKEN, "exit"})
# Where there is no session, a 404 is about something else.
NOT_FOUND: Final = {"auto": frozenset(LOST), "legacy": frozenset[str]()}
POLICY: Final = fw.Policy(base_delay=0.001, circuit_breaker=False)


@dataclass(frozen=True, slots=True)
class Lane:
    transport: str
    client: str
    mode: str

    def __str__(self) -> str:
        return f"{self.transport} {self.client} {self.mode}"


LANES: Final = (
    *(Lane("http", client, mode) for client in ("mcp", "fastmcp", "login") for mode in ("auto", "legacy")),
    Lane("http", "moved", "auto"),
    Lane("http", "session", "legacy"),
    Lane("http", "relay", "auto"),
    Lane("http", "relay", "legacy"),
    *(Lane("stdio", client, mode) for client in ("mcp", "fastmcp") for mode in ("auto", "legacy")),
)


@dataclass(slots=True)
class Once:
    """What came of the calls."""

    calls: int = 0
    writes: int = 0
    done: int = 0
    """Writes that were done."""
    twice: int = 0
    sent: int = 0
    """Calls that arrived, and the rounds of those that the server asked about."""
    rounds: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Once) -> None:
        for name in ("calls", "writes", "done", "twice", "sent", "rounds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.wrong += other.wrong


def run(lane: Lane, seed: str, calls: int, agents: int = 1) -> Once:
    """Make that many calls over a lane, and hold what was said of them against the ledger.

    Of several agents each loses the sessions and the processes of the others: there only what was done counts.
    """
    with tempfile.TemporaryDirectory() as directory:
        ledger = Path(directory) / "ledger"
        ledger.touch()
        return asyncio.run(_run(lane, seed, calls, agents, ledger))


async def _run(lane: Lane, seed: str, calls: int, agents: int, ledger: Path) -> Once:
    chance = random.Random(seed)
    faults = FAULTS[lane.transport]
    jobs = [
        (chance.choice(("pay", "pay", "note", "get_payment")), {"id": f"c{number}", "fault": chance.choice(faults)})
        for number in range(calls)
    ]
    said: list[tuple[str, dict[str, str], Any]] = []

    async def work(agent: Recovering) -> None:
        while jobs:
            tool, arguments = jobs.pop()
            said.append((tool, arguments, await agent.call(tool, arguments)))

    with _served(lane, ledger) as target:
        async with _client(lane, target) as client, Recovering(client, policy=POLICY) as agent:
            await asyncio.gather(*(work(agent) for _ in range(agents)))
    return _held_against(lane, said, ledger.read_text(), is_alone=agents == 1)


def command(ledger: str) -> list[str]:
    return [sys.executable, "-S", SERVER, ledger]


@contextmanager
def _served(lane: Lane, ledger: Path) -> Iterator[Any]:
    if lane.transport == "stdio":
        yield command(str(ledger))
        return
    process = subprocess.Popen([*command(str(ledger)), "http"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/{'moved' if lane.client == 'moved' else 'mcp'}"
    finally:
        process.kill()
        process.communicate()


class _Login(httpx2.Auth):
    """Logs in when it is told to, and sends the request again, as the SDK's own does."""

    def auth_flow(self, request: httpx2.Request) -> Any:
        response = yield request
        if response.status_code in (401, 403):
            yield request


async def consent(*_: Any) -> Any:
    return ElicitResult(action="accept", content={})


@asynccontextmanager
async def _client(lane: Lane, target: Any) -> AsyncIterator[Any]:
    if lane.client == "relay":
        env = {**os.environ, "FAILWELL_EVENTS": ""}
        wrapped = StdioServerParameters(command=sys.executable, args=["-m", "failwell", "wrap", target], env=env)
        yield Client(wrapped, mode=lane.mode, elicitation_callback=consent)
    elif lane.client == "session":

        @asynccontextmanager
        async def opened() -> AsyncIterator[ClientSession]:
            async with streamable_http_client(target) as streams, ClientSession(*streams) as session:
                yield session

        yield opened
    elif lane.client == "login":
        async with httpx2.AsyncClient(auth=_Login()) as http:
            transport = streamable_http_client(target, http_client=http)
            yield Client(transport, mode=lane.mode, elicitation_callback=consent)
    elif lane.client == "fastmcp":
        started = None if isinstance(target, str) else StdioTransport(target[0], target[1:])
        yield fastmcp.Client(started or target, mode=lane.mode, elicitation_handler=consent)
    else:
        started = None if isinstance(target, str) else StdioServerParameters(command=target[0], args=target[1:])
        yield Client(started or target, mode=lane.mode, elicitation_callback=consent)


def _held_against(lane: Lane, said: list[tuple[str, dict[str, str], Any]], ledger: str, *, is_alone: bool) -> Once:
    lines = Counter((line.split()[0], line.split()[-1]) for line in ledger.splitlines())
    tally = Once(calls=len(said))
    for tool, arguments, report in said:
        id, fault = arguments["id"], arguments["fault"]
        sent, done = lines["sent", id], lines["done", id]
        tally.sent += sent
        tally.rounds += report.rounds
        wrong = []
        if tool != "get_payment":
            tally.writes += 1
            tally.done += done > 0
            tally.twice += done > 1
            if done > 1 or sent > 1 + report.rounds:
                wrong.append(f"sent {sent} times in {report.rounds + 1} rounds, done {done} times")
            if done and not report.ok and getattr(report.error, "effect", None) == "none":
                wrong.append("said not to be done, and is")
        elif is_alone and fault in PASSING - NOT_FOUND[lane.mode] and not report.ok:
            wrong.append("a read was not repeated")
        # A relay repeats reads by itself.
        if is_alone and report.calls != sent and not (lane.client == "relay" and tool == "get_payment"):
            wrong.append(f"{report.calls} calls reported, {sent} sent")
        if report.result is None:
            wrong.append("no result")
        if report.ok and fault not in ("fine", "asks") and tool != "get_payment":
            wrong.append("said to have worked")
        tally.wrong += [f"{lane}: {tool} {arguments}: {each}; {report.error!r}" for each in wrong]
    return tally
