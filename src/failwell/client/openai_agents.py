"""For the OpenAI Agents SDK: failures that the model can act on, from MCP servers and from function tools.

    async with MCPServerStdio(params={...}) as server:
        agent = Agent(name="helper", mcp_servers=[recovering(server)])

    @function_tool(failure_error_function=tell)
    def find_user(id: int) -> str: ...

The SDK marks no error, so the text does: it begins with "Error: ".
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from failwell.packages import needed

try:
    from agents import RunContextWrapper
    from agents.exceptions import AgentsException, ModelBehaviorError, UserError
    from agents.mcp import MCPServer
    from mcp_types import CallToolResult
except ImportError as problem:
    raise needed(__name__, "openai-agents", problem) from None

from failwell.model import Effect, FieldError, Policy, ToolError
from failwell.observe import Events
from failwell.readers import from_http, from_pydantic, said
from failwell.recovery import store_of

from .bridge import Bridge, Course, Told, raised, settle
from .mcp_result import settled

S = TypeVar("S", bound=MCPServer)

_MARK: Final = "Error: "
_MISSING: Final = "missing required parameters: "
_STATUS: Final = re.compile(r"HTTP error (\d{3})$")
# What the SDK says in place of a transport's exception, which it does not keep.
_SAID: Final = (
    ("Connection lost", "NETWORK_ERROR", "The connection to the server is lost."),
    ("Connection timeout", "TIMEOUT", "The server did not answer in time."),
    ("Request failed", "NETWORK_ERROR", "The connection to the server broke off."),
    ("was cancelled", "NETWORK_ERROR", "The call was broken off."),
)


def recovering(server: S, *, policy: Policy | None = None, events: Events | None = None) -> S:
    """The same server, which now waits failures out where that is safe, and answers the others with one clear text.

    Its own `max_retry_attempts` are set to none: they repeat whatever fails, also a payment that may have gone through.
    What its calls have shown so far is kept with it: a tool that fails again and again is left alone for a while.
    """
    if hasattr(server, "max_retry_attempts"):
        server.max_retry_attempts = 0
    # Of the class: to ask again changes the policy and does not repeat the repetitions.
    plain = type(server).call_tool
    bridge = Bridge(policy, events=events)

    async def call_tool(
        tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        bridge.tools = {tool.name: tool for tool in server.cached_tools or ()}
        course = Course(bridge, bridge.tools.get(tool_name, tool_name), arguments, meta)

        async def call() -> CallToolResult:
            course.run.use_key(_store(server), course.tools)
            sent = course.meta
            try:
                # Without `meta` where there is none: servers of one's own need not take it.
                return await plain(server, tool_name, arguments, **({"meta": dict(sent)} if sent else {}))
            except Exception as exc:
                if (failed := _translated(exc)) is not exc:
                    raise failed from exc
                raise

        result: CallToolResult = await settled(call, course, passes=_is_misuse, text=_marked)
        return result

    server.call_tool = call_tool  # type: ignore[method-assign]
    return server


def _store(server: MCPServer) -> str | None:
    """Which store of the server knows the keys of the calls over its present connection; None if there is none."""
    return store_of(getattr(getattr(server, "session", None), "server_capabilities", None))


def tell(context: RunContextWrapper[Any], error: Exception) -> str:
    """The text for a tool that raised: a `failure_error_function` for function tools, servers and agents.

    >>> print(tell(RunContextWrapper(None), ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)))
    Error: Too many requests. Wait 30 seconds, then make the same call again.
    """
    # A call of a tool has a context that names it.
    return _marked(settle(raised(_translated(error)), tool=getattr(context, "tool_name", None)))


def _marked(told: Told) -> str:
    return _MARK + told.text.removeprefix(_MARK) if told.is_error else told.text


def _is_misuse(exc: Exception) -> bool:
    """Whether it tells the developer to connect first, which is nothing for a model."""
    return isinstance(exc, UserError) and "not initialized" in said(exc)


def _translated(exc: Exception) -> Exception:
    """The SDK's own exceptions, as what they say; any other as it is."""
    if type(exc) is AgentsException and isinstance(exc.__cause__, Exception):
        return _translated(exc.__cause__)
    text = said(exc)
    if isinstance(exc, ModelBehaviorError):
        return _arguments(exc)
    if isinstance(exc, UserError) and _MISSING in text:
        names = text.partition(_MISSING)[2].split(", ")
        fields = [FieldError([name], "Required", rule="required") for name in names]
        return ToolError("Invalid arguments.", code="VALIDATION_ERROR", fields=fields)
    if isinstance(exc, UserError) and (status := _STATUS.search(text)):
        return from_http(int(status[1]), {}, b"").replace(origin="peer", delivery="answered")
    if isinstance(exc, AgentsException):
        for words, code, message in _SAID:
            if words in text:
                return ToolError(message, code=code, effect=Effect.UNKNOWN, origin="local", delivery="unanswered")
    return exc


def _arguments(exc: ModelBehaviorError) -> ToolError:
    cause = exc.__cause__
    if hasattr(cause, "errors"):
        return from_pydantic(cause)
    # By default the SDK does not say what is wrong with them.
    return ToolError("The arguments are no JSON object that fits the tool's schema.", code="VALIDATION_ERROR")


__all__ = ["recovering", "tell"]
