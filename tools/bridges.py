"""The bridges to frameworks that bring a version of the SDK of their own: `make bridges`.

An environment per framework, built by uv and kept in .matrix, as `make matrix` does. In each, the framework itself
calls the tools of tests/server/flaky_app.py, a process over pipes, with Failwell in the server and without: a record
that is missing, a wrong argument, a failure that passes, a payment of unknown outcome, a server that dies while it
reads and while it writes. What a model is shown must be the same in all of them, and each effect is counted.

    python tools/bridges.py [ROW ...] [--build]

`FAILWELL_SNAPSHOTS=write` writes the answers anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from matrix import ROOT, Row, python_of, run, versions
from snapshots import Snapshots

CALLS: Final = ROOT / "tests/client/framework_calls.py"
SNAPSHOTS: Final = Snapshots(ROOT / "tests/client/snapshots")


# An environment, and the ways in which its framework calls a tool.
WAYS: Final = {
    Row("langchain", "mcp", ("langchain-core==1.7.2", "mcp==2.3.0"), ()): ("langchain",),
    Row("langchain-mcp-adapters", "mcp", ("langchain-mcp-adapters==0.3.2", "langchain==1.4.7"), ()): ("langchain_mcp",),
    Row("google-adk", "mcp", ("google-adk==2.13.0", "mcp"), ()): ("google_adk",),
    Row("llama-index-tools-mcp", "mcp", ("llama-index-tools-mcp==0.6.0",), ()): ("llama_index",),
    Row("openai-agents", "mcp,openai-agents", ("openai-agents==0.24.0", "mcp==1.30.0"), ()): ("openai_agents",),
    Row(
        "openai-agents-0.2",
        "mcp,openai-agents",
        ("openai-agents==0.2.0", "openai<2", "mcp==1.16.0", "pydantic<2.12"),
        (),
    ): ("openai_agents_old",),
    Row("crewai", "mcp", ("crewai==1.15.30", "crewai-tools[mcp]==1.15.30"), ()): ("crewai", "crewai_tools"),
}
STYLES: Final = ("stdio", "plain")


def asked(row: Row, style: str) -> dict[str, Any]:
    command = [python_of(row), str(CALLS), style, *WAYS[row]]
    # No telemetry, and nothing that a framework would fetch.
    silent = {**os.environ, "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=silent)
    if done.returncode:
        raise SystemExit(f"{row.name}: {done.stderr[-3_000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def problems_of(row: Row) -> list[str]:
    return [
        problem
        for style in STYLES
        for way, answers in asked(row, style).items()
        for problem in SNAPSHOTS.compare(f"frameworks-{style}", answers, way)
    ]


def unlike() -> list[str]:
    """What one framework shows and another does not."""
    return [
        f"{style}: {case}: differs in {', '.join(ways)}"
        for style in STYLES
        for case, ways in SNAPSHOTS.differing(f"frameworks-{style}").items()
    ]


def parts_of(row: Row) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    yield f"{row.name}, on mcp {versions(row)['mcp']}", partial(problems_of, row)


if __name__ == "__main__":
    sys.exit(run(__doc__, tuple(WAYS), parts_of, unlike))
