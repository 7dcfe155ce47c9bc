"""The example of contract 000: every type of failure over real wires, and agents that get through together."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client as McpClient
from running import ERAS, Client, Example, compare, talking

import failwell as fw
from failwell.examples.reservations.patterns import overlap
from failwell.examples.reservations.store import Store
from failwell.model import Kind

TYPES = {"NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"}


class Office:
    """A server, and the file its state is in."""

    def __init__(self, folder: Path, http: bool) -> None:
        self.http = http
        self.database = folder / "reservations.db"
        self.clock = folder / "clock"
        self.clock.write_text("1000")
        settings = {"RESERVATIONS_DB": str(self.database), "RESERVATIONS_CLOCK": str(self.clock)}
        self.process = Example("reservations", folder / "errors.log", settings, http=http)


@pytest.fixture(params=["stdio", "http"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    place = Office(tmp_path, request.param == "http")
    yield place
    place.process.close()


def asked(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    return client.ask("tools/call", {"name": tool, "arguments": arguments}, id=f"{tool}-{time.perf_counter_ns()}").value


def data(answer: dict[str, Any]) -> Any:
    assert answer["result"]["isError"] is False, answer
    return json.loads(answer["result"]["content"][0]["text"])


def failed(answer: dict[str, Any]) -> fw.ToolError:
    error = fw.parse(answer)
    assert isinstance(error, fw.ToolError)
    return error


@pytest.mark.checklist(1, 10, 18, 19)
@pytest.mark.parametrize("era", ERAS)
def test_every_type_of_failure(office: Office, era: str) -> None:
    answers: dict[str, Any] = {}
    with talking(office.process, era, http=office.http) as client:
        asked(client, "register_agent", agent_id="ada", task="parser")
        asked(client, "register_agent", agent_id="bob", task="docs")
        held = data(asked(client, "reserve", agent_id="ada", pattern="src/*.py"))["reservation_id"]
        shared = {"agent_id": "ada", "pattern": "docs/**", "exclusive": False}
        for name, tool, arguments in (
            ("an agent nobody knows", "reserve", {"agent_id": "eve", "pattern": "a.py"}),
            ("a reservation that is gone", "release", {"agent_id": "ada", "reservation_id": 99}),
            ("held by somebody else", "reserve", {"agent_id": "bob", "pattern": "src/app.py"}),
            ("shared", "reserve", shared),
            ("shared with one more", "reserve", {**shared, "agent_id": "bob"}),
            ("shared is not exclusive", "reserve", {"agent_id": "bob", "pattern": "docs/index.md"}),
            ("not a pattern", "reserve", {"agent_id": "ada", "pattern": "../etc/passwd"}),
            ("not a length of time", "reserve", {"agent_id": "ada", "pattern": "a.py", "minutes": -1}),
            ("an argument nobody has", "reserve", {"agent_id": "ada", "patern": "a.py"}),
            ("not theirs to release", "release", {"agent_id": "bob", "reservation_id": held}),
            ("not theirs to extend", "extend", {"agent_id": "bob", "reservation_id": held, "minutes": 5}),
            ("no such request", "answer_request", {"agent_id": "ada", "request_id": 7, "release": True}),
            (
                "several at once",
                "reserve_many",
                {"agent_id": "bob", "wishes": [{"pattern": "x/*"}, {"pattern": "src/a.py"}, {"pattern": "/"}]},
            ),
            ("who is in the way", "check_conflicts", {"agent_id": "bob", "pattern": "**/*.py"}),
            ("no such tool", "reserv", {}),
        ):
            answers[name] = asked(client, tool, **arguments)
        with closing(sqlite3.connect(office.database)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answers["somebody else is writing"] = asked(client, "list_reservations")
        office.database.write_bytes(b"this is no database" * 100)
        answers["the file is broken"] = asked(client, "list_reservations")
    seen = {
        json.loads(answer["result"]["content"][0]["text"])["type"]
        for answer in answers.values()
        if answer["result"]["isError"]
    }
    assert seen == TYPES
    problems = compare("reservations", answers, era)
    assert not problems, "\n".join(problems)


@pytest.mark.checklist(19)
@pytest.mark.parametrize("era", ERAS)
def test_two_agents_negotiate_and_both_get_through(office: Office, era: str) -> None:
    with talking(office.process, era, http=office.http) as client:
        for agent in ("ada", "bob"):
            asked(client, "register_agent", agent_id=agent, task="work")
        asked(client, "reserve", agent_id="ada", pattern="src/**")
        refusal = failed(asked(client, "reserve", agent_id="bob", pattern="src/app.py"))
        assert (refusal.kind, refusal.recoverable, refusal.conflicts[0].holder) == (Kind.CONFLICT, True, "ada")
        [action] = refusal.actions
        request = data(asked(client, action.tool, agent_id="bob", reason="a fix", **action.arguments))
        [waiting] = data(asked(client, "list_requests", agent_id="ada"))["requests"]
        assert waiting["asked_by"] == "bob"
        said = data(asked(client, "answer_request", agent_id="ada", request_id=request["request_id"], release=True))
        assert said["answer"] == "released"
        mine = data(asked(client, "reserve", agent_id="bob", pattern="src/app.py"))
        assert failed(asked(client, "reserve", agent_id="ada", pattern="src/**")).kind is Kind.CONFLICT
        asked(client, "release", agent_id="bob", reservation_id=mine["reservation_id"])
        assert data(asked(client, "reserve", agent_id="ada", pattern="src/**"))["agent_id"] == "ada"


def test_a_reservation_ends_by_itself(office: Office) -> None:
    with talking(office.process, ERAS[0], http=office.http) as client:
        for agent in ("ada", "bob"):
            asked(client, "register_agent", agent_id=agent, task="work")
        asked(client, "reserve", agent_id="ada", pattern="a.py", minutes=10)
        wait = failed(asked(client, "reserve", agent_id="bob", pattern="a.py")).retry_after
        assert wait == 600
        office.clock.write_text(str(1000 + wait))
        assert data(asked(client, "reserve", agent_id="bob", pattern="a.py"))["agent_id"] == "bob"


NAMES = st.lists(st.sampled_from(["a", "b", "*", "?", "**", "a*", "*b"]), min_size=1, max_size=4).map("/".join)


@given(NAMES, NAMES)
def test_overlap_is_the_same_both_ways(one: str, other: str) -> None:
    assert overlap(one, other) == overlap(other, one)
    assert overlap(one, one)


@given(NAMES, st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=4))
def test_patterns_that_fit_one_file_overlap(pattern: str, parts: list[str]) -> None:
    path = "/".join(parts)
    for general in ("**", "**/" + parts[-1], "/".join("*" for _ in parts)):
        assert overlap(general, path)
        if overlap(pattern, path):
            assert overlap(pattern, general)


def test_many_agents_never_hold_the_same(tmp_path: Path) -> None:
    """Many agents over HTTP for a moment, with a database that is locked every now and then."""
    outcome = anyio.run(crowd, tmp_path, 25, 1.0)
    assert outcome["granted"]
    assert outcome["twice"] == 0
    assert outcome["lost"] == 0


async def crowd(folder: Path, agents: int, seconds: float) -> dict[str, int]:
    office = Office(folder, http=True)
    held: dict[str, str] = {}
    counts = {"granted": 0, "refused": 0, "transient": 0, "twice": 0, "lost": 0}
    chance = random.Random(7)
    ready: list[str] = []
    begun = anyio.Event()
    ends = 0.0
    try:
        url = f"http://127.0.0.1:{office.process.port}/mcp"

        async def disturb() -> None:
            nonlocal ends
            while len(ready) < agents:
                await anyio.sleep(0.05)
            ends = time.monotonic() + seconds
            begun.set()
            while time.monotonic() < ends:
                await anyio.sleep(chance.random() / 2)
                await anyio.to_thread.run_sync(lock)

        def lock() -> None:
            with closing(sqlite3.connect(office.database, timeout=5)) as other:
                other.execute("BEGIN IMMEDIATE")
                time.sleep(chance.random() * 0.8)

        async def work(agent: str) -> None:
            async with McpClient(url) as client:

                async def ask(tool: str, **arguments: Any) -> Any:
                    while True:
                        result = await client.call_tool(tool, {"agent_id": agent, **arguments})
                        error = fw.parse(result)
                        if not isinstance(error, fw.ToolError) or not error.retryable:
                            return error if error is not None else json.loads(result.content[0].text)  # type: ignore[union-attr]
                        counts["transient"] += 1
                        await anyio.sleep(0.05)

                await ask("register_agent", task="crowd")
                ready.append(agent)
                await begun.wait()
                last = False
                while not last:
                    last = time.monotonic() >= ends
                    file = f"src/{chance.randrange(12)}.py"
                    got = await ask("reserve", pattern=file)
                    if isinstance(got, fw.ToolError):
                        counts["refused"] += 1
                        await anyio.sleep(0.02)
                        continue
                    counts["granted"] += 1
                    counts["twice"] += file in held
                    held[file] = agent
                    await anyio.sleep(chance.random() / 50)
                    del held[file]
                    gone = await ask("release", reservation_id=got["reservation_id"])
                    counts["lost"] += isinstance(gone, fw.ToolError)

        async with anyio.create_task_group() as group:
            group.start_soon(disturb)
            for number in range(agents):
                group.start_soon(work, f"agent-{number}")
        counts["lost"] += len(Store(str(office.database), lambda: 1000).listed(None))
    finally:
        office.process.close()
    return counts
