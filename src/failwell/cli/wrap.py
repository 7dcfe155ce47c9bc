"""`failwell wrap`: any stdio server, made to fail well, without a change to it."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from typing import Final

from failwell.relay import Options, Wrapping, wrap

from .io import Commands, Stop, check_format

_EPILOG = """\
examples:
  failwell wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "wrap",
        help="stand in front of any stdio server, so that it fails well and stays up",
        usage="failwell wrap [options] -- CMD...\n       failwell wrap [options] --config FILE [NAME]",
        description="Passes messages between a client and a server, and makes failures something an agent can act on.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which server of the file, where it has several")
    parser.add_argument("--config", metavar="FILE", help="take the server from a client's file, such as .mcp.json")
    parser.add_argument("--format", default="text", metavar="NAME", help="the form of a failure; text by default")
    parser.add_argument("--no-original", action="store_true", help="leave what the server sent out of _meta")
    parser.add_argument("--strict-success", action="store_true", help="never mark a success as a failure")
    parser.add_argument(
        "--validate", choices=("auto", "on", "off"), default="auto", help="hold arguments against the tool's own schema"
    )
    parser.add_argument("--reads", action="append", default=[], metavar="NAME", help="a tool that only reads: 'get_*'")
    parser.add_argument(
        "--trust-annotations", choices=("yes", "no"), default="yes", help="believe what tools say of themselves"
    )
    parser.add_argument("--timeout", type=_seconds, metavar="TIME", help="the longest silence of a call: 90, 90s, 5m")
    parser.add_argument("--verbose", action="store_true", help="say on stderr what is done")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    return wrap(_wrapping(options))


def _wrapping(options: Namespace) -> Wrapping:
    wrapped = _options(options)
    if options.config is not None:
        if options.after:
            raise Stop("name either a command after -- or --config, not both")
        from failwell.relay import config

        try:
            found = config.server(options.config, options.name, os.environ)
        except config.NoServer as problem:
            raise Stop(str(problem)) from None
        return Wrapping(found.command, found.env, found.cwd, wrapped, options.verbose)
    if options.name is not None:
        raise Stop(f"write -- before the command of the server: failwell wrap -- {options.name} …")
    if not options.after:
        raise Stop("name the command of a server after --, as in: failwell wrap -- npx -y some-server")
    return Wrapping(options.after, options=wrapped, loud=options.verbose)


def _options(given: Namespace) -> Options:
    return Options(
        format=check_format(given.format) or "text",
        keep_original=not given.no_original,
        mark_successes=not given.strict_success,
        validate=given.validate,
        reads=tuple(name for names in given.reads for name in names.split(",") if name),
        trusted=given.trust_annotations == "yes",
        timeout=given.timeout,
    )


_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


def _seconds(text: str) -> float:
    """A time as people write it."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)\s*([smh]?)", text.strip())
    if found is None or not float(found[1]):
        raise ArgumentTypeError(f"{text!r} is no time; it looks like 90, 90s or 5m")
    return float(found[1]) * _UNITS[found[2]]
