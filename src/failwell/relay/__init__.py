"""The transparent relay behind `failwell wrap`: in front of any stdio server, without a change to it.

`RelayProtocol` decides what happens to a frame, and knows no processes; `Runner` carries it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .actions import HOLD as HOLD
from .actions import Action, Death, Note, Prepare, Quit, RelayOptions, Start, StopServer, ToClient, ToServer
from .frames import Lines, TooLong
from .wrapping import Listening, Wrapping, log_call, wrap
from .wrapping import log_as_json as log_as_json

if TYPE_CHECKING:
    from . import adoption as adoption
    from . import config as config
    from . import own_secrets as own_secrets
    from . import processes as processes
    from . import rules as rules
    from .relay_protocol import RelayProtocol
    from .rules import Rules as Rules
    from .web.limits import RelayLimits
    from .web.relay import CannotListen, Relay, app

# The server is started first, and all that the protocol needs is imported while it starts.
_LATER = {
    "RelayProtocol": ".relay_protocol",
    "Rules": ".rules",
    "RelayLimits": ".web.limits",
    **dict.fromkeys(("CannotListen", "Relay", "app"), ".web.relay"),
    **dict.fromkeys(("adoption", "config", "own_secrets", "processes", "rules"), ""),
}
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = (
    "adoption",
    "config",
    "own_secrets",
    "processes",
    "rules",
    "Rules",
    "HOLD",
    "log_as_json",
)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    place = _LATER[name]
    if place == ".web.relay":
        from failwell.packages import bring

        return getattr(bring(f"{__name__}.web.relay", "failwell wrap --listen", "http"), name)
    return getattr(import_module(place, __name__), name) if place else import_module(f".{name}", __name__)


__all__ = [
    # what happens to a frame
    "RelayProtocol",
    "RelayOptions",
    "Action",
    "ToClient",
    "ToServer",
    "Start",
    "StopServer",
    "Quit",
    "Prepare",
    "Note",
    "Death",
    # how messages are told apart
    "Lines",
    "TooLong",
    # all of it
    "Wrapping",
    "Listening",
    "Relay",
    "RelayLimits",
    "CannotListen",
    "app",
    "log_call",
    "wrap",
]
