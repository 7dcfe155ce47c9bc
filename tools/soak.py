"""A hundred calls at a time, failing in every way, for a minute, against real server processes.

Every request must be answered once and with its own kind of answer, tools must run and failures must be counted as
often as they were asked for, and the server must not grow. The exit code is 1 when anything of that does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
from rich.console import Console
from rich.table import Table

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
META: Final = "io.github.failwell/tool-error"
CLIENT: Final = {"name": "soak", "version": "1"}
AT_ONCE: Final = 100
WARM_UP: Final = 5
PATIENCE: Final = 30.0
# What a server may grow by after the warm-up. One that keeps what a failure leaves behind, an exception with its
# frames and arguments, grows by several kilobytes a call.
GROWTH: Final = 8_000_000
GROWTH_PER_CALL: Final = 500

APP: Final = """
import asyncio, collections, logging, os, socket, sys, threading
import failwell as fw
from failwell.server import install, stats
kind, transport, leak = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "mcpserver":
    from mcp.server import MCPServer
    server = MCPServer("soak", log_level="ERROR")
else:
    import fastmcp
    server = fastmcp.FastMCP("soak")
ran, kept = collections.Counter(), []

def tool(fn):
    server.tool()(fn)
    return fn

def count(name):
    ran[name] += 1
    if leak:
        kept.append(bytearray(os.urandom(1) * leak))

@tool
async def add(a: int, b: int) -> int:
    count("add")
    await asyncio.sleep(0)
    return a + b

@tool
def find(key: str) -> str:
    count("find")
    raise fw.NotFound(f"There is no {key}.", details={"key": key}, actions=["add"])

@tool
async def busy() -> str:
    count("busy")
    await asyncio.sleep(0.005)
    return fw.Transient("Too many calls.", code="RATE_LIMITED", retry_after=3)

@tool
def refuse(a: int) -> str:
    count("refuse")
    raise ValueError("a must be even")

@tool
async def crash(key: str) -> str:
    count("crash")
    try:
        return {}[key]
    except KeyError as exc:
        raise RuntimeError("cannot look up " + "x" * 2000) from exc

@tool
async def late() -> str:
    count("late")
    async with asyncio.timeout(0.01):
        await asyncio.sleep(60)

@tool
async def several() -> str:
    count("several")
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(refused())

async def refused():
    raise ConnectionRefusedError(111, "connect to 10.0.0.7:5432 failed")

@tool
def counts() -> dict[str, dict[str, int]]:
    codes = collections.Counter()
    for row in stats(server).values():
        codes.update(row.codes)
    return {"ran": dict(ran), "codes": dict(codes)}

@server.resource("soak://{key}")
def resource(key: str) -> str:
    count("resource")
    raise RuntimeError("no such row")

install(server)
logging.getLogger("failwell").setLevel("CRITICAL")
logging.getLogger("fastmcp").setLevel("CRITICAL")
if transport == "stdio":
    asyncio.run(server.run_stdio_async(**({"show_banner": False} if kind == "fastmcp" else {})))
else:
    import uvicorn
    app = server.http_app(path="/mcp") if kind == "fastmcp" else server.streamable_http_app()
    # By its protocol's name, or asyncio does not turn off the delay of small packets.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(512)
    print(listening.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])
