"""For CrewAI: the tools of MCP servers, whose failures the model can act on.

agent = Agent(role="clerk", goal=goal, backstory=story, tools=recovering(resolver.get_mcp_tools(["https://…/mcp"])))

with recovering(MCPServerAdapter(params)) as tools:          # crewai-tools
    agent = Agent(role="clerk", goal=goal, backstory=story, tools=tools)
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from failwell.packages import lacks

try:
    from crewai.tools.mcp_native_tool import MCPNativeTool
    from crewai.tools.tool_failure import ToolFailure, ToolFailureReason
    from crewai.utilities.string_utils import sanitize_tool_name
except ImportError as problem:
    raise lacks(__name__, "crewai", problem) from None

from failwell.formats import META_KEY
from failwell.model import Effect, Policy, ToolError
from failwell.observe import Events

from .bridge import Bridge, RenderedFailure, attach, bridge_of, note_calls, note_outcome, read_raised


def recovering(tools: Any, *, policy: Policy | None = None, events: Events | None = None) -> Any:
    """The tools of `Agent.get_mcp_tools`, or an `MCPServerAdapter` of crewai-tools, with failures that are waited out
    where that is safe, and told to the model where it is not.

    CrewAI's own repetitions are turned off: they repeat whatever fails, also a payment that may have gone through.
    """
    if any(base.__name__ == "MCPServerAdapter" for base in type(tools).__mro__):
        return _adapted(tools, Bridge(policy, events=events))
    servers: dict[str, Bridge] = {}
    for tool in (given := list(tools)):
        if isinstance(tool, MCPNativeTool) and bridge_of(tool) is None:
            bridge = servers.setdefault(tool.server_name, Bridge(policy, events=events))
            tool._client_factory = partial(_client, tool._client_factory, bridge)
            attach(tool, (bridge, tool.original_tool_name, f"{tool.server_name}_"), _recovering)
    return given


def _adapted(server: Any, bridge: Bridge) -> Any:
    """An `MCPServerAdapter`, with tools made by an adapter that sees what the server says."""
    adapter, listed = server._adapter.adapter, dict[str, Any]()
    plain, bridge.tools = adapter.adapt, listed

    def adapt(func: Any, mcp_tool: Any) -> Any:
        def send(arguments: Any) -> Any:
            with note_outcome() as note:
                return note(func(arguments))

        tool, listed[mcp_tool.name] = plain(send, mcp_tool), mcp_tool
        attach(tool, (bridge, mcp_tool.name, ""), _recovering)
        return tool

    adapter.adapt = adapt
    server._tools = server._adapter.tools()
    return server


def _client(factory: Any, bridge: Bridge) -> Any:
    """A client that makes a call once, and tells what it came to. Each call of a tool has one of its own."""
    client = factory()
    client.max_retries, connect = 1, client.connect

    async def connected() -> Any:
        found, session = await connect(), client.session
        if not bridge.tools:
            # For the annotations, which CrewAI does not keep.
            bridge.tools = {each.name: each for each in (await session.list_tools()).tools}
        session.call_tool = note_calls(session.call_tool)
        return found

    client.connect = connected
    return client


def _told(failed: RenderedFailure) -> Any:
    details = {META_KEY: failed.result()["_meta"][META_KEY]}
    told = ToolFailure(message=failed.texts, reason=ToolFailureReason.MCP_ERROR, details=details)
    return told if failed.is_error else failed.texts


@cache
def _recovering(kind: Any) -> Any:
    def _run(self: Any, *given: Any, **arguments: Any) -> Any:
        bridge, name, prefix = bridge_of(self)
        listed = bridge.tools.get(name, name)
        call = bridge.call(listed, arguments, names=lambda tool: sanitize_tool_name(prefix + tool))

        def send() -> Any:
            try:
                return kind._run(self, *given, **arguments)
            finally:
                # The first call of all finds out what the tools are.
                call.tools = bridge.knows(bridge.tools.get(name, name))

        def translate(exc: Exception) -> Exception:
            found = call.last_failure(exc) if call.outcomes else read_raised(exc, transport=True)
            if call.outcomes or not isinstance(found, ToolError):
                return found
            effect, delivery = (Effect.UNKNOWN, "unanswered") if call.is_sent else (Effect.NONE, "never_sent")
            return found.replace(effect=effect, delivery=delivery, origin="local")

        return call.attempt_sync(send, _told, answer=call.last_outcome, translate=translate)

    def _validate_kwargs(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            checked: dict[str, Any] = kind._validate_kwargs(self, kwargs)
        except ValueError:
            # The server knows what is wrong with them, and says so in words that lead on.
            return kwargs
        return {name: value for name, value in checked.items() if name in kwargs}

    return type(kind.__name__, (kind,), {"__module__": __name__, "_run": _run, "_validate_kwargs": _validate_kwargs})


__all__ = ["recovering"]
