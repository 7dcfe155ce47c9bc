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
from functools import partial
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
# Between two looks at a call that is under way.
_FIRST_LOOK: Final = 0.01
_LAST_LOOK: Final = 0.25
# So long is waited for the answer to the first call with a key; less than most clients wait.
_PATIENCE: Final = 50.0
_SAME_KEY: Final = "Make the same call again with the same key."

_reused = partial(
    Conflict,
    "The idempotency key was used for another call: another tool, or other arguments.",
    code="IDEMPOTENCY_CONFLICT",
    suggestion="Give this call a key of its own; or repeat the first call exactly to get its answer. "
    "This call was not made.",
)
_unfinished = partial(
    Internal,
    "The first call with this idempotency key has begun, and was never answered.",
    code="IDEMPOTENCY_UNFINISHED",
)
_elsewhere = partial(
    Internal,
    "This server does not know the idempotency key: it was given to another one, or to an earlier one.",
    code="IDEMPOTENCY_UNFINISHED",
)
_not_here = partial(
    Transient,
    "The call came to another server process than the one whose idempotency keys the agent knows, so it was not "
    "made. Processes behind one address need a store of keys that they share.",
    code="UNAVAILABLE",
    effect=Effect.NONE,
    suggestion=_SAME_KEY,
)
_store_away = partial(
    Transient,
    "The call was not made, because the store of its idempotency key cannot be reached.",
    code="UNAVAILABLE",
    effect=Effect.NONE,
    suggestion=_SAME_KEY,
)
# An earlier call with the key may have been made: `none`, or advice, would have a model make it again under a new key.
_not_known = partial(
    Transient,
    "whether an earlier call with this idempotency key was made cannot be looked up at present",
    code="UNAVAILABLE",
    effect=Effect.UNKNOWN,
)
_under_way = partial(
    Transient,
    "The first call with this idempotency key is still under way. Where one server calls the other to answer, they "
    "wait for each other: each needs a store of keys of its own.",
    code="UNAVAILABLE",
    effect=Effect.UNKNOWN,
)


def key_of(call: ServedCall) -> Any:
    """What was sent as the call's key, whatever it is; None if nothing was."""
    sent = call.params.get("_meta")
    return sent.get(KEY) if isinstance(sent, Mapping) else None


