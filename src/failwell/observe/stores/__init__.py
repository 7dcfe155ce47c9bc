"""Where events are kept and read again: one interface, whichever database is behind it."""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import Any

from .numbers import Doubts, Failure, Flow, Numbers, OpenDoubt, Period, SessionLine
from .reading import Reading
from .store_url import Address, BadStore, Unreachable, address_of
from .writer import Database, Store

_known: dict[tuple[str, tuple[tuple[str, Any], ...]], Store] = {}
_lock = Lock()


def database(address: Address, *, is_reading: bool = False) -> Database:
    """The database at an address, opened. It raises `BadStore`."""
    if address.scheme == "sqlite":
        from .sqlite import Sqlite

        return Sqlite(address, is_reading=is_reading)
    if address.scheme == "postgresql":
        from .postgres import Postgres

        return Postgres(address, is_reading=is_reading)
    raise BadStore(f"{address.scheme}: is sent to, and cannot be read; name a sqlite: or postgresql: store")


def store(url: str, **options: Any) -> Any:
    """The store at an address: a hook that keeps each event it is told of. It raises `BadStore`.

    Whoever names the same address in one process gets the same store. The options are those of `Store`.
    """
    address = address_of(url)
    if address.scheme == "otlp":
        from .otlp import Otlp

        return Otlp(address)
    with _lock:
        key = (url, tuple(sorted(options.items())))
        found = _known.get(key)
        if found is None or found._is_closed:
            found = _known[key] = Store(partial(database, address), **options)
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
    "database",
    "store",
    # read
    "Reading",
    "Period",
    "Numbers",
    "Failure",
    "Doubts",
    "OpenDoubt",
    "SessionLine",
    "Flow",
]
