"""The id of a call that somebody else's client makes, put into its `_meta` on the way out.

Frameworks make the SDK's call themselves, and few let a `_meta` be given: between what a bridge knows and the SDK there
is only their code. The id is read where the call is made, so it does not matter which task or thread carries it out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from typing import Any, Final

_now: ContextVar[Mapping[str, Any] | None] = ContextVar("failwell_call_id", default=None)
_MARK: Final = "_failwell_adds_ids"


@contextmanager
def sent_with(meta: Mapping[str, Any]) -> Iterator[None]:
    """A call that the SDK makes in here says this of itself."""
    if not meta:
        yield
        return
    _watch()
    token = _now.set(meta)
    try:
        yield
    finally:
        _now.reset(token)


def _watch() -> None:
    """See to it that the SDK's sessions look for an id, once; where the SDK is not loaded, no call of it is made."""
    module = sys.modules.get("mcp.client.session")
    kind: Any = getattr(module, "ClientSession", None)
    plain = getattr(kind, "call_tool", None)
    if plain is None or hasattr(plain, _MARK) or "meta" not in signature(plain).parameters:
        return

    # No coroutine itself: what it looks for is known to whoever calls, not to whoever awaits.
    @wraps(plain)
    def call_tool(self: Any, *given: Any, **options: Any) -> Any:
        if (meta := _now.get()) is not None:
            options["meta"] = {**meta, **(options.get("meta") or {})}
        return plain(self, *given, **options)

    setattr(call_tool, _MARK, True)
    kind.call_tool = call_tool
