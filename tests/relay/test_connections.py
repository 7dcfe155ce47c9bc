"""Connections to a server behind an address: when one is used again, and what a broken answer is told as."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from failwell.relay.web.http_server import RemoteServer

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[str]:
    open_ones: set[asyncio.Task[Any] | None] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(asyncio.current_task())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await serve(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(served, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        await asyncio.wait([task for task in open_ones if task is not None], timeout=20)


async def post(client: httpx2.AsyncClient, url: str, body: bytes = b"{}") -> bytes:
    return (await client.post(url, content=body)).content


async def request_on(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


def test_a_connection_is_used_again_until_the_server_hangs_up() -> None:
    seen: list[tuple[int, bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = await request_on(reader)
            seen.append((writer.get_extra_info("peername")[1], body))
            writer.write(HELLO)
            if body == b"3":
                # It hangs up without a word, as servers do with connections that they take for unused.
                return

    async def run() -> None:
        async with server(serve) as url, RemoteServer("").client as client:
            for number in range(1, 6):
                assert await post(client, url, str(number).encode()) == b"hello"

    asyncio.run(run())
    assert [body for _, body in seen] == [b"1", b"2", b"3", b"4", b"5"]
    ports = [port for port, _ in seen]
    assert [port == ports[0] for port in ports] == [True, True, True, False, False]
    assert ports[3] == ports[4]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"", httpx2.RemoteProtocolError),
        (HELLO[:-1], httpx2.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", httpx2.RemoteProtocolError),
    ],
)
def test_an_answer_that_breaks_off_is_told_as_that(said: bytes, expected: type[Exception]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_on(reader)
        writer.write(said)

    async def run() -> None:
        async with server(serve) as url, RemoteServer("").client as client:
            with pytest.raises(expected):
                await post(client, url)

    asyncio.run(run())


def test_nobody_there_and_nobody_who_answers_in_time() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def run() -> None:
        async with server(serve) as url, RemoteServer("").client as client:
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(url, content=b"", timeout=httpx2.Timeout(0.01, connect=60))
        async with RemoteServer("").client as client:
            with pytest.raises(httpx2.ConnectError):
                await post(client, url)
            with pytest.raises(httpx2.UnsupportedProtocol):
                await post(client, "ftp://127.0.0.1/")

    asyncio.run(run())


def test_a_request_that_is_given_up_ends_its_connection() -> None:
    hung_up = asyncio.Event()

    async def run() -> None:
        asked = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await request_on(reader)
            asked.set()
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            hung_up.set()

        async with server(serve) as url, RemoteServer("").client as client:
            task = asyncio.ensure_future(post(client, url))
            await asked.wait()
            task.cancel()
            async with asyncio.timeout(20):
                await hung_up.wait()

    asyncio.run(run())
    assert hung_up.is_set()


def test_a_server_waits_for_whoever_does_not_read() -> None:
    async def run() -> tuple[int, int]:
        written = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal written
            await request_on(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (100 << 20))
            for _ in range(100):
                writer.write(bytes(1 << 20))
                await writer.drain()
                written += 1 << 20

        async with server(serve) as url, RemoteServer("").client as client:
            async with client.stream("POST", url, content=b"{}") as response:
                before = -1
                while before != written:
                    before = written
                    await asyncio.sleep(0.3)
                held = written
                size = 0
                async for part in response.aiter_raw():
                    size += len(part)
            return held, size

    held, size = asyncio.run(run())
    assert held < 50 << 20
    assert size == 100 << 20


def test_where_a_proxy_is_named_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n")).strip())
        writer.write(HELLO)

    async def run() -> None:
        async with server(serve) as url:
            monkeypatch.setenv("HTTP_PROXY", url)
            async with RemoteServer("").client as client:
                assert await post(client, "http://mcp.example/mcp") == b"hello"

    asyncio.run(run())
    assert asked == [b"POST http://mcp.example/mcp HTTP/1.1"]
