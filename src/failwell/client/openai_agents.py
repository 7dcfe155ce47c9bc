"""For the OpenAI Agents SDK: failures that the model can act on, from MCP servers and from function tools.

    async with MCPServerStdio(params={...}) as server:
        agent = Agent(name="helper", mcp_servers=[recovering(server)])

    @function_tool(failure_error_function=tell)
    def find_user(id: int) -> str: ...

The SDK marks no error, so the text does: it begins with "Error: ".
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Final, TypeVar

from failwell.packages import needed

try:
    from agents import RunContextWrapper
    from agents.exceptions import AgentsException, ModelBehaviorError, UserError
    from agents.mcp import MCPServer
except ImportError as problem:
    raise needed(__name__, "openai-agents", problem) from None

from failwell.model import Effect, FieldError, Policy, ToolError, Traits
from failwell.observe import Events
from failwell.readers import exc_text, from_http, from_pydantic, from_schema
from failwell.recovery import schema_of, store_of
from failwell.sdk import CallToolResult

from .bridge import Bridge, RenderedFailure, raised

S = TypeVar("S", bound=MCPServer)

_MARK: Final = "Error: "
_MISSING: Final = "missing required parameters: "
# What the SDK says in place of a transport's exception, which it does not keep.
_LOST: Final = ("Connection lost", "Connection timeout", "Request failed", "was cancelled")


def recovering(server: S, *, policy: Policy | None = None, events: Events | None = None) -> S:
    """The same server, which now waits failures out where that is safe, and answers the others with one clear text.

    Its own `max_retry_attempts` are set to none: they repeat whatever fails, also a payment that may have gone through.
    What its calls have shown so far is kept with it: a tool that fails again and again is left alone for a while.
    """
    if hasattr(server, "max_retry_attempts"):
        server.max_retry_attempts = 0
    # Of the class: to ask again changes the policy and does not repeat the repetitions.
    plain = type(server).call_tool
    # Before 0.8 the SDK has no way to send it, and servers of one's own need not have one.
    taken = signature(plain).parameters.values()
    takes_meta = any(each.name == "meta" or each.kind is each.VAR_KEYWORD for each in taken)
    bridge = Bridge(policy, events=events)

    async def call_tool(
        tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        listed = getattr(server, "cached_tools", None) or getattr(server, "_tools_list", None) or ()
        bridge.tools = {tool.name: tool for tool in listed}
        call = bridge.call(bridge.tools.get(tool_name, tool_name), arguments, meta)

        async def send() -> CallToolResult:
            capabilities = getattr(getattr(server, "session", None), "server_capabilities", None)
            call.run.use_key(store_of(capabilities) if takes_meta else None, call.tools)
            sent = call.meta if takes_meta else None
            return await plain(server, tool_name, arguments, **({"meta": dict(sent)} if sent else {}))

        def translate(exc: Exception) -> Exception:
            schema = schema_of(bridge.tools.get(tool_name)) if _is_missing(exc) else None
            return (from_schema(schema, arguments or {}, tool=tool_name) if schema else None) or _translated(exc)

        result: CallToolResult = await call.attempt_result(send, _marked, translate=translate, passes=_is_misuse)
        return result

    server.call_tool = call_tool  # type: ignore[method-assign]
    return server


def tell(context: RunContextWrapper[Any], error: Exception) -> str:
    """The text for a tool that raised: a `failure_error_function` for function tools, servers and agents.

    >>> print(tell(RunContextWrapper(None), ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)))
    Error: Too many requests. Wait 30 seconds, then make the same call again.
    """
    # A call of a tool has a context that names it.
    tool = Traits.of(getattr(context, "tool_name", None))
    return _marked(Bridge().settle(raised(_translated(error), nature=tool.nature), tool))


def _marked(told: RenderedFailure) -> str:
    return _MARK + told.text.removeprefix(_MARK) if told.is_error else told.text


def _is_misuse(exc: Exception) -> bool:
    """Whether it tells the developer to connect first, which is nothing for a model."""
    return isinstance(exc, UserError) and "not initialized" in exc_text(exc)


def _is_missing(exc: Exception) -> bool:
    """Whether the SDK itself refuses the arguments: it looks at which are there, and at nothing else."""
    return isinstance(exc, UserError) and _MISSING in exc_text(exc)


def _translated(exc: Exception) -> Exception:
    """The SDK's own exceptions, as what they say; any other as it is."""
    if type(exc) is AgentsException and isinstance(exc.__cause__, Exception):
        return _translated(exc.__cause__)
    if isinstance(exc, ModelBehaviorError):
        if hasattr(exc.__cause__, "errors"):
            return from_pydantic(exc.__cause__)
        # By default the SDK does not say what is wrong with them.
        return ToolError("The arguments are no JSON object that fits the tool's schema.", code="VALIDATION_ERROR")
    text = exc_text(exc)
    if _is_missing(exc):
        fields = [FieldError((name,), "Required", rule="required") for name in text.partition(_MISSING)[2].split(", ")]
        return ToolError("Invalid arguments.", code="VALIDATION_ERROR", fields=fields)
    status = text.rpartition("HTTP error ")[2]
    if isinstance(exc, UserError) and status.isdigit():
        return from_http(int(status), {}, b"").replace(origin="peer", delivery="answered")
    if isinstance(exc, AgentsException) and any(words in text for words in _LOST):
        lost: dict[str, Any] = {"effect": Effect.UNKNOWN, "origin": "local", "delivery": "unanswered"}
        return ToolError("The connection to the server broke off.", code="NETWORK_ERROR", **lost)
    return exc


__all__ = ["recovering", "tell"]
