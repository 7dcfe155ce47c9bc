"""A call leaves once, whatever the HTTP client and the SDK do about its answer; `make soak` makes more calls."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from test_recovering_hostile import JSON, QUICK, Hostile, agent, hosted, http, run

from failwell.client import Recovering
from failwell.client.http_trace import CallTrace, _SentBefore, _Wire, active_trace, trace_client

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import ledger_once
from ledger_once import LANES, Lane

SEED = "make test"
CALLS = 20


@pytest.mark.parametrize("lane", LANES, ids=str)
def test_what_a_server_does_and_then_denies_is_done_once(lane: Lane) -> None:
    tally = ledger_once.run(lane, f"{SEED} {lane}", CALLS)
    assert tally.wrong == []
    assert (tally.calls, tally.twice) == (CALLS, 0)
    assert tally.done > 0


def test_a_client_that_sends_a_call_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(seen: CallTrace, send: Callable[[], Awaitable[Any]]) -> Any:
        return await send()

    monkeypatch.setattr(CallTrace, "send_once", send)
    tally = ledger_once.run(Lane("stdio", "mcp", "auto"), SEED, CALLS)
    assert tally.twice > 0
    assert any("done 2 times" in wrong for wrong in tally.wrong)


def test_a_redirect_of_a_call_is_told_as_one_whose_outcome_nobody_knows() -> None:
    async def story() -> None:
        moved = http(308, b"", "Location: /elsewhere")
        async with agent(lambda method, message: moved if method == "tools/call" else None) as it:
            paid = await it.call("pay", {"id": 1})
            assert (paid.error.code, paid.error.effect, paid.error.delivery) == (
                "NOT_CONFIGURED",
                "unknown",
                "answered",
            )
            assert (paid.calls, it.server.count("tools/call")) == (1, 1)

    run(story)


def test_a_server_that_moves_away_from_a_call_is_found_by_the_next_one() -> None:
    class Moving(Hostile):
        old = "/mcp"

        async def _reply(self, reader: asyncio.StreamReader) -> bytes:
            head = await reader.readuntil(b"\r\n\r\n")
            is_old = head.split(b" ")[1] == self.old.encode()
            reply = await super()._reply(_Again(head, reader))  # type: ignore[arg-type]
            return http(308, b"", "Location: /new") if is_old and self.count("tools/call") else reply

    async def story() -> None:
        async with (
            hosted(Moving()) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            lost = await it.call("pay", {"id": 1})
            assert (lost.error.effect, lost.calls, server.count("tools/call")) == ("unknown", 1, 1)
            assert (await it.call("pay", {"id": 2})).ok
            assert server.count("tools/call") == 2

    run(story)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    "body",
    [b"", b'{"severity":"warning"}', b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No"}}'],
)
def test_what_a_gateway_refuses_has_a_result(status: int, body: bytes) -> None:
    async def story() -> None:
        answers = [http(status, body, JSON)]
        async with agent(lambda method, message: answers.pop(0) if method == "tools/call" else None) as it:
            report = await it.call("get_payment", {"id": 1})
            assert (report.ok, report.calls, report.result.is_error) == (False, 1, True), str(report)
            # A success that looked like a failure stays one, whatever came of looking again.
            passing = {"content": [{"type": "text", "text": "Error: 503 Service Unavailable"}], "isError": False}
            answers[:] = [passing, http(status, body, JSON)]
            report = await it.call("get_payment", {"id": 2})
            assert (report.ok, report.calls, it.server.count("tools/call")) == (True, 2, 3), str(report)
            assert report.result.content[0].text == "Error: 503 Service Unavailable"

    run(story)


def test_the_rounds_that_a_server_asks_for_are_counted_and_named() -> None:
    async def story() -> None:
        command, *args = ledger_once.command(os.devnull)
        params = StdioServerParameters(command=command, args=args)
        async with Recovering(Client(params, elicitation_callback=ledger_once.consent)) as it:
            paid = await it.call("pay", {"id": "1", "fault": "asks"})
            assert (paid.ok, paid.calls, paid.rounds, paid.tries) == (True, 2, 1, 1)
            assert str(paid) == "pay: worked after 2 calls, 1 with input that the server asked for"
            [kept] = it.reports
            assert (kept.calls, kept.rounds) == (2, 1)

    run(story)


class Restarted(Hostile):
    """A server whose stream ends at once, and which has forgotten the session when the stream is asked for again."""

    def __init__(self) -> None:
        self.streams = self.greeted = 0
        super().__init__(self._answered)

    def _answered(self, method: str, message: dict[str, Any]) -> Any:
        self.greeted += method == "initialize"
        return http(404) if self.streams > 1 and self.greeted < 2 else None

    async def _reply(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"GET"):
            return await super()._reply(_Again(head, reader))  # type: ignore[arg-type]
        self.streams += 1
        if self.streams > 1:
            return http(404)
        return http(200, b"retry: 1\nid: 1\ndata:\n\n", "Content-Type: text/event-stream")


class _Again:
    """A stream of which the head of the request was read already."""

    def __init__(self, head: bytes, reader: asyncio.StreamReader) -> None:
        self._head, self.readexactly = head, reader.readexactly

    async def readuntil(self, mark: bytes) -> bytes:
        return self._head


def test_a_session_that_is_gone_is_found_out_before_a_write() -> None:
    async def story() -> None:
        async with (
            hosted(Restarted()) as server,
            Recovering(Client(server.address, mode="legacy"), policy=QUICK) as it,
        ):
            await it.list_tools()
            while not it._connection.live.silent:
                await asyncio.sleep(0.01)
            paid = await it.call("pay", {"id": 1})
            assert (paid.ok, paid.calls, server.count("tools/call"), it._connection.opened) == (True, 1, 1, 2)

    run(story)


def test_a_transport_of_the_users_own_does_not_send_a_call_again() -> None:
    class Trying(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            return response if response.status_code < 500 else await super().handle_async_request(request)

    async def story() -> None:
        async with (
            hosted(Hostile(lambda method, message: http(502))) as server,
            httpx2.AsyncClient(transport=Trying()) as client,
        ):
            for method, times in (("tools/list", 2), ("tools/call", 1)):
                active_trace.set(seen := CallTrace())
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode()
                await trace_client(client).post(server.address, content=body)
                assert server.count(method) == times
                assert seen.http is not None
                assert seen.http.status == 502

    run(story)


def test_a_tunnel_through_a_proxy_is_no_call() -> None:
    async def story() -> None:
        wire, event = _Wire(None, once=True), "http11.send_request_headers.started"
        for method in (b"CONNECT", b"POST"):
            await wire(event, {"request": SimpleNamespace(method=method)})
        with pytest.raises(_SentBefore):
            await wire(event, {"request": SimpleNamespace(method=b"POST")})

    run(story)
