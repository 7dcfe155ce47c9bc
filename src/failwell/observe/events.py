"""One call as an event, and the hooks that are told of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from failwell.model import ToolError
from failwell.readers import attribute, exc_summary
from failwell.redact import DEFAULT

log = logging.getLogger("failwell.observe")
_MOST_REPORTED: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """A failed attempt at a call that went on after it.

    decision: what was done about it, as a `failwell.Decision` names it in `next`.
    asked, waited: the delay that it named, and how long was waited before the next attempt, in seconds.
    made: whether the call was made at all. call_id: the id by which other seats know this attempt.
    """

    error: ToolError | None
    seconds: float
    decision: str | None = None
    waited: float | None = None
    made: bool = True
    call_id: str | None = None

    @property
    def asked(self) -> float | None:
        """The delay that the failure named."""
        return None if self.error is None else self.error.retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """A call that has ended.

    ok: whether it did not fail; a question to the user (`asked`) is no failure.
    at: when it ended, in UTC.
    error: as it may leave, without secrets; none where the tool's own result said that it failed.
    client: who called, as `name/version`.
    era: the version of the protocol.
    format: the form in which the failure left.
    attempts: how many calls were made for it, by whoever repeats them.
    seat: who tells: `server`, `client` or `relay`. Several may tell of one call.
    session: in which session it was made; a random name, or a hash where the transport has none.
    call_id: the id by which all seats know this call, where one of them has given it one.
    fingerprint: the same for the same tool and arguments, and nothing that could be read back: a hash under a key.
    tried: the attempts before the last one, where whoever tells has made them.
    decision: what was decided about the failure that is left. prevented: whether the call is not made again because it
        may have been done, or was answered from what was kept, so that it was not done twice.
    made: whether it was made at all, and not refused before.
    declared: whether the tool declares the code it failed with; None where it declares nothing.
    declares: the codes that a tool which failed declares.
    server: whose tool it is. trace_id: the trace of OpenTelemetry that it belongs to.
    """

    tool: str
    ok: bool
    seconds: float
    at: datetime
    action: str | None = None
    error: ToolError | None = None
    asked: bool = False
    request_id: str | int | None = None
    correlation_id: str | None = None
    client: str | None = None
    era: str | None = None
    format: str | None = None
    attempts: int = 1
    seat: str | None = None
    session: str | None = None
    call_id: str | None = None
    fingerprint: str | None = None
    tried: tuple[Try, ...] = ()
    decision: str | None = None
    prevented: bool = False
    made: bool = True
    declared: bool | None = None
    declares: tuple[str, ...] = ()
    server: str | None = None
    trace_id: str | None = None


Hook = Callable[[CallEvent], object]
"""Told of each call after it has ended. It runs before the answer leaves, so it should be quick."""


class EventKeeper(Protocol):
    """A hook that keeps events, or sends them on, and is told when no more will come: what `store` gives."""

    def __call__(self, event: CallEvent, /) -> object: ...

    def close(self) -> None: ...


Events = str | Hook
"""Where events go: the address of a store, or a hook such as the store itself."""

# By identity, since not every callable has a hash; kept alive, since an identity can be used again.
_reported: dict[int, Hook] = {}


def emit(hooks: Iterable[Hook], event: CallEvent) -> None:
    """Tell each hook. One that raises is not felt by the call, and is reported once: it would raise each time.

    Only exceptions are failures of a hook; orders to stop (a cancellation, an interrupt, an exit) pass.
    """
    for hook in hooks:
        try:
            left = hook(event)
            if isinstance(left, Coroutine):
                left.close()
                raise TypeError("a hook is a plain function, not an async one")
        except Exception as exc:
            _report(hook, exc)


def _report(hook: Hook, exc: Exception) -> None:
    if id(hook) in _reported or len(_reported) >= _MOST_REPORTED:
        return
    _reported[id(hook)] = hook
    with suppress(Exception):
        name = attribute(hook, "__qualname__") or type(hook).__qualname__
        log.warning("The hook %s raised, which is said only once: %s", name, DEFAULT.text(exc_summary(exc)))
