"""For agent authors: read any failure, and recover from it.

error = failwell.client.read(result)

async with failwell.client.Recovering(mcp.Client("http://localhost:8000/mcp")) as agent:
    result = await agent.call_tool("pay", {"invoice": "inv_1"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failwell.old_names import old_name
from failwell.packages import bring
from failwell.readers import Http as Http
from failwell.readers import read

from .system_clock import Clock as Clock

if TYPE_CHECKING:
    from failwell.recovery import Attempt, Report

    from .patches import patched
    from .recovering import Recovering

__all__ = ["read", "Recovering", "Report", "Attempt", "patched"]
# What other rooms of this house use, and nobody else may count on.
_HOUSE = ("Http", "Clock")

_LATER = {
    "Recovering": "failwell.client.recovering",
    "Report": "failwell.recovery",
    "Attempt": "failwell.recovery",
    "patched": "failwell.client.patches",
}


def __getattr__(name: str) -> Any:
    # Reading is asked for more often than recovering, and needs less.
    if name in _LATER:
        return getattr(bring(_LATER[name], __name__, "client"), name)
    if name == "IDEMPOTENCY_KEY":
        return old_name(
            __name__, name, "failwell.recovery.IDEMPOTENCY_KEY", "its text, io.github.failwell/idempotency-key"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
