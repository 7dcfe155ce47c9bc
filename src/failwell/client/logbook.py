"""What a client writes into its log about the failures it meets: one record for each."""

from __future__ import annotations

import logging
from typing import Final

from failwell.model import Strategy, ToolError
from failwell.observe import log_failure
from failwell.recovery import Attempt, Report

log = logging.getLogger("failwell.client")
# A program that has set up no logging wants none of it on its standard error.
log.addHandler(logging.NullHandler())

_LONGEST: Final = 500


def write_down(attempt: Attempt) -> None:
    """Log what contract 000 has an agent log, when it happens: wrong input, what broke, and what nobody can read."""
    if attempt.decision.log and isinstance(attempt.error, ToolError):
        _write(attempt.tool, attempt.error, attempt.decision.log)


def write_ending(report: Report, error: ToolError) -> None:
    """Log what is left of a call, unless its last failure was written down when it happened."""
    if not report.attempts or not report.attempts[-1].decision.log:
        _write(report.tool, error)


def _write(tool: str, error: ToolError, said: str | None = None) -> None:
    level = logging.ERROR if error.strategy is Strategy.ABORT else logging.WARNING
    if said is not None and len(said) > _LONGEST:
        said = said[: _LONGEST - 1] + "…"
    log_failure(log, error, tool=tool, level=level, said=said)
