"""The errors real servers meet: of the SDK's and FastMCP's own validation, and of pydantic inside a tool."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from fastmcp.exceptions import ValidationError as CallError
from fastmcp.tools.function_tool import FunctionTool
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import UNSET, apply_patch
from failwell.readers.validation import call_of, check_names, from_pydantic
from failwell.schema import anchored, invalid, pydantic_problems, value_at


class Item(BaseModel):
    sku: str
    qty: int = Field(ge=1)


def order(
    customer: str,
    items: list[Item],
    note: Annotated[str | None, Field(max_length=5)] = None,
    copy: int = 1,
    mode: Literal["fast", "slow"] = "fast",
) -> str:
    return "ok"


WRONG = {"customer": 1, "items": [{"sku": "a", "qty": 0}, {"sku": 2}], "note": "too long", "copy": "a", "mode": "Fast"}
SAID = {
    "customer": "Expected string, received number. You sent: 1. Expected type: string.",
    "items.0.qty": "Number must be greater than or equal to 1. You sent: 0. Must be >= 1.",
    "items.1.sku": "Expected string, received number. You sent: 2. Expected type: string.",
    "items.1.qty": "Required. You sent: (missing). Expected type: integer.",
    "note": "String must contain at most 5 character(s). You sent: 'too long'. Maximum length: 5 characters.",
    "copy": "Expected integer, received string. You sent: 'a'. Expected type: integer.",
    "mode": "Invalid enum value. Expected 'fast' | 'slow', received 'Fast'. You sent: 'Fast'. Valid options: 'fast', 'slow'.",
}
FIXED = WRONG | {"customer": "1", "items": [{"sku": "a", "qty": 0}, {"sku": "2"}], "mode": "fast"}


def said(error: fw.ToolError) -> dict[str, str]:
    return dict(re.findall(r'<field name="([^"]*)">(.*?)</field>', fw.render(error, "xml"), re.DOTALL))


def sdk(arguments: dict[str, Any]) -> fw.ToolError:
    """What the SDK's server does with a call."""
    meta = func_metadata(order)
    schema = meta.arg_model.model_json_schema(by_alias=True)
    problems = [check_names(arguments, schema)]
    try:
        meta.validate_arguments(arguments)
    except ValidationError as exc:
        problems.append(pydantic_problems(exc, call_of(schema, arguments)))
    return invalid(*problems, tool="order")


def fast(arguments: dict[str, Any]) -> fw.ToolError:
    """What FastMCP does with one."""
    tool = FunctionTool.from_function(order)
    with pytest.raises(CallError) as caught:
        asyncio.run(tool.run(arguments))
    return from_pydantic(caught.value.__cause__, tool="order", schema=tool.parameters, arguments=arguments)


@pytest.mark.checklist(133, 148)
@pytest.mark.parametrize("server", [sdk, fast], ids=["mcp", "fastmcp"])
def test_the_servers_own_validation_becomes_one_error(server: Any) -> None:
    error = server(WRONG)
    assert said(error) == SAID
    assert apply_patch(WRONG, error.patch) == FIXED
    assert (
        error.message
        == "Invalid arguments for order: customer, items[0].qty, items[1].sku, items[1].qty, note and 2 more."
    )


@pytest.mark.checklist(150, 151)
@pytest.mark.parametrize("server", [sdk, fast], ids=["mcp", "fastmcp"])
def test_a_misspelt_argument_is_refused_by_both(server: Any) -> None:
    sent = {"custmer": "ada", "items": []}
    error = server(sent)
    assert said(error) == {
        "customer": "Required. You sent: (missing). Expected type: string.",
        "(root)": "Unrecognized key(s) in object: 'custmer'. Remove or correct unrecognized fields: 'custmer'. Check for typos.",
    }
    assert apply_patch(sent, error.patch) == {"customer": "ada", "items": []}


def test_an_argument_that_the_server_decodes_is_read_as_it_was_sent() -> None:
    error = sdk({"customer": "ada", "items": '[{"sku": "a", "qty": 0}]'})
    assert said(error) == {"items.0.qty": "Number must be greater than or equal to 1. You sent: 0. Must be >= 1."}
    assert error.patch == ()


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


Even = Annotated[int, AfterValidator(even)]


