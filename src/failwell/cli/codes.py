"""`failwell codes`: every code, with meaning, kind, retry and recovery."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from failwell.model import CATALOGS, Catalog, Code

from .io import Commands, Stop, print_json, print_table
from .targets import load_object

_EPILOG = """\
examples:
  failwell codes                     the core catalogue and those of the five contracts
  failwell codes jsonrpc --json
  failwell codes myserver.errors:Billing
"""


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "codes",
        help="every code, with meaning, kind, retry and recovery",
        description="Lists the codes of the shipped catalogues, or of one of your own.",
        epilog=_EPILOG,
    )
    parser.add_argument("catalog", nargs="?", metavar="CATALOG", help=f"{', '.join(CATALOGS)}, or module:Class")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    chosen = list(CATALOGS.values()) if options.catalog is None else [_catalog(options.catalog)]
    codes = [code for catalog in chosen for code in catalog]
    if options.json:
        print_json([_row(code) for code in codes])
    else:
        print_table(
            ("catalog", "code", "kind", "retry", "recovery", "http", "number", "meaning", "category"),
            [
                (
                    code.catalog,
                    code.name,
                    code.kind.value,
                    "yes" if code.retryable else "no",
                    code.strategy.value,
                    str(code.http_status or ""),
                    str(code.number or ""),
                    code.description,
                    code.category or "",
                )
                for code in codes
            ],
        )
    return 0


_FIELDS = (
    "catalog", "name", "title", "kind", "category", "retryable", "strategy", "effect", "http_status", "number",
    "description",
)  # fmt: skip


def _row(code: Code) -> dict[str, Any]:
    row = {"code" if name == "name" else name: getattr(code, name) for name in _FIELDS}
    return {name: getattr(value, "value", value) for name, value in row.items() if value is not None}


def _catalog(name: str) -> type[Catalog]:
    if name in CATALOGS:
        return CATALOGS[name]
    if ":" not in name:
        raise Stop(f"there is no catalogue {name!r}; use one of: {', '.join(CATALOGS)}, or module:Class")
    found = load_object(name)
    if not (isinstance(found, type) and issubclass(found, Catalog)):
        raise Stop(f"{name} is not a catalogue; it must be a subclass of failwell.Catalog")
    return found
