"""What `install` says of tools that FastMCP runs in the background, in whichever generation is installed: what is wrong
with that, as JSON; nothing where FastMCP has no worker.

    python background.py
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import logging
import sys
import warnings
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastmcp import FastMCP
from fastmcp.dependencies import Depends

import failwell
import failwell.server
from failwell.formats import META_KEY

DONE: list[str] = []
"""What tools have really done."""
SECRET = "hunter2"
UNKNOWN = ("TIMEOUT", "unknown")
REFUSED = ("VALIDATION_ERROR", "none")


@dataclass(frozen=True)
class Scene:
    """A tool that is started in the background, and what must be so when it has ended."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    told: tuple[str, str | None] | None = None
    """Code and effect; None for a success."""
    says: str = ""
    done: int = 1


SCENES = (
    Scene("pay", {}, UNKNOWN, "pay failed part-way (The operation took too long."),
    Scene("pay", {"amount": 1, "tip": 2}, REFUSED, "There is no argument tip.", 0),
    Scene("charge", {"invoice": "inv_1"}, UNKNOWN, 'Next: call get_charge with {"invoice":"inv_1"} to see'),
    Scene("charge", {}, REFUSED, "invoice is missing.", 0),
    Scene("marked", {}, ("TIMEOUT", "done"), "marked was done, and failed after that"),
    Scene("refuse", {}, ("CONFLICT", "none"), "The till is shut.", 0),
    Scene("look", {}, ("TIMEOUT", "none"), "The operation took too long.", 0),
    Scene("shop_pay", {}, UNKNOWN, "shop_pay failed part-way", 1),
    Scene("work", {"amount": 2}, None, '{"amount":2}', 0),
)
# FastMCP 2 gives a function in the background whatever was sent.
CHECKED = (Scene("pay", {"amount": "much"}, REFUSED, "amount must be an integer.", 0),)


def shop() -> Any:
    @asynccontextmanager
    async def till() -> Any:
        yield DONE

    def paying(server: Any) -> Any:
        @server.tool(task=True)
        async def pay(amount: int = 1, book: Any = Depends(till)) -> str:  # noqa: B008
            book.append("paid")
            raise TimeoutError(f"postgres://u:{SECRET}@h/db")

        return server

    server = paying(FastMCP("mall"))

    @server.tool(task=True)
    async def charge(invoice: str) -> str:
        DONE.append(invoice)
        raise TimeoutError(f"postgres://u:{SECRET}@h/db")

    @server.tool(annotations={"readOnlyHint": True})
    def get_charge(invoice: str) -> str:
        return "open"

    @server.tool(task=True)
    async def marked() -> str:
        with failwell.effects():
            DONE.append("paid")
        raise TimeoutError(f"postgres://u:{SECRET}@h/db")

    @server.tool(task=True)
    async def refuse() -> Any:
        return failwell.Conflict("The till is shut.")

    @server.tool(task=True, annotations={"readOnlyHint": True})
    async def look() -> str:
        raise TimeoutError(f"postgres://u:{SECRET}@h/db")

    @server.tool(task=True)
    async def work(amount: int) -> dict[str, int]:
        return {"amount": amount}

    inner = paying(FastMCP("shop"))
    try:
        server.mount(inner, namespace="shop")
    except TypeError:
        server.mount(inner, prefix="shop")
    return server


def reading(server: Any) -> Any:
    """With a prompt in the background, which FastMCP 4 does not have."""

    @server.prompt(task=True)
    async def greet(name: str) -> str:
        raise TimeoutError(f"postgres://u:{SECRET}@h/db")

    return server


async def problems_of_prompt(client: Any) -> list[str]:
    task = await client.get_prompt("greet", {"name": "Ann"}, task=True)
    while (found := await client.get_task_status(task.task_id)).status == "working":
        await asyncio.sleep(0.02)
    told = json.dumps([found.statusMessage, await client.get_task_result(task.task_id)], default=str)
    return [f"greet: {told}"] if SECRET in told or META_KEY not in told else []


def has_extension() -> bool:
    return importlib.util.find_spec("fastmcp_tasks") is not None


async def ended(client: Any, scene: Scene) -> tuple[str, dict[str, Any]]:
    """What the status says of a task when it has ended, and its result."""
    if not has_extension():
        return await older(client, scene)
    from fastmcp_tasks.client import ClientCreateTaskResult, _send_get

    raw = await client.session.call_tool(scene.tool, scene.arguments, allow_claimed=True)
    if not isinstance(raw, ClientCreateTaskResult):
        return "", raw.model_dump(by_alias=True, mode="json")
    while (found := await _send_get(client.session, raw.task_id)).status == "working":
        await asyncio.sleep(0.02)
    return found.status_message or "", found.model_dump(by_alias=True, mode="json")["result"] or {}


async def older(client: Any, scene: Scene) -> tuple[str, dict[str, Any]]:
    from mcp import types

    params = types.CallToolRequestParams(
        name=scene.tool, arguments=scene.arguments, task=types.TaskMetadata(ttl=60_000)
    )
    request: Any = types.CallToolRequest(params=params)
    raw = (await client.session.send_request(request, types.Result)).model_dump(by_alias=True, mode="json")
    task = raw.get("task") or (raw.get("_meta") or {}).get("modelcontextprotocol.io/task")
    if task is None:
        return "", raw
    while (found := await client.get_task_status(task["taskId"])).status == "working":
        await asyncio.sleep(0.02)
    result = await client.get_task_result(task["taskId"])
    if (found.status == "failed") is not (scene.told is not None):
        return f"The status is {found.status}.", result
    return found.statusMessage or "", result if isinstance(result, dict) else result.model_dump(by_alias=True)


async def problems_of(client: Any, scene: Scene) -> list[str]:
    DONE.clear()
    status, result = await ended(client, scene)
    told = (result.get("_meta") or {}).get(META_KEY)
    text = " ".join(block.get("text", "") for block in result.get("content") or ())
    found = {
        "done": (len(DONE), scene.done),
        "told": (told and (told["code"], told.get("effect")), scene.told),
        "says": (scene.says in text, True),
        "isError": (result.get("isError", False), scene.told is not None),
        "hides": (SECRET in json.dumps([status, result], default=str), False),
        "the status": ("The status is" in status, False),
    }
    return [
        f"{scene.tool} {scene.arguments}: {what} is {one}, not {other}: {status} {text}"
        for what, (one, other) in found.items()
        if one != other
    ]


async def main() -> list[str]:
    if importlib.util.find_spec("docket") is None:
        return []
    import fastmcp

    warnings.simplefilter("ignore")
    log = io.StringIO()
    for name in ("", "fastmcp", "docket"):
        logging.getLogger(name).handlers = [logging.StreamHandler(log)]
    server = shop() if has_extension() else reading(shop())
    if has_extension():
        from fastmcp_tasks import TasksExtension

        server.add_extension(TasksExtension())
    scenes = SCENES if fastmcp.__version__.startswith("2.") else (*SCENES, *CHECKED)
    async with fastmcp.Client(failwell.server.install(server)) as client:
        problems = [problem for scene in scenes for problem in await problems_of(client, scene)]
        problems += [] if has_extension() else await problems_of_prompt(client)
    return [*problems, *(["The log tells a secret."] if SECRET in log.getvalue() else [])]


if __name__ == "__main__":
    json.dump(asyncio.run(main()), sys.stdout, indent=1)
