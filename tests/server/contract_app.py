"""A server that fails as the contracts' documents do: `python contract_app.py FRAMEWORK FORMAT`, on stdio."""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal, Optional

from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

import failwell as fw
import failwell.server
from failwell.server import reply

READS = ToolAnnotations(read_only_hint=True)
Gate = Literal["markdown", "json", "both"]
OLD = {"code": "DEPRECATED", "severity": "warning", "actions": ["billing.invoices_v2"]}
SAID = "This endpoint is deprecated. Use billing.invoices_v2 instead."


class Invoice(BaseModel):
    id: str


def search_patterns(query: str, format: Gate = "markdown") -> CallToolResult:
    """Search for patterns."""
    if query == "network":
        raise fw.ToolError("Network error: Request timeout", code="NETWORK_ERROR")
    if query == "unknown":
        raise fw.ToolError("Unknown error occurred", code="UNKNOWN_ERROR")
    if query == "long":
        return reply({"text": "x" * 5000}, markdown="y" * 5000)
    if query == "too long":
        raise fw.ToolError("m" * 50_000, code="SERVER_ERROR", details={f"k{n}": "v" * 1000 for n in range(300)})
    return reply({"kind": "patternSearchResults:v1", "count": 1}, markdown="1 pattern")


def get_project(project_id: str) -> str:
    """Get a project."""
    raise fw.ToolError(
        f"Project '{project_id}' does not exist.",
        code="ProjectNotFound",
        suggestion="Call projects.list first to get valid IDs, then retry.",
        actions=["projects.list"],
    )


def old_text() -> str:
    """Text."""
    raise fw.ToolError(SAID, **OLD)


def old_dict() -> dict[str, Any]:
    """An object."""
    raise fw.ToolError(SAID, **OLD)


def old_maybe() -> Optional[list[int]]:  # noqa: UP045 - as people write it
    """Numbers, or none."""
    raise fw.ToolError(SAID, **OLD)


def old_model() -> Invoice:
    """An object that must have an id."""
    raise fw.ToolError(SAID, **OLD)


def odd_severity() -> str:
    """A severity that the contract does not have."""
    raise fw.ToolError("Too hot.", code="X", severity="fatal")  # type: ignore[arg-type]


def create_project(workspace_id: str = "") -> str:
    """Create a project."""
    raise fw.required("workspace_id")


def reserve(pattern: str) -> str:
    """Reserve files."""
    raise fw.Transient(
        "rate limited",
        suggestion="Ask for less.",
        actions=["list"],
        details={"retry_after": 30, "failwell": "mine", "conflicts": "none"},
    )


def held(pattern: str) -> str:
    """Reserve what others hold."""
    raise fw.Conflict("2 conflicts", conflicts=["a2"], details={"conflicts": 2})


def lost(pattern: str) -> str:
    """Fail when it may be done."""
    raise fw.Transient("rate limited", effect="unknown", details={"retry_after": 30})


def legacy() -> CallToolResult:
    """Fail in words alone, as servers did before."""
    text = "check conflicts: intermute 500: internal error"
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def broken(password: str) -> str:
    """Break."""
    raise fw.Internal(f"the index is corrupt: password={password}")


TOOLS = (search_patterns, old_text, old_dict, old_maybe, old_model, odd_severity, create_project, reserve, held, lost)


def build(framework: str, format: str) -> Any:
    server: Any = FastMCP("contracts") if framework == "fastmcp" else MCPServer("contracts", log_level="ERROR")
    for function in (*TOOLS, legacy, broken):
        server.tool()(function)
    server.tool("projects.get", annotations=READS)(get_project)
    # Nobody knows whether this one writes.
    server.tool("projects.sync")(get_project)
    wire: dict[str, Any] = {"as_written": True} if format == "typed" else {"max_output": 1000}
    return failwell.server.install(server, format=format, wire=wire)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    server = build(*sys.argv[1:])
    server.run(**({"show_banner": False} if sys.argv[1] == "fastmcp" else {}))
