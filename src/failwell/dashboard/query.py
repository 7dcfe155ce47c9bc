"""What a view is asked for: which time, which server, tool or code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from failwell.observe import Period

from .figures import BadTime, milliseconds

SPANS: Final = {"1h": "hour", "24h": "day", "7d": "week", "30d": "month"}
DEFAULT: Final = "7d"
_FILTERS: Final = ("server", "tool", "code")
HOUR: Final = 3_600_000


def now() -> int:
    return int(time.time() * 1000)


def without_nul(text: str) -> str:
    """A text that may be asked for: PostgreSQL knows no character of this kind."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a page's address."""

    since: str = DEFAULT
    until: str = ""
    server: str = ""
    tool: str = ""
    code: str = ""
    failed: str = ""
    now: int = 0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Query:
        """From what an address says; what it does not know it leaves out. It raises `BadTime`."""
        asked = (*_FILTERS, "since", "until", "failed")
        known = {name: without_nul(given[name])[:200] for name in asked if given.get(name)}
        query = cls(**known, now=now())
        _ = query.period
        return query

    @property
    def period(self) -> Period:
        """Of whole hours, as the sums are, so that everything on a page is of the same time."""
        until = milliseconds(self.until, self.now) if self.until else self.now
        since = milliseconds(self.since, self.now)
        if since > self.now:
            raise BadTime(f"{self.since[:40]!r} has not come yet, and there is nothing to see after now")
        if since > until:
            raise BadTime(f"{self.since[:40]!r} comes after {self.until[:40]!r}: begin with the earlier one")
        since, until = since // HOUR * HOUR, min(-(-until // HOUR) * HOUR, self.now)
        return Period(since, max(until, since + 1), self.server or None, self.tool or None, self.code or None)

    @property
    def before(self) -> Period:
        """As long a time before that one."""
        period = self.period
        # Whole hours, or the hour in the middle would count on both sides.
        since = period.since
        length = -(-(period.until - since) // HOUR) * HOUR
        return Period(max(0, since - length), since, period.server, period.tool, period.code)

    def address(self, path: str, **changes: str) -> str:
        """The address of a view with the same parameters, but for these."""
        given = {name: getattr(self, name) for name in ("since", "until", *_FILTERS, "failed")} | changes
        if given["since"] == DEFAULT:
            given["since"] = ""
        written = urlencode({name: value for name, value in given.items() if value})
        return f"{path}?{written}" if written else path