"""


@dataclass(frozen=True)
class Kind:
    """One way to call: what is asked, what must come back, and the tool that runs, if one does."""

    name: str
    method: str
    params: dict[str, Any]
    code: str
    runs: str | None


def _tool(name: str, tool: str, arguments: dict[str, Any], code: str, runs: bool = True) -> Kind:
    return Kind(name, "tools/call", {"name": tool, "arguments": arguments}, code, tool if runs else None)


KINDS: Final = (
    _tool("success", "add", {"a": 1, "b": 2}, "ok"),
    _tool("raised ToolError", "find", {"key": "k_1"}, "NOT_FOUND"),
    _tool("returned ToolError", "busy", {}, "RATE_LIMITED"),
    _tool("ValueError", "refuse", {"a": 1}, "VALIDATION_ERROR"),
    _tool("crash", "crash", {"key": "k_1"}, "INTERNAL_ERROR"),
    _tool("timeout", "late", {}, "TIMEOUT"),
    _tool("exception group", "several", {}, "NETWORK_ERROR"),
    _tool("wrong argument", "add", {"a": "x", "b": 2}, "VALIDATION_ERROR", runs=False),
    _tool("unknown argument", "add", {"a": 1, "bb": 2}, "VALIDATION_ERROR", runs=False),
    _tool("unknown tool", "ad", {"a": 1, "b": 2}, "UNKNOWN_TOOL", runs=False),
    Kind("resource", "resources/read", {"uri": "soak://k_1"}, "error INTERNAL_ERROR", "resource"),
)


def code_of(answer: dict[str, Any]) -> str:
    """What kind of answer it is: `ok`, a code, or `error` and a code for a JSON-RPC error."""
    if "error" in answer:
        data = answer["error"].get("data")
        return f"error {data[META]['code'] if isinstance(data, dict) and META in data else answer['error']['code']}"
    result = answer["result"]
    if not result.get("isError"):
        return "ok"
    return str(result.get("_meta", {}).get(META, {}).get("code", "failed without a word"))


@dataclass
class Tally:
    """What was asked and what came of it."""

    asked: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    twice: int = 0
    problems: list[str] = field(default_factory=list)


class Server:
    """A server process that is asked many things at once."""

    def __init__(self, kind: str, transport: str, leak: int) -> None:
        self.kind, self.transport, self.leak = kind, transport, leak
        self.numbers = itertools.count()
        self.tally = Tally()

    async def __aenter__(self) -> Server:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed below)
        self.child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", APP, self.kind, self.transport, str(self.leak),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, limit=16_000_000,
        )  # fmt: skip
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        try:
            await asyncio.wait_for(self.child.wait(), 5)
        except TimeoutError:
            self.child.kill()
            await self.child.wait()
        self.errors.close()

    async def open(self) -> None:
        raise NotImplementedError

    async def ask(self, frame: dict[str, Any], worker: int) -> list[dict[str, Any]]:
        """All answers to a request; there should be one."""
        raise NotImplementedError

    def frame(self, method: str, params: dict[str, Any], era: str) -> dict[str, Any]:
        if era == MODERN:
            about = {"protocolVersion": MODERN, "clientInfo": CLIENT, "clientCapabilities": {}}
            params = {**params, "_meta": {f"io.modelcontextprotocol/{name}": it for name, it in about.items()}}
        return {"jsonrpc": "2.0", "id": f"r{next(self.numbers)}", "method": method, "params": params}

    def era(self, worker: int) -> str:
        raise NotImplementedError

    async def work(self, worker: int, *, until: float = 0, calls: int = 0) -> None:
        """Ask for something, again and again: so many times, or for so long."""
        draw = random.Random(worker * 7 + calls)
        tally = self.tally
        for number in itertools.count():
            if number >= calls and time.monotonic() >= until:
                return
            kind = draw.choice(KINDS)
            frame = self.frame(kind.method, kind.params, self.era(worker))
            tally.asked[kind.name] += 1
            try:
                answers = await asyncio.wait_for(self.ask(frame, worker), PATIENCE)
            except (TimeoutError, httpx2.HTTPError, OSError) as exc:
                tally.lost += 1
                tally.problems.append(f"{kind.name}: {exc!r}")
                continue
            tally.twice += max(len(answers) - 1, 0)
            if not answers:
                tally.lost += 1
                tally.problems.append(f"{kind.name}: no answer")
            elif (code := code_of(answers[0])) == kind.code:
                tally.right[kind.name] += 1
            else:
                tally.wrong[kind.name] += 1
                tally.problems.append(f"{kind.name}: {code} instead of {kind.code}: {str(answers[0])[:300]}")

    async def counts(self) -> dict[str, dict[str, int]]:
        """How often each tool ran, and how often each failure was counted, in the server's own words."""
        answers = await self.ask(self.frame("tools/call", {"name": "counts", "arguments": {}}, self.era(0)), 0)
        counts: dict[str, dict[str, int]] = json.loads(answers[0]["result"]["content"][0]["text"])
        return counts

    def memory(self) -> int:
        """The resident memory of the process, in bytes."""
        with contextlib.suppress(OSError), open(f"/proc/{self.child.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        said = subprocess.run(["ps", "-o", "rss=", "-p", str(self.child.pid)], capture_output=True, check=True)
        return int(said.stdout) * 1024


class Stdio(Server):
    """One stream for all."""

    def era(self, worker: int) -> str:
        return LEGACY

    async def open(self) -> None:
        self.waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.reading = asyncio.create_task(self.read())
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
        await self.ask(self.frame("initialize", params, LEGACY), 0)
        await self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def write(self, frame: dict[str, Any]) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(frame).encode() + b"\n")
        await self.child.stdin.drain()

    async def read(self) -> None:
        assert self.child.stdout is not None
        answered: set[str] = set()
        async for line in self.child.stdout:
            answer = json.loads(line)
            if "id" not in answer:
                continue
            if answer["id"] in answered:
                self.tally.twice += 1
            answered.add(answer["id"])
            if (future := self.waiting.pop(answer["id"], None)) is not None and not future.done():
                future.set_result(answer)

    async def ask(self, frame: dict[str, Any], worker: int) -> list[dict[str, Any]]:
        future = self.waiting[frame["id"]] = asyncio.get_running_loop().create_future()
        await self.write(frame)
        return [await future]

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__()
        await self.reading


