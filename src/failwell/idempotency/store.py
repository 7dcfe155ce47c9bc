"""What a store of idempotency keys promises, and the one in memory.

A key is claimed before its call is made, and released where the call did nothing. All that a store is given are hashes
of keys and calls, and whole answers; never a key as it was sent, and never an argument.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, Protocol, TypeGuard, runtime_checkable

from failwell.formats import is_number

DAY: Final = 86_400.0
LONGEST_KEY: Final = 255
_MAX_BYTES: Final = 32_000_000
Ended = Literal["done", "lost"]


class StoreUnusable(RuntimeError):
    """Why a store cannot be used: one line that says what to do, without what is secret in its URL."""


class StoredCall(NamedTuple):
    """What a store has under a key.

    call: the hash of the call that the key was claimed for.
    state: `running`; `done`; or `lost`, where nobody knows how the call ended, and nobody ever will.
    answer: how it was answered; None where that was not kept.
    """

    call: str
    state: Literal["running", "done", "lost"] = "running"
    answer: bytes | None = None


@runtime_checkable
class KeyStore(Protocol):
    """A place for keys, shared by all who answer for the same tools. Its methods may be called by any thread.

    instance: identifies what is kept. A store that loses its entries gets another one, by which an agent sees that its
        keys mean nothing any more.
    ttl: for how many seconds an answer is kept at least.

    What `claim` raises refuses the call, which is not made; what the others raise is logged, and the call counts as one
    whose end nobody knows.
    """

    @property
    def instance(self) -> str: ...

    @property
    def ttl(self) -> float: ...

    def claim(self, key: str, call: str) -> StoredCall | None:
        """Claim the key for a call, or give what is stored under it.

        This must be one atomic step for everybody who shares the store: of any number of callers with the same key at
        the same time, exactly one gets None, and before it does, it is written down that `call` has begun. The others
        change nothing, and ask again a little later while the state is `running`. A call whose caller died is `lost`.
        To say so too early is safe, since nothing runs because of it. What runs is never dropped, however old it is.
        """

    def finish(self, key: str, answer: bytes | None) -> None:
        """Keep the answer for `ttl` seconds at least; None where it is not kept. Called by whoever claimed the key."""

    def lose(self, key: str) -> None:
        """Nobody will know how the call ended."""

    def release(self, key: str) -> None:
        """The call did nothing: the key is as if it had never been used."""

    def close(self) -> None:
        """There will be no more calls."""


@runtime_checkable
class HoldStore(Protocol):
    """Where several processes keep which calls are in doubt. What its methods raise says that it is away."""

    def held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        """The notes of a scope by their call: for how many seconds each is there, how many are left, and the note."""

    def hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        """Keep a note for so long, in place of the one before."""

    def unhold(self, scope: str, call: str, note: str) -> None:
        """Drop a note, unless another one has taken its place."""


def is_key(value: object) -> TypeGuard[str]:
    """Whether what was sent as an idempotency key is one."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_KEY


def hash_of(*parts: object) -> str:
    """One text for what identifies a key or a call. It holds nothing that was sent, so it can be kept."""
    # It loads OpenSSL, and few calls have a key.
    from hashlib import sha256

    return sha256(json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def check_seconds(value: object, name: str) -> None:
    if not is_number(value):
        raise ValueError(f"{name} is a number of seconds above zero, not {value!r}.")


class KeyEnds:
    """The ways in which a claim ends, as one: without a state the key is released."""

    end: Callable[[str, Ended | None, bytes | None], None]

    def end_holds(self, is_meant: Callable[[str], bool]) -> None:
        """End the holds of the calls that are meant by their fingerprint, in every session."""

    def finish(self, key: str, answer: bytes | None) -> None:
        self.end(key, "done", answer)

    def lose(self, key: str) -> None:
        self.end(key, "lost", None)

    def release(self, key: str) -> None:
        self.end(key, None, None)


class KeysInMemory(KeyEnds):
    """Keeps keys as long as the process lives, for one process.

    With more than `max_entries` answers, or 32 MB of them, the oldest go, even before their time: choose it so that a
    day of calls fits.
    """

    def __init__(
        self, *, max_entries: int = 10_000, ttl: float = DAY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not isinstance(max_entries, int) or isinstance(max_entries, bool) or max_entries < 1:
            raise ValueError(f"max_entries is a whole number of at least 1, not {max_entries!r}.")
        check_seconds(ttl, "ttl")
        self.instance = os.urandom(16).hex()
        self.ttl = ttl
        self.max_entries = max_entries
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}
        # In the order in which they ended, so that the first one is always the oldest.
        self._ended: OrderedDict[str, tuple[float, StoredCall]] = OrderedDict()
        self._bytes = 0

    def claim(self, key: str, call: str) -> StoredCall | None:
        with self._lock:
            known = self._find(key)
            if known is None:
                self._running[key] = call
            return known

    def find(self, key: str) -> StoredCall | None:
        """What is stored under a key, without claiming it."""
        with self._lock:
            return self._find(key)

    def _find(self, key: str) -> StoredCall | None:
        self._drop_old()
        if key in self._running:
            return StoredCall(self._running[key])
        return self._ended[key][1] if key in self._ended else None

    def end(self, key: str, state: Ended | None, answer: bytes | None) -> None:
        with self._lock:
            call = self._running.pop(key, None)
            if call is not None and state is not None:
                self._ended[key] = self._clock(), StoredCall(call, state, answer)
                self._bytes += len(answer or b"")
                self._drop_old()

    def close(self) -> None:
        """It is gone with the process."""

    def _drop_old(self) -> None:
        before = self._clock() - self.ttl
        while self._ended:
            ended, oldest = next(iter(self._ended.values()))
            is_full = len(self._ended) > self.max_entries or (self._bytes > _MAX_BYTES and len(self._ended) > 1)
            if not is_full and ended > before:
                return
            self._ended.popitem(last=False)
            self._bytes -= len(oldest.answer or b"")
