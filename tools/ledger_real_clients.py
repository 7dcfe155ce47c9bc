"""Who calls the tools of the real ledger.

Failwell's client and bridges, the bare client that shows what servers say, and those who are there for comparison.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import failwell as fw
from failwell.client import Recovering, patched
from ledger_check import Said
from ledger_clients import PEERS as SCRIPTED
from ledger_clients import Agent
from ledger_real_answers import META
from ledger_real_gateway import HEADER
from ledger_real_plan import MAX_ATTEMPTS, READS, TIMEOUT, Job

# What a server that fails on purpose in most of its calls would trip at once is left out.
POLICY: Final = fw.Policy(
    base_delay=0.02,
    max_attempts=MAX_ATTEMPTS,
    timeout=TIMEOUT,
    deadline=1e6,
    circuit_breaker=False,
)

_BRIDGED: Final = dataclasses.replace(POLICY, max_delay=1.5)
"""Bridges have no clock of their own, and servers ask for five seconds."""


class Hurried:
    """A clock on which a wait is over at once, and has taken its time all the same."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self._ahead)

    async def sleep(self, seconds: float, /) -> None:
        self._ahead += max(0.0, seconds)
        await asyncio.sleep(min(seconds, 0.01))


@dataclass(slots=True)
class Heard(Said):
    """What was said about one call, also in the object for programs and in the text for the model."""

    texts: list[str] = field(default_factory=list)
    stated: list[str | None] = field(default_factory=list)
    """The effect in each structured object that came with it."""
    once: bool = False
    """Whether its client can connect only once, as it said to its author; what needs a new connection is then lost."""

    @property
    def spent(self) -> bool:
        """Whether that client can no longer be used."""
        return self.once and not self.ok and not self.calls


@dataclass(frozen=True, slots=True)
class Target:
    """A running server, in the shape that the clients of the scripted ledger want too."""

    transport: str
    command: list[str]
    url: str = ""
    folder: Path = Path()
    owned: list[httpx2.AsyncClient] = field(default_factory=list)
    """What nobody closes but who made it."""

    async def close(self) -> None:
        for own in self.owned:
            await own.aclose()

    def mcp(self, mode: str = "auto") -> Any:
        if self.url:
            # As people do it who have to send a header.
            own = httpx2.AsyncClient(headers={HEADER: "ledger"}, timeout=2 * TIMEOUT)
            self.owned.append(own)
            return mcp.Client(streamable_http_client(self.url, http_client=own), mode=mode)
        command, *arguments = self.command
        return mcp.Client(StdioServerParameters(command=command, args=arguments), mode=mode)

    def fastmcp(self, mode: str = "auto") -> Any:
        if self.url:
            return fastmcp.Client(StreamableHttpTransport(self.url, headers={HEADER: "ledger"}), mode=mode)
        command, *arguments = self.command
        return fastmcp.Client(StdioTransport(command, arguments, keep_alive=False), mode=mode)


def _texts(result: Any) -> list[str]:
    return [block.text for block in getattr(result, "content", None) or [] if getattr(block, "text", None)]


def _stated(*places: Any) -> list[str | None]:
    """The effect in each structured object of ours, wherever it stands."""
    found: list[str | None] = []
    for place in places:
        if isinstance(place, dict):
            if META in place:
                found += _stated(place[META])
            elif "effect" in place:
                found.append(place["effect"])
    return found


class Careful:
    """Failwell's client."""

    def __init__(self, client: Recovering, once: bool = False) -> None:
        self._client = client
        self._once = once

    async def call(self, job: Job) -> Said:
        said = Heard(job, once=self._once)  # type: ignore[arg-type]
        report = await self._client.call(job.tool, {"id": job.id})
        said.ok, said.calls = report.ok, report.calls
        own = [attempt.error for attempt in report.attempts if getattr(attempt.error, "origin", None) == "local"]
        said.timeouts = sum(isinstance(error, fw.ToolError) and error.code == "TIMEOUT" for error in own)
        if not report.ok:
            said.texts = _texts(report.result)
            said.stated = _stated(getattr(report.result, "meta", None))
            said.error = f"{getattr(report.error, 'code', None)}: {getattr(report.error, 'message', report.error)}"
            effect = getattr(report.error, "effect", None)
            said.effect = None if effect is None else str(effect.value)
        return said


_numbers = itertools.count()


