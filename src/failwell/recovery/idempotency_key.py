"""The key by which a server knows a call, so that it can be made twice and is done once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from failwell.formats import META_KEY, keys

IDEMPOTENCY_KEY: Final = keys.IDEMPOTENCY_KEY
"""The key in the `_meta` of a call under which its idempotency key travels."""
IDEMPOTENCY_STORE: Final = keys.IDEMPOTENCY_INSTANCE
"""The key in the `_meta` of a call under which goes which store of the server has to know its key."""
IDEMPOTENCY_FIRST: Final = keys.IDEMPOTENCY_FIRST
"""The key in the `_meta` of a call that says that its key is new: a server with another store has nothing of it."""


class KeyForgotten(Exception):
    """The server that would know the key of this call is no more."""


def store_of(capabilities: object) -> str | None:
    """Which store of a server knows the keys that are sent to it, by what it says it can do; None if there is none."""
    for place in ("extensions", "experimental"):
        settings = (getattr(capabilities, place, None) or {}).get(META_KEY)
        kept = settings.get("idempotency") if isinstance(settings, Mapping) else None
        store = kept.get("instance") if isinstance(kept, Mapping) else None
        if store and isinstance(store, str):
            return store
    return None


@dataclass(slots=True)
class Key:
    """The key of one call."""

    meta: dict[str, Any] = field(default_factory=dict)
    """What is sent as the `_meta` of the call, with the key where the server honours one."""
    sent: bool = False
    """Whether an earlier attempt was made, with this key or without any."""
    _is_given: bool = False
    """Whether the key is the caller's own: then it goes with every attempt, for whoever knows it on the way."""
    _store: str | None = None
    _is_whole: bool = True
    """Whether every call so far carried the key to that store."""

    def __post_init__(self) -> None:
        self._is_given = bool(self.meta.get(IDEMPOTENCY_KEY))

    @property
    def is_known(self) -> bool:
        """Whether the server knows the call by a key."""
        return self._is_whole and self._store is not None

    def is_forgotten(self, store: str | None) -> bool:
        """Whether the server knew this call by a key, and the one that is there now, with this store, does not."""
        return self.sent and self.is_known and store != self._store

    def forget(self) -> None:
        """The call may be made twice anyway: whatever comes next knows it by another key."""
        for name in (IDEMPOTENCY_KEY, IDEMPOTENCY_STORE, IDEMPOTENCY_FIRST):
            self.meta.pop(name, None)
        self.sent = False

    def renew(self) -> None:
        """The call has other arguments now: that is another call, with a key of its own unless the caller gave one."""
        if self.sent and not self._is_given:
            self.forget()

    def use(self, store: str | None) -> None:
        """Put the key on the next call, where the server honours one: `store` is the one that is there now."""
        if store is None:
            self.lose()
        elif not self.sent:
            self._store = store
            given = self.meta.get(IDEMPOTENCY_KEY)
            # Behind one address there may be several servers, each with keys of its own: the one that takes the call
            # must be the one that knows it when it is made again.
            self.meta[IDEMPOTENCY_STORE] = store
            if not (given and isinstance(given, str)) or self.meta.get(IDEMPOTENCY_FIRST) is True:
                # One of our own is new.
                self.meta |= {IDEMPOTENCY_KEY: given or uuid4().hex, IDEMPOTENCY_FIRST: True}
        elif self._is_whole:
            # A server behind the same address may be another one by now; then it must not take this for a first call.
            self.meta[IDEMPOTENCY_STORE] = store
            self.meta.pop(IDEMPOTENCY_FIRST, None)

    def lose(self) -> None:
        """A call was made without the key: nobody knows all of them by it any more."""
        self._is_whole = False
        for name in (IDEMPOTENCY_FIRST,) if self._is_given else (IDEMPOTENCY_KEY, IDEMPOTENCY_FIRST):
            self.meta.pop(name, None)
