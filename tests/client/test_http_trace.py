"""What is seen behind the SDK's back: broken frames, HTTP answers, failed POSTs."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from failwell import read
from failwell.client.http_trace import CallTrace, active_trace, repair_frame, trace_client


def unread(frame: str) -> Exception:
    with pytest.raises(ValueError) as caught:
        jsonrpc_message_adapter.validate_json(frame, by_name=False)
    return caught.value


@pytest.mark.parametrize(
    ("frame", "number", "message"),
    [
        ('{"jsonrpc":"2.0","id":3,"result":null}', 3, "The server's answer is no valid result."),
        ('{"jsonrpc":"2.0","id":"a","result":[1]}', "a", "The server's answer is no valid result."),
        ('{"jsonrpc":"2.0","id":3}', 3, "The server's answer is no valid result."),
        ('{"jsonrpc":"2.0","id":3,"error":{"code":"E","message":"Too busy."}}', 3, "Too busy."),
        ('{"jsonrpc":"2.0","id":3,"error":"Too busy."}', 3, "Too busy."),
        ('{"jsonrpc":"2.0","id":3,"error":{"code":1}}', 3, "The server's answer is no valid result."),
    ],
)
def test_a_broken_answer_becomes_the_error_of_its_call(frame: str, number: Any, message: str) -> None:
    answer = repair_frame(unread(frame)).message
    assert (answer.id, answer.error.message) == (number, message)


@pytest.mark.parametrize(
    "frame",
    ["Connecting ...", "{}", "[]", "3", '{"jsonrpc":"2.0","id":true,"result":null}', '{"jsonrpc":"2.0","id":1.5}',
     '{"id":3,"result":null}', '{"jsonrpc":"2.0","id":3,"method":7}', '{"level":"info","id":3}'],
)  # fmt: skip
def test_what_answers_nothing_stays_what_it_was(frame: str) -> None:
    failure = unread(frame)
    assert repair_frame(failure) is failure


@given(st.one_of(st.none(), st.integers(), st.builds(Exception, st.text()), st.builds(ValueError)))
def test_repairing_never_raises(item: Any) -> None:
    assert repair_frame(item) is item


def test_failed_posts_are_noted_and_answered_and_others_are_left_alone() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/refused":
            raise httpx2.ConnectError("refused", request=request)
        if request.url.path == "/limited":
            return httpx2.Response(429, headers={"Retry-After": "7"}, json={"error": "slow down"})
        return httpx2.Response(200, json={})

    async def story() -> None:
        async with trace_client(
            httpx2.AsyncClient(transport=httpx2.MockTransport(handler), base_url="http://x")
        ) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.post("/refused")
            seen = CallTrace()
            token = active_trace.set(seen)
            assert (await client.post("/fine")).status_code == 200
            assert (seen.http, seen.failure) == (None, None)
            assert (await client.post("/refused")).status_code == 502
            assert seen.failure is not None
            assert read(seen.failure, transport=True).delivery == "never_sent"
            assert (await client.post("/limited")).json() == {"error": "slow down"}
            assert seen.http is not None
            assert seen.http.status == 429
            with pytest.raises(httpx2.ConnectError):
                await client.get("/refused")
            active_trace.reset(token)

    anyio.run(story)


class Trying(httpx2.AsyncHTTPTransport):
    """A transport that tries once more by itself, at an address where nobody listens."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except httpx2.RemoteProtocolError:
            request.url = httpx2.URL("http://127.0.0.1:9/")
            return await super().handle_async_request(request)


def test_a_refused_connection_proves_nothing_after_something_was_sent() -> None:
    seen, body = CallTrace(), b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'

    async def cut(stream: Any) -> None:
        await stream.receive()
        await stream.aclose()

    async def story() -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group, httpx2.AsyncClient(transport=Trying()) as client:
            group.start_soon(listener.serve, cut)
            active_trace.set(seen)
            await trace_client(client).post(f"http://127.0.0.1:{port}/", content=body)
            first = seen.failure
            await trace_client(client).post("http://127.0.0.1:9/", content=body)
            group.cancel_scope.cancel()
        await listener.aclose()
        assert isinstance(first, httpx2.ReadError)
        # Where nothing was sent, it does.
        assert isinstance(seen.failure, httpx2.ConnectError)

    anyio.run(story)


def test_what_the_sdk_asks_after_a_call_was_refused_says_nothing_about_the_call() -> None:
    """After -32020 it lists the tools. If nobody listens by then, the call was sent all the same."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        if b"tools/list" in request.content:
            raise httpx2.ConnectError("refused", request=request)
        return httpx2.Response(400, json={"jsonrpc": "2.0", "id": 1, "error": {"code": -32020, "message": "No"}})

    async def story() -> None:
        active_trace.set(seen := CallTrace())
        async with trace_client(
            httpx2.AsyncClient(transport=httpx2.MockTransport(handler), base_url="http://x")
        ) as client:
            for method in ("tools/call", "tools/list"):
                await client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method})
        assert seen.failure is None
        assert seen.http is not None
        assert seen.http.status == 400

    anyio.run(story)