@asynccontextmanager
async def failwell(server: Target) -> AsyncIterator[Agent]:
    """By turns with both SDKs, in both eras, as a client or as a function that makes one, with `fix` and without."""
    number = next(_numbers)
    mode = "legacy" if number & 2 else "auto"
    make: Callable[[], Any] = lambda: server.fastmcp(mode) if number & 1 else server.mcp(mode)  # noqa: E731
    options: dict[str, Any] = {"reads": READS} if "reads" in inspect.signature(Recovering).parameters else {}
    if number & 4 or number % 3:
        options["fix"] = patched
    client = make if number & 4 else make()
    async with Recovering(client, policy=POLICY, jitter=lambda: 1.0, clock=Hurried(), **options) as recovering:
        yield Careful(recovering, once=client is not make and bool(server.url) and not number & 1)


class Word:
    """The bare client, which passes on what the server said, and nothing else."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(self, job: Job) -> Said:
        said = Heard(job)  # type: ignore[arg-type]
        try:
            result = await self._client.call_tool(job.tool, {"id": job.id}, read_timeout_seconds=TIMEOUT)
        except MCPError as error:
            said.error, said.texts = str(error), [str(error)]
            said.timeouts = int(error.code == -32001 and not job.gates)
            said.stated = _stated(error.data)
        else:
            said.ok = not result.is_error
            if not said.ok:
                said.texts, said.stated = _texts(result), _stated(result.meta, result.structured_content)
                said.error = "an error result"
        said.effect = said.stated[0] if said.stated else None
        return said


@asynccontextmanager
async def word(server: Target) -> AsyncIterator[Agent]:
    async with server.mcp() as client:
        yield Word(client)


class Bridged:
    """A bridge: `send` gives the text, whether it is an error, and what else came with it."""

    def __init__(self, send: Callable[[Job], Any]) -> None:
        self._send = send

    async def call(self, job: Job) -> Said:
        said = Heard(job)  # type: ignore[arg-type]
        texts, failed, meta = await self._send(job)
        said.ok = not failed
        if failed:
            said.texts, said.stated, said.error = texts, _stated(meta), "an error result"
            said.effect = said.stated[0] if said.stated else None
        return said


@asynccontextmanager
async def openai_agents(server: Target) -> AsyncIterator[Agent]:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    from failwell.client.openai_agents import recovering

    options: dict[str, Any] = {"cache_tools_list": True, "client_session_timeout_seconds": TIMEOUT}
    made: Any
    if server.url:
        reached = {"url": server.url, "headers": {HEADER: "ledger"}, "timeout": TIMEOUT}
        made = MCPServerStreamableHttp(reached, **options)  # type: ignore[arg-type]
    else:
        command, *arguments = server.command
        made = MCPServerStdio({"command": command, "args": arguments}, **options)
    async with recovering(made, policy=_BRIDGED) as session:
        await session.list_tools()

        async def send(job: Job) -> Any:
            result = await session.call_tool(job.tool, {"id": job.id})
            return _texts(result), result.is_error, result.meta

        yield Bridged(send)


@asynccontextmanager
async def langchain(server: Target) -> AsyncIterator[Agent]:
    from langchain_core.tools import StructuredTool

    from failwell.client.langchain import recovering

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(server.mcp())

        def adapted(listed: Any) -> Any:
            async def call(**arguments: Any) -> Any:
                result = await client.call_tool(listed.name, arguments, read_timeout_seconds=TIMEOUT)
                return [block.model_dump(include={"type", "text"}) for block in result.content], result

            return recovering(
                StructuredTool(
                    name=listed.name,
                    description="Work.",
                    args_schema=listed.input_schema,
                    coroutine=call,
                    response_format="content_and_artifact",
                    metadata={"annotations": listed.annotations},
                ),
                policy=_BRIDGED,
            )

        tools = {listed.name: adapted(listed) for listed in (await client.list_tools()).tools}

        async def send(job: Job) -> Any:
            called = {"name": job.tool, "args": {"id": job.id}, "id": "1", "type": "tool_call"}
            message = await tools[job.tool].ainvoke(called)
            return [str(message.content)], message.status == "error", getattr(message.artifact, "meta", None)

        yield Bridged(send)


Opened = Callable[[Target], AbstractAsyncContextManager[Agent]]
OURS: Final[dict[str, Opened]] = {
    "Failwell Recovering": failwell,
    "the server's word": word,
    "bridge, openai-agents": openai_agents,
    "bridge, LangChain": langchain,
}
"""Those who have to keep the promise."""
_others: dict[str, Any] = {name: opened for name, opened in SCRIPTED.items() if not name.startswith("Failwell")}
PEERS: Final[dict[str, Opened]] = _others
"""Those who never made it."""
CLIENTS: Final = {**OURS, **PEERS}
