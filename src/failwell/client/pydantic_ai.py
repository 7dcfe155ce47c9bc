"""For pydantic-ai: a toolset whose failures the model can act on.

    agent = Agent(model, toolsets=[recovering(MCPToolset("https://example.com/mcp"))])

| decision | what happens |
|---|---|
| retry | wait, then the same call again; the model sees nothing of it |
| fix | `ModelRetry`, until the budget is down to its last attempt: one more would end the run |
| anything else | `ToolFailed`, which costs nothing of the budget |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
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

from .bridge import Bridge, BridgedCall, RenderedFailure, failure, raised

_OWN: Final = "pydantic_ai.exceptions"
_watched: ContextVar[tuple[BridgedCall, bool, list[Any]] | None] = ContextVar("failwell_watched", default=None)
"""The tool call under way, whether an MCP call is all there is to it, and what its MCP calls came to."""


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
        self.bridge.tools = {each.tool_def.name: _described(each) for each in near}
        call = self.bridge.call(_described(tool), tool_args, names=_names(self.wrapped, self.bridge.tools))
        seen: list[Any] = []

        async def send() -> Any:
            seen.clear()
            token = _watched.set((call, _is_one_call(self.wrapped), seen))
            try:
                return await self.wrapped.call_tool(name, tool_args, ctx, tool)
            finally:
                _watched.reset(token)

        def answer(value: Any) -> Any:
            # What the server sent tells more than what was made of it, unless a hook has dealt with an error.
            last = seen[-1] if seen else value
            return None if seen and (isinstance(last, Exception) or getattr(last, "is_error", False)) else last

        def translate(exc: Exception) -> Exception:
            if not seen or (_is_own(exc) and not isinstance(exc, (ModelRetry, ToolFailed))):
                return exc
            # The toolset has put an error of the server, or of its client's transport, into its own words.
            last = seen[-1]
            call.answer = None if isinstance(last, Exception) else last
            return raised(last, transport=True) if isinstance(last, Exception) else failure(last) or exc

        result = await call.attempt(send, answer=answer, translate=translate, passes=_is_own)
        if not isinstance(result, RenderedFailure):
            return result
        if not result.is_error:
            return result.text
        if result.decision.next is Next.FIX and not ctx.last_attempt:
            raise ModelRetry(result.text)
        raise ToolFailed(result.text)


def _is_own(exc: Exception) -> bool:
    """Whether it is one of pydantic-ai's own: a tool's word to the model, an approval to wait for, a limit."""
    return any(base.__module__ == _OWN for base in type(exc).__mro__)


def _described(tool: ToolsetTool[Any]) -> dict[str, Any]:
    """A tool as MCP lists it."""
    known = tool.tool_def
    annotations = (known.metadata or {}).get("annotations") or {}
    return {"name": known.name, "annotations": annotations, "inputSchema": known.parameters_json_schema}


def _names(toolset: AbstractToolset[Any], listed: Mapping[str, Any]) -> Callable[[str], str]:
    """By which name the model knows a tool that the server names: toolsets can put something before it."""
    prefix = ""
    while isinstance(toolset, WrapperToolset):
        prefix += f"{toolset.prefix}_" if isinstance(toolset, PrefixedToolset) else ""
        toolset = toolset.wrapped
    return lambda name: f"{prefix}{name}" if name not in listed and f"{prefix}{name}" in listed else name


def _is_one_call(toolset: AbstractToolset[Any]) -> bool:
    """Whether a tool call is one call of an MCP server and nothing else: hooks and toolsets of one's own may do more,
    and that would be done again."""
    while isinstance(toolset, WrapperToolset) and type(toolset).__module__.startswith("pydantic_ai."):
        toolset = toolset.wrapped
    return type(toolset) is MCPToolset and toolset.process_tool_call is None


def _watch(toolset: AbstractToolset[Any]) -> None:
    if isinstance(toolset, MCPToolset) and type(toolset.client).call_tool_mcp.__module__ != __name__:
        kind: Any = type(toolset.client)
        toolset.client.__class__ = _watching(kind)


@cache
def _watching(client: Any) -> Any:
    """A client's class that notes what its calls came to, and sends a key where the server honours one.

    A class and not a method of the instance: fastmcp copies its clients, and a copy has to call for itself.
    """

    async def call_tool_mcp(self: Any, *args: Any, **options: Any) -> Any:
        if (watched := _watched.get()) is None:
            return await client.call_tool_mcp(self, *args, **options)
        call, is_keyed, seen = watched
        if is_keyed and not seen:
            call.run.use_key(store_of(getattr(self, "server_capabilities", None)), call.tools)
            if meta := call.meta:
                options["meta"] = {**(options.get("meta") or {}), **meta}
        try:
            seen.append(await client.call_tool_mcp(self, *args, **options))
        except Exception as exc:
            seen.append(exc)
            raise
        return seen[-1]

    return type(client.__name__, (client,), {"call_tool_mcp": call_tool_mcp})


__all__ = ["recovering"]
