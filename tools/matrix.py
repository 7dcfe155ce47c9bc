"""Every failure on every generation of the SDKs: `make matrix`.

An environment per row, built by uv and kept in .matrix, with Failwell's own extra beside the version that it pins.
In each, the servers of tests/server/app.py are asked the table of tests/server/cases.py over stdio and HTTP, with
Failwell and without. What needs no answer of ours must be the bare server's to the byte, HTTP must say what stdio says,
and the answers are compared across the rows: tests/server/snapshots/matrix.json has each once, and by name whoever
differs. `Recovering` is put around each client of the row, over both transports, and must do the same everywhere. The
scenes of tests/server/around.py are played in each, and those of tests/server/background.py with FastMCP's worker.

    python tools/matrix.py [ROW ...] [--build]

`FAILWELL_SNAPSHOTS=write` writes the table anew.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/server")]

from cases import ALL, LISTINGS, Case, applicable  # noqa: E402
from generations import CLIENTS, DIFFERENT, KNOWN_AS, NOT_ASKED, PLACES, ROWS, TABLE, TOUCHED, Row, is_named  # noqa: E402
from test_matrix import SNAPSHOTS, asked, misread, raw, same  # noqa: E402
from wire import LEGACY, TRANSPORTS, Fresh, Nursery, Wanted, client_of, started  # noqa: E402

HOME: Final = ROOT / ".matrix"
SCENES: Final = ("around.py", "background.py")
# FastMCP's own line about a tool that raised, with a traceback below it.
TOLD_TWICE: Final = re.compile(r"Error calling tool [^\n]*\n[^\n]*(?:Traceback|\n\s*Traceback)")


def python_of(row: Row) -> str:
    return str(HOME / row.name / "bin/python")


def uv(*arguments: str) -> None:
    found = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    made = subprocess.run([found, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"uv {' '.join(arguments)} failed:\n{made.stderr[-2_000:]}")


def versions(row: Row) -> dict[str, str]:
    """What is installed in the environment of a row."""
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    found = subprocess.run([python_of(row), "-c", code], capture_output=True, text=True, check=True).stdout
    installed: dict[str, str] = json.loads(found)
    return installed


def build(row: Row) -> str:
    """Make the environment of a row, unless it stands; how that went."""
    wanted = f"{row.pins} {row.extra}\n{(ROOT / 'pyproject.toml').read_text()}"
    stamp = HOME / row.name / "built-from"
    if stamp.exists() and stamp.read_text() == wanted:
        return f"{row.name}: as it was"
    began = time.monotonic()
    shutil.rmtree(HOME / row.name, ignore_errors=True)
    uv("venv", "--quiet", "--python", sys.executable, str(HOME / row.name))
    uv("pip", "install", "--quiet", "--python", python_of(row), *row.pins)
    before = versions(row)
    # Afterwards, as a user does: the extra must leave alone what is there.
    uv("pip", "install", "--quiet", "--python", python_of(row), "--editable", f".[{row.extra}]", "uvicorn")
    after = versions(row)
    if moved := [f"{name} from {found} to {after[name]}" for name, found in before.items() if after[name] != found]:
        raise SystemExit(f"{row.name}: failwell[{row.extra}] moved {', '.join(moved)}.")
    stamp.write_text(wanted)
    return f"{row.name}: built in {time.monotonic() - began:.0f} s"


class Elsewhere(Nursery):
    """Starts servers with the Python of a row."""

    def __init__(self, folder: Path, python: str) -> None:
        super().__init__(folder)
        self._python = python

    def start(self, *arguments: str, fresh: bool = False) -> Any:
        self._count += 1
        return Fresh(self._folder / f"{self._count}.log", *arguments, python=self._python)


def untouched(case: Case, row: Row, server: str) -> bool:
    return KNOWN_AS.get(server, server) in case.untouched and not is_named(TOUCHED, row.name, case.id)


def problems_of(row: Row, server: str) -> list[str]:
    """What is wrong with the answers of one server in one row."""
    all_cases = applicable(ALL, KNOWN_AS.get(server, server), LEGACY)
    cases = [case for case in all_cases if not is_named(NOT_ASKED, row.name, case.id)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        nursery = Elsewhere(Path(folder), python_of(row))
        wanted = [Wanted(server, transport, LEGACY, bare) for transport in TRANSPORTS for bare in (False, True)]
        processes = [started(nursery, each) for each in wanted]
        for process in processes:
            stack.callback(process.end)
        clients = [client_of(process, each) for process, each in zip(processes, wanted, strict=True)]
        stdio, bare_stdio, http, bare_http = clients
        alone = [case for case in cases if untouched(case, row, server)]
        over_stdio, over_http = asked(stdio, cases), asked(http, cases)
        problems = same("differs from the bare server", alone, raw(over_stdio), raw(asked(bare_stdio, alone)))
        problems += same("differs from the bare server", alone, raw(over_http), raw(asked(bare_http, alone)))
        for client in (stdio, http):
            # No request at all: what the SDK writes about it must not quote what was sent.
            client.ask("tools/call", {"name": 7, "arguments": {"password": "hunter2xYz"}}, id="secret in the log")
        problems += [
            f"{each.transport}: the log tells a secret"
            for process, each in zip(processes, wanted, strict=True)
            if not each.bare and "hunter2xYz" in process.errors.read_text(errors="replace")
        ]
        problems += [
            f"{each.transport}: the log tells how a failure came about twice"
            for process, each in zip(processes, wanted, strict=True)
            if not each.bare and TOLD_TWICE.search(process.errors.read_text(errors="replace"))
        ]
        for client in clients:
            client.close()
    values = {case: answer.value for case, answer in over_stdio.items()}
    problems += [
        f"{case.id}: HTTP differs from stdio:\n    {values.get(case.id)}\n    {over_http[case.id].value}"
        for case in cases
        if case.id in over_http and over_http[case.id].value != values.get(case.id)
    ]
    problems += misread(cases, values, shows_text=row.name != "mcp-2.3")
    problems += [f"{case}: tells a secret" for case, answer in over_stdio.items() if "hunter2" in answer.raw]
    kept = {case: value for case, value in values.items() if case not in LISTINGS}
    problems += SNAPSHOTS.compare(TABLE, kept, f"{row.name}-{server}/{LEGACY}")
    return problems


def problems_of_clients(row: Row) -> list[str]:
    """What is wrong with what `Recovering` makes of a flaky server, around each client that the row has."""
    command = [python_of(row), str(ROOT / "tests/server/flaky_client.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        return [f"{row.name}: {done.stderr[-2_000:]}"]
    problems: list[str] = []
    for way, calls in json.loads(done.stdout).items():
        answers = {f"{number}. {call.get('tool', 'payments')}": call for number, call in enumerate(calls, 1)}
        problems += SNAPSHOTS.compare(CLIENTS, answers, f"{row.name}-{way}/{LEGACY}")
    return problems


def problems_of_scenes(row: Row) -> list[str]:
    """What is wrong with what is said of tools that the SDK itself fails in, and with something around them."""
    told: list[str] = []
    for scenes in SCENES if row.extra == "fastmcp" and row.is_whole else SCENES[:1]:
        command = [python_of(row), "-W", "ignore", str(ROOT / "tests/server" / scenes)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        told += [f"{row.name}: {done.stderr[-2_000:]}"] if done.returncode else json.loads(done.stdout)
    return told


def unnamed() -> list[str]:
    """The answers that differ from one row to another, and that nobody has given a reason for."""
    named = {case for cases in DIFFERENT.values() for case in cases}
    differing = SNAPSHOTS.differing(TABLE, PLACES)
    return [f"{case}: differs in {', '.join(places)}" for case, places in differing.items() if case not in named]


def run(
    about: str | None,
    rows: Sequence[Row],
    parts_of: Callable[[Row], Iterable[tuple[str, Callable[[], list[str]]]]],
    left: Callable[[], list[str]],
) -> int:
    """Make the environments of the rows that are chosen, and tell what is wrong in each part, and after all."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0] if about else None)
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *(row.name for row in rows)])
    parser.add_argument("--build", action="store_true", help="only make the environments")
    chosen = parser.parse_args()
    rows = [row for row in rows if not chosen.rows or row.name in chosen.rows]
    os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")
    with ThreadPoolExecutor(len(rows)) as builders:
        for told in builders.map(build, rows):
            print(told, flush=True)
    if chosen.build:
        return 0
    wrong = 0
    parts = [part for row in rows for part in parts_of(row)]
    with ThreadPoolExecutor(os.cpu_count() or 2) as workers:
        for (name, _), problems in zip(parts, workers.map(lambda part: part[1](), parts), strict=True):
            wrong += len(problems)
            print(f"{name}: {len(problems)} problems", flush=True)
            for problem in problems:
                print(f"  {problem}")
    for problem in (remaining := left()):
        print(problem)
    return min(wrong + len(remaining), 1)


def parts_of(row: Row) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    for server in row.servers:
        yield f"{row.name} {server}", functools.partial(problems_of, row, server)
    if row.is_whole:
        yield f"{row.name} clients", functools.partial(problems_of_clients, row)
    yield f"{row.name} scenes", functools.partial(problems_of_scenes, row)


if __name__ == "__main__":
    sys.exit(run(__doc__, ROWS, parts_of, unnamed))
