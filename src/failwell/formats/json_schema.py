"""The published schemas: what each format looks like on the wire, for programs that check it."""

from __future__ import annotations

from typing import Final

from .table import FORMATS

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
