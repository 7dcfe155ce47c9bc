"""Any outcome of a call, read: what it means, who said it, and what became of the call."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp.exceptions import ToolError as FastMCPToolError
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

import commands
import failwell as fw
from failwell import read
from failwell.formats import FORMATS
from failwell.model import Kind, Traits
from failwell.readers import Http


def result(text: str, *, is_error: bool = True) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


@pytest.mark.parametrize(
    "outcome",
    [
        result("42", is_error=False),
        result("No errors were found.", is_error=False),
        {"content": [{"type": "text", "text": "all fine"}]},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"ok": True}}},
        None,
    ],
    ids=str,
)
def test_what_worked_is_none(outcome: object) -> None:
    assert read(outcome) is None


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_read_from_a_result(format: str) -> None:
    error = fw.ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)
    found = read(fw.to_result(error, format))
    assert isinstance(found, fw.ToolError)
    assert (found, found.origin, found.delivery) == (error, "peer", "answered")


def test_a_question_stays_one() -> None:
    question = fw.NeedsInput("Which?", fields=["id"])
    assert read(fw.to_result(question, "v1")) == question
    assert read(question) is question


def test_an_error_that_is_one_already_is_itself() -> None:
    error = fw.NotFound("gone")
    assert read(error) is error


LOCAL = [
    (MCPError(code=-32001, message="Request 'tools/call' timed out"), "TIMEOUT", "unanswered", "unknown"),
    (MCPError(code=-32000, message="Connection closed"), "NETWORK_ERROR", "unanswered", "unknown"),
    (MCPError(code=-32600, message="Session terminated"), "UNAVAILABLE", "answered", None),
    (TimeoutError(), "TIMEOUT", "unanswered", "unknown"),
    (httpx2.ConnectError("All connection attempts failed"), "NETWORK_ERROR", "never_sent", "none"),
    (httpx2.ReadTimeout("slow"), "TIMEOUT", "unanswered", "unknown"),
    (
        ExceptionGroup("g", [ExceptionGroup("h", [httpx2.ConnectError("refused")])]),
        "NETWORK_ERROR",
        "never_sent",
        "none",
    ),
    (ConnectionRefusedError(), "NETWORK_ERROR", "never_sent", "none"),
    (asyncio.CancelledError(), "NETWORK_ERROR", "unanswered", "unknown"),
]


@pytest.mark.parametrize(("exc", "code", "delivery", "effect"), LOCAL, ids=lambda each: type(each).__name__)
def test_what_this_side_noticed(exc: BaseException, code: str, delivery: str, effect: str | None) -> None:
    error = read(exc, transport=True)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.origin, error.delivery, error.effect) == (code, "local", delivery, effect)
    if delivery != "never_sent":
        return
    # The same exception, of which nobody knows where it was raised, proves nothing.
    unproven = read(exc)
    assert isinstance(unproven, fw.ToolError)
    assert (unproven.code, unproven.delivery, unproven.effect, unproven.standing) == (code, None, None, "quoted")


def test_an_exception_out_of_a_function_is_no_lost_answer() -> None:
    for exc in (KeyError("id"), ZeroDivisionError(), ValueError("no"), PermissionError("no")):
        error = read(exc)
        assert isinstance(error, fw.ToolError)
        assert (error.origin, error.delivery, error.effect, error.standing) == ("local", None, None, "quoted")


SESSION_WORDS = ["Session terminated", "Session not found", "Bad Request: No valid session ID provided"]


@pytest.mark.parametrize("words", SESSION_WORDS)
@pytest.mark.parametrize(
    ("http", "delivery", "effect"),
    [
        (None, "answered", None),
        (Http(404), "answered", None),
        (Http(400, in_session=True), "answered", None),
        (Http(404, in_session=True), "unanswered", "unknown"),
    ],
)
def test_that_a_session_is_gone_proves_nothing_about_the_call(
    words: str, http: Http | None, delivery: str, effect: str | None
) -> None:
    seen = None if http is None else http._replace(body=words.encode())
    error = read(MCPError(code=-32600, message=words), http=seen, transport=True)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.delivery, error.effect) == ("UNAVAILABLE", delivery, effect)


@pytest.mark.parametrize("name", ["pay_not_found", "rate_limit", "timeout_job"])
def test_the_name_of_a_tool_is_not_what_happened(name: str) -> None:
    error = read({"content": [{"type": "text", "text": f"Error executing tool {name}"}], "isError": True})
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.tool, error.message) == (None, name, "The tool failed and gave no reason.")


def test_a_session_is_gone_in_the_taxonomys_words_too() -> None:
    data = {"mcp_error_code": "INVALID_REQUEST", "details": "Session not found"}
    http = Http(404, body=b'{"error": {"message": "Session not found"}}', in_session=True)
    error = read(MCPError(code=-32600, message="Session not found", data=data), http=http, transport=True)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.delivery, error.effect) == ("UNAVAILABLE", "unanswered", "unknown")


def test_what_a_tool_says_of_its_own_sessions_proves_nothing() -> None:
    error = read(MCPError(code=-32600, message="Session not found: checkout session cs_1", data={"id": "cs_1"}))
    assert isinstance(error, fw.ToolError)
    assert (error.delivery, error.effect, error.standing) == ("answered", None, "quoted")
    assert not fw.decide(error, tool="pay").repeats


def test_a_gateway_that_calls_a_lost_tool_an_invalid_request_is_read_by_its_words() -> None:
    error = read(MCPError(code=-32600, message="upstream tool failed: timeout after 10s"))
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.kind, error.standing) == ("TIMEOUT", "transient", "quoted")
    assert not fw.decide(error, tool="pay").repeats


@pytest.mark.parametrize(
    ("status", "effect"),
    [(408, None), (425, None), (429, None), (500, "unknown"), (502, "unknown"), (503, None), (504, "unknown")],
)
def test_a_status_proves_nothing_about_a_write(status: int, effect: str | None) -> None:
    vague = MCPError(code=-32603, message="Server returned an error response")
    error = read(vague, http=Http(status, {"Retry-After": "1"}, in_session=True), transport=True)
    assert isinstance(error, fw.ToolError)
    assert (error.standing, error.effect, error.delivery) == ("quoted", effect, "answered")
    decisions = [fw.decide(error, tool=tool) for tool in ("pay", "get_rate", Traits("find", read_only=True))]
    assert [decision.repeats for decision in decisions] == [False, True, True]


@pytest.mark.parametrize("exc", [KeyboardInterrupt(), SystemExit(1)], ids=repr)
def test_an_order_to_stop_is_no_outcome(exc: BaseException) -> None:
    if isinstance(exc, SystemExit):
        # A tool's exit is a failure of the tool; here nobody but the caller can have meant it.
        assert isinstance(read(exc), fw.ToolError)
        return
    with pytest.raises(type(exc)):
        read(exc)


def test_the_same_number_from_a_peer_is_the_peers() -> None:
    error = read(MCPError(code=-32000, message="quota exhausted", data={"retry_after": 7}))
    assert isinstance(error, fw.ToolError)
    assert (error.origin, error.delivery, error.retry_after) == ("peer", "answered", 7)


def test_what_http_saw_counts_where_the_sdk_says_nothing() -> None:
    vague = MCPError(code=-32603, message="Server returned an error response")
    error = read(vague, http=Http(429, {"Retry-After": "12"}))
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.retry_after, error.origin, error.delivery) == ("RATE_LIMITED", 12, "peer", "answered")
    denied = read(vague, http=Http(401, {"WWW-Authenticate": "Bearer"}))
    assert isinstance(denied, fw.ToolError)
    assert denied.kind is Kind.PERMISSION


def test_a_fastmcp_exception_is_the_text_of_a_result() -> None:
    error = read(FastMCPToolError("Error calling tool 'get': Client error '404 Not Found' for url 'http://x'"))
    assert isinstance(error, fw.ToolError)
    assert (error.kind, error.origin) == (Kind.NOT_FOUND, "peer")


@given(st.one_of(st.text(), st.dictionaries(st.text(), st.text()), st.binary(), st.integers(), st.none()))
def test_nothing_it_is_given_makes_it_raise(outcome: object) -> None:
    found = read(outcome)
    assert found is None or isinstance(found, (fw.ToolError, fw.NeedsInput))


APP = """
import sys, time, os
from mcp.server import MCPServer
server = MCPServer("plain", log_level="CRITICAL")

