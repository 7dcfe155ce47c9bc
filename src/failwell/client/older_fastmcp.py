"""FastMCP's client 2 and 3, which are built on version 1 of the SDK."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

from failwell.packages import MissingPackage

from .drivers import CALLBACKS, Asking, FastMCPDriver, counted, hearing
from .transport import noting, own_process


class OlderFastMCPDriver(FastMCPDriver):
    """fastmcp.Client 2 and 3."""

    def __init__(self, sample: Any, make: Callable[[], Any] | None) -> None:
        super().__init__(sample, make)
        if isinstance(self.timeout, timedelta):
            self.timeout = self.timeout.total_seconds()
        taken = inspect.signature(type(sample).call_tool).parameters
        if "meta" not in taken:
            # What says what a failure means would be lost on the way.
            found = import_module("fastmcp").__version__
            raise MissingPackage(f"Recovering needs the client of fastmcp>=2.14 ({found} is installed).")
        self.options = tuple(name for name in self.options if name in taken)

    def fresh(self, ended: Callable[[], None], asking: Asking, changed: Callable[[], None]) -> Any:
        transports: Any = import_module("fastmcp.client.transports")
        client = copy.copy(self._template()).new()
        # FastMCP shares the session of a process among its clients; here each connection has its own.
        client._session_state = type(client._session_state)()
        kwargs = client._session_kwargs
        changes = {name: counted(kwargs[name], asking) for name in CALLBACKS if kwargs.get(name) is not None}
        client._session_kwargs = {
            **kwargs,
            **changes,
            "message_handler": hearing(kwargs.get("message_handler"), changed),
        }
        if isinstance(client.transport, transports.MCPConfigTransport) and len(client.transport.config.mcpServers) == 1:
            # It only passes on to the one there is.
            client.transport = client.transport.transport
        if hasattr(client.transport, "httpx_client_factory"):
            client.transport = noting(client.transport)
        elif isinstance(client.transport, transports.StdioTransport):
            client.transport = own_process(client.transport)
        return client

    def is_alive(self, client: Any) -> bool:
        if not client.is_connected():
            return False
        # Nothing public tells that the server has hung up. Where the SDK hides it elsewhere, the next call tells.
        return not getattr(getattr(client.session, "_write_stream", None), "_closed", False)
