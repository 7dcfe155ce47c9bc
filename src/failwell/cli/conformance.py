"""`failwell conformance`: does another implementation say and read the same."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from typing import Any

from failwell.testing import conformance

from .io import Commands, Stop, console, print_json, print_table, seconds

_EPILOG = """\
examples:
  failwell conformance -- python -m failwell.testing.adapter
  failwell conformance --format typed --format v1 -- node conformance/typescript/failwell.ts
  failwell conformance --list

The command reads one JSON request per line and writes one JSON answer per line; conformance/README.md says how.
exit codes: 0 nothing failed, 1 something failed, 2 bad usage or the command cannot be started
"""
_OPERATIONS = ("render", "parse", "losses", "decide")
_SHOWN_FAILURES = 3
_SHOWN_LINES = 6


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "conformance",
        help="test an implementation in any language against the shared vectors",
        usage="failwell conformance [--format F]... [--timeout S] [--json] -- CMD...\n"
        "       failwell conformance [--format F]... [--json] --list",
        description="Starts a command, asks it every vector, and says what it gets right.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--format",
        action="append",
        metavar="F",
        help=f"only this one; may be repeated: {', '.join(conformance.LEVELS)}",
    )
    parser.add_argument(
        "--timeout", type=seconds, default=conformance.TIMEOUT, metavar="S", help="seconds to wait for an answer"
    )
    parser.add_argument("--list", action="store_true", help="how many vectors there are, and run nothing")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    for name in options.format or ():
        if name not in conformance.LEVELS:
            raise Stop(f"there are no vectors for {name!r}; use one of: {', '.join(conformance.LEVELS)}")
    vectors = conformance.load_vectors(dict.fromkeys(options.format or conformance.LEVELS))
    if options.list:
        return _list(vectors, options.json)
    if not options.after:
        raise Stop("name the command to test after --, as in: failwell conformance -- ./my-adapter")
    try:
        report = conformance.run(options.after, vectors, options.timeout)
    except (OSError, ValueError) as problem:
        raise Stop(f"cannot start {options.after[0]}: {getattr(problem, 'strerror', None) or problem}") from None
    if options.json:
        print_json(_as_json(options.after, report))
    else:
        _show(report)
    if report.problem:
        raise Stop(report.problem, code=1)
    return 0 if report.passed else 1


def _list(vectors: list[conformance.Vector], as_json: bool) -> int:
    counts = Counter((vector.format, vector.operation) for vector in vectors)
    rows = {
        level: {operation: counts[level, operation] for operation in _OPERATIONS if counts[level, operation]}
        for level in dict.fromkeys(vector.format for vector in vectors)
    }
    if as_json:
        print_json(rows)
    else:
        shown = [[*(row.get(name, 0) for name in _OPERATIONS), sum(row.values())] for row in rows.values()]
        table = [(level, *map(str, row)) for level, row in zip(rows, shown, strict=True)]
        print_table(("format", *_OPERATIONS, "all"), table)
    return 0


def _show(report: conformance.ConformanceReport) -> None:
    from rich.text import Text

    out = console()
    for level, tally in report.levels.items():
        said = [f"{tally.passed} passed", f"{tally.failed} failed", f"{tally.unsupported} unsupported"]
        if tally.not_run:
            said.append(f"{tally.not_run} not run")
        style = "red" if tally.failed else "green" if tally.claim else ""
        out.print(Text.assemble((f"{level:<12}", f"bold {style}".strip()), " ", ", ".join(said)))
        failures = [failure for failure in report.failures if failure.vector.format == level]
        for failure in failures[:_SHOWN_FAILURES]:
            out.print(Text(f"  {failure.vector.id}", style="red"))
            for line in failure.differences[:_SHOWN_LINES]:
                out.print(Text(f"    {line}"))
            if len(failure.differences) > _SHOWN_LINES:
                out.print(Text(f"    and {len(failure.differences) - _SHOWN_LINES} more"))
        if len(failures) > _SHOWN_FAILURES:
            out.print(Text(f"  and {len(failures) - _SHOWN_FAILURES} more; --json shows all", style="dim"))
    claims = [level for level, tally in report.levels.items() if tally.claim]
    out.print(Text(f"conforms: {', '.join(claims) or 'nothing in full'}", style="bold"))


def _as_json(command: list[str], report: conformance.ConformanceReport) -> dict[str, Any]:
    return {
        "command": command,
        "passed": report.passed,
        "problem": report.problem,
        "conforms": [level for level, tally in report.levels.items() if tally.claim],
        "formats": {
            level: {name: getattr(tally, name) for name in ("passed", "failed", "unsupported", "not_run")}
            for level, tally in report.levels.items()
        },
        "failures": [{"id": failure.vector.id, "differences": failure.differences} for failure in report.failures],
    }