class Http(Server):
    """A session for each worker of the older era; none for the others."""

    def era(self, worker: int) -> str:
        return LEGACY if worker % 2 else MODERN

    async def open(self) -> None:
        assert self.child.stdout is not None
        port = int(await self.child.stdout.readline())
        self.sessions: dict[int, str] = {}
        self.client = httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            timeout=PATIENCE,
            limits=httpx2.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE),
            headers={"accept": "application/json, text/event-stream", "content-type": "application/json"},
        )

    async def ask(self, frame: dict[str, Any], worker: int) -> list[dict[str, Any]]:
        if self.era(worker) == MODERN:
            params = frame["params"]
            named = params["name"] if "name" in params else params.get("uri", "")
            return await self.post(frame, {"mcp-method": frame["method"], "mcp-name": named}, MODERN)
        if worker not in self.sessions:
            params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
            opening = self.frame("initialize", params, LEGACY)
            response = await self.client.post("/mcp", json=opening, headers={"mcp-protocol-version": LEGACY})
            self.sessions[worker] = response.headers["mcp-session-id"]
            ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            await self.post(ready, {"mcp-session-id": self.sessions[worker]}, LEGACY)
        return await self.post(frame, {"mcp-session-id": self.sessions[worker]}, LEGACY)

    async def post(self, frame: dict[str, Any], headers: dict[str, str], era: str) -> list[dict[str, Any]]:
        response = await self.client.post("/mcp", json=frame, headers={**headers, "mcp-protocol-version": era})
        lines = response.text.splitlines()
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        messages = [json.loads(line) for line in lines if line]
        return [message for message in messages if message.get("id") == frame.get("id", "none")]

    async def __aexit__(self, *exc: object) -> None:
        await self.client.aclose()
        await super().__aexit__()


@dataclass
class Outcome:
    """One run, with all that was wrong in it."""

    kind: str
    transport: str
    tally: Tally
    seconds: float
    before: int
    after: int
    calls: int
    wrong: list[str]

    @property
    def allowed(self) -> float:
        return GROWTH + GROWTH_PER_CALL * self.calls


