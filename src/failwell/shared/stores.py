"""The stores, by the beginning of their URL."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from failwell.packages import bring

from .claims import SharedClaims, StoreUnusable

_STORES: Final = {
    "redis": ".in_redis",
    "rediss": ".in_redis",
    "unix": ".in_redis",
    "valkey": ".in_redis",
    "valkeys": ".in_redis",
    "postgres": ".in_postgres",
    "postgresql": ".in_postgres",
}


def claims_at(url: str, **options: Any) -> SharedClaims:
    """What is kept under a URL; what cannot be used is told in one line, without what is secret in it."""
    opened: SharedClaims = _module(url).claims(url, **options)
    return opened


def _module(url: str) -> ModuleType:
    place = _STORES.get(url.partition("://")[0].lower())
    if place is None or "://" not in url:
        raise StoreUnusable("a shared store is redis://…, rediss://…, unix://… or postgresql://…")
    return bring(place, __package__ or "failwell.shared", place.removeprefix(".in_"))
