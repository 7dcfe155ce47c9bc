"""The clients that are held against the ledger: Failwell's, and those of others, used as their documentation says."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Protocol

import anyio

import failwell as fw
from failwell import read
from failwell.client import Recovering
from failwell.testing import ScriptedServer
from ledger_check import LIMIT, Said
from ledger_plan import BASE_DELAY, MAX_ATTEMPTS, TIMEOUT, Job

# What a server that fails on purpose in most of its calls would trip at once is left out.
POLICY: Final = fw.Policy(
    base_delay=BASE_DELAY,
    max_attempts=MAX_ATTEMPTS,
    timeout=TIMEOUT,
    deadline=LIMIT,
    circuit_breaker=False,
)


class Agent(Protocol):
    """Whoever makes calls."""

    async def call(self, job: Job) -> Said:
        """Make a call, and tell what came of it."""


class Careful:
    """Failwell's client."""

    def __init__(self, client: Recovering, *, verifies: bool = True) -> None:
        self._client = client
        self._verifies = verifies

    async def call(self, job: Job) -> Said:
        said = Said(job)
        report = await self._client.call(job.tool, {"id": job.id})
        said.ok, said.calls = report.ok, report.calls
        said.timeouts = sum(_is_own_timeout(attempt.error) for attempt in report.attempts)
        error = report.error
        if isinstance(error, fw.ToolError):
            said.error = f"{error.code}: {error.message}"
            said.effect = None if error.effect is None else error.effect.value
            said.allows = said.effect == "none" or (error.standing == "stated" and error.retryable)
            if self._verifies and said.effect == "unknown" and error.verify is not None:
                said.verify = {"tool": error.verify.tool, "arguments": error.verify.arguments}
                told = await self._client.call(error.verify.tool, dict(error.verify.arguments or {}))
                if told.ok:
                    said.told = told.result.structured_content["times"]
        return said


def _is_own_timeout(error: object) -> bool:
    return isinstance(error, fw.ToolError) and error.origin == "local" and error.code == "TIMEOUT"


@asynccontextmanager
async def failwell(
    server: ScriptedServer, kind: str = "mcp", mode: str = "auto", *, verifies: bool = True
) -> AsyncIterator[Agent]:
    client = server.mcp(mode=mode) if kind == "mcp" else server.fastmcp(mode=mode)
    async with Recovering(client, policy=POLICY, jitter=lambda: 1.0) as recovering:
        yield Careful(recovering, verifies=verifies)


class Renewed:
    """A client of others. One whose connection broke is closed and a fresh one is opened, between the calls."""

    def __init__(
        self, opened: Callable[[], AbstractAsyncContextManager[Callable[[Job], Any]]], attempts: int = 1
    ) -> None:
        self._opened = opened
        self._attempts = attempts
        self._stack = AsyncExitStack()
        self._send: Callable[[Job], Any] | None = None

    async def call(self, job: Job) -> Said:
        said = Said(job)
        for attempt in range(self._attempts):
            try:
                if self._send is None:
                    self._send = await self._stack.enter_async_context(self._opened())
                result = await self._send(job)
            except Exception as failure:
                said.error = f"{type(failure).__name__}: {failure}"
                await self.close()
            else:
                said.ok = not result.is_error
                said.error = "" if said.ok else "an error result"
                said.effect = None if said.ok else _stated(result)
            if said.ok:
                return said
            if attempt + 1 < self._attempts:
                await anyio.sleep(BASE_DELAY * 2**attempt)
        return said

    async def close(self) -> None:
        self._send = None
        stack, self._stack = self._stack, AsyncExitStack()
        # What broke the connection comes out again when it is closed.
        with contextlib.suppress(Exception):
            await stack.aclose()


def _stated(result: Any) -> str | None:
    """The effect that a server states in a structured error: whoever passes that on has said it too."""
    error = read(result)
    if not isinstance(error, fw.ToolError) or error.legacy or error.effect is None:
        return None
    return error.effect.value


