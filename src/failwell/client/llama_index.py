"""For LlamaIndex: the tools of an MCP server, whose failures the model can act on.

spec = recovering(McpToolSpec(BasicMCPClient("https://example.com/mcp")))
agent = FunctionAgent(tools=await spec.to_tool_list_async(), llm=llm)
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from failwell.packages import lacks

try:
    from llama_index.core.async_utils import asyncio_run
    from llama_index.core.tools import ToolOutput
    from llama_index.tools.mcp import McpToolSpec
except ImportError as problem:
    raise lacks(__name__, "llama-index-tools-mcp", problem) from None

from failwell.model import Policy
from failwell.observe import Events

from .bridge import Bridge, RenderedFailure, attach, bridge_of

S = TypeVar("S", bound=McpToolSpec)


def recovering(spec: S, *, policy: Policy | None = None, events: Events | None = None) -> S:
    """The same tools, which now wait failures out where that is safe, and tell the others to the model.

    LlamaIndex itself shows a model the written form of the SDK's object, and marks no error. What worked stays so.
    """
    bridge = Bridge(policy, events=events)
    plain, fetch = spec.to_tool_list_async, spec.fetch_tools

    async def fetch_tools() -> list[Any]:
        listed: list[Any] = await fetch()
        bridge.tools = {tool.name: tool for tool in listed}
        return listed

    async def to_tool_list_async() -> list[Any]:
        tools: list[Any] = await plain()
        for tool in tools:
            # A resource is read by a tool too, and has nothing to recover.
            if tool.metadata.name in bridge.tools:
                attach(tool, bridge, _recovering)
        return tools

    spec.fetch_tools, spec.to_tool_list_async = fetch_tools, to_tool_list_async
    return spec


@cache
def _recovering(kind: Any) -> Any:
    async def acall(self: Any, *given: Any, **arguments: Any) -> Any:
        bridge, name = bridge_of(self), self.metadata.get_name()

        def told(failed: RenderedFailure) -> ToolOutput:
            return ToolOutput(
                tool_name=name,
                content=failed.texts,
                raw_input={"args": given, "kwargs": arguments},
                raw_output=failed.result(),
                is_error=failed.is_error,
            )

        send = lambda: kind.acall(self, *given, **arguments)  # noqa: E731
        call = bridge.call(bridge.tools[name], {**self.partial_params, **arguments})
        return await call.attempt(send, told, transport=True, answer=lambda output: output.raw_output)

    def call(self: Any, *given: Any, **arguments: Any) -> Any:
        return asyncio_run(acall(self, *given, **arguments))

    return type(kind.__name__, (kind,), {"__module__": __name__, "acall": acall, "call": call})


__all__ = ["recovering"]
