"""What stands in the log of a server whose framework has put a handler of its own there."""

from __future__ import annotations

import asyncio
import io
import logging
import re

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from rich.console import Console
from rich.logging import RichHandler

from failwell.server import install

LONG = "The value that was given for the colour of the house is none of those that the town allows, so nothing was painted."


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is written by the handler that the SDK makes, which is the only one."""
    written = io.StringIO()
    handler = RichHandler(console=Console(file=written, stderr=True), rich_tracebacks=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    monkeypatch.setattr(logging.root, "handlers", [handler])
    return written


def test_a_failure_is_one_line_where_no_terminal_is(printed: io.StringIO) -> None:
    server = MCPServer("house", log_level="CRITICAL")

    @server.tool()
    def paint(colour: str) -> str:
        raise ValueError(LONG)

    install(server, reads=["paint"])

    async def call() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("paint", {"colour": "mauve"})).is_error

    asyncio.run(call())
    [line] = printed.getvalue().splitlines()
    assert re.fullmatch(rf"\[[^]]+\] WARNING  tool_error paint: VALIDATION_ERROR: ValueError: {re.escape(LONG)}", line)


def test_a_line_of_the_sdk_is_one_line_too_and_its_tracebacks_are_texts(printed: io.StringIO) -> None:
    install(MCPServer("house", log_level="CRITICAL"))
    sdk = logging.getLogger("mcp.server.lowlevel.server")
    sdk.warning("%s", LONG)
    [line] = printed.getvalue().splitlines()
    assert re.fullmatch(rf"\[[^]]+\] WARNING  {re.escape(LONG)} test_log_lines\.py:\d+", line)
    printed.truncate(0)
    printed.seek(0)
    try:
        raise RuntimeError("no house")
    except RuntimeError:
        logging.getLogger("mcp.shared.other").exception("It failed")
    assert "RuntimeError: no house" in printed.getvalue()


@pytest.mark.parametrize(("with_tracebacks", "is_one"), [(False, True), (True, False)])
def test_a_line_of_fastmcp_is_one_line_too_where_the_handler_is_its_own(
    with_tracebacks: bool, is_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    handler = RichHandler(console=Console(file=written, stderr=True), rich_tracebacks=with_tracebacks)
    handler.setFormatter(logging.Formatter("%(message)s"))
    monkeypatch.setattr(logging.getLogger("fastmcp"), "handlers", [handler])
    install(MCPServer("house", log_level="CRITICAL"))
    logging.getLogger("fastmcp.server.server").warning("Invalid arguments for tool %r: %s", "paint", LONG)
    assert (len(written.getvalue().splitlines()) == 1) is is_one


def test_the_lines_of_others_and_a_terminal_are_left_alone(
    printed: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(MCPServer("house", log_level="CRITICAL"))
    logging.getLogger("shop").warning(LONG)
    assert len(printed.getvalue().splitlines()) > 1
    printed.truncate(0)
    printed.seek(0)
    monkeypatch.setattr(Console, "is_terminal", True)
    logging.getLogger("failwell.server").warning(LONG)
    assert len(printed.getvalue().splitlines()) > 1
