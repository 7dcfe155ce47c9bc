"""What `Recovering` costs on a call that works, against the bare clients: call by call in turns.

The server is a process of its own, on stdio or on a socket, and its tool does next to nothing, so that there is nothing
to hide behind. Where the system allows it, everything runs on one core: what a call takes is then what both sides do
for it, and not where the scheduler put them, which changes from run to run by more than the bar. The exit code is 1
when a bar is missed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import fastmcp
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters

from bench import Report
from failwell.client import Recovering

BAR = 1.05
CALLS_EACH = 150
SERVERS = 15  # two processes that do the same differ by more than the bar, so there are several of each
APP = """
import sys
from mcp.server import MCPServer

server = MCPServer("bench", log_level="ERROR")
TEXT = "The quick brown fox jumps over the lazy dog. " * 90

@server.tool()
def echo(text: str):
    return text

@server.tool()
def page() -> dict[str, list[str]]:
    return {"lines": [TEXT[number:number + 80] for number in range(50)]}

if sys.argv[1] == "stdio":
    server.run()
else:
    import socket
    import uvicorn
    # By its protocol's name, or asyncio does not turn off the delay of small packets.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
"""
LIMITS: dict[str, dict[str, Any]] = {"mcp": {"read_timeout_seconds": 60.0}, "fastmcp": {"timeout": 60.0}}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {"echo": ("echo", {"text": "hello"}), "4 kB": ("page", {})}

Call = Callable[[], Awaitable[Any]]


@asynccontextmanager
async def serving(transport: str) -> AsyncIterator[Callable[[str], Any]]:
    """A function that makes a client for the server, of either kind."""
    command = ["-c", APP, transport]
    if transport == "stdio":
        yield (
            lambda kind: (
                Client(StdioServerParameters(command=sys.executable, args=command))
                if kind == "mcp"
                else fastmcp.Client(StdioTransport(sys.executable, command))
            )
        )
        return
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        yield lambda kind: (Client if kind == "mcp" else fastmcp.Client)(url)
    finally:
        process.kill()
        process.communicate()


async def timed(call: Call) -> float:
    start = time.perf_counter()
    await call()
    return time.perf_counter() - start


async def times(ours: Call, theirs: Call) -> tuple[list[float], list[float]]:
    """What calls take, of each, made in turns: whatever else the machine does, it does to both."""
    taken: dict[Call, list[float]] = {ours: [], theirs: []}
    for turn in range(CALLS_EACH):
        for call in (ours, theirs) if turn % 2 else (theirs, ours):
            taken[call].append(await timed(call))
    return taken[ours], taken[theirs]


async def compare(transport: str, kind: str) -> dict[str, list[tuple[list[float], list[float]]]]:
    """What each call takes, in `Recovering` and bare, on each of several servers."""
    found: dict[str, list[tuple[list[float], list[float]]]] = {name: [] for name in CALLS}
    for _ in range(SERVERS):
        async with serving(transport) as client, client(kind) as bare, Recovering(client(kind)) as recovering:
            for name, (tool, arguments) in CALLS.items():
                # With a limit, as ours always has one: a call without it may wait for ever.
                theirs = partial(bare.call_tool, tool, arguments, **LIMITS[kind])
                found[name].append(await times(partial(recovering.call_tool, tool, arguments), theirs))
    return found


def quickest(taken: list[float]) -> float:
    """The tenth of the calls that a busy machine left alone took at most this long."""
    return statistics.quantiles(taken, n=10)[0]


async def measure(report: Report) -> None:
    rows = []
    for transport in ("stdio", "http"):
        for kind in LIMITS:
            for name, pairs in (await compare(transport, kind)).items():
                median, best = (
                    statistics.median(measure(ours) / measure(theirs) for ours, theirs in pairs)
                    for measure in (statistics.median, quickest)
                )
                micros = statistics.median(statistics.median(theirs) for _, theirs in pairs) * 1e6
                what = f"{kind}.Client, {transport}, {name}"
                rows.append([what, f"{micros:.0f}", report.bar(what, median, BAR), f"{best:.2f}"])
    title = f"A call that works, in Recovering over bare (bar for the median: {BAR:g})"
    report.table(title, ["case", "bare µs", "median ratio", "ratio of the quickest tenth"], rows)


def stay_on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    stay_on_one_core()
    report = Report()
    anyio.run(measure, report)
    for miss in report.missed:
        report.console.print(f"missed: {miss}")
    sys.exit(bool(report.missed))
