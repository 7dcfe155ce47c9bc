"""The same call made again without being done again: an agent names it by a key, and gets the first answer twice.

A key is claimed before the tool runs. What the call said about its effect decides what becomes of the key: a failure
that did nothing, and a question, give it back; every other answer is kept, and is the answer to the same call from then
on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from failwell.formats import META_KEY, keys, load
from failwell.idempotency import KeysInMemory, KeyStore, StoredCall, hash_of, is_key
from failwell.model import Conflict, Effect, Internal, Invalid, Json, NeedsInput, ToolError, Transient, fingerprint
from failwell.recovery import IDEMPOTENCY_KEY as KEY
from failwell.recovery import IDEMPOTENCY_STORE as STORE
from failwell.sdk import CallToolResult, MCPError, protocol_error

from .holding import caller_of
from .options import PROTOCOL_NUMBERS
from .served_call import ServedCall, frame_of

if TYPE_CHECKING:
    from .boundary import Boundary, FrameworkCall
    from .served_call import ToolInfo

log = logging.getLogger("failwell.server")

T = TypeVar("T")
REPLAYED: Final = keys.REPLAYED
"""The key in the `_meta` of an answer which says that it was given before."""
# Between two looks at a call that another process answers.
_FIRST_LOOK: Final = 0.01
_LAST_LOOK: Final = 0.25
# So long is waited for the answer to the first call with a key; less than most clients wait.
_PATIENCE: Final = 50.0


def key_of(call: ServedCall) -> Any:
    """What was sent as the call's key, whatever it is; None if nothing was."""
    sent = call.params.get("_meta")
    return sent.get(KEY) if isinstance(sent, Mapping) else None


@dataclass(frozen=True, slots=True)
class Claim:
    """A key as the store knows it, and what identifies the call that is made with it."""

    key: str
    call: str

    @classmethod
    def of(cls, call: ServedCall, key: str) -> Claim:
        caller = caller_of(call.request)
        # The key itself is not kept, so the hash of what little there may be to the arguments cannot be guessed.
        return cls(hash_of(caller, key), hash_of(caller, key, fingerprint(call.tool, call.arguments)))


def _problem(key: object) -> ToolError | None:
    if is_key(key):
        return None
    what = "is empty" if key == "" else f"has {len(key)} characters" if isinstance(key, str) else "is no text"
    return Invalid(
        f"The idempotency key of the call, `{KEY}` in its `_meta`, {what}.",
        code="INVALID_PARAMS",
        suggestion="Send a text of 1 to 255 characters, such as a random UUID, or none. The call was not made.",
    )


def _reused() -> ToolError:
    return Conflict(
        "The idempotency key was used for another call: another tool, or other arguments.",
        code="IDEMPOTENCY_CONFLICT",
        suggestion="Give this call a key of its own; or repeat the first call exactly to get its answer. "
        "This call was not made.",
    )


def _unfinished() -> ToolError:
    return Internal(
        "The first call with this idempotency key has begun, and was never answered.",
        code="IDEMPOTENCY_UNFINISHED",
    )


def _elsewhere() -> ToolError:
    return Internal(
        "This server does not know the idempotency key: it was given to another one, or to an earlier one.",
        code="IDEMPOTENCY_UNFINISHED",
    )


def _not_here() -> ToolError:
    return Transient(
        "The call came to another server process than the one whose idempotency keys the agent knows, so it was not "
        "made. Processes behind one address need a store of keys that they share.",
        code="UNAVAILABLE",
        effect=Effect.NONE,
        suggestion="Make the same call again with the same key.",
    )


def _store_away(*, is_first: bool) -> ToolError:
    """The call was not made. An earlier one with its key may have been, unless the agent says that this is the first:
    then `none` would have it made again under a new key."""
    return Transient(
        "The call was not made, because the store of its idempotency key cannot be reached."
        if is_first
        else "whether an earlier call with this idempotency key was made cannot be looked up at present",
        code="UNAVAILABLE",
        effect=Effect.NONE if is_first else Effect.UNKNOWN,
        # A model that makes the call again may do so under another key.
        suggestion="Make the same call again with the same key." if is_first else None,
    )


def _under_way() -> ToolError:
    return Transient(
        "The first call with this idempotency key is still under way. Where one server calls the other to answer, they "
        "wait for each other: each needs a store of keys of its own.",
        code="UNAVAILABLE",
        effect=Effect.UNKNOWN,
    )


