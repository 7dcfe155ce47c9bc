"""Replicas of one server that share their keys, killed at random, with their store killed and brought back under them.

Agents make keyed payments, each attempt at any replica, until one gives a definite answer. What was said is held
against the ledger of what was done. With `--relays` the server knows no keys, stands behind a gateway that answers in
its place, loses sessions and is killed, too; the replicas are relays in front of it, `failwell wrap --listen`. The exit
code is 1 if a payment was made twice, an answer is untrue, or none was given.
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

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from databases import Redis, running_postgres

KEY: Final = "io.github.failwell/idempotency-key"
FIRST: Final = "io.github.failwell/idempotency-first"
SAID: Final = {"IDEMPOTENCY_UNFINISHED": "unfinished"}
BARE: Final = "bare"
# How often a gateway answers a call.
GATES: Final = 0.06
LEASE: Final = 1.0
PATIENCE: Final = 4.0
# How long an agent goes on asking: longer than anything takes to start, on a busy machine too.
LONGEST: Final = 240.0
SHOWN: Final = 10
# How often a payment is the death of its server, before it is made and after.
DEADLY: Final = 0.01


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--store", choices=["redis", "postgresql"], default="redis")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--relays", action="store_true", help="relays in front of a server that knows no keys")
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--serve", nargs=3, metavar=("FOLDER", "PORT", "URL"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        _serve(Path(asked.serve[0]), int(asked.serve[1]), asked.serve[2])
        return 0
    print(f"seed {asked.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shared") as name, ExitStack() as running:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "ledger").touch()
        store = running.enter_context(_store(asked.store, folder))
        serve = [sys.executable, __file__, "--serve", str(folder), "{port}"]
        wrap = [sys.executable, "-m", "failwell", "wrap", "--listen", "127.0.0.1:{port}", "--state", store.url]
        mortal: list[_Replica] = []
        if asked.relays:
            mortal = [running.enter_context(_replica([*serve, BARE]))]
            serve = [*wrap, mortal[0].url]
        else:
            serve += [store.url]
        replicas = [running.enter_context(_replica(serve)) for _ in range(asked.replicas)]
        said, faults = asyncio.run(_calls(asked, store, replicas, mortal, folder / "ledger"))
        lines = Counter((folder / "ledger").read_text().split())
    wrong = [f"{id}: {problem}" for id, told in said.items() for problem in _held_against(told, lines[id])]
    kinds = Counter(told["said"] for told in said.values())
    print(
        f"{len(said)} calls in {time.monotonic() - began:.0f} s: "
        + ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    )
    for words, n in Counter(
        str(told["error"].get("message")) for told in said.values() if "error" in told
    ).most_common():
        print(f"  {n} {words}")
    print("faults: " + ", ".join(f"{n} {kind}" for kind, n in faults.most_common()))
    print("\n".join(wrong[:SHOWN]) or "nothing made twice, every answer true")
    return bool(wrong)


def _held_against(told: dict[str, Any], done: int) -> Iterator[str]:
    if told["said"] == "nothing":
        yield "no answer at all"
    yield from told.get("untrue", ())
    if done > 1:
        yield f"made {done} times"
    if (told["said"] == "paid") and done != 1:
        yield f"said to be paid, and made {done} times"
    if told["said"] == "refused" and done:
        yield "said not to be made, and made"


class _Replica:
    """A server, or a relay in front of one; started again by whoever killed it."""

    def __init__(self, command: list[str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._command = [part.format(port=self.port) for part in command]
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
def _replica(command: list[str]) -> Iterator[_Replica]:
    replica = _Replica(command)
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


async def _calls(
    asked: Any, store: Any, replicas: list[_Replica], mortal: list[_Replica], ledger: Path
) -> tuple[dict[str, Any], Counter[str]]:
    chance = random.Random(asked.seed)
    waiting = [f"p{number}" for number in reversed(range(asked.calls))]
    said: dict[str, dict[str, Any]] = {}
    faults: Counter[str] = Counter()

    async def agent() -> None:
        while waiting:
            id = waiting.pop()
            said[id] = await _paid(id, replicas, chance, ledger)

    # A relay takes as long to start as several calls.
    pace = 4 if asked.relays else 1

    async def trouble() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.1, 1.0) * pace)
            for name, those in (("replicas", replicas), ("servers", mortal)):
                if died := sum(each.revive() for each in those):
                    faults[f"{name} died by themselves"] += died
            what = chance.random()
            if what < 0.5:
                continue
            if what < 0.75 or isinstance(store, _Steady):
                replica = chance.choice([*replicas, *mortal])
                replica.kill()
                replica.start()
                faults["servers killed" if replica in mortal else "replicas killed"] += 1
            else:
                store.kill()
                await asyncio.sleep(chance.uniform(0.1, 1.0))
                await asyncio.to_thread(store.start)
                faults["stores killed"] += 1

    harm = asyncio.ensure_future(trouble())
    await asyncio.gather(*(agent() for _ in range(asked.agents)))
    harm.cancel()
    return said, faults


async def _paid(id: str, replicas: list[_Replica], chance: random.Random, ledger: Path) -> dict[str, Any]:
    """What is said in the end, by whichever replica knows."""
    from mcp import Client

    told: dict[str, Any] = {"said": "nothing"}
    untrue: list[str] = []
    meta = {KEY: id, FIRST: True}
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        try:
            async with asyncio.timeout(PATIENCE), Client(chance.choice(replicas).url) as client:
                given, meta = meta, {KEY: id}
                result = await client.call_tool("pay", {"id": id}, meta=given)
        except BaseException as exc:
            if isinstance(exc, (KeyboardInterrupt, SystemExit)):
                raise
            await asyncio.sleep(0.2)
            continue
        if not result.is_error:
            return {"said": "paid", "untrue": untrue}
        error = (result.meta or {}).get("io.github.failwell/tool-error", {})
        said = SAID.get(error.get("code", ""), "refused" if error.get("effect") == "none" else "unknown")
        if said == "refused" and id in ledger.read_text().split():
            # Not in the end alone: whoever stops here takes it for the truth.
            untrue.append(f"said not to be made when it was made: {error.get('message')}")
        told = {"said": said, "error": error, "untrue": untrue}
        if said == "unfinished" or (said == "unknown" and error.get("code") != "UNAVAILABLE"):
            # Every relay would say that again.
            return told
        await asyncio.sleep(0.2)
    return told


class _Gateway:
    """Before a server: it answers in its place, before a call or after it, and says of sessions that they are gone."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        first = await receive()
        waiting = [first]

        async def again() -> Any:
            return waiting.pop() if waiting else await receive()

        async def nobody(message: Any) -> None: ...

        status = 404 if random.random() < 0.3 and b"mcp-session-id" in dict(scope["headers"]) else 502
        if b"tools/call" not in first["body"] or random.random() > GATES:
            await self._app(scope, again, send)
            return
        if random.random() < 0.5:
            await self._app(scope, again, nobody)
        body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'
        body = body if status == 404 else b"Bad Gateway"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": body})


def _keys(url: str) -> Any:
    import failwell.server

    kind = failwell.server.open_store
    while True:
        # The store may be away at the moment.
        with suppress(RuntimeError):
            return kind(url, lease=LEASE)
        time.sleep(0.1)


def _serve(folder: Path, port: int, url: str) -> None:
    import uvicorn
    from mcp.server import MCPServer

    import failwell.server

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

    if url != BARE:
        failwell.server.install(server, idempotency=_keys(url))
    app = server.streamable_http_app() if url != BARE else _Gateway(server.streamable_http_app())
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="critical", access_log=False)


if __name__ == "__main__":
    sys.exit(main())
