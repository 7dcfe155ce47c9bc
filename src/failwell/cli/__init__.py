"""The `failwell` command: one thin file per subcommand."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, NoReturn

from failwell import __version__
from failwell.packages import MissingPackage

from .io import Stop

COMMANDS = {
    **{name: name for name in ("demo", "explain", "convert", "codes", "check", "wrap", "adopt")},
    **dict.fromkeys(("dashboard", "report", "tail", "resolve"), "events"),
    **{name: name for name in ("example", "manifest", "schema", "conformance")},
}
"""The module of each; only that of the one that was asked for is imported."""

_EPILOG = """\
start here:
  failwell demo                              the same failures, before and after
  echo '{"type":"NOT_FOUND","message":"no such agent","recoverable":false}' | failwell explain
  failwell convert --to xml error.json       any format in, any format out
  failwell codes social                      every code of a catalogue

exit codes: 0 done, 1 what was asked for does not hold, 2 bad usage or unreadable input
"""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": argparse.RawDescriptionHelpFormatter, **options})

    def error(self, message: str) -> NoReturn:
        raise Stop(f"{message}; try: {self.prog} --help")


def build_parser(only: str | None = None) -> _Parser:
    """The whole command line, or that of one command."""
    parser = _Parser(
        prog="failwell",
        description="Tool errors that agents can act on, for the Model Context Protocol.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"failwell {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for module in dict.fromkeys([COMMANDS[only]] if only in COMMANDS else COMMANDS.values()):
        import_module(f".{module}", __name__).register(commands)
    return parser


def _check_command(given: Sequence[str], commands: Collection[str]) -> None:
    """A command that does not exist is told with the one that was meant."""
    named = next((each for each in given if not each.startswith("-")), None)
    if named is None or named in commands:
        return
    from failwell.schema import nearest

    meant = nearest(named, commands)
    hint = f"did you mean: failwell {meant}" if meant else f"there are {', '.join(commands)}"
    raise Stop(f"there is no command {named!r}; {hint}")


def _forget_output() -> None:
    # The reader has seen enough. Python would complain once more when it closes the pipe at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    if sys.stdout is None:
        # Closed by whoever started us: there is nobody to tell.
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character shows a mark instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        parser = build_parser(given[0] if given else None)
        # What follows is somebody else's command line, whatever its options look like.
        cut = given.index("--") if "--" in given else len(given)
        _check_command(given[:cut], COMMANDS)
        options = parser.parse_args(given[:cut], Namespace(after=given[cut + 1 :]))
        if options.command is None:
            parser.print_help()
            return 0
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except Stop as stop:
        print(f"failwell: {stop}", file=sys.stderr)
        return stop.code
    except MissingPackage as problem:
        print(f"failwell: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as problem:
        _forget_output()
        print(f"failwell: cannot write: {problem.strerror or problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


__all__ = ["main", "build_parser"]
