"""Whether what a relay needs is there: looked at before it listens, and whenever somebody asks."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, NamedTuple

import httpx2

from failwell.relay import failures
from failwell.relay.messages import read_frame, written

from .address import RemoteServer, redirected, sent, start_of
from .event_stream import EventReader
from .headers import SESSION, VERSION

_PATIENCE: Final = 20.0
_SHORT_PATIENCE: Final = 3.0
_KEPT: Final = 1.0
_LARGEST: Final = 1_000_000
_LEGACY: Final = "2025-11-25"
_GREETING: Final = written(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": _LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "failwell-probe", "version": "1"},
        },
    }
)
_GATEWAYS: Final = frozenset({500, 502, 503, 504, 408, 425, 429})


class Unfit(NamedTuple):
    """Why a server cannot be used: one line. `is_final` says that waiting does not help."""

    line: str
    is_final: bool


async def unfit(address: RemoteServer, client: httpx2.AsyncClient) -> Unfit | None:
    """What is wrong with an address at which there should be a server; None if there is one."""
    headers = {
        **address.headers,
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    try:
        async with asyncio.timeout(_PATIENCE):
            response = await sent(client, address.url, "POST", headers, _GREETING)
            try:
                found = await _found(response, address)
            finally:
                await response.aclose()
            session = response.headers.get(SESSION)
            if session is not None:
                with suppress(httpx2.RequestError):
                    ended = await sent(
                        client, address.url, "DELETE", {**address.headers, SESSION: session, VERSION: _LEGACY}
                    )
                    await ended.aclose()
            return found
    except TimeoutError:
        return Unfit(failures.unreached(f"no answer within {_PATIENCE:g} seconds", address.name), is_final=False)
    except (httpx2.RequestError, httpx2.InvalidURL) as problem:
        why = str(problem) or type(problem).__name__
        line = f"{failures.unreached(why, address.name)}; start it, or check the address"
        # One that is down may come back, and the relay should not have to be started again for that.
        return Unfit(line, is_final=not isinstance(problem, httpx2.TransportError) or _is_hopeless(problem))


def _is_hopeless(problem: BaseException | None) -> bool:
    """Whether there is no such name, or nobody vouches for the one who has it."""
    while problem is not None:
        if isinstance(problem, (socket.gaierror, ssl.SSLError, httpx2.UnsupportedProtocol)):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


async def _found(response: httpx2.Response, address: RemoteServer) -> Unfit | None:
    status = response.status_code
    if 300 <= status < 400:
        return Unfit(redirected(response, address.name).message, is_final=True)
    if status in (401, 403):
        # Whoever has to log in is told so by the server itself.
        return None
    if status in _GATEWAYS:
        return Unfit(failures.unreached(f"it answered {status}", address.name), is_final=False)
    message = read_frame(await _first_message(response))
    if isinstance(message, dict) and ("result" in message or "error" in message):
        return None
    return Unfit(
        failures.unreached(f"it answered {status} with what is no message of MCP; check the path", address.name),
        is_final=True,
    )


async def _first_message(response: httpx2.Response) -> bytes:
    if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return await start_of(response)
    reader = EventReader(_LARGEST)
    async for part in response.aiter_bytes():
        for event in reader.feed(part):
            if event.data:
                return event.data
    return b""


async def unreachable(address: RemoteServer, client: httpx2.AsyncClient) -> str | None:
    """Why the server behind an address cannot be reached; None if it can."""
    # What only looks, and opens nothing: any answer but that of a gateway is the server's.
    request = client.build_request("OPTIONS", address.url, headers=dict(address.headers), timeout=_SHORT_PATIENCE)
    try:
        response = await client.send(request, stream=True, follow_redirects=False)
        await response.aclose()
    except httpx2.RequestError as problem:
        return type(problem).__name__
    return f"a gateway answered {response.status_code}" if response.status_code in (502, 503, 504) else None


class Look:
    """What was found when somebody last asked: however many ask, it is looked at once in a second."""

    def __init__(self, look: Callable[[], Awaitable[str | None]]) -> None:
        self._look = look
        self._lock = asyncio.Lock()
        self._found: str | None = None
        self._until = 0.0

    async def __call__(self) -> str | None:
        async with self._lock:
            if time.monotonic() >= self._until:
                self._found = await self._look()
                self._until = time.monotonic() + _KEPT
            return self._found