@pytest.mark.checklist(144, 148)
@pytest.mark.parametrize(
    ("annotation", "value", "fields"),
    [
        (Even | list[int], 3, {"x": "custom"}),
        (list[Even | list[int]], [2, 3, "a"], {"x.2": "anyOf", "x.1": "custom"}),
        (Cat | Dog, {"kind": "cat"}, {"x.lives": "required"}),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat"}, {"x.lives": "required"}),
        (list[Annotated[Cat | Dog, Field(discriminator="kind")]], [{"kind": "cat", "lives": "x"}], {"x.0.lives": "type"}),
        (dict[str, int | list[int]], {"int": "a"}, {"x.int": "anyOf"}),
        (dict[str, int], {"int": "a"}, {"x.int": "type"}),
        (dict[str, dict[str, Cat | int]], {"Cat": {"Cat": {"kind": "cat"}}}, {"x.Cat.Cat.lives": "required"}),
        (dict[int, int], {"a": 1}, {"x.a": "custom"}),
        (
            Annotated[Cat | Dog | int, WithJsonSchema({})],
            {"kind": "dog"},
            {"x.kind": "custom", "x.lives": "required", "x.name": "required", "x": "custom"},
        ),
        (Cat | Dog, {}, {"x.kind": "required"}),
        (list[Cat | Even] | Cat, [{"kind": "cat", "lives": "x"}, 3], {"x.0.lives": "type", "x.1": "custom"}),
    ],
    ids=["function", "list", "models", "discriminated", "list of those", "named like a type", "no union", "named like a model", "key", "no schema", "no branch", "union in a union"],
)  # fmt: skip
def test_branches_of_unions_are_no_places(annotation: Any, value: Any, fields: dict[str, str]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(dict[Literal["x"], annotation])
    sent = {"x": value}
    with pytest.raises(ValidationError) as caught:
        adapter.validate_python(sent)
    inner = TypeAdapter(annotation).json_schema()
    schema = {"type": "object", "properties": {"x": inner}, "$defs": inner.get("$defs", {})}
    assert {f.name: f.rule for f in from_pydantic(caught.value, schema=schema, arguments=sent).fields} == fields
    for field in from_pydantic(caught.value, arguments=sent).fields:
        assert value_at(sent, field.path if field.rule == "custom" else field.path[:-1]) is not UNSET


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    items: list[Item]
    pay: int | str = 0
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None


def broken_by(data: Any, kind: Any = Order) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(data)
    return caught.value


BAD = {"items": [{"sku": "a", "qty": 0}]}
THEIRS: list[tuple[str, Any, dict[str, Any], tuple[Any, ...]]] = [
    ("the arguments", BAD, BAD, ()),
    ("one of them", BAD, {"payload": BAD, "x": 1}, ("payload",)),
    ("a copy", {"items": [{"sku": "a", "qty": 0}]}, {"payload": BAD}, ("payload",)),
    ("deep", BAD, {"a": [{"b": BAD}]}, ("a", 0, "b")),
    ("missing", {"pay": 77}, {"payload": {"pay": 77}}, ("payload",)),
    ("empty", {}, {"payload": {}}, ("payload",)),
    ("union", {"items": [], "pay": None}, {"payload": {"items": [], "pay": None}}, ("payload",)),
    ("tag", {"items": [], "pet": {"kind": "cat"}}, {"p": {"items": [], "pet": {"kind": "cat"}}}, ("p",)),
    ("extra", {"items": [], "colour": "red"}, {"p": {"items": [], "colour": "red"}}, ("p",)),
    ("several", {"items": [{}], "pay": None}, {"p": {"items": [{}], "pay": None}}, ("p",)),
]
OURS: list[tuple[str, Any, dict[str, Any]]] = [
    ("other data", BAD, {"payload": {"items": [{"sku": "a", "qty": 5}]}}),
    ("nothing sent", {}, {}),
    ("a row of ours", {"items": None}, {"id": "inv_1"}),
    ("more than was sent", {"items": [], "secret": "s3cr3t"}, {"payload": {"items": []}}),
    ("has the key", {"pay": 1}, {"payload": {"pay": 1, "items": []}}),
    ("other name", {"items": "abc"}, {"item": "abc"}),
]


@pytest.mark.parametrize(("data", "arguments", "place"), [row[1:] for row in THEIRS], ids=[row[0] for row in THEIRS])
def test_data_that_came_with_the_call_are_found(data: Any, arguments: dict[str, Any], place: tuple[Any, ...]) -> None:
    exc = broken_by(data)
    assert anchored(exc, arguments) == place
    error = from_pydantic(exc, tool="t", arguments=arguments, at=place)
    assert error.fields
    assert all(field.path[: len(place)] == place for field in error.fields)


@pytest.mark.parametrize(("data", "arguments"), [row[1:] for row in OURS], ids=[row[0] for row in OURS])
def test_data_that_did_not_are_not(data: Any, arguments: dict[str, Any]) -> None:
    assert anchored(broken_by(data), arguments) is None


@pytest.mark.parametrize(
    ("data", "kind", "arguments", "place"),
    [
        ("bad-email", EmailStr, {"user": {"email": "bad-email"}}, ("user", "email")),
        ("bad-email", EmailStr, {"user": "ada"}, None),
        (-5, Annotated[int, Field(ge=0)], {"n": -5}, ("n",)),
        (None, int, {"n": None}, None),
        (0, Annotated[int, Field(ge=1)], {"n": 0}, None),
        (True, str, {"n": True}, None),
    ],
    ids=["text", "other text", "number", "null", "zero", "flag"],
)
def test_a_single_value_must_be_one_that_is_not_everywhere(
    data: Any, kind: Any, arguments: dict[str, Any], place: tuple[Any, ...] | None
) -> None:
    assert anchored(broken_by(data, kind), arguments) == place


def test_what_is_no_pydantic_error_is_nobodys() -> None:
    assert anchored(ValueError("no"), {"a": 1}) is None


def test_without_the_arguments_it_is_a_mistake_of_the_server_and_tells_nothing() -> None:
    """A row of a database that does not fit its model is not the caller's to see."""
    row = broken_by({"items": "from-our-database"})
    with pytest.raises(jsonschema.ValidationError) as schema:
        jsonschema.validate("from-our-database", {"type": "integer"})
    for exc in (row, schema.value):
        error = fw.wrap(exc)
        assert isinstance(error, fw.Internal)
        assert all("from-our-database" not in fw.render(error, format) for format in FORMATS)
