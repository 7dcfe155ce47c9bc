"""Numbers and times as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME: Final = re.compile(r"(\d{1,5})([mhdw])")
NONE: Final = "–"


class BadTime(ValueError):
    """A time that cannot be read, in one line."""


def milliseconds(text: str, now: int) -> int:
    """An instant: so long ago (`90m`, `24h`, `7d`, `2w`), or a date (`2026-11-17`, `2026-11-17T06:30`, in UTC).

    >>> milliseconds("1h", 7_200_000), milliseconds("1970-01-02", 0)
    (3600000, 86400000)
    """
    if (found := _TIME.fullmatch(text.strip())) is not None:
        return max(0, now - int(found[1]) * _UNITS[found[2]] * 1000)
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadTime(f"{text[:40]!r} is no time; write 90m, 24h, 7d, or a date such as 2026-11-17T06:30") from None
    return max(0, int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))


def share(value: float | None) -> str:
    """A share in percent: as exact as it is interesting."""
    if value is None:
        return NONE
    percent = value * 100
    # Nearly all is not all, and hardly any is not none.
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    exact = percent not in (0, 100) and (percent < 10 or percent > 99)
    return f"{percent:.1f} %" if exact else f"{percent:.0f} %"


def count(value: float) -> str:
    """A number with its thousands apart: `12 345`; a large one is rounded."""
    if value >= 10_000_000:
        return f"{value / 1_000_000:.0f} M"
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """How long: `12 ms`, `3.4 s`, `5 min`, `2.5 h`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def stamp(at: int) -> str:
    """When, in UTC, for whoever copies it elsewhere, where nobody says which zone it is."""
    return f"{_date(at):%Y-%m-%d %H:%M:%S}Z"


def ago(at: int, now: int) -> str:
    """How long ago."""
    seconds = max(0, now - at) / 1000
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return "just now" if seconds < 5 else f"{seconds:.0f} s ago"


def _date(at: int) -> datetime:
    try:
        return datetime.fromtimestamp(at / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