@asynccontextmanager
async def _renewed(renewed: Renewed) -> AsyncIterator[Agent]:
    try:
        yield renewed
    finally:
        await renewed.close()


def plain(server: ScriptedServer) -> AbstractAsyncContextManager[Agent]:
    """`mcp.Client` as it is, with a timeout."""
    return _renewed(Renewed(_mcp(server)))


def careless(server: ScriptedServer) -> AbstractAsyncContextManager[Agent]:
    """`mcp.Client` in a loop that repeats whatever failed, with a fresh connection each time."""
    return _renewed(Renewed(_mcp(server), MAX_ATTEMPTS))


def _mcp(server: ScriptedServer) -> Callable[[], AbstractAsyncContextManager[Callable[[Job], Any]]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Callable[[Job], Any]]:
        async with server.mcp() as client:
            yield lambda job: client.call_tool(job.tool, {"id": job.id}, read_timeout_seconds=TIMEOUT)

    return opened


def openai_agents(server: ScriptedServer) -> AbstractAsyncContextManager[Agent]:
    """The MCP servers of openai-agents with their own retries."""
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    options: dict[str, Any] = {
        "cache_tools_list": True,
        "client_session_timeout_seconds": TIMEOUT,
        "max_retry_attempts": MAX_ATTEMPTS - 1,
        "retry_backoff_seconds_base": BASE_DELAY,
    }

    @asynccontextmanager
    async def opened() -> AsyncIterator[Callable[[Job], Any]]:
        made: Any
        if server.transport == "http":
            made = MCPServerStreamableHttp({"url": server.url, "timeout": TIMEOUT}, **options)
        else:
            command, *arguments = server.command
            made = MCPServerStdio({"command": command, "args": arguments}, **options)
        async with made as session:
            await session.list_tools()
            yield lambda job: session.call_tool(job.tool, {"id": job.id})

    return _renewed(Renewed(opened))


def retry_middleware(
    server: ScriptedServer, exceptions: tuple[type[Exception], ...] = (ConnectionError, TimeoutError)
) -> AbstractAsyncContextManager[Agent]:
    """A FastMCP proxy with `RetryMiddleware` in front of the server."""
    import fastmcp
    from fastmcp.server import create_proxy
    from fastmcp.server.middleware.error_handling import RetryMiddleware
    from fastmcp.server.providers.proxy import ProxyClient

    @asynccontextmanager
    async def opened() -> AsyncIterator[Callable[[Job], Any]]:
        backend = server.fastmcp()
        proxy = create_proxy(ProxyClient(backend.transport, timeout=TIMEOUT))
        retry = RetryMiddleware(max_retries=MAX_ATTEMPTS - 1, base_delay=BASE_DELAY, retry_exceptions=exceptions)
        proxy.add_middleware(retry)
        async with fastmcp.Client(proxy) as client:
            yield lambda job: client.call_tool(job.tool, {"id": job.id}, raise_on_error=False)

    return _renewed(Renewed(opened))


PEERS: Final[dict[str, Callable[[ScriptedServer], AbstractAsyncContextManager[Agent]]]] = {
    "Failwell Recovering": failwell,
    "mcp.Client, no retry": plain,
    "openai-agents retry": openai_agents,
    "FastMCP RetryMiddleware": retry_middleware,
    "same, every exception": lambda server: retry_middleware(server, (Exception,)),
    "repeat everything": careless,
}


async def timed(agent: Agent, job: Job, client: str) -> Said:
    """A call with its times, which ends after a while whatever the client does."""
    began = time.time()
    try:
        # Not a scope of anyio: those must be left in the order they were entered, and a client may be opened in here.
        async with asyncio.timeout(LIMIT):
            said = await agent.call(job)
    except TimeoutError:
        said = Said(job, hung=True)
    except asyncio.CancelledError:
        # Nobody cancelled this task but the client. Neither of them can be used any more.
        said = Said(job, aborted=True)
    said.began, said.ended, said.client = began, time.time(), client
    return said
