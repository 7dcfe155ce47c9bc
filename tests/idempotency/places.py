"""Stores, by the place where they are."""

from __future__ import annotations

from typing import Any

from failwell.idempotency import KeysInPostgres, KeysInRedis, KeysOnDisk


def keys_at(place: str, **options: Any) -> Any:
    if "://" not in place:
        options.pop("lease", None)
        return KeysOnDisk(place, **options)
    return (KeysInRedis if place.startswith("redis") else KeysInPostgres)(place, **options)
