"""How often each tool is called, how it fails, and how long it takes: for people without telemetry."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from failwell.formats import Outcome
from failwell.model.error import ToolError

UNKNOWN: Final = "(unknown)"
"""Stands for every tool that does not exist, and for failures without a code: nobody's typos may fill the memory."""
_MOST_CODES: Final = 200


@dataclass(frozen=True, slots=True)
class ToolStats:
    """One tool, as it stood when it was asked for."""

    calls: int = 0
    failures: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    kinds: Mapping[str, int] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)


class _Tool:
    __slots__ = ("calls", "codes", "failures", "kinds", "seconds", "slowest")

    def __init__(self) -> None:
        self.calls = self.failures = 0
        self.seconds = self.slowest = 0.0
        self.kinds: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()


class Stats:
    """Counters of one server; threads and tasks may use them at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tools: dict[str, _Tool] = {}

    def add(self, tool: str, started: float, failed: bool, outcome: Outcome | None = None) -> None:
        """Count a call that took from `started` until now, and how it failed, where that is known."""
        elapsed = time.perf_counter() - started
        with self._lock:
            row = self._tools.get(tool)
            if row is None:
                row = self._tools[tool] = _Tool()
            row.calls += 1
            row.seconds += elapsed
            row.slowest = max(row.slowest, elapsed)
            if not failed:
                return
            row.failures += 1
            if isinstance(outcome, ToolError):
                row.kinds[outcome.kind.value] += 1
                code = outcome.code or UNKNOWN
                row.codes[code if code in row.codes or len(row.codes) < _MOST_CODES else UNKNOWN] += 1
            else:
                row.kinds[UNKNOWN if outcome is None else "needs_input"] += 1

    def read(self) -> dict[str, ToolStats]:
        """A copy of everything, which no later call changes."""
        with self._lock:
            return {
                name: ToolStats(row.calls, row.failures, row.seconds, row.slowest, dict(row.kinds), dict(row.codes))
                for name, row in self._tools.items()
            }
