"""A server's own tests can assert that it fails well."""

from __future__ import annotations

import pytest
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

import failwell as fw
import failwell.server
from failwell.check.pytest import assert_fails_well


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def price(article: str) -> str:
        """The price of an article."""
        raise LookupError(article)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def articles() -> list[str]:
        """All articles."""
        return ["apple"]

    return server


def test_a_server_with_failwell_passes() -> None:
    server = shop()

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def stock(article: str) -> str:
        """How many of an article there are."""
        raise fw.NotFound(f"There is no article {article[:20]!r}.", suggestion="Call articles first.")

    failwell.server.install(server)
    report = assert_fails_well(server, min_score=95)
    assert (report.graded["fully"], report.examined.reason) == (1, None)
    assert report.examined.eras == ["2025-11-25", "2026-07-28"]


def test_a_server_without_is_told_what_to_fix_first() -> None:
    with pytest.raises(AssertionError, match=r"The server fails with \d+ of 100 \(B\); wanted are 90. Fix first:\n- "):
        assert_fails_well(shop())


def test_an_address_where_nobody_is_does_not_start() -> None:
    with pytest.raises(AssertionError, match="does not start: it did not answer initialize: nobody listens"):
        assert_fails_well("http://127.0.0.1:9/mcp")
