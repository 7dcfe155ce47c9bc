"""The bridges to frameworks that bring a version of the SDK of their own: `make bridges`.

An environment per framework, built by uv and kept in .matrix, as `make matrix` does. In each, the framework itself
calls the tools of tests/server/flaky_app.py, a process over pipes, with Failwell in the server and without: a record
that is missing, a wrong argument, a failure that passes, a payment of unknown outcome, a server that dies while it
reads and while it writes. What a model is shown must be the same in all of them, and each effect is counted.

    python tools/bridges.py [ROW ...] [--build]

`FAILWELL_SNAPSHOTS=write` writes the answers anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from matrix import ROOT, Row, build, python_of, versions
from snapshots import Snapshots

CALLS: Final = ROOT / "tests/client/framework_calls.py"
SNAPSHOTS: Final = Snapshots(ROOT / "tests/client/snapshots")


class Framework(NamedTuple):
    """An environment, and the ways in which its framework calls a tool."""

    row: Row
    ways: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.row.name


FRAMEWORKS: Final = (
    Framework(Row("langchain", "mcp", ("langchain-core==1.7.2", "mcp==2.3.0"), ()), ("langchain",)),
    Framework(
        Row("langchain-mcp-adapters", "mcp", ("langchain-mcp-adapters==0.3.2", "langchain==1.4.7"), ()),
        ("langchain_mcp",),
    ),
    Framework(Row("google-adk", "mcp", ("google-adk==2.13.0", "mcp"), ()), ("google_adk",)),
    Framework(Row("llama-index-tools-mcp", "mcp", ("llama-index-tools-mcp==0.6.0",), ()), ("llama_index",)),
    Framework(Row("crewai", "mcp", ("crewai==1.15.30", "crewai-tools[mcp]==1.15.30"), ()), ("crewai", "crewai_tools")),
)
STYLES: Final = ("stdio", "plain")


def asked(framework: Framework, style: str) -> dict[str, Any]:
    command = [python_of(framework.row), str(CALLS), style, *framework.ways]
    # No telemetry, and nothing that a framework would fetch.
    silent = {**os.environ, "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=silent)
    if done.returncode:
        raise SystemExit(f"{framework.name}: {done.stderr[-3_000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def problems_of(framework: Framework) -> list[str]:
    return [
        problem
        for style in STYLES
        for way, answers in asked(framework, style).items()
        for problem in SNAPSHOTS.compare(f"frameworks-{style}", answers, way)
    ]


def unlike() -> list[str]:
    """What one framework shows and another does not."""
    return [
        f"{style}: {case}: differs in {', '.join(ways)}"
        for style in STYLES
        for case, ways in SNAPSHOTS.differing(f"frameworks-{style}").items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    names = [framework.name for framework in FRAMEWORKS]
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *names])
    parser.add_argument("--build", action="store_true", help="only make the environments")
    chosen = parser.parse_args()
    frameworks = [each for each in FRAMEWORKS if not chosen.rows or each.name in chosen.rows]
    os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")
    with ThreadPoolExecutor(len(frameworks)) as builders:
        for told in builders.map(lambda framework: build(framework.row), frameworks):
            print(told, flush=True)
    if chosen.build:
        return 0
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count() or 2) as workers:
        for framework, problems in zip(frameworks, workers.map(problems_of, frameworks), strict=True):
            wrong += len(problems)
            print(f"{framework.name}, on mcp {versions(framework.row)['mcp']}: {len(problems)} problems", flush=True)
            for problem in problems:
                print(f"  {problem}")
    for problem in (different := unlike()):
        print(problem)
    return min(wrong + len(different), 1)


if __name__ == "__main__":
    sys.exit(main())
