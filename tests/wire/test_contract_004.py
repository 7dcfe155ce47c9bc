"""Contract 004 as its author meets it, over a real wire: errors by number, their data, the log, and code built by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any, Final

import mcp
import pytest
from jsonrpc_server import CONTEXT, MANY, SAID, SECRET
from jsonrpc_wire import ERAS, FRAMEWORKS, Routers
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from shop_wire import MODERN, Json, Shops

import commands
from failwell.client import Recovering

ALL: Final[Json] = {"format": "jsonrpc", "wire": {"protocol": "all"}, "hold": 0}
RESULTS: Final[Json] = {"format": "jsonrpc", "hold": 0}


@pytest.fixture(scope="session")
def routers() -> Iterator[Shops]:
    made = Shops(make=Routers)
    yield made
    made.close()


@pytest.fixture(params=[(kind, era) for kind in FRAMEWORKS for era in ERAS], ids=" ".join)
def server(request: pytest.FixtureRequest, routers: Shops) -> Any:
    """A server that sends every failure as a JSON-RPC error."""
    kind, era = request.param
    return routers.get(kind, ALL, era=era)


def on_wire(server: Any, number: int) -> int:
    """A number of the contract as it leaves in the era that the server is spoken to in."""
    return number + 1000 if server.session.era == MODERN and -32099 <= number <= -32000 else number


HAND: Final = ("not_found", "intent", "unreachable", "validation", "concise", "positional", "bare", "configuration")


@pytest.mark.checklist(440, 441)
@pytest.mark.parametrize("tool", ["get_hand", "frob_hand", "pay_hand"])
def test_an_error_of_the_contract_keeps_number_message_and_data(routers: Shops, server: Any, tool: str) -> None:
    # FastMCP by itself makes a result of it, which says less.
    bare: Any = routers.get("mcpserver", None)
    for which in (*HAND, "own", "params"):
        before = len(server.noted("log", tool))
        theirs, ours = bare.answer(tool, which=which), server.answer(tool, which=which)
        number = theirs["error"]["code"]
        assert json.dumps(ours["error"]) == json.dumps({**theirs["error"], "code": on_wire(server, number)})
        code = (ours["error"].get("data") or {}).get("mcp_error_code", str(number))
        known = {"-32602": "INVALID_PARAMS"}.get(code, code)
        assert server.noted("log", tool)[before:] == [f"{known} {on_wire(server, number)}"]
        assert server.noted("event", tool)[-1] == known


@pytest.mark.checklist(441)
@pytest.mark.parametrize("kind", FRAMEWORKS)
@pytest.mark.parametrize("era", ERAS)
def test_as_a_result_it_is_the_same_object(routers: Shops, kind: str, era: str) -> None:
    results: Any = routers.get(kind, RESULTS, era=era)
    protocol: Any = routers.get(kind, ALL, era=era)
    for which in ("not_found", "unreachable", "concise", "positional", "configuration", "own"):
        [block] = results.answer("pay_hand", which=which)["result"]["content"]
        assert json.loads(block["text"]) == protocol.error("pay_hand", which=which)


@pytest.mark.checklist(280, 441)
def test_a_secret_in_it_is_masked(server: Any) -> None:
    error = server.error("get_hand", which="secret")
    assert error == {
        "code": on_wire(server, -32012),
        "message": "Device Error",
        "data": {
            "mcp_error_code": "DEVICE_ERROR",
            "details": "password=[redacted] rejected",
            "password": "[redacted]",
        },
    }


@pytest.mark.checklist(269, 270, 271, 272, 441)
@pytest.mark.parametrize("tool", ["get_handled", "pay_handled"])
def test_the_decorator_of_the_contract_keeps_its_bytes(routers: Shops, server: Any, tool: str) -> None:
    bare: Any = routers.get("mcpserver", None)
    for cause in ("value", "permission", "timeout", "crash", "404"):
        theirs, ours = bare.error(tool, cause=cause), server.error(tool, cause=cause)
        assert json.dumps(ours) == json.dumps({**theirs, "code": on_wire(server, theirs["code"])})


CAUSES: Final = {
    "value": (-32005, "VALIDATION_ERROR"),
    "permission": (-32002, "FORBIDDEN"),
    "timeout": (-32007, "TIMEOUT"),
    "crash": (-32000, "INTERNAL_ERROR"),
    "404": (-32003, "NOT_FOUND"),
    "429": (-32006, "RATE_LIMITED"),
    "409": (-32004, "CONFLICT"),
    "refused": (-32010, "NETWORK_ERROR"),
    "conflict": (-32004, "CONFLICT"),
    "own": (-32004, "OUT_OF_PAPER"),
}


@pytest.mark.checklist(269, 270, 271, 272, 443)
@pytest.mark.parametrize("tool", ["get_ours", "pay_ours", "get_plain", "pay_plain"])
def test_code_and_number_name_the_cause_on_every_tool(server: Any, tool: str) -> None:
    """In an installed server, with `tool_errors` or without it; and the log says what the wire says."""
    for cause, (number, code) in CAUSES.items():
        error = server.error(tool, cause=cause)
        assert (error["code"], error["data"]["mcp_error_code"]) == (on_wire(server, number), code)
        assert server.noted("log", tool)[-1] == f"{code} {error['code']}"
        assert server.noted("event", tool)[-1] == code
        assert error["data"]["recovery_strategy"] in (
            "retry_with_backoff fix_and_retry user_action_required report_and_abort".split()
        )
        if tool.endswith("_ours"):
            assert error["data"]["tool_tier"] == "fundamental"
    # A write that may have been done invites nobody.
    data = server.error(tool, cause="timeout")["data"]
    reads = tool.startswith("get")
    assert (data["recovery_strategy"], data.get("retry_after")) == (
        ("retry_with_backoff", 60) if reads else ("user_action_required", None)
    )


@pytest.mark.checklist(264, 442)
def test_context_by_the_names_of_the_contract_stands_in_its_place(server: Any) -> None:
    data = server.error("get_context")["data"]
    assert {name: data[name] for name in CONTEXT} == CONTEXT
    many = server.error("get_context", many=True)["data"]
    assert (many["errors"], many["tool_tier"]) == (MANY, "advanced")


@pytest.mark.checklist(274, 275, 444)
def test_templates_are_public(server: Any) -> None:
    error = server.error("get_template", name="DEVICE_UNREACHABLE")
    assert error["code"] == on_wire(server, -32010)
    assert error["data"]["details"] == "Cannot connect to device 'dev-1' at 10.0.0.1:443"
    assert error["data"]["recovery_strategy"] == "retry_with_backoff"
    wrong = server.error("get_template", name="INVALID_IP_ADDRESS")["data"]
    assert (wrong["field"], wrong["value"], wrong["expected"]) == (
        "ip",
        "1.2.3",
        "Valid IPv4 or IPv6 address (e.g., 192.168.1.1 or 2001:db8::1)",
    )


@pytest.mark.checklist(280, 445)
@pytest.mark.parametrize("kind", FRAMEWORKS)
def test_keys_of_a_device_and_names_that_were_given_are_masked_in_texts(routers: Shops, kind: str) -> None:
    server: Any = routers.get(kind, {**ALL, "names": ["site-code"]})
    for number, said in enumerate(SAID):
        assert server.error("get_secret", number=number)["data"]["routeros_error"] == said.replace(SECRET, "[redacted]")


@pytest.mark.checklist(249, 250, 446)
def test_a_wrong_argument_is_named_and_listed(server: Any) -> None:
    missing = server.error("get_typed", device_id="dev-1")
    assert (missing["code"], missing["data"]["details"]) == (on_wire(server, -32005), "limit is missing.")
    assert missing["data"]["errors"] == [{"field": "limit", "message": "Required"}]
    wrong = server.error("get_typed", device_id="dev-1", limit="many")["data"]
    assert (wrong["field"], wrong["value"]) == ("limit", "many")
    assert [each["field"] for each in wrong["errors"]] == ["limit"]
    both = server.error("get_typed", limit="many")["data"]
    assert [each["field"] for each in both["errors"]] == ["device_id", "limit"]


@pytest.mark.checklist(226, 227, 281, 447)
def test_requests_that_are_wrong_say_what_to_do(server: Any) -> None:
    unknown = server.error("no_such_tool")
    method = server.session.ask("routers/reboot", {})["error"]
    params = server.session.ask("tools/call", {"arguments": {}})["error"]
    for error, number, code in (
        (unknown, -32601, "UNKNOWN_TOOL"),
        (method, -32601, "METHOD_NOT_FOUND"),
        (params, -32602, "INVALID_PARAMS"),
    ):
        assert (error["code"], error["data"]["mcp_error_code"]) == (number, code)
        assert {"recovery_strategy", "suggestion", "details"} <= error["data"].keys()
    assert server.noted("log", "no_such_tool")[-1] == "UNKNOWN_TOOL -32601"


@pytest.mark.checklist(224, 225, 447)
@pytest.mark.parametrize("kind", FRAMEWORKS)
def test_what_http_refuses_has_data(routers: Shops, kind: str) -> None:
    server = routers.get(kind, ALL, transport="http")
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    for body, headers, number in (
        ("{no", {}, -32700),
        (listing, {}, -32600),
        (listing, {"accept": "text/html"}, -32600),
    ):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
        connection.request("POST", "/mcp", body.encode(), {"mcp-protocol-version": "2025-11-25", **sent})
        error = json.loads(connection.getresponse().read())["error"]
        connection.close()
        assert error["code"] == number
        assert {"mcp_error_code", "details", "recovery_strategy"} <= error["data"].keys()


class Waiting:
    """A clock whose time passes by waiting."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.mark.checklist(255, 257, 448)
@pytest.mark.parametrize("options", [ALL, RESULTS], ids=["protocol", "result"])
def test_a_client_waits_as_the_contract_says(routers: Shops, options: Json) -> None:
    server = routers.get("mcpserver", options)
    started = StdioServerParameters(**commands.in_parts(Routers.command("mcpserver", options, "stdio", server.ledger)))

    async def call(tool: str, cause: str) -> tuple[int, list[float]]:
        clock = Waiting()
        client = mcp.Client(stdio_client(started))
        async with Recovering(client, clock=clock, jitter=lambda: 0.0) as agent:
            report = await agent.call(tool, {"cause": cause})
        return report.calls, clock.waits

    calls, waits = asyncio.run(call("get_plain", "timeout"))
    assert calls > 1
    assert all(wait == 60 for wait in waits)
    if options is ALL:
        # To fix something is no reason to make the same call again.
        assert asyncio.run(call("get_plain", "conflict")) == (1, [])


@pytest.mark.checklist(440)
def test_all_is_the_only_word_for_all() -> None:
    import failwell.server

    with pytest.raises(ValueError, match=r"^wire: protocol is .all., or a collection"):
        failwell.server.install(mcp.server.MCPServer("x"), wire={"protocol": {"*"}})
