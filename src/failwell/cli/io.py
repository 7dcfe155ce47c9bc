"""What the commands share: reading what they are given, and writing for people or for programs."""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Commands = Any
"""argparse's collection of subcommands, which it keeps private."""


class Stop(Exception):
    """Ends the command with one line on stderr."""

    def __init__(self, line: str, code: int = 2) -> None:
        super().__init__(in_line(line))
        self.code = code


@contextmanager
def stop_on(*kinds: type[Exception]) -> Iterator[None]:
    """What these exceptions say, as the one line that ends the command."""
    try:
        yield
    except kinds as problem:
        raise Stop(str(problem)) from None


def in_line(text: str) -> str:
    """`text` on one line, with nothing in it that a terminal would act on."""
    from failwell.redact import visible

    return " ".join(visible(text).split())


def not_an_error(format: str | None, remedy: str) -> Stop:
    """What to say of input that holds no error."""
    from failwell.formats import is_prose

    if is_prose(format):
        return Stop("there is no text to read", code=1)
    if format is not None:
        return Stop(f"this is not an error in the format {format}; leave the format out to have it detected", code=1)
    return Stop(f"this is not an error in any format I know; for prose use {remedy}", code=1)


def speaks_unicode() -> bool:
    """Whether standard output can take any character."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf32")


def as_written(wire: Any, format: str) -> str:
    """A wire value as it is printed: with references instead of characters the output cannot take."""
    from failwell.formats import FORMATS

    text: str = wire if isinstance(wire, str) else FORMATS[format].encode(wire)
    if speaks_unicode() or text.isascii():
        return text
    if not isinstance(wire, str):
        return json.dumps(wire, indent=2 if "\n" in text else None)
    return text.encode("ascii", "xmlcharrefreplace").decode() if FORMATS[format].start == "<" else text


def add_source(parser: ArgumentParser) -> None:
    """The argument that says where the error comes from."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="where to read; - is standard input")


def read_source(file: str) -> str:
    """The text of the file, or of standard input."""
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise Stop("nothing to read: name a file, or pipe the error in")
        data = sys.stdin.buffer.read()
    else:
        data = read_bytes(file)
    return data.decode("utf-8-sig", "replace")


def read_bytes(file: str) -> bytes:
    try:
        with open(file, "rb") as handle:
            return handle.read()
    except OSError as problem:
        raise Stop(f"cannot read {file}: {problem.strerror or problem}") from None


def write_file(path: str, text: str) -> None:
    """Write a file; - is standard output."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise Stop(f"cannot write {path}: {problem.strerror or problem}") from None


def seconds(text: str) -> float:
    """The type of an option that says how long to wait."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds above zero")
    return found


def check_format(name: str | None) -> str | None:
    """`name` if it is a format."""
    if name is None:
        return None
    # Not every command needs them, and one has to start soon.
    from failwell.formats import FORMATS

    if name not in FORMATS:
        raise Stop(f"there is no format {name!r}; use one of: {', '.join(FORMATS)}")
    return name


@contextmanager
def interruptible() -> Iterator[None]:
    """Whoever ends the command with SIGTERM ends it as Ctrl-C does: what it has started ends with it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def console() -> Console:
    """Where people read: colour and tables on a terminal, plain text elsewhere, NO_COLOR respected."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the program with exit code 1; a reader that has seen enough is no failure.
            raise BrokenPipeError

    plain = bool(os.environ.get("NO_COLOR"))
    return Quiet(highlight=False, soft_wrap=not sys.stdout.isatty(), color_system=None if plain else "auto")


def json_text(value: Any, *, ensure_ascii: bool = False) -> str:
    """JSON for programs, with nothing in it that a terminal would act on."""
    from failwell.redact import escaped

    return escaped(json.dumps(value, ensure_ascii=ensure_ascii, indent=2))


def print_json(value: Any) -> None:
    """For programs, always on standard output."""
    print(json_text(value, ensure_ascii=not speaks_unicode()))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table on a terminal; elsewhere one line per row with tabs, made for cut and grep."""
    out = console()
    if not out.is_terminal:
        for row in rows:
            print("\t".join(in_line(cell) for cell in row))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for row in rows:
        table.add_row(*(Text(in_line(cell), style=_STYLES.get(cell, "")) for cell in row))
    out.print(table)


_STYLES = {
    "not_found": "yellow",
    "conflict": "yellow",
    "validation": "cyan",
    "permission": "magenta",
    "transient": "green",
    "internal": "red",
}
