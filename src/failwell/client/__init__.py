"""For agent authors: read any failure, and recover from it.

error = failwell.client.read(result)

async with failwell.client.Recovering(mcp.Client("http://localhost:8000/mcp")) as agent:
    result = await agent.call_tool("pay", {"invoice": "inv_1"})
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .clock import Clock
from .reading import Http, read

if TYPE_CHECKING:
    from failwell.recovery import IDEMPOTENCY_KEY, Attempt, Report

    from .fixing import patched
    from .recovering import Recovering

__all__ = ["read", "Http", "Recovering", "Report", "Attempt", "patched", "Clock", "IDEMPOTENCY_KEY"]

_LATER = {
    "Recovering": "failwell.client.recovering",
    "IDEMPOTENCY_KEY": "failwell.recovery",
    "Report": "failwell.recovery",
    "Attempt": "failwell.recovery",
    "patched": "failwell.client.fixing",
}


def __getattr__(name: str) -> Any:
    # Reading is asked for more often than recovering, and needs less.
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
