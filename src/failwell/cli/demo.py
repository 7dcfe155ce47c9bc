"""`failwell demo`: the same failures on one server, without Failwell and with it, and an agent that meets them."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from argparse import Namespace
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, Final

from failwell import ToolError, __version__, decide, parse
from failwell.model import Action, Next, Traits, apply_patch
from failwell.packages import missing, needed

from .io import Commands, console, interruptible

if TYPE_CHECKING:
    from mcp.client import Client

WIDTH: Final = 80
MOST_CALLS: Final = 4
LONGEST_WAIT: Final = 2.0
# What the agent knows by itself, for tools that it is sent to.
KNOWN: Final = {"customer": "ada", "address": "12 Tea Street"}
PLAIN, INSTALLED, WRAPPED = (
    ("without Failwell", "red"), ("with Failwell", "green"), ("behind failwell wrap", "green")
)  # fmt: skip
WHY: Final = (
    "When a tool fails, an agent has only the text of the error to go by. Here it meets four failures twice: as the "
    "MCP SDK sends them, and with one line in the same server: failwell.server.install(server). The fifth is shown "
    "without that line, and behind failwell wrap."
)
HONEST: Final = (
    "The server is real and so are its failures. The agent is a script, not a model: it does what the error says, "
    "and where the error says nothing, it tries once more and then gives up."
)
NEXT: Final = (
    "Next: put the one line into your server (README, 'If you write a server'), or wrap one that you run "
    "(`failwell wrap -- CMD`); `failwell example` lists five servers to try; `failwell explain` says what an error "
    "means that you paste."
)


@dataclass(frozen=True)
class Obstacle:
    """Something in the way of the agent, and the call that meets it.

    thing: what the call makes, and its table in the books; nothing for a call that only looks. is_locked: whether
        somebody else writes in the books, until the agent waits or gives up.
    """

    title: str
    tool: str
    arguments: dict[str, Any]
    thing: str = ""
    is_locked: bool = False


OBSTACLES: Final = (
    Obstacle("A payment whose answer gets lost", "pay_invoice", {"id": "inv_1"}, "payment"),
    Obstacle("An argument with a typo", "find_orders", {"custmer": "ada"}),
    Obstacle("A step that was left out", "place_order", {"customer": "ada", "item": "tea"}, "order"),
    Obstacle("A database that is busy", "find_orders", {"customer": "ada"}, is_locked=True),
)
DEATH: Final = Obstacle("A server that dies in the middle of a call", "send_reminder", {"customer": "ada"}, "reminder")


@dataclass
class Trial:
    """What became of one obstacle on one server: what the agent read and did, in order."""

    read: list[str] = field(default_factory=list)
    did: list[str] = field(default_factory=list)
    through: bool = False
    made: int = 0
    """How many of the thing there really are in the end."""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="one agent on a real server, without Failwell and with it",
        description="Starts a small server twice, without Failwell and with it, and lets one scripted agent meet the "
        "same failures on both.",
        epilog="examples:\n  failwell demo\n  failwell demo | less",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if (lacking := missing("the demo", "mcp", newest=True)) is not None:
        raise lacking
    try:
        import mcp.client  # noqa: F401
    except ImportError as problem:
        raise needed("the demo", "mcp", problem) from None
    import anyio

    put(WHY, style="bold")
    put(HONEST)
    put("Starting the servers takes some seconds ...", style="dim")
    with interruptible():
        trials = anyio.run(meet_all)
    for number, (obstacle, both) in enumerate(zip((*OBSTACLES, DEATH), trials, strict=True), 1):
        put(f"{number}. {obstacle.title}", style="bold cyan")
        for (label, style), trial in zip((PLAIN, WRAPPED if obstacle is DEATH else INSTALLED), both, strict=True):
            show(trial, obstacle.thing, label, style)
    for column, (label, style) in enumerate((PLAIN, INSTALLED)):
        seen = [both[column] for both in trials[: len(OBSTACLES)]]
        twice = [f"the {each.thing}" for each, trial in zip(OBSTACLES, seen, strict=True) if trial.made > 1]
        through = f"{sum(trial.through for trial in seen)} of {len(seen)} got through"
        put(f"{label}: {through}, {' and '.join(twice) or 'nothing'} was made twice", style=f"bold {style}", after="")
    put("", after="")
    put(NEXT, style="dim", after="")
    return 0


def show(trial: Trial, thing: str, label: str, style: str) -> None:
    put(f"{label}, the agent reads", indent=3, style=style, after="")
    for number, (text, step) in enumerate(zip(trial.read, trial.did, strict=True), 1):
        put(text, indent=6, after="")
        put(f"and {step}{'.' if number == len(trial.read) else ', and reads'}", indent=3, after="")
    if thing:
        made = f"{trial.made or 'no'} {thing}{'s' * (trial.made > 1)}"
        put(f"In the shop's books: {made}.", indent=3, style=f"bold {style}", after="")
    put("", after="")


def put(text: str, *, indent: int = 0, style: str = "", after: str = "\n") -> None:
    """Print a text as a paragraph of 80 columns; nothing is cut, and its own lines stay lines."""
    from rich.text import Text

    lines: list[str] = []
    for line in text.splitlines() or [""]:
        margin = " " * (indent + len(line) - len(line.lstrip()))
        wrapper = TextWrapper(WIDTH, initial_indent=margin, subsequent_indent=margin)
        lines += wrapper.wrap(line.lstrip()) or [""]
    out = console()
    out.print(Text("\n".join(lines) + after, style=style))
    out.file.flush()


# The agent, and the servers that it is sent to.


async def meet_all() -> list[tuple[Trial, Trial]]:
    """Every obstacle on the plain server, and on the one that is to be compared with it."""
    async with shop("--plain") as plain, shop() as installed:
        trials = [(await meet(plain, each), await meet(installed, each)) for each in OBSTACLES]
    async with shop("--plain") as plain, shop("--plain", is_wrapped=True) as wrapped:
        return [*trials, (await meet(plain, DEATH), await meet(wrapped, DEATH))]


@dataclass(frozen=True)
class Shop:
    """A server that runs, and its books."""

    client: Client
    tools: dict[str, Any]
    books: Path


@asynccontextmanager
async def shop(*options: str, is_wrapped: bool = False) -> AsyncIterator[Shop]:
    """A shop in a process of its own, for as long as the `with` lasts."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp_types import Implementation

    from .demo_shop import TABLES

    with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder:
        path = Path(folder) / "shop.db"
        with closing(sqlite3.connect(path)) as books:
            books.executescript(TABLES)
        command = ["-m", "failwell.cli.demo_shop", str(path), *options]
        if is_wrapped:
            command = ["-m", "failwell", "wrap", "--", sys.executable, *command]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        # What the plain server prints about a crash is for its operator.
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            us = Implementation(name="failwell-demo", version=__version__)
            async with Client(stdio_client(server, errlog=nowhere), client_info=us) as client:
                yield Shop(client, {tool.name: tool for tool in (await client.list_tools()).tools}, path)


