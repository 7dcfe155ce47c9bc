"""A few cells of the recovery table, made by the tool that makes all of it: what must hold in any run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "bench_recovery.py"
AGENTS = ("naive", "text follower", "failwell")
Cells = dict[tuple[str, str, str], list[dict[str, Any]]]


pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Goals by agent, server and fault."""
    servers, faults = "mcp;mcp+failwell", "wrong value;unknown argument;rate limit;outcome unknown;permission"
    command = [sys.executable, str(TOOL), "--json", "--runs", "2", "--servers", servers, "--faults", faults]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: Cells = {}
    for goal in json.loads(done.stdout)["goals"]:
        found.setdefault((goal["agent"], goal["server"], goal["fault"]), []).append(goal)
    assert len(found) == 30
    return found


def total(goals: list[dict[str, Any]], name: str) -> int:
    return sum(goal[name] for goal in goals)


@pytest.mark.parametrize("server", ["mcp", "mcp+failwell"])
def test_recovering_does_nothing_twice_and_nothing_else(cells: Cells, server: str) -> None:
    for (agent, where, fault), goals in cells.items():
        if (agent, where) == ("failwell", server):
            assert total(goals, "duplicates") == 0, fault
            assert server == "mcp" or (total(goals, "wrong"), total(goals, "untrue")) == (0, 0), fault


def test_whoever_just_calls_again_pays_twice_where_nothing_holds_the_call(cells: Cells) -> None:
    duplicates = [total(cells["naive", server, "outcome unknown"], "duplicates") for server in ("mcp", "mcp+failwell")]
    assert (duplicates[0] > 0, duplicates[1]) == (True, 0)


@pytest.mark.parametrize("fault", ["wrong value", "unknown argument", "rate limit", "permission"])
def test_with_both_every_goal_is_reached(cells: Cells, fault: str) -> None:
    assert all(goal["success"] for goal in cells["failwell", "mcp+failwell", fault])


@pytest.mark.parametrize("fault", ["rate limit", "permission"])
def test_a_masked_text_helps_nobody(cells: Cells, fault: str) -> None:
    # Of what passes, whoever looks whether it was done and then calls once more gets through all the same.
    for agent in [each for each in AGENTS if (each, fault) != ("failwell", "rate limit")]:
        assert not any(goal["success"] for goal in cells[agent, "mcp", fault]), agent


@pytest.mark.parametrize("fault", ["wrong value", "unknown argument"])
def test_what_the_client_settles_costs_the_model_no_tokens(cells: Cells, fault: str) -> None:
    assert total(cells["failwell", "mcp+failwell", fault], "tokens") == 0
    assert total(cells["text follower", "mcp+failwell", fault], "tokens") > 0


@pytest.mark.parametrize("agent", ["text follower", "failwell"])
@pytest.mark.parametrize("fault", ["rate limit", "outcome unknown"])
def test_a_write_that_failed_part_way_is_looked_up_before_anybody_does_it_again(
    cells: Cells, fault: str, agent: str
) -> None:
    for goal in cells[agent, "mcp+failwell", fault]:
        assert (goal["success"], goal["duplicates"]) == (True, 0)
        assert "may have been done already. Next: call get_invoice with {" in goal["texts"][0]
        assert not any("again" in text for text in goal["texts"])
