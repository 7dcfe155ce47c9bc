"""The demo proper: a real server, as the plain SDK runs it and with one line of Failwell, and one agent for both."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation

from failwell import Action, ToolError, __version__, decide, parse
from failwell.model import Next, Traits, apply_patch

from .demo_shop import TABLES

MOST_CALLS: Final = 4
LONGEST_WAIT: Final = 2.0
# What the agent knows by itself, for tools that it is sent to.
KNOWN: Final = {"customer": "ada", "address": "12 Tea Street"}


@dataclass(frozen=True)
class Obstacle:
    """Something in the way of the agent, and the call that meets it."""

    title: str
    tool: str
    arguments: dict[str, Any]
    thing: str = ""
    """What the call makes, and its table in the books; nothing for a call that only looks."""
    is_locked: bool = False
    """Somebody else writes in the books, until the agent waits or gives up."""


OBSTACLES: Final = (
    Obstacle("A payment whose answer gets lost", "pay_invoice", {"id": "inv_1"}, "payment"),
    Obstacle("An argument with a typo", "find_orders", {"custmer": "ada"}),
    Obstacle("A step that was left out", "place_order", {"customer": "ada", "item": "tea"}, "order"),
    Obstacle("A database that is busy", "find_orders", {"customer": "ada"}, is_locked=True),
)


@dataclass
class Trial:
    """What became of one obstacle on one server: what the agent read and did, in order."""

    read: list[str] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    through: bool = False
    made: int = 0
    """How many of the thing there really are in the end."""


@dataclass(frozen=True)
class Shop:
    """A server that runs, and its books."""

    client: Client
    tools: dict[str, Any]
    path: Path

    async def meet(self, obstacle: Obstacle) -> Trial:
        """Let the agent meet an obstacle, and look into the books when it has ended."""
        run = Trial()
        with closing(sqlite3.connect(self.path, isolation_level=None)) as books, ExitStack() as lock:
            if obstacle.is_locked:
                books.execute("BEGIN EXCLUSIVE")
                lock.callback(books.rollback)
            await self._try(obstacle, run, lock.close)
            lock.close()
            if obstacle.thing:
                (run.made,) = books.execute(f"SELECT count(*) FROM {obstacle.thing}s").fetchone()
        return run

    async def _try(self, obstacle: Obstacle, run: Trial, unlock: Callable[[], None]) -> None:
        arguments = dict(obstacle.arguments)
        for attempt in range(MOST_CALLS):
            text, error = await self._call(obstacle.tool, arguments)
            if error is None:
                run.through = True
                run.did[-1:] = [f"{each}, and gets through" for each in run.did[-1:]]
                return
            run.read.append(text if text not in run.read else "the same")
            decision = decide(error, tool=Traits.of(self.tools[obstacle.tool]))
            again = _said(obstacle.tool, arguments)
            if decision.next is Next.FIX and decision.patch:
                arguments = apply_patch(arguments, decision.patch)
                run.did.append(f"calls {_said(obstacle.tool, arguments)}")
            elif decision.next is Next.RETRY:
                run.did.append(f"waits, calls {again} again")
                await anyio.sleep(min(decision.delay or 0, LONGEST_WAIT))
                unlock()
            elif decision.calls:
                call = self._filled(decision.calls[0])
                seen, _ = await self._call(call.tool, dict(call.arguments or {}))
                if decision.next is Next.VERIFY:
                    run.through = "paid" in seen
                    run.did.append(f"calls {_said(call.tool, call.arguments)}, reads {seen!r}, and knows")
                    return
                run.did.append(f"calls {_said(call.tool, call.arguments)}, then {again}")
            elif attempt == 0:
                run.did.append(f"calls {again} once more")
            else:
                run.did.append("gives up")
                return

    async def _call(self, tool: str, arguments: dict[str, Any]) -> tuple[str, ToolError | None]:
        result = await self.client.call_tool(tool, arguments)
        error = parse(result)
        return result.content[0].text if result.content else "", error if isinstance(error, ToolError) else None  # type: ignore[union-attr]

    def _filled(self, action: Action) -> Action:
        """A call that the agent was sent to, with what it knows by itself."""
        wanted = self.tools[action.tool].input_schema["properties"]
        known = {name: value for name, value in KNOWN.items() if name in wanted}
        return Action(action.tool, arguments={**known, **(action.arguments or {})})


@asynccontextmanager
async def shop(*options: str) -> AsyncIterator[Shop]:
    """A shop in a process of its own, for as long as the `with` lasts."""
    with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder:
        path = Path(folder) / "shop.db"
        with closing(sqlite3.connect(path)) as books:
            books.executescript(TABLES)
        command = ["-m", "failwell.cli.demo_shop", str(path), *options]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        # What the plain server prints about a crash is for its operator.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            wire = stdio_client(server, errlog=nowhere)
            async with Client(wire, client_info=Implementation(name="failwell-demo", version=__version__)) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                yield Shop(client, tools, path)


async def compare(show: Callable[[Obstacle, Trial, Trial], bool]) -> None:
    """Meet every obstacle on the plain server and on the one with Failwell, for as long as `show` wants more."""

    async def meet_all(met: Any, *options: str) -> None:
        async with met, shop(*options) as server:
            for obstacle in OBSTACLES:
                await met.send(await server.meet(obstacle))

    async with anyio.create_task_group() as tasks:
        plain_side, plain = anyio.create_memory_object_stream[Trial](len(OBSTACLES))
        our_side, ours = anyio.create_memory_object_stream[Trial](len(OBSTACLES))
        with plain, ours:
            tasks.start_soon(meet_all, plain_side, "--plain")
            tasks.start_soon(meet_all, our_side)
            for obstacle in OBSTACLES:
                if not show(obstacle, await plain.receive(), await ours.receive()):
                    tasks.cancel_scope.cancel()
                    return


def _said(tool: str, arguments: Any) -> str:
    return f"{tool} {json.dumps(arguments)}"
