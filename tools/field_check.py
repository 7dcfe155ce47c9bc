"""Published servers of other people, graded by `failwell check`, alone and through `failwell wrap`.

    python tools/field_check.py [--twice] [NAME...]

It prints the table of docs/field.md. Nothing leaves the machine but to install what is not there yet. The exit code is
1 when a server could not be graded, or with --twice when two runs gave another score.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check
from field_servers import SERVERS, NotInstalled, Server

# What a busy machine takes to start is no finding.
OPTIONS = CheckOptions(waits=Waits(start=180, call=10), most_tools=30, max_time=300)
_HEADER = """\
| server | language | tools graded fully + by refusals | score | through wrap | worst findings |
|---|---|--:|--:|--:|---|"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="only these servers")
    parser.add_argument("--twice", action="store_true", help="check each server twice, and compare")
    parser.add_argument("--at-a-time", type=int, default=2, metavar="N")
    asked = parser.parse_args()
    chosen = [server for server in SERVERS if not asked.names or server.name in asked.names]
    print(_HEADER, flush=True)
    failed = 0
    with ThreadPoolExecutor(asked.at_a_time) as pool:
        for line, is_well in pool.map(lambda server: _graded(server, asked.twice), chosen):
            print(line, flush=True)
            failed += not is_well
    return bool(failed)


def _graded(server: Server, twice: bool) -> tuple[str, bool]:
    try:
        direct = _checked(server)
        again = _checked(server) if twice else direct
        wrapped = _checked(server, wrapped=True)
    except NotInstalled as problem:
        return f"| {server.package} | {server.language} | | | | not installed: {problem} |", False
    graded = direct.graded
    score = f"{direct.score} {direct.grade}" + ("" if again.score == direct.score else f", then {again.score}")
    worst = ", ".join(f"`{rule}`" for rule, _, _ in direct.first_to_fix())
    tools = f"{graded['fully']} + {graded['refusals']} of {graded['tools']}"
    line = f"| {server.package} | {server.language} | {tools} | {score} | {wrapped.score} {wrapped.grade} | {worst} |"
    return line, again.score == direct.score


def _checked(server: Server, *, wrapped: bool = False) -> CheckReport:
    with tempfile.TemporaryDirectory(prefix="failwell-field-", ignore_cleanup_errors=True) as folder:
        here = Path(folder) / server.name
        here.mkdir()
        server.prepare(here)
        environment = server.environment(here)
        own = {name: environment[name] for name in (*server.env, "PATH")}
        target = CheckTarget(server.command_line(here), env=own, cwd=str(here))
        if wrapped:
            target = replace(target, command=[sys.executable, "-m", "failwell", "wrap", "--", *target.command])
        return check(target, OPTIONS)


if __name__ == "__main__":
    sys.exit(main())
