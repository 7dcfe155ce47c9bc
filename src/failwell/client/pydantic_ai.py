"""For pydantic-ai: a toolset whose failures the model can act on.

    agent = Agent(model, toolsets=[recovering(MCPToolset("https://example.com/mcp"))])

Retries are waited for here; a fix is a `ModelRetry`, anything else a `ToolFailed`, which costs nothing of the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from failwell.packages import needed

try:
    from pydantic_ai import AbstractToolset, ModelRetry, RunContext, ToolFailed, ToolsetTool, WrapperToolset
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import PrefixedToolset
except ImportError as problem:
    raise needed(__name__, "pydantic-ai", problem) from None

from failwell.model import Next, Policy
from failwell.observe import Events
from failwell.recovery import store_of

from .bridge import Bridge, RenderedFailure, attach, call_under_way, note_calls

_OWN: Final = "pydantic_ai.exceptions"


def recovering(
    toolset: AbstractToolset[AgentDepsT], *, policy: Policy | None = None, events: Events | None = None
) -> RecoveringToolset[AgentDepsT]:
    """The toolset, with failures that are waited out where that is safe, and told to the model where it is not."""
    return RecoveringToolset(toolset, Bridge(policy, events=events))


@dataclass
class RecoveringToolset(WrapperToolset[AgentDepsT]):
    """What `recovering` gives. A run gets a copy of it, which goes on from what is known."""

    bridge: Bridge = field(default_factory=Bridge, repr=False, compare=False)
    _listed: Mapping[str, ToolsetTool[AgentDepsT]] = field(default_factory=dict, repr=False, compare=False)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        tools = await super().get_tools(ctx)
        self._listed = dict(tools)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        # At each call, since a toolset can connect each run with a client of its own.
        self.wrapped.apply(_watch)
        # Of several toolsets in one, only the tools of the same are about the same things.
        source = getattr(tool, "source_toolset", None)
        near = [each for each in self._listed.values() if getattr(each, "source_toolset", None) is source]
        self.bridge.tools = listed = {each.tool_def.name: _described(each) for each in near}
        prefix, is_one_call = _unwrapped(self.wrapped)

        def shown(name: str) -> str:
            return prefix + name if name not in listed and prefix + name in listed else name

        call = self.bridge.call(_described(tool), tool_args, names=shown)
        call.is_keyable = is_one_call

        def answer(value: Any) -> Any:
            # What the server sent tells more than what was made of it, unless a hook has dealt with an error.
            last = call.outcomes[-1] if call.outcomes else value
            is_done = call.outcomes and (isinstance(last, Exception) or getattr(last, "is_error", False))
            return None if is_done else last

        def translate(exc: Exception) -> Exception:
            return exc if _is_own(exc) and not isinstance(exc, (ModelRetry, ToolFailed)) else call.last_failure(exc)

        def told(failed: RenderedFailure) -> str:
            if not failed.is_error:
                return failed.text
            if failed.decision.next is Next.FIX and not ctx.last_attempt:
                raise ModelRetry(failed.text)
            raise ToolFailed(failed.text)

        send = lambda: self.wrapped.call_tool(name, tool_args, ctx, tool)  # noqa: E731
        return await call.attempt(send, told, answer=answer, translate=translate, passes=_is_own)


def _is_own(exc: Exception) -> bool:
    """Whether it is one of pydantic-ai's own: a tool's word to the model, an approval to wait for, a limit."""
    return any(base.__module__ == _OWN for base in type(exc).__mro__)


def _described(tool: ToolsetTool[Any]) -> dict[str, Any]:
    """A tool as MCP lists it."""
    known, annotations = tool.tool_def, (tool.tool_def.metadata or {}).get("annotations") or {}
    return {"name": known.name, "annotations": annotations, "inputSchema": known.parameters_json_schema}


def _unwrapped(toolset: AbstractToolset[Any]) -> tuple[str, bool]:
    """What is put before the server's names, and whether a tool call is one call of an MCP server and nothing else:
    hooks and toolsets of one's own may do more, and that would be done again."""
    prefix, is_plain = "", True
    while isinstance(toolset, WrapperToolset):
        prefix += f"{toolset.prefix}_" if isinstance(toolset, PrefixedToolset) else ""
        is_plain = is_plain and type(toolset).__module__.startswith("pydantic_ai.")
        toolset = toolset.wrapped
    return prefix, is_plain and type(toolset) is MCPToolset and toolset.process_tool_call is None


def _watch(toolset: AbstractToolset[Any]) -> None:
    if isinstance(toolset, MCPToolset):
        client: Any = toolset.client
        attach(client, True, _watching)


@cache
def _watching(client: Any) -> Any:
    """A client's class that notes what its calls came to, and sends a key where the server honours one."""

    async def call_tool_mcp(self: Any, *args: Any, **options: Any) -> Any:
        call = call_under_way()
        if call is not None and call.is_keyable and not call.outcomes:
            call.run.use_key(store_of(getattr(self, "server_capabilities", None)), call.tools)
            if meta := call.meta:
                options["meta"] = {**(options.get("meta") or {}), **meta}
        return await note_calls(client.call_tool_mcp)(self, *args, **options)

    return type(client.__name__, (client,), {"call_tool_mcp": call_tool_mcp})


__all__ = ["recovering"]
