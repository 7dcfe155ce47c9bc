"""Replicas of one server that share their keys, killed at random, with their store killed and brought back under them.

Agents make keyed payments, each attempt at any replica, until one gives a definite answer. What was said is held
against the ledger of what was done. The exit code is 1 if a payment was made twice, or an answer is untrue.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1] / "tests" / "shared"))
from databases import Redis, running_postgres

KEY: Final = "io.github.failwell/idempotency-key"
LEASE: Final = 1.0
PATIENCE: Final = 4.0
ATTEMPTS: Final = 40
SHOWN: Final = 10
# How often a payment is the death of its server, before it is made and after.
DEADLY: Final = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--store", choices=["redis", "postgresql"], default="redis")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "URL"), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        _serve(Path(asked.serve[0]), asked.serve[1], asked.port)
        return 0
    print(f"seed {asked.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shared") as name, ExitStack() as running:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "ledger").touch()
        store = running.enter_context(_store(asked.store, folder))
        replicas = [running.enter_context(_replica(folder, store.url)) for _ in range(asked.replicas)]
        said, faults = asyncio.run(_calls(asked, store, replicas))
        lines = Counter((folder / "ledger").read_text().split())
    wrong = [f"{id}: {problem}" for id, told in said.items() for problem in _held_against(told, lines[id])]
    kinds = Counter(told["said"] for told in said.values())
    print(
        f"{len(said)} calls in {time.monotonic() - began:.0f} s: "
        + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    )
    print("faults: " + ", ".join(f"{n} {kind}" for kind, n in faults.most_common()))
    print("\n".join(wrong[:SHOWN]) or "nothing made twice, every answer true")
    return bool(wrong)


def _held_against(told: dict[str, Any], done: int) -> Iterator[str]:
    if done > 1:
        yield f"made {done} times"
    if (told["said"] == "paid") and done != 1:
        yield f"said to be paid, and made {done} times"
    if told["said"] == "refused" and done:
        yield "said not to be made, and made"


class _Replica:
    """One of the servers; started again by whoever killed it."""

    def __init__(self, folder: Path, url: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._command = [sys.executable, __file__, "--serve", str(folder), url, "--port", str(self.port)]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def revive(self) -> bool:
        """Start it again if it has died by itself; whether it had."""
        if self._process is None or self._process.poll() is None:
            return False
        self.start()
        return True


@contextmanager
def _replica(folder: Path, url: str) -> Iterator[_Replica]:
    replica = _Replica(folder, url)
    try:
        yield replica
    finally:
        replica.kill()


class _Steady:
    """A store that is not killed."""

    def __init__(self, url: str) -> None:
        self.url = url

    def kill(self) -> None: ...

    def start(self) -> None: ...


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[Redis | _Steady]:
    if kind == "postgresql":
        importlib.import_module("warnings").simplefilter("ignore")
        with tempfile.TemporaryDirectory(prefix="pg") as data, running_postgres(Path(data)) as url:
            yield _Steady(url)
        return
    server = Redis(folder)
    try:
        yield server
    finally:
        server.kill()


async def _calls(asked: Any, store: Any, replicas: list[_Replica]) -> tuple[dict[str, Any], Counter[str]]:
    chance = random.Random(asked.seed)
    waiting = [f"p{number}" for number in reversed(range(asked.calls))]
    said: dict[str, dict[str, Any]] = {}
    faults: Counter[str] = Counter()

    async def agent() -> None:
        while waiting:
            id = waiting.pop()
            said[id] = await _paid(id, replicas, chance)

    async def trouble() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.1, 1.0))
            faults["replicas died in a payment"] += sum(replica.revive() for replica in replicas)
            what = chance.random()
            if what < 0.5:
                continue
            if what < 0.75 or isinstance(store, _Steady):
                replica = chance.choice(replicas)
                replica.kill()
                replica.start()
                faults["replicas killed"] += 1
            else:
                store.kill()
                await asyncio.sleep(chance.uniform(0.1, 1.0))
                await asyncio.to_thread(store.start)
                faults["stores killed"] += 1

    harm = asyncio.ensure_future(trouble())
    await asyncio.gather(*(agent() for _ in range(asked.agents)))
    harm.cancel()
    return said, faults


async def _paid(id: str, replicas: list[_Replica], chance: random.Random) -> dict[str, Any]:
    """What is said in the end, by whichever replica knows."""
    from mcp import Client

    told: dict[str, Any] = {"said": "nothing"}
    for _ in range(ATTEMPTS):
        try:
            async with asyncio.timeout(PATIENCE), Client(chance.choice(replicas).url) as client:
                result = await client.call_tool("pay", {"id": id}, meta={KEY: id})
        except BaseException as exc:
            if isinstance(exc, (KeyboardInterrupt, SystemExit)):
                raise
            await asyncio.sleep(0.2)
            continue
        if not result.is_error:
            return {"said": "paid"}
        error = (result.meta or {}).get("io.github.failwell/tool-error", {})
        told = {"said": "unfinished" if error.get("code") == "IDEMPOTENCY_UNFINISHED" else "refused", "error": error}
        if told["said"] == "unfinished":
            return told
        if error.get("effect") != "none":
            return {"said": "unknown", "error": error}
        await asyncio.sleep(0.2)
    return told


def _serve(folder: Path, url: str, port: int) -> None:
    import uvicorn
    from mcp.server import MCPServer

    import failwell.server

    kind = failwell.server.KeysInRedis if url.startswith("redis") else failwell.server.KeysInPostgres
    while True:
        # The store may be away at the moment.
        with suppress(RuntimeError):
            store = kind(url, lease=LEASE)
            break
        time.sleep(0.1)
    server = MCPServer("bank", log_level="CRITICAL")
    ledger = os.open(folder / "ledger", os.O_WRONLY | os.O_APPEND)

    @server.tool()
    async def pay(id: str) -> str:
        """Pay."""
        await asyncio.sleep(random.uniform(0, 0.02))
        if random.random() < DEADLY:
            os._exit(1)
        os.write(ledger, f"{id}\n".encode())
        if random.random() < DEADLY:
            os._exit(1)
        await asyncio.sleep(random.uniform(0, 0.02))
        return json.dumps({"paid": id})

    failwell.server.install(server, idempotency=store)
    app = server.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", access_log=False)


if __name__ == "__main__":
    sys.exit(main())
