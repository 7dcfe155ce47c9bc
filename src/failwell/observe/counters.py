"""How often each tool is called, how it fails, and how long it takes: for people without telemetry."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil, inf
from threading import Lock
from typing import Final

from failwell.model import ToolError
from failwell.redact import DEFAULT

UNKNOWN: Final = "(unknown)"
"""Stands for every tool that does not exist, for failures without a code, and for whatever is too much to be counted by
itself: nobody's typos may fill the memory."""

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""The upper bounds of the buckets in seconds; what took longer is in the last one, which has no bound."""

MOST_TOOLS: Final = 1_000
MOST_CODES: Final = 200
_LONGEST_CODE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStats:
    """One tool, as it stood when it was asked for.

    asked: calls that ended in a question to the user, which are no failures.
    errors: failures by kind and code.
    buckets: the calls that took no longer than each bound, up to `inf`, as Prometheus counts them.
    """

    calls: int = 0
    failures: int = 0
    asked: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    buckets: Mapping[float, int] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, int]:
        """Failures by kind."""
        return self._by(0)

    @property
    def codes(self) -> dict[str, int]:
        """Failures by code."""
        return self._by(1)

    def _by(self, part: int) -> dict[str, int]:
        counted: dict[str, int] = {}
        for pair, count in self.errors.items():
            counted[pair[part]] = counted.get(pair[part], 0) + count
        return counted

    def quantile(self, q: float) -> float:
        """About how many seconds the share `q` of all calls took at most; 0 before the first call.

        The bucket is the right one, the place within it is a guess, and it is never more than the slowest call took.
        """
        if not 0 <= q <= 1:
            raise ValueError(f"A quantile is a share between 0 and 1, not {q!r}.")
        if not self.calls:
            return 0.0
        rank = max(1, ceil(q * self.calls))
        lower, below = 0.0, 0
        for bound, upto in self.buckets.items():
            if rank <= upto:
                upper = min(bound, self.slowest)
                # Down from the top, which makes the last call of a bucket exact.
                return upper - (upper - lower) * (upto - rank) / (upto - below)
            lower, below = bound, upto
        return self.slowest

    @property
    def p50(self) -> float:
        """Half of the calls took no longer."""
        return self.quantile(0.5)

    @property
    def p95(self) -> float:
        """Nineteen of twenty calls took no longer."""
        return self.quantile(0.95)

    @property
    def p99(self) -> float:
        """All but one of a hundred calls took no longer."""
        return self.quantile(0.99)


class _Tool:
    # How many calls and failures there were is the sum of their parts, so that no two numbers can disagree.
    __slots__ = ("asked", "errors", "seconds", "slowest", "taken")

    def __init__(self) -> None:
        self.asked = 0
        self.seconds = self.slowest = 0.0
        self.taken = [0] * (len(BOUNDS) + 1)
        self.errors: dict[tuple[str, str], int] = {}


class Stats:
    """Counters of one server; threads and tasks may use them at once."""

    __slots__ = ("_lock", "_tools")

    def __init__(self) -> None:
        self._lock = Lock()
        self._tools: dict[str, _Tool] = {}

    def add(
        self, tool: str, seconds: float, failed: bool = False, error: ToolError | None = None, asked: bool = False
    ) -> None:
        """Count a call: how long it took, whether and how it failed, or that it ended in a question."""
        bucket = bisect_left(BOUNDS, seconds)
        with self._lock:
            row = self._tools.get(tool)
            if row is None:
                row = self._new(tool)
            row.taken[bucket] += 1
            row.seconds += seconds
            if seconds > row.slowest:
                row.slowest = seconds
            if asked:
                row.asked += 1
            elif failed:
                pair = pair_of(error)
                if pair not in row.errors and len(row.errors) >= MOST_CODES:
                    pair = (pair[0], UNKNOWN)
                row.errors[pair] = row.errors.get(pair, 0) + 1

    def _new(self, tool: str) -> _Tool:
        # A caller may have made it up; and the last place is kept for all the tools that have none.
        tool = DEFAULT.label(tool)
        if tool not in self._tools and len(self._tools) >= MOST_TOOLS - 1:
            tool = UNKNOWN
        return self._tools.setdefault(tool, _Tool())

    def read(self) -> dict[str, ToolStats]:
        """A copy of everything, which no later call changes."""
        with self._lock:
            rows = [
                (name, row.asked, row.seconds, row.slowest, tuple(row.taken), dict(row.errors))
                for name, row in self._tools.items()
            ]
        counted = {}
        for name, asked, seconds, slowest, taken, errors in rows:
            buckets = dict(zip((*BOUNDS, inf), accumulate(taken), strict=True))
            counted[name] = ToolStats(
                calls=buckets[inf],
                failures=sum(errors.values()),
                asked=asked,
                seconds=seconds,
                slowest=slowest,
                errors=errors,
                buckets=buckets,
            )
        return counted


def pair_of(error: ToolError | None) -> tuple[str, str]:
    """What a failure is counted as: its kind and its code. A text without end is no code."""
    if error is None:
        return UNKNOWN, UNKNOWN
    code = error.code
    return error.kind._value_, DEFAULT.label(code) if code and len(code) <= _LONGEST_CODE else UNKNOWN
