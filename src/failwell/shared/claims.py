"""A claim on a key, held by a lease: whoever has it makes the call, and nobody else ever does.

A process that shares claims renews one lease for all that it has under way. When it dies, its lease runs out, and what
it had begun is told as lost: begun, and nobody knows how it ended. A lease that runs out although its holder lives, as
after a long pause, does no harm: nothing is run because of it, and a holder that renews it has its claims back.

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
from typing import Final, Literal, NamedTuple, TypeVar

log = logging.getLogger("failwell.shared")

T = TypeVar("T")
DAY: Final = 86_400.0
LEASE: Final = 30.0
# How long everything else may wait for the store.
PATIENCE: Final = 2.0
# A store that lets one call wait for so long is not asked by the next ones before it has answered.
_SLOW: Final = PATIENCE / 4
_LOOK: Final = 1.0
_TURNS: Final = 3
_MOST_OWED: Final = 1_000
_MOST_FORMER: Final = 10


class StoreUnusable(RuntimeError):
    """Why a store cannot be used: one line that says what to do."""


class Claimed(NamedTuple):
    """What is known of a key.

    call: the hash of the call that it was used for.
    state: `running`, `done`, or `lost` for a call whose end nobody saw.
    answer: how it was answered, as it was given; None where that is not kept.
    """

    call: str
    state: Literal["running", "done", "lost"]
    answer: str | None = None


class SharedClaims(ABC):
    """Claims in a store that other machines use too. Its methods wait for the store, and may be called by any thread.

    instance: names what is kept. A store that was emptied has another one.
    """

    instance: str

    def __init__(self, *, ttl: float = DAY, lease: float = LEASE) -> None:
        if ttl < 2 * lease:
            raise ValueError(f"ttl must be at least twice the lease: ttl is {ttl:g} seconds, the lease {lease:g}.")
        self.ttl, self.lease = ttl, lease
        self.unended = max(ttl, DAY)
        """For how many seconds a key is kept whose call has not ended, after the last sign of its holder."""
        self.former: tuple[str, ...] = ()
        """What was kept here before, while this process ran."""
        self.owner = ""
        """The name of this process."""
        self._process = 0
        self._lock = threading.Lock()
        self._tokens: dict[str, str] = {}
        """What this process has under way: by the key, the name of that very claim."""
        self._owed: dict[str, _Owed] = {}
        """What the store could not be told yet, by the name of the claim."""
        self._closed = threading.Event()
        self._stuck = ""
        """Why nobody waits for the store, while that is so."""
        self._is_away = False
        """Whether the log says that writes in doubt are not shared at present."""

    def begin(self, key: str, call: str) -> Claimed | None:
        """Claim a key for a call, in one step for everybody; or give what is known of it."""
        self._own()
        token = os.urandom(16).hex()
        try:
            known = self._hurried(lambda: self._settled_and_begun(key, call, token))
        except BaseException:
            # Whether it was claimed is not known. The call is not made, so that it is given back, now or later.
            self._owe(token, _Owed(key, None, None))
            raise
        if known is None:
            with self._lock:
                self._tokens[key] = token
        return known

    def _settled_and_begun(self, key: str, call: str, token: str) -> Claimed | None:
        self._settle(key)
        return self._begin(key, call, token)

    def _hurried(self, do: Callable[[], T]) -> T:
        """Ask the store, unless it is known to let whoever asks wait: others may wait for the one who does."""
        if self._stuck:
            raise StoreUnusable(self._stuck)
        return self._timed(do)

    def _timed(self, do: Callable[[], T]) -> T:
        began = time.monotonic()
        try:
            return do()
        except Exception as problem:
            if time.monotonic() - began > _SLOW:
                self._stuck = str(problem)
            raise

    @property
    def is_stuck(self) -> bool:
        return bool(self._stuck)

    def problem(self) -> str | None:
        """Why the store cannot be used at present; None if it can."""
        self._own()
        try:
            self._hurried(self._ping)
        except StoreUnusable as problem:
            return str(problem)
        return None

    def finish(self, key: str, answer: str | None) -> None:
        """Keep how a call was answered; None where that is not kept."""
        self._over(key, "done", answer)

    def lose(self, key: str) -> None:
        """Nobody will know how the call ended."""
        self._over(key, "lost", None)

    def forget(self, key: str) -> None:
        """The call did nothing: the next one is the first."""
        self._over(key, None, None)

    # Which calls are in doubt, for `failwell.recovery.SharedHold`.

    def held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        return self._noted(lambda: self._held(scope))

    def hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        self._noted(lambda: self._hold(scope, call, note, seconds))

    def release(self, scope: str, call: str, note: str) -> None:
        self._noted(lambda: self._release(scope, call, note))

    def _noted(self, do: Callable[[], T]) -> T:
        self._own()
        try:
            found = self._hurried(do)
        except Exception as problem:
            if not self._is_away:
                log.warning("%s; until it is back, each process holds only the writes in doubt that it saw.", problem)
            self._is_away = True
            raise
        self._is_away = False
        return found

    def close(self) -> None:
        """There will be no more calls. What this process has begun counts as lost from here on."""
        self._closed.set()
        self._leave()

    def _emptied(self, instance: str) -> StoreUnusable:
        """Nobody knows any more which calls have begun: from now on it is another store."""
        self.former, self.instance = (*self.former, self.instance)[-_MOST_FORMER:], instance
        return StoreUnusable("the store was emptied, so nobody knows which calls have begun")

    @abstractmethod
    def _begin(self, key: str, call: str, token: str) -> Claimed | None: ...

    @abstractmethod
    def _end(self, key: str, token: str, state: str | None, answer: str | None) -> None:
        """Say how a claim ended; without a state it is taken back. One that is not there any more stays so. The claim
        loses its token, so that a renewal on its way cannot make it run again."""

    @abstractmethod
    def _renew(self, running: dict[str, str]) -> None:
        """Say that this process lives, and that these claims (keys with their tokens) are running, also where another
        process took them for lost."""

    @abstractmethod
    def _held(self, scope: str) -> dict[str, tuple[float, float, str]]: ...

    @abstractmethod
    def _hold(self, scope: str, call: str, note: str, seconds: float) -> None: ...

    @abstractmethod
    def _release(self, scope: str, call: str, note: str) -> None: ...

    @abstractmethod
    def _ping(self) -> None:
        """Ask whether the store is there."""

    @abstractmethod
    def _leave(self) -> None:
        """Give the lease up, and the connection."""

    @abstractmethod
    def _forked(self) -> None:
        """Drop what belongs to the parent process."""

    def _over(self, key: str, state: str | None, answer: str | None) -> None:
        with self._lock:
            token = self._tokens.pop(key, None)
        if token is None:
            return
        try:
            self._hurried(lambda: self._end(key, token, state, answer))
        except BaseException:
            self._owe(token, _Owed(key, state, answer))
            raise

    def _owe(self, token: str, owed: _Owed) -> None:
        with self._lock:
            self._owed[token] = owed
            while len(self._owed) > _MOST_OWED:
                # Whoever asks for it waits until this process ends, and learns that nobody knows.
                del self._owed[next(iter(self._owed))]

    def _settle(self, key: str | None = None) -> None:
        """Tell the store what it could not be told: all of it, or about one key."""
        with self._lock:
            owed = [(token, each) for token, each in self._owed.items() if key is None or each.key == key]
        for token, each in owed:
            self._end(each.key, token, each.state, each.answer)
            each.told += 1
            if each.state is not None or each.told >= _TURNS:
                # What was begun may still be on its way to the store, and is taken back more than once.
                with self._lock:
                    self._owed.pop(token, None)

    def _own(self) -> None:
        """See to it that this very process has a name, and somebody who renews its lease."""
        if self._process == os.getpid():
            return
        with self._lock:
            if self._process == os.getpid():
                return
            if self._process:
                self._forked()
            self._tokens, self._owed = {}, {}
            self.owner, self._closed = os.urandom(16).hex(), threading.Event()
            self._process = os.getpid()
            # It must not keep alive what nobody uses any more.
            given = weakref.ref(self), self._closed, self.lease / _TURNS
            threading.Thread(target=_keep, args=given, name="failwell-lease", daemon=True).start()

    def _turn(self) -> None:
        with self._lock:
            running = dict(self._tokens)
        self._timed(lambda: self._renew(running))
        self._stuck = ""
        self._settle()


@dataclass(slots=True)
class _Owed:
    """How a claim ended, which the store does not know; without a state it is to be taken back."""

    key: str
    state: str | None
    answer: str | None
    told: int = 0


def _keep(store: weakref.ref[SharedClaims], closed: threading.Event, pause: float) -> None:
    due = time.monotonic() + pause
    while not closed.wait(min(pause, _LOOK)):
        claims = store()
        if claims is None:
            return
        if time.monotonic() < due and not claims.is_stuck:
            del claims
            continue
        due = time.monotonic() + pause
        # When the store is away, whoever begins a call is told; the next turn tries again.
        with suppress(Exception):
            claims._turn()
        del claims
