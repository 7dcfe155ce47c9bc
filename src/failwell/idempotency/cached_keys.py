"""Shared keys behind a cache of what this process did itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from .leased_keys import LeasedKeys
from .store import KeysInMemory, StoredCall, StoreUnusable

# How long a key that comes after the store was emptied may be an old one.
_DOUBT: Final = 600.0


class CachedKeys:
    """Keys in a shared store, for a relay: its clients are not told which store knows their keys.

    What this process did itself it knows, whatever became of the store since.
    """

    def __init__(self, store: LeasedKeys, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self._clock = store, clock
        self.instance, self.ttl = store.instance, store.ttl
        self._own = KeysInMemory(ttl=store.ttl, clock=clock)
        self._doubted_until = 0.0

    @property
    def may_have_lost_keys(self) -> bool:
        """Whether the store was emptied a short time ago: a key may be an old one although the store has none of it."""
        return self._clock() < self._doubted_until

    def claim(self, key: str, call: str) -> StoredCall | None:
        known = self._own.find(key)
        if known is not None:
            return known
        former = self.store.former
        try:
            known = self.store.claim(key, call)
        except StoreUnusable:
            if self.store.former == former:
                raise
            self._doubted_until = self._clock() + _DOUBT
            known = self.store.claim(key, call)
        if known is None:
            self._own.claim(key, call)
        return known

    def finish(self, key: str, answer: bytes | None) -> None:
        self._own.finish(key, answer)
        self.store.finish(key, answer)

    def lose(self, key: str) -> None:
        self._own.lose(key)
        self.store.lose(key)

    def release(self, key: str) -> None:
        self._own.release(key)
        self.store.release(key)

    def close(self) -> None:
        self.store.close()
