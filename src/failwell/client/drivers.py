"""How to use each kind of client: make a fresh one, call, list, and answer in its own words.

One class per SDK, with the same methods. Only what the SDKs publish is used, so that a newer one has little to break.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any, Final, Protocol, cast

import anyio

from failwell.formats import META_KEY, MODERN_ERA, Outcome, to_result
from failwell.model import ToolError
from failwell.packages import unfit
from failwell.redact import DEFAULT
from failwell.sdk import GENERATION, CallToolResult, TextContent, field
from failwell.sdk import changed as changed_result

from .bridge import mask
from .transport import again, noting, own_process
from .witness import watched, watching

log = logging.getLogger("failwell.client")

Options = Mapping[str, Any]
Asking = Callable[[], AbstractContextManager[object]]
# Less than a call is given to end by itself when its time is up.
_CHECK_TIMEOUT: Final = 3.0
_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
# What a server can ask of a client while it works on a call; both SDKs use these names.
CALLBACKS: Final = ("elicitation_callback", "sampling_callback", "list_roots_callback")


class Driver(Protocol):
    """What recovering needs of a client."""

    sample: Any
    """The client that was given, which is never connected itself."""
    timeout: float | None
    """The client's own limit for one call."""

    @property
    def interactive(self) -> bool:
        """Whether a call may wait for a callback in its middle, and so for a person."""

    timeout_option: str
    """What the client calls the limit of one call."""
    options: tuple[str, ...]
    """The options of its `call_tool`."""
    positional: tuple[str, ...]
    """The options of `call_tool` that may be given without their names."""

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        """A client that was never connected; `ended` is called when its server hangs up, `asking` is entered for as
        long as one of its callbacks is at work, and `changed` is called when the server lists other tools."""

    def is_alive(self, client: Any) -> bool:
        """Whether the connection still stands, as far as the client knows."""

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        """Make the call; the result, or the error as a result, in the client's own type."""

    async def tools(self, client: Any) -> list[Any]:
        """All the tools that the server lists."""

    async def knock(self, client: Any) -> None:
        """Ask the server itself for something that it has to answer, and no cache can."""

    def failure(self, outcome: Outcome, era: str) -> Any:
        """An error as a result of the client's own type."""

    def with_meta(self, result: Any, outcome: Outcome, *, note: str = "") -> Any:
        """The server's own result, marked as the error it is, with the error in `_meta` and a note after its
        text."""

    def without(self, result: Any, secrets: tuple[str, ...]) -> Any:
        """The server's own result without what was sent for secret arguments."""

    def is_marked(self, result: Any) -> bool:
        """Whether a result says itself that it is an error."""

    def give(self, result: Any, options: Options) -> Any:
        """What `call_tool` returns, or raises, as the client itself does."""


def driver_for(client: Any) -> Driver:
    """The way to use a client, or a function that makes one."""
    sample, make = (client(), client) if _makes_clients(client) else (client, None)
    module = type(sample).__module__.partition(".")[0]
    bases = {base.__module__.partition(".")[0] for base in type(sample).__mro__}
    if module == "fastmcp" or "fastmcp" in bases:
        _hold_to("fastmcp", "fastmcp")
        from .older_fastmcp import OlderFastMCPDriver

        return FastMCPDriver(sample, make) if GENERATION == 2 else OlderFastMCPDriver(sample, make)
    if "mcp" in bases and hasattr(sample, "server"):
        _hold_to("client", "mcp")
        return _MCP(sample, make)
    if _is_session(sample) or (make is not None and hasattr(sample, "__aenter__")):
        _hold_to("client", "mcp")
        from .session_driver import SessionDriver

        return SessionDriver(sample, make)
    raise TypeError(
        f"Recovering takes an mcp.Client, a fastmcp.Client, an mcp.ClientSession, or a function that makes one, "
        f"not {type(sample).__name__}."
        + (" Give the transport to a client first." if hasattr(sample, "__aenter__") else "")
    )


@cache
def _hold_to(extra: str, package: str) -> None:
    """Refuse a client of a version that was never tried: it may work until something fails."""
    if (problem := unfit("failwell.client", extra, package)) is not None:
        raise problem


def _is_session(sample: Any) -> bool:
    return any(
        f"{base.__module__}.{base.__name__}" == "mcp.client.session.ClientSession" for base in type(sample).__mro__
    )


def _makes_clients(client: Any) -> bool:
    # A transport is callable too: contextlib makes it a decorator, which makes no client.
    return callable(client) and not hasattr(client, "call_tool") and not hasattr(client, "__aenter__")


def counted(callback: Callable[..., Awaitable[Any]], asking: Asking) -> Callable[..., Awaitable[Any]]:
    """A callback that is known to be at work while it is."""

    async def known(*given: Any, **options: Any) -> Any:
        with asking():
            return await callback(*given, **options)

    return known


