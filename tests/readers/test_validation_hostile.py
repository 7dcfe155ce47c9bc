"""Arguments that nobody should send: nothing raises, nothing secret is shown, and nothing grows with what was sent."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, create_model, model_validator

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import apply_patch
from failwell.readers.validation import (
    call_of,
    check_names,
    from_pydantic,
    unknown_arguments,
    unknown_tool,
)
from failwell.redact import MASK
from failwell.schema import anchored, check, invalid


def rendered(error: fw.ToolError) -> str:
    """The error in all formats, and as it is before the guard sees it."""
    assert isinstance(error, fw.ToolError)
    guarded = [fw.render(error, format) for format in FORMATS]
    return "\n".join([*guarded, *(fw.render(error, format, guard=None) for format in FORMATS), repr(error)])


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["a", "b"] = "a"
    count: int = 0


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(max_length=5)] = ""
    count: Annotated[int, Field(ge=0, lt=10)] = 0
    share: Annotated[float, Field(allow_inf_nan=False, multiple_of=0.5)] = 0
    flag: bool = False
    either: int | list[int] | Inner | None = None
    inner: Inner = Inner()
    many: Annotated[list[Inner], Field(max_length=2)] = []
    table: Annotated[dict[str, int], Field(max_length=2)] = {}
    day: Literal["mon", "tue"] = "mon"


SCHEMA = Model.model_json_schema()
FIELDS = st.sampled_from(
    [*Model.model_fields, "naem", "Count", "x" * 300, "", "a.b", "password", "\ud800", "<&>'\"", "…"]
)

NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=20),
    st.sampled_from(
        [10**400, -(10**4000), float("nan"), "\ud800", "a\udfffb", "\x00\x1b[0m", "]]>", "x" * 100_000, b"\xff" * 100_000,
         "[" * 5_000, '{"a":' * 5_000, "9" * 5_000, "1e999", "[1e999]", "-0", "٣", (), set(), object, Ellipsis, 1j,
         list(range(10_000)), dict.fromkeys(map(str, range(10_000)), 1), {1: 2}, {None: 1}, {(1, 2): 3}]
    ),
)  # fmt: skip
VALUES = st.recursive(
    NASTY,
    lambda below: st.one_of(
        st.lists(below, max_size=4),
        st.dictionaries(st.one_of(FIELDS, st.sampled_from(["kind", "count"]), st.text(max_size=5)), below, max_size=4),
    ),
    max_leaves=8,
)


def both(arguments: Any) -> list[fw.ToolError]:
    found = []
    try:
        Model.model_validate(arguments)
    except ValidationError as error:
        found += [
            from_pydantic(error, tool="t", schema=SCHEMA, arguments=arguments),
            from_pydantic(error, schema=SCHEMA),
            from_pydantic(error, arguments=arguments),
            from_pydantic(error),
            from_pydantic(error, schema=SCHEMA, arguments={}),
            from_pydantic(error, schema={"properties": 5, "$ref": "#/nowhere"}, arguments={"arguments": arguments}),
        ]
        anchored(error, arguments)
        anchored(error, {"payload": arguments})
    try:
        problems = check(call_of(SCHEMA, arguments))
    except RecursionError:
        return found
    return [*found, invalid(problems)] if problems else found


@pytest.mark.checklist(154)
@given(arguments=st.dictionaries(FIELDS, VALUES, max_size=5))
def test_no_arguments_make_it_raise(arguments: dict[str, Any]) -> None:
    for index, error in enumerate(both(arguments)):
        assert isinstance(error, fw.Invalid)
        assert error.fields
        assert fw.render(error, "xml", guard=None)
        apply_patch(arguments, error.patch)
        if index == 0:
            assert len(rendered(error)) < 400_000
    problems = check_names(arguments, SCHEMA)
    assert bool(problems) == (not arguments.keys() <= Model.model_fields.keys())
    rendered(invalid(problems, tool="t"))


def deep(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = {"inner": [value]}
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["self"] = [value]
    return value


HUGE = {
    "text": {"name": "x" * 10_000_000},
    "bytes": {"name": b"x" * 10_000_000},
    "name": {"x" * 10_000_000: 1},
    "names": {f"name{i}": 1 for i in range(20_000)},
    "key": {"table": {"x" * 10_000_000: "y"}},
    "list": {"table": {}, "many": ["x"] * 20_000},
    "object": {"count": dict.fromkeys(map(str, range(100_000)), 1)},
    "depth": {"name": deep(10_000)},
    "depth where an object is": {"inner": deep(10_000)},
    "number": {"count": 10**4000},
    "number that cannot be written": {"count": 10**5000, "name": 10**5000, "day": 10**5000},
    "not a number": {"share": math.nan},
    "surrogate": {"count": "\ud800"},
    "cycle": {"name": cyclic()},
    "cycle in a union": {"either": cyclic()},
    "text of numbers": {"count": "9" * 10_000_000},
    "text of brackets": {"inner": "[" * 10_000_000},
    "option": {"day": "mon" * 3_000_000},
}


@pytest.mark.checklist(154)
@pytest.mark.parametrize("arguments", HUGE.values(), ids=HUGE.keys())
def test_what_is_huge_is_shown_small(arguments: dict[str, Any]) -> None:
    errors = both(arguments)
    assert errors
    for error in errors:
        assert len(rendered(error)) < 100_000
        for field in error.fields:
            assert len(field.message) < 2_000
            assert len(str(field.sent)) < 5_000


@pytest.mark.parametrize(
    "name", ["x" * 10_000_000, "", "\ud800", "<tool>'\"", "Ignore\nall"], ids=["long", "", "half", "<>", "\\n"]
)
def test_no_name_of_a_tool_makes_it_raise(name: str) -> None:
    error = unknown_tool(name, ["a", "b" * 10_000_000, "\udfff"])
    assert error.code == "UNKNOWN_TOOL"
    assert len(error.message) < 200
    rendered(error.replace(actions=()))


def test_no_name_of_an_argument_makes_it_raise() -> None:
    names = ["x" * 10_000_000, "", "\ud800", *map(str, range(100_000))]
    error = unknown_arguments(names, names[::-1], tool="t", action="a")
    assert len(rendered(error)) < 60_000


SECRET = "zebra-crossing-42"


class Holder(BaseModel):
    value: SecretStr


SECRETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "name": ({"password": (int, ...)}, {"password": SECRET}),
    "name of an option": ({"api_key": (Literal["zebra-crossing-43", "b"], ...)}, {"api_key": SECRET}),
    "name of a literal": ({"token": (Literal["zebra-crossing-43"], ...)}, {"token": SECRET}),
    "schema": ({"x": (SecretStr, ...)}, {"x": {"deep": SECRET}}),
    "length": ({"x": (Annotated[SecretStr, Field(max_length=3)], ...)}, {"x": SECRET}),
    "inside what is wrong": ({"x": (int, ...)}, {"x": {"password": SECRET}}),
    "in a list": ({"passwords": (list[int], ...)}, {"passwords": [SECRET]}),
    "list where a text is": ({"password": (str, ...)}, {"password": [SECRET]}),
    "text where a list is": ({"passwords": (list[str], ...)}, {"passwords": SECRET}),
    "union": ({"secret": (int | list[int], ...)}, {"secret": SECRET}),
    "JSON text": ({"x": (dict[str, str], ...)}, {"x": '{"password":"' + SECRET + '"}'}),
    "JSON text by the schema": ({"x": (Holder, ...)}, {"x": '{"value":"' + SECRET + '"}'}),
    "below": ({"credentials": (dict[str, int], ...)}, {"credentials": {"user": SECRET}}),
}


@pytest.mark.checklist(153)
@pytest.mark.parametrize(("fields", "arguments"), SECRETS.values(), ids=SECRETS.keys())
def test_a_secret_is_never_shown(fields: dict[str, Any], arguments: dict[str, Any]) -> None:
    model = create_model("Model", **fields)
    schema = model.model_json_schema()
    with pytest.raises(ValidationError) as caught:
        model.model_validate(arguments)
    errors = [
        from_pydantic(caught.value, schema=schema, arguments=arguments),
        invalid(check(call_of(schema, arguments))),
    ]
    for error in errors:
        if error.fields:
            assert SECRET not in rendered(error)
            assert error.patch == ()
            assert MASK in fw.render(error, "xml")
    assert errors[0].fields


def test_a_secret_that_the_author_quotes_is_not_shown() -> None:
    class Login(BaseModel):
        user: str
        password: str
        pin: int

        @model_validator(mode="after")
        def refuse(self) -> Login:
            raise ValueError(f"{self.user} with {self.password} and {self.pin} is nobody")

    arguments = {"user": "ada", "password": SECRET, "pin": 98765}
    with pytest.raises(ValidationError) as caught:
        Login.model_validate(arguments)
    error = from_pydantic(caught.value, schema=Login.model_json_schema(), arguments=arguments)
    assert error.__cause__ is caught.value
    assert error.fields[0].message == f"ada with {MASK} and {MASK} is nobody"
    assert SECRET not in rendered(error)


def test_not_even_the_beginning_of_a_long_secret_is_shown() -> None:
    secret = SECRET * 100
    arguments = {"x": 1, "token": secret}

    class Model(BaseModel):
        x: int
        token: str

        @model_validator(mode="after")
        def refuse(self) -> Model:
            raise ValueError(f"nobody knows {self.token}")

    with pytest.raises(ValidationError) as caught:
        Model.model_validate(arguments)
    assert SECRET not in rendered(from_pydantic(caught.value, arguments=arguments))


def test_a_misspelt_name_of_a_secret_is_renamed_without_showing_it() -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string"}}, "additionalProperties": False}
    arguments = {"passwort": SECRET}
    problems = check_names(arguments, schema)
    error = invalid(problems)
    assert apply_patch(arguments, error.patch) == {"password": SECRET}
    assert SECRET not in rendered(error)
