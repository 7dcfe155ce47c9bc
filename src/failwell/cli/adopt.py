"""`failwell adopt`: the file of servers that a client has, with every stdio server wrapped."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from failwell.relay import adoption, config

from .io import Commands, Stop

_EPILOG = """\
examples:
  failwell adopt .mcp.json                 print the file as it would be
  failwell adopt .mcp.json --write         change it; the old one is kept beside it
  failwell adopt .mcp.json --undo          take the wrapping off again
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "adopt",
        help="wrap every server of a client's configuration file",
        description="Reads the files of Claude Code, Claude Desktop, Cursor and VS Code. Comments and order stay.",
        epilog=_EPILOG,
    )
    parser.add_argument("file", metavar="FILE", help=".mcp.json, claude_desktop_config.json, .cursor/mcp.json …")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--write", action="store_true", help="change the file, with a backup beside it")
    which.add_argument("--undo", action="store_true", help="take the wrapping off")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    relay, path = adoption.relay_command(), Path(options.file)
    try:
        if options.undo:
            return _undo(path)
        made = adoption.write(path, relay) if options.write else adoption.adopted(adoption.text_of(path), relay)
    except config.NoServer as problem:
        raise Stop(str(problem)) from None
    for name, why in made.left:
        _say(f"{name} stays as it is: {why}")
    if options.write:
        _say(f"wrapped: {', '.join(made.changed)}; undo with: failwell adopt --undo {options.file}" if made.changed
             else "nothing to wrap")  # fmt: skip
        return 0
    sys.stdout.write(adoption.shown(made.text))
    if not made.changed:
        _say("nothing to wrap")
        return 0
    _say("this is what --write would write; values of env and headers, and secrets, stay in the file and are not shown")
    return 0


def _undo(path: Path) -> int:
    if not path.exists():
        raise Stop(f"there is no file {path}")
    if (backup := adoption.backup_of(path)) is None:
        _say(f"nothing to undo: without a backup beside it, nothing in {path.name} was wrapped by adopt")
        return 0
    back = adoption.undo(path)
    _say(f"unwrapped: {', '.join(back.changed)}" if back.changed else "nothing was wrapped by adopt")
    if back.changed and backup.exists():
        _say(f"{backup.name} stays, since the file was changed after it was wrapped")
    for older in adoption.older_backups_of(path):
        _say(f"{older.name} stays: it is the file as it was before it was wrapped an earlier time")
    return 0


def _say(line: str) -> None:
    print(f"failwell: {line}", file=sys.stderr)
