"""One call of the agent while it is under way, as a client makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from failwell.recovery import Report, Run

from .connection import Live


class MarkGone(Exception):
    """What a call was to be made again for is no longer said of its tool."""


@dataclass(slots=True)
class ClientCall:
    """How a call is made. What becomes of it is the engine's to say, by its `run`."""

    run: Run
    options: dict[str, Any]
    timeout: float | None
    looked: bool = False
    """Whether the tools were looked for because of this call."""
    by_mark: bool = False
    """Whether it is made again only because its tool was listed as one that may be."""
    observed: bool = False
    """Whether the latest failure was only seen in a success."""
    connected: Live | None = None
    name: str | None = None
    """By which other seats know it; its attempts are numbered."""

    @property
    def report(self) -> Report:
        return self.run.report
