"""A lost answer and an idempotency key: the same call is made again, and nothing is done twice."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

import commands
import failwell as fw
from failwell.client import Recovering
from failwell.model import Action

BANK = Path(__file__).with_name("keyed_bank.py")
QUICK = fw.Policy(base_delay=0.01)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    made = tmp_path / "ledger"
    made.touch()
    return made


@contextmanager
def bank_over_http(ledger: Path, store: str) -> Iterator[int]:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    process = subprocess.Popen(
        commands.python(BANK, ledger, store, port),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(6000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def losing_answers(port: int, lose: int) -> Any:
    """A way to the server on which the answers to the first calls of a tool get lost."""
    left = lose

    async def carry(near: Any) -> None:
        nonlocal left
        async with near, await anyio.connect_tcp("127.0.0.1", port) as far, anyio.create_task_group() as group:
            loses = False

            async def there() -> None:
                nonlocal loses, left
                try:
                    while True:
                        data = await near.receive()
                        if left and b'"tools/call"' in data:
                            left -= 1
                            loses = True
                        await far.send(data)
                except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    group.cancel_scope.cancel()

            group.start_soon(there)
            try:
                while True:
                    data = await far.receive()
                    if not loses:
                        await near.send(data)
                    elif b'"result"' in data:
                        break
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass
            group.cancel_scope.cancel()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, carry)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/mcp"
        group.cancel_scope.cancel()


def paid(ledger: Path, id: str) -> int:
    return ledger.read_text().split().count(id)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_lost_answer_is_had_again(ledger: Path, store: str, mode: str) -> None:
    async def story(port: int) -> None:
        with anyio.fail_after(300):
            async with (
                losing_answers(port, 2) as url,
                Recovering(Client(url, mode=mode), policy=QUICK) as agent,
            ):
                report = await agent.call("pay", {"id": "inv_1"})
                assert report.ok, str(report)
                assert report.calls == 3
                assert report.result.meta["io.github.failwell/replayed"] is True
                assert report.result.content[0].text == "Paid inv_1."
                assert paid(ledger, "inv_1") == 1
                # Another payment is another call, whatever its arguments.
                assert (await agent.call("pay", {"id": "inv_1"})).ok
                assert paid(ledger, "inv_1") == 2

    where = "memory" if store == "memory" else str(ledger.with_name("keys.db"))
    with bank_over_http(ledger, where) as port:
        anyio.run(story, port)


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_server_that_died_in_between_cannot_be_asked_and_is_not(ledger: Path, store: str) -> None:
    where = "memory" if store == "memory" else str(ledger.with_name("keys.db"))
    target = StdioServerParameters(**commands.in_parts(commands.python(BANK, ledger, where)))

    async def story() -> None:
        with anyio.fail_after(300):
            async with Recovering(Client(target), policy=QUICK) as agent:
                report = await agent.call("pay", {"id": "inv_1", "then": "die"})
                assert not report.ok
                assert report.error.effect == "unknown"
                assert report.error.verify == Action("get_payment", arguments={"id": "inv_1"})
                # The disk remembers that the call began; the memory of a dead process is not asked at all.
                assert report.calls == (1 if store == "memory" else 2)
                assert paid(ledger, "inv_1") == 1
                assert (await agent.call_tool("get_payment", {"id": "inv_1"})).content[0].text == "1"

    anyio.run(story)


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_what_may_be_done_twice_is_whatever_became_of_its_key(ledger: Path, store: str) -> None:
    where = "memory" if store == "memory" else str(ledger.with_name("keys.db"))
    target = StdioServerParameters(**commands.in_parts(commands.python(BANK, ledger, where)))

    async def story() -> None:
        with anyio.fail_after(300):
            async with Recovering(Client(target), policy=QUICK) as agent:
                assert (await agent.call("settle", {"id": "inv_1"})).recovered
                assert paid(ledger, "inv_1") == 2

    anyio.run(story)


def test_a_key_for_another_store_is_refused_by_the_server(ledger: Path) -> None:
    target = StdioServerParameters(**commands.in_parts(commands.python(BANK, ledger, "memory")))
    meta = {
        "io.github.failwell/idempotency-key": "k",
        "io.github.failwell/idempotency-instance": "the one that ran here before",
    }

    async def story() -> None:
        async with Client(target) as client:
            result = await client.call_tool("pay", {"id": "inv_1"}, meta=meta)
            error = fw.parse(result)
            assert (error.code, error.effect) == ("IDEMPOTENCY_UNFINISHED", "unknown")
            assert fw.decide(error, keyed=True).next == "ask"
            assert paid(ledger, "inv_1") == 0

    anyio.run(story)
