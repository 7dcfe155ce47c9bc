"""Rows for the exceptions of the frameworks themselves: what their authors' `raise ToolError(...)` means to us."""

from __future__ import annotations

from typing import Any, Final

from failwell.formats import parse
from failwell.model import ToolError, frames, is_frameworks_module, seconds
from failwell.readers import SHIPPED, broken, classify, exc_text, shorten_text, timed_out, with_words

from .exception_reader import PROTOCOL_ERRORS, is_clients, own_error
from .served_call import URL_ELICITATION, Abandoned, BrokenResult, UnwritableResult, current

# How the frameworks begin the text of what they wrapped; the cause says more.
_WRAPPED: Final = ("Error executing tool ", "Error calling tool ", "Error reading resource ", "Error rendering prompt ")


@SHIPPED.maps(
    "mcp.server.mcpserver.exceptions.MCPServerError",
    "fastmcp.exceptions.FastMCPError",
    "mcp.server.fastmcp.exceptions.FastMCPError",
    "mcp.server.mcpserver.exceptions.ToolError",
)
def deliberate(exc: Exception) -> ToolError | None:
    """A failure the author saw coming: their words, and what these say. What it came from has nothing to add: whoever
    writes "Paid, but the receipt could not be mailed" has said what there is to know."""
    message = shorten_text(exc_text(exc))
    if exc.__cause__ is not None and message.startswith(_WRAPPED):
        return None
    if is_clients(exc):
        # Another server's word about a call that the tool made of it, which is not this one.
        return _passed_on(ToolError(code="UPSTREAM_ERROR"), message)
    names = [str(trace.tb_frame.f_globals.get("__name__")) for trace in frames(exc)]
    is_frameworks = names[-1:] and names[-1].startswith(("fastmcp.", "mcp."))
    if is_frameworks and not all(map(is_frameworks_module, names)):
        # The framework itself raised it, to a tool that was at work: a question that cannot be asked, say.
        return ToolError(message, code="INTERNAL_ERROR")
    # Words of the author, or of the framework about a call that never reached its tool; what they say of the effect is
    # only what they say.
    error = ToolError(message or "The tool failed.")
    error.authored, error.standing = True, "quoted"
    return error


def _passed_on(error: ToolError, words: str) -> ToolError:
    """What another server says, as this one says it."""
    return error.replace(message=with_words("Another server failed.", words), origin=None, format=None, confidence=None)


@SHIPPED.maps(
    "mcp.server.mcpserver.exceptions.UnexpectedToolError",
    "mcp.server.mcpserver.exceptions.UnexpectedResourceError",
)
def unexpected(exc: Exception) -> ToolError:
    """A crash, wrapped by the framework."""
    return classify(exc.__cause__) if exc.__cause__ is not None else broken(exc)


@SHIPPED.maps("mcp.server.mcpserver.exceptions.ResourceNotFoundError", "fastmcp.exceptions.NotFoundError")
def not_found(exc: Exception) -> ToolError:
    return ToolError(exc_text(exc) or "It does not exist.", code="NOT_FOUND")


@SHIPPED.maps("fastmcp.exceptions.DisabledError")
def disabled(exc: Exception) -> ToolError:
    return ToolError("It is switched off.", code="NOT_FOUND")


def _refused(error: ToolError) -> ToolError:
    """What a framework says before it lets a call through to its tool."""
    error.authored = True
    return error


@SHIPPED.maps("fastmcp.exceptions.AuthorizationError")
def unauthorised(exc: Exception) -> ToolError:
    return _refused(ToolError(exc_text(exc) or "The caller may not do this.", code="FORBIDDEN"))


@SHIPPED.maps("fastmcp.exceptions.InsufficientScopeError")
def missing_scope(exc: Any) -> ToolError:
    scopes = [str(scope) for scope in exc.required_scopes]
    return _refused(
        ToolError(
            "The caller's token lacks a permission that this needs.",
            code="FORBIDDEN",
            details={"required_scopes": scopes},
            suggestion=f"Ask the user to sign in again with: {', '.join(scopes)}." if scopes else None,
        )
    )


@SHIPPED.maps("fastmcp.server.middleware.rate_limiting.RateLimitError")
def rate_limited(exc: Exception) -> ToolError:
    return _refused(ToolError("Too many requests.", code="RATE_LIMITED"))


@SHIPPED.maps(*PROTOCOL_ERRORS)
def protocol_error(exc: Any) -> ToolError | None:
    """A JSON-RPC error raised as an exception keeps its number and its data."""
    from_client, is_own = is_clients(exc), own_error(exc) is not None
    raised = [trace.tb_frame.f_globals.get("__name__") for trace in frames(exc)][-1:]
    # The tool took longer than its author allows. FastMCP takes the cause off, which stays in the context.
    is_over_time = raised == ["fastmcp.tools.function_tool"] and isinstance(exc.__context__, TimeoutError)
    exc = exc.error
    if exc.code == URL_ELICITATION:
        asked = exc.data.get("elicitations") if isinstance(exc.data, dict) else None
        pages = [str(each["url"]) for each in asked or () if isinstance(each, dict) and each.get("url")]
        how = f"Ask the user to open {' and '.join(pages)}, then make the same call again." if pages else None
        details = {"elicitations": asked} if asked else None
        return _refused(ToolError(exc.message, code="UNAUTHORIZED", suggestion=how, details=details))
    if is_over_time or (from_client and exc.code in _TIMED_OUT):
        return timed_out()
    data = exc.data if isinstance(exc.data, dict) else {}
    delay = next((wait for name in _DELAYS if (wait := seconds(data.get(name))) is not None), None)
    if delay is not None and "mcp_error_code" not in data:
        # The number is somebody's own; that it is a matter of waiting is plain.
        return ToolError(
            exc.message,
            code=str(exc.code),
            kind="transient",
            retry_after=delay,
            details={**data, "jsonrpc_code": exc.code},
        )
    read = parse({"code": exc.code, "message": exc.message, "data": exc.data}, format="jsonrpc")
    if not isinstance(read, ToolError):
        read = ToolError(exc.message, code=str(exc.code), details=None if exc.data is None else {"data": exc.data})
    if from_client:
        return _passed_on(read, read.message)
    # It is ours now, not something read from a peer.
    return read.replace(origin=None, format=None, confidence=None, authored=is_own or None)


_DELAYS: Final = ("retry_after", "retryAfter", "retry_after_seconds")
# What the SDKs say where no answer came in time.
_TIMED_OUT: Final = (-32001, 408)


@SHIPPED.maps(Abandoned)
def abandoned(exc: Abandoned) -> ToolError:
    return ToolError("A part of the tool's work was cancelled.", code="INTERNAL_ERROR", effect="unknown")


@SHIPPED.maps(BrokenResult)
def broken_result(exc: BrokenResult) -> ToolError:
    return ToolError("The tool's result does not have the form that the tool promises.", code="INTERNAL_ERROR")


@SHIPPED.maps(UnwritableResult)
def unwritable_result(exc: UnwritableResult) -> ToolError:
    call = current.get()
    # Contract 003 has a code for just this.
    code = "serialization_error" if call is not None and call.enveloped else "INTERNAL_ERROR"
    return ToolError("The tool's result cannot be written as JSON.", code=code, kind="internal")
