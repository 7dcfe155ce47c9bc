"""Each fault of a scripted server, over a real wire, as `mcp.Client` shows it: both transports, both eras."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import anyio
import pytest

import failwell as fw
from failwell.testing import Fault, Script, ScriptedServer, Tool, scripted

ERAS = {"legacy": "legacy", "modern": "2026-07-28"}
# For calls that are answered; and for calls that are not, where the wait is all that happens.
PATIENCE = 60.0
IMPATIENCE = 0.4

BUSY = fw.Transient("Busy.", code="RATE_LIMITED", retry_after=7)
SLOW = "MCPError -32001 Request 'tools/call' timed out"
CLOSED = "MCPError -32000 Connection closed"
NO_JSON = "MCPError -32700 Failed to parse JSON response"
DONE = 'result {"ok": true, "attempt": 1}'


class Seen(NamedTuple):
    """What a client sees of a fault; over HTTP the eras may differ."""

    fault: Fault
    stdio: str
    http: str | tuple[str, str]
    effects: tuple[bool, ...] = ()
    """For each effect, whether it was only a part."""


FAULTS = {
    "error": Seen(
        Fault.error(BUSY),
        "error Busy. Wait 7 seconds, then make the same call again.",
        "error Busy. Wait 7 seconds, then make the same call again.",
    ),
    "error_during": Seen(Fault.error(fw.Internal("Half of it."), at="during"), "error Half", "error Half", (True,)),
    "error_after": Seen(Fault.error(fw.Internal("Too late."), at="after"), "error Too", "error Too", (False,)),
    "xml": Seen(Fault.error(BUSY, format="xml"), "error <tool_error code=", "error <tool_error code="),
    "prose": Seen(Fault.text("no such invoice"), "error no such invoice", "error no such invoice"),
    "hidden": Seen(Fault.text("Error: no funds", is_error=False), "result Error: no", "result Error: no"),
    "protocol": Seen(
        Fault.protocol(-31010, "Quota exhausted", {"left": 0}),
        "MCPError -31010 Quota exhausted {'left': 0}",
        "MCPError -31010 Quota exhausted {'left': 0}",
    ),
    "http_429": Seen(
        Fault.http(429, {"Retry-After": "7"}),
        "error The upstream service answered 429 Too Many Requests. Wait 7 seconds",
        "MCPError -32603 Server returned an error response",
    ),
    "http_500": Seen(
        Fault.http(500, at="after"),
        "error The call failed part-way (The upstream service answered 500",
        "MCPError -32603 Server returned",
        (False,),
    ),
    "http_502": Seen(
        Fault.http(502),
        "error The call failed part-way (The upstream service answered 502",
        "MCPError -32603 Server returned",
    ),
    "http_503": Seen(Fault.http(503), "error The upstream", "MCPError -32603 Server returned"),
    "http_404": Seen(
        Fault.http(404),
        "error The upstream service answered 404 Not Found.",
        ("MCPError -32600 Session terminated", "MCPError -32601 Not Found"),
    ),
    "raw_result": Seen(
        Fault.raw({"content": [{"type": "text", "text": "hm"}], "isError": True}, at="after"),
        "error hm",
        "error hm",
        (False,),
    ),
    "raw_frame": Seen(
        Fault.raw({"error": {"code": 7, "message": "odd"}}), "MCPError 7 odd None", "MCPError 7 odd None"
    ),
    "null_result": Seen(Fault.malformed("null_result"), SLOW, NO_JSON),
    "no_content": Seen(Fault.malformed("no_content"), "ValidationError", "ValidationError"),
    "string_code": Seen(Fault.malformed("string_code"), SLOW, NO_JSON),
    "no_message": Seen(Fault.malformed("no_message"), SLOW, NO_JSON),
    "other_id": Seen(Fault.malformed("other_id"), SLOW, SLOW),
    "neither": Seen(Fault.malformed("neither"), SLOW, NO_JSON),
    "garbage": Seen(Fault.garbage(at="after"), SLOW, NO_JSON, (False,)),
    "cut": Seen(Fault.cut(at="after"), CLOSED, "RemoteProtocolError Server disconnected", (False,)),
    "cut_midway": Seen(Fault.cut(midway=True), CLOSED, "RemoteProtocolError peer closed connection"),
    "crash_before": Seen(Fault.crash(), CLOSED, "RemoteProtocolError Server disconnected"),
    "crash_during": Seen(Fault.crash(at="during"), CLOSED, "RemoteProtocolError Server disconnected", (True,)),
    "crash_after": Seen(Fault.crash(at="after"), CLOSED, "RemoteProtocolError Server disconnected", (False,)),
    "hang_before": Seen(Fault.hang(), SLOW, SLOW),
    "hang_after": Seen(Fault.hang(at="after"), SLOW, SLOW, (False,)),
    "late": Seen(Fault.late(0.01), DONE, DONE, (False,)),
    "late_effect": Seen(Fault.late(0.01, at="before"), DONE, DONE, (False,)),
    "twice": Seen(Fault.twice(), DONE, DONE, (False,)),
    "noise": Seen(Fault.noise(), DONE, DONE, (False,)),
}


@pytest.fixture(scope="module", params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Iterator[ScriptedServer]:
    plan = {f"{name}/{era}": [seen.fault] for name, seen in FAULTS.items() for era in ERAS}
    with scripted(Script(Tool("pay", effect=True, key="id", plan=plan)), transport=request.param) as server:
        yield server


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen_once_and_then_the_call_works(server: ScriptedServer, name: str, era: str) -> None:
    seen = FAULTS[name]
    expected = seen.stdio if server.transport == "stdio" else seen.http
    if isinstance(expected, tuple):
        expected = expected[era == "modern"]
    arguments = {"id": f"{name}/{era}"}

    async def call(patience: float) -> Any:
        return await outcome(server.mcp(mode=ERAS[era], read_timeout_seconds=PATIENCE), arguments, patience)

    async def both() -> tuple[str, str]:
        first = await call(IMPATIENCE if expected == SLOW else PATIENCE)
        while not any(each.arguments == arguments for each in server.calls):
            await anyio.sleep(0.01)  # a client that gives up early may do so before its call has arrived
        return shown(first), shown(await call(PATIENCE))

    first, second = anyio.run(both)
    assert first.startswith(expected)
    assert second == 'result {"ok": true, "attempt": 2}'

    calls = [each for each in server.calls if each.arguments == arguments]
    assert [(each.attempt, each.fault) for each in calls] == [(1, seen.fault), (2, None)]
    effects = [each for each in server.effects if each.arguments == arguments]
    assert [(each.attempt, each.part) for each in effects] == [*((1, part) for part in seen.effects), (2, False)]


async def outcome(client: Any, arguments: dict[str, Any], patience: float) -> Any:
    """What became of a call: its result or the exception, which over HTTP may come out of the connection."""
    try:
        async with client as connected:
            try:
                return await connected.call_tool("pay", arguments, read_timeout_seconds=patience)
            except Exception as exc:
                return exc
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        return inner


def shown(outcome: Any) -> str:
    name = type(outcome).__name__
    if name == "MCPError":
        return f"{name} {outcome.code} {outcome.message} {outcome.data}"
    if isinstance(outcome, BaseException):
        return f"{name} {outcome}"
    return f"{'error' if outcome.is_error else 'result'} {outcome.content[0].text}"
