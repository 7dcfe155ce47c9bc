"""The second part: plain writes on a server that honours idempotency keys, whose answers get lost.

As a program it is that server: `python ledger_keys.py FOLDER with|without` prints the port it listens on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from ledger_check import DYING
from ledger_plan import MAX_ATTEMPTS, TIMEOUT

# What becomes of an attempt, how often, and whether a key makes the call recoverable from it.
FATES: Final[dict[str, tuple[float, bool]]] = {
    "refused": (1.0, True),
    "answered, and the process dies": (2.0, True),
    "answered, and nobody hears it": (1.0, True),
    "done, and the process dies": (1.0, False),
    "begun, and the process dies": (1.0, False),
    "done, and the answer is late": (0.7, False),
}


def draw(seed: str, count: int) -> list[tuple[str, list[str]]]:
    """The calls, each with what becomes of its attempts."""
    chance = random.Random(seed)
    weights = [weight for weight, _ in FATES.values()]
    calls = []
    for number in range(count):
        many = chance.choices((0, 1, 2), (25, 50, 25))[0]
        calls.append((f"{number:05}", chance.choices(list(FATES), weights, k=many)))
    return calls


@dataclass(slots=True)
class Figures:
    calls: int = 0
    succeeded: int = 0
    recovered: int = 0
    unknown: int = 0
    twice: int = 0
    lies: int = 0
    lost: int = 0
    excused: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    unfinished: int = 0
    """Calls whose key told that they had begun and never ended."""

    def add(self, other: Figures) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def run(seed: str, count: int, *, keys: bool, kind: str = "mcp", mode: str = "auto", agents: int = 4) -> Figures:
    """Make the calls, and hold what was said against the ledger."""
    jobs = draw(seed, count)
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-keys-") as name:
            folder = Path(name)
            (folder / "fates.json").write_text(json.dumps(dict(jobs)))
            command = [sys.executable, __file__, str(folder), "with" if keys else "without"]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
                assert server.stdout is not None
                port = int(server.stdout.readline())
                try:
                    said = anyio.run(_calls, f"http://127.0.0.1:{port}/mcp", jobs, kind, mode, agents)
                finally:
                    server.kill()
                    assert server.stdin is not None
                    server.stdin.close()
                    # It ends when the last of its processes has.
                    server.stdout.read()
            figures = _held_against(said, (folder / "ledger.jsonl").read_text(), keys)
    finally:
        logging.disable(logging.NOTSET)
    figures.seconds = time.monotonic() - began
    return figures


@dataclass(slots=True)
class _Said:
    id: str
    fates: Sequence[str]
    report: Any
    began: float
    ended: float


async def _calls(url: str, jobs: Sequence[tuple[str, list[str]]], kind: str, mode: str, agents: int) -> list[_Said]:
    import fastmcp
    import mcp

    import failwell as fw
    from failwell.client import Recovering

    policy = fw.Policy(base_delay=0.05, max_attempts=MAX_ATTEMPTS, timeout=TIMEOUT, circuit_breaker=False)
    said: list[_Said] = []
    waiting = list(reversed(jobs))

    async def work() -> None:
        client: Any = mcp.Client(url, mode=mode) if kind == "mcp" else fastmcp.Client(url, mode=mode)
        async with Recovering(client, policy=policy, jitter=lambda: 1.0) as agent:
            while waiting:
                id, fates = waiting.pop()
                began = time.time()
                with anyio.fail_after(30 * TIMEOUT):
                    report = await agent.call("pay", {"id": id})
                said.append(_Said(id, fates, report, began, time.time()))

    async with anyio.create_task_group() as group:
        for _ in range(agents):
            group.start_soon(work)
    return said


def _held_against(said: Sequence[_Said], ledger: str, keys: bool) -> Figures:
    events = [json.loads(line) for line in ledger.splitlines()]
    lines = Counter(event["id"] for event in events if event["event"] == "effect")
    deaths = [(event["when"], event["id"]) for event in events if event["event"] == "death"]
    figures = Figures(calls=len(said))
    for each in said:
        report, error, done = each.report, each.report.error, lines[each.id]
        wrong: list[str] = []
        figures.succeeded += report.ok
        figures.recovered += report.recovered
        if done > 1:
            figures.twice += 1
            wrong.append(f"done {done} times")
        effect = None if error is None else error.effect
        if (report.ok and not done) or (effect == "none" and done) or (effect == "done" and not done):
            figures.lies += 1
            wrong.append(f"effect {effect}, and done {done} times")
        if error is not None:
            figures.unknown += effect == "unknown"
            figures.unfinished += error.code == "IDEMPOTENCY_UNFINISHED"
            if effect == "unknown" and (error.verify is None or error.verify.tool != "get_payment"):
                wrong.append("nobody knows whether it was done, and no call is named that would tell")
        if keys and effect == "none":
            # Whatever killed its server: with a key, and nothing done, it could have been made again.
            figures.lost += 1
            wrong.append("given up, though nothing was done")
        elif keys and not report.ok and all(FATES[fate][1] for fate in each.fates):
            if any(each.began - DYING <= when <= each.ended and id != each.id for when, id in deaths):
                figures.excused += 1
            else:
                figures.lost += 1
                wrong.append("it had to succeed")
        if wrong:
            figures.wrong.append(f"pay {each.id} met {', '.join(each.fates)}; {report}: {'; '.join(wrong)}")
    return figures


class _Journal:
    """The ledger, from inside the server."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "ledger.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._path = folder / "ledger.jsonl"
        self._fates: dict[str, list[str]] = json.loads((folder / "fates.json").read_text())

    def arrive(self, id: str) -> str:
        """What becomes of this attempt."""
        before = sum(
            event["id"] == id and event["event"] == "call"
            for event in map(json.loads, self._path.read_text().splitlines())
        )
        fates = self._fates[id]
        fate = fates[before] if before < len(fates) else "works"
        self._note({"event": "call", "id": id, "fate": fate})
        return fate

    def take_effect(self, id: str) -> None:
        self._note({"event": "effect", "id": id})
        os.fsync(self._file)

    def die(self, id: str) -> None:
        """The process dies because of this call, which may have arrived long before."""
        self._note({"event": "death", "id": id})
        os._exit(1)

    def _note(self, event: dict[str, Any]) -> None:
        os.write(self._file, json.dumps({**event, "when": time.time()}).encode() + b"\n")


