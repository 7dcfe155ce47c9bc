"""`failwell check`: how a server fails, graded."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from failwell.packages import missing

from .io import (
    Commands,
    Stop,
    console,
    in_line,
    interruptible,
    json_text,
    print_json,
    read_bytes,
    seconds,
    stop_on,
    write_file,
)
from .targets import header_of, host_of, load_manifest

if TYPE_CHECKING:
    from failwell.check import CheckOptions, CheckReport, CheckTarget

_EPILOG = """\
Safe by default: a tool that does not say that it only reads gets only calls in which every required argument is
missing or of a wrong type, and none at all if it requires nothing. The server runs in a temporary home and folder,
with hardly any environment, and nothing is sent anywhere but to it.

examples:
  failwell check -- python server.py
  failwell check https://example.com/mcp --header 'Authorization: Bearer …'
  failwell check --config .mcp.json github --env GITHUB_TOKEN
  failwell check --json --min-score 80 -- python server.py > report.json
  failwell check --baseline report.json -- python server.py     fails only on what is new
  failwell check --compare before.json after.json

[tool.failwell.check] in pyproject.toml has the same options, and `command`; what is given here comes first.
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "check",
        help="grade how a server fails, with evidence and fixes",
        usage="failwell check [options] -- CMD...\n       failwell check [options] URL\n"
        "       failwell check [options] --config FILE [NAME]\n       failwell check --compare A.json B.json",
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
    add("--faults", action="store_true", help="also stand between the server and its upstream, and fail there")
    add("--base-url-env", action="append", default=[], metavar="NAME", help="with --faults: where it reads its address")
    add("--manifest", metavar="FILE", help="hold the codes that are seen against those of a manifest")
    add("--tool", action="append", default=[], metavar="NAME", help="only this tool")
    add(
        "--max-tools",
        type=_count,
        default=50,
        metavar="N",
        help="how many tools are asked, in the order of the list; 50",
    )
    add("--rule", action="append", default=[], metavar="RULE", help="only this rule, or group of rules")
    add("--skip", action="append", default=[], metavar="RULE", help="all but this rule, or group of rules")
    add("--era", default="auto", choices=("auto", "2025-11-25", "2026-07-28"), help="of the protocol; auto is both")
    add("--timeout", type=seconds, default=10.0, metavar="S", help="seconds to wait for a call; 10")
    add("--start-timeout", type=seconds, default=30.0, metavar="S", help="seconds to wait for the start; 30")
    add("--json", action="store_true", help="print the report as JSON")
    for name, what in (("sarif", "SARIF"), ("junit", "JUnit's XML"), ("html", "a page"), ("badge", "a badge, in SVG")):
        add(f"--{name}", metavar="FILE", help=f"write the report as {what}; - is standard output")
    add("--min-score", type=_score, metavar="N", help="exit 1 below this score")
    add("--baseline", metavar="FILE", help="exit 1 only if there are findings that this report does not have")
    add("--wrapped", action="store_true", help="check the same server through failwell wrap, too, and show both scores")
    add("--compare", nargs=2, metavar=("A", "B"), help="show what changed between two reports, and end")
    add("--send", metavar="FRAME", help="send one frame after the handshake, print the answer, and end")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if options.compare is not None:
        return _compare(options)
    if (lacking := missing("failwell check", "check")) is not None:
        raise lacking
    from failwell.check import NoReport, load_report

    settings = _settings(options)
    target = _target(options, settings)
    if options.send is not None:
        return _send(target, options)
    with stop_on(NoReport):
        baseline = None if options.baseline is None else load_report(options.baseline)
    report = _run_check(target, _options(options))
    wrapped = _run_check(_behind_wrap(target), _options(options)) if options.wrapped else None
    _show(report, wrapped, options)
    return _verdict(report, baseline, options)


def _show(report: CheckReport, wrapped: CheckReport | None, options: Namespace) -> None:
    from failwell.check import reports

    files: dict[str, Callable[[], str]] = {
        "sarif": lambda: json_text(reports.sarif(report)) + "\n",
        "junit": lambda: reports.junit(report),
        "html": lambda: reports.html(report),
        "badge": lambda: reports.badge(report),
    }
    wanted = {name: getattr(options, name) for name in files if getattr(options, name) is not None}
    for name, place in wanted.items():
        write_file(place, files[name]())
    if options.json:
        data = report.to_dict()
        print_json(data if wrapped is None else {**data, "wrapped": wrapped.to_dict()})
    elif "-" not in wanted.values():
        reports.show(report, console())
        if wrapped is not None:
            print(f"\nThrough failwell wrap: {wrapped.score} {wrapped.grade} (direct: {report.score} {report.grade})")


