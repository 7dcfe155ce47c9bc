"""The table of the formats: one line each, and their schemas. All else about a format stands in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import canonical, envelope, jsonrpc, problem, text, typed, v1, xml
from .wire import Format

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        module.FORMAT.name: module.FORMAT
        for module in (
            typed,
            v1,
            xml,
            envelope,
            jsonrpc,
            problem,
            text,
            canonical,
        )
    }
)

SCHEMAS: Final = tuple(FORMATS)
"""The formats that have one: all of them."""


def schema(name: str) -> str:
    """The schema of a format as text: JSON Schema 2020-12, and RELAX NG for `xml`.

    >>> import json
    >>> json.loads(schema("typed"))["required"]
    ['type', 'message', 'recoverable']
    """
    if name not in SCHEMAS:
        raise ValueError(f"There is no schema {name!r}; use one of: {', '.join(SCHEMAS)}.")
    # Slow to import, and almost nobody asks.
    from importlib.resources import files

    file = FORMATS[name].schema or f"{name}.json"
    return files("failwell.formats").joinpath("schemas", file).read_text(encoding="utf-8")
