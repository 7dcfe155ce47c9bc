"""The demo proper: a real server, as the plain SDK runs it and with one line of Failwell, and one agent for both."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from failwell import Action, NeedsInput, Next, ToolError, Traits, apply_patch, decide, parse
from failwell.examples.reservations.store import Store

EXAMPLE: Final = "reservations"
FILE: Final = "src/app.py"
MOST_CALLS: Final = 8
# What the agent knows by itself, for tools that it is sent to.
KNOWN: Final = {"agent_id": "bob", "task": "mend the parser", "reason": "a mend of one line"}
LOCKED_SECONDS: Final = 1.5
LONGEST_WAIT: Final = 2.0


@dataclass
class Obstacle:
    """Something in the way of the agent, and the call that meets it."""

    title: str
    arguments: dict[str, Any]
    before: Callable[[Store], None]
    meanwhile: Callable[[Store], None] = lambda store: None


@dataclass
class Trial:
    """What became of one obstacle on one server."""

    said: str = ""
    steps: list[str] = field(default_factory=list)
    through: bool = False


def _alone(store: Store) -> None:
    store.register("bob", KNOWN["task"])


def _held(store: Store) -> None:
    _alone(store)
    store.register("ada", "rewrite everything")
    store.reserve("ada", "src/**", 30, True)


def _let_go(store: Store) -> None:
    """What Ada does when she is asked: she lets go."""
    for request in store.requests("ada"):
        if request["answer"] is None:
            store.answer("ada", request["id"], True, "")


def _locked(store: Store) -> None:
    _alone(store)

    def hold() -> None:
        with closing(sqlite3.connect(store.path, timeout=5)) as other:
            other.execute("BEGIN EXCLUSIVE")
            time.sleep(LOCKED_SECONDS)

    threading.Thread(target=hold, daemon=True).start()
    time.sleep(0.1)


OBSTACLES: Final = (
    Obstacle("An argument with a typo", {"agent_id": "bob", "patern": FILE}, _alone),
    Obstacle("A step that was left out", {"agent_id": "bob", "pattern": FILE}, lambda store: None),
    Obstacle("Somebody else holds the file", {"agent_id": "bob", "pattern": FILE}, _held, _let_go),
    Obstacle("A database that is busy", {"agent_id": "bob", "pattern": FILE}, _locked),
)


async def compare() -> list[tuple[Obstacle, Trial, Trial]]:
    """Every obstacle, on the plain server and on the one with Failwell."""
    plain, ours = await _runs("--plain"), await _runs()
    return list(zip(OBSTACLES, plain, ours, strict=True))


async def _runs(*options: str) -> list[Trial]:
    with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder:
        path = Path(folder) / "reservations.db"
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "failwell", "example", EXAMPLE, *options],
            env={**os.environ, "RESERVATIONS_DB": str(path)},
        )
        # What the plain server prints about a crash is for its operator.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            async with Client(stdio_client(server, errlog=nowhere)) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                return [await _meet(obstacle, client, tools, path) for obstacle in OBSTACLES]


async def _meet(obstacle: Obstacle, client: Client, tools: dict[str, Any], path: Path) -> Trial:
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("requests", "reservations", "agents"):
            database.execute(f"DELETE FROM {table}")
    store = Store(str(path), time.time)
    obstacle.before(store)
    run, arguments = Trial(), dict(obstacle.arguments)
    for _ in range(MOST_CALLS):
        result = await client.call_tool("reserve", arguments)
        error = parse(result)
        if error is None:
            run.steps.append(f"{_call('reserve', arguments)}: reserved")
            run.through = True
            break
        run.said = run.said or result.content[0].text  # type: ignore[union-attr]
        if isinstance(error, NeedsInput):
            break
        decision = decide(error, tool=Traits.of(tools["reserve"]))
        run.steps.append(decision.reason)
        if decision.next is Next.FIX and decision.patch:
            arguments = apply_patch(arguments, decision.patch)
        elif decision.next is Next.RETRY:
            await anyio.sleep(min(decision.delay or 0, LONGEST_WAIT))
        elif decision.next is Next.VERIFY:
            check = decision.calls[0]
            seen = await _look(client, tools, check)
            if seen is None:
                break
            run.through = FILE in seen
            run.steps.append(
                f"{_call(check.tool, dict(check.arguments or {}))}: it was {'' if run.through else 'not '}done"
            )
            if run.through:
                break
        elif error.actions and error.actions[0].tool in tools:
            action = error.actions[0]
            wanted = tools[action.tool].input_schema["properties"]
            filled = {**{name: value for name, value in KNOWN.items() if name in wanted}, **(action.arguments or {})}
            await client.call_tool(action.tool, filled)
            run.steps.append(f"{_call(action.tool, filled)}: done")
            obstacle.meanwhile(store)
        else:
            break
    return run


async def _look(client: Client, tools: dict[str, Any], check: Action) -> str | None:
    """What a call that only looks shows, which may be made as often as it takes; None if it never shows anything."""
    for _ in range(MOST_CALLS):
        result = await client.call_tool(check.tool, dict(check.arguments or {}))
        error = parse(result)
        if not isinstance(error, ToolError):
            return result.content[0].text  # type: ignore[union-attr]
        decision = decide(error, tool=Traits.of(tools[check.tool]))
        if decision.next is not Next.RETRY:
            break
        await anyio.sleep(min(decision.delay or 0, LONGEST_WAIT))
    return None


def _call(tool: str, arguments: dict[str, Any]) -> str:
    return f"{tool}({', '.join(f'{name}={json.dumps(value)}' for name, value in arguments.items())})"