def _verdict(report: CheckReport, baseline: Mapping[str, Any] | None, options: Namespace) -> int:
    from failwell.check import new_findings

    code = 0
    if baseline is not None:
        new = new_findings(report.findings, baseline)
        for finding in new[:20]:
            print(in_line(f"new: {finding.rule} on {finding.tool or 'the server'}: {finding.message}"), file=sys.stderr)
        if new:
            print(f"failwell: {len(new)} findings that {options.baseline} does not have", file=sys.stderr)
            code = 1
    if options.min_score is not None and report.score < options.min_score:
        words = f"the score is {report.score}" if report.is_graded else "there was nothing to grade"
        print(f"failwell: {words}, below {options.min_score}", file=sys.stderr)
        code = 1
    return code


def _compare(options: Namespace) -> int:
    from failwell.check import Comparison, NoReport, load_report

    with stop_on(NoReport):
        comparison = Comparison(*map(load_report, options.compare))
    if options.json:
        print_json(comparison.to_dict())
    else:
        print("\n".join(map(in_line, comparison.lines())))
    return 0


def _run_check(target: CheckTarget, options: CheckOptions) -> CheckReport:
    from failwell.check import check

    with interruptible():
        try:
            return check(target, options, progress=_progress(), guarded=True)
        finally:
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _progress() -> Callable[[str, int, int], None]:
    def show(what: str, done: int, of: int) -> None:
        counted = f" {done + 1}/{of}" if of else ""
        print(f"\r\x1b[Kchecking{counted}: {in_line(what)[:50]}", end="", file=sys.stderr, flush=True)

    return show if sys.stderr.isatty() else lambda what, done, of: None


def _send(target: CheckTarget, options: Namespace) -> int:
    from failwell.check import send

    with interruptible():
        answer = send(target, options.send, None if options.era == "auto" else options.era, _waits(options))
    print(answer)
    return 0


_LISTS: Final = ("reads", "tool", "rule", "skip", "env", "header", "base_url_env")


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
        if not hasattr(options, known) or known in ("send", "compare", "target", "after"):
            raise Stop(f"pyproject.toml: [tool.failwell.check] knows no {name!r}; see failwell check --help")
        if known in _LISTS:
            setattr(options, known, getattr(options, known) or ([value] if isinstance(value, str) else list(value)))
        elif getattr(options, known) in (None, False) or (known, getattr(options, known)) in _DEFAULTS:
            setattr(options, known, value)
    return dict(found)


_DEFAULTS: Final = (("era", "auto"), ("timeout", 10.0), ("start_timeout", 30.0), ("max_tools", 50))


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


def _behind_wrap(target: CheckTarget) -> CheckTarget:
    from dataclasses import replace

    if target.url is not None:
        raise Stop("--wrapped is for servers on stdio: a command after --, or --config")
    from failwell.check import absolute

    return replace(target, command=[sys.executable, "-m", "failwell", "wrap", "--", *absolute(target.command)])


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


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


def _waits(given: Namespace) -> Any:
    from failwell.check import Waits

    return Waits(given.start_timeout, given.timeout)


def _options(given: Namespace) -> CheckOptions:
    from failwell.check import CheckOptions

    return CheckOptions(
        allow_writes=given.allow_writes,
        reads=tuple(name for names in given.reads for name in names.split(",") if name),
        examples=_examples(given.examples),
        only=tuple(given.tool),
        rules=tuple(map(_rule, given.rule)),
        skip=tuple(map(_rule, given.skip)),
        era=given.era,
        most_tools=given.max_tools,
        waits=_waits(given),
        declared=_declared(given.manifest),
        faults=given.faults,
        base_urls=tuple(given.base_url_env),
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


def _declared(path: str | None) -> Mapping[str, frozenset[str]]:
    if path is None:
        return {}
    manifest = load_manifest(path)
    common = frozenset(manifest.common_error_codes)
    return {tool.name: common | frozenset(tool.possible_error_codes) for tool in manifest.tools}