@server.tool()
def count(n: int) -> int:
    "Count."
    return n

@server.tool()
def crash() -> str:
    "Crash."
    raise KeyError("user_id")

@server.tool()
def die() -> str:
    "Die."
    os._exit(3)

@server.tool()
async def hang() -> str:
    "Hang."
    import anyio
    await anyio.sleep(60)
    return ""

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
"""


@contextmanager
def listening() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = subprocess.Popen(
        commands.python("-c", textwrap.dedent(APP), port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
                break
            except OSError:
                anyio.run(anyio.sleep, 0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()


STDIO = StdioServerParameters(command=sys.executable, args=["-c", textwrap.dedent(APP)])


async def outcomes_of(server: Any, calls: list[tuple[str, dict[str, Any], float | None]], era: str) -> list[Any]:
    """Of one connection, which the last of them may end."""
    outcomes: list[Any] = []
    try:
        async with Client(server, mode=era) as client:
            for tool, arguments, timeout in calls:
                try:
                    outcomes.append(await client.call_tool(tool, arguments, read_timeout_seconds=timeout))
                except BaseException as exc:
                    outcomes.append(exc)
    except BaseException as late:
        outcomes = [*outcomes[: len(calls) - 1], late]
    return outcomes


async def outcome_of(server: Any, tool: str, arguments: dict[str, Any], era: str, timeout: float | None = 300) -> Any:
    try:
        async with Client(server, mode=era) as client:
            try:
                return await client.call_tool(tool, arguments, read_timeout_seconds=timeout)
            except BaseException as exc:
                caught = exc
    except BaseException as late:
        return late
    return caught


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_real_outcomes_of_a_plain_server(transport: str, era: str) -> None:
    cases: list[tuple[str, dict[str, Any], str | None, str, float | None]] = [
        ("count", {"n": 1}, None, "", 300),
        ("count", {"n": "x"}, "validation", "answered", 300),
        ("count", {}, "validation", "answered", 300),
        ("counted", {"n": 1}, "not_found", "answered", 300),
        ("crash", {}, "internal", "answered", 300),
        ("hang", {}, "transient", "unanswered", 0.5),
        ("die", {}, "transient", "unanswered", 300),
    ]

    def seen(server: Any) -> list[tuple[str | None, str]]:
        found = []
        calls = [(tool, arguments, timeout) for tool, arguments, _, _, timeout in cases]
        for outcome in anyio.run(outcomes_of, server, calls, era):
            error = read(outcome)
            assert error is None or isinstance(error, fw.ToolError)
            found.append((None, "") if error is None else (error.kind.value, str(error.delivery)))
        return found

    expected = [(kind, delivery) for _, _, kind, delivery, _ in cases]
    if transport == "stdio":
        assert seen(STDIO) == expected
    else:
        with listening() as url:
            assert seen(url) == expected


def test_a_server_that_is_not_there() -> None:
    exc = anyio.run(outcome_of, "http://127.0.0.1:9/mcp", "count", {}, "auto")
    error = read(exc, transport=True)
    assert isinstance(error, fw.ToolError)
    assert (error.kind, error.origin, error.delivery) == (Kind.TRANSIENT, "local", "never_sent")
