"""What can be told of a time: the numbers, the failures, the outcomes in doubt, and the time itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from .event_rows import COUNTERS, HOUR, KEY, WITHIN
from .tables import ROLLUPS

_SUMMED: Final = ", ".join((*KEY, *(f"n_{name}" for name in COUNTERS)))


@dataclass(frozen=True, slots=True)
class Period:
    """From when to when, in milliseconds, and of what: everything where nothing is named."""

    since: int
    until: int
    server: str | None = None
    tool: str | None = None
    code: str | None = None

    def where(self, column: str, since: int, until: int) -> tuple[str, list[Any]]:
        """The condition for a table with such a column, and its values."""
        parts, values = [f"{column} >= ? AND {column} < ?"], [since, until]
        for name in ("server", "tool", "code"):
            if (value := getattr(self, name)) is not None:
                parts.append(f"{name} = ?")
                values.append(value)
        return " AND ".join(parts), values

    def sums(self, *, hourly: bool = False) -> tuple[str, list[Any]]:
        """Where to read the sums from: whole days, and the hours before and after them. A period has whole hours.

        hourly: by the hour alone."""
        first, last = self.since // HOUR, -(-self.until // HOUR)
        day, end = min(-(-first // 24) * 24, last), max(last // 24 * 24, first)
        by_hour, by_day = ROLLUPS
        ranges = [(by_hour, first, day), (by_day, day, end), (by_hour, end, last)]
        if hourly or day >= end:
            ranges = [(by_hour, first, last)]
        parts, values = [], list[Any]()
        for table, begin, until in ranges:
            where, more = self.where("hour", begin, until)
            parts.append(f"SELECT {_SUMMED} FROM {table} WHERE {where}")
            values += more
        return f"({' UNION ALL '.join(parts)}) AS sums", values


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a tool, a code, or all of them together. Shares are None where there is nothing to share.

    loops, loop_calls, loop_seconds, loop_tokens: how often the same call failed the same way three times or more, and
    what the calls from the third on cost; tokens are estimated from what was sent and said.
    """

    calls: int = 0
    failed: int = 0
    asked: int = 0
    refused: int = 0
    seconds: float = 0.0
    after: tuple[int, ...] = (0,) * WITHIN
    """Failures that were recovered from, by how many calls it took."""
    same: int = 0
    """How many of these were recovered with the same arguments."""
    retried: int = 0
    retried_ok: int = 0
    delays_us: int = 0
    obeyed_us: int = 0
    delays_client: int = 0
    obeyed_client: int = 0
    prevented: int = 0
    declared: int = 0
    undeclared: int = 0
    loops: int = 0
    loop_calls: int = 0
    loop_seconds: float = 0.0
    loop_tokens: int = 0

    @property
    def recovered(self) -> int:
        return sum(self.after)

    @property
    def failure_rate(self) -> float | None:
        """The share of calls that failed."""
        return _share(self.failed, self.calls)

    @property
    def recovery_rate(self) -> float | None:
        """The share of failed calls after which one of the next five calls of the tool in the session worked."""
        return _share(self.recovered, self.failed)

    @property
    def first_retry(self) -> float | None:
        """The share of first repetitions of a failed call that worked."""
        return _share(self.retried_ok, self.retried)

    @property
    def obeyed(self) -> float | None:
        """The share of named delays after which the next call came late enough."""
        return _share(self.obeyed_us + self.obeyed_client, self.delays_us + self.delays_client)

    @property
    def drift(self) -> float | None:
        """The share of failures with a code that the tool does not declare, of those of tools that declare any."""
        return _share(self.undeclared, self.declared + self.undeclared)

    def to_dict(self) -> dict[str, Any]:
        shares = ("recovered", "failure_rate", "recovery_rate", "first_retry", "obeyed", "drift")
        return {**asdict(self), "after": list(self.after), **{name: getattr(self, name) for name in shares}}


@dataclass(frozen=True, slots=True)
class Failure:
    """The same failure, as often as it was seen."""

    id: int
    server: str
    tool: str
    kind: str
    code: str
    first_at: int
    last_at: int
    numbers: Numbers
    is_new: bool
    """Whether it was first seen in the period, and not in the first day of the store, in which everything is."""


@dataclass(frozen=True, slots=True)
class OpenDoubt:
    """A call of which nobody knows whether it was done."""

    event: int
    at: int
    session: str
    server: str
    tool: str
    code: str
    verify: str | None
    """The tool that would tell."""
    repeated: bool
    """Whether the call was made again all the same."""


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session."""

    id: int
    name: str
    client: str
    first_at: int
    last_at: int
    calls: int
    failed: int


@dataclass(frozen=True, slots=True)
class Doubts:
    """Calls that may have been done, by what became of the question."""

    open: int = 0
    looked: int = 0
    worked: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Flow:
    """How many failures of a kind were met by a decision, and how many of them were recovered from."""

    kind: str
    decision: str
    recovered: int
    left: int


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
