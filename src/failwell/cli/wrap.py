"""`failwell wrap`: any stdio server, made to fail well, without a change to it."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter

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
        usage="failwell wrap [options] -- CMD...",
        description="Passes messages between a client and a server, and makes failures something an agent can act on.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--format", default="text", metavar="NAME", help="the form of a failure; text by default")
    parser.add_argument("--verbose", action="store_true", help="say on stderr what is done")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if not options.after:
        raise Stop("name the command of a server after --, as in: failwell wrap -- npx -y some-server")
    format = check_format(options.format) or "text"
    return wrap(Wrapping(options.after, options=Options(format=format), loud=options.verbose))
