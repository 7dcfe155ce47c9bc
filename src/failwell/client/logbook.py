"""What a client writes into its log about the failures it meets."""

from __future__ import annotations

import logging
from typing import Final

from failwell.guards import DEFAULT
from failwell.recovery import Attempt

log = logging.getLogger("failwell.client")
# A program that has set up no logging wants none of it on its standard error.
log.addHandler(logging.NullHandler())

_LONGEST: Final = 500


def write_down(attempt: Attempt) -> None:
    """Log what contract 000 has an agent log: wrong input, what broke, and what nobody can read."""
    told = attempt.decision.log
    if told and log.isEnabledFor(logging.WARNING):
        log.warning("%s: %s", _line(attempt.tool), _line(told))


def _line(text: str) -> str:
    """One line without secrets: what a server sends must not look like a line of the log."""
    told = " ".join(DEFAULT.text(text).split())
    return told if len(told) <= _LONGEST else told[: _LONGEST - 1] + "…"
