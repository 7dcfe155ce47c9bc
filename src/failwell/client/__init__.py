"""For agent authors: read any failure, and recover from it.

error = failwell.client.read(result)

async with failwell.client.Recovering(mcp.Client("http://localhost:8000/mcp")) as agent:
    result = await agent.call_tool("pay", {"invoice": "inv_1"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failwell.packages import bring
from failwell.readers import Http as Http
from failwell.readers import read

from .system_clock import Clock as Clock

if TYPE_CHECKING:
    from failwell.recovery import IDEMPOTENCY_KEY, Attempt, Report

    from .patches import patched
    from .recovering import Recovering

__all__ = ["read", "Recovering", "Report", "Attempt", "patched", "IDEMPOTENCY_KEY"]
# What other rooms of this house use, and nobody else may count on.
_HOUSE = ("Http", "Clock")

_LATER = {
    "Recovering": "failwell.client.recovering",
    "IDEMPOTENCY_KEY": "failwell.recovery",
    "Report": "failwell.recovery",
    "Attempt": "failwell.recovery",
    "patched": "failwell.client.patches",
}


def __getattr__(name: str) -> Any:
    # Reading is asked for more often than recovering, and needs less.
    if name in _LATER:
        return getattr(bring(_LATER[name], __name__, "client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
