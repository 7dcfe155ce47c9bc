"""Progress as contract 004 has it, sent by the protocol's own notifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Json, plain

from .served_call import current

STREAM: Final = "stream_progress"


def wants_progress(arguments: Mapping[str, Any]) -> bool:
    """Whether the caller asked to be told how far it is: with `stream_progress` that is exactly true."""
    return arguments.get(STREAM) is True


def progress_message(message: str, *, percent: float | None = None, data: object = None) -> dict[str, Json]:
    """The contract's object.

    >>> progress_message("Applying the plan", percent=140)
    {'type': 'progress', 'message': 'Applying the plan', 'percent': 100}
    """
    wire: dict[str, Json] = {"type": "progress", "message": message}
    if percent is not None and percent == percent:
        wire["percent"] = min(100, max(0, percent))
    if data is not None:
        wire["data"] = plain(data)
    return wire


async def progress(message: str, *, percent: float | None = None, data: object = None) -> dict[str, Json] | None:
    """Tell the caller how far it is, if they asked for it; what was told, or None.

    They ask with the tool's `stream_progress` argument, and with a progress token, as the protocol has it.
    """
    call = current.get()
    if call is None or not wants_progress(call.arguments):
        return None
    wire = progress_message(message, percent=percent, data=data)
    await call.request.session.report_progress(wire.get("percent", 0), 100, message)
    return wire
