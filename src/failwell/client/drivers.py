"""How to use each kind of client: make a fresh one, call, list, and answer in its own words.

One class per SDK, for both of its generations. Mostly what the SDKs publish is used, so that a newer one has little to
break.
"""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any, Final, cast

import anyio
from mcp.client.session import ClientSession

from failwell.formats import META_KEY, MODERN_ERA, Outcome, to_result
from failwell.model import ToolError
from failwell.packages import MissingPackage, unfit
from failwell.redact import DEFAULT
from failwell.sdk import GENERATION, CallToolResult, TextContent, field, types
from failwell.sdk import changed as changed_result

from .bridge import mask
from .http_trace import active_trace, copy_fastmcp_transport, copy_transport, trace_sessions, watch_transport

log = logging.getLogger("failwell.client")

Options = Mapping[str, Any]
Asking = Callable[[], AbstractContextManager[object]]
# Less than a call is given to end by itself when its time is up.
_CHECK_TIMEOUT: Final = 3.0
_MOST_PAGES: Final = 100
_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
# What a server can ask of a client while it works on a call; both SDKs use these names.
_CALLBACKS: Final = ("elicitation_callback", "sampling_callback", "list_roots_callback")
_SENDS_ONCE: Final = "__failwell_sends_once__"
# What the two generations call it.
_CHECKS: Final = ("validate_tool_result", "_validate_tool_result")


class Driver:
    """What recovering needs of a client. `sample` is the one that was given, which is never connected itself."""

    timeout_option = "read_timeout_seconds"
    """What the client calls the limit of one call."""
    positional: tuple[str, ...] = ("read_timeout_seconds", "progress_callback")
    """The options of `call_tool` that may be given without their names."""
    options: tuple[str, ...] = (*positional, "meta")
    """All the options of its `call_tool`."""
    if GENERATION == 2:
        options = (*options, "input_responses", "request_state")

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        self.sample = sample
        self.timeout: float | None = None
        """The client's own limit for one call."""
        self._make = make
        self._used = False

    def _template(self) -> Any:
        """What a fresh client is made from: the first time what was given, later what the function makes."""
        first, self._used = not self._used, True
        return self.sample if first or self._make is None else self._make()

    def _callback(self, name: str) -> Any:
        """What answers the server's questions by that name."""
        return getattr(self.sample, name)

    @property
    def interactive(self) -> bool:
        """Whether a call may wait for a callback in its middle, and so for a person."""
        return any(self._callback(name) is not None for name in _CALLBACKS)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        """A client that was never connected; `ended` is called when its server hangs up, `asking` is entered for as
        long as one of its callbacks is at work, and `changed` is called when the server lists other tools."""
        raise NotImplementedError

    def is_alive(self, client: Any) -> bool:
        """Whether the connection still stands, as far as the client knows."""
        # Nothing public tells that the server has hung up. Where the SDK hides it elsewhere, the next call tells.
        stream = "_dispatcher" if GENERATION == 2 else "_write_stream"
        return not getattr(getattr(client.session, stream, None), "_closed", False)

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        """Make the call; the result, or the error as a result, in the client's own type."""
        raise NotImplementedError

    async def tools(self, client: Any) -> list[Any]:
        """All the tools that the server lists."""
        found: list[Any] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await client.session.list_tools(**_page(cursor))
            found += page.tools
            if not (cursor := field(page, "next_cursor")):
                break
        return found

    def failure(self, outcome: Outcome, era: str) -> Any:
        """An error as a result of the client's own type."""
        wire = to_result(outcome, era=era)
        if era < MODERN_ERA:
            wire.pop("resultType", None)
        wire["isError"] = wire.get("isError", True)
        return CallToolResult.model_validate(wire)

    def change(self, result: Any, **changes: Any) -> Any:
        """A result with other parts, by the names of the newer SDK."""
        return changed_result(result, **changes)

    def with_meta(self, result: Any, outcome: Outcome, *, note: str = "") -> Any:
        """The server's own result, marked as the error it is, with the error in `_meta` and a note at the end of its
        first text: some agents show their model nothing else."""
        meta, content = {**(result.meta or {}), META_KEY: DEFAULT(outcome).to_dict()}, list(result.content)
        if note:
            place = next((place for place, block in enumerate(content) if block.type == "text"), None)
            if place is None:
                content.insert(0, TextContent(type="text", text=note))
            else:
                text = f"{content[place].text.rstrip()}\n\n{note}"
                content[place] = content[place].model_copy(update={"text": text})
        return self.change(result, meta=meta, content=content, is_error=True)

    def without(self, result: Any, secrets: tuple[str, ...]) -> Any:
        """The server's own result without what was sent for secret arguments."""
        content = [
            block.model_copy(update={"text": mask(block.text, secrets)}) if block.type == "text" else block
            for block in result.content
        ]
        structured = mask(field(result, "structured_content"), secrets)
        return self.change(result, content=content, structured_content=structured)

    def is_marked(self, result: Any) -> bool:
        """Whether a result says itself that it is an error."""
        return field(result, "is_error") is True

    def give(self, result: Any, options: Options) -> Any:
        """What `call_tool` returns, or raises, as the client itself does."""
        return result