async def meet(shop: Shop, obstacle: Obstacle) -> Trial:
    """Let the agent meet an obstacle, and look into the books when it has ended."""
    trial = Trial()
    with closing(sqlite3.connect(shop.books, isolation_level=None)) as books, ExitStack() as lock:
        if obstacle.is_locked:
            books.execute("BEGIN EXCLUSIVE")
            lock.callback(books.rollback)
        await try_call(shop, obstacle, trial, lock.close)
        lock.close()
        if obstacle.thing:
            (trial.made,) = books.execute(f"SELECT count(*) FROM {obstacle.thing}s").fetchone()
    return trial


async def try_call(shop: Shop, obstacle: Obstacle, trial: Trial, unlock: Callable[[], None]) -> None:
    import anyio

    arguments = dict(obstacle.arguments)
    for attempt in range(MOST_CALLS):
        text, error = await call(shop, obstacle.tool, arguments)
        if error is None:
            trial.through = True
            trial.did[-1:] = [f"{each}, and gets through" for each in trial.did[-1:]]
            return
        trial.read.append(text if text not in trial.read else "the same")
        decision = decide(error, tool=Traits.of(shop.tools[obstacle.tool]))
        again = format_call(obstacle.tool, arguments)
        if decision.next is Next.FIX and decision.patch:
            arguments = apply_patch(arguments, decision.patch)
            trial.did.append(f"calls {format_call(obstacle.tool, arguments)}")
        elif decision.next is Next.RETRY:
            trial.did.append(f"waits, calls {again} again")
            await anyio.sleep(min(decision.delay or 0, LONGEST_WAIT))
            unlock()
        elif decision.calls:
            named = fill_in(shop, decision.calls[0])
            seen, problem = await call(shop, named.tool, dict(named.arguments or {}))
            if decision.next is Next.VERIFY:
                trial.through = problem is None
                trial.did.append(f"calls {format_call(named.tool, named.arguments)}, reads {seen!r}, and knows")
                return
            trial.did.append(f"calls {format_call(named.tool, named.arguments)}, then {again}")
        elif attempt == 0:
            trial.did.append(f"calls {again} once more")
        else:
            trial.did.append("gives up")
            return


async def call(shop: Shop, tool: str, arguments: dict[str, Any]) -> tuple[str, ToolError | None]:
    """What a model reads of a call, and the error in it."""
    try:
        result = await shop.client.call_tool(tool, arguments)
    except Exception as problem:
        return str(problem), ToolError(str(problem))
    error = parse(result)
    return result.content[0].text if result.content else "", error if isinstance(error, ToolError) else None  # type: ignore[union-attr]


def fill_in(shop: Shop, action: Action) -> Action:
    """A call that the agent was sent to, with what it knows by itself."""
    wanted = shop.tools[action.tool].input_schema["properties"]
    known = {name: value for name, value in KNOWN.items() if name in wanted}
    return Action(action.tool, arguments={**known, **(action.arguments or {})})


def format_call(tool: str, arguments: Any) -> str:
    return f"{tool} {json.dumps(arguments)}"