async def soak(kind: str, transport: str, seconds: float, leak: int) -> Outcome:
    async with (Stdio if transport == "stdio" else Http)(kind, transport, leak) as server:
        tally = server.tally
        # Imports, caches, connections and sessions are made at the beginning, and stay.
        await asyncio.gather(*(server.work(number, calls=WARM_UP) for number in range(AT_ONCE)))
        begun, before, calls = time.monotonic(), server.memory(), sum(tally.right.values())
        await asyncio.gather(*(server.work(number, until=begun + seconds) for number in range(AT_ONCE)))
        took, after = time.monotonic() - begun, server.memory()
        counts = await server.counts()
    outcome = Outcome(kind, transport, tally, took, before, after, sum(tally.right.values()) - calls, [])
    if tally.lost or tally.twice:
        outcome.wrong.append(f"{tally.lost} requests without an answer, {tally.twice} answers too many")
    outcome.wrong += [f"{name}: {count} wrong answers" for name, count in tally.wrong.items()]
    for each in KINDS:
        if not tally.asked[each.name]:
            outcome.wrong.append(f"{each.name}: never asked")
        if tally.right[each.name] != tally.asked[each.name]:
            outcome.wrong.append(f"{each.name}: asked {tally.asked[each.name]}, right {tally.right[each.name]}")
    ran: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for each in KINDS:
        if each.runs:
            ran[each.runs] += tally.asked[each.name]
        if each.method == "tools/call" and each.code != "ok":
            codes[each.code] += tally.asked[each.name]
    for what, expected in {"ran": ran, "codes": codes}.items():
        if expected != Counter(counts[what]):
            outcome.wrong.append(f"{what}: the server says {counts[what]}, asked for were {dict(expected)}")
    if after - before > outcome.allowed:
        outcome.wrong.append(f"grew by {(after - before) / 1e6:.1f} MB; {outcome.allowed / 1e6:.1f} MB are allowed")
    return outcome


def report(console: Console, outcomes: list[Outcome]) -> None:
    table = Table(title=f"{AT_ONCE} calls at a time")
    columns = ("server", "transport", "s", "calls", "per s", "lost", "twice", "wrong", "MB before", "after", "allowed")
    for column in columns:
        table.add_column(column, justify="left" if column in ("server", "transport") else "right")
    for it in outcomes:
        asked, wrong = sum(it.tally.asked.values()), sum(it.tally.wrong.values())
        numbers = [f"{it.seconds:.1f}", asked, f"{it.calls / it.seconds:.0f}", it.tally.lost, it.tally.twice, wrong]
        sizes = [f"{it.before / 1e6:.1f}", f"{it.after / 1e6:.1f}", f"+{it.allowed / 1e6:.1f}"]
        table.add_row(it.kind, it.transport, *map(str, numbers), *sizes)
    console.print(table)
    kinds = Table(title="asked / answered as they must be")
    kinds.add_column("kind of call")
    kinds.add_column("answer")
    for it in outcomes:
        kinds.add_column(f"{it.kind} {it.transport}", justify="right")
    for each in KINDS:
        counts = [f"{it.tally.asked[each.name]} / {it.tally.right[each.name]}" for it in outcomes]
        kinds.add_row(each.name, each.code, *counts)
    console.print(kinds)
    for it in outcomes:
        for line in [*it.wrong, *it.tally.problems[:3]]:
            console.print(f"FAILED {it.kind} {it.transport}: {line}", markup=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60, help="how long each server is asked (60)")
    parser.add_argument("--server", choices=["mcpserver", "fastmcp"], action="append", help="only this one")
    parser.add_argument("--transport", choices=["http", "stdio"], action="append", help="only this one")
    parser.add_argument("--leak", type=int, default=0, metavar="BYTES", help="let the tools leak, to see it noticed")
    chosen = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    outcomes = [
        asyncio.run(soak(kind, transport, chosen.seconds, chosen.leak))
        for kind in chosen.server or ["mcpserver", "fastmcp"]
        for transport in chosen.transport or ["http", "stdio"]
    ]
    report(console, outcomes)
    return int(any(it.wrong for it in outcomes))


if __name__ == "__main__":
    sys.exit(main())