class IdempotentCalls:
    """Answers the calls that have keys."""

    def __init__(self, store: KeyStore) -> None:
        self.store = store
        # What could not be written down.
        self._lost: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    @classmethod
    def of(cls, option: bool | KeyStore) -> IdempotentCalls | None:
        if isinstance(option, bool):
            return cls(KeysInMemory()) if option else None
        return cls(option)

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

        def refuse(error: ToolError) -> Any:
            return framework.from_sdk(boundary.refuse(call, error, tool, frame_of(call.request).marks))

        if not is_key(key):
            what = "is empty" if key == "" else f"has {len(key)} characters" if isinstance(key, str) else "is no text"
            problem = Invalid(
                f"The idempotency key of the call, `{KEY}` in its `_meta`, {what}.",
                code="INVALID_PARAMS",
                suggestion="Send a text of 1 to 255 characters, such as a random UUID, or none. The call was not made.",
            )
            return refuse(problem)
        meta, repeatable = call.params["_meta"], tool.traits.repeatable
        # Whether the agent says that it has not made the call before, and whether it counts on the keys that are here:
        # a new key may count on what was here before.
        is_first = meta.get(keys.IDEMPOTENCY_FIRST) is True
        known = (None, self.store.instance, *(getattr(self.store, "former", ()) if is_first else ()))
        if meta.get(STORE) not in known and not repeatable:
            return refuse(_not_here() if is_first else _elsewhere())
        try:
            caller = caller_of(call.request)
            # The key itself is not kept, so the hash of what little there may be to the arguments cannot be guessed.
            name, made = hash_of(caller, key), hash_of(caller, key, fingerprint(call.tool, call.arguments))
            kept = await self._claim(name, made)
        except Exception as exc:
            log.error("The key of a call of %s could not be looked up: %s.", call.tool[:200], type(exc).__name__)
            return refuse(_store_away() if is_first or repeatable else _not_known())
        if kept is None:
            try:
                result = await work()
            except BaseException as exc:
                ending = self._start(self._settle(name, call, tool, None, exc))
                if isinstance(exc, Exception):
                    await asyncio.shield(ending)
                raise
            await asyncio.shield(self._start(self._settle(name, call, tool, framework.to_sdk(result), None)))
            return result
        if kept.call != made:
            return refuse(_reused())
        if kept.state == "running":
            return refuse(_under_way())
        if kept.answer is None:
            # Nobody knows how it ended, and for a tool that may be called twice it does not matter.
            return await work() if repeatable else refuse(_unfinished())
        answer = json.loads(kept.answer)
        if _is_error(answer):
            boundary.observer.ended(call, tool, _failure(answer), prevented=True)
        else:
            boundary.observer.succeeded(call, prevented=True)
        return framework.from_sdk(_replay(answer))

    async def _claim(self, name: str, made: str) -> StoredCall | None:
        """None once the key is this call's; or how the call that has it ended, if that can be waited for."""
        look, until = _FIRST_LOOK, time.monotonic() + _PATIENCE
        while True:
            claiming = self._start(self._ask(self.store.claim, name, made))
            try:
                kept = await asyncio.shield(claiming)
            except asyncio.CancelledError:
                # Nobody is left to make the call, but the key may be taken by now.
                self._start(self._give_back(name, claiming))
                raise
            if kept is None:
                self._lost.discard(name)
                return None
            if kept.state != "running" or kept.call != made or time.monotonic() >= until:
                return kept
            if name in self._lost:
                return StoredCall(kept.call, "lost")
            await asyncio.sleep(look)
            look = min(look * 2, _LAST_LOOK)

    async def _give_back(self, name: str, claiming: asyncio.Task[StoredCall | None]) -> None:
        await asyncio.wait([claiming])
        if not claiming.cancelled() and claiming.exception() is None and claiming.result() is None:
            try:
                await self._ask(self.store.release, name)
            except Exception as exc:
                self._lost.add(name)
                log.error("A key that was claimed for nobody could not be given back: %s.", type(exc).__name__)

    async def _settle(
        self, name: str, call: ServedCall, tool: ToolInfo, result: Any, raised: BaseException | None
    ) -> None:
        """Write down how a call ended: its answer, that it did nothing, or that nobody knows."""
        try:
            wire = result
            if isinstance(result, BaseModel):
                wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
            answer: dict[str, Any] | None = None
            if isinstance(raised, MCPError):
                error = raised.error
                answer = {"error": {"code": error.code, "message": error.message, "data": error.data}}
                # Those numbers say what has to come first: a capability, a version, a page. Others may come after
                # anything.
                is_nothing = call.outcome is None and error.code in PROTOCOL_NUMBERS
            elif isinstance(wire, Mapping):
                answer = {"result": wire}
                # A question, and a failure that may be tried again, are none to keep.
                is_nothing = wire.get("resultType") == "input_required" or (
                    tool.traits.repeatable and _is_error(answer)
                )
            if answer is not None and (is_nothing or _did_nothing(call.outcome or _failure(answer))):
                await self._ask(self.store.release, name)
            elif answer is None or "content" not in answer.get("result", {"content": ()}):
                # What is no result of a tool cannot be given again, but something was done.
                await self._ask(self.store.lose, name)
            else:
                await self._ask(self.store.finish, name, json.dumps(answer).encode())
        except BaseException as exc:
            self._lost.add(name)
            log.error("How a call with a key ended could not be kept: %s.", type(exc).__name__)
            if not isinstance(exc, Exception):
                raise

    async def _ask(self, method: Callable[..., T], *given: Any) -> T:
        """Ask the store; in a thread, if it may have to wait."""
        return method(*given) if isinstance(self.store, KeysInMemory) else await asyncio.to_thread(method, *given)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Goes on whatever becomes of the call."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _did_nothing(outcome: ToolError | NeedsInput | None) -> bool:
    """Whether the call may be made as if it never had been."""
    return isinstance(outcome, NeedsInput) or (outcome is not None and outcome.effect is Effect.NONE)


def _is_error(answer: Mapping[str, Any]) -> bool:
    return "error" in answer or answer["result"].get("isError") is True


def _failure(answer: Mapping[str, Any]) -> ToolError | None:
    """What a kept answer says went wrong, where it says so in our own words."""
    sent = answer["result"].get("_meta") if "result" in answer else answer["error"].get("data")
    whole = sent.get(META_KEY) if isinstance(sent, Mapping) else None
    read = load(whole) if isinstance(whole, Mapping) else None
    return read if isinstance(read, ToolError) and _is_error(answer) else None


def _replay(answer: dict[str, Any]) -> CallToolResult:
    """The answer once more, marked as what it is."""
    if "error" in answer:
        error = answer["error"]
        data = error["data"]
        marked = {**(data or {}), REPLAYED: True} if data is None or isinstance(data, dict) else data
        raise protocol_error(error["code"], error["message"], marked)
    result = answer["result"]
    return CallToolResult.model_validate({**result, "_meta": {**(result.get("_meta") or {}), REPLAYED: True}})
