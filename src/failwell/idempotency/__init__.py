"""Idempotency keys, and writes in doubt: what is known of a call that is made again, in one store.

In memory, in a SQLite file, in Redis or Valkey, or in PostgreSQL. `install(idempotency=…)` and `failwell wrap --state`
use the same stores.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from failwell.packages import bring

from .store import DAY as DAY
from .store import HoldStore as HoldStore
from .store import KeysInMemory, KeyStore, StoredCall, StoreUnusable
from .store import hash_of as hash_of
from .store import is_key as is_key

if TYPE_CHECKING:
    from .holds import shared_hold as shared_hold
    from .keys_in_postgres import KeysInPostgres
    from .keys_in_redis import KeysInRedis
    from .keys_on_disk import KeysOnDisk
    from .leased_keys import LeasedKeys as LeasedKeys

# Each needs packages, or time to load, that those who do not use it have no need of.
_LAZY: Final = {
    "LeasedKeys": ".leased_keys",
    "KeysInPostgres": ".keys_in_postgres",
    "KeysInRedis": ".keys_in_redis",
    "KeysOnDisk": ".keys_on_disk",
    "shared_hold": ".holds",
}
_EXTRAS: Final = {"KeysInRedis": "redis", "KeysInPostgres": "postgres"}
_SCHEMES: Final = {
    **dict.fromkeys(("redis", "rediss", "unix", "valkey", "valkeys"), "KeysInRedis"),
    **dict.fromkeys(("postgres", "postgresql"), "KeysInPostgres"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _EXTRAS:
        module = bring(f"{__name__}{_LAZY[name]}", f"failwell.idempotency.{name}", _EXTRAS[name])
    else:
        module = import_module(_LAZY[name], __name__)
    value = globals()[name] = getattr(module, name)
    return value


def open_store(
    place: str | None = None, *, ttl: float = DAY, lease: float = 30.0, namespace: str = "keys", cached: bool = False
) -> KeysInMemory | LeasedKeys:
    """The store of idempotency keys at a place: in memory, in a SQLite file, in Redis or Valkey, or in PostgreSQL.

    place: the path of a file; the URL of a store, `redis://…` or `postgresql://…`; None for memory.
    ttl: for how many seconds an answer is kept.
    lease: after how many seconds without a sign a process counts as gone, where several machines share a store.
    namespace: the server that the keys are of. Replicas share one.
    cached: whether a process knows its own calls even while the store is away.
    """
    if place is None:
        return KeysInMemory(ttl=ttl)
    if not place.strip():
        raise StoreUnusable("the place of the keys is empty; name a file, or the URL of a store")
    if "://" not in place:
        from .keys_on_disk import KeysOnDisk

        return KeysOnDisk(place, ttl=ttl, namespace=namespace)
    kind = _SCHEMES.get(place.partition("://")[0].lower())
    if kind is None:
        raise StoreUnusable("a shared store is redis://…, rediss://…, unix://… or postgresql://…")
    store: LeasedKeys = __getattr__(kind)(place, ttl=ttl, lease=lease, namespace=namespace, cached=cached)
    return store


# fmt: off
__all__ = [
    "open_store", "StoreUnusable", "KeyStore", "StoredCall", "KeysInMemory", "KeysOnDisk", "KeysInRedis",
    "KeysInPostgres",
]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = ("DAY", "LeasedKeys", "HoldStore", "shared_hold", "hash_of", "is_key")
