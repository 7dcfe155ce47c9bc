"""The MCP SDK that is installed, whichever generation it is: 1.x and 2.x have other names for the same things.

Other modules import the SDK's types from here, by the names of 2.x.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp.shared import exceptions

__all__ = [
    # which one
    "GENERATION",
    "IS_ERROR",
    "client_methods",
    "wrong_params",
    # its types
    "CallToolResult",
    "ContentBlock",
    "ElicitResult",
    "ErrorData",
    "InputRequiredResult",
    "JSONRPCError",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "MCPError",
    "TextContent",
    "ToolAnnotations",
    "types",
    # how to use them
    "changed",
    "enclosed",
    "field",
    "protocol_error",
    "result",
]

T = TypeVar("T")

GENERATION: Final = 2 if hasattr(exceptions, "MCPError") else 1

# The attributes of the SDK's models, where 1.x has the names of the wire.
_ON_THE_WIRE: Final = {
    "is_error": "isError",
    "structured_content": "structuredContent",
    "input_schema": "inputSchema",
    "output_schema": "outputSchema",
    "next_cursor": "nextCursor",
}
_ATTRIBUTES: Final[dict[str, str]] = {} if GENERATION == 2 else _ON_THE_WIRE
IS_ERROR: Final = _ATTRIBUTES.get("is_error", "is_error")
"""The attribute by which a result says that it is an error."""

if TYPE_CHECKING:
    types: Any
    from mcp.shared.exceptions import MCPError
    from mcp_types import (
        CallToolResult,
        ContentBlock,
        ElicitResult,
        ErrorData,
        InputRequiredResult,
        JSONRPCError,
        JSONRPCNotification,
        JSONRPCRequest,
        JSONRPCResponse,
        TextContent,
        ToolAnnotations,
    )
else:
    types = import_module("mcp_types" if GENERATION == 2 else "mcp.types")
    MCPError = exceptions.MCPError if GENERATION == 2 else exceptions.McpError
    CallToolResult, TextContent, ToolAnnotations = types.CallToolResult, types.TextContent, types.ToolAnnotations
    ErrorData, JSONRPCError = types.ErrorData, types.JSONRPCError
    JSONRPCNotification, JSONRPCRequest = types.JSONRPCNotification, types.JSONRPCRequest
    JSONRPCResponse = types.JSONRPCResponse
    # 1.9 has neither questions to the user nor this name for what stands in a result.
    ContentBlock = getattr(types, "ContentBlock", Any)
    ElicitResult = getattr(types, "ElicitResult", None)

    class _NoQuestion:
        """In 1.x no result asks the user for something."""

    InputRequiredResult = getattr(types, "InputRequiredResult", _NoQuestion)


def client_methods() -> frozenset[str]:
    """What a client may ask."""
    if GENERATION == 2:
        from mcp_types.methods import SPEC_CLIENT_METHODS

        return frozenset(SPEC_CLIENT_METHODS)
    return frozenset(_kinds())


def protocol_error(code: int, message: str, data: Any = None) -> MCPError:
    """An error of the protocol, to be raised."""
    made: MCPError = (
        MCPError(code=code, message=message, data=data)
        if GENERATION == 2
        else MCPError(ErrorData(code=code, message=message, data=data))  # type: ignore[call-arg, arg-type]
    )
    return made


def field(model: Any, name: str) -> Any:
    """A field of one of the SDK's models; None where this generation has none."""
    return getattr(model, _ATTRIBUTES.get(name, name), None)


def changed(model: T, **changes: Any) -> T:
    """A model of the SDK's with other values in some of its fields."""
    named = {_ATTRIBUTES.get(name, name): value for name, value in changes.items()}
    made: T = model.model_copy(update=named)  # type: ignore[attr-defined]
    return made


def result(content: list[Any], **fields: Any) -> CallToolResult:
    """A result of a tool, with the other fields that it has."""
    given = {_ON_THE_WIRE.get(name, "_meta" if name == "meta" else name): value for name, value in fields.items()}
    made: CallToolResult = CallToolResult.model_validate({"content": content, **given})
    return made


def enclosed(message: Any) -> Any:
    """A message of the SDK's around a request, an answer or a notification; 2.x has no such thing."""
    return message if GENERATION == 2 else types.JSONRPCMessage(message)


def wrong_params(method: str, params: Any) -> Exception | None:
    """What 1.x has against the parameters of a request; its own answer does not say. None for what it has nothing
    against."""
    kind = _kinds().get(method)
    try:
        if kind is not None:
            kind.model_validate({"method": method, **({} if params is None else {"params": params})})
    except ValueError as problem:
        return problem
    return None


def _kinds() -> dict[str, Any]:
    """The models of 1.x for what a client may ask, by their methods."""
    union: Any = types.ClientRequest.model_fields["root"].annotation
    return {kind.model_fields["method"].annotation.__args__[0]: kind for kind in union.__args__}
