"""Keys that several machines share: in Redis or Valkey, or in PostgreSQL."""

from __future__ import annotations

import asyncio

from failwell.recovery import HoldStore
from failwell.shared import SharedClaims, claims_at

from .key_stores import DAY, Kept, check_ttl


class _SharedKeys:
    """A store of keys on shared claims. The store is asked in a thread, so that nobody else waits for it."""

    _schemes: tuple[str, ...]

    def __init__(self, url: str, *, ttl: float = DAY, lease: float = 30.0, namespace: str = "keys") -> None:
        check_ttl(ttl)
        check_ttl(lease, "lease")
        if not url.lower().startswith(tuple(f"{scheme}://" for scheme in self._schemes)):
            raise ValueError(f"{type(self).__name__} takes a URL such as {self._schemes[0]}://localhost.")
        self.ttl = ttl
        self._claims: SharedClaims = claims_at(url, ttl=ttl, lease=lease, namespace=namespace)

    @property
    def instance(self) -> str:
        """What is kept; another one when the store was emptied."""
        return self._claims.instance

    @property
    def former(self) -> tuple[str, ...]:
        """What was kept here before the store was emptied, while this process ran."""
        return self._claims.former

    @property
    def holds(self) -> HoldStore:
        """Where the replicas keep which writes are in doubt."""
        return self._claims

    async def begin(self, key: str, call: str) -> Kept | None:
        known = await asyncio.to_thread(self._claims.begin, key, call)
        return None if known is None else Kept(known.call, known.answer, known.state == "running")

    async def finish(self, key: str, answer: str | None) -> None:
        if answer is None:
            await asyncio.to_thread(self._claims.lose, key)
        else:
            await asyncio.to_thread(self._claims.finish, key, answer)

    async def forget(self, key: str) -> None:
        await asyncio.to_thread(self._claims.forget, key)

    def close(self) -> None:
        """Let go of the store. What is under way in this process counts as never finished from here on."""
        self._claims.close()


class KeysInRedis(_SharedKeys):
    """Keeps keys in Redis or Valkey, for any number of servers on any number of machines.

    Each process holds a lease of `lease` seconds and renews it. A call that began in a process that is gone is known
    for what it is when the lease runs out: begun, and nobody knows how it ended. Servers that are no replicas of each
    other each need a `namespace`. A Redis that forgets keys when it is full is refused.
    """

    _schemes = ("redis", "rediss", "unix", "valkey", "valkeys")


class KeysInPostgres(_SharedKeys):
    """Keeps keys in PostgreSQL, for any number of servers on any number of machines; the same as `KeysInRedis`.

    It makes four tables of its own, whose names begin with `failwell_`.
    """

    _schemes = ("postgresql", "postgres")
