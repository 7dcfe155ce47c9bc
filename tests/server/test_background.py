"""What a worker gets of a tool that FastMCP runs in the background; `make matrix` starts the workers themselves."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastmcp
import pytest

import failwell as fw
import failwell.server
from failwell.formats import META_KEY
from failwell.server.adapters.background import TaskFailure


def shop(*, task: bool = True, **options: Any) -> Any:
    server: Any = fastmcp.FastMCP("shop")

    @server.tool(task=task)
    async def pay(amount: int = 1) -> str:
        if amount == 3:
            return "paid"
        if amount == 2:
            raise fw.Conflict("The till is shut.")
        raise TimeoutError("postgres://u:hunter2@h/db")

    return failwell.server.install(server, wire={"client": None}, **options)


async def worked(server: Any, **arguments: Any) -> Any:
    """What a worker is given by the function that it calls."""
    [task] = await server.get_tasks()
    assert await server.get_tasks() == [task]
    return await task.fn(**arguments)


def test_a_worker_is_given_the_answer_that_the_call_would_have_got(caplog: pytest.LogCaptureFixture) -> None:
    server = shop()

    async def both() -> tuple[Any, Any]:
        async with fastmcp.Client(shop(task=False)) as client:
            return await client.call_tool_mcp("pay", {}), (await worked(server)).to_mcp_result()

    at_once, later = asyncio.run(both())
    for result in (at_once, later):
        result.meta = {META_KEY: {**result.meta[META_KEY], "correlation_id": ""}}
    assert later.meta == at_once.meta
    assert (later.is_error, later.content) == (True, at_once.content)
    assert later.content[0].text.startswith("pay failed part-way (The operation took too long")
    assert "hunter2" not in caplog.text
    assert failwell.server.stats(server)["pay"].failures == 1


@pytest.mark.parametrize(("amount", "effect"), [(1, "unknown"), (2, "none")])
def test_a_worker_is_told_what_was_done(amount: int, effect: str) -> None:
    assert asyncio.run(worked(shop(), amount=amount)).meta[META_KEY]["effect"] == effect


def test_a_function_that_cannot_be_called_with_what_was_sent_has_done_nothing() -> None:
    told = asyncio.run(worked(shop(), amount=1, tip=2)).meta[META_KEY]
    assert (told["code"], told["effect"]) == ("VALIDATION_ERROR", "none")


def test_a_success_in_the_background_is_left_alone() -> None:
    assert asyncio.run(worked(shop(), amount=3)) == "paid"


def test_what_a_worker_keeps_can_be_read_in_another_process() -> None:
    kept = TaskFailure("It failed.", {"isError": True})
    again = pickle.loads(pickle.dumps(kept))
    assert (str(again), again.args) == ("It failed.", ("It failed.", {"isError": True}))


def test_what_is_said_of_tasks_is_what_was_done() -> None:
    command = [sys.executable, str(Path(__file__).with_name("background.py"))]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(told.stdout) == []
