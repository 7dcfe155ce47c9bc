"""`failwell convert`: any format in, any format out."""

from __future__ import annotations

import json
from argparse import Namespace, RawDescriptionHelpFormatter
from typing import Any

from failwell import losses, parse
from failwell.formats import FORMATS, to_wire
from failwell.formats.wire import Outcome

from .io import Commands, Stop, add_source, check_format, read_source

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
        formatter_class=RawDescriptionHelpFormatter,
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
    wanted = dict(_option(text) for text in options.option)
    source = read_source(options.file)
    if options.jsonl:
        return _lines(source, target, options, wanted)
    outcome = parse(source, options.source_format)
    if outcome is None:
        raise Stop("this is not an error in any format I know; for prose use --from text", code=1)
    if options.losses:
        for name in losses(outcome, target):
            print(name)
        return 0
    wire = _convert(outcome, target, options.carry, wanted)
    print(wire if isinstance(wire, str) else FORMATS[target].encode(wire))
    return 0


def _lines(source: str, target: str, options: Namespace, wanted: dict[str, Any]) -> int:
    for number, line in enumerate(source.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise Stop(f"line {number} is not JSON; each line holds a text in quotes or an object") from None
        outcome = parse(value, options.source_format) if isinstance(value, (str, dict)) else None
        wire = None if outcome is None else _convert(outcome, target, options.carry, wanted)
        print(json.dumps(wire, ensure_ascii=False))
    return 0


def _convert(outcome: Outcome, target: str, carry: bool, wanted: dict[str, Any]) -> Any:
    try:
        return to_wire(outcome, target, carry=carry, **wanted)
    except (ValueError, TypeError) as problem:
        raise Stop(str(problem)) from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Stop(f"--option {text!r} has no value; write it as NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
