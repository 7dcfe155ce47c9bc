"""How long to wait, as the objects of other people's errors say it: under many names, in many units, at any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from failwell.model import instant, positive

from .http import retry_after

# The names in small letters without what stands between the words, and how many seconds one of the unit is. The first
# that is there counts: what an error says about itself comes before what its headers say.
_DELAYS: Final[Mapping[str, float]] = {
    "retryafter": 1,
    "retryafterseconds": 1,
    "retryaftersecs": 1,
    "retryaftersec": 1,
    "retryafters": 1,
    "retryafterms": 0.001,
    "retryaftermillis": 0.001,
    "retryaftermilliseconds": 0.001,
    "retryin": 1,
    "retryinseconds": 1,
    "retryinms": 0.001,
    "retrydelay": 1,
    "retrydelayseconds": 1,
    "retrydelayms": 0.001,
    "waitseconds": 1,
    "secondstowait": 1,
    "waitms": 0.001,
    "backoffseconds": 1,
    "backoffms": 0.001,
    "cooldownseconds": 1,
}
_MOMENTS: Final = frozenset({"retryat", "resetat", "resetsat", "resettime", "ratelimitreset", "ratelimitresetat"})
_HEADERS: Final = frozenset({"headers", "responseheaders"})
# The objects in which an error keeps what it knows more. What else is in an answer is not about the error.
_WITHIN: Final = frozenset(
    """error errors err exception fault detail details data meta metadata info extra extensions parameters response
    body ratelimit cause reason""".split()
)
_MOST_OBJECTS: Final = 30
_DEEPEST: Final = 5
_MOST_ITEMS: Final = 5
# A number above this is a moment, not a delay: nobody says "come back in thirty years".
_EPOCH: Final = 1_000_000_000


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
    layers = list(_layers(data))
    for found in (_by_delay, _by_moment, _by_headers):
        for layer in layers:
            wait = found(layer)
            if wait != Wait():
                return wait
    return Wait()


def _by_delay(layer: Mapping[str, Any]) -> Wait:
    for name, value in layer.items():
        if (unit := _DELAYS.get(name)) is not None and (wait := _read(value, unit)) != Wait():
            return wait
    return Wait()


def _by_moment(layer: Mapping[str, Any]) -> Wait:
    waits = (_read(value, 1) for name, value in layer.items() if name in _MOMENTS)
    return next((wait for wait in waits if wait != Wait()), Wait())


def _by_headers(layer: Mapping[str, Any]) -> Wait:
    waits = (Wait(retry_after(value)) for name, value in layer.items() if name in _HEADERS and isinstance(value, dict))
    return next((wait for wait in waits if wait != Wait()), Wait())


def _read(value: object, unit: float) -> Wait:
    """A number of units, a duration such as `16s`, or a moment in any form."""
    number = positive(value)
    if number is not None:
        return Wait(reset_at=instant(value)) if number * unit > _EPOCH else Wait(positive(round(number * unit, 6)))
    if not isinstance(value, str):
        return Wait()
    if (moment := instant(value)) is not None:
        return Wait(reset_at=moment)
    return Wait(retry_after({"retry-after": value}))


def _layers(data: object) -> Iterator[dict[str, Any]]:
    """The object and those within it, outermost first, by names without capitals and separators."""
    waiting: list[tuple[int, object]] = [(0, data)]
    seen = 0
    while waiting and seen < _MOST_OBJECTS:
        depth, each = waiting.pop(0)
        if isinstance(each, list):
            waiting += [(depth, item) for item in each[:_MOST_ITEMS] if isinstance(item, Mapping)]
        elif isinstance(each, Mapping):
            seen += 1
            layer = {_folded(name): value for name, value in each.items() if isinstance(name, str)}
            yield layer
            if depth < _DEEPEST:
                waiting += [(depth + 1, value) for name, value in layer.items() if name in _WITHIN]


def _folded(name: str) -> str:
    return name[:60].replace("_", "").replace("-", "").lower()


__all__ = ["Wait", "wait_in"]
