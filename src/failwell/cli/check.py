"""`failwell check`: how a server fails, graded."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from failwell.packages import missing

from .io import Commands, Stop, console, in_line, interruptible, read_bytes, seconds, stop_on, write_file
from .targets import header_of, host_of

if TYPE_CHECKING:
    from failwell.check import CheckOptions, CheckReport, CheckTarget

_EPILOG = """\
Safe by default: tools without readOnlyHint receive only calls in which every required argument is missing or of a
wrong type, and none after an answer that is no plain refusal. The server runs in a temporary home and folder, with
hardly any environment, and nothing is sent anywhere but to it.

examples:
  failwell check -- python server.py
  failwell check https://example.com/mcp --header 'Authorization: Bearer …'
  failwell check --config .mcp.json github --env GITHUB_TOKEN
  failwell check --min-score 75 --output json=report.json --output sarif=failwell.sarif -- python server.py
  failwell check --baseline report.json -- python server.py     fails only on what is new

[tool.failwell.check] in pyproject.toml has the same options, and `command`; what is given here comes first.
exit codes: 0 graded, 1 below --min-score or new findings, 2 bad usage or the server does not start, 130 interrupted
"""
_DEFAULT_TIME: Final = 120.0


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="grade how a server fails, with evidence and fixes",
        usage="failwell check [options] -- CMD...\n       failwell check [options] URL\n"
        "       failwell check [options] --config FILE [NAME]",
        description="Asks a server what an agent would ask wrongly, and grades what it answers.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("target", nargs="?", metavar="URL", help="the address of a server over HTTP; with --config its name")
    add("--config", metavar="FILE", help="take the server from a client's file, such as .mcp.json")
    add("--header", action="append", default=[], metavar="H", help="a header: 'Authorization: Bearer …'")
    add("--env", action="append", default=[], metavar="NAME", help="a variable for the server: NAME or NAME=VALUE")
    add("--cwd", metavar="DIR", help="where the server works; a temporary folder by default")
    add("--allow-writes", action="store_true", help="call tools that may change something with valid arguments, too")
    add("--reads", action="append", default=[], metavar="NAME", help="a tool that only reads: 'get_*'")
    add("--examples", metavar="FILE", help="arguments that work, in JSON: {tool: {argument: value}}")
    add("--faults", nargs="?", const="", metavar="VAR", help="fail between the server and its service as well; VAR: "
        "where the server reads the address of its service")  # fmt: skip
    add("--tool", action="append", default=[], metavar="NAME", help="only this tool")
    add("--skip", action="append", default=[], metavar="RULE", help="all but this rule, or group of rules")
    add("--max-time", type=seconds, metavar="S", help="seconds for the whole check; 120. A call has a twelfth")
    add("--output", action="append", default=[], metavar="FMT=FILE", help="json, sarif, junit, html, badge, text; - is "
        "standard output")  # fmt: skip
    add("--min-score", type=_score, metavar="N", help="exit 1 below this score")
    add("--baseline", metavar="FILE", help="exit 1 only if there are findings that this JSON report does not have")
    add("--rubric", metavar="N", help="the version of the rubric; 1")
    add("--send", metavar="FRAME", help="send one frame after the handshake, print the answer, and end")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if (lacking := missing("failwell check", "check")) is not None:
        raise lacking
    from failwell.check import VERSION, NoReport, Waits, load_baseline, send

    settings = _settings(options)
    if options.rubric is not None and str(options.rubric) != str(VERSION):
        raise Stop(f"there is no rubric {options.rubric}; there is {VERSION}")
    target, outputs = _target(options, settings), _outputs(options)
    longest = options.max_time or _DEFAULT_TIME
    waits = Waits(longest / 4, longest / 12)
    if options.send is not None:
        with interruptible():
            print(send(target, options.send, waits))
        return 0
    with stop_on(NoReport):
        known = None if options.baseline is None else load_baseline(options.baseline)
    report = _run_check(target, _options(options, waits, longest))
    for place, write in outputs:
        write_file(place, write(report, known))
    if not any(place == "-" for place, _ in outputs):
        from failwell.check import reports

        reports.show(report, known, console())
    return _verdict(report, known, options)


def _verdict(report: CheckReport, known: frozenset[str] | None, options: Namespace) -> int:
    code = 0
    if known is not None and (new := [finding for finding in report.findings if finding.key not in known]):
        for finding in new[:20]:
            print(in_line(f"new: {finding.line}"), file=sys.stderr)
        print(f"failwell: {len(new)} findings that {options.baseline} does not have", file=sys.stderr)
        code = 1
    if options.min_score is not None and report.score < options.min_score:
        words = f"the score is {report.score}" if report.is_graded else "there was nothing to grade"
        print(f"failwell: {words}, below {options.min_score}", file=sys.stderr)
        code = 1
    if report.examined.reason is not None:
        return 2
    return 130 if report.examined.is_interrupted else code


def _run_check(target: CheckTarget, options: CheckOptions) -> CheckReport:
    from failwell.check import check

    def progress(what: str, done: int, of: int) -> None:
        if sys.stderr.isatty():
            counted = f" {done + 1}/{of}" if of else ""
            print(f"\r\x1b[Kchecking{counted}: {in_line(what)[:50]}", end="", file=sys.stderr, flush=True)

    with interruptible():
        try:
            return check(target, options, progress=progress, guarded=True)
        finally:
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _outputs(options: Namespace) -> list[tuple[str, Callable[[CheckReport, Collection[str] | None], str]]]:
    from failwell.check import reports

    found: list[tuple[str, Callable[[CheckReport, Collection[str] | None], str]]] = []
    for each in options.output:
        name, _, place = each.partition("=")
        if name not in reports.FORMATS or not place:
            raise Stop(f"--output {each}: it is written as FMT=FILE, with one of {', '.join(reports.FORMATS)}")
        found.append((place, reports.FORMATS[name]))
    return found


_LISTS: Final = ("reads", "tool", "skip", "env", "header", "output")


def _settings(options: Namespace) -> dict[str, Any]:
    """What pyproject.toml of this folder says, put into the options where the command line says nothing."""
    import tomllib

    file = Path("pyproject.toml")
    try:
        data = tomllib.loads(read_bytes(str(file)).decode()) if file.exists() else {}
    except ValueError as problem:
        raise Stop(f"cannot read pyproject.toml: {problem}") from None
    found = data.get("tool", {}).get("failwell", {}).get("check", {})
    for name, value in found.items():
        known = name.replace("-", "_")
        if known == "command":
            continue
        if not hasattr(options, known) or known in ("send", "target", "after"):
            raise Stop(f"pyproject.toml: [tool.failwell.check] knows no {name!r}; see failwell check --help")
        if known in _LISTS:
            setattr(options, known, getattr(options, known) or ([value] if isinstance(value, str) else list(value)))
        elif getattr(options, known) in (None, False):
            setattr(options, known, value)
    return dict(found)


def _target(options: Namespace, settings: Mapping[str, Any]) -> CheckTarget:
    from failwell.check import CheckTarget

    env = dict(_variable(each) for each in options.env)
    if options.config is not None:
        return _target_of_config(options, env)
    command = options.after
    if not command and options.target is None:
        command = settings.get("command") or []
        command = command.split() if isinstance(command, str) else [str(each) for each in command]
    if command:
        if options.target is not None:
            raise Stop("name either a URL or a command after --, not both")
        return CheckTarget(command, env=env, cwd=options.cwd)
    if options.target is None:
        raise Stop("name the command of a server after --, or its URL, as in: failwell check -- python server.py")
    if "://" not in options.target:
        raise Stop(f"write -- before the command of the server: failwell check -- {options.target} …")
    host_of(options.target)
    return CheckTarget(url=options.target, headers=dict(map(header_of, options.header)))


def _target_of_config(options: Namespace, env: Mapping[str, str]) -> CheckTarget:
    from failwell.check import CheckTarget
    from failwell.relay import config

    if options.after:
        raise Stop("name either a command after -- or --config, not both")
    with stop_on(config.NoServer):
        entry = config.chosen(options.config, options.target)
        if not entry.is_stdio:
            url, headers = config.address(entry, os.environ)
            host_of(url)
            return CheckTarget(url=url, headers=headers | dict(map(header_of, options.header)))
        found = config.server(options.config, entry.name, os.environ)
    said = entry.node.value.get("env")
    own = {name: found.env[name] for name in said if name in found.env} if isinstance(said, dict) else {}
    return CheckTarget(found.command, env={**own, **env}, cwd=options.cwd or found.cwd)


def _score(text: str) -> int:
    if not text.isdecimal() or int(text) > 100:
        raise ArgumentTypeError(f"{text!r} is no score: these go from 0 to 100")
    return int(text)


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not name:
        raise Stop(f"--env {given}: a variable is written as NAME or NAME=VALUE")
    if not equals and name not in os.environ:
        raise Stop(f"--env {name}: there is no such variable here")
    return name, value if equals else os.environ[name]


def _options(given: Namespace, waits: Any, longest: float) -> CheckOptions:
    from failwell.check import CheckOptions

    return CheckOptions(
        allow_writes=given.allow_writes,
        reads=tuple(name for names in given.reads for name in names.split(",") if name),
        examples=_examples(given.examples),
        only=tuple(given.tool),
        skip=tuple(map(_rule, given.skip)),
        waits=waits,
        max_time=longest,
        faults=given.faults is not None,
        base_urls=tuple(name for name in (given.faults or "").split(",") if name),
    )


def _rule(name: str) -> str:
    from failwell.check import GROUPS, RULES
    from failwell.schema import nearest

    if name in RULES or name in GROUPS:
        return name
    meant = nearest(name, [*GROUPS, *RULES])
    hint = f"did you mean {meant}?" if meant else f"the groups are {', '.join(GROUPS)}"
    raise Stop(f"there is no rule {name!r}; {hint}")


def _examples(path: str | None) -> Mapping[str, Mapping[str, Any]]:
    if path is None:
        return {}
    try:
        data = json.loads(read_bytes(path))
    except ValueError as problem:
        raise Stop(f"cannot read {path}: {problem}") from None
    if not isinstance(data, dict) or not all(isinstance(each, dict) for each in data.values()):
        raise Stop(f"{path}: examples are an object of objects: {{tool: {{argument: value}}}}")
    return data
