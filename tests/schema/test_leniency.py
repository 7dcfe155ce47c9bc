"""What Pydantic takes, though its own schema does not allow it, is never called refused; what it plainly refuses is."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from failwell.readers import call_of
from failwell.schema import broken_rules, invalid, is_hopeless, may_take


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(enum.Enum):
    RED = "red"


class Item(BaseModel):
    name: str
    count: int = Field(ge=1)


KINDS: list[Any] = [
    *(int, float, bool, str, bytes, decimal.Decimal, None),
    *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta, uuid.UUID),
    *(Level, Colour, Literal[1, 2], Literal["a", "b"], Item),
    *(list[int], set[int], tuple[int, str], dict[str, int], list[Item]),
    *(int | None, int | bool, list[int] | int, Item | None, float | Literal["all"]),
    *(Item | str, list[Item] | Item, Item | list[int] | int, set[int] | str),
]
VALUES: list[Any] = [
    *(0, 1, 5, -3, 1.0, 5.5, 1e300, True, False, None, 10**30, 1_700_000_000),
    *(
        "",
        "5",
        " 5 ",
        "5.0",
        "5.5",
        "1_000",
        "+1",
        "1e3",
        "nan",
        "inf",
        "much",
        "true",
        "YES",
        "off",
        "null",
        "red",
        "a",
    ),
    *(
        "2026-01-02",
        "2026-01-02T03:04:05",
        "03:04",
        "P1D",
        "12345678-1234-5678-1234-567812345678",
        "[1]",
        "[1, 1]",
        "{}",
    ),
    *([], [1, 1], ["1", 2], ["1", "b"], [1, "b", 3], {}, {"a": "1"}, {"a": "b"}, [[1]]),
    *({"name": "x", "count": "2"}, {"name": "x", "count": 0}, {"name": "x"}, [{"name": "x", "count": True}]),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_pydantic_takes_may_have_been_taken(kind: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    node = adapter.json_schema()
    definitions = node.pop("$defs", {})
    schema = {"properties": {"value": node}, "required": ["value"], "$defs": definitions}
    for value in VALUES:
        try:
            adapter.validate_python(value)
        except ValidationError:
            continue
        assert may_take({"value": value}, schema), value
        problems = broken_rules(call_of(schema, {"value": value}), own=False)
        # Arguments that break nothing have no fields.
        fields = invalid(problems).fields if problems else ()
        assert not any(is_hopeless(each, {"value": value}, schema) for each in fields), value


@pytest.mark.parametrize(
    ("node", "value"),
    [
        ({"type": "integer"}, "much"),
        ({"type": "integer"}, {}),
        ({"type": "integer"}, [5]),
        ({"type": "integer", "maximum": 3}, "5"),
        ({"type": "string"}, 5),
        ({"enum": ["USD", "EUR"]}, "usd"),
        ({"const": "a"}, "b"),
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}, {"a": "1"}),
        ({"type": "object", "additionalProperties": False}, {"a": 1}),
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, ["x"]),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "x"),
        ({"$ref": "#/$defs/whole"}, "x"),
        (False, 1),
    ],
)
def test_what_is_plainly_wrong_is_not_taken(node: Any, value: Any) -> None:
    schema = {"properties": {"value": node}, "$defs": {"whole": {"type": "integer"}}}
    assert not may_take({"value": value}, schema)


def test_what_nobody_understands_may_have_been_taken() -> None:
    endless: dict[str, Any] = {"properties": {"next": {"$ref": "#"}}}
    value: dict[str, Any] = {}
    for _ in range(200):
        value = {"next": value}
    assert may_take(value, endless)
    assert may_take({"value": 1}, {"properties": {"value": {"minimum": "low"}}})
    assert may_take({"value": "1" * 5_000}, {"properties": {"value": {"type": "number"}}})
