"""`failwell check`: how a server fails, graded."""

from __future__ import annotations

import os
import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from typing import Any

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

from .io import Commands, Stop, console, interruptible, print_json

_EPILOG = """\
Tools that are not marked as read-only get only calls in which every required argument is missing or of a wrong type.

examples:
  failwell check -- npx -y @modelcontextprotocol/server-filesystem /tmp
  failwell check --json --min-score 80 -- python server.py
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="grade how a server fails, with evidence and fixes",
        usage="failwell check [options] -- CMD...\n       failwell check [options] URL\n"
        "       failwell check [options] --config FILE [NAME]",
        description="Asks a server what an agent would ask wrongly, and grades what it answers.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="?", metavar="URL", help="the address of a server over HTTP")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--min-score", type=int, metavar="N", help="exit 1 below this score")
    parser.add_argument(
        "--header", action="append", default=[], metavar="H", help="a header: 'Authorization: Bearer …'"
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME", help="give the server a variable: NAME or NAME=VALUE"
    )
    parser.add_argument("--cwd", metavar="DIR", help="where the server works; a temporary folder by default")
    parser.add_argument("--allow-writes", action="store_true", help="call tools that may change something, too")
    parser.add_argument("--reads", action="append", default=[], metavar="NAME", help="a tool that only reads: 'get_*'")
    parser.add_argument("--tool", action="append", default=[], metavar="NAME", help="only this tool")
    parser.add_argument("--rule", action="append", default=[], metavar="RULE", help="only this rule or group")
    parser.add_argument("--skip", action="append", default=[], metavar="RULE", help="all but this rule or group")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds to wait for a call; 10")
    parser.add_argument(
        "--start-timeout", type=float, default=30.0, metavar="S", help="seconds to wait for the start; 30"
    )
    parser.add_argument("--era", default="auto", choices=("auto", "2025-11-25", "2026-07-28"), help="of the protocol")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    report = _checked(_target(options), _options(options))
    if options.json:
        print_json(report.to_dict())
    else:
        from failwell.check.reports.terminal import show

        show(report, console())
    if options.min_score is not None and report.score < options.min_score:
        print(f"failwell: the score is {report.score}, below {options.min_score}", file=sys.stderr)
        return 1
    return 0


def _checked(target: CheckTarget, options: CheckOptions) -> CheckReport:
    with interruptible():
        return check(target, options, progress=_progress())


def _progress() -> Any:
    if not sys.stderr.isatty():
        return lambda what, done, of: None

    def told(what: str, done: int, of: int) -> None:
        counted = f" {done}/{of}" if of else ""
        print(f"\r\x1b[Kchecking{counted}: {what[:50]}", end="", file=sys.stderr, flush=True)

    return told


def _target(options: Namespace) -> CheckTarget:
    env = dict(_variable(each) for each in options.env)
    if options.after:
        if options.target is not None:
            raise Stop("name either a URL or a command after --, not both")
        return CheckTarget(options.after, env=env, cwd=options.cwd)
    if options.target is None:
        raise Stop("name the command of a server after --, or its URL, as in: failwell check -- python server.py")
    if "://" not in options.target:
        raise Stop(f"write -- before the command of the server: failwell check -- {options.target} …")
    return CheckTarget(url=options.target, headers=dict(map(_header, options.header)))


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals and name not in os.environ:
        raise Stop(f"--env {name}: there is no such variable here")
    return name, value if equals else os.environ[name]


def _header(given: str) -> tuple[str, str]:
    name, colon, value = given.partition(":")
    if not colon or not name.strip():
        raise Stop(f"--header {name!r}: a header is written as 'Name: value'")
    return name.strip(), value.strip()


def _options(given: Namespace) -> CheckOptions:
    return CheckOptions(
        allow_writes=given.allow_writes,
        reads=tuple(name for names in given.reads for name in names.split(",") if name),
        only=tuple(given.tool),
        rules=tuple(given.rule),
        skip=tuple(given.skip),
        era=given.era,
        waits=Waits(given.start_timeout, given.timeout),
    )
