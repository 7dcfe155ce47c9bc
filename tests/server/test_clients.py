"""Real clients of other people, in front of failing servers: what their models are shown says what went wrong, what to
do next and how long to wait, and nothing that is nobody's business."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pytest
from clients import drivers
from clients.cases import CASES
from clients.drivers import Shown
from wire import APP, MODERN, SERVERS, Nursery

from failwell.formats import find_client

Driver = Callable[..., Any]
# Nothing tells what most of the tools are.
STRONG: Final = ("--options", json.dumps({"unmarked": "write"}))


@pytest.fixture(scope="session")
def door(nursery: Nursery) -> Path:
    """Where the nursery takes wishes for servers; it opens with the first."""
    nursery.start("lowlevel", "stdio").close()
    return nursery._folder / "door"


def command(door: Path, framework: str) -> list[str]:
    """What a client runs to start a server."""
    return [sys.executable, "-IS", str(drivers.HERE / "relay.py"), str(door), framework, "stdio", *STRONG]


@contextmanager
def listening(nursery: Nursery, framework: str, *more: str) -> Iterator[str]:
    """The address of a server that listens."""
    process = nursery.start(framework, "http", "0", *more)
    try:
        port = process.reader.readline().strip()
        assert port, process.complaint()
        yield f"http://127.0.0.1:{int(port)}/mcp"
    finally:
        process.close()


def shown_by(driver: Driver, target: Any) -> dict[str, Shown]:
    shown = asyncio.run(driver(target, [(case.tool, case.arguments) for case in CASES]))
    return {case.name: each for case, each in zip(CASES, shown, strict=True)}


def problems(shown: dict[str, Shown], framework: str, *, marked: bool = True) -> list[str]:
    """What is wrong with what was shown, and whether the client says that it is a failure."""
    found = []
    for case in CASES:
        if case.name in shown:
            each = shown[case.name]
            wrong = (
                case.missing(each.text, shows=framework == "fastmcp")
                if each.thrown is None
                else [f"threw {each.thrown!r}"]
            )
            wrong += ["is marked wrongly"] if each.marked is not marked else []
            found += [f"{case.name}: {', '.join(wrong)} in {each.text!r}"] if wrong else []
    return found


STARTING: dict[str, Driver] = {
    "typescript-1": partial(drivers.typescript, sdk=1),
    "typescript-2": partial(drivers.typescript, sdk=2),
    "python-sdk": drivers.python_sdk,
    "fastmcp": drivers.fastmcp,
}


@pytest.mark.parametrize("framework", SERVERS)
@pytest.mark.parametrize("client", STARTING)
def test_clients_over_stdio(door: Path, client: str, framework: str) -> None:
    assert problems(shown_by(STARTING[client], command(door, framework)), framework) == []


def test_a_client_and_a_server_with_nothing_in_between() -> None:
    server = [sys.executable, str(APP), "mcpserver", "stdio", *STRONG]
    assert problems(shown_by(STARTING["typescript-1"], server), "mcpserver") == []


# One server answers all of them, in both eras of the protocol.
CONNECTING: dict[str, Driver] = {
    "typescript-1": partial(drivers.typescript, sdk=1),
    "typescript-2": partial(drivers.typescript, sdk=2),
    "typescript-2-modern": partial(drivers.typescript, sdk=2, pin=MODERN),
    "python-sdk": drivers.python_sdk,
    "python-sdk-legacy": partial(drivers.python_sdk, mode="legacy"),
    "fastmcp-not-raising": partial(drivers.fastmcp, raises=False),
}


@pytest.mark.parametrize("framework", SERVERS)
def test_clients_over_http(nursery: Nursery, framework: str) -> None:
    with listening(nursery, framework, *STRONG) as url:
        found = {client: problems(shown_by(driver, url), framework) for client, driver in CONNECTING.items()}
    assert found == {client: [] for client in CONNECTING}


@pytest.mark.parametrize("framework", SERVERS)
def test_pydantic_ai(door: Path, framework: str) -> None:
    """The agent knows its tools, so its model's call of one that does not exist never gets to the server."""
    shown = shown_by(drivers.pydantic_ai, command(door, framework))
    assert shown.pop("unknown-tool").text.startswith("Unknown tool name: 'converrt'. Available tools: ")
    assert problems(shown, framework) == []


@pytest.mark.parametrize("framework", SERVERS)
def test_openai_agents(door: Path, framework: str) -> None:
    """The SDK looks for missing arguments itself, and tells its model nothing of what it finds.

    It marks no result as a failure: only the words say so. The list of tools is an old one here, so that the call of a
    tool that is gone gets to the server.
    """
    shown = shown_by(partial(drivers.openai_agents, stale=True), command(door, framework))
    assert shown.pop("missing-argument").text == "An error occurred while running the tool. Please try again."
    assert problems(shown, framework, marked=False) == []


# Each failure comes in two blocks and as structured content; one leaves as a JSON-RPC error.
ALL_PARTS = json.dumps({"format": "v1", "wire": {"client": None, "gate": "both", "protocol": ["RATE_LIMITED"]}})


def measured(driver: Driver, url: str) -> dict[str, Any]:
    """What a client does with the parts of a failed result, in the words of `failwell.formats.clients.Client`."""
    # A tool with an output schema fails without structured content, so that its blocks alone are shown.
    names = ("crash_with_schema", "not_found", "author_error_with_schema", "rate_limited")
    blocks, structured, promised, protocol = asyncio.run(driver(url, [(name, {}) for name in names]))
    if promised.thrown is not None:
        becomes = "checked"
    elif structured.structured:
        becomes = "shown"
    else:
        becomes = "instead" if structured.text.startswith("{") else "dropped"
    return {
        "structured": becomes,
        "marks_errors": blocks.marked,
        "protocol_errors": "shown" if "Rate Limited" in (protocol.thrown or protocol.text) else "hidden",
    }


def npm_version(package: str) -> str:
    found: str = json.loads((drivers.HERE / "node_modules" / package / "package.json").read_text())["version"]
    return found


KNOWN: dict[str, tuple[str, Driver, Callable[[], str]]] = {
    "typescript-1": (
        "typescript-sdk",
        partial(drivers.typescript, sdk=1),
        partial(npm_version, "@modelcontextprotocol/sdk"),
    ),
    "typescript-2": (
        "typescript-sdk",
        partial(drivers.typescript, sdk=2),
        partial(npm_version, "@modelcontextprotocol/client"),
    ),
    # Not `mcp`: four clients connect by that name, and its row is what suits them all.
    "fastmcp": ("fastmcp", drivers.fastmcp, partial(version, "fastmcp")),
    "pydantic-ai": ("pydantic-ai", drivers.pydantic_ai, partial(version, "pydantic-ai-slim")),
    "openai-agents": ("openai-agents", drivers.openai_agents, partial(version, "openai-agents")),
}


@pytest.mark.parametrize("client", KNOWN)
def test_the_table_says_what_clients_do(nursery: Nursery, client: str) -> None:
    name, driver, number = KNOWN[client]
    with listening(nursery, "lowlevel", "--options", ALL_PARTS) as url:
        does = measured(driver, url)
    row = find_client(f"{name}/{number()}")
    assert {part: getattr(row, part) for part in does} == does
