"""For CrewAI: the tools of MCP servers, whose failures the model can act on.

agent = Agent(role="clerk", goal=goal, backstory=story, tools=recovering(resolver.get_mcp_tools(["https://…/mcp"])))

with recovering(MCPServerAdapter(params)) as tools:          # crewai-tools
    agent = Agent(role="clerk", goal=goal, backstory=story, tools=tools)
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, NamedTuple

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

from .bridge import Bridge, Course, Told, attempted_sync, failure, raised
from .mcp_result import answer, wire

_heard: ContextVar[list[Any] | None] = ContextVar("failwell_crewai_heard", default=None)
"""What the MCP call of one attempt came to: CrewAI keeps only its texts, and not always whether it failed."""
_SENT: Final = object()
_PLACE: Final = "_failwell_place"


def recovering(tools: Any, *, policy: Policy | None = None, events: Events | None = None) -> Any:
    """The tools of a server, with failures that are waited out where that is safe, and told to the model where it is
    not.

    Takes what `Agent.get_mcp_tools` gives, and gives the same tools; or an `MCPServerAdapter` of crewai-tools, and
    gives that. CrewAI's own repetitions are turned off: they repeat whatever fails, also a payment that may have gone
    through.
    """
    if any(base.__name__ == "MCPServerAdapter" for base in type(tools).__mro__):
        return _adapted(tools, Bridge(policy, events=events))
    servers: dict[str, Bridge] = {}
    for tool in (given := list(tools)):
        if isinstance(tool, MCPNativeTool) and not hasattr(tool, _PLACE):
            bridge = servers.setdefault(tool.server_name, Bridge(policy, events=events))
            tool._client_factory = _clients(tool._client_factory, bridge)
            _change(tool, _Place(bridge, tool.original_tool_name, f"{tool.server_name}_"))
    return given


def _adapted(server: Any, bridge: Bridge) -> Any:
    """An `MCPServerAdapter`, with tools made by an adapter that hears what the server says."""
    plain = server._adapter.adapter
    listed: dict[str, Any] = {}

    class Hearing(type(plain)):  # type: ignore[misc]
        def adapt(self, func: Callable[[Any], Any], mcp_tool: Any) -> Any:
            tool = super().adapt(lambda arguments: _hear(lambda: func(arguments)), mcp_tool)
            listed[mcp_tool.name] = mcp_tool
            _change(tool, _Place(bridge, mcp_tool.name))
            return tool

    server._adapter.adapter = Hearing()
    server._tools = server._adapter.tools()
    bridge.tools = listed
    return server


def _hear(call: Callable[[], Any]) -> Any:
    heard = _heard.get()
    note = heard.append if heard is not None else (lambda _: None)
    note(_SENT)
    try:
        result = call()
    except Exception as exc:
        note(exc)
        raise
    note(result)
    return result


def _clients(factory: Callable[[], Any], bridge: Bridge) -> Callable[[], Any]:
    """Clients that make a call once, and tell what it came to. Each call of a tool has one of its own."""

    def make() -> Any:
        client = factory()
        client.max_retries = 1
        connect = client.connect

        async def connected() -> Any:
            found = await connect()
            session, heard = client.session, _heard.get()
            if not bridge.tools:
                # For the annotations, which CrewAI does not keep.
                bridge.tools = {each.name: each for each in (await session.list_tools()).tools}
            if heard is not None:
                session.call_tool = _listener(session.call_tool, heard)
            return found

        client.connect = connected
        return client

    return make


def _listener(call_tool: Callable[..., Any], heard: list[Any]) -> Callable[..., Any]:
    async def listening(*given: Any, **options: Any) -> Any:
        heard.append(_SENT)
        try:
            heard.append(await call_tool(*given, **options))
        except Exception as exc:
            heard.append(exc)
            raise
        return heard[-1]

    return listening


class _Place(NamedTuple):
    """Where a tool comes from."""

    bridge: Bridge
    name: str
    """By which the server knows it."""
    prefix: str = ""

    @property
    def tool(self) -> object:
        return self.bridge.tools.get(self.name, self.name)

    def shown(self, name: str) -> str:
        """By which the model knows a tool of the server."""
        shown: str = sanitize_tool_name(self.prefix + name)
        return shown


def _change(tool: Any, place: _Place) -> None:
    kind: Any = type(tool)
    tool.__class__ = _recovering(kind)
    object.__setattr__(tool, _PLACE, place)


@cache
def _recovering(kind: Any) -> Any:
    def _run(self: Any, *given: Any, **arguments: Any) -> Any:
        heard: list[Any] = []
        place: _Place = getattr(self, _PLACE)
        course = Course(place.bridge, place.tool, arguments, names=place.shown)

        def call() -> Any:
            heard.clear()
            token = _heard.set(heard)
            try:
                value = kind._run(self, *given, **arguments)
            except Exception as exc:
                failed = _failed(exc, heard)
                raise failed from exc
            finally:
                _heard.reset(token)
                # The first call of all finds out what the tools are.
                course.tools = place.bridge.knows(place.tool)
            course.is_answered = True
            if heard and (found := failure(heard[-1])):
                raise found
            return value

        result = attempted_sync(call, course=course)
        return _told(result, heard) if isinstance(result, Told) else result

    def _validate_kwargs(self: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            checked: dict[str, Any] = kind._validate_kwargs(self, kwargs)
        except ValueError:
            # The server knows what is wrong with them, and says so in words that lead on.
            return kwargs
        return {name: value for name, value in checked.items() if name in kwargs}

    return type(kind.__name__, (kind,), {"__module__": __name__, "_run": _run, "_validate_kwargs": _validate_kwargs})


def _failed(exc: Exception, heard: list[Any]) -> Exception:
    """What became of a call that raised, whatever CrewAI has made of it."""
    last = heard[-1] if heard else None
    if isinstance(last, Exception):
        return raised(last, transport=True)
    if last is not None and last is not _SENT:
        return failure(last) or exc
    found = raised(exc, transport=True)
    if not isinstance(found, ToolError):
        return found
    if last is _SENT:
        return found.replace(effect=Effect.UNKNOWN, delivery="unanswered", origin="local")
    return found.replace(effect=Effect.NONE, delivery="never_sent", origin="local")


def _told(told: Told, heard: list[Any]) -> Any:
    result = answer(told, wire(heard[-1]) if heard else {}, told.text)
    text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
    if not told.is_error:
        return text
    return ToolFailure(message=text, reason=ToolFailureReason.MCP_ERROR, details={META_KEY: result["_meta"][META_KEY]})


__all__ = ["recovering"]
