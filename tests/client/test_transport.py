"""Whatever transport is given, what it sees is noted, and each connection gets one of its own."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.client.transports import SSETransport, StreamableHttpTransport
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from test_recovering_hostile import CUT, HANG, QUICK, RESULTS, Hostile, hosted, http, run, told

import failwell as fw
from failwell.client import Recovering
from failwell.client.callbacks import Callbacks
from failwell.testing import FakeClock, Fault, Script, Tool, scripted

TOKEN = "Bearer t-1"


class Guarded(Hostile):
    """A server that lets in only whoever brings the token."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__(answer)
        self.tokens: set[str | None] = set()

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        heads: list[bytes] = []

        class Heard:
            async def readuntil(self, mark: bytes) -> bytes:
                heads.append(await reader.readuntil(mark))
                return heads[-1]

            async def readexactly(self, size: int) -> bytes:
                return await reader.readexactly(size)

        reply = await super()._reply(Heard())  # type: ignore[arg-type]
        lines = [line for line in heads[0].decode().split("\r\n") if line.lower().startswith("authorization: ")]
        self.tokens.add(lines[0].partition(": ")[2] if lines else None)
        return reply


def mine(**options: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers={"Authorization": TOKEN}, **options)


def once(*answers: Any) -> Any:
    left = list(answers)
    return lambda method, message: left.pop(0) if method == "tools/call" and left else None


def transports(address: str, client: httpx2.AsyncClient) -> dict[str, Any]:
    """The ways to bring headers, authentication and clients of one's own."""

    def factory(**options: Any) -> httpx2.AsyncClient:
        headers = {**(options.pop("headers", None) or {}), "Authorization": TOKEN}
        return httpx2.AsyncClient(headers=headers, **options)

    headers = {"Authorization": TOKEN}
    return {
        "mcp, client": Client(streamable_http_client(address, http_client=client), mode="legacy"),
        "fastmcp, headers": fastmcp.Client(StreamableHttpTransport(address, headers=headers), mode="legacy"),
        "fastmcp, auth": fastmcp.Client(StreamableHttpTransport(address, auth="t-1"), mode="legacy"),
        "fastmcp, factory": fastmcp.Client(
            StreamableHttpTransport(address, httpx_client_factory=factory), mode="legacy"
        ),
        "fastmcp, verify": fastmcp.Client(
            StreamableHttpTransport(address, headers=headers, verify=False), mode="legacy"
        ),
    }


WAYS = list(transports("http://x", httpx2.AsyncClient()))


@asynccontextmanager
async def guarded(way: str, answer: Any = None, **options: Any) -> Any:
    options.setdefault("policy", QUICK)
    async with hosted(Guarded(answer)) as server, mine() as client:
        async with Recovering(transports(server.address, client)[way], **options) as it:
            it.server, it.http = server, client
            yield it
        # Whoever brought it may still want it.
        assert not client.is_closed


