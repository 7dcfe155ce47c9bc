"""A place where a secret stands: the words that ask for it, in lower case, and the pattern that reads it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    words: tuple[str, ...]
    source: str