def _is_first(call: ServedCall) -> bool:
    """Whether the agent says that it has not made the call before."""
    return call.params["_meta"].get(keys.IDEMPOTENCY_FIRST) is True


class IdempotentCalls:
    """Answers the calls that have keys."""

    def __init__(self, store: KeyStore) -> None:
        self.store = store
        # What is under way in this process, so that nobody has to look again and again for it to end.
        self._under_way: dict[str, Future[None]] = {}
        # What could not be written down.
        self._lost: set[str] = set()
        self._apart: set[asyncio.Task[Any]] = set()

    @classmethod
    def of(cls, option: bool | KeyStore) -> IdempotentCalls | None:
        if isinstance(option, bool):
            return cls(KeysInMemory()) if option else None
        return cls(option)

    async def _ask(self, method: Callable[..., T], *given: Any) -> T:
        """Ask the store; in a thread, if it may have to wait."""
        if isinstance(self.store, KeysInMemory):
            return method(*given)
        return await asyncio.to_thread(method, *given)

    @property
    def settings(self) -> dict[str, Json]:
        """What the server says about its keys."""
        ttl = self.store.ttl
        return {"instance": self.store.instance, "ttl": int(ttl) if ttl == int(ttl) else ttl}

    async def answer(
        self,
        boundary: Boundary,
        call: ServedCall,
        key: object,
        tool: ToolInfo,
        work: Callable[[], Awaitable[Any]],
        framework: FrameworkCall,
    ) -> Any:
        """The answer to a call with a key: `work` is done, or has been."""

        def refused(error: ToolError) -> Any:
            return framework.from_sdk(boundary.refuse(call, error, tool, frame_of(call.request).marks))

        if (problem := _problem(key)) is not None:
            return refused(problem)
        if not self._is_meant(call.params["_meta"]) and not tool.traits.repeatable:
            return refused(_not_here() if _is_first(call) else _elsewhere())
        try:
            claim = Claim.of(call, str(key))
            kept = await self._claimed(claim)
        except Exception as exc:
            log.error("The key of a call of %s could not be looked up: %s.", call.tool[:200], type(exc).__name__)
            return refused(_store_away(is_first=_is_first(call) or tool.traits.repeatable))
        if kept is None:
            return await self._done(call, claim, tool, work, framework)
        if kept.call != claim.call:
            return refused(_reused())
        if kept.state == "running":
            return refused(_under_way())
        if kept.answer is None:
            # Nobody knows how it ended, and for a tool that may be called twice it does not matter.
            return await work() if tool.traits.repeatable else refused(_unfinished())
        answer = json.loads(kept.answer)
        if _failed(answer):
            boundary.observer.ended(call, tool, _failure(answer), prevented=True)
        else:
            boundary.observer.succeeded(call, prevented=True)
        return framework.from_sdk(_again(answer))

    def _is_meant(self, sent: Mapping[str, Any]) -> bool:
        """Whether the keys here are those that the agent counts on; a new key may count on what was here before."""
        store = sent.get(STORE)
        if store in (None, self.store.instance):
            return True
        return sent.get(keys.IDEMPOTENCY_FIRST) is True and store in getattr(self.store, "former", ())

    async def _claimed(self, claim: Claim) -> StoredCall | None:
        """None once the key is this call's; or how the call that has it ended, if that can be waited for."""
        look, until = _FIRST_LOOK, time.monotonic() + _PATIENCE
        while True:
            kept = await self._begun(claim)
            if kept is None or kept.state != "running" or kept.call != claim.call:
                return kept
            if (left := until - time.monotonic()) <= 0:
                return kept
            if claim.key in self._lost:
                return StoredCall(kept.call, "lost")
            if (ending := self._under_way.get(claim.key)) is not None:
                await asyncio.wait([asyncio.wrap_future(ending)], timeout=left)
            else:
                await asyncio.sleep(look)
                look = min(look * 2, _LAST_LOOK)

    async def _begun(self, claim: Claim) -> StoredCall | None:
        beginning = self._start(self._begin(claim))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            # Nobody is left to make the call, but the key may be taken by now.
            self._start(self._undone(claim, beginning))
            raise

    async def _begin(self, claim: Claim) -> StoredCall | None:
        kept = await self._ask(self.store.claim, claim.key, claim.call)
        if kept is None:
            self._lost.discard(claim.key)
            future = self._under_way[claim.key] = Future()
            # So that no one who waits for it can cancel it.
            future.set_running_or_notify_cancel()
        return kept

    async def _undone(self, claim: Claim, beginning: asyncio.Task[StoredCall | None]) -> None:
        await asyncio.wait([beginning])
        if not beginning.cancelled() and beginning.exception() is None and beginning.result() is None:
            await self._over(claim, lambda: self._ask(self.store.release, claim.key))

    async def _done(
        self,
        call: ServedCall,
        claim: Claim,
        tool: ToolInfo,
        work: Callable[[], Awaitable[Any]],
        framework: FrameworkCall,
    ) -> Any:
        try:
            result = await work()
        except BaseException as exc:
            raised = exc
            ending = self._start(self._over(claim, lambda: self._raised(claim, call, raised)))
            if isinstance(exc, Exception):
                await asyncio.shield(ending)
            raise
        ending = self._start(self._over(claim, lambda: self._returned(claim, call, tool, framework.to_sdk(result))))
        await asyncio.shield(ending)
        return result

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Goes on whatever becomes of the call."""
        task = asyncio.ensure_future(work)
        self._apart.add(task)
        task.add_done_callback(self._apart.discard)
        return task

    async def _over(self, claim: Claim, write: Callable[[], Awaitable[None]]) -> None:
        try:
            await write()
        except BaseException as exc:
            self._lost.add(claim.key)
            log.error("How a call with a key ended could not be kept: %s.", type(exc).__name__)
            if not isinstance(exc, Exception):
                raise
        finally:
            self._under_way.pop(claim.key).set_result(None)

    async def _returned(self, claim: Claim, call: ServedCall, tool: ToolInfo, whole: Any) -> None:
        wire = (
            whole.model_dump(by_alias=True, mode="json", exclude_none=True) if isinstance(whole, BaseModel) else whole
        )
        if not isinstance(wire, Mapping):
            return await self._ask(self.store.lose, claim.key)
        answer = {"result": wire}
        asks = wire.get("resultType") == "input_required"
        # A failure that may be tried again is none to keep. The last one is of a tool that wrote its failure itself.
        spare = tool.traits.repeatable and _failed(answer)
        if asks or spare or _did_nothing(call.outcome) or _did_nothing(_failure(answer)):
            return await self._ask(self.store.release, claim.key)
        # What is no result of a tool cannot be given again, but something was done.
        if "content" not in wire:
            return await self._ask(self.store.lose, claim.key)
        return await self._ask(self.store.finish, claim.key, json.dumps(answer).encode())

    async def _raised(self, claim: Claim, call: ServedCall, exc: BaseException) -> None:
        if not isinstance(exc, MCPError):
            return await self._ask(self.store.lose, claim.key)
        answer = {"error": {"code": exc.error.code, "message": exc.error.message, "data": exc.error.data}}
        # Those numbers say what has to come first: a capability, a version, a page. The others may come after anything.
        between = call.outcome is None and exc.error.code in PROTOCOL_NUMBERS
        if between or _did_nothing(call.outcome or _failure(answer)):
            return await self._ask(self.store.release, claim.key)
        return await self._ask(self.store.finish, claim.key, json.dumps(answer).encode())


def _did_nothing(outcome: ToolError | NeedsInput | None) -> bool:
    """Whether the call may be made as if it never had been."""
    return isinstance(outcome, NeedsInput) or (outcome is not None and outcome.effect is Effect.NONE)


def _failed(answer: Mapping[str, Any]) -> bool:
    return "error" in answer or answer["result"].get("isError") is True


def _failure(answer: Mapping[str, Any]) -> ToolError | None:
    """What a kept answer says went wrong, where it says so in our own words."""
    sent = answer["result"].get("_meta") if "result" in answer else answer["error"].get("data")
    whole = sent.get(META_KEY) if isinstance(sent, Mapping) else None
    read = load(whole) if isinstance(whole, Mapping) else None
    return read if isinstance(read, ToolError) and _failed(answer) else None


def _again(answer: dict[str, Any]) -> CallToolResult:
    """The answer once more, marked as what it is."""
    if "error" in answer:
        error = answer["error"]
        data = error["data"]
        marked = {**(data or {}), REPLAYED: True} if data is None or isinstance(data, dict) else data
        raise protocol_error(error["code"], error["message"], marked)
    result = answer["result"]
    return CallToolResult.model_validate({**result, "_meta": {**(result.get("_meta") or {}), REPLAYED: True}})