class MCPClientDriver(Driver):
    """mcp.Client."""

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        if sample._entered:
            raise ValueError("Recovering opens the connection itself: give it a client that is not connected yet.")
        if type(sample.server).__module__.partition(".")[0] == "fastmcp":
            raise TypeError("mcp.Client does not reach a FastMCP server of this process; use fastmcp.Client(server).")
        self.timeout = sample.read_timeout_seconds

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        from mcp.server import Server
        from mcp.server.mcpserver import MCPServer

        used = self._used
        template = self._template()
        server = template.server
        changes: dict[str, Any] = _count_callbacks(lambda name: getattr(template, name), asking)
        changes["message_handler"] = _watch_tools(template.message_handler, changed)
        if isinstance(server, (Server, MCPServer)):
            return replace(template, **changes)
        cache = template.cache
        if isinstance(server, str) and cache is not None and cache.target_id is None:
            cache = replace(cache, target_id=server.partition("?")[0].rpartition("@")[2] or server)
        transport = copy_transport(server)
        if transport is None:
            if used and self._make is None:
                words = "This transport connects only once; give Recovering a function that makes the client."
                raise ToolError(words, code="NOT_CONFIGURED")
            transport = server
        return replace(template, server=watch_transport(transport, ended), cache=cache, **changes)

    def is_alive(self, client: Any) -> bool:
        return True

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        sent = client.call_tool(tool, arguments, read_timeout_seconds=timeout, meta=meta or None, **options)
        return cast("Awaitable[Any]", sent)


