"""One check, from a target to its report."""

from __future__ import annotations

import shlex
from typing import Any, Final

from .examination import CheckOptions, Progress, examine, nobody
from .report import CheckReport
from .target import CheckTarget

_LONGEST: Final = 1_500


def check(
    target: CheckTarget, options: CheckOptions | None = None, *, progress: Progress = nobody, warden: Any = None
) -> CheckReport:
    """Ask a server everything, and grade how it fails."""
    again = target.arguments()

    def reproduce(frame: str, era: str) -> str:
        if not frame or len(frame) > _LONGEST:
            return f"failwell check {again}"
        return f"failwell check --era {era} --send {shlex.quote(frame)} {again}"

    with target.transport(warden) as transport:
        return CheckReport(target.name, examine(transport, options or CheckOptions(), reproduce, progress))
