"""For pydantic-ai: a toolset whose failures the model can act on.

    agent = Agent(model, toolsets=[recovering(MCPToolset("https://example.com/mcp"))])

| decision | what happens |
|---|---|
| retry | wait, then the same call again; the model sees nothing of it |
| fix | `ModelRetry`, until the budget is down to its last attempt: one more would end the run |
| anything else | `ToolFailed`, which costs nothing of the budget |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

from failwell.formats import Outcome
from failwell.model import Next, Policy
from failwell.observe import Events
from failwell.recovery import store_of

from .bridge import Bridge, Course, Told, attempted, failure, raised


@dataclass(slots=True)
class _Hearing:
    """What is heard of the MCP calls that one attempt at a tool call leads to."""

    course: Course
    is_keyed: bool
    """Whether the MCP call is all there is to it, so that its key is the key of the whole."""
    outcomes: list[object] = field(default_factory=list)
    """As the server sent them."""

    def options(self, client: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The options of an MCP call, with the key in its `_meta` where the server honours one."""
        if not self.is_keyed or self.outcomes:
            return given
        run = self.course.run
        run.use_key(store_of(getattr(client, "server_capabilities", None)), self.course.tools)
        meta = self.course.meta
        return {**given, "meta": {**(given.get("meta") or {}), **meta}} if meta else given


_heard: ContextVar[_Hearing | None] = ContextVar("failwell_heard", default=None)

_OWN: Final = "pydantic_ai.exceptions"


def recovering(
    toolset: AbstractToolset[AgentDepsT], *, policy: Policy | None = None, events: Events | None = None
) -> RecoveringToolset[AgentDepsT]:
    """The toolset, with failures that are waited out where that is safe, and told to the model where it is not."""
    return RecoveringToolset(toolset, policy, events)


@dataclass
class RecoveringToolset(WrapperToolset[AgentDepsT]):
    """What `recovering` gives: `wrapped`, and how patient to be with it, and where its calls are written down."""

    policy: Policy | None = None
    events: Events | None = None
    _bridge: Bridge = field(default_factory=Bridge, repr=False, compare=False)
    _listed: Mapping[str, ToolsetTool[AgentDepsT]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A run gets a copy of the toolset, which goes on from what is known.
        is_new = self.events is not None and self._bridge.seat is None
        if is_new or self._bridge.engine.policy != (self.policy or Policy()):
            self._bridge = Bridge(self.policy, events=self.events)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        tools = await super().get_tools(ctx)
        self._listed = dict(tools)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        # At each call, since a toolset can connect each run with a client of its own.
        self.wrapped.apply(_listen)
        self._bridge.tools = _beside(tool, self._listed)
        course = Course(self._bridge, _described(tool), tool_args, names=_names(self.wrapped, self._bridge.tools))
        is_keyed = _is_one_call(self.wrapped)

        async def call() -> Any:
            with _listening(_Hearing(course, is_keyed)) as heard:
                try:
                    value = await self.wrapped.call_tool(name, tool_args, ctx, tool)
                except Exception as exc:
                    course.is_answered = bool(heard) and not isinstance(heard[-1], Exception)
                    if (failed := _failed(exc, heard)) is not exc:
                        raise failed from exc
                    raise
            if found := _returned(value, heard):
                raise found
            return value

        result = await attempted(call, passes=_says_something_else, course=course)
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


def _described(tool: ToolsetTool[Any]) -> dict[str, Any]:
    """A tool as MCP lists it."""
    known = tool.tool_def
    annotations = (known.metadata or {}).get("annotations") or {}
    return {"name": known.name, "annotations": annotations, "inputSchema": known.parameters_json_schema}


def _beside(tool: ToolsetTool[Any], listed: Mapping[str, ToolsetTool[Any]]) -> dict[str, Any]:
    """The tools of the same server. Of several toolsets in one, only those of the same are about the same things."""
    source = getattr(tool, "source_toolset", None)
    return {
        each.tool_def.name: _described(each)
        for each in listed.values()
        if getattr(each, "source_toolset", None) is source
    }


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


@contextmanager
def _listening(hearing: _Hearing) -> Iterator[list[object]]:
    """The outcomes of the MCP calls made meanwhile in this context."""
    token = _heard.set(hearing)
    try:
        yield hearing.outcomes
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
        hearing = _heard.get()
        if hearing is None:
            return await client.call_tool_mcp(self, *args, **options)
        options = hearing.options(self, options)
        try:
            result = await client.call_tool_mcp(self, *args, **options)
        except Exception as exc:
            hearing.outcomes.append(exc)
            raise
        hearing.outcomes.append(result)
        return result

    return type(client.__name__, (client,), {"call_tool_mcp": call_tool_mcp})


__all__ = ["recovering"]
