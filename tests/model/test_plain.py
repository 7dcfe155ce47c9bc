"""Any Python value becomes plain JSON data or clean text, without raising and without surprises."""

from __future__ import annotations

import itertools
import json
import math
from collections import OrderedDict, UserDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.model.json_values import (
    MAX_DEPTH,
    MAX_VALUES,
    UNSET,
    each,
    instant,
    label,
    lines,
    plain,
    plain_map,
    positive,
    rfc3339,
    seconds,
    text,
)


class Hostile:
    """Nothing can be done with it: every operation raises."""

    def _no(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __bool__ = __len__ = __iter__ = __float__ = __int__ = __index__ = _no
    __format__ = __contains__ = __getitem__ = __hash__ = __lt__ = _no  # type: ignore[assignment]


class Ambiguous:
    """Has no truth value and compares to something that has none, as arrays and data frames do."""

    def __bool__(self) -> bool:
        raise ValueError("The truth value is ambiguous.")

    def __eq__(self, other: object) -> Any:
        return self

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Ambiguous()"


class BrokenMapping(UserDict[str, int]):
    def __getitem__(self, key: str) -> int:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Text(str):
    """A str with its own idea of how it reads."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"

    __repr__ = __str__


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


@dataclass
class Point:
    x: int
    y: object = None


def cycle() -> list[Any]:
    ring: list[Any] = [1]
    ring.append(ring)
    return ring


def dict_cycle() -> dict[str, Any]:
    ring: dict[str, Any] = {"a": 1}
    ring["self"] = ring
    return ring


def bomb(levels: int) -> list[Any]:
    """A few lists that stand for 2 ** levels values."""
    value: list[Any] = ["x"]
    for _ in range(levels):
        value = [value, value]
    return value


def _broken_iterator() -> Iterator[str]:
    yield "first"
    raise RuntimeError("no")


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "false": lambda: False,
    "zero": lambda: 0,
    "negative": lambda: -3,
    "fraction of one": lambda: 0.25,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "minus inf": lambda: -math.inf,
    "huge int": lambda: 10**5000,
    "huge float": lambda: 1e308,
    "decimal": lambda: Decimal("1.50"),
    "decimal nan": lambda: Decimal("NaN"),
    "decimal snan": lambda: Decimal("sNaN"),
    "fraction": lambda: Fraction(1, 3),
    "complex": lambda: 1j,
    "empty text": lambda: "",
    "text": lambda: "text",
    "percent and braces": lambda: "100% {of} %s %(x)s {0!r}",
    "str subclass": lambda: Text("kept"),
    "lone surrogate": lambda: "a\ud800b",
    "nul": lambda: "\x00",
    "bytes": lambda: b"caf\xc3\xa9",
    "bad bytes": lambda: b"\xff\xfe",
    "bytearray": lambda: bytearray(b"x"),
    "memoryview": lambda: memoryview(b"x"),
    "naive datetime": lambda: datetime(2026, 7, 28, 12, 0),
    "aware datetime": lambda: datetime(2026, 7, 28, 12, 0, tzinfo=timezone(timedelta(hours=2))),
    "earliest datetime": lambda: datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    "date": lambda: date(2026, 7, 28),
    "time": lambda: time(12, 30),
    "timedelta": lambda: timedelta(minutes=1.5),
    "negative timedelta": lambda: timedelta(seconds=-1),
    "longest timedelta": lambda: timedelta.max,
    "empty list": list,
    "list": lambda: [1, "two", None],
    "tuple": lambda: ("a", "b"),
    "set": lambda: {3, 1, 2},
    "frozenset": lambda: frozenset({"b", "a"}),
    "dict": lambda: {"a": {"b": [1]}},
    "dict of odd keys": lambda: {1: 1, None: 2, (1, 2): 3, b"k": 4, Word.YES: 5, "\ud800": 6},
    "dict of odd values": lambda: {"tool": Hostile(), "op": Hostile(), "description": Ambiguous(), "path": Ambiguous()},
    "list of odd values": lambda: [Hostile(), Ambiguous(), math.nan, 10**5000],
    "broken mapping": lambda: BrokenMapping({"a": 1}),
    "broken iterator": _broken_iterator,
    "generator": lambda: (n for n in range(3)),
    "range": lambda: range(3),
    "cycle": cycle,
    "dict cycle": dict_cycle,
    "bomb": lambda: bomb(16),
    "hostile": Hostile,
    "ambiguous": Ambiguous,
    "object": object,
    "class": lambda: Hostile,
    "function": lambda: bomb,
    "exception": lambda: ValueError("bad"),
    "enum": lambda: Color.RED,
    "int enum": lambda: Level.HIGH,
    "str enum": lambda: Word.YES,
    "dataclass": lambda: Point(1, Hostile()),
    "unset": lambda: UNSET,
}
odd = pytest.mark.parametrize("name", ODD)


def is_json(value: object) -> bool:
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    return True


@odd
def test_any_value_becomes_json(name: str) -> None:
    assert is_json(plain(ODD[name]()))
    assert is_json(plain({"k": [ODD[name]()]}))


@odd
def test_any_value_becomes_a_json_object(name: str) -> None:
    made = plain_map(ODD[name]())
    assert isinstance(made, dict)
    assert is_json(made)


@odd
def test_any_value_becomes_text(name: str) -> None:
    made = text(ODD[name]())
    assert type(made) is str
    made.encode()
    assert label(ODD[name]()) in (made, None)


@odd
def test_any_value_becomes_lines(name: str) -> None:
    assert all(type(line) is str and line for line in lines(ODD[name]()))


@odd
def test_any_value_is_a_positive_finite_number_or_nothing(name: str) -> None:
    for read in (positive, seconds):
        number = read(ODD[name]())
        assert number is None or (math.isfinite(number) and number > 0)
    moment = instant(ODD[name]())
    assert moment is None or moment.utcoffset() == timedelta()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None), (True, True), (3, 3), (1.5, 1.5), (math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"),
        (2**2047, 2**2047), (2**2048, "<integer of 2049 bits>"), (Decimal("1.50"), "1.50"),
        (datetime(2026, 7, 28, 12), "2026-07-28T12:00:00"),
        (datetime(2026, 7, 28, 12, tzinfo=UTC), "2026-07-28T12:00:00+00:00"), (timedelta(minutes=1.5), "90 seconds"),
        (b"caf\xc3\xa9", "café"), ({3, 1, 2}, [1, 2, 3]), (("a", 1), ["a", 1]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}), ({1: "one", Word.YES: 2}, {"1": "one", "yes": 2}),
        (Color.RED, "red"), (Level.HIGH, 3), (Word.YES, "yes"), (Text("kept"), "kept"),
        (Point(1, {2}), {"x": 1, "y": [2]}), (object(), "<object>"), (Hostile(), "<Hostile>"),
        (ValueError("bad"), "bad"), ("\ud83d\ude00", "😀"), ("a\ud800b", "a�b"),
    ],
)  # fmt: skip
def test_what_json_cannot_hold_degrades_to_the_nearest_thing(value: object, wanted: object) -> None:
    made = plain(value)
    assert made == wanted
    assert type(made) is type(wanted)


def test_a_cycle_is_cut() -> None:
    made, depth = plain(dict_cycle()), 0
    while isinstance(made, dict):
        made, depth = made["self"], depth + 1
    assert (made, depth) == ("<cut>", MAX_DEPTH)


def test_values_that_hold_each_other_twice_do_not_explode() -> None:
    assert json.dumps(plain(bomb(60))).count('"') / 2 <= 2 * MAX_VALUES


def test_text_of_values_that_hold_each_other_twice_does_not_explode() -> None:
    assert len(text(bomb(20))) <= 10 * MAX_VALUES


def test_a_collection_without_end_is_cut_like_any_other() -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        for taken in range(20 * MAX_VALUES):  # noqa: B007
            yield "x"

    each(endless())
    assert taken <= 2 * MAX_VALUES


@pytest.mark.parametrize(
    "value",
    [bomb, lambda: 1, (n for n in "ab"), iter([1]), [].append, Hostile()._no],
    ids=["function", "lambda", "generator", "iterator", "builtin", "method"],
)
def test_text_holds_no_memory_address(value: object) -> None:
    assert "0x" not in text(value)
    assert "0x" not in str(plain({"k": value}))


def test_equal_sets_give_equal_items() -> None:
    assert {0, 8} == {8, 0}
    assert each({0, 8}) == each({8, 0})


def test_a_released_buffer_is_no_reason_to_raise() -> None:
    buffer = memoryview(b"x")
    buffer.release()
    assert type(text(buffer)) is str


def test_text_keeps_what_can_be_encoded() -> None:
    for value in ("", "a", "é", "😀", "\x00", "\uffff", "100% {x} %s"):
        assert text(value) == value
    assert text(None) == ""
    assert (label(""), label(None), label(0)) == (None, None, "0")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (30, 30), (30.0, 30), (0.5, 0.5), ("30", None), (Decimal("2.5"), 2.5), (timedelta(minutes=1), 60), (1e10, 10**10),
        (0, None), (-1, None), (math.nan, None), (math.inf, None), ("soon", None), (True, None), (10**400, None),
        (1e11, None), (timedelta(0), None), (Decimal("sNaN"), None), ([], None), (None, None),
    ],
)  # fmt: skip
def test_a_delay_is_finite_and_above_zero(value: object, wanted: object) -> None:
    assert seconds(value) == wanted
    assert type(seconds(value)) is type(wanted)


NOON = datetime(2026, 7, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (NOON, NOON),
        (datetime(2026, 7, 28, 12), NOON),
        (datetime(2026, 7, 28, 14, tzinfo=timezone(timedelta(hours=2))), NOON),
        ("2026-07-28T12:00:00Z", NOON),
        ("2026-07-28t12:00:00z", NOON),
        ("2026-07-28 14:00:00+02:00", NOON),
        ("2026-07-28T12:00", NOON),
        ("2026-07-28T12:00:00.25Z", NOON.replace(microsecond=250000)),
        ("2026-07-28T12:00:00.123456789Z", NOON.replace(microsecond=123456)),
        (NOON.timestamp(), NOON),
        (str(int(NOON.timestamp())), NOON),
        (NOON.timestamp() * 1000, NOON),
        ("2026-02-30T12:00:00Z", None), ("2026-07-28T12:00:00+99:00", None), ("tomorrow", None), ("", None),
        (0, None), (-5, None), (math.nan, None), (math.inf, None), (True, None), (1e300, None), (None, None),
    ],
)  # fmt: skip
def test_an_instant_is_read_from_what_people_write(value: object, wanted: object) -> None:
    assert instant(value) == wanted


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_an_instant_survives_its_own_text(moment: datetime) -> None:
    assert instant(rfc3339(moment)) == moment
    assert rfc3339(moment).endswith("Z")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(exclude_categories=["Cs"])),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4), max_leaves=20))  # fmt: skip
def test_json_data_is_left_as_it_is_but_not_shared(value: object) -> None:
    made = plain(value)
    assert made == value
    assert made is not value or not isinstance(value, (list, dict))


def test_one_item_is_a_collection_of_one() -> None:
    assert each(None) == []
    assert each("ab") == ["ab"]
    assert each({"a": 1}) == [{"a": 1}]
    assert each(5) == [5]
    assert each(itertools.islice("ab", 2)) == ["a", "b"]
    assert lines(["a", "", None, 3]) == ("a", "3")


def test_the_absent_value_is_false_and_says_its_name() -> None:
    assert (bool(UNSET), repr(UNSET)) == (False, "UNSET")
