"""Connections to a server behind an address: what comes is read as h11 reads it, however it is cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import h11
import httpx2
import pytest

from failwell.relay.web.address import http_client
from failwell.relay.web.answer_reader import AnswerReader, NoAnswer
from failwell.relay.web.connections import HttpConnections

WHOLE = {
    "sized": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "empty": b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
    "no body": b"HTTP/1.1 204 No Content\r\n\r\n",
    "in parts": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
    "with trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
    "not kept": b"HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 2\r\n\r\nok",
    "of the older kind": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "until its end": b"HTTP/1.1 200 OK\r\nx: \t a b  \r\n\r\nwhatever comes",
    "after a word in between": b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na",
    "no reason": b"HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n",
    "a folded header": b"HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 0\r\n\r\n",
}
BROKEN = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "too short": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
    "half a part": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
    "parts without an end": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "a part that is too long": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
    "a size that is none": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    "a length that is none": b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
    "another encoding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "an upgrade": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
    "a header that is none": b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
    "a head without an end": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 30_000,
}


def by_h11(data: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes, bool]:
    peer = h11.Connection(h11.CLIENT)
    peer.send(h11.Request(method="POST", target="/mcp", headers=[("host", "x"), ("content-length", "0")]))
    peer.send(h11.EndOfMessage())
    peer.receive_data(data)
    events: list[Any] = []
    while not events or not isinstance(events[-1], h11.EndOfMessage):
        events.append(peer.next_event())
        if events[-1] is h11.NEED_DATA:
            peer.receive_data(b"")
    [head] = [event for event in events if isinstance(event, h11.Response)]
    body = b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data))
    return (
        head.status_code,
        head.headers.raw_items(),
        body,
        peer.their_state is h11.DONE and h11.NEED_DATA not in events,
    )


def by_us(data: bytes, size: int) -> tuple[int, list[tuple[bytes, bytes]], bytes, bool]:
    reader = AnswerReader()
    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])
    kept = reader.is_over and reader.is_kept
    reader.end()
    return reader.status, reader.headers, b"".join(reader.parts), kept


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_is_read_as_h11_reads_it(name: str, size: int) -> None:
    assert by_us(WHOLE[name], size) == by_h11(WHOLE[name])


@pytest.mark.parametrize("size", [1, 4_096])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_answer_is_none(name: str, size: int) -> None:
    if len(BROKEN[name]) > 1_000 * size:
        size = 4_096
    with pytest.raises(NoAnswer):
        by_us(BROKEN[name], size)


def test_what_nobody_asked_for_ends_the_connection() -> None:
    reader = AnswerReader()
    reader.feed(WHOLE["sized"] + b"HTTP/1.1 200 OK\r\n")
    assert (reader.is_over, reader.is_kept, reader.parts) == (True, False, [b"hello"])


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
            writer.write(WHOLE["sized"])
            if body == b"3":
                # It hangs up without a word, as servers do with connections that they take for unused.
                return

    async def run() -> None:
        async with server(serve) as url, http_client() as client:
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
        (WHOLE["sized"][:-1], httpx2.RemoteProtocolError),
        (BROKEN["another protocol"], httpx2.RemoteProtocolError),
    ],
)
def test_an_answer_that_breaks_off_is_told_as_that(said: bytes, expected: type[Exception]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_on(reader)
        writer.write(said)

    async def run() -> None:
        async with server(serve) as url, http_client() as client:
            with pytest.raises(expected):
                await post(client, url)

    asyncio.run(run())


def test_nobody_there_and_nobody_who_answers_in_time() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def run() -> None:
        async with server(serve) as url, http_client() as client:
            with pytest.raises(httpx2.ReadTimeout):
                await client.post(url, content=b"", timeout=httpx2.Timeout(0.01, connect=60))
        async with http_client() as client:
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

        async with server(serve) as url, http_client() as client:
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

        async with server(serve) as url, http_client() as client:
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


def test_a_header_cannot_begin_another_one() -> None:
    async def run() -> None:
        request = httpx2.Request("POST", "http://127.0.0.1:9/mcp", headers=[(b"x", b"a\r\nauthorization: b")])
        with pytest.raises(httpx2.LocalProtocolError):
            await HttpConnections(most=1, expiry=1.0).handle_async_request(request)

    asyncio.run(run())


def test_where_a_proxy_is_named_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n")).strip())
        writer.write(WHOLE["sized"])

    async def run() -> None:
        async with server(serve) as url:
            monkeypatch.setenv("HTTP_PROXY", url)
            async with http_client() as client:
                assert await post(client, "http://mcp.example/mcp") == b"hello"

    asyncio.run(run())
    assert asked == [b"POST http://mcp.example/mcp HTTP/1.1"]
