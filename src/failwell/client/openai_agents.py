"""For the OpenAI Agents SDK: failures of MCP servers that the model can act on.

    async with MCPServerStdio(params={...}) as server:
        agent = Agent(name="helper", mcp_servers=[recovering(server)])

The SDK marks no error, so the text does: it begins with "Error: ".
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Final, TypeVar

from failwell.packages import needed

try:
    from agents.exceptions import AgentsException, UserError
    from agents.mcp import MCPServer
except ImportError as problem:
    raise needed(__name__, "openai-agents", problem) from None

from failwell.model import Effect, FieldError, Policy, ToolError
from failwell.observe import Events
from failwell.readers import exc_text, from_http, from_schema
from failwell.recovery import schema_of, store_of
from failwell.sdk import CallToolResult

from .bridge import Bridge, RenderedFailure

S = TypeVar("S", bound=MCPServer)

_MARK: Final = "Error: "
_MISSING: Final = "missing required parameters: "
# What the SDK says in place of a transport's exception, which it does not keep.
_LOST: Final = ("Connection lost", "Connection timeout", "Request failed", "was cancelled")


def recovering(server: S, *, policy: Policy | None = None, events: Events | None = None) -> S:
    """The same server, which now waits failures out where that is safe, and answers the others with one clear text.

    Its own `max_retry_attempts` are set to none: they repeat whatever fails, also a payment that may have gone through.
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

        def passes(exc: Exception) -> bool:
            # To connect first is told to the developer, and nothing for a model.
            return isinstance(exc, UserError) and "not initialized" in exc_text(exc)

        def translate(exc: Exception) -> Exception:
            return _translated(exc, schema_of(bridge.tools.get(tool_name)), arguments or {}, tool_name)

        result: CallToolResult = await call.attempt_result(send, _marked, translate=translate, passes=passes)
        return result

    server.call_tool = call_tool  # type: ignore[method-assign]
    return server


def _marked(told: RenderedFailure) -> str:
    return _MARK + told.text.removeprefix(_MARK) if told.is_error else told.text


def _translated(exc: Exception, schema: dict[str, Any] | None, arguments: dict[str, Any], tool: str) -> Exception:
    """The SDK's own exceptions, as what they say; any other as it is."""
    text = exc_text(exc)
    if isinstance(exc, UserError) and _MISSING in text:
        # The SDK looks at which arguments are there, and at nothing else.
        fields = [FieldError((name,), "Required", rule="required") for name in text.partition(_MISSING)[2].split(", ")]
        found = from_schema(schema, arguments, tool=tool) if schema else None
        return found or ToolError("Invalid arguments.", code="VALIDATION_ERROR", fields=fields)
    status = text.rpartition("HTTP error ")[2]
    if isinstance(exc, UserError) and status.isdigit():
        return from_http(int(status), {}, b"").replace(origin="peer", delivery="answered")
    if isinstance(exc, AgentsException) and any(words in text for words in _LOST):
        lost: dict[str, Any] = {"effect": Effect.UNKNOWN, "origin": "local", "delivery": "unanswered"}
        return ToolError("The connection to the server broke off.", code="NETWORK_ERROR", **lost)
    return exc


__all__ = ["recovering"]
