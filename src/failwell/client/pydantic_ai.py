"""For pydantic-ai: a toolset whose failures the model can act on.

    agent = Agent(model, toolsets=[recovering(MCPToolset("https://example.com/mcp"))])

| decision | what happens |
|---|---|
| retry | wait, then the same call again; the model sees nothing of it |
| fix | `ModelRetry`, until the budget is down to its last attempt: one more would end the run |
| anything else | `ToolFailed`, which costs nothing of the budget |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic_ai import AbstractToolset, ModelRetry, RunContext, ToolFailed, ToolsetTool, WrapperToolset
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.tools import AgentDepsT

from failwell.formats import Outcome
from failwell.model.decide import Next, Policy
from failwell.model.tool import Traits

from .telling import Told, attempted, failure, raised

_heard: ContextVar[list[object] | None] = ContextVar("failwell_heard", default=None)
"""The outcomes of the MCP calls that one tool call leads to, as the server sent them."""

_OWN: Final = "pydantic_ai.exceptions"


def recovering(toolset: AbstractToolset[AgentDepsT], *, policy: Policy | None = None) -> RecoveringToolset[AgentDepsT]:
    """The toolset, with failures that are waited out where that is safe, and told to the model where it is not."""
    return RecoveringToolset(toolset, policy)


@dataclass
class RecoveringToolset(WrapperToolset[AgentDepsT]):
    """What `recovering` gives: `wrapped`, and how patient to be with it."""

    policy: Policy | None = None

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        # At each call, since a toolset can connect each run with a client of its own.
        self.wrapped.apply(_listen)

        async def call() -> Any:
            with _listening() as heard:
                try:
                    value = await self.wrapped.call_tool(name, tool_args, ctx, tool)
                except Exception as exc:
                    if (failed := _failed(exc, heard)) is not exc:
                        raise failed from exc
                    raise
            if found := _returned(value, heard):
                raise found
            return value

        result = await attempted(call, tool=_traits(tool), policy=self.policy, passes=_says_something_else)
        if not isinstance(result, Told):
            return result
        if not result.is_error:
            return result.text
        if result.decision.next is Next.FIX and not ctx.last_attempt:
            raise ModelRetry(result.text)
        raise ToolFailed(result.text)


def _failed(exc: Exception, heard: list[object]) -> Exception:
    """What the server said, where the toolset has put an error of the server into its own words."""
    if not heard or (_says_something_else(exc) and not isinstance(exc, (ModelRetry, ToolFailed))):
        return exc
    last = heard[-1]
    # What was heard of the client's own call is of its transport.
    return raised(last, transport=True) if isinstance(last, Exception) else failure(last) or exc


def _says_something_else(exc: Exception) -> bool:
    """Whether it is one of pydantic-ai's own: a tool's word to the model, an approval to wait for, a limit."""
    return any(base.__module__ == _OWN for base in type(exc).__mro__)


def _returned(value: object, heard: list[object]) -> Outcome | None:
    """The failure that was returned as a value. What the server sent tells more than what was made of it."""
    last = heard[-1] if heard else value
    if heard and (isinstance(last, Exception) or getattr(last, "is_error", False)):
        # A hook of the toolset's has dealt with it.
        return None
    return failure(last)


def _traits(tool: ToolsetTool[Any]) -> Traits:
    metadata = tool.tool_def.metadata or {}
    return Traits.of({"name": tool.tool_def.name, "annotations": metadata.get("annotations") or {}})


@contextmanager
def _listening() -> Iterator[list[object]]:
    """The outcomes of the MCP calls made meanwhile in this context."""
    heard: list[object] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def _listen(toolset: AbstractToolset[Any]) -> None:
    if isinstance(toolset, MCPToolset):
        client: Any = type(toolset.client)
        if client.call_tool_mcp.__module__ != __name__:
            toolset.client.__class__ = _listener(client)


@cache
def _listener(client: Any) -> Any:
    """A client's class that takes notes when somebody listens.

    A class and not a method of the instance: fastmcp copies its clients, and a copy has to call for itself.
    """

    async def call_tool_mcp(self: Any, *args: Any, **options: Any) -> Any:
        heard = _heard.get()
        try:
            result = await client.call_tool_mcp(self, *args, **options)
        except Exception as exc:
            if heard is not None:
                heard.append(exc)
            raise
        if heard is not None:
            heard.append(result)
        return result

    return type(client.__name__, (client,), {"call_tool_mcp": call_tool_mcp})


__all__ = ["RecoveringToolset", "recovering"]
