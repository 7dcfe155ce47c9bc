"""One call as an event, and the hooks that are told of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from failwell.guards import DEFAULT
from failwell.model import ToolError
from failwell.readers import attribute, named

log = logging.getLogger("failwell.observe")
_MOST_REPORTED: Final = 100


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


Hook = Callable[[CallEvent], object]
"""Told of each call after it has ended. It runs before the answer leaves, so it should be quick."""

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
        log.warning("The hook %s raised, which is said only once: %s", name, DEFAULT.text(named(exc)))


def new_id() -> str:
    """A random name for one failure, to be told by a user and found in the log.

    From the system, not from `random`: a server that seeds that would give the same names again.
    """
    return os.urandom(6).hex()
