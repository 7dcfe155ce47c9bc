"""Keys and holds in a store that several machines use: what Redis and PostgreSQL have in common.

A process renews one lease for all that it has running. When it dies, its lease runs out, and what it had begun is lost:
nobody knows how it ended. A lease that runs out although its holder lives, as after a long pause, does no harm: nothing
is run because of it, and a holder that renews it has its claims back.

Only answers expire after `ttl`. A call without an end keeps its key for at least a day after the last sign of its
holder, because a frozen process cannot be told from a dead one.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar

from .store import DAY, Ended, KeyEnds, KeysInMemory, StoredCall, StoreUnusable, check_seconds

log = logging.getLogger("failwell.idempotency")

T = TypeVar("T")
TIMEOUT: Final = 2.0
# A store that lets one call wait for so long is not asked by the next ones before it has answered.
_SLOW: Final = TIMEOUT / 4
_LOOK: Final = 1.0
_TRIES: Final = 3
_MOST_UNSENT: Final = 1_000
_MOST_FORMER: Final = 10
# How long a key that comes after the store was emptied may be an old one.
_DOUBT: Final = 600.0


class LeasedKeys(KeyEnds, ABC):
    """A store that other processes use, too. Its methods wait for the store.

    instance: names what is kept. A store that was emptied has another one; `former` are those that it had before, while
        this process ran. Where clients are not told of it, as in a relay, `cached` remembers what this process did
        itself, whatever becomes of the store.
    """

    instance: str
    _schemes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, place: str, *, ttl: float = DAY, lease: float = 30.0, namespace: str = "keys", cached: bool = False
    ) -> None:
        check_seconds(ttl, "ttl")
        check_seconds(lease, "lease")
        if self._schemes and not place.lower().startswith(tuple(f"{scheme}://" for scheme in self._schemes)):
            raise ValueError(f"{type(self).__name__} takes a URL such as {self._schemes[0]}://localhost.")
        if ttl < 2 * lease:
            raise ValueError(f"ttl must be at least twice the lease: ttl is {ttl:g} seconds, the lease {lease:g}.")
        self.ttl, self.lease = ttl, lease
        self.former: tuple[str, ...] = ()
        # For how many seconds a key is kept whose call has not ended, after the last sign of its holder.
        self._unended = max(ttl, DAY)
        self._owner, self._process = "", os.getpid()
        self._lock = threading.Lock()
        self._tokens: dict[str, str] = {}
        """What this process has running: by the key, the name of that very claim."""
        self._unsent: dict[str, _End] = {}
        """What the store could not be told yet, by the name of the claim."""
        self._closed, self._renewing = threading.Event(), threading.Lock()
        self._frozen = ""
        """Why nobody waits for the store, while that is so."""
        self._is_away = False
        self._cache = KeysInMemory(ttl=ttl) if cached else None
        self._doubted_until = 0.0
        self._connect(place, namespace)

    @property
    def may_have_lost_keys(self) -> bool:
        """Whether the store was emptied a short time ago: a key may be an old one although the store has none of it."""
        return time.monotonic() < self._doubted_until

    def claim(self, key: str, call: str) -> StoredCall | None:
        if self._cache is None:
            return self._claim_in_store(key, call)
        known, former = self._cache.find(key), self.former
        if known is not None:
            return known
        try:
            known = self._claim_in_store(key, call)
        except StoreUnusable:
            if self.former == former:
                raise
            self._doubted_until = time.monotonic() + _DOUBT
            known = self._claim_in_store(key, call)
        if known is None:
            self._cache.claim(key, call)
        return known

    def _claim_in_store(self, key: str, call: str) -> StoredCall | None:
        token = os.urandom(16).hex()

        def send() -> StoredCall | None:
            self._send_unsent(key)
            return self._claim(key, call, token)

        try:
            known = self._ask(send)
        except BaseException:
            # Whether it was claimed is not known. The call is not made, so the key is given back, now or later.
            self._remember(token, _End(key, None, None))
            raise
        if known is None:
            with self._lock:
                self._tokens[key] = token
        return known

    def end(self, key: str, state: Ended | None, answer: bytes | None) -> None:
        if self._cache is not None:
            self._cache.end(key, state, answer)
        with self._lock:
            token = self._tokens.pop(key, None)
        if token is None:
            return
        try:
            self._ask(lambda: self._end(key, token, state, answer))
        except BaseException:
            self._remember(token, _End(key, state, answer))
            raise

    def problem(self) -> str | None:
        """Why the store cannot be used at present; None if it can."""
        try:
            self.held("")
        except StoreUnusable as problem:
            return str(problem)
        return None

    def close(self) -> None:
        """Let go of the store. What is running in this process counts as lost from here on."""
        self._closed.set()
        # A renewal on its way would open the store anew.
        with self._renewing:
            if self._process == os.getpid():
                self._leave()

    @abstractmethod
    def _connect(self, place: str, namespace: str) -> None:
        """Open the store, and set `instance`."""

    @abstractmethod
    def _claim(self, key: str, call: str, token: str) -> StoredCall | None: ...

    @abstractmethod
    def _end(self, key: str, token: str, state: str | None, answer: bytes | None) -> None:
        """Say how a claim ended; without a state it is taken back. One that is not there any more stays so. The claim
        loses its token, so that a renewal on its way cannot make it run again."""

    @abstractmethod
    def _renew(self, running: dict[str, str]) -> None:
        """Say that this process lives, and that these claims (keys with their tokens) are running, also where another
        process took them for lost."""

    @abstractmethod
    def held(self, scope: str) -> dict[str, tuple[float, float, str]]: ...

    @abstractmethod
    def _leave(self) -> None:
        """Give the lease up, and the connection."""

    def _new_owner(self, name: str) -> str:
        return name

    @abstractmethod
    def _forked(self) -> None:
        """Drop what belongs to the parent process."""

    def _emptied(self, instance: str) -> StoreUnusable:
        """Nobody knows any more which calls have begun: from now on it is another store."""
        self.former, self.instance = (*self.former, self.instance)[-_MOST_FORMER:], instance
        return StoreUnusable("the store was emptied, so nobody knows which calls have begun")

    def _ask(self, do: Callable[[], T]) -> T:
        """Ask the store, unless it is known to let whoever asks wait: others may wait for the one who does."""
        self._start()
        if self._frozen:
            raise StoreUnusable(self._frozen)
        began = time.monotonic()
        try:
            found = do()
        except Exception as problem:
            if time.monotonic() - began > _SLOW:
                self._frozen = str(problem)
            if not self._is_away:
                log.warning("%s; until it is back, each process holds only the writes in doubt that it saw.", problem)
            self._is_away = True
            raise
        self._is_away = False
        return found

    def _remember(self, token: str, end: _End) -> None:
        with self._lock:
            self._unsent[token] = end
            while len(self._unsent) > _MOST_UNSENT:
                # Whoever asks for it waits until this process ends, and learns that nobody knows.
                del self._unsent[next(iter(self._unsent))]

    def _send_unsent(self, key: str | None = None) -> None:
        """Tell the store what it could not be told: all of it, or about one key."""
        with self._lock:
            unsent = [(token, each) for token, each in self._unsent.items() if key is None or each.key == key]
        for token, each in unsent:
            self._end(each.key, token, each.state, each.answer)
            each.tries += 1
            if each.state is not None or each.tries >= _TRIES:
                # What was claimed may still be on its way to the store, and is taken back more than once.
                with self._lock:
                    self._unsent.pop(token, None)

    def _start(self) -> None:
        """See to it that this very process has a name, and a thread that renews its lease."""
        if self._owner and self._process == os.getpid():
            return
        with self._lock:
            if self._owner and self._process == os.getpid():
                return
            if self._process != os.getpid():
                self._forked()
            self._tokens, self._unsent = {}, {}
            self._owner, self._process = self._new_owner(os.urandom(16).hex()), os.getpid()
            self._closed, self._renewing = threading.Event(), threading.Lock()
            # It must not keep alive what nobody uses any more.
            given = weakref.ref(self), self._closed, self.lease / _TRIES
            threading.Thread(target=_renew_regularly, args=given, name="failwell-lease", daemon=True).start()

    def _renew_now(self) -> None:
        with self._renewing:
            if self._closed.is_set():
                return
            with self._lock:
                running = dict(self._tokens)
            if running or self._frozen:
                self._renew(running)
            self._frozen = ""
            self._send_unsent()


@dataclass(slots=True)
class _End:
    """How a claim ended, which the store does not know; without a state it is to be taken back."""

    key: str
    state: str | None
    answer: bytes | None
    tries: int = 0


def _renew_regularly(store: weakref.ref[LeasedKeys], closed: threading.Event, pause: float) -> None:
    due = time.monotonic() + pause
    while not closed.wait(min(pause, _LOOK)):
        keys = store()
        if keys is None:
            return
        if time.monotonic() >= due or keys._frozen:
            due = time.monotonic() + pause
            # When the store is away, whoever claims a key is told; the next turn tries again.
            with suppress(Exception):
                keys._renew_now()
        del keys


def in_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