@pytest.mark.parametrize("way", WAYS)
def test_a_limit_is_waited_out_as_the_server_says(way: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        limited = http(429, b"", "Retry-After: 7")
        async with guarded(way, once(limited), clock=clock, jitter=lambda: 0.0) as it:
            report = await it.call("get_payment", {"id": 1})
            assert (report.recovered, report.calls, clock.slept) == (True, 2, [7.0])
            assert report.attempts[0].error.http_status == 429
            assert it._connection.opened == 1
            assert it.server.tokens == {TOKEN}

    run(story)


@pytest.mark.parametrize("way", WAYS)
def test_a_post_that_fails_is_the_failure_of_one_call(way: str) -> None:
    async def story() -> None:
        async with guarded(way, once(CUT, CUT)) as it:
            report = await it.call("get_payment", {"id": 1})
            assert (report.recovered, report.calls) == (True, 3), str(report)
            assert (await it.call("pay", {"id": 1})).ok

    run(story)


def test_the_same_client_serves_many_connections_and_its_owner() -> None:
    async def story() -> None:
        def answer(method: str, message: dict[str, Any]) -> Any:
            gone = http(404, b"Session not found", "Content-Type: text/plain")
            return gone if method == "tools/call" and it.server.count("initialize") == 1 else None

        async with guarded("mcp, client", answer) as it:
            plain = it.http.send
            assert (await it.call("get_payment", {"id": 1})).recovered
            assert it._connection.opened == 2
            assert it.http.send == plain
            with pytest.raises(httpx2.ConnectError):
                await it.http.post("http://127.0.0.1:9/other")

    run(story)


def test_what_the_owner_sends_in_a_callback_is_no_part_of_the_call() -> None:
    async def story() -> None:
        async with guarded("mcp, client", once(http(503))) as it:
            raised: list[Exception] = []

            async def look(attempt: Any) -> None:
                try:
                    await it.http.post("http://127.0.0.1:9/other")
                except httpx2.ConnectError as exc:
                    raised.append(exc)

            it._callbacks = Callbacks(on_decision=look)
            assert (await it.call("get_payment", {"id": 1})).recovered
            assert len(raised) == 1

    run(story)


def test_a_client_that_its_owner_closed_is_named_and_nothing_was_sent() -> None:
    async def story() -> None:
        async with hosted(Hostile()) as server, mine() as client:
            transport = streamable_http_client(server.address, http_client=client)
            async with Recovering(Client(transport, mode="legacy"), policy=QUICK) as it:
                assert (await it.call("pay", {"id": 1})).ok
                await client.aclose()
                for number in (2, 3):
                    report = await it.call("pay", {"id": number})
                    assert told(report) == ("NOT_CONFIGURED", "none", "never_sent")
                    assert "HTTP client that was given is closed" in report.error.message
                it._connection.drop()
                report = await it.call("pay", {"id": 4})
                assert told(report) == ("NOT_CONFIGURED", "none", "never_sent")
                assert "HTTP client that was given is closed" in report.error.message
            assert server.count("tools/call") == 1

    run(story)


def test_a_word_that_is_not_heard_says_nothing_about_the_call_before_it() -> None:
    """A call that was not answered in time is given up; that the server cannot be told so proves nothing."""

    async def story() -> None:
        def answer(method: str, message: dict[str, Any]) -> Any:
            if method == "notifications/cancelled":
                return http(404)
            return HANG if method == "tools/call" else None

        async with guarded("mcp, client", answer) as it:
            await it.list_tools()
            report = await it.call("pay", {"id": 1}, read_timeout_seconds=0.2)
            assert told(report) == ("TIMEOUT", "unknown", "unanswered")
            assert it.server.count("tools/call") == 1

    run(story)


@pytest.mark.parametrize("kind", ["stdio_client", "streamable_http_client"])
def test_a_transport_of_the_sdk_connects_again(kind: str) -> None:
    async def story() -> None:
        tool = Tool("get", faults=[Fault.crash()], read_only=True)
        transport = "stdio" if kind == "stdio_client" else "http"
        async with scripted(Script(tool), transport=transport) as server:
            made = stdio_client(server.target) if kind == "stdio_client" else streamable_http_client(server.target)
            async with Recovering(Client(made), policy=fw.Policy(base_delay=0.01)) as it:
                report = await it.call("get")
                assert (report.recovered, report.calls) == (True, 2), str(report)

    run(story)


class Streaming:
    """A server of the oldest HTTP transport: one stream of answers, and POSTs that are only taken."""

    def __init__(self, *faults: Any) -> None:
        self.faults = list(faults)
        self.heard: list[str] = []
        self.address = ""
        self._stream: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                if head.startswith("get"):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
                    writer.write(b"event: endpoint\r\ndata: /messages\r\n\r\n")
                    self._stream = writer
                    await reader.read()
                    return
                size = next(
                    int(line.split(": ")[1]) for line in head.split("\r\n") if line.startswith("content-length")
                )
                message = json.loads(await reader.readexactly(size))
                self.heard.append(message["method"])
                fault = self.faults.pop(0) if message["method"] == "tools/call" and self.faults else None
                if fault == CUT:
                    return
                writer.write(fault or http(202))
                if fault is None and "id" in message:
                    result = RESULTS[message["method"]]
                    frame = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
                    assert self._stream is not None
                    self._stream.write(f"event: message\r\ndata: {frame}\r\n\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
def test_over_a_stream_of_events_a_post_that_fails_ends_its_call_and_no_other(kind: str) -> None:
    async def story() -> None:
        clock = FakeClock()
        server: Any = Streaming(http(503, b"", "Retry-After: 7"), CUT)
        async with hosted(server):
            client: Any = (
                Client(sse_client(server.address), mode="legacy")
                if kind == "mcp"
                else fastmcp.Client(SSETransport(server.address), mode="legacy")
            )
            async with Recovering(client, policy=QUICK, clock=clock, jitter=lambda: 0.0) as it:
                report = await it.call("get_payment", {"id": 1})
                assert (report.recovered, report.calls) == (True, 3), str(report)
                assert report.attempts[0].error.http_status == 503
                assert clock.slept[0] == 7.0
                assert (await it.call("pay", {"id": 1})).ok

    run(story)
