"""`failwell convert`: any format in, any format out."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from failwell import losses, read
from failwell.formats import FORMATS, Outcome, read_json, to_wire

from .io import Commands, Stop, add_source, as_written, check_format, not_an_error, read_source, speaks_unicode

_EPILOG = """\
examples:
  failwell convert --to xml error.json
  failwell convert --to jsonrpc --option era=2026-07-28 --option actionable=true error.json
  failwell convert --to v1 --carry error.xml         keep what v1 has no word for
  failwell convert --to typed --jsonl < outcomes.jsonl
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "convert",
        help="any format in, any format out",
        description="Reads an error in any known format and writes it in another.",
        epilog=_EPILOG,
    )
    add_source(parser)
    parser.add_argument("--to", metavar="F", required=True, help=f"the format to write: {', '.join(FORMATS)}")
    parser.add_argument("--from", dest="source_format", metavar="F", help="the format to read; detected if not given")
    parser.add_argument("--carry", action="store_true", help="keep what the format has no word for, under one key")
    parser.add_argument("--losses", action="store_true", help="print the fields the format would lose, not the error")
    parser.add_argument("--jsonl", action="store_true", help="one JSON value per line in, one per line out")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the format; may be repeated"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    target = check_format(options.to) or ""
    check_format(options.source_format)
    if options.losses and options.jsonl:
        raise Stop("--losses and --jsonl do not go together; leave one of them out")
    wanted = dict(_option(text, target) for text in options.option)
    source = read_source(options.file)
    if options.jsonl:
        return _lines(source, target, options, wanted)
    outcome = read(source, format=options.source_format)
    if outcome is None:
        raise not_an_error(options.source_format, "--from text")
    if options.losses:
        for name in losses(outcome, target):
            print(name)
        return 0
    wire = _convert(outcome, target, options.carry, wanted)
    print(as_written(wire, target))
    return 0


def _lines(source: str, target: str, options: Namespace, wanted: dict[str, Any]) -> int:
    written = []
    for number, line in enumerate(source.split("\n"), 1):
        if not line.strip():
            continue
        value = read_json(line)
        if value is None and line.strip() != "null":
            raise Stop(f"line {number} is not JSON; each line holds a text in quotes or an object")
        outcome = read(value, format=options.source_format) if isinstance(value, (str, dict)) else None
        wire = None if outcome is None else _convert(outcome, target, options.carry, wanted)
        written.append(json.dumps(wire, ensure_ascii=not speaks_unicode()))
    for text in written:
        print(text)
    return 0


def _convert(outcome: Outcome, target: str, carry: bool, wanted: dict[str, Any]) -> Any:
    try:
        return to_wire(outcome, target, carry=carry, **wanted)
    except (ValueError, TypeError) as problem:
        raise Stop(str(problem)) from None


def _option(text: str, target: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Stop(f"--option {text!r} has no value; write it as NAME=VALUE")
    known = FORMATS[target].options
    if name not in known:
        has = f"; it has {', '.join(known)}" if known else ""
        raise Stop(f"The format {target!r} has no option {name!r}{has}.")
    found = read_json(value)
    return name, value if found is None else found
