"""A recovering client on servers that do what no server should, over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from typing import Any

import anyio
import fastmcp
import pytest
from mcp import Client
from mcp.server import MCPServer

import failwell as fw
import failwell.client.recovering
import failwell.client.tool_list
from failwell.client import Recovering
from failwell.client.drivers import driver_for
from failwell.model import HELD
from failwell.recovery import Report
from failwell.testing import FakeClock

KINDS = ["mcp", "fastmcp"]
# What is waited for in vain is given a short time where it is asked for; the rest has all the time it may need.
QUICK = fw.Policy(base_delay=0.001, circuit_breaker=False)
TOOLS = [
    {"name": "pay", "inputSchema": {"type": "object"}},
    {"name": "get_payment", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
HANG, CUT = "hang", "cut"
CLOSE = "Connection: close"
JSON = "Content-Type: application/json"
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "hostile", "version": "1"},
    },
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "Done."}], "isError": False},
}
Answer = Callable[[str, dict[str, Any]], Any]


class Hostile:
    """An HTTP server of the era of handshakes. `answer(method, message)` gives a result, a whole HTTP answer as bytes,
    HANG, CUT, or None for what a good server says; it may be async."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer: Answer = answer or (lambda method, message: None)
        self.heard: list[str] = []
        self.address = ""

    def count(self, method: str) -> int:
        return self.heard.count(method)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            reply = b""
            while CLOSE.encode() not in reply:
                reply = await self._reply(reader)
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        if not head.startswith("post"):
            return http(405)
        message = json.loads(body)
        self.heard.append(message["method"])
        said = self.answer(message["method"], message)
        said = await said if asyncio.iscoroutine(said) else said
        if said == HANG:
            await asyncio.Event().wait()
        if said == CUT:
            raise ConnectionError
        if isinstance(said, bytes):
            return said
        if "id" not in message:
            return http(202)
        result = said if said is not None else RESULTS.get(message["method"])
        frame = {"error": {"code": -32601, "message": "Method not found"}} if result is None else {"result": result}
        return http(
            200,
            json.dumps({"jsonrpc": "2.0", "id": message["id"], **frame}).encode(),
            JSON,
            *(["Mcp-Session-Id: one"] if message["method"] == "initialize" else []),
        )


