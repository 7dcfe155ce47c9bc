"""The transparent relay behind `failwell wrap`: in front of any stdio server, without a change to it.

What happens to a frame is decided at the desk, which knows no processes; the pipes carry it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .actions import Action, Death, Note, Options, Quit, Start, Stop, ToClient, ToServer
from .frames import Lines, TooLong
from .wrapping import Wrapping, wrap

if TYPE_CHECKING:
    from .desk import Desk


def __getattr__(name: str) -> Any:
    # The server is started first, and all that the desk needs is imported while it starts.
    if name != "Desk":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .desk import Desk

    return Desk


__all__ = [
    # what happens to a frame
    "Desk",
    "Options",
    "Action",
    "ToClient",
    "ToServer",
    "Start",
    "Stop",
    "Quit",
    "Note",
    "Death",
    # how messages are told apart
    "Lines",
    "TooLong",
    # all of it
    "Wrapping",
    "wrap",
]
