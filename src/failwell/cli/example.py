"""`failwell example`: the reference servers, each started with one command."""

from __future__ import annotations

import socket
import sqlite3
import sys
from argparse import Namespace

from failwell.examples import EXAMPLES

from .io import Commands, Stop, print_table

_EPILOG = """\
examples:
  failwell example                         the five servers
  failwell example reservations            serve it on stdio, for any MCP client
  failwell example routers --http 8000     serve it at http://127.0.0.1:8000/mcp
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "example",
        help="run one of the five reference servers",
        description="Serves an example on stdio, or lists the examples.",
        epilog=_EPILOG,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=", ".join(EXAMPLES))
    parser.add_argument("--http", type=int, metavar="PORT", help="serve over HTTP instead, at /mcp")
    parser.add_argument("--plain", action="store_true", help="the same server without Failwell, to compare with")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if options.name is None:
        print_table(("example", "what it is"), list(EXAMPLES.items()))
        return 0
    if options.name not in EXAMPLES:
        raise Stop(f"there is no example {options.name!r}; use one of: {', '.join(EXAMPLES)}")
    if options.http is not None and not 0 < options.http < 65536:
        raise Stop("a port is a number from 1 to 65535")
    from failwell import examples

    try:
        server = examples.build(options.name, plain=options.plain)
    except (ValueError, OSError, sqlite3.Error) as problem:
        # What an example is told, it is told by environment variables.
        raise Stop(f"{options.name} cannot start with these settings: {problem}") from None
    if options.http is not None:
        _check_free(options.http)
        print(f"{options.name}: http://127.0.0.1:{options.http}/mcp, until you press Ctrl-C", file=sys.stderr)
    elif sys.stdin is not None and sys.stdin.isatty():
        print(
            f"{options.name} waits for an MCP client on stdin, until you press Ctrl-C; for one over HTTP: --http 8000",
            file=sys.stderr,
        )
    examples.serve(server, port=options.http)
    return 0


def _check_free(port: int) -> None:
    """The server's own log, which would say it, is off."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as problem:
            raise Stop(f"cannot listen on port {port}: {problem.strerror}; try another one") from None
