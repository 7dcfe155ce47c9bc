"""For agent authors: a client that recovers.

async with failwell.client.Recovering(mcp.Client("http://localhost:8000/mcp")) as agent:
    result = await agent.call_tool("pay", {"invoice": "inv_1"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failwell.packages import bring

from .clock import Clock as Clock

if TYPE_CHECKING:
    from .callbacks import patched
    from .recovering import Recovering

__all__ = ["Recovering", "patched"]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = ("Clock",)

_LATER = {
    "Recovering": "failwell.client.recovering",
    "patched": "failwell.client.callbacks",
}


def __getattr__(name: str) -> Any:
    # The bridges need neither of these.
    if name in _LATER:
        return getattr(bring(_LATER[name], __name__, "client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