def _serve(folder: Path, keys: bool) -> None:
    import uvicorn
    from mcp.server import MCPServer

    import failwell.server

    journal = _Journal(folder)
    fates: dict[str, str] = {}
    server = MCPServer("bank", log_level="CRITICAL")

    @server.tool()
    async def pay(id: str) -> str:
        """Pay."""
        if fates[id] == "begun, and the process dies":
            journal.die(id)
        journal.take_effect(id)
        if fates[id] == "done, and the process dies":
            journal.die(id)
        if fates[id] == "done, and the answer is late":
            await asyncio.sleep(1.5 * TIMEOUT)
        return f"Paid {id}."

    @server.tool(annotations=_reads())
    def get_payment(id: str) -> bool:
        """Whether it was paid."""
        return any(f'"effect", "id": "{id}"' in line for line in (folder / "ledger.jsonl").read_text().splitlines())

    # By its protocol's name, or asyncio does not turn off the delay of small packets.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    print(listener.getsockname()[1], flush=True)
    # Everything is imported by now, so a server that dies is back in milliseconds.
    while True:
        child = os.fork()
        if child == 0:
            break
        os.waitpid(child, 0)
    _end_with_parent()
    store = failwell.server.open_store(str(folder / "keys.db")) if keys else False
    failwell.server.install(server, idempotency=store)
    app = _losing(server.streamable_http_app(), journal, fates)
    config = uvicorn.Config(app, loop="asyncio", ws="none", lifespan="on", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
    os._exit(0)


def _reads() -> Any:
    from mcp_types import ToolAnnotations

    return ToolAnnotations(read_only_hint=True)


def _end_with_parent() -> None:
    """The one who started all this holds the other end of stdin, and kills only the keeper."""
    import threading

    def watch() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _losing(app: Any, journal: _Journal, fates: dict[str, str]) -> Any:
    """The application, with answers that are lost on the way out, when everything is done and written down."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await app(scope, receive, send)
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        id, fate = _fate(body, journal, fates)
        if fate == "refused":
            await send({"type": "http.response.start", "status": 503, "headers": [(b"retry-after", b"0.05")]})
            return await send({"type": "http.response.body", "body": b""})
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Any:
            return given.pop() if given else await receive()

        async def lost(message: Any) -> None:
            # An event stream says hello before there is an answer.
            if b'"result"' not in message.get("body", b"") and fate.startswith("answered"):
                return
            if fate == "answered, and the process dies":
                journal.die(id)
            if fate == "answered, and nobody hears it":
                await asyncio.sleep(3600)
            await send(message)

        return await app(scope, replayed, lost)

    return answer


def _fate(body: bytes, journal: _Journal, fates: dict[str, str]) -> tuple[str, str]:
    """Which payment a request is for, and what becomes of it."""
    request = json.loads(body)
    if request.get("method") != "tools/call" or request["params"]["name"] != "pay":
        return "", "works"
    id = request["params"]["arguments"]["id"]
    fates[id] = journal.arrive(id)
    return id, fates[id]


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2] == "with")
