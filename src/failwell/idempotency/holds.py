"""The hold of a session that several processes serve."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from failwell.model import Action, Effect, ToolError
from failwell.recovery import Held, Hold

from .store import HoldStore, hash_of


def shared_hold(store: object, seconds: float, *scope: object) -> SharedHold | None:
    """The hold of whatever the scope names in a store of keys; None for one that is one process's alone."""
    return SharedHold(seconds, store, hash_of(*scope)) if isinstance(store, HoldStore) else None


class SharedHold(Hold):
    """A hold in a store. While the store is away, each process holds what it has seen.

    What each of them finds out, it tells the store before the call is answered, and each call begins with a look there.
    No argument is kept: which call tells, each process finds for itself.
    """

    def __init__(self, seconds: float, store: HoldStore, scope: str) -> None:
        super().__init__(seconds)
        self._store, self._scope = store, scope
        self._notes: dict[str, str] = {}
        """What the store has, as far as it is known here."""

    def find(self, tool: str, arguments: Mapping[str, Any], now: float) -> Held | None:
        if not self._seconds:
            return None
        with self._lock:
            with suppress(Exception):
                self._read(now)
            return super().find(tool, arguments, now)

    def failed(
        self, tool: str, arguments: Mapping[str, Any], error: ToolError, verify: Action | None, now: float
    ) -> None:
        self._change(lambda: super(SharedHold, self).failed(tool, arguments, error, verify, now), now)

    def succeeded(self, began: float, *, reads: bool) -> None:
        self._change(lambda: super(SharedHold, self).succeeded(began, reads=reads), began)

    def release(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._change(lambda: super(SharedHold, self).release(tool, arguments), 0.0)

    def _read(self, now: float) -> None:
        asked = time.monotonic()
        found = self._store.held(self._scope)
        # Rather too late than too early, also where a store counts in milliseconds: what began before a call failed
        # must not end its hold.
        now += time.monotonic() - asked + 0.001
        for call in self._notes.keys() - found.keys():
            # The agent has looked, at another process.
            del self._notes[call]
            self._held.pop(call, None)
        for call, (age, left, note) in found.items():
            if self._notes.get(call) != note:
                tool, effect, _ = json.loads(note)
                known = None if effect is None else Effect(effect)
                self._held[call], self._notes[call] = Held(tool, known, None, now - age, now + left), note

    def _change(self, change: Callable[[], None], now: float) -> None:
        with self._lock:
            before = dict(self._held)
            change()
            if before != self._held:
                with suppress(Exception):
                    self._write(before, now)

    def _write(self, before: Mapping[str, Held], now: float) -> None:
        for call in before.keys() - self._held.keys():
            if (note := self._notes.pop(call, None)) is not None:
                self._store.unhold(self._scope, call, note)
        for call, held in self._held.items():
            if before.get(call) is not held or call not in self._notes:
                note = json.dumps([held.tool, held.effect and held.effect.value, os.urandom(8).hex()])
                self._store.hold(self._scope, call, note, held.until - now)
                self._notes[call] = note
