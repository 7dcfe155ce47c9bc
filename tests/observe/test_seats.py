"""One call that is seen from three seats, over real wires: each tells, and it counts once."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from failwell.client import Recovering
from failwell.client.langchain import recovering
from failwell.observe import store

APP = str(Path(__file__).with_name("seen_app.py"))
CALLS = (
    ("search", {"query": "x"}),
    ("search", {"query": "busy"}),
    ("pay", {"invoice": "inv_1"}),
    ("get_invoice", {"invoice": "inv_1"}),
    ("pay", {"invoice": "inv_2"}),
    ("pay", {"invoice": "inv_3"}),
)
SERVER, RELAY, CLIENT = 1, 2, 4


def seen(path: Path, seats: int) -> list[dict[str, Any]]:
    """Make the calls, with events kept by these seats, and give what is stored."""
    url = f"sqlite:///{path}"
    command = [sys.executable, APP]
    if seats & RELAY:
        command = [sys.executable, "-m", "failwell.cli", "wrap", "--events", url, "--", *command]
    env = {**os.environ, "SEEN_EVENTS": url if seats & SERVER else ""}

    async def call() -> None:
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=env)
        client = Client(stdio_client(parameters))
        if seats & CLIENT:
            async with Recovering(client, events=url) as agent:
                for tool, arguments in CALLS:
                    await agent.call_tool(tool, arguments)
            return
        async with client:
            for tool, arguments in CALLS:
                for _ in range(3):
                    if not (await client.call_tool(tool, arguments)).is_error or tool == "pay":
                        break

    asyncio.run(call())
    if seats & CLIENT:
        store(url).close()
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM event ORDER BY at, id")]


def test_a_call_that_a_framework_makes_by_itself_counts_once(tmp_path: Path) -> None:
    """The bridge knows the call, the author's tool makes it, and the server hears of it."""
    path = tmp_path / "events.db"
    url = f"sqlite:///{path}"
    parameters = StdioServerParameters(command=sys.executable, args=[APP], env={**os.environ, "SEEN_EVENTS": url})

    async def call() -> None:
        async with Client(stdio_client(parameters)) as client:

            async def search(query: str) -> Any:
                result = await client.call_tool("search", {"query": query})
                return [block.model_dump(include={"type", "text"}) for block in result.content], result

            made = StructuredTool.from_function(
                coroutine=search, name="search", description="finds", response_format="content_and_artifact"
            )
            (tool,) = recovering([made], events=url)
            for query in ("x", "busy"):
                await tool.ainvoke({"name": "search", "args": {"query": query}, "id": "c1", "type": "tool_call"})
            # Whoever calls past the bridge is not counted to it.
            await client.call_tool("get_invoice", {"invoice": "inv_1"})

    asyncio.run(call())
    store(url).close()
    with closing(sqlite3.connect(path)) as kept:
        told = kept.execute("SELECT tool, outcome = 'ok', seats FROM event ORDER BY at, id").fetchall()
    assert told == [
        ("search", 1, SERVER | CLIENT),
        ("search", 0, SERVER | CLIENT),
        ("search", 0, SERVER | CLIENT),
        ("search", 1, SERVER | CLIENT),
        ("get_invoice", 1, SERVER),
    ]


@pytest.mark.parametrize(
    "seats",
    [pytest.param(SERVER, marks=pytest.mark.thorough), SERVER | RELAY, SERVER | CLIENT, SERVER | RELAY | CLIENT],
)
def test_each_attempt_counts_once_whoever_tells_of_it(seats: int, tmp_path: Path) -> None:
    rows = seen(tmp_path / "events.db", seats)
    told = [(row["tool"], int(not row["failed"]), row["code"], row["effect"], row["attempt"]) for row in rows]
    assert told == [
        ("search", 1, "", None, 1),
        ("search", 0, "RATE_LIMITED", "none", 1),
        ("search", 0, "RATE_LIMITED", "none", 2),
        ("search", 1, "", None, 3),
        ("pay", 0, "INTERNAL_ERROR", "unknown", 1),
        ("get_invoice", 1, "", None, 1),
        ("pay", 0, "INVOICE_PAID", "none", 1),
        ("pay", 0, "INVOICE_LOCKED", "none", 1),
    ]
    # What a relay repeats, the client does not see.
    repeated = {2, 3} if seats & RELAY and seats & CLIENT else set()
    assert [row["seats"] for row in rows] == [seats & ~CLIENT if at in repeated else seats for at in range(len(rows))]
    assert len({row["session"] for row in rows}) == 1
    assert {row["server"] for row in rows} <= {"shop", ""}
    assert [row["after"] for row in rows] == [0, 2, 1, *[0] * 5]
    decided = seats & (RELAY | CLIENT)
    assert [row["decision"] for row in rows if row["failed"]] == (
        ["retry", "retry", "ask", "ask", "ask"] if decided else [""] * 5
    )
    assert [row["prevented"] for row in rows] == [0, 0, 0, 0, int(bool(decided)), 0, 0, 0]
    assert [row["waited"] is not None for row in rows[1:3]] == [bool(decided)] * 2
