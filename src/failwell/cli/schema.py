"""`failwell schema`: what each format looks like on the wire."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib.resources import files
from typing import Final

from failwell.formats import FORMATS, SCHEMAS, schema

from .io import Commands, Stop, print_table

_EPILOG = """\
examples:
  failwell schema                    every format that has one
  failwell schema envelope > envelope.schema.json
  failwell schema xml > tool-error.rng
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "schema",
        help="the JSON Schema of a format; RELAX NG for xml",
        description="Prints the schema of a format, or lists the schemas.",
        epilog=_EPILOG,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=", ".join(SCHEMAS))
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    if options.name is None:
        formats = [FORMATS[name] for name in SCHEMAS]
        rows = [
            (each.name, "RELAX NG" if each.schema.endswith(".rng") else "JSON Schema", each.contract)
            for each in formats
        ]
        rows += [(name, "JSON Schema", what) for name, (_, _, what) in _OTHERS.items()]
        print_table(("format", "schema", "contract"), rows)
    elif options.name in _OTHERS:
        package, file, _ = _OTHERS[options.name]
        sys.stdout.write(files(package).joinpath(file).read_text(encoding="utf-8"))
    elif options.name in SCHEMAS:
        sys.stdout.write(schema(options.name))
    else:
        raise Stop(f"there is no schema {options.name!r}; use one of: {', '.join((*SCHEMAS, *_OTHERS))}")
    return 0


# What is described beside the formats: where its schema is, and what it is of.
_OTHERS: Final = {
    "manifest": ("failwell.manifest", "manifest.schema.json", "003, tool manifest"),
    "check": ("failwell.check", "report.schema.json", "the report of failwell check --output json=FILE"),
}
