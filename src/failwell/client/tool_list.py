"""The tools of a server: asked for once on each connection, and known while the server is gone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio

from failwell.model import ToolError, Traits
from failwell.readers import Http, read
from failwell.recovery import Tools
from failwell.schema import known_names
from failwell.sdk import field

from .clock import Clock
from .connection import Connection, Live
from .drivers import Driver
from .http_trace import CallTrace, active_trace

log = logging.getLogger("failwell.client")

LISTING_TIMEOUT: Final = 10.0
_KNOCKING_TIMEOUT: Final = 2.0
_OLD: Final = 1.0
_LOOKS: Final = (0.0, 0.1, 0.4)
_NONE: Final[frozenset[str]] = frozenset()


class Listing:
    """What a server lists."""

    def __init__(self, driver: Driver, clock: Clock, **believed: Any) -> None:
        """believed: what is to be believed of the tools, as `Tools` takes it."""
        self._driver, self._clock = driver, clock
        self._listed_at = clock.monotonic()
        self.tools = Tools(**believed)
        """What is known of them; nothing until they were listed."""
        self.is_missing = True
        """Whether the tools could not be listed so far."""
        self._names: dict[str, frozenset[str]] = {}

    @property
    def known(self) -> Mapping[str, Any]:
        return self.tools.listed

    @property
    def is_old(self) -> bool:
        """Whether another server may stand behind the address by now, in whose list a tool is something else."""
        return self._clock.monotonic() - self._listed_at > _OLD

    def knows(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a tool lists all of these arguments."""
        return arguments.keys() <= self._names.get(tool, _NONE)

    def learn(self, listed: Any) -> None:
        """Keep what the client has listed, if that is all there is."""
        if not field(listed, "next_cursor"):
            self._keep(getattr(listed, "tools", listed))

    def _keep(self, listed: Iterable[Any]) -> None:
        self._listed_at = self._clock.monotonic()
        found: dict[str, Any] = {}
        for tool in listed:
            # Which of two by one name would be called, nobody knows: the one that may not be called twice counts.
            if tool.name not in found or not Traits.of(tool).repeatable:
                found[tool.name] = tool
        self.tools, self.is_missing = replace(self.tools, listed=found), False
        self._names = {name: frozenset(known_names(field(tool, "input_schema"))) for name, tool in found.items()}

    async def ask(self, connection: Connection, live: Live, timeout: float, *, again: bool = False) -> None:
        """List the tools, once for each connection unless `again`, while others who want to use it wait.

        Now, since what is read-only must be known when the server is gone. The SDK would list them anyway.
        """
        timeout = min(timeout, LISTING_TIMEOUT)
        if live.listing.locked():
            with anyio.move_on_after(timeout):
                async with live.listing:
                    return
        if not live.is_listed or (again and self.is_old):
            async with live.listing:
                await self._fetch(connection, live, timeout)
                live.is_listed = True

    async def look(self, connection: Connection, timeout: float) -> None:
        """List the tools if ever that can be done: by them a call in doubt is looked up. A server that has just died is
        back in a moment, and may die of another's call meanwhile."""
        with anyio.move_on_after(timeout):
            for wait in _LOOKS:
                if wait:
                    await self._clock.sleep(wait)
                if await self._fetch(connection, None, timeout):
                    return

    async def _fetch(self, connection: Connection, live: Live | None, timeout: float) -> bool:
        """List the tools if they can be listed; whether somebody answered, be it with an error."""
        token = active_trace.set(CallTrace())
        try:
            live = live or await connection.open(timeout)
            with anyio.fail_after(timeout):
                async with live.calling(timeout) as client:
                    self._keep(await self._driver.tools(client))
        except Exception as exc:
            log.debug("The tools could not be listed.", exc_info=True)
            return _is_answer(exc)
        finally:
            active_trace.reset(token)
        return True

    async def is_answered(self, live: Live, timeout: float) -> bool:
        """Whether anybody answers over a connection that was silent: any answer, an error too."""
        timeout = min(timeout, _KNOCKING_TIMEOUT)
        token = active_trace.set(trace := CallTrace())
        try:
            with anyio.fail_after(timeout):
                async with live.calling(timeout) as client:
                    # The newer protocol has no ping, and no cache answers this.
                    await client.session.list_tools()
        except Exception as exc:
            return _is_answer(exc, trace.http)
        finally:
            active_trace.reset(token)
        return True


def _is_answer(exc: Exception, http: Http | None = None) -> bool:
    outcome = read(exc, http=http)
    return not (isinstance(outcome, ToolError) and outcome.origin == "local")
