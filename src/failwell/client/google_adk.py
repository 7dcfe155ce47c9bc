"""For Google's Agent Development Kit: a toolset of an MCP server whose failures the model can act on.

agent = Agent(model=model, name="helper", tools=[recovering(McpToolset(connection_params=params))])
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from failwell.packages import lacks

try:
    from google.adk.tools.mcp_tool import McpTool, McpToolset
except ImportError as problem:
    raise lacks(__name__, "google-adk", problem) from None

from failwell.model import Policy
from failwell.observe import Events

from .bridge import Bridge, RenderedFailure, attach, bridge_of

T = TypeVar("T", bound=McpToolset)


def recovering(toolset: T, *, policy: Policy | None = None, events: Events | None = None) -> T:
    """The same toolset, whose tools now wait failures out where that is safe, and tell the others to the model.

    What their calls have shown is kept with the toolset.
    """
    bridge, plain = Bridge(policy, events=events), toolset.get_tools

    async def get_tools(*given: Any, **options: Any) -> list[Any]:
        tools: list[Any] = await plain(*given, **options)
        ours = [tool for tool in tools if isinstance(tool, McpTool)]
        bridge.tools = {tool.raw_mcp_tool.name: tool.raw_mcp_tool for tool in ours}
        for tool in ours:
            attach(tool, bridge, _recovering)
        return tools

    toolset.get_tools = get_tools
    return toolset


@cache
def _recovering(kind: Any) -> Any:
    """A class of tools, around the one place where the MCP call is made: before it a user may be asked to confirm."""

    async def run(self: Any, *, args: dict[str, Any], **options: Any) -> Any:
        prefix = self.name.removesuffix(self.raw_mcp_tool.name)
        call = bridge_of(self).call(self.raw_mcp_tool, args, names=prefix.__add__)
        send = lambda: kind._run_async_impl(self, args=args, **options)  # noqa: E731
        return await call.attempt(send, _told, transport=True, answer=_as_mcp)

    return type(kind.__name__, (kind,), {"__module__": __name__, "_run_async_impl": run})


def _told(failed: RenderedFailure) -> dict[str, Any]:
    # All of it is shown to the model, so it is what there is to read.
    return {name: value for name, value in failed.result().items() if name in ("content", "isError")}


def _as_mcp(result: Any) -> dict[str, Any]:
    """A result of ADK's as MCP has it."""
    return {**result, "_meta": result.get("meta") or {}} if isinstance(result, dict) else {}


__all__ = ["recovering"]
