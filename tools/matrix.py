"""Every failure on every generation of the SDKs: `make matrix`.

An environment per row, built by uv and kept in .matrix, with Failwell's own extra beside the version that it pins.
In each, the servers of tests/server/app.py are asked the table of tests/server/cases.py over stdio and HTTP, with
Failwell and without. What needs no answer of ours must be the bare server's to the byte, HTTP must say what stdio says,
and the answers are compared across the rows: tests/server/snapshots/generations.json has each once, and by name whoever
differs.

    python tools/matrix.py [ROW ...] [--build]

`FAILWELL_SNAPSHOTS=write` writes the table anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/server")]

from cases import ALL, LISTINGS, MIDDLEWARE, Case, applicable  # noqa: E402
from test_matrix import SNAPSHOTS, asked, misread, raw, same  # noqa: E402
from wire import LEGACY, TRANSPORTS, Fresh, Nursery, Wanted, client_of  # noqa: E402

HOME: Final = ROOT / ".matrix"
TABLE: Final = "generations"


@dataclass(frozen=True)
class Row:
    """An environment, and the servers that it has."""

    name: str
    extra: str
    pins: tuple[str, ...]
    servers: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return HOME / self.name

    @property
    def python(self) -> str:
        return str(self.folder / "bin/python")


ROWS: Final = (
    # This old it needs a pydantic of its time.
    Row("mcp-1.9", "mcp", ("mcp==1.9.4", "pydantic==2.11.10"), ("fastmcp1", "lowlevel")),
    Row("mcp-1.16", "mcp", ("mcp==1.16.0", "pydantic==2.11.10"), ("fastmcp1", "lowlevel")),
    Row("mcp-1.30", "mcp", ("mcp==1.30.0",), ("fastmcp1", "lowlevel")),
    Row("mcp-2.3", "mcp", ("mcp==2.3.0",), ("mcpserver", "lowlevel")),
    Row("fastmcp-2.14", "fastmcp", ("fastmcp==2.14.7",), ("fastmcp",)),
    Row("fastmcp-3.4", "fastmcp", ("fastmcp==3.4.10",), ("fastmcp",)),
    Row("fastmcp-4.1", "fastmcp", ("fastmcp==4.1.2",), ("fastmcp",)),
)
# What is asked of the first framework of the SDK is asked of it under both of its names.
_KNOWN_AS: Final = {"fastmcp1": "mcpserver"}
# What a row cannot be asked, and why.
NOT_ASKED: Final = {
    "Nobody is sent to a page before 1.23.": (("mcp-1.9", "mcp-1.16"), ("MCPError -32042",)),
    "Tools build no results of their own before 1.23.": (("mcp-1.16",), ("built result breaks the output schema",)),
    "FastMCP 2 has neither errors that are returned nor a time limit of a tool.": (
        ("fastmcp-2.14",),
        ("author's own isError by ToolResult", "timeout of the tool"),
    ),
    "Nothing is promised about results before 1.10.": (
        ("mcp-1.9",),
        ("result breaks the output schema", "built result breaks the output schema"),
    ),
    "The SDK's servers have no middleware before 2.x.": (
        ("mcp-1.9", "mcp-1.16", "mcp-1.30"),
        tuple(case.id for case in MIDDLEWARE),
    ),
}
# Where the framework's own answer is an error of its own making, which is answered in better words.
TOUCHED: Final = {
    "On 1.x an error that an author returns is held against the output schema, and breaks it.": (
        ("mcp-1.16", "mcp-1.30", "fastmcp-2.14", "fastmcp-3.4"),
        ("author's own isError with an output schema",),
    ),
}


def uv(*arguments: str) -> None:
    found = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    made = subprocess.run([found, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"uv {' '.join(arguments)} failed:\n{made.stderr[-2_000:]}")


def build(row: Row) -> str:
    """Make the environment of a row, unless it stands; how that went."""
    wanted = f"{row.pins} {row.extra}\n{(ROOT / 'pyproject.toml').read_text()}"
    stamp = row.folder / "built-from"
    if stamp.exists() and stamp.read_text() == wanted:
        return f"{row.name}: as it was"
    began = time.monotonic()
    shutil.rmtree(row.folder, ignore_errors=True)
    uv("venv", "--quiet", "--python", sys.executable, str(row.folder))
    uv("pip", "install", "--quiet", "--python", row.python, *row.pins)
    # Afterwards, as a user does: the extra must leave alone what is there.
    uv("pip", "install", "--quiet", "--python", row.python, "--editable", f".[{row.extra}]", "uvicorn")
    for pin in row.pins:
        name, _, version = pin.partition("==")
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        found = subprocess.run([row.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        if found != version:
            raise SystemExit(f"{row.name}: failwell[{row.extra}] moved {name} from {version} to {found}.")
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


def _named(table: dict[str, Any], row: Row, case: Case) -> bool:
    return any(row.name in rows and case.id in cases for rows, cases in table.values())


def untouched(case: Case, row: Row, server: str) -> bool:
    return _KNOWN_AS.get(server, server) in case.untouched and not _named(TOUCHED, row, case)


def problems_of(row: Row, server: str) -> list[str]:
    """What is wrong with the answers of one server in one row."""
    cases = [
        case for case in applicable(ALL, _KNOWN_AS.get(server, server), LEGACY) if not _named(NOT_ASKED, row, case)
    ]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        nursery = Elsewhere(Path(folder), row.python)
        wanted = [Wanted(server, transport, LEGACY, bare) for transport in TRANSPORTS for bare in (False, True)]
        processes = [stack.enter_context(_closing(_started(nursery, each))) for each in wanted]
        clients = [client_of(process, each) for process, each in zip(processes, wanted, strict=True)]
        stdio, bare_stdio, http, bare_http = clients
        alone = [case for case in cases if untouched(case, row, server)]
        over_stdio, over_http = asked(stdio, cases), asked(http, cases)
        problems = same("differs from the bare server", alone, raw(over_stdio), raw(asked(bare_stdio, alone)))
        problems += same("differs from the bare server", alone, raw(over_http), raw(asked(bare_http, alone)))
        for client in clients:
            client.close()
    values = {case: answer.value for case, answer in over_stdio.items()}
    problems += [
        f"{case.id}: HTTP differs from stdio:\n    {values.get(case.id)}\n    {over_http[case.id].value}"
        for case in cases
        if case.id in over_http and over_http[case.id].value != values.get(case.id)
    ]
    problems += misread(cases, values)
    problems += [f"{case}: tells a secret" for case, answer in over_stdio.items() if "hunter2" in answer.raw]
    kept = {case: value for case, value in values.items() if case not in LISTINGS}
    problems += SNAPSHOTS.compare(TABLE, kept, f"{row.name}-{server}/{LEGACY}")
    return problems


def _started(nursery: Nursery, wanted: Wanted) -> Any:
    from wire import started

    return started(nursery, wanted)


class _closing:
    def __init__(self, process: Any) -> None:
        self._process = process

    def __enter__(self) -> Any:
        return self._process

    def __exit__(self, *exc: object) -> None:
        self._process.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[[], *(row.name for row in ROWS)])
    parser.add_argument("--build", action="store_true", help="only make the environments")
    chosen = parser.parse_args()
    rows = [row for row in ROWS if not chosen.rows or row.name in chosen.rows]
    os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")
    with ThreadPoolExecutor(len(rows)) as builders:
        for told in builders.map(build, rows):
            print(told, flush=True)
    if chosen.build:
        return 0
    wrong = 0
    for row in rows:
        for server in row.servers:
            problems = problems_of(row, server)
            wrong += len(problems)
            print(f"{row.name} {server}: {len(problems)} problems", flush=True)
            for problem in problems:
                print(f"  {problem}")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
