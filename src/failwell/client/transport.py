"""Transports that were never used, made from one that was given, with what they see noted.

Whoever gives a transport gives its address, its headers, its HTTP client. Each connection gets one of its own. A
session comes with a transport that is open already: there the functions of the SDK are what can be watched.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, wraps
from importlib import import_module
from typing import Any, Final

from .witness import closed, watching, witnessed

# The functions by which the SDK's transports send, and whether their answers come with the POST.
_SENDING: Final = (
    ("mcp.client.streamable_http", "stream_within_origin", False),
    ("mcp.client.sse", "request_within_origin", True),
)


def again(given: Any) -> Any | None:
    """A transport of `mcp` like the one that was given; None for somebody's own, which may work only once.

    The SDK's are made by functions, and know which one, and what it was given. So does an address, or a command.
    """
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(given, str):
        given = streamable_http_client(given)
    elif isinstance(given, StdioServerParameters):
        given = stdio_client(given)
    function = getattr(given, "func", None)
    if not inspect.isasyncgenfunction(function) or function.__module__.partition(".")[0] != "mcp":
        return None
    signature = inspect.signature(function)
    call = signature.bind(*given.args, **given.kwds)
    make = asynccontextmanager(function)
    if "http_client" in signature.parameters:
        return _over_http(make, call)
    if factory := signature.parameters.get("httpx_client_factory"):
        plain = call.arguments.get("httpx_client_factory", factory.default)
        call.arguments["httpx_client_factory"] = lambda *args, **options: witnessed(plain(*args, **options), apart=True)
    return make(*call.args, **call.kwargs)


@asynccontextmanager
async def _over_http(make: Any, call: inspect.BoundArguments) -> AsyncIterator[Any]:
    from mcp.shared._httpx_utils import create_mcp_http_client

    given = call.arguments.get("http_client")
    if given is not None:
        # Whose it is closes it.
        if given.is_closed:
            raise closed()
        call.arguments["http_client"] = witnessed(given)
        async with make(*call.args, **call.kwargs) as streams:
            yield streams
        return
    async with witnessed(create_mcp_http_client()) as http:
        call.arguments["http_client"] = http
        async with make(*call.args, **call.kwargs) as streams:
            yield streams


@cache
def watch_sessions() -> None:
    """Note what is seen of calls over transports that were opened elsewhere. All else is sent as it was."""
    for name, function, apart in _SENDING:
        module = import_module(name)
        if (send := getattr(module, function, None)) is not None:
            setattr(module, function, _watched(send, apart))


def _watched(send: Callable[..., Any], apart: bool) -> Callable[..., Any]:
    @wraps(send)
    def sending(client: Any, *given: Any, **options: Any) -> Any:
        return send(client if watching.get() is None else witnessed(client, apart=apart), *given, **options)

    return sending


def own_process(transport: Any) -> Any:
    """A FastMCP transport like this one, with a process that ends with its connection.

    `new()` shares the transport. A connection that is closed while the next one opens would then close that one too.
    """
    from fastmcp.client.transports import StdioTransport

    if not type(transport).__module__.startswith("fastmcp."):
        # Somebody's own may do more than start a command.
        return transport
    given = (transport.command, transport.args, transport.env, transport.cwd)
    return StdioTransport(*given, keep_alive=False, log_file=transport.log_file)


def noting(transport: Any) -> Any:
    """A copy of a FastMCP transport whose HTTP clients are witnessed."""
    from fastmcp.client.transports import SSETransport
    from mcp.shared._httpx_utils import create_mcp_http_client

    given = transport.httpx_client_factory
    made = copy.copy(transport)
    apart = isinstance(transport, SSETransport)
    checked = None if given is not None else getattr(transport, "_make_verify_factory", lambda: None)()

    def factory(**options: Any) -> Any:
        if given is None:
            # Neither of the two takes it; both leave redirects to the SDK, as it wants them.
            options.pop("follow_redirects", None)
        return witnessed((given or checked or create_mcp_http_client)(**options), apart=apart)

    made.httpx_client_factory = factory
    return made