class FastMCPDriver(Driver):
    """fastmcp.Client."""

    timeout_option = "timeout"
    positional: tuple[str, ...] = ()
    options: tuple[str, ...] = ("version", "timeout", "progress_handler", "raise_on_error", "meta")

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        if sample.is_connected():
            raise ValueError("Recovering opens the connection itself: give it a client that is not connected yet.")
        self.timeout = _seconds(sample._session_kwargs.get("read_timeout_seconds"))
        taken = inspect.signature(type(sample).call_tool).parameters
        if "meta" not in taken:
            # What says what a failure means would be lost on the way.
            found = import_module("fastmcp").__version__
            raise MissingPackage(f"Recovering needs the client of fastmcp>=2.14 ({found} is installed).")
        self.options = tuple(name for name in self.options if name in taken)

    def _callback(self, name: str) -> Any:
        return self.sample._session_kwargs.get(name)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        template = copy.copy(self._template())
        client = template if GENERATION == 2 else template.new()
        kwargs = client._session_kwargs
        changes: dict[str, Any] = _count_callbacks(kwargs.get, asking)
        if GENERATION == 2:
            # FastMCP gives this one to its extensions as well.
            client._elicitation_callback = changes.get("elicitation_callback")
            client._base_message_handler = _watch_tools(client._base_message_handler, changed)
        else:
            # FastMCP shares the session of a process among its clients; here each connection has its own.
            client._session_state = type(client._session_state)()
            changes["message_handler"] = _watch_tools(kwargs.get("message_handler"), changed)
        client._session_kwargs = {**kwargs, **changes}
        client = client.new() if GENERATION == 2 else client
        client.transport = copy_fastmcp_transport(client.transport)
        return client

    def is_alive(self, client: Any) -> bool:
        return client.is_connected() and super().is_alive(client)

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        options = {**options, "raise_on_error": False}
        return cast("Awaitable[Any]", client.call_tool(tool, arguments, timeout=timeout, meta=meta or None, **options))

    async def tools(self, client: Any) -> list[Any]:
        return list(await client.list_tools())

    def failure(self, outcome: Outcome, era: str) -> Any:
        from fastmcp.client.client import CallToolResult as Result

        wire = super().failure(outcome, era)
        return Result(wire.content, field(wire, "structured_content"), wire.meta, None, bool(field(wire, "is_error")))

    def change(self, result: Any, **changes: Any) -> Any:
        if "is_error" in changes:
            changes["data"] = None
        return replace(result, **changes)

    def is_marked(self, result: Any) -> bool:
        return result.is_error is True

    def give(self, result: Any, options: Options) -> Any:
        if not result.is_error or not options.get("raise_on_error", True):
            return result
        from fastmcp.exceptions import ToolError as Failed

        raise Failed(next((block.text for block in result.content if block.type == "text"), "The call failed."))


class SessionDriver(Driver):
    """mcp.ClientSession. Whoever uses it opens the connection, so it is given as a function that does, or open."""

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        trace_sessions()
        self._opener = sample
        self._latest: Any = None
        if isinstance(sample, ClientSession):
            self._take(sample)
        else:
            # What a session can do is known before there is one.
            self.sample = object.__new__(ClientSession)

    def _take(self, session: Any) -> None:
        self._latest = session
        self.timeout = _seconds(getattr(session, "_session_read_timeout_seconds", None))

    def _callback(self, name: str) -> Any:
        return _own_callback(self._latest, name)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        first, self._used = not self._used, True
        if not first and self._make is None:
            raise ToolError(
                "This session has ended, and only who opened it can open another one; give Recovering a function that "
                "opens a session.",
                code="NOT_CONFIGURED",
            )

        def entered(session: Any) -> None:
            self._take(session)
            for name, callback in _count_callbacks(lambda name: _own_callback(session, name), asking).items():
                setattr(session, f"_{name}", callback)
            session._message_handler = _watch_tools(getattr(session, "_message_handler", None), changed)

        return HeldSession(self._opener if first or self._make is None else self._make(), entered)

    def send(
        self, client: Any, tool: str, arguments: dict[str, Any], timeout: float, meta: dict[str, Any], options: Options
    ) -> Awaitable[Any]:
        limit: Any = timeout if GENERATION == 2 else timedelta(seconds=timeout)
        if meta and not _takes("call_tool", "meta"):
            # A call with `_meta`, for an SDK whose own method has no place for it.
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            request = types.CallToolRequest.model_validate({"method": "tools/call", "params": params})
            sent = client.session.send_request(
                types.ClientRequest(request), CallToolResult, request_read_timeout_seconds=limit, **options
            )
        else:
            more = {"meta": meta} if meta else {}
            sent = client.call_tool(tool, arguments, read_timeout_seconds=limit, **more, **options)
        return cast("Awaitable[Any]", sent)


