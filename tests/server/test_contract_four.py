"""A server that lives by contract 004: its keys wherever an error leaves, and its own table wherever one is read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import mcp
import pytest
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

import failwell as fw
import failwell.server

WHOLE = "failure: no such item (4), " * 10


class DeviceFailed(Exception):
    """What a device's client raises."""


TABLE = fw.classify.table()


@TABLE.maps(DeviceFailed)
def device_failed(exc: DeviceFailed) -> fw.ToolError:
    return fw.ToolError("The device failed.", code="DEVICE_ERROR", details={"device_id": "dev-1"}, debug=WHOLE)


def made(**options: Any) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("routers", log_level="ERROR")

    @server.tool("system/get-overview", structured_output=False)
    def overview() -> str:
        raise DeviceFailed("GET http://admin:hunter2@10.0.0.1/rest")

    @server.resource("device://{name}/addresses")
    def addresses(name: str) -> str:
        raise DeviceFailed("GET http://admin:hunter2@10.0.0.1/rest")

    wire = {"client": None, **options.pop("wire", {})}
    return failwell.server.install(server, format="jsonrpc", table=TABLE, wire=wire, **options)


def asked(server: MCPServer[Any], question: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
    """The answer, or the protocol error."""

    async def ask() -> Any:
        async with mcp.Client(server) as client:
            try:
                return await question(client)
            except MCPError as exc:
                return exc.error

    return asyncio.run(ask())


def answered(server: MCPServer[Any], tool: str = "system/get-overview") -> Any:
    return asked(server, lambda client: client.call_tool(tool, {}))


def read(server: MCPServer[Any]) -> Any:
    return asked(server, lambda client: client.read_resource("device://dev-1/addresses"))


@pytest.mark.checklist(266, 268)
def test_what_a_row_says_for_the_log_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "failwell.server"):
        result = answered(made())
    (record,) = [record for record in caplog.records if record.name == "failwell.server"]
    assert record.details == WHOLE  # type: ignore[attr-defined]
    assert "no such item" not in str(result)


@pytest.mark.checklist(266, 268)
@pytest.mark.parametrize("protocol", [(), ("DEVICE_ERROR",)], ids=["result", "protocol"])
def test_the_options_of_the_format_hold_for_protocol_errors_too(protocol: tuple[str, ...]) -> None:
    server = made(wire={"debug": True, "meta": False, "protocol": protocol})
    answer = answered(server)
    data = answer.data if protocol else answer.structured_content["data"]
    assert data["_debug_details"] == WHOLE


@pytest.mark.checklist(246)
def test_requests_that_have_no_result_carry_the_contracts_keys() -> None:
    error = read(made())
    # The contract's number, which the newer era has elsewhere.
    assert (error.code, error.message) == (-31012, "Device Error")
    assert (error.data["mcp_error_code"], error.data["details"]) == ("DEVICE_ERROR", "The device failed.")
    assert (error.data["device_id"], error.data["uri"]) == ("dev-1", "device://dev-1/addresses")


@pytest.mark.checklist(226, 246)
def test_an_unknown_tool_carries_the_contracts_keys() -> None:
    error = answered(made(wire={"protocol": ["UNKNOWN_TOOL"]}), "system/get-overveiw")
    assert error.code == -32601
    assert (error.data["mcp_error_code"], error.data["suggestion"]) == (
        "UNKNOWN_TOOL",
        "Did you mean 'system/get-overview'?",
    )


def test_the_servers_own_table_reads_what_a_resource_raised() -> None:
    data = read(made()).data
    assert data["io.github.failwell/tool-error"]["code"] == "DEVICE_ERROR"
    assert "hunter2" not in str(data)
