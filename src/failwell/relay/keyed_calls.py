"""Calls with an idempotency key: one that is made again gets the first answer, or waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from failwell.formats import keys
from failwell.idempotency import StoredCall, StoreUnusable, hash_of, is_key

from . import answers, failures
from .core import RelayCore
from .messages import member, read_frame, with_id
from .request import RelayedRequest
from .states import Event, State

if TYPE_CHECKING:
    from .calls import Calls

KEY: Final = keys.IDEMPOTENCY_KEY
_LOOK_AGAIN: Final = 0.25
# How long a call that was cancelled may still be answered, before nobody knows how it ended.
_LAST_WORD: Final = 2.0
LARGEST: Final = 1_000_000
"""How many bytes of an answer are kept; of a larger one only that it was given."""


def has_key(request: RelayedRequest) -> bool:
    """Whether a call was sent with an idempotency key, or with something in its place; null is as if there was none."""
    return request.meta.get(KEY) is not None


class KeyedCalls:
    """What is known by their keys of the calls of one server's tools."""

    def __init__(self, core: RelayCore, calls: Calls) -> None:
        self._core, self._calls = core, calls
        self._joined: dict[str, list[RelayedRequest]] = {}
        """Calls that wait for the answer to the first one with their key."""

    @property
    def waiting(self) -> list[RelayedRequest]:
        """Calls that wait for the answer to another one."""
        return [each for waiting in self._joined.values() for each in waiting]

    def is_known(self, request: RelayedRequest) -> bool:
        """Whether the call was made before, by its idempotency key: then it is answered, or waits for that answer."""
        key, kept_keys = request.meta[KEY], self._core.options.keys
        if kept_keys is None or self._core.session.keeps_keys:
            return False
        if self._core.listing.tools.traits(request.tool).reads:
            return False
        if not is_key(key):
            self._calls.refuse(request, failures.no_key(request.tool))
            return True
        # Not the client's program: after an update it calls itself something else, and makes the same call.
        claim = hash_of(key, self._core.options.caller, self._core.options.command)
        call = hash_of(request.tool, request.arguments)
        is_first = request.meta.get(keys.IDEMPOTENCY_FIRST) is not None
        try:
            kept = kept_keys.claim(claim, call)
            if kept is None and not is_first and getattr(kept_keys, "may_have_lost_keys", False):
                # It may have been made before the store was emptied, behind another relay.
                kept_keys.lose(claim)
                kept = StoredCall(call, "lost")
        except StoreUnusable as problem:
            # Without its key the call might be made twice.
            self._core.once("state", str(problem), loud=True)
            if is_first:
                self._calls.refuse(request, failures.no_place_for_keys(request.tool))
            else:
                # It may have been made behind another relay.
                self._calls.end(request, failures.no_look_at_keys(request.tool), None)
            return True
        if kept is None:
            request.claim = claim
            return False
        if kept.call != call:
            self._calls.refuse(request, failures.key_reused(request.tool))
        elif kept.state == "running":
            self._wait(request, claim)
        elif kept.state == "done" and kept.answer is not None:
            answer = answers.in_era(kept.answer, self._core.session.era_of(request))
            self._core.answer(request, with_id(answer, None, request.id))
            self._calls.ended(request, None, prevented=True)
        else:
            lost = failures.key_unfinished if kept.state == "lost" else failures.key_done
            assert request.run is not None
            self._calls.end(request, lost(request.tool), None)
        return True

    def _wait(self, request: RelayedRequest, claim: str) -> None:
        """Another call with the key is running: its answer is waited for, but no longer than a call may take."""
        seconds = self._calls.deadlines.timeout_of(request)
        left = None if seconds is None else request.began + seconds - self._core.clock.monotonic()
        if left is not None and left <= 0:
            self._calls.end(request, failures.key_unfinished(request.tool), None)
        elif claim in self._joined or any(each.claim == claim for each in self._under_way()):
            self._core.move(request, Event.JOIN)
            self._joined.setdefault(claim, []).append(request)
            if left is not None:
                self._core.after(left, lambda: self._late(request, claim))
        else:
            # It runs behind another relay.
            request.run = None
            self._core.move(request, Event.WAIT)
            self._core.after(_LOOK_AGAIN, lambda: self._calls.again(request))

    def _late(self, request: RelayedRequest, claim: str) -> None:
        if request.state is State.JOINED:
            self._joined[claim].remove(request)
            self._calls.end(request, failures.key_unfinished(request.tool), None)

    def _under_way(self) -> list[RelayedRequest]:
        core = self._core
        return [*core.pending.values(), *core.repeating, *core.unlisted, *core.queued]

    def keep_answer(self, request: RelayedRequest, frame: bytes, *, is_undone: bool) -> None:
        """Keep how a call with a key was answered, and tell all who waited for it."""
        kept_keys, claim = self._core.options.keys, request.claim
        if kept_keys is None or not claim:
            return
        request.claim = ""
        message = read_frame(frame)
        waiting = self._joined.pop(claim, [])
        result = message.get("result") if isinstance(message, dict) else None
        try:
            if is_undone:
                kept_keys.release(claim)
            elif result is None and not (message is None and frame):
                kept_keys.lose(claim)
            else:
                kept_keys.finish(claim, _kept(frame, is_read=result is not None))
        except StoreUnusable as problem:
            self._core.once("state", str(problem), loud=True)
        for each in waiting:
            if each.state is State.JOINED:
                self._admit_joined(each, frame)

    def given_up(self, request: RelayedRequest) -> None:
        """The client has cancelled a call that was made: a server that heeds that will not answer."""
        if request.claim:
            self._core.after(_LAST_WORD, lambda: self.keep_answer(request, b"", is_undone=False))

    def abandon(self) -> None:
        """Nothing will be answered any more: what has begun under a key is known as that to whoever asks for it."""
        self._joined.clear()
        for request in self._under_way():
            was_sent = request.is_again or request.state in (State.SENT, State.CANCELLED)
            self.keep_answer(request, b"", is_undone=not was_sent)

    def _admit_joined(self, request: RelayedRequest, frame: bytes) -> None:
        if frame:
            self._core.answer(request, with_id(frame, None, request.id))
            self._calls.ended(request, None, prevented=True)
        else:
            # The first one was given up before it was made.
            request.run = None
            self._calls.admit(request)


def _kept(frame: bytes, *, is_read: bool) -> bytes | None:
    """An answer as it is kept, which is as it came; None for one that is not kept."""
    if len(frame) > LARGEST or not (is_read or member(frame, "result")):
        return None
    return frame if frame.endswith(b"\n") else frame + b"\n"