class HeldSession:
    """One session while it is open: its own methods, and what a client has besides."""

    def __init__(self, opener: Any, entered: Callable[[Any], None]) -> None:
        self._opener, self._entered = opener, entered
        self._stack = AsyncExitStack()
        self._greeting: Any = None
        self.session: Any = None

    async def __aenter__(self) -> HeldSession:
        session = self._opener
        if not isinstance(session, ClientSession):
            session = await self._stack.enter_async_context(session)
        if not isinstance(session, ClientSession):
            await self._stack.aclose()
            raise TypeError(
                f"The function that opens a connection gives a {type(session).__name__}, not an mcp.ClientSession."
            )
        self._entered(session)
        # Nothing public tells in 1.x whether the handshake was made: it is the first request of all.
        version = getattr(session, "_request_id", 0) if GENERATION == 1 else getattr(session, "protocol_version", None)
        if not version:
            self._greeting = await session.initialize()
        self.session = session
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        return await self._stack.__aexit__(*exc)

    @property
    def server_capabilities(self) -> Any:
        told = getattr(self.session, "get_server_capabilities", None)
        known = getattr(self.session, "server_capabilities", None) if told is None else told()
        return known if known is not None else getattr(self._greeting, "capabilities", None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.__dict__.get("session") is None:
            raise AttributeError(name)
        return getattr(self.session, name)


def driver_for(client: Any) -> Driver:
    """The way to use a client, or a function that makes one."""
    # A transport is callable too: contextlib makes it a decorator, which makes no client.
    makes = callable(client) and not hasattr(client, "call_tool") and not hasattr(client, "__aenter__")
    sample, make = (client(), client) if makes else (client, None)
    bases = {base.__module__.partition(".")[0] for base in type(sample).__mro__}
    if "fastmcp" in bases:
        _require_tried("fastmcp", "fastmcp")
        return FastMCPDriver(sample, make)
    if "mcp" in bases and hasattr(sample, "server"):
        _require_tried("client", "mcp")
        return MCPClientDriver(sample, make)
    if isinstance(sample, ClientSession) or (make is not None and hasattr(sample, "__aenter__")):
        _require_tried("client", "mcp")
        return SessionDriver(sample, make)
    raise TypeError(
        f"Recovering takes an mcp.Client, a fastmcp.Client, an mcp.ClientSession, or a function that makes one, "
        f"not {type(sample).__name__}."
        + (" Give the transport to a client first." if hasattr(sample, "__aenter__") else "")
    )


@cache
def _require_tried(extra: str, package: str) -> None:
    """Refuse a client of a version that was never tried: it may work until something fails."""
    if (problem := unfit("failwell.client", extra, package)) is not None:
        raise problem


def _seconds(timeout: Any) -> float | None:
    return timeout.total_seconds() if isinstance(timeout, timedelta) else timeout


@cache
def _takes(method: str, parameter: str) -> bool:
    """Whether a method of the SDK's session has this parameter."""
    return parameter in inspect.signature(getattr(ClientSession, method)).parameters


def _page(cursor: str | None) -> dict[str, Any]:
    if cursor is None:
        return {}
    params = _takes("list_tools", "params")
    return {"params": types.PaginatedRequestParams(cursor=cursor)} if params else {"cursor": cursor}


def _own_callback(session: Any, name: str) -> Any:
    """A callback that the session was given; None if it has only the SDK's, which answers that it cannot."""
    callback = getattr(session, f"_{name}", None)
    return None if getattr(callback, "__name__", "").startswith("_default_") else callback


def _count_callbacks(callback_of: Callable[[str], Any], asking: Asking) -> dict[str, Any]:
    """The callbacks that there are, as ones that are known to be at work while they are."""

    def count(callback: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*given: Any, **options: Any) -> Any:
            with asking():
                return await callback(*given, **options)

        return counted

    return {name: count(callback) for name in _CALLBACKS if (callback := callback_of(name)) is not None}


def _watch_tools(handler: Callable[[Any], Awaitable[None]] | None, changed: Callable[[], None]) -> Any:
    """The client's handler of messages, which also tells that the tools of the server have changed."""

    async def handle(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", None) == _TOOLS_CHANGED:
            changed()
        if handler is not None:
            await handler(message)

    return handle


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
        trace = active_trace.get()
        return await (send(*given, **options) if trace is None else trace.send_once(lambda: send(*given, **options)))

    setattr(call_tool, _SENDS_ONCE, True)
    session.call_tool = call_tool
