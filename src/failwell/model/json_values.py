"""Any Python value as plain JSON data or clean text, without ever raising.

An error is built where something has already gone wrong, so whatever the author puts in must be accepted: values
that JSON cannot hold degrade to the nearest thing it can.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from itertools import islice
from typing import Any, Final

from .regex import pattern

Json = Any
"""A JSON value: None, bool, int, finite float, str, list of Json, or dict of str to Json."""

MAX_DEPTH: Final = 40
MAX_VALUES: Final = 50_000
MAX_ITEMS: Final = 1_000
# Python refuses to print longer integers (sys.get_int_max_str_digits), and no reader of JSON wants them.
_MAX_INT_BITS: Final = 2048
_ADDRESS: Final = pattern(r" at 0x[0-9a-fA-F]+")


compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Unset(Enum):
    """The absence of a value where None is a value."""

    UNSET = "unset"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


def text(value: object) -> str:
    """`value` as text that can be encoded in UTF-8."""
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        value = _describe(value)
    elif type(value) is not str:
        value = str.__str__(value)
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        # Through UTF-16, so that two halves that belong together become the character they stand for.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def label(value: object) -> str | None:
    """`value` as text, or None when there is nothing in it."""
    if value is None or (type(value) is str and value.isascii()):
        return value or None
    return text(value) or None


def plain(value: object) -> Json:
    """`value` as JSON data: cut off at cycles, at 40 levels, and at 50,000 values."""
    return _plain(value, 0, [MAX_VALUES])


def _plain(value: object, depth: int, left: list[int]) -> Json:
    kind = type(value)
    if kind is str:
        return text(value)
    if value is None or kind is bool:
        return value
    if kind is int or (isinstance(value, int) and not isinstance(value, (bool, Enum))):
        bits = value.bit_length()  # type: ignore[attr-defined]
        return int(value) if bits <= _MAX_INT_BITS else f"<integer of {bits} bits>"  # type: ignore[call-overload]
    if isinstance(value, float) and not isinstance(value, Enum):
        return float(value) if math.isfinite(value) else str(float(value))
    # Counted, because a few lists that hold each other twice stand for more values than there are atoms.
    left[0] -= 1
    if depth >= MAX_DEPTH or left[0] < 0:
        return "<cut>"
    try:
        # The exact types first: asking an abstract class takes longer than the rest of the work.
        if kind is dict or isinstance(value, Mapping):
            return {text(key): _plain(item, depth + 1, left) for key, item in _first(value.items(), left)}  # type: ignore[attr-defined]
        if isinstance(value, (list, tuple)):
            return [_plain(item, depth + 1, left) for item in _first(value, left)]
        if isinstance(value, (set, frozenset)):
            return sorted((_plain(item, depth + 1, left) for item in _first(value, left)), key=repr)
        if isinstance(value, Enum):
            return _plain(value.value, depth + 1, left)
        fields = getattr(kind, "__dataclass_fields__", None)
        if fields is not None:
            values = {name: getattr(value, name, None) for name in fields}
            return {name: _plain(item, depth + 1, left) for name, item in _first(values.items(), left)}
    except Exception:
        return f"<{kind.__name__}>"
    return text(value)


def _first(items: Iterable[Any], left: list[int]) -> list[Any]:
    taken = list(islice(items, max(left[0], 0)))
    left[0] -= len(taken)
    return taken


def plain_map(value: object) -> dict[str, Json]:
    """`value` as a JSON object; anything that is no mapping goes under the key `value`."""
    data = plain(value)
    if isinstance(data, dict):
        return data
    # Looked at again: in the map it lies one level deeper, and a reader of the map would cut there.
    return {} if data in (None, "", [], False) else dict(plain({"value": data}))


def budget_left(value: object, room: int) -> int:
    """What is left of the room when a value is in it; less than nothing if it does not fit, and then it ends."""
    if type(value) is str:
        return room - len(value) - 1
    if value is None or type(value) in (bool, float):
        return room - 1
    if type(value) is int:
        return room - 1 - value.bit_length() // 3
    if isinstance(value, Mapping):
        parts: Iterable[object] = (part for item in value.items() for part in item)
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        # Nobody knows how large it is.
        return -1
    # So that what is nested without end does not fit either.
    room -= 20
    for part in parts:
        if room < 0:
            break
        room = budget_left(part, room)
    return room


def _describe(value: object) -> str:
    """A short text for a value that is not a string, without the memory addresses of a default `repr`."""
    if value is None:
        return ""
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value).decode("utf-8", "replace")
        if isinstance(value, (datetime, date, time)):
            return value.isoformat()
        if isinstance(value, timedelta):
            return f"{value.total_seconds():g} seconds"
        if isinstance(value, (Mapping, list, tuple, set, frozenset)):
            # Not str(): values that hold each other twice would be written out for ever.
            return json.dumps(plain(value), ensure_ascii=False)
        if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
            return f"<{type(value).__name__}>"
        return _ADDRESS.sub("", str(value))
    except Exception:
        return f"<{type(value).__name__}>"


def positive(value: object) -> float | int | None:
    """A finite number above zero, an int where it is whole; None for everything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = value.total_seconds() if isinstance(value, timedelta) else float(value)  # type: ignore[arg-type]
    except Exception:
        return None
    if not math.isfinite(number) or number <= 0:
        return None
    return int(number) if number.is_integer() else number


def seconds(value: object) -> float | int | None:
    """A delay in seconds. A text is none, and more than three centuries is no delay but a mistake."""
    number = None if isinstance(value, str) else positive(value)
    return None if number is None or number > 1e10 else number


_RFC3339 = pattern(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d.*")


def instant(value: object) -> datetime | None:
    """A moment in UTC, from a datetime, an RFC 3339 text, or seconds since 1970 as a number or text."""
    try:
        if isinstance(value, str) and _RFC3339.fullmatch(value.strip()):
            value = datetime.fromisoformat(value.strip().upper())
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
        epoch = positive(value)
        if epoch is not None:
            # Nobody means the year 5138: a number this large is in milliseconds.
            return datetime.fromtimestamp(epoch / 1000 if epoch > 1e11 else epoch, UTC)
    except Exception:
        return None
    return None


def rfc3339(moment: datetime) -> str:
    """The instant as RFC 3339 text in UTC, as short as it can be."""
    written = moment.astimezone(UTC).isoformat().removesuffix("+00:00")
    return (written.rstrip("0").rstrip(".") if "." in written else written) + "Z"


def each(value: object) -> list[object]:
    """The items of `value`; one that is not a collection counts as its only item."""
    if value is None:
        return []
    if type(value) in (list, tuple):
        return list(islice(value, MAX_ITEMS))  # type: ignore[call-overload]
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return [value]
    try:
        items = list(islice(value, MAX_ITEMS))
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    except Exception:
        return []


def lines(value: object) -> tuple[str, ...]:
    """The non-empty texts in `value`."""
    return tuple(line for item in each(value) if (line := text(item)))


def shown(value: Json, *, cut: bool = True) -> str:
    """A value as contract 002 shows it to a model, cut to 50 characters."""
    if isinstance(value, list):
        return f"array({len(value)})"
    is_text = isinstance(value, str)
    written = value if is_text else compact(value)
    written = written[:47] + "..." if cut and len(written) > 50 else written
    quote = ("'" if "'" not in written or '"' in written else '"') if is_text else ""
    return f"{quote}{written}{quote}"
