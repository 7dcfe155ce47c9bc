"""Calls through `failwell wrap` to a server that dies, freezes and breaks off, held against what the server wrote down.

Nothing may be lost: each call is answered once. Nothing may be done twice. And every answer must be true: one that
worked was done, one that did nothing was not done, and where it is said not to be known, either may be so.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repeating_agents import WAYS, Answered, Repeats, Trail, repeat

SERVER = """
import json, os, sys, time

ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
with open(os.environ["PID"], "w") as file:
    file.write(str(os.getpid()))
ID = {"type": "object", "properties": {"id": {"type": "string"}, "fault": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"name": "pay_invoice", "inputSchema": ID, "annotations": {"destructiveHint": True}},
    {"name": "get_invoice", "inputSchema": ID, "annotations": {"readOnlyHint": True}},
]

def send(text):
    os.write(1, text.encode())

for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "ledger"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        given = params["arguments"]
        fault = given.get("fault", "")
        if fault == "before":
            os._exit(1)
        os.write(ledger, f"{params['name']} {given['id']}\\n".encode())
        if fault == "after":
            os._exit(1)
        result = {"content": [{"type": "text", "text": given["id"]}]}
        if fault == "cut":
            send(json.dumps({"jsonrpc": "2.0", "id": id, "result": result})[:40])
            os._exit(1)
        if fault == "fail":
            result = {"content": [{"type": "text", "text": "Error: 503 Service Unavailable"}], "isError": True}
        if fault == "noise":
            send("about to answer\\n")
        if fault == "hang":
            continue
    elif id is None:
        continue
    else:
        result = {}
    send(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\\n")
"""
FAILURE = "Error: 503 Service Unavailable"
FAULTS = ("before", "after", "cut", "fail", "noise", "hang")
CANONICAL = "io.github.failwell/tool-error"
DEPTH = 4
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "ledger", "version": "1"}}


@dataclass(slots=True)
class Tally:
    """What came of all the calls."""

    calls: int = 0
    worked: int = 0
    said: Counter[str] = field(default_factory=Counter)
    """How many failures said what about their effect."""
    wrong: list[str] = field(default_factory=list)
    left: int = 0
    """How many processes were left over."""


def run(seed: int, calls: int, *, faulty: float = 0.15, killed: float = 0.05) -> Tally:
    """Make so many calls; of each, what was answered is held against the ledger when all have ended."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        with _relay(room) as relay:
            answers = _made(relay, chance, calls, faulty, killed, room)
        tally = _held(answers, (room / "ledger").read_text("utf-8").split("\n"))
        tally.left = len(_left(str(room)))
    return tally


@contextmanager
def _relay(room: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The relay in front of the server, with the server's files in this folder."""
    (room / "server.py").write_text(SERVER, "utf-8")
    (room / "ledger").touch()
    env = {**os.environ, "LEDGER": str(room / "ledger"), "PID": str(room / "pid")}
    command = [sys.executable, "-m", "failwell", "wrap", "--timeout", "1", "--", sys.executable, "-S"]
    relay = subprocess.Popen(
        [*command, str(room / "server.py")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, bufsize=0,
    )  # fmt: skip
    try:
        yield relay
    finally:
        assert relay.stdin is not None
        relay.stdin.close()
        relay.wait(60)
        assert relay.stdout is not None
        relay.stdout.close()


def run_repeats(seed: int, calls: int) -> Repeats:
    """The figures of agents that repeat a payment which failed, one after the other in one session."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        with _relay(room) as relay:
            trails = asyncio.run(_repeated(relay, chance, calls))
        done = Counter((room / "ledger").read_text("utf-8").split("\n"))
    figures = Repeats()
    for trail in trails:
        figures.add(trail, done[f"pay_invoice {trail.id}"])
    return figures


async def _repeated(relay: subprocess.Popen[bytes], chance: random.Random, calls: int) -> list[Trail]:
    assert relay.stdout is not None
    lines = relay.stdout.fileno()

    def ask(id: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        _send(relay, {"id": id, "method": method, "params": params})
        rest = b""
        while data := os.read(lines, 1 << 16):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                answer = json.loads(line)
                if answer.get("id") == id:
                    return dict(answer.get("result", {}))
        raise EOFError("the relay ended")

    async def call(tool: str, given: dict[str, str]) -> Answered:
        result = ask(f"{tool} {given['id']}", "tools/call", {"name": tool, "arguments": given})
        error = result.get("_meta", {}).get(CANONICAL, {})
        return Answered(not result.get("isError"), error.get("effect") == "none")

    ask("hello", "initialize", _CLIENT)
    _send(relay, {"method": "notifications/initialized"})
    trails = []
    for number in range(calls):
        # Those that wait for the relay's timeout are rarer.
        fault = chance.choices(FAULTS, (4, 4, 4, 8, 1, 1))[0]
        given = {"id": f"c{number}", "fault": fault}
        write = functools.partial(call, "pay_invoice", given)

        async def look(id: str = given["id"]) -> bool:
            return (await call("get_invoice", {"id": id})).ok

        trails.append(await repeat(given["id"], WAYS[number % len(WAYS)], write, look))
    return trails


def _made(
    relay: subprocess.Popen[bytes], chance: random.Random, calls: int, faulty: float, killed: float, room: Path
) -> dict[str, tuple[str, list[Any]]]:
    """Each call by its name, with its tool and all the answers to it."""
    assert relay.stdin is not None
    assert relay.stdout is not None
    pipe, rest = relay.stdout.fileno(), b""
    made: dict[str, tuple[str, list[Any]]] = {}
    _send(relay, {"id": "hello", "method": "initialize", "params": _CLIENT})
    _send(relay, {"method": "notifications/initialized"})
    waiting = {"hello"}
    last = time.monotonic()
    while len(made) < calls or waiting:
        while len(made) < calls and len(waiting) < DEPTH:
            name = f"c{len(made)}"
            tool = chance.choice(("pay_invoice", "get_invoice"))
            given = {"id": name, **({"fault": chance.choice(FAULTS)} if chance.random() < faulty else {})}
            _send(relay, {"id": name, "method": "tools/call", "params": {"name": tool, "arguments": given}})
            made[name] = (tool, [])
            waiting.add(name)
        if chance.random() < killed:
            _strike(room / "pid", chance)
        if not select.select([pipe], [], [], 1.0)[0]:
            if time.monotonic() - last > 120:
                break
            continue
        last = time.monotonic()
        data = os.read(pipe, 1 << 16)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            waiting.discard(answer.get("id"))
            if answer.get("id") in made:
                made[answer["id"]][1].append(answer)
    return made


def _send(relay: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert relay.stdin is not None
    relay.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def _strike(file: Path, chance: random.Random) -> None:
    """Kill the server, or freeze it, wherever it is just now."""
    with suppress(OSError, ValueError):
        pid = int(file.read_text("utf-8"))
        os.kill(pid, chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP)))
        if chance.random() < 0.5:
            os.kill(pid, signal.SIGCONT)


def _held(answers: dict[str, tuple[str, list[Any]]], ledger: list[str]) -> Tally:
    done = Counter(ledger)
    tally = Tally(calls=len(answers))
    for name, (tool, told) in answers.items():
        times = done[f"{tool} {name}"]
        if tool == "pay_invoice" and times > 1:
            tally.wrong.append(f"{name} was done {times} times")
        if len(told) != 1:
            tally.wrong.append(f"{name} was answered {len(told)} times")
            continue
        result = told[0].get("result", {})
        if not result.get("isError"):
            tally.worked += 1
            if not times:
                tally.wrong.append(f"{name} worked and was not done")
            continue
        effect = result["_meta"][CANONICAL].get("effect", "unsaid")
        tally.said[effect] += 1
        # Only of what the server said itself nobody says more than it did.
        is_unsaid = effect == "unsaid" and result["content"][0]["text"] != FAILURE
        if tool == "pay_invoice" and ((effect == "none" and times) or is_unsaid):
            tally.wrong.append(f"{name} was done {times} times, and its answer says {effect}")
    return tally


def _left(room: str) -> list[int]:
    """Processes of this run that are still there."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if room.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
