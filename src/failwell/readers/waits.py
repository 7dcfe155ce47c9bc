"""How long to wait: by the headers of an HTTP answer, or by an error object, under many names and in many units."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from failwell.model import instant, positive, text

from .json_errors import layers_of

_LONGEST: Final = 64_000
# How many seconds one of the unit is. What an error says about itself comes before what its headers say.
_DELAYS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("retryafter", "retryafterseconds", "retryaftersecs", "retryaftersec", "retryafters"), 1),
    **dict.fromkeys(("retryin", "retryinseconds", "retrydelay", "retrydelayseconds"), 1),
    **dict.fromkeys(("waitseconds", "secondstowait", "backoffseconds", "cooldownseconds"), 1),
    **dict.fromkeys(("retryafterms", "retryaftermillis", "retryaftermilliseconds", "retryinms"), 0.001),
    **dict.fromkeys(("retrydelayms", "waitms", "backoffms"), 0.001),
}
_MOMENTS: Final = frozenset({"retryat", "resetat", "resetsat", "resettime", "ratelimitreset", "ratelimitresetat"})


class Wait(NamedTuple):
    """A delay in seconds, or the moment until which to wait."""

    retry_after: float | int | None = None
    reset_at: datetime | None = None


def wait_in(data: object) -> Wait:
    """What an object says about waiting; nothing is said by an empty `Wait`.

    >>> wait_in({"error": {"message": "Too many requests", "retryAfterMs": 1500}}).retry_after
    1.5
    >>> wait_in({"status": 429, "headers": {"Retry-After": "7"}}).retry_after
    7
    """
    members = [member for layer in layers_of(data) for member in layer.items()]
    waits = [
        *(_wait(value, _DELAYS[name]) for name, value in members if name in _DELAYS),
        *(_wait(value, 1) for name, value in members if name in _MOMENTS),
        *(Wait(retry_after(value)) for name, value in members if name.endswith("headers") and isinstance(value, dict)),
    ]
    return next((wait for wait in waits if wait != Wait()), Wait())


def _wait(value: object, unit: float) -> Wait:
    """A number of units, a duration such as `16s`, or a moment in any form."""
    number = positive(value)
    if number is not None:
        return Wait(reset_at=instant(value)) if number * unit > _EPOCH else Wait(positive(round(number * unit, 6)))
    if not isinstance(value, str):
        return Wait()
    if (moment := instant(value)) is not None:
        return Wait(reset_at=moment)
    return Wait(retry_after({"retry-after": value}))


def retry_after(headers: object) -> float | int | None:
    """The seconds to wait by `Retry-After` (a number or a date), else by the rate limit headers in use.

    >>> retry_after({"Retry-After": "1.5"}), retry_after({"RateLimit": "limit=10, remaining=0, reset=30"})
    (1.5, 30)
    """
    fields = lower_headers(headers)
    if (ms := positive(fields.get("retry-after-ms"))) is not None:
        return positive(ms / 1000)
    if (given := fields.get("retry-after")) is not None and (delay := _delay(given)) is not None:
        return delay
    for name in _RESETS:
        if (given := fields.get(name)) is not None and (delay := _delay(given)) is not None:
            return delay
    # The draft's structured fields: `limit=10, remaining=0, reset=30`, and `"default";r=0;t=30`.
    found = re.search(r"(?:^|[;,\s])(?:reset|t)=(\d{1,9})(?=$|[;,\s])", fields.get("ratelimit", "")[:500])
    return positive(found[1]) if found else None


_RESETS: Final = (
    "ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset",
    "x-rate-limit-reset",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
)
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
# Above this a number is a moment, not a wait: nobody says "come back in thirty years".
_EPOCH: Final = 1_000_000_000


def _delay(given: str) -> float | int | None:
    given = given.strip()[:100]
    number = positive(given)
    if number is not None:
        if number > _EPOCH * 1000:
            number /= 1000
        return number if number < _EPOCH else positive(round(number - time.time(), 3))
    if re.fullmatch(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+", given):
        return positive(sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)(ms|[smhd])", given)))
    from email.utils import parsedate_to_datetime  # rarely needed, and as heavy as all the rest

    try:
        # Whole seconds, rounded up: one too early is one refusal more.
        return positive(-int((time.time() - parsedate_to_datetime(given).timestamp()) // 1))
    except (ValueError, TypeError, OverflowError):
        return None


def lower_headers(headers: object) -> dict[str, str]:
    """Header names in lower case; of a repeated header the first."""
    found: dict[str, str] = {}
    items: Iterable[Any]
    try:
        items = headers.items() if hasattr(headers, "items") else headers or ()  # type: ignore[assignment]
        for name, value in items:
            found.setdefault(decoded(name).lower(), decoded(value))
    except Exception:
        # A header bag that cannot be read is as good as none.
        return found
    return found


def decoded(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value[:_LONGEST]).decode("utf-8", "replace")
    return text(value)[:_LONGEST] if value is not None else ""
