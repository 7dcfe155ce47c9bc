"""A server of an author of contract 004: its own listings, pasted unchanged, and the same with Failwell.

    python jsonrpc_server.py SERVER stdio|http LEDGER OPTIONS

SERVER is `mcpserver`, `fastmcp` or `lowlevel`. OPTIONS are the options of `install` as JSON; `--bare` is none, `names` is
given to `Guard.make`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

import mcp_types as types
from fastmcp.exceptions import McpError
from mcp_types import ToolAnnotations
from shop_server import ask_bank, run_http, run_stdio

import failwell as fw
from failwell.examples.routers.devices import DEVICE, VALIDATION
from failwell.redact import Guard
from failwell.server import tool_errors

READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
logger = logging.getLogger("author")
T = TypeVar("T")

# The contract's own listings. Only what they left open (types of a device) is filled in.


def raise_device_not_found(device_id: str) -> None:
    """Raise NOT_FOUND error for missing device."""
    raise McpError(
        code=-32003,
        message="Not Found",
        data={
            "mcp_error_code": "NOT_FOUND",
            "details": f"Device '{device_id}' not found in registry",
            "device_id": device_id,
            "resource_type": "device",
        },
    )


def raise_device_not_found_intent_based(device_id: str, available_devices: list[str]) -> None:
    suggestion = (
        f"Device '{device_id}' not found in registry. "
        f"Available devices: {', '.join(available_devices[:5])}. "
        f"Use registry/list to see all devices, or registry/add to add a new device."
    )
    raise McpError(
        code=-32003,
        message="Device Not Found",
        data={
            "mcp_error_code": "NOT_FOUND",
            "details": suggestion,
            "device_id": device_id,
            "available_device_count": len(available_devices),
            "suggestions": [
                "Use registry/list to see all available devices",
                "Check device_id spelling and try again",
                f"Use registry/add to add '{device_id}' to the registry",
            ],
        },
    )


class ErrorRecoveryStrategy(str, Enum):  # noqa: UP042 - as the contract prints it
    """Error recovery strategies for clients."""

    RETRY_WITH_BACKOFF = "retry_with_backoff"
    USER_ACTION_REQUIRED = "user_action_required"
    FIX_AND_RETRY = "fix_and_retry"
    REPORT_AND_ABORT = "report_and_abort"


def create_actionable_error(
    code: int, mcp_error_code: str, details: str, recovery_strategy: ErrorRecoveryStrategy, **context: Any
) -> Any:
    error_data = {
        "mcp_error_code": mcp_error_code,
        "details": details,
        "recovery_strategy": recovery_strategy.value,
        **context,
    }
    if recovery_strategy == ErrorRecoveryStrategy.RETRY_WITH_BACKOFF:
        error_data["suggestion"] = (
            f"Wait {context.get('retry_after', 60)} seconds and retry. This is likely a temporary issue."
        )
    elif recovery_strategy == ErrorRecoveryStrategy.USER_ACTION_REQUIRED:
        error_data["suggestion"] = "User intervention required. Check permissions or configuration and try again."
    elif recovery_strategy == ErrorRecoveryStrategy.FIX_AND_RETRY:
        error_data["suggestion"] = (
            "Fix the input parameters based on the validation errors below, then retry the request."
        )
    elif recovery_strategy == ErrorRecoveryStrategy.REPORT_AND_ABORT:
        error_data["suggestion"] = "This error cannot be resolved automatically. Report to system administrator."
    message_map = {
        -32003: "Not Found",
        -32002: "Forbidden",
        -32005: "Validation Error",
        -32006: "Rate Limited",
        -32007: "Timeout",
        -32010: "Device Unreachable",
        -32011: "Device Authentication Failed",
        -32012: "Device Error",
    }
    message = message_map.get(code, "Error")
    return McpError(code=code, message=message, data=error_data)


def raise_device_unreachable(device_id: str, timeout: float) -> None:
    raise create_actionable_error(
        code=-32010,
        mcp_error_code="DEVICE_UNREACHABLE",
        details=f"Connection timeout after {timeout} seconds",
        recovery_strategy=ErrorRecoveryStrategy.RETRY_WITH_BACKOFF,
        device_id=device_id,
        timeout_seconds=timeout,
        retry_after=60,
    )


def raise_validation_error(field: str, value: Any, expected: str) -> None:
    raise create_actionable_error(
        code=-32005,
        mcp_error_code="VALIDATION_ERROR",
        details=f"Invalid value for field '{field}': {value}",
        recovery_strategy=ErrorRecoveryStrategy.FIX_AND_RETRY,
        field=field,
        value=str(value),
        expected=expected,
        suggestion=f"Provide a valid {expected} for field '{field}'",
    )


def create_token_efficient_error(
    code: int,
    mcp_error_code: str,
    short_details: str,
    full_details: str | None = None,
    **context: Any,
) -> Any:
    error_data = {"mcp_error_code": mcp_error_code, "details": short_details, **context}
    if full_details:
        error_data["_debug_details"] = full_details
    message_map = {
        -32003: "Not Found",
        -32002: "Forbidden",
        -32005: "Validation Error",
        -32010: "Device Unreachable",
    }
    message = message_map.get(code, "Error")
    return McpError(code=code, message=message, data=error_data)


def raise_device_error_concise(device_id: str, routeros_error: str) -> None:
    raise create_token_efficient_error(
        code=-32012,
        mcp_error_code="DEVICE_ERROR",
        short_details=f"RouterOS error: {routeros_error[:100]}",
        full_details=routeros_error,
        device_id=device_id,
        suggestion="Check device configuration or parameters",
    )


def handle_tool_errors(tool_name: str, tier: str) -> Any:
    def decorator(func: Callable[..., T]) -> Callable[..., T]:
        @wraps(func)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                return await func(*args, **kwargs)  # type: ignore[misc]
            except ValueError as e:
                logger.error(f"Validation error in {tool_name}: {e}")
                raise create_actionable_error(  # noqa: B904
                    code=-32005,
                    mcp_error_code="VALIDATION_ERROR",
                    details=str(e),
                    recovery_strategy=ErrorRecoveryStrategy.FIX_AND_RETRY,
                    tool_name=tool_name,
                    tool_tier=tier,
                )
            except PermissionError as e:
                logger.error(f"Permission denied in {tool_name}: {e}")
                raise create_actionable_error(  # noqa: B904
                    code=-32002,
                    mcp_error_code="FORBIDDEN",
                    details=str(e),
                    recovery_strategy=ErrorRecoveryStrategy.USER_ACTION_REQUIRED,
                    tool_name=tool_name,
                    tool_tier=tier,
                )
            except TimeoutError as e:
                logger.error(f"Timeout in {tool_name}: {e}")
                raise create_actionable_error(  # noqa: B904
                    code=-32007,
                    mcp_error_code="TIMEOUT",
                    details=str(e),
                    recovery_strategy=ErrorRecoveryStrategy.RETRY_WITH_BACKOFF,
                    tool_name=tool_name,
                    retry_after=60,
                )
            except Exception as e:
                logger.exception(f"Unexpected error in {tool_name}: {e}")
                raise create_actionable_error(  # noqa: B904
                    code=-32000,
                    mcp_error_code="INTERNAL_ERROR",
                    details=f"Unexpected error: {type(e).__name__}",
                    recovery_strategy=ErrorRecoveryStrategy.REPORT_AND_ABORT,
                    tool_name=tool_name,
                    error_type=type(e).__name__,
                )

        return wrapper  # type: ignore[return-value]

    return decorator


# By hand: every way in which the contract raises one.


def raise_by_hand(which: str) -> Any:
    if which == "not_found":
        raise_device_not_found("dev-unknown")
    elif which == "intent":
        raise_device_not_found_intent_based("dev-x", ["dev-a", "dev-b"])
    elif which == "unreachable":
        raise_device_unreachable("dev-lab-01", 5.0)
    elif which == "validation":
        # Its own listing passes `suggestion` twice; what the strategy says wins there.
        raise_validation_error("ip_address", "192.168.1.999", "IPv4 address")
    elif which == "concise":
        raise_device_error_concise("dev-lab-01", "failure: no such item (4), " * 10)
    elif which == "positional":
        raise McpError(-32012, "Device Error", {"details": "The device is busy."})
    elif which == "bare":
        raise McpError(-32003, "Device not found")
    elif which == "configuration":
        raise McpError(-32020, "Invalid Configuration", {"mcp_error_code": "INVALID_CONFIGURATION", "details": "Off."})
    elif which == "params":
        raise McpError(-32602, "Invalid params", {"details": "Device 'dev-unknown' not found in registry"})
    elif which == "own":
        raise McpError(-32077, "Out of Paper", {"mcp_error_code": "OUT_OF_PAPER", "details": "No paper.", "tray": 2})
    elif which == "secret":
        raise McpError(
            -32012,
            "Device Error",
            {
                "mcp_error_code": "DEVICE_ERROR",
                "details": "password=hunter2secret rejected",
                "password": "hunter2secret",
            },
        )
    return which


def fail(cause: str) -> Any:
    if cause.isdigit():
        ask_bank(int(cause))
    elif cause == "value":
        raise ValueError("device_id must start with dev-")
    elif cause == "permission":
        raise PermissionError("Only an administrator may do this.")
    elif cause == "timeout":
        raise TimeoutError("No answer in 5 seconds.")
    elif cause == "crash":
        raise RuntimeError("broken")
    elif cause == "refused":
        raise ConnectionRefusedError(111, "Connection refused")
    elif cause == "conflict":
        raise fw.Conflict("Device with name 'lab-router-01' already exists", details={"device_name": "lab-router-01"})
    elif cause == "own":
        raise fw.ToolError("Out of paper.", code="OUT_OF_PAPER", kind="conflict")
    return cause


def get_hand(which: str) -> Any:
    return raise_by_hand(which)


def pay_hand(which: str) -> Any:
    return raise_by_hand(which)


def frob_hand(which: str) -> Any:
    return raise_by_hand(which)


@handle_tool_errors(tool_name="get_handled", tier="fundamental")
async def get_handled(cause: str) -> Any:
    return fail(cause)


@handle_tool_errors(tool_name="pay_handled", tier="fundamental")
async def pay_handled(cause: str) -> Any:
    return fail(cause)


@tool_errors(tool_name="get_ours", tier="fundamental")
async def get_ours(cause: str) -> Any:
    return fail(cause)


@tool_errors(tool_name="pay_ours", tier="fundamental")
async def pay_ours(cause: str) -> Any:
    return fail(cause)


def get_plain(cause: str) -> Any:
    return fail(cause)


def pay_plain(cause: str) -> Any:
    return fail(cause)


CONTEXT: dict[str, Any] = {
    "device_id": "dev-1",
    "tool_tier": "advanced",
    "required_flag": "allow_advanced_writes",
    "recovery_strategy": "user_action_required",
    "suggestion": "Enable advanced operations, or use a different device.",
    "next_steps": ["Use registry/update", "Contact administrator"],
    "alternatives": [{"tool": "registry/list", "description": "List devices", "arguments": {"environment": "lab"}}],
    "retry_after": 45,
    "field": "ip_address",
    "value": "192.168.1.999",
    "expected": "Valid IPv4 or IPv6 address",
    "tool_name": "system/get-overview",
}
MANY = [{"field": "device_id", "message": "Required field missing"}, {"field": "dns", "message": "Must be array"}]


def get_context(many: bool = False) -> Any:
    details = {**CONTEXT, "errors": MANY} if many else CONTEXT
    raise fw.ToolError("Device 'dev-1' does not allow advanced writes", code="FORBIDDEN", details=details)


def get_template(name: str) -> Any:
    raise {**DEVICE, **VALIDATION}[name].error(
        device_id="dev-1", management_address="10.0.0.1:443", error_summary="no such item", field="ip", value="1.2.3"
    )


SECRET = "Zq8vTr3mXw"
SAID = [
    f"failure: wpa-pre-shared-key={SECRET} is too short",
    f"set wpa2-pre-shared-key={SECRET} failed",
    f"authentication-key={SECRET}",
    f"tcp-md5-key={SECRET} rejected",
    f"static-key-0={SECRET}",
    f"invalid value {SECRET} for argument password",
    f"site-code={SECRET} is no code",
]


def get_secret(number: int) -> Any:
    raise fw.ToolError("RouterOS error", code="DEVICE_ERROR", details={"routeros_error": SAID[number]})


def get_typed(device_id: str, limit: int) -> Any:
    return device_id


TOOLS: dict[Callable[..., Any], dict[str, Any]] = {
    **{fn: {"annotations": READS} for fn in (get_hand, get_handled, get_ours, get_plain, get_context, get_template)},
    **{fn: {"annotations": WRITES} for fn in (pay_hand, pay_handled, pay_ours, pay_plain)},
    **{fn: {"annotations": READS} for fn in (get_secret, get_typed)},
    frob_hand: {},
}


def mcpserver() -> Any:
    from mcp.server import MCPServer

    server: Any = MCPServer("routers", log_level="CRITICAL")
    for fn, given in TOOLS.items():
        server.add_tool(fn, structured_output=False, **given)
    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP

    server: Any = FastMCP("routers")
    for fn, given in TOOLS.items():
        server.tool(fn, **given)
    return server


def lowlevel() -> Any:
    from mcp.server.lowlevel import Server

    listed = asyncio.run(mcpserver().list_tools())
    functions = {fn.__name__: fn for fn in TOOLS}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> Any:
        if params.name not in functions:
            raise McpError(-32602, f"Unknown tool: {params.name}")
        done = functions[params.name](**(params.arguments or {}))
        done = await done if asyncio.iscoroutine(done) else done
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(done))])

    return Server("routers", on_list_tools=list_tools, on_call_tool=call_tool)


def note(ledger: str, line: str) -> None:
    with open(ledger, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def main() -> None:
    kind, transport, ledger, given = sys.argv[1:5]
    server = {"mcpserver": mcpserver, "fastmcp": fastmcp, "lowlevel": lowlevel}[kind]()
    logger.setLevel("CRITICAL")
    if given != "--bare":
        import failwell.server

        options = json.loads(given)
        if names := options.pop("names", None):
            options["guard"] = Guard.make(names=names)
        handler = logging.FileHandler(ledger)
        handler.setFormatter(
            logging.Formatter("log %(tool_name)s %(mcp_error_code)s %(error_code)s", defaults={"error_code": "-"})
        )
        log = logging.getLogger("failwell.server")
        log.setLevel("INFO")
        log.addHandler(handler)
        options["hooks"] = [
            lambda event: note(ledger, f"event {event.tool} {event.error.code}") if event.error else None
        ]
        failwell.server.install(server, **{**options, "wire": {"client": None, **options.get("wire", {})}})
    if transport == "stdio":
        asyncio.run(run_stdio(kind, server))
    else:
        run_http(kind, server)


if __name__ == "__main__":
    main()
