"""What a user lends to `Recovering`: functions that correct, answer, negotiate and listen. None can break a call."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import anyio

from failwell.formats import Outcome, mends_all
from failwell.model import ToolError, apply_patch
from failwell.recovery import Attempt

log = logging.getLogger("failwell.client")

Fix = Callable[[ToolError, dict[str, Any]], "Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None"]
Ask = Callable[[Outcome], "Mapping[str, Any] | bool | Awaitable[Mapping[str, Any] | bool | None] | None"]
Negotiate = Callable[[ToolError, tuple[str, ...]], "bool | Awaitable[bool | None] | None"]


@dataclass(frozen=True, slots=True)
class Callbacks:
    """The functions, as `Recovering` was given them; each has `left` seconds."""

    fix: Fix | None = None
    ask: Ask | None = None
    negotiate: Negotiate | None = None
    on_decision: Callable[[Attempt], object] | None = None
    notify_user: Callable[[ToolError], object] | None = None

    def __post_init__(self) -> None:
        for name, callback in ((each.name, getattr(self, each.name)) for each in fields(self)):
            if callback is not None and not callable(callback):
                raise TypeError(f"{name} is a function, not {callback!r}.")

    async def ask_user(self, outcome: Outcome, arguments: dict[str, Any], left: float) -> dict[str, Any] | None:
        """The arguments to call with after the user was asked; None for no more call."""
        answer = await call_back(left, self.ask, outcome)
        if isinstance(answer, Mapping):
            return {**arguments, **answer}
        # Something was granted, and the call can be made as it was.
        return arguments if answer is True and isinstance(outcome, ToolError) else None

    async def correct(self, error: Outcome, arguments: dict[str, Any], left: float) -> dict[str, Any] | None:
        """Better arguments; None where there are none."""
        better = await call_back(left, self.fix, error, dict(arguments))
        return dict(better) if isinstance(better, Mapping) and better != arguments else None


async def call_back(left: float, callback: Callable[..., Any] | None, *arguments: Any) -> Any:
    """What a callback answers; None if there is none, it raises or takes too long."""
    if callback is None:
        return None
    try:
        with anyio.move_on_after(left):
            answer = callback(*arguments)
            return await answer if inspect.isawaitable(answer) else answer
    except asyncio.CancelledError:
        # Ours, or of something that the callback waited for, such as a question that the user closed.
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise
    except Exception:
        log.exception("A callback of Recovering raised; the call goes on without its answer.")
    return None


def patched(error: ToolError, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """A `fix` that applies what the server proposes, where the proposal is enough to make the call right.

    >>> error = ToolError("No argument 'limt'.", patch=[{"op": "rename", "path": ["limt"], "to": "limit"}])
    >>> patched(error, {"limt": 5})
    {'limit': 5}
    """
    if not error.patch or not mends_all(error):
        return None
    return apply_patch(arguments, error.patch)
