"""What Failwell costs, as ratios against a peer measured in the same run, in alternating blocks.

Every row names its bar. The exit code is 1 when a bar is missed, so that nobody has to read the table to know.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import bpe_openai
from pydantic import BaseModel, ConfigDict, EmailStr, Field, ValidationError
from rich.console import Console
from rich.table import Table

import failwell as fw
from failwell.formats import FORMATS, to_wire
from failwell.model import Action, FieldError, Patch
from failwell.redact import DEFAULT

ROUNDS = 15
JSON_FORMATS = ("typed", "v1", "envelope", "jsonrpc", "problem", "canonical")

# One fault as a server would really send it: wrong arguments, with everything an agent needs to correct them.
FAULT = fw.Invalid(
    "Three arguments of users.create are wrong.",
    code="VALIDATION_ERROR",
    tool="users.create",
    fields=[
        FieldError(("email",), "Invalid email", "ann(at)example", "a valid email address (e.g. user@example.com)"),
        FieldError(("role",), "Invalid enum value", "superadmin", options=("admin", "user"), rule="enum"),
        FieldError(("limt",), "Unknown argument", 5, rule="unknown"),
    ],
    patch=[Patch("rename", ("limt",), to="limit")],
    suggestion="Correct the three arguments and call users.create again.",
    actions=[Action("users.schema", "Show what users.create accepts", {"verbose": True})],
    details={
        "workspace": "ws_42",
        "requested_by": "agent-7",
        "attempt": 2,
        "received": {"email": "ann(at)example", "role": "superadmin", "limt": 5, "tags": ["a", "b", "c"]},
        "documentation": "See the section on users in the handbook of the workspace for the rules that apply here.",
    },
    http_status=422,
    correlation_id="req-2f6c1d",
    sent={"email": "ann(at)example", "role": "superadmin", "limt": 5, "tags": ["a", "b", "c"]},
)
SMALL = fw.NotFound("Project 'p_1' does not exist.", details={"entity_id": "p_1", "entity_type": "project"})
# What the most used TypeScript validator makes of the same arguments.
ZOD_DUMP = json.dumps(
    [
        {"validation": "email", "code": "invalid_string", "message": "Invalid email", "path": ["email"]},
        {
            "received": "superadmin",
            "code": "invalid_enum_value",
            "options": ["admin", "user"],
            "path": ["role"],
            "message": "Invalid enum value. Expected 'admin' | 'user', received 'superadmin'",
        },
        {
            "code": "unrecognized_keys",
            "keys": ["limt"],
            "path": [],
            "message": "Unrecognized key(s) in object: 'limt'",
        },
    ],
    indent=2,
)


def per_call(work: Callable[[], Any], seconds: float = 0.01) -> float:
    """Seconds for one call, from one block of calls."""
    count = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        for _ in range(20):
            work()
        count += 20
    return elapsed / count


def ratio(ours: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float]:
    """How many times the peer's time ours takes, and the peer's microseconds: medians over alternating blocks."""
    pairs = [(per_call(ours), per_call(peer)) for _ in range(ROUNDS)]
    return statistics.median(a / b for a, b in pairs), statistics.median(b for _, b in pairs) * 1e6


class Report:
    """Collects rows, prints them, and remembers the bars that were missed."""

    def __init__(self) -> None:
        self.console = Console(highlight=False)
        self.missed: list[str] = []

    def bar(self, name: str, value: float, limit: float) -> str:
        if value > limit:
            self.missed.append(f"{name}: {value:.2f} > {limit:g}")
        return f"{value:.2f}{' !' if value > limit else ''}"

    def table(self, title: str, columns: list[str], rows: list[list[str]]) -> None:
        table = Table(*columns, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        for row in rows:
            table.add_row(*row)
        self.console.print(table)
        self.console.print()


def json_formats(report: Report) -> None:
    json_table(report, "a validation error", FAULT, judged=True)
    json_table(report, "a short error", SMALL, judged=False)


def json_table(report: Report, label: str, error: fw.ToolError, judged: bool) -> None:
    rows = []
    for name in JSON_FORMATS:
        wire = to_wire(error, name, guard=None)
        text = fw.render(error, name, guard=None)
        indent, separators = (2, None) if "\n" in text else (None, (",", ":"))

        def dumps(wire: Any = wire, indent: Any = indent, separators: Any = separators) -> str:
            return json.dumps(wire, ensure_ascii=False, indent=indent, separators=separators)

        assert dumps() == text
        plain, base = ratio(lambda name=name: fw.render(error, name, guard=None), dumps)
        guarded, _ = ratio(lambda name=name: fw.render(error, name), dumps)
        parsed, load = ratio(lambda text=text: fw.parse(text), lambda text=text: json.loads(text))
        limits = (3, 8, 4) if judged else (1e9, 1e9, 1e9)
        rows.append(
            [
                name,
                str(len(text)),
                f"{base:.1f}",
                report.bar(f"render {name}", plain, limits[0]),
                report.bar(f"guarded render {name}", guarded, limits[1]),
                f"{load:.1f}",
                report.bar(f"parse {name}", parsed, limits[2]),
            ]
        )
    report.table(
        f"JSON formats against the standard library's json, {label}"
        + (" (bars: 3, 8, 4)" if judged else " (for comparison)"),
        ["format", "chars", "dumps µs", "render x", "guarded x", "loads µs", "parse x"],
        rows,
    )


def xml_format(report: Report) -> None:
    error = fw.NotFound(
        "Invoice not found.",
        suggestion="Call invoices.list first to get valid ids, then retry.",
        actions=["invoices.list", "invoices.search"],
        details={"entity_id": "inv_123", "entity_type": "invoice", "searched_workspace": "ws_42"},
        retry_after=30,
    )
    text = fw.render(error, "xml")
    parsed, base = ratio(lambda: fw.parse(text), lambda: ElementTree.fromstring(text))
    report.table(
        "xml against xml.etree (bar: 2)",
        ["chars", "etree µs", "parse x"],
        [[str(len(text)), f"{base:.1f}", report.bar("parse xml", parsed, 2)]],
    )


def guard_growth(report: Report) -> None:
    sentence = "The request to the billing service failed: key=order_17 status=502, retried 3 times by worker-4.\n"
    rows, times = [], {}
    for size in (1_000, 10_000, 100_000, 1_000_000):
        text = (sentence * (size // len(sentence) + 1))[:size]
        times[size] = min(per_call(lambda text=text: DEFAULT.redact(text), 0.02) for _ in range(3))
        rows.append([f"{size:,}", f"{size / times[size] / 1e6:.1f}"])
    growth = times[1_000_000] / times[1_000] / 1_000
    rows.append(["growth 1 kB to 1 MB, 1 is linear", report.bar("guard growth", growth, 1.5)])
    report.table("The guard's search for secrets, on text full of suspects", ["characters", "MB/s"], rows)


def imports(report: Report) -> None:
    # With bytecode for both, as it is after the first time everywhere.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def wall(statement: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True, env=env)
        return time.perf_counter() - start

    wall("import failwell, mcp")
    rounds = [(wall("pass"), wall("import failwell"), wall("import mcp")) for _ in range(9)]
    share = statistics.median((ours - bare) / (peer - bare) for bare, ours, peer in rounds)
    ours = statistics.median(ours - bare for bare, ours, _ in rounds) * 1000
    peer = statistics.median(peer - bare for bare, _, peer in rounds) * 1000
    report.table(
        "import failwell against import mcp (bar: one fifteenth)",
        ["failwell ms", "mcp ms", "share"],
        [[f"{ours:.0f}", f"{peer:.0f}", f"1/{1 / share:.0f}{' !' if share > 1 / 15 else ''}"]],
    )
    if share > 1 / 15:
        report.missed.append(f"import: 1/{1 / share:.1f} of mcp")


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    email: EmailStr
    role: str = Field(pattern="^(admin|user)$")
    limit: int = 10


def pydantic_dump() -> str:
    try:
        Arguments.model_validate({"email": "ann(at)example", "role": "superadmin", "limt": 5})
    except ValidationError as problem:
        return str(problem)
    raise AssertionError("the arguments should have been refused")


def tokens(report: Report) -> None:
    encoding = bpe_openai.get_encoding("o200k_base")
    errors = {
        "wrong arguments": FAULT,
        "not found": SMALL,
        "rate limit": fw.ToolError("Slow down.", code="RATE_LIMITED", retry_after=30),
    }
    rows = [
        [name, *(str(len(encoding.encode(fw.render(error, name)))) for error in errors.values())] for name in FORMATS
    ]
    rows.append(["pydantic's own text", str(len(encoding.encode(pydantic_dump()))), "", ""])
    rows.append(["zod's own dump", str(len(encoding.encode(ZOD_DUMP))), "", ""])
    report.table("Tokens (o200k_base)", ["format", *errors], rows)


def main() -> int:
    report = Report()
    json_formats(report)
    xml_format(report)
    guard_growth(report)
    imports(report)
    tokens(report)
    for line in report.missed:
        report.console.print(f"missed: {line}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
