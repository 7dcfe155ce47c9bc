"""`failwell adopt`: the file of servers that a client has, with every stdio server wrapped."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from failwell.relay import adoption, config

from .io import Commands, Stop, stop_on

_EPILOG = """\
examples:
  failwell adopt .mcp.json                          print the file as it would be
  failwell adopt .mcp.json --write                  change it; the old one is kept beside it
  failwell adopt .mcp.json --write -- --reads 'x_*' the same with options of wrap
  failwell adopt .mcp.json --undo                   print the file without the wrapping
  failwell adopt .mcp.json --undo --write           take the wrapping off
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "adopt",
        usage="failwell adopt FILE [--undo] [--write] [-- WRAP-OPTIONS...]",
        help="wrap every server of a client's configuration file",
        description="Reads the files of Claude Code, Claude Desktop, Cursor and VS Code. Comments and order stay.",
        epilog=_EPILOG,
    )
    parser.add_argument("file", metavar="FILE", help=".mcp.json, claude_desktop_config.json, .cursor/mcp.json …")
    parser.add_argument("--write", action="store_true", help="change the file, with a backup beside it")
    parser.add_argument("--undo", action="store_true", help="take the wrapping off")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    relay, path = adoption.relay_command(), Path(options.file)
    _check_options(options.after, options.undo)
    with stop_on(config.NoServer):
        if options.undo:
            made = adoption.undo(path, dry=not options.write)
        elif options.write:
            made = adoption.write(path, relay, options.after)
        else:
            made = adoption.adopted(adoption.text_of(path), relay, options.after)
    for name, why in made.left:
        _say(f"{name} stays as it is: {why}")
    if not options.write:
        sys.stdout.write(adoption.shown(made.text))
    backup = adoption.backup_of(path)
    if not made.changed:
        _say(f"nothing to undo by {backup.name}" if options.undo else "nothing to wrap")
    elif not options.write:
        _say("add --write to write this; values of env and headers, and secrets, stay in the file and are not shown")
    elif options.undo:
        _say(f"unwrapped: {', '.join(made.changed)}")
        if backup.exists():
            _say(f"{backup.name} stays, since the file was changed after it was wrapped")
    else:
        _say(f"wrapped: {', '.join(made.changed)}; undo with: failwell adopt --undo --write {options.file}")
    return 0


def _check_options(given: list[str], undo: bool) -> None:
    """Options of `wrap` are refused here, and not by each server that is started with them."""
    if not given:
        return
    if undo:
        raise Stop("--undo takes no options of wrap")
    from . import build_parser

    options = build_parser("wrap").parse_args(["wrap", *given], Namespace(after=[]))
    if options.name or options.config or options.listen or options.header:
        raise Stop("after -- stand options of wrap for a command, such as --reads or --events, and nothing else")


def _say(line: str) -> None:
    print(f"failwell: {line}", file=sys.stderr)
