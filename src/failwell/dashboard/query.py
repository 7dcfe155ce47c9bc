"""What a page is asked for: which time, of what, in which order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final
from urllib.parse import urlencode

from failwell.observe import Selection

from .figures import BadTime, milliseconds

SPANS: Final = {"1h": "hour", "24h": "day", "7d": "week", "30d": "month"}
DEFAULT: Final = "7d"
FILTERS: Final = ("server", "client", "tool", "kind", "code", "session", "outcome", "q")
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a page's address. sort: a column, with `-` before it for the largest first. at: one call."""

    since: str = DEFAULT
    until: str = ""
    server: str = ""
    client: str = ""
    tool: str = ""
    kind: str = ""
    code: str = ""
    session: str = ""
    outcome: str = ""
    q: str = ""
    sort: str = ""
    at: str = ""
    now: int = 0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Query:
        """From what an address says; what it does not know it leaves out. It raises `BadTime`."""
        # PostgreSQL knows no character of this kind.
        known = {
            each.name: given[each.name].replace("\0", "\N{REPLACEMENT CHARACTER}")[:_LONGEST]
            for each in fields(cls)
            if each.name != "now" and given.get(each.name)
        }
        query = cls(**known, now=int(time.time() * 1000))
        _ = query.selection
        return query

    @property
    def selection(self) -> Selection:
        until = milliseconds(self.until, self.now) if self.until else self.now + 1
        since = milliseconds(self.since, self.now)
        if since > self.now:
            raise BadTime(f"{self.since[:40]!r} has not come yet, and there is nothing to see after now")
        if since > until:
            raise BadTime(f"{self.since[:40]!r} comes after {self.until[:40]!r}: begin with the earlier one")
        names = {name: getattr(self, name) for name in FILTERS if name != "q"}
        return Selection(since=since, until=max(until, since + 1), text=self.q, **names)

    @property
    def order(self) -> tuple[str, bool]:
        """The column to sort by, and whether the smallest comes first."""
        return self.sort.removeprefix("-"), not self.sort.startswith("-")

    def address(self, path: str, **changes: Any) -> str:
        """The address of a page with the same parameters, but for these; the order is of one page alone."""
        given = {name: getattr(self, name) for name in ("since", "until", *FILTERS)} | changes
        if given["since"] == DEFAULT:
            given["since"] = ""
        written = urlencode({name: value for name, value in given.items() if value not in ("", None)})
        return f"{path}?{written}" if written else path
