"""Where events are kept and read again: one interface, whichever database is behind it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from .store_url import Address, BadStore, Unreachable, address_of

if TYPE_CHECKING:
    from .batches import resolve
    from .reading import Numbers, Reading, Selection
    from .tables import Database
    from .writer import Store

# Whoever sends events on needs no database.
_LATER: Final = {
    **dict.fromkeys(("Reading", "Selection", "Numbers"), ".reading"),
    "Database": ".tables",
    "Store": ".writer",
    "resolve": ".batches",
}
_known: dict[tuple[str, tuple[tuple[str, Any], ...]], Store] = {}
_lock = Lock()


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name], __name__), name)


def store(url: str, **options: Any) -> Any:
    """The store at an address: a hook that keeps each event it is told of. It raises `BadStore`.

    Whoever names the same address in one process gets the same store. The options are those of `Store`; the words of
    failures are kept in a SQLite file unless `messages=False`, and elsewhere with `messages=True`.
    """
    address = address_of(url)
    if address.scheme == "otlp":
        from .otlp import Otlp

        return Otlp(address)
    from .tables import Database
    from .writer import Store

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
