"""`--watch`: a live table of tools, calls, failures and recoveries, on the terminal that shows stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

from failwell.observe import CallEvent
from failwell.redact import visible

_EVERY: Final = 0.25
_MOST: Final = 30
_LONGEST: Final = 32


@dataclass(slots=True)
class _Row:
    calls: int = 0
    failed: int = 0
    recovered: int = 0
    doubtful: int = 0
    seconds: float = 0.0
    last: str = ""


class LiveTable:
    """A hook that draws what it was told of."""

    def __init__(self, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out or sys.stderr
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._drawn = 0
        self._next = 0.0

    def __call__(self, event: CallEvent) -> None:
        row = self._rows.setdefault(event.tool[:_LONGEST], _Row())
        row.calls += 1
        row.seconds += event.seconds
        if event.error is not None:
            row.failed += 1
            row.doubtful += event.error.effect == "unknown"
            row.last = event.error.code or event.error.kind
        elif event.attempts > 1:
            row.recovered += 1
        if self._clock() >= self._next:
            self._next = self._clock() + _EVERY
            self.draw()

    def draw(self) -> None:
        """Draw the table over the one before."""
        lines = self.table()
        above = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._out.write(above + "".join(f"\x1b[2K{line}\n" for line in lines))
        self._out.flush()
        self._drawn = len(lines)

    def table(self) -> list[str]:
        head = (
            f"{'tool':<{_LONGEST}} {'calls':>7} {'failed':>7} {'recovered':>9} {'unknown':>7} {'ms':>8}  last failure"
        )
        rows = [
            f"{visible(tool):<{_LONGEST}} {row.calls:>7} {row.failed:>7} {row.recovered:>9} {row.doubtful:>7} "
            f"{1000 * row.seconds / row.calls:>8.1f}  {visible(row.last)}"
            for tool, row in sorted(self._rows.items())[:_MOST]
        ]
        return [head, *rows]
