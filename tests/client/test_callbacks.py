"""The time in which the user is asked is not the server's; the server's silence is. Over real wires, in both eras."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import fastmcp
import pytest
from fastmcp.client.elicitation import ElicitResult as FastAnswer
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer
from mcp_types import ElicitResult

import commands
import failwell as fw
from failwell.client import Recovering
from failwell.client.connection import Connection, Live

APP = str(Path(__file__).with_name("asking_app.py"))
WIRES = [(wire, mode) for wire in ("stdio", "http") for mode in ("legacy", "auto")]
# What a call is given. Whatever is to outlast it waits for a call that has been given as much, and got no answer.
TIME = 0.7


@asynccontextmanager
async def served(wire: str) -> Any:
    if wire == "stdio":
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await anyio.open_process(commands.python(APP, port), stdout=None, stderr=None)
    try:
        while True:
            try:
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                break
            except OSError:
                await anyio.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.aclose()


def client_of(kind: str, address: str | None, mode: str, answer: Any) -> Any:
    if kind == "mcp":

        async def callback(context: Any, params: Any) -> ElicitResult:
            return ElicitResult(action="accept", content=await answer())

        target: Any = address or StdioServerParameters(**commands.in_parts(commands.python(APP)))
        return Client(target, mode=mode, elicitation_callback=callback)

    async def handler(message: str, kind: Any, params: Any, context: Any) -> FastAnswer[Any]:
        return FastAnswer(action="accept", content=await answer())

    return fastmcp.Client(
        address or StdioTransport(**commands.in_parts(commands.python(APP))), mode=mode, elicitation_handler=handler
    )


@asynccontextmanager
async def agent(answer: Any, kind: str = "mcp", wire: str = "stdio", mode: str = "legacy", **policy: Any) -> Any:
    async with served(wire) as address:
        client = client_of(kind, address, mode, answer)
        async with Recovering(client, policy=fw.Policy(max_attempts=1, **policy)) as it:
            # The time of a call is also that of opening, so what is to be quick is open before.
            await it.list_tools()
            yield it


async def outlast() -> None:
    """Return when a call that was given the same time has run out of it."""
    silent = MCPServer("silent", log_level="CRITICAL")

    @silent.tool()
    async def sleep() -> str:
        await asyncio.Event().wait()
        return "never"

    async with Recovering(Client(silent), policy=fw.Policy(max_attempts=1)) as other:
        await other.list_tools()
        report = await other.call("sleep", read_timeout_seconds=TIME)
        assert report.failure is not None
        assert report.failure.code == "TIMEOUT"


async def slowly() -> dict[str, str]:
    await outlast()
    return {"name": "red"}


def timed(kind: str) -> dict[str, float]:
    return {"read_timeout_seconds" if kind == "mcp" else "timeout": TIME}


def run(story: Any, *arguments: Any) -> None:
    async def bounded() -> None:
        with anyio.fail_after(300):
            await story(*arguments)

    anyio.run(bounded)


@pytest.mark.parametrize(("wire", "mode"), WIRES)
@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
def test_a_user_may_take_longer_than_the_server(kind: str, wire: str, mode: str) -> None:
    async def story() -> None:
        async with agent(slowly, kind, wire, mode) as it:
            report = await it.call("paint", **timed(kind))
            assert report.ok, str(report)
            assert [block.text for block in report.result.content] == ["It is red."]

    run(story)


@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
def test_a_short_timeout_of_http_does_not_end_a_call_that_waits_for_the_user(kind: str) -> None:
    import httpx2
    from fastmcp.client.transports import StreamableHttpTransport
    from mcp.client.streamable_http import streamable_http_client

    async def story() -> None:
        async with served("http") as address, httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=TIME / 2)) as http:
            client = client_of(kind, address, "legacy", slowly)
            if kind == "mcp":
                client.server = streamable_http_client(address, http_client=http)
            else:
                client.transport = StreamableHttpTransport(
                    address, httpx_client_factory=lambda **_: httpx2.AsyncClient(timeout=http.timeout)
                )
            async with Recovering(client, policy=fw.Policy(max_attempts=1)) as it:
                assert (await it.call("paint")).ok

    run(story)


@pytest.mark.parametrize(("wire", "mode"), [("stdio", "legacy"), ("http", "auto")])
@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
def test_a_server_that_says_nothing_is_not_waited_for(kind: str, wire: str, mode: str) -> None:
    async def story() -> None:
        async with agent(slowly, kind, wire, mode) as it:
            report = await it.call("sleep", **timed(kind))
            assert (report.error.code, str(report.error.effect)) == ("TIMEOUT", "unknown")
            # The tool was slow, not the server.
            assert (await it.call("look")).ok
            assert it._connection.opened == 1

    run(story)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_after_the_answer_the_servers_time_goes_on(mode: str) -> None:
    async def story() -> None:
        async with agent(slowly, mode=mode) as it:
            report = await it.call("paint_for_ever", **timed("mcp"))
            assert (report.error.code, str(report.error.effect)) == ("TIMEOUT", "unknown")

    run(story)


def test_other_calls_on_the_connection_wait_too() -> None:
    async def story() -> None:
        async with agent(slowly) as it, asyncio.TaskGroup() as tasks:
            painting = tasks.create_task(it.call("paint", **timed("mcp")))
            while not it._connection.live.is_asking:
                await asyncio.sleep(0)
            assert (await it.call("watch", **timed("mcp"))).ok
            assert (await painting).ok

    run(story)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_deadline_holds_whoever_is_slow(mode: str) -> None:
    async def story() -> None:
        async def never() -> dict[str, str]:
            await asyncio.Event().wait()
            return {}

        async with agent(never, mode=mode, deadline=TIME) as it:
            report = await it.call("paint")
            assert (report.error.code, str(report.error.effect)) == ("TIMEOUT", "unknown")

    run(story)


def test_questions_that_overlap_are_one_pause() -> None:
    class Quiet:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *exc: object) -> None: ...

    class Driver:
        def fresh(self, ended: Any, asking: Any, changed: Any) -> Any:
            return Quiet()

        def is_alive(self, client: Any) -> bool:
            return True

    async def story() -> None:
        opened = Connection(Driver())  # type: ignore[arg-type]
        live: Live = await opened.open(5.0)
        time = 100.0
        live.now = lambda: time
        with live.asking():
            time += 1
            with live.asking():
                time += 2
                assert live.waited == 100
            time += 4
            assert (live.is_asking, live.waited) == (True, 100)
        time += 8
        assert (live.is_asking, live.waited) == (False, 108)
        with live.asking():
            time += 16
        assert live.waited == 108
        await opened.close()

    run(story)
