"""Where events are kept and read again: one interface, whichever database is behind it."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import Any

from .batches import resolve
from .reading import Numbers, Reading, Selection
from .store_url import Address, BadStore, Unreachable, address_of
from .tables import Database
from .writer import Store

_known: dict[tuple[str, tuple[tuple[str, Any], ...]], Store] = {}
_lock = Lock()


def store(url: str, **options: Any) -> Any:
    """The store at an address: a hook that keeps each event it is told of. It raises `BadStore`.

    Whoever names the same address in one process gets the same store. The options are those of `Store`; the words of
    failures are kept in a SQLite file unless `messages=False`, and elsewhere with `messages=True`.
    """
    address = address_of(url)
    if address.scheme == "otlp":
        from .otlp import Otlp

        return Otlp(address)
    options = {"messages": address.scheme == "sqlite", **options}
    with _lock:
        key = (url, tuple(sorted(options.items())))
        found = _known.get(key)
        if found is None or found._is_closed:
            found = _known[key] = Store(partial(Database, address), **options)
        return found


__all__ = [
    # where a store is
    "Address",
    "address_of",
    "BadStore",
    "Unreachable",
    # written to
    "Database",
    "Store",
    "store",
    "resolve",
    # read
    "Reading",
    "Selection",
    "Numbers",
]
