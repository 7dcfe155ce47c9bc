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
    from .fixing import patched
    from .recovering import Recovering
    from .report import Attempt, Report
    from .run import IDEMPOTENCY_KEY

__all__ = ["read", "Http", "Recovering", "Report", "Attempt", "patched", "Clock", "IDEMPOTENCY_KEY"]

_LATER = {
    "Recovering": "recovering",
    "IDEMPOTENCY_KEY": "run",
    "Report": "report",
    "Attempt": "report",
    "patched": "fixing",
}


def __getattr__(name: str) -> Any:
    # Reading needs nothing but the standard library; recovering needs an SDK.
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
