"""Whether the server behind an address is there: looked at before a relay listens, and whenever somebody asks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, NamedTuple

import httpx2

from failwell.relay import failures
from failwell.relay.messages import is_message, read_frame, written

from .headers import SESSION, VERSION
from .http_server import ACCEPT, RemoteServer, fetch, is_event_stream, redirected, start_of

_TIMEOUT: Final = 20.0
_SHORT_TIMEOUT: Final = 3.0
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
_UNAVAILABLE: Final = frozenset({500, 502, 503, 504, 408, 425, 429})


class Unfit(NamedTuple):
    """Why a server cannot be used, in one line. `is_final` says that waiting does not help."""

    line: str
    is_final: bool


async def find_problem(address: RemoteServer) -> Unfit | None:
    """What is wrong with an address at which there should be a server; None if there is one."""
    client = address.client
    try:
        async with asyncio.timeout(_TIMEOUT):
            response = await fetch(client, "POST", address.url, {**address.headers, **ACCEPT}, _GREETING)
            try:
                found = await _read_greeting(response, address)
            finally:
                await response.aclose()
            if (session := response.headers.get(SESSION)) is not None:
                headers = {**address.headers, SESSION: session, VERSION: _LEGACY}
                with suppress(httpx2.RequestError):
                    await (await fetch(client, "DELETE", address.url, headers)).aclose()
            return found
    except TimeoutError:
        return Unfit(failures.unreached(f"no answer within {_TIMEOUT:g} seconds", address.name), is_final=False)
    except (httpx2.RequestError, httpx2.InvalidURL) as problem:
        why = f"{str(problem) or type(problem).__name__}; start it, or check the address"
        # One that is down may come back, and the relay should not have to be started again for that.
        is_final = isinstance(problem, (httpx2.InvalidURL, httpx2.UnsupportedProtocol))
        return Unfit(failures.unreached(why, address.name), is_final)


async def _read_greeting(response: httpx2.Response, address: RemoteServer) -> Unfit | None:
    status, body = response.status_code, b""
    if 300 <= status < 400:
        return Unfit(redirected(response, address.name).message, is_final=True)
    if status in (401, 403):
        # Whoever has to log in is told so by the server itself.
        return None
    if status in _UNAVAILABLE:
        return Unfit(failures.unreached(f"it answered {status}", address.name), is_final=False)
    if is_event_stream(response):
        async for event in httpx2.EventSource(response, _LARGEST):
            if body := event.data.encode():
                break
    else:
        body = await start_of(response)
    if is_message(read_frame(body)):
        return None
    why = f"it answered {status} with what is no message of MCP; check the path"
    return Unfit(failures.unreached(why, address.name), is_final=True)


async def unreachable(address: RemoteServer) -> str | None:
    """Why the server behind an address cannot be reached; None if it can."""
    client = address.client
    # What only looks, and opens nothing: any answer but that of a gateway is the server's.
    request = client.build_request("OPTIONS", address.url, headers=dict(address.headers), timeout=_SHORT_TIMEOUT)
    try:
        response = await client.send(request, stream=True)
        await response.aclose()
    except httpx2.RequestError as problem:
        return type(problem).__name__
    return f"a gateway answered {response.status_code}" if response.status_code in (502, 503, 504) else None
