"""Sessions that several relays serve: what each of them spent of a session's budget, and which of its calls fail.

Each relay writes what it saw itself, and adds up what the others wrote: nobody changes what is another's, so that
nothing has to be locked. Nobody waits for the store: it is told, and asked, in a thread, once a second.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from .breakers import LOOK, BreakerStore

# How long what was spent counts without a word about it: a session that rests is worth its whole budget again.
_SPENT_FOR: Final = 300.0
# A flood of failures is no loop, and is not to fill the store.
_MOST_TOLD: Final = 200
_TENTHS: Final = 10


class SharedSessions:
    """All sessions of one server."""

    def __init__(self, store: BreakerStore, pause: float = LOOK) -> None:
        self._store = store
        self._own = os.urandom(6).hex()
        self._said: SimpleQueue[tuple[str, int, float | None]] = SimpleQueue()
        self._told: set[str] = set()
        """The names of what is in the store by our own word."""
        self.spent: dict[str, float] = {}
        """What others spent, by the session."""
        self.failed: dict[tuple[str, str], dict[str, int]] = {}
        """How often calls failed at others, by the session and the call, and by the way."""
        self._ended = threading.Event()
        given = weakref.ref(self), self._ended, pause
        threading.Thread(target=_keep, args=given, name="failwell-sessions", daemon=True).start()

    def session(self, name: str) -> SharedSession:
        return SharedSession(self, name)

    def say(self, kind: str, about: str, count: int, seconds: float | None) -> None:
        self._said.put((f"{kind}|{about}|{self._own}", count, seconds))

    def worked(self, session: str, call: str | None) -> None:
        """What failed there may work now, here and at others."""
        for known in [each for each in tuple(self.failed) if each[0] == session and call in (None, each[1])]:
            self.failed.pop(known, None)
        start = f"loop|{session}|" if call is None else f"loop|{session}|{call}|"
        for name in [each for each in tuple(self._told) if each.startswith(start)]:
            self._said.put((name, 0, None))

    def turn(self) -> None:
        """Tell the store what is new here, and hear what is new there."""
        while not self._said.empty():
            name, count, seconds = self._said.get()
            if seconds is None:
                self._told.discard(name)
                self._store.open(name)
            elif name in self._told or len(self._told) < _MOST_TOLD:
                self._told.add(name)
                self._store.shut(name, count, seconds)
        found = self._store.look()
        self._told = self._told & found.keys()
        spent: dict[str, float] = defaultdict(float)
        failed: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for name, shut in found.items():
            kind, session, *about, owner = name.split("|")
            if owner == self._own:
                continue
            if kind == "budget":
                spent[session] += shut.failures / _TENTHS
            elif len(about) == 2:
                failed[session, about[0]][about[1]] += shut.failures
        self.spent, self.failed = dict(spent), dict(failed)

    def close(self) -> None:
        self._ended.set()
        self._store.close()


class SharedSession:
    """One of them, as an engine knows it."""

    def __init__(self, sessions: SharedSessions, name: str) -> None:
        self._sessions, self._name = sessions, name

    def spent(self) -> float:
        return self._sessions.spent.get(self._name, 0.0)

    def failed(self, call: str) -> tuple[str, int] | None:
        ways = self._sessions.failed.get((self._name, call))
        return max(ways.items(), key=lambda way: way[1]) if ways else None

    def tell_spent(self, amount: float) -> None:
        self._sessions.say("budget", self._name, round(amount * _TENTHS), _SPENT_FOR if amount > 0 else None)

    def tell_failed(self, call: str, way: str, times: int, seconds: float) -> None:
        self._sessions.say("loop", f"{self._name}|{call}|{way.replace('|', '/')[:200]}", times, seconds)

    def tell_worked(self, call: str | None) -> None:
        self._sessions.worked(self._name, call)


def _keep(sessions: weakref.ref[SharedSessions], ended: threading.Event, pause: float) -> None:
    while not ended.wait(pause):
        here = sessions()
        if here is None:
            return
        # While the store is away, each goes on alone.
        with suppress(Exception):
            here.turn()
        del here
