"""What else a client can do: everything that Recovering has no word of its own for is the client's."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

# What a request is named that changes nothing, so that it can simply be made again.
_READS: Final = ("list_", "read_", "get_", "complete")
_PINGS: Final = frozenset({"ping", "send_ping"})
# Those that open something which the caller enters.
_OPENS: Final = frozenset({"listen"})


class Requests(Protocol):
    """How something is asked of the client that is connected."""

    async def __call__(self, send: Callable[[Any], Awaitable[Any]], *, repeat: bool) -> Any:
        """What `send` gives for the client, which is connected first; again, if it may be repeated and may work."""


def attribute_of(
    name: str, sample: Any, connected: Any | None, request: Requests, opened: Callable[[], Awaitable[Any]]
) -> Any:
    """An attribute of a client: `sample` is the one that was given, `connected` the one of the present connection."""
    found = inspect.getattr_static(type(sample), name, None)
    if isinstance(found, property):
        # What the server said of itself; without a server it is what a client says that is not connected.
        try:
            return getattr(sample if connected is None else connected, name)
        except RuntimeError as exc:
            raise RuntimeError("There is no connection yet: it is opened by the first request.") from exc
    if not inspect.isfunction(found):
        return getattr(sample, name)
    if name in _OPENS:
        return _opening(name, opened)
    if inspect.iscoroutinefunction(inspect.unwrap(found)):
        return _requesting(name, request)
    # How the client is set up: for the connections to come.
    return getattr(sample if connected is None or name.startswith("set_") else connected, name)


def _requesting(name: str, request: Requests) -> Callable[..., Awaitable[Any]]:
    repeat = name.startswith(_READS) or name in _PINGS

    async def forward(*given: Any, **options: Any) -> Any:
        return await request(lambda client: getattr(client, name)(*given, **options), repeat=repeat)

    forward.__name__ = name
    return forward


def _opening(name: str, opened: Callable[[], Awaitable[Any]]) -> Callable[..., AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def forward(*given: Any, **options: Any) -> AsyncIterator[Any]:
        client = await opened()
        async with getattr(client, name)(*given, **options) as entered:
            yield entered

    return forward
