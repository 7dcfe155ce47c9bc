"""`failwell report`: what the dashboard shows, in one file or in a few lines."""

from __future__ import annotations

import sys
from argparse import Namespace

from .io import Commands, Stop, print_json
from .store_source import add_store, read_store


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        help="what failed and whether agents got through, as text, HTML or JSON; for CI too",
        description="Reads a store of events, and tells what failed and what became of it.",
    )
    add_store(parser)
    parser.add_argument("--since", default="7d", metavar="TIME", help="24h, 7d, 2026-11-17; 7d by default")
    parser.add_argument("--until", default="", metavar="TIME", help="now by default")
    parser.add_argument("--server", default="", metavar="NAME", help="of this server alone")
    parser.add_argument("--tool", default="", metavar="NAME", help="of this tool alone")
    parser.add_argument("--html", metavar="FILE", help="write one page that needs nothing else; - is standard output")
    parser.add_argument("--json", action="store_true", help="for programs, on standard output")
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="LIMIT",
        help="exit with 1 where this holds: 'recovery<0.5', 'unknown>0', 'drift>5%%', 'loops>10'",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from failwell.dashboard import (
        BadLimit,
        BadTime,
        Query,
        broken,
        limit_of,
        report_data,
        report_document,
        report_text,
    )
    from failwell.observe import BadStore

    given = {name: getattr(options, name) for name in ("since", "until", "server", "tool")}
    try:
        query = Query.of(given)
        limits = [limit_of(text) for text in options.fail_on]
    except (BadTime, BadLimit) as problem:
        raise Stop(str(problem)) from None
    reading = read_store(options.store)
    assert reading is not None
    try:
        if options.html is not None:
            _write(options.html, report_document(reading, query))
        if options.json:
            print_json(report_data(reading, query))
        elif options.html is None:
            print(report_text(reading, query))
        found = broken(limits, reading.numbers(query.period), reading.doubts(query.period))
    except BadStore as problem:
        raise Stop(str(problem)) from None
    finally:
        reading.close()
    for limit, value in found:
        print(f"failwell: {limit} holds: it is {value:g}", file=sys.stderr)
    return 1 if found else 0


def _write(path: str, page: str) -> None:
    if path == "-":
        sys.stdout.write(page)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as problem:
        raise Stop(f"cannot write {path}: {problem.strerror or problem}") from None