def http(status: int, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def hosted(server: Hostile) -> Any:
    tasks: list[asyncio.Task[None]] = []
    writers: list[asyncio.StreamWriter] = []

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.append(asyncio.create_task(server.serve(reader, writer)))

    before = asyncio.all_tasks()
    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    server.stop = listening.close  # type: ignore[attr-defined]
    try:
        yield server
    finally:
        # FastMCP ends its session in a task of its own.
        await asyncio.gather(*(asyncio.all_tasks() - before - {*tasks}), return_exceptions=True)
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


def client_of(kind: str, address: Any) -> Any:
    return (Client if kind == "mcp" else fastmcp.Client)(address, mode="legacy")


@asynccontextmanager
async def agent(answer: Answer | None = None, kind: str = "mcp", policy: fw.Policy = QUICK, **options: Any) -> Any:
    async with (
        hosted(Hostile(answer)) as server,
        Recovering(client_of(kind, server.address), policy=policy, **options) as recovering,
    ):
        recovering.server = server
        yield recovering


def run(story: Callable[..., Any], *arguments: Any) -> None:
    async def bounded() -> None:
        with anyio.fail_after(300):
            await story(*arguments)

    anyio.run(bounded)


def impatient_for_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list of tools that does not come is waited for; whatever else is, is."""
    for module in (failwell.client.tool_list, failwell.client.recovering):
        monkeypatch.setattr(module, "LISTING_TIMEOUT", 0.2)


def told(report: Report) -> tuple[Any, ...]:
    return (report.error.code, str(report.error.effect), report.error.delivery)


# Silence is waited for, so once is enough.
@pytest.mark.parametrize(
    ("how", "kind"), [*((how, kind) for how in ("an error", "a status", "a cut") for kind in KINDS), ("silence", "mcp")]
)
def test_an_answer_counts_although_the_tools_cannot_be_listed_after_it(
    how: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "silence":
        impatient_for_lists(monkeypatch)

    async def story() -> None:
        def answer(method: str, message: dict[str, Any]) -> Any:
            if method != "tools/list":
                return None
            if it.server.count("tools/list") == 1:
                return {"tools": []}
            if how == "an error":
                frame = {"code": -32000, "message": "Too many.", "data": {"mcp_error_code": "RATE_LIMITED"}}
                body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": frame}).encode()
                return http(200, body, JSON)
            return {"a status": http(429, b"", "Retry-After: 0.01"), "a cut": CUT, "silence": HANG}[how]

        async with agent(answer, kind) as it:
            report = await it.call("pay", {"id": 1})
            assert report.ok, str(report)
            assert it.server.count("tools/call") == 1

    run(story)


def test_a_list_that_never_comes_costs_one_try_and_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient_for_lists(monkeypatch)

    async def story() -> None:
        known = {"tools/list": HANG, "tools/call": {**RESULTS["tools/call"], "isError": True}}
        policy = fw.Policy(base_delay=0.001)
        async with agent(lambda method, message: known.get(method), policy=policy) as it:
            for number in range(3):
                assert (await it.call("pay", {"id": number})).calls == 1
            assert it._connection.opened == 1
            # One for the connection, one for each call that failed.
            assert it.server.count("tools/list") == 4

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_all_wait_for_the_same_connection_and_none_for_the_patience_of_others(kind: str) -> None:
    async def story() -> None:
        policy = fw.Policy(timeout=1.0, max_attempts=1, circuit_breaker=False)
        async with agent(lambda *_: HANG, kind, policy) as it:
            reports = await asyncio.gather(*(it.call("get_payment", {"id": number}) for number in range(10)))
            assert {told(report)[1:] for report in reports} == {("none", "never_sent")}
            assert it._connection.opened == 1

    run(story)


def test_whoever_began_to_open_the_connection_may_leave() -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def slowly() -> None:
            await go.wait()

        async with agent(lambda method, message: slowly() if method == "initialize" else None) as it:
            first = asyncio.create_task(it.call("pay", {"id": 1}))
            second = asyncio.create_task(it.call("pay", {"id": 2}))
            while not it.server.heard:
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            go.set()
            assert (await second).ok
            assert it._connection.opened == 1

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_scope_around_a_client_leaves_nothing_behind(kind: str) -> None:
    async def story() -> None:
        async with hosted(Hostile(lambda method, message: HANG if method == "tools/call" else None)) as server:
            with anyio.CancelScope() as scope:
                async with Recovering(client_of(kind, server.address)) as it, anyio.create_task_group() as group:
                    group.start_soon(it.call, "pay")
                    while not server.count("tools/call"):
                        await asyncio.sleep(0.01)
                    scope.cancel()
            assert scope.cancelled_caught
            await asyncio.sleep(0)  # would be cancelled too, if anything of it were left

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_under_way_when_the_client_is_closed_is_told_truthfully(kind: str) -> None:
    async def story() -> None:
        async with hosted(Hostile(lambda method, message: HANG if method == "tools/call" else None)) as server:
            async with AsyncExitStack() as stack:
                it = await stack.enter_async_context(Recovering(client_of(kind, server.address), policy=QUICK))
                calls = [asyncio.create_task(it.call(tool)) for tool in ("pay", "get_payment")]
                while server.count("tools/call") < 2:
                    await asyncio.sleep(0.01)
                # As when the body raises.
                await stack.pop_all().__aexit__(LookupError, LookupError(), None)
            pay, get = [await call for call in calls]
            assert told(pay) == ("NETWORK_ERROR", "unknown", "unanswered")
            assert get.error.effect == "none"
            assert server.count("tools/call") == 2
            with pytest.raises(RuntimeError, match="async with"):
                await it.call("pay")

    run(story)


def test_a_probe_that_fails_with_the_connection_of_others_does_not_close_the_breaker_for_ever() -> None:
    async def story() -> None:
        go = asyncio.Event()

        async def later() -> str:
            await go.wait()
            return CUT

        def answer(method: str, message: dict[str, Any]) -> Any:
            what = message.get("params", {}).get("arguments", {}).get("what")
            down = {"content": [{"type": "text", "text": "503 Service Unavailable"}], "isError": True}
            return {"fail": down, "cut": CUT}.get(what, later() if what == "late" else None)

        clock = FakeClock()
        policy = fw.Policy(max_attempts=1)
        async with agent(answer, policy=policy, clock=clock) as it:
            for number in range(5):
                assert not (await it.call("pay", {"what": "fail", "n": number})).ok
            assert (await it.call("pay")).calls == 0
            clock.advance(30)
            probe = asyncio.create_task(it.call("pay", {"what": "late"}))
            while it.server.count("tools/call") < 6:
                await asyncio.sleep(0.01)
            assert told(await it.call("other", {"what": "cut"}))[1] == "unknown"
            go.set()
            assert told(await probe)[1] == "unknown"
            clock.advance(1_000)
            assert (await it.call("pay")).ok

    run(story)


def test_what_never_answers_is_tried_over_a_new_connection() -> None:
    async def story() -> None:
        clock = FakeClock()
        policy = fw.Policy(max_attempts=1)
        stuck = True
        async with agent(
            lambda method, message: HANG if stuck and method == "tools/call" else None, policy=policy, clock=clock
        ) as it:
            # The time of a call is also that of opening, so what is to be quick is open before.
            await it.list_tools()
            late = [await it.call("pay", {"id": number}, read_timeout_seconds=0.1) for number in range(5)]
            assert [told(report)[0] for report in late] == ["TIMEOUT"] * 5
            stuck = False
            clock.advance(30)
            assert (await it.call("pay", read_timeout_seconds=60.0)).ok
            # On a busy machine a late call may have been late at opening, too.
            assert it._connection.opened > 1

    run(story)


GZIP = "Content-Encoding: gzip"
BAD_ANSWERS: dict[str, tuple[bytes, str]] = {
    "an error page that breaks off": (http(500, b"<html>", "Content-Type: text/html", CLOSE, length=6_000), "unknown"),
    "an error page that cannot be unpacked": (http(500, b"no gzip", "Content-Type: text/html", GZIP), "unknown"),
    "a result that breaks off": (http(200, b'{"json', JSON, CLOSE, length=6_000), "unknown"),
    "a result that cannot be unpacked": (http(200, b"no gzip", JSON, GZIP), "unknown"),
    "a redirect that cannot be unpacked": (http(307, b"no gzip", "Location: /mcp", GZIP), "unknown"),
    "a redirect to elsewhere": (http(302, b"", "Location: http://127.0.0.1:9/mcp"), "unknown"),
    # Whoever sends a call back to where it came from may have made it.
    "a redirect to here": (http(307, b"", "Location: /mcp"), "unknown"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_a_bad_answer_is_the_failure_of_one_call(name: str, kind: str) -> None:
    async def story() -> None:
        go = asyncio.Event()
        bad = [BAD_ANSWERS[name][0]]

        async def later() -> None:
            await go.wait()

        def answer(method: str, message: dict[str, Any]) -> Any:
            if method != "tools/call":
                return None
            return later() if message["params"]["arguments"] == {"slow": True} else bad.pop() if bad else None

        async with agent(answer, kind) as it:
            other = asyncio.create_task(it.call("pay", {"slow": True}))
            while not it.server.count("tools/call"):
                await asyncio.sleep(0.01)
            report = await it.call("pay", {"id": 1})
            assert (str(report.error.effect) if report.error else "worked") == BAD_ANSWERS[name][1], str(report)
            go.set()
            assert (await other).ok

    run(story)


# The protocol says it with a status; servers and gateways in words, or with a page. None of it proves anything.
LOST = [
    http(404),
    http(404, b"Session not found", "Content-Type: text/plain"),
    http(404, b"<html>No such page</html>", "Content-Type: text/html"),
    http(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid or expired session ID"}}', JSON),
    http(404, b'{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Bad input","data":{"x":1}}}', JSON),
    http(400, b"Bad Request: No valid session ID provided", "Content-Type: text/plain"),
    http(
        400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID"}}', JSON
    ),
    http(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}', JSON),
]


@pytest.mark.parametrize("words", LOST)
def test_a_lost_session_repeats_a_read_and_never_a_write(words: bytes) -> None:
    async def story() -> None:
        lost = False

        def answer(method: str, message: dict[str, Any]) -> Any:
            nonlocal lost
            lost = lost and method != "initialize"
            return words if lost else None

        async with agent(answer) as it:
            assert (await it.call("pay", {"id": 1})).ok
            lost = True
            paid = await it.call("pay", {"id": 2})
            assert (paid.ok, paid.calls) == (False, 1), str(paid)
            assert paid.error.effect in ("unknown", None), str(paid)
            assert (await it.call("pay", {"id": 2})).error.code == HELD
            # The session is gone all the same, so the next call finds another.
            assert (await it.call("pay", {"id": 3})).ok
            lost = True
            seen = await it.call("get_payment", {"id": 2})
            assert (seen.ok, seen.recovered) == (True, True), str(seen)
            lost = True
            assert len((await it.list_tools()).tools) == 2

    run(story)


def test_a_404_to_a_call_without_a_session_proves_nothing() -> None:
    async def story() -> None:
        def answer(method: str, message: dict[str, Any]) -> Any:
            if method == "initialize":
                frame = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS["initialize"]}
                return http(200, json.dumps(frame).encode(), JSON)
            return http(404) if method == "tools/call" else None

        async with agent(answer) as it:
            paid = await it.call("pay", {"id": 1})
            assert (paid.ok, paid.calls, it.server.count("tools/call")) == (False, 1, 1), str(paid)
            assert (paid.error.delivery, paid.error.effect) == ("answered", None), str(paid)

    run(story)


def test_listing_tells_what_the_server_said_and_repeats_only_what_may_pass() -> None:
    async def story() -> None:
        said = [http(401), http(503), http(503), http(503)]
        async with agent(lambda method, message: said.pop(0) if method == "tools/list" and said else None) as it:
            with pytest.raises(fw.Denied):
                await it.list_tools()
            with pytest.raises(fw.Transient):
                await it.list_tools()
            assert it.server.count("tools/list") == 4
            assert len((await it.list_tools()).tools) == 2

    run(story)


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_meta_that_cannot_be_sent_are_not_and_harm_nobody_else(kind: str) -> None:
    async def story() -> None:
        async with agent(kind=kind) as it:
            for tool, meta in (("pay\ud800", None), ("pay", {"trace": "\ud800"})):
                assert told(await it.call(tool, {}, meta=meta)) == ("VALIDATION_ERROR", "none", "never_sent")
            assert (await it.call("päy", {}, meta={"trace": "é"})).ok
            assert it._connection.opened == 1

    run(story)


def advertised(store: Any) -> Answer:
    keys = {"io.github.failwell/tool-error": {"idempotency": {"instance": store}}}
    capabilities = {"tools": {}, "experimental": keys}
    return lambda method, message: {**RESULTS[method], "capabilities": capabilities} if method == "initialize" else None


@pytest.mark.parametrize("store", [None, "", 5, True, ["a"], {"a": "b"}])
def test_a_store_without_a_name_is_not_trusted_with_keys(store: Any) -> None:
    async def story() -> None:
        hello = advertised(store)
        async with agent(lambda method, message: CUT if method == "tools/call" else hello(method, message)) as it:
            assert told(await it.call("pay"))[1] == "unknown"
            assert it.server.count("tools/call") == 1

    run(story)


def test_a_key_says_nothing_when_the_server_cannot_be_asked_any_more() -> None:
    async def story() -> None:
        hello = advertised("a")

        def answer(method: str, message: dict[str, Any]) -> Any:
            if method != "tools/call":
                return hello(method, message)
            it.server.stop()
            return CUT

        async with agent(answer) as it:
            report = await it.call("pay")
            # One call, and whether the server is back is looked at as often as that is worth.
            assert (report.calls, len(report.attempts)) == (1, 5)
            assert report.error.effect == "unknown"

    run(story)


def test_a_callback_that_is_cancelled_cancels_nothing_else() -> None:
    async def ask(question: Any) -> Any:
        closed = asyncio.get_running_loop().create_future()
        closed.cancel()
        return await closed

    async def story() -> None:
        denied = fw.to_result(fw.Denied("No.", code="FORBIDDEN"))
        async with agent(lambda method, message: denied if method == "tools/call" else None, ask=ask) as it:
            assert told(await it.call("pay"))[0] == "FORBIDDEN"

    run(story)


def test_nothing_is_called_after_the_deadline_whoever_took_the_time() -> None:
    clock = FakeClock()

    async def story() -> None:
        busy = fw.to_result(fw.Transient("Busy.", code="SERVER_BUSY"))
        async with agent(
            lambda method, message: busy if method == "tools/call" else None,
            clock=clock, policy=fw.Policy(deadline=60), on_decision=lambda attempt: clock.advance(60),
        ) as it:  # fmt: skip
            report = await it.call("pay")
            assert (report.calls, report.error.code) == (1, "SERVER_BUSY")

    run(story)


def test_a_server_in_the_same_process_that_takes_too_long_has_not_answered() -> None:
    server = MCPServer("slow")

    @server.tool()
    async def pay() -> str:
        await asyncio.Event().wait()
        return "never"

    async def story() -> None:
        async with Recovering(Client(server), policy=fw.Policy(timeout=0.1)) as it:
            assert told(await it.call("pay")) == ("TIMEOUT", "unknown", "unanswered")

    run(story)


def test_a_configuration_of_one_server_is_that_server() -> None:
    config = {"mcpServers": {"one": {"command": "one", "args": ["--quiet"]}}}
    transport = driver_for(fastmcp.Client(config)).fresh(lambda: None, nullcontext, lambda: None).transport
    assert (transport.command, transport.args, transport.keep_alive) == ("one", ["--quiet"], False)