def hearing(handler: Callable[[Any], Awaitable[None]] | None, changed: Callable[[], None]) -> Callable[[Any], Any]:
    """The client's handler of messages, which also tells that the tools of the server have changed."""

    async def heard(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", None) == _TOOLS_CHANGED:
            changed()
        if handler is not None:
            await handler(message)

    return heard


def keep_answers(client: Any) -> None:
    """See to it that no answer is lost because of what a connected client does after it.

    To check a result against its schema the SDK lists the tools, after the call and as a part of it. When that fails,
    it must not pass for a failure of the call, which might be made again: the answer is there, and counts as it came.
    """
    session: Any = getattr(client, "session", None)
    name_of_check = next((name for name in _CHECKS if hasattr(session, name)), None)
    if name_of_check is None:
        return
    check = getattr(session, name_of_check)

    async def checked(name: str, result: Any) -> None:
        try:
            # Nothing public tells whether it would list them. Where the SDK hides it elsewhere, it is taken to.
            if name in getattr(session, "_tool_output_schemas", ()):
                await check(name, result)
                return
            with anyio.move_on_after(_CHECK_TIMEOUT):
                await check(name, result)
        except RuntimeError:
            # It breaks its schema.
            raise
        except Exception:
            log.debug("A result could not be checked.", exc_info=True)

    setattr(session, name_of_check, checked)


def send_calls_once(client: Any) -> None:
    """See to it that a connected client sends `tools/call` once for each call, whatever it makes of the answer."""
    session: Any = getattr(client, "session", None)
    send = getattr(session, "call_tool", None)
    if send is None or hasattr(send, _SENDS_ONCE):
        return

    async def call_tool(*given: Any, **options: Any) -> Any:
        seen = watching.get()
        return await (send(*given, **options) if seen is None else seen.send_once(lambda: send(*given, **options)))

    setattr(call_tool, _SENDS_ONCE, True)
    session.call_tool = call_tool


_SENDS_ONCE: Final = "__failwell_sends_once__"
# What the two generations call it.
_CHECKS: Final = ("validate_tool_result", "_validate_tool_result")


class DriverBase:
    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        self.sample: Any = sample
        self._make = make
        self._used = False

    def _template(self) -> Any:
        """What a fresh client is made from: the first time what was given, later what the function makes."""
        first, self._used = not self._used, True
        return self.sample if first or self._make is None else self._make()

    async def knock(self, client: Any) -> None:
        # The newer protocol has no ping.
        await client.session.list_tools()

    def failure(self, outcome: Outcome, era: str) -> Any:
        return CallToolResult.model_validate(wire_result(outcome, era))

    def with_meta(self, result: Any, outcome: Outcome, *, note: str = "") -> Any:
        meta = marked_meta(result.meta, outcome)
        return changed_result(result, meta=meta, content=noted_content(result.content, note), is_error=True)

    def without(self, result: Any, secrets: tuple[str, ...]) -> Any:
        structured = mask(field(result, "structured_content"), secrets)
        return changed_result(result, content=_masked_content(result.content, secrets), structured_content=structured)

    def is_marked(self, result: Any) -> bool:
        return field(result, "is_error") is True

    def give(self, result: Any, options: Options) -> Any:
        return result


class _MCP(DriverBase):
    """mcp.Client."""

    timeout_option = "read_timeout_seconds"
    positional: tuple[str, ...] = ("read_timeout_seconds", "progress_callback")
    options: tuple[str, ...] = (*positional, "input_responses", "request_state", "meta")

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        if sample._entered:
            raise ValueError("Recovering opens the connection itself: give it a client that is not connected yet.")
        if type(sample.server).__module__.partition(".")[0] == "fastmcp":
            raise TypeError("mcp.Client does not reach a FastMCP server of this process; use fastmcp.Client(server).")
        self.timeout = sample.read_timeout_seconds

    @property
    def interactive(self) -> bool:
        return any(getattr(self.sample, name) is not None for name in CALLBACKS)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        from mcp.server import Server
        from mcp.server.mcpserver import MCPServer

        used = self._used
        template = self._template()
        server = template.server
        changes: dict[str, Any] = {
            name: counted(value, asking) for name in CALLBACKS if (value := getattr(template, name)) is not None
        }
        changes["message_handler"] = hearing(template.message_handler, changed)
        if isinstance(server, (Server, MCPServer)):
            return replace(template, **changes)
        cache = template.cache
        if isinstance(server, str) and cache is not None and cache.target_id is None:
            cache = replace(cache, target_id=server.partition("?")[0].rpartition("@")[2] or server)
        transport = again(server)
        if transport is None:
            if used and self._make is None:
                raise ToolError(
                    "This transport connects only once; give Recovering a function that makes the client.",
                    code="NOT_CONFIGURED",
                )
            transport = server
        return replace(template, server=watched(transport, ended), cache=cache, **changes)

    def is_alive(self, client: Any) -> bool:
        return True

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        return cast(
            "Awaitable[Any]",
            client.call_tool(tool, arguments, read_timeout_seconds=timeout, meta=meta or None, **options),
        )

    async def tools(self, client: Any) -> list[Any]:
        found: list[Any] = []
        cursor = None
        for _ in range(100):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return found


class FastMCPDriver(DriverBase):
    """fastmcp.Client."""

    timeout_option = "timeout"
    positional: tuple[str, ...] = ()
    options: tuple[str, ...] = ("version", "timeout", "progress_handler", "raise_on_error", "meta")

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        if sample.is_connected():
            raise ValueError("Recovering opens the connection itself: give it a client that is not connected yet.")
        self.timeout = sample._session_kwargs.get("read_timeout_seconds")

    @property
    def interactive(self) -> bool:
        return any(self.sample._session_kwargs.get(name) is not None for name in CALLBACKS)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        from fastmcp.client.transports import StdioTransport
        from fastmcp.client.transports.config import MCPConfigTransport

        template = copy.copy(self._template())
        kwargs = template._session_kwargs
        changes = {name: counted(kwargs[name], asking) for name in CALLBACKS if kwargs.get(name) is not None}
        template._session_kwargs = {**kwargs, **changes}
        # FastMCP gives this one to its extensions as well.
        template._elicitation_callback = changes.get("elicitation_callback")
        template._base_message_handler = hearing(template._base_message_handler, changed)
        client = template.new()
        if isinstance(client.transport, MCPConfigTransport) and len(client.transport.config.mcpServers) == 1:
            # It only passes on to the one there is.
            client.transport = client.transport.transport
        if hasattr(client.transport, "httpx_client_factory"):
            client.transport = noting(client.transport)
        elif isinstance(client.transport, StdioTransport):
            client.transport = own_process(client.transport)
        return client

    def is_alive(self, client: Any) -> bool:
        if not client.is_connected():
            return False
        # Nothing public tells that the server has hung up. Where the SDK hides it elsewhere, the next call tells.
        return not getattr(getattr(client.session, "_dispatcher", None), "_closed", False)

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        plain = {name: value for name, value in options.items() if name != "raise_on_error"}
        return cast(
            "Awaitable[Any]",
            client.call_tool(tool, arguments, timeout=timeout, meta=meta or None, raise_on_error=False, **plain),
        )

    async def tools(self, client: Any) -> list[Any]:
        return list(await client.list_tools())

    def failure(self, outcome: Outcome, era: str) -> Any:
        from fastmcp.client.client import CallToolResult as Result

        wire = CallToolResult.model_validate(wire_result(outcome, era))
        structured = field(wire, "structured_content")
        return Result(wire.content, structured, wire.meta, None, bool(field(wire, "is_error")))

    def without(self, result: Any, secrets: tuple[str, ...]) -> Any:
        structured = mask(result.structured_content, secrets)
        return replace(result, content=_masked_content(result.content, secrets), structured_content=structured)

    def is_marked(self, result: Any) -> bool:
        return result.is_error is True

    def with_meta(self, result: Any, outcome: Outcome, *, note: str = "") -> Any:
        meta = marked_meta(result.meta, outcome)
        return replace(result, meta=meta, content=noted_content(result.content, note), is_error=True, data=None)

    def give(self, result: Any, options: Options) -> Any:
        if not result.is_error or not options.get("raise_on_error", True):
            return result
        from fastmcp.exceptions import ToolError as Failed

        raise Failed(next((block.text for block in result.content if block.type == "text"), "The call failed."))


def wire_result(outcome: Outcome, era: str) -> dict[str, Any]:
    wire = to_result(outcome, era=era)
    if era < MODERN_ERA:
        wire.pop("resultType", None)
    wire["isError"] = wire.get("isError", True)
    return wire


def marked_meta(meta: Mapping[str, Any] | None, outcome: Outcome) -> dict[str, Any]:
    return {**(meta or {}), META_KEY: DEFAULT(outcome).to_dict()}


def _masked_content(content: list[Any], secrets: tuple[str, ...]) -> list[Any]:
    return [
        block.model_copy(update={"text": mask(block.text, secrets)}) if block.type == "text" else block
        for block in content
    ]


def noted_content(content: list[Any], note: str) -> list[Any]:
    """The blocks, with the note at the end of the first text: some agents show their model nothing else."""
    if not note:
        return content
    for place, block in enumerate(content):
        if block.type == "text":
            told = block.model_copy(update={"text": f"{block.text.rstrip()}\n\n{note}"})
            return [*content[:place], told, *content[place + 1 :]]
    return [TextContent(type="text", text=note), *content]
