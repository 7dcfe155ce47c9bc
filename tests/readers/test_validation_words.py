"""What is said about each rule: the same sentence, whichever validator found the mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    IPvAnyAddress,
    PastDate,
    TypeAdapter,
    ValidationError,
    create_model,
    model_validator,
)

import failwell as fw
from failwell.model import UNSET
from failwell.readers.validation import call_of, from_pydantic, from_schema
from failwell.redact import shown_arguments
from failwell.schema import check, invalid
from recorded import cases

_FIELD = re.compile(r'<field name="([^"]*)">(.*?)</field>', re.DOTALL)


def said(error: fw.ToolError) -> dict[str, str]:
    """The fields of the XML, as they are written."""
    return dict(_FIELD.findall(fw.render(error, "xml")))


def by_schema(schema: dict[str, Any], arguments: dict[str, Any], **more: Any) -> fw.ToolError:
    return invalid(check(call_of(schema, arguments), formats=True), **more)


def by_model(model: type[BaseModel], arguments: dict[str, Any], strict: bool = False, **more: Any) -> fw.ToolError:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(arguments, strict=strict)
    return from_pydantic(caught.value, schema=model.model_json_schema(), arguments=arguments, **more)


def taking(annotation: Any) -> type[BaseModel]:
    return create_model("Taking", __config__=ConfigDict(extra="forbid"), x=(annotation, ...))


# There, the words are those of a validator that says other things here, or the schema does not hold the rule.
OTHER_WORDS = ("regex", "regex_msg", "includes", "custom_message", "refine_root", "num_finite", "num_nan")
# There, code points are split, quotes are not told apart, and objects are cut without a mark.
MENDED = ("str_emoji_split", "str_quote", "object_sent_long")


def real_outputs() -> Iterator[Any]:
    for case in cases("xml-as-run", "validation."):
        name = case.id.removeprefix("validation.")
        if "json_schema" in case.values[0]["input"] and name not in OTHER_WORDS + MENDED:
            yield case


@pytest.mark.checklist(133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 145, 146, 147, 148, 149, 150, 151, 152)
@pytest.mark.parametrize("vector", list(real_outputs()))
def test_the_same_arguments_get_the_text_of_the_contracts_own_system(vector: dict[str, Any]) -> None:
    given = vector["input"]
    error = by_schema(given["json_schema"], given["args"], tool="users", action="create")
    better = re.sub(r"(?<![.!?]) You sent:", ". You sent:", vector["output"])
    better = re.sub(r'(name="\(root\)">[^<]*?\.) You sent: \(missing\)\.', r"\1", better)
    assert fw.render(error, "xml", layout="flush") == better


@pytest.mark.checklist(133, 134, 136, 137, 150, 151, 152)
def test_the_contracts_own_examples() -> None:
    model = create_model(
        "Model", __config__=ConfigDict(extra="forbid"), email=(EmailStr, ...), role=(Literal["admin", "user"], ...)
    )
    wrong = {"email": "bad-email", "role": "superadmin"}
    expected = (
        '<validation_error action="users/create">\n'
        "  <field name=\"email\">Invalid email. You sent: 'bad-email'. "
        "Expected: a valid email address (e.g. user@example.com).</field>\n"
        "  <field name=\"role\">Invalid enum value. Expected 'admin' | 'user', received 'superadmin'. "
        "You sent: 'superadmin'. Valid options: 'admin', 'user'.</field>\n"
        "  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )
    assert fw.render(by_model(model, wrong, tool="users", action="create"), "xml") == expected
    assert fw.render(by_schema(model.model_json_schema(), wrong, tool="users", action="create"), "xml") == expected
    unknown = {"email": "a@example.com", "role": "user", "hallucinated_param": 1}
    for error in (by_model(model, unknown), by_schema(model.model_json_schema(), unknown)):
        assert said(error) == {
            "(root)": "Unrecognized key(s) in object: 'hallucinated_param'. "
            "Remove or correct unrecognized fields: 'hallucinated_param'. Check for typos."
        }


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
PETS = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
            "required": ["kind", "lives"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}},
            "required": ["kind", "name"],
        },
    ]
}

ROWS: list[tuple[str, Any, dict[str, Any] | None, Any, str, str]] = [
    # Types.
    ("string", str, None, 5, "x", "Expected string, received number. You sent: 5. Expected type: string."),
    ("string null", str, None, None, "x", "Expected string, received null. You sent: null. Expected type: string."),
    ("string list", str, None, ["a"], "x", "Expected string, received array. You sent: array(1). Expected type: string."),
    ("integer", int, None, "many", "x", "Expected integer, received string. You sent: 'many'. Expected type: integer."),
    ("integer float", int, None, 5.5, "x", "Expected integer, received float. You sent: 5.5. Expected type: integer."),
    ("number", float, None, "many", "x", "Expected number, received string. You sent: 'many'. Expected type: number."),
    ("boolean", bool, None, "perhaps", "x", "Expected boolean, received string. You sent: 'perhaps'. Expected type: boolean."),
    ("array", list[int], None, {"a": 1}, "x", 'Expected array, received object. You sent: {"a":1}. Expected type: array.'),
    ("object", Cat, None, "cat", "x", "Expected object, received string. You sent: 'cat'. Expected type: object."),
    ("optional", int | None, None, "many", "x", "Expected integer, received string. You sent: 'many'. Expected type: integer."),
    ("item", list[str], None, ["a", 2], "x.1", "Expected string, received number. You sent: 2. Expected type: string."),
    ("value", dict[str, int], None, {"a": "b"}, "x.a", "Expected integer, received string. You sent: 'b'. Expected type: integer."),
    # Options.
    ("enum", Colour, None, "green", "x", "Invalid enum value. Expected 'red' | 'blue', received 'green'. You sent: 'green'. Valid options: 'red', 'blue'."),
    ("enum of numbers", Literal[1, 2], None, 3, "x", "Invalid enum value. Expected 1 | 2, received 3. You sent: 3. Valid options: 1, 2."),
    ("enum number", Literal["a", "b"], None, 3, "x", "Expected 'a' | 'b', received number. You sent: 3. Expected type: 'a' | 'b'."),
    ("literal", Literal["on"], None, "off", "x", "Invalid literal value, expected \"on\". You sent: 'off'. Expected exactly: \"on\"."),
    ("literal number", Literal[3], None, 4, "x", "Invalid literal value, expected 3. You sent: 4. Expected exactly: 3."),
    # Lengths and bounds.
    ("min length", Annotated[str, Field(min_length=3)], None, "ab", "x", "String must contain at least 3 character(s). You sent: 'ab'. Minimum length: 3 characters."),
    ("min length 1", Annotated[str, Field(min_length=1)], None, "", "x", "String must contain at least 1 character(s). You sent: ''. Minimum length: 1 character."),
    ("max length", Annotated[str, Field(max_length=3)], None, "abcd", "x", "String must contain at most 3 character(s). You sent: 'abcd'. Maximum length: 3 characters."),
    ("max length 1", Annotated[str, Field(max_length=1)], None, "ab", "x", "String must contain at most 1 character(s). You sent: 'ab'. Maximum length: 1 character."),
    ("length", Annotated[str, Field(min_length=2, max_length=2)], None, "abc", "x", "String must contain exactly 2 character(s). You sent: 'abc'. Maximum length: 2 characters."),
    ("ge", Annotated[int, Field(ge=18)], None, 17, "x", "Number must be greater than or equal to 18. You sent: 17. Must be >= 18."),
    ("gt", Annotated[int, Field(gt=18)], None, 18, "x", "Number must be greater than 18. You sent: 18. Must be > 18."),
    ("le", Annotated[int, Field(le=100)], None, 101, "x", "Number must be less than or equal to 100. You sent: 101. Must be &lt;= 100."),
    ("lt", Annotated[float, Field(lt=100)], None, 100, "x", "Number must be less than 100. You sent: 100. Must be &lt; 100."),
    ("fraction", Annotated[float, Field(lt=0.5)], None, 1.5, "x", "Number must be less than 0.5. You sent: 1.5. Must be &lt; 0.5."),
    ("multiple", Annotated[int, Field(multiple_of=5)], None, 7, "x", "Number must be a multiple of 5. You sent: 7. Must be a multiple of 5."),
    ("min items", Annotated[list[int], Field(min_length=2)], None, [1], "x", "Array must contain at least 2 element(s). You sent: array(1). Minimum 2 items."),
    ("min items 1", Annotated[list[int], Field(min_length=1)], None, [], "x", "Array must contain at least 1 element(s). You sent: array(0). Minimum 1 item."),
    ("max items", Annotated[list[int], Field(max_length=2)], None, [1, 2, 3], "x", "Array must contain at most 2 element(s). You sent: array(3). Maximum 2 items."),
    ("max items 1", Annotated[list[int], Field(max_length=1)], None, [1, 2], "x", "Array must contain at most 1 element(s). You sent: array(2). Maximum 1 item."),
    ("min keys", Annotated[dict[str, int], Field(min_length=2)], None, {"a": 1}, "x", 'Object must contain at least 2 key(s). You sent: {"a":1}. Minimum 2 keys.'),
    ("pattern", Annotated[str, Field(pattern="^[A-Z]{3}$")], None, "abc", "x", "Must match the pattern ^[A-Z]{3}$. You sent: 'abc'. Value does not match the required pattern."),
    # Formats.
    ("email", EmailStr, None, "bad-email", "x", "Invalid email. You sent: 'bad-email'. Expected: a valid email address (e.g. user@example.com)."),
    ("url", HttpUrl, {"type": "string", "format": "uri"}, "not-a-url", "x", "Invalid url. You sent: 'not-a-url'. Expected: a valid URL (e.g. https://example.com)."),
    ("uuid", UUID, None, "abc", "x", "Invalid uuid. You sent: 'abc'. Expected: a valid UUID (e.g. 123e4567-e89b-12d3-a456-426614174000)."),
    ("datetime", datetime, None, "soon", "x", "Invalid datetime. You sent: 'soon'. Expected: an ISO 8601 datetime (e.g. 2024-01-15T10:30:00Z)."),
    ("date", date, None, "soon", "x", "Invalid date. You sent: 'soon'. Expected: an ISO 8601 date (e.g. 2024-01-15)."),
    ("time", time, None, "soon", "x", "Invalid time. You sent: 'soon'. Expected: an ISO 8601 time (e.g. 10:30:00)."),
    ("duration", timedelta, None, "long", "x", "Invalid duration. You sent: 'long'. Expected: an ISO 8601 duration (e.g. PT1H30M)."),
    ("ipv4", IPv4Address, None, "999.1.1.1", "x", "Invalid ip. You sent: '999.1.1.1'. Expected: a valid IPv4 address (e.g. 192.0.2.1)."),
    ("ipv6", IPv6Address, None, "::g", "x", "Invalid ip. You sent: '::g'. Expected: a valid IPv6 address (e.g. 2001:db8::1)."),
    # Unions.
    ("union", int | list[int] | Cat, None, None, "x", "Expected integer | array | object with kind and lives, received null. You sent: null. Value didn't match any of the expected formats."),
    ("union in list", list[int | list[int]], None, [1, "a"], "x.1", "Expected integer | array, received string. You sent: 'a'. Value didn't match any of the expected formats."),
    ("union of like things", Cat | Dog | int, None, {"kind": "dog"}, "x.name", "Required. You sent: (missing). Expected type: string."),
    ("discriminator", Pet, PETS, {"kind": "cow"}, "x.kind", "Invalid discriminator value. Expected 'cat' | 'dog'. You sent: 'cow'."),
    ("discriminator missing", Pet, PETS, {"lives": 9}, "x.kind", "Required. You sent: (missing). Expected type: 'cat' | 'dog'."),
    ("discriminated", Pet, PETS, {"kind": "cat", "lives": "many"}, "x.lives", "Expected integer, received string. You sent: 'many'. Expected type: integer."),
    ("discriminated missing", Pet, PETS, {"kind": "cat"}, "x.lives", "Required. You sent: (missing). Expected type: integer."),
]  # fmt: skip


@pytest.mark.checklist(136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 148)
@pytest.mark.parametrize(
    ("annotation", "schema", "value", "name", "sentence"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_both_validators_say_the_same(annotation: Any, schema: Any, value: Any, name: str, sentence: str) -> None:
    model = taking(annotation)
    written = model.model_json_schema()
    if schema is not None:
        written = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    assert said(by_model(model, {"x": value})) == {name: sentence}
    assert said(by_schema(written, {"x": value})) == {name: sentence}


ONLY_PYDANTIC: list[tuple[str, Any, Any, str, str]] = [
    ("scheme", HttpUrl, "ftp://x", "x", "URL scheme should be 'http' or 'https'. You sent: 'ftp://x'."),
    ("ip", IPvAnyAddress, "999.1.1.1", "x", "value is not a valid IPv4 or IPv6 address. You sent: '999.1.1.1'."),
    ("past", PastDate, "2999-01-01", "x", "Date should be in the past. You sent: '2999-01-01'."),
    ("finite", Annotated[float, Field(allow_inf_nan=False)], float("inf"), "x", "Expected number, received infinity. You sent: 'inf'. Expected type: number."),
    ("key", dict[int, int], {"a": 1}, "x.a", "Input should be a valid integer, unable to parse string as an integer. You sent: 'a'."),
    ("own words", Annotated[str, AfterValidator(lambda value: _refuse("Ask nicely."))], "now", "x", "Ask nicely. You sent: 'now'."),
    ("own words without a stop", Annotated[str, AfterValidator(lambda value: _refuse("ask nicely"))], "now", "x", "ask nicely. You sent: 'now'."),
    ("set", set[int], 5, "x", "Expected array, received number. You sent: 5. Expected type: array."),
]  # fmt: skip


def _refuse(words: str) -> Any:
    raise ValueError(words)


@pytest.mark.checklist(139)
@pytest.mark.parametrize(
    ("annotation", "value", "name", "sentence"),
    [row[1:] for row in ONLY_PYDANTIC],
    ids=[row[0] for row in ONLY_PYDANTIC],
)
def test_what_only_pydantic_knows(annotation: Any, value: Any, name: str, sentence: str) -> None:
    assert said(by_model(taking(annotation), {"x": value})) == {name: sentence}


ONLY_SCHEMA: list[tuple[str, dict[str, Any], Any, str, str]] = [
    ("unique", {"type": "array", "uniqueItems": True}, [1, 1], "x", "Array must not contain an element twice. You sent: array(2). Each item must be unique."),
    ("contains", {"type": "array", "contains": {"const": 1}}, [2], "x", "Array lacks an element that it must contain. You sent: array(1)."),
    ("max keys", {"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, "x", 'Object must contain at most 1 key(s). You sent: {"a":1,"b":2}. Maximum 1 key.'),
    ("types", {"type": ["string", "integer"]}, None, "x", "Expected string | integer, received null. You sent: null. Expected type: string | integer."),
    ("host name", {"type": "string", "format": "hostname"}, "??", "x", "Invalid hostname. You sent: '??'. Expected: a valid host name (e.g. api.example.com)."),
    ("key", {"type": "object", "propertyNames": {"maxLength": 2}}, {"abc": 1}, "x.abc", "Invalid key in object"),
    ("nothing allowed", False, 1, "x", "Invalid input. You sent: 1."),  # type: ignore[list-item]
    ("not", {"not": {"const": 1}}, 1, "x", "Invalid input. You sent: 1."),
    ("two of one", {"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "x", "Invalid input. You sent: 1. Must fit one of its forms alone, not several."),
    ("prefix", {"prefixItems": [{"type": "integer"}], "items": False}, [1, 2], "x", "Array must contain at most 1 element(s). You sent: array(2). Maximum 1 item."),
    ("dependent", {"dependentRequired": {"a": ["b"]}}, {"a": 1}, "x.b", "Required. You sent: (missing)."),
    ("unevaluated", {"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1, "q": 1}, "x", "Unrecognized key(s) in object: 'q'. Remove or correct unrecognized fields: 'q'. Check for typos."),
    ("unknown in it", {"properties": {"a": {}}, "additionalProperties": False}, {"q": 1}, "x", "Unrecognized key(s) in object: 'q'. Remove or correct unrecognized fields: 'q'. Check for typos."),
    ("condition", {"if": {"minimum": 5}, "then": {"multipleOf": 2}}, 7, "x", "Number must be a multiple of 2. You sent: 7. Must be a multiple of 2."),
    ("reference", {"$ref": "#/$defs/small"}, 7, "x", "Number must be less than or equal to 3. You sent: 7. Must be &lt;= 3."),
    ("either type and more", {"enum": [1, 2], "type": "integer"}, "a", "x", "Expected 1 | 2, received string. You sent: 'a'. Expected type: 1 | 2."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "value", "name", "sentence"), [row[1:] for row in ONLY_SCHEMA], ids=[row[0] for row in ONLY_SCHEMA]
)
def test_what_only_a_schema_knows(rule: Any, value: Any, name: str, sentence: str) -> None:
    schema = {"type": "object", "properties": {"x": rule}, "$defs": {"small": {"maximum": 3}}}
    assert said(by_schema(schema, {"x": value})) == {name: sentence}


@pytest.mark.checklist(145)
def test_what_is_missing_is_named_with_its_type() -> None:
    model = create_model("Model", name=(str, ...), age=(int | None, ...), role=(Literal["a", "b"], ...))
    for error in (by_model(model, {}), by_schema(model.model_json_schema(), {})):
        assert said(error) == {
            "name": "Required. You sent: (missing). Expected type: string.",
            "age": "Required. You sent: (missing). Expected type: integer.",
            "role": "Required. You sent: (missing). Expected type: 'a' | 'b'.",
        }
        assert [(field.rule, field.sent) for field in error.fields] == [("required", UNSET)] * 3


def test_it_is_one_error_that_names_the_tool_and_the_arguments() -> None:
    model = create_model("Model", email=(EmailStr, ...), role=(Literal["a", "b"], ...))
    error = by_model(model, {"email": "x", "role": "c"}, tool="users", action="create")
    assert isinstance(error, fw.Invalid)
    assert (error.code, error.tool, error.action) == ("VALIDATION_ERROR", "users", "create")
    assert error.message == "Invalid arguments for users.create: email, role."
    assert error.suggestion is None
    assert [(field.path, field.rule, field.sent, field.options) for field in error.fields] == [
        (("email",), "format", "x", ()),
        (("role",), "enum", "c", ("a", "b")),
    ]


@pytest.mark.checklist(149)
def test_a_mistake_in_the_whole_stands_at_the_root_and_shows_nothing() -> None:
    class Range(BaseModel):
        low: int
        high: int

        @model_validator(mode="after")
        def ordered(self) -> Range:
            if self.low > self.high:
                raise ValueError("low must be below high")
            return self

    error = by_model(Range, {"low": 2, "high": 1}, tool="range")
    assert said(error) == {"(root)": "low must be below high"}
    assert error.message == "Invalid arguments for range."


def test_many_problems_are_counted_and_few_are_listed() -> None:
    model = create_model("Model", xs=(list[int], ...))
    for error in (
        by_model(model, {"xs": ["a"] * 33}, tool="t"),
        by_schema(model.model_json_schema(), {"xs": ["a"] * 33}, tool="t"),
        by_model(model, {"xs": ["a"] * 33}, tool="t"),
    ):
        assert len(error.fields) == 20
        assert error.message == (
            "Invalid arguments for t: xs[0], xs[1], xs[2], xs[3], xs[4] and 28 more. The first 20 of 33 problems are listed."
        )
    thousands = by_model(model, {"xs": ["a"] * 3_000})
    assert "The first 20 of 3000 problems are listed." in thousands.message
    thousands = by_schema(model.model_json_schema(), {"xs": ["a"] * 3_000})
    assert "The first 20 of more than 500 problems are listed." in thousands.message


def test_many_options_are_listed_in_part() -> None:
    model = taking(Literal[tuple(f"option{i}" for i in range(300))])
    (field,) = by_model(model, {"x": "nothing"}).fields
    assert len(field.options) == 25
    assert "| … 275 more, received 'nothing'" in field.message


def test_an_error_without_errors_is_still_an_error() -> None:
    class Silent:
        def errors(self, **_: Any) -> Any:
            raise RuntimeError

    error = from_pydantic(Silent(), tool="t")
    assert isinstance(error, fw.Invalid)
    assert error.fields == ()
    assert "above" not in str(error.suggestion)


def test_the_text_names_the_next_action() -> None:
    error = by_model(taking(Literal["fast", "slow"]), {"x": "Fast"}, tool="t")
    assert fw.render(error, "text") == (
        'x must be one of fast, slow. Next: call t with x = "fast", and the rest unchanged.'
    )


def test_without_a_schema_pydantics_own_words_are_passed_on() -> None:
    with pytest.raises(ValidationError) as caught:
        taking(Colour).model_validate({"x": "green", "y": 1})
    assert said(from_pydantic(caught.value)) == {
        "x": "Input should be 'red' or 'blue'. You sent: 'green'.",
        "(root)": "Unrecognized key(s) in object: 'y'. Remove or correct unrecognized fields: 'y'. Check for typos.",
    }


def test_rules_that_mean_the_same_are_the_same() -> None:
    """A model, a function and a schema: one mistake, one text."""

    def function(limit: int) -> None: ...

    class Model(BaseModel):
        model_config = ConfigDict(extra="forbid")
        limit: int

    arguments = {"limt": 5}
    schema = Model.model_json_schema()
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(function).validate_python(arguments)
    called = from_pydantic(caught.value, schema=schema, arguments=arguments)
    assert json.loads(fw.render(called, "canonical")) == json.loads(fw.render(by_model(Model, arguments), "canonical"))
    assert said(called) == said(by_schema(schema, arguments))


@pytest.mark.parametrize(
    ("schema", "sent", "words"),
    [
        # A flag beside the limit, as draft 4 has it.
        (
            {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            0,
            'x must be more than 0. Next: call t with x = "<more than 0>", and the rest unchanged.',
        ),
        ({"const": "yes"}, "no", 'x must be "yes". Next: call t with x = "yes", and the rest unchanged.'),
        (
            {"anyOf": [{"type": "integer"}, {"type": "object", "required": ["a", "b"]}]},
            "no",
            'x must be an integer or an object with a and b. Next: call t with x = "<integer or an object with a and b>", '
            "and the rest unchanged.",
        ),
        (
            {"anyOf": [{"enum": ["low", "high"]}, {"type": "number"}]},
            [],
            "x must be 'low' or 'high' or a number. Next: call t with x = \"<'low' or 'high' or a number>\", and the rest "
            "unchanged.",
        ),
        (
            {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "string"}]},
            {"b": 1},
            'x.a is missing. Next: call t with x.a = "<a>", and the rest unchanged.',
        ),
        (
            {"anyOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"required": ["b", "c"]}]},
            {"a": "no"},
            'x.a must be an integer. Next: call t with x.a = "<integer>", and the rest unchanged.',
        ),
        (
            {"anyOf": [{"type": "string", "minLength": 5}, {"type": "string", "maxLength": 1}]},
            "no",
            'x: Invalid input. Next: call t with x = "<corrected x>", and the rest unchanged.',
        ),
        ({"const": 5}, "no", "x must be 5. Next: call t with x = 5, and the rest unchanged."),
    ],
)
def test_what_belongs_there_is_said_as_the_schema_has_it(schema: Any, sent: Any, words: str) -> None:
    draft = "http://json-schema.org/draft-04/schema#" if "exclusiveMinimum" in schema else None
    whole = {**({"$schema": draft} if draft else {}), "type": "object", "properties": {"x": schema}}
    error = from_schema(whole, {"x": sent}, tool="t")
    assert error is not None
    assert fw.render(error, "text") == words


@pytest.mark.parametrize("more", [{}, {"additionalProperties": False}], ids=["open", "closed"])
def test_a_name_that_stands_for_a_missing_argument_is_renamed_by_the_next_call(more: dict[str, Any]) -> None:
    schema = {"properties": {"query": {"type": "string"}}, "required": ["query"], **more}
    error = from_schema(schema, {"qeury": "tea"}, tool="search")
    assert error is not None
    assert [(change.op, change.path, change.to) for change in error.patch] == [("rename", ("qeury",), "query")]
    told = fw.render(error.replace(sent=shown_arguments({"qeury": "tea"}, schema)))
    assert told == 'query is missing. There is no argument qeury. Next: call search with {"query": "tea"}.'


NAMED = {"type": "object", "properties": {"name": {"type": "string"}, "age": {}}, "required": ["name"]}
ADDRESSED = {"type": "object", "properties": {"addr": {"type": "object"}}, "required": ["addr"]}


@pytest.mark.parametrize(
    ("schema", "sent", "words", "renames"),
    [
        (
            {"properties": {"o": NAMED}},
            {"o": {"NAME": "x", "age": 3}},
            '{"o": {"name": "x", "age": 3}}',
            [("o", "NAME")],
        ),
        (
            {"properties": {"o": {"type": "array", "items": NAMED}}},
            {"o": [{"name": "x"}, {"nmae": "y"}]},
            '{"o": [{"name": "x"}, {"name": "y"}]}',
            [("o", 1, "nmae")],
        ),
        ({"allOf": [NAMED, ADDRESSED]}, {"addr": {}, "nmae": "x"}, '{"addr": {}, "name": "x"}', [("nmae",)]),
        (
            {"properties": {"o": {**NAMED, "additionalProperties": True}}},
            {"o": {"Name": "x", "more": 1}},
            '{"o": {"name": "x", "more": 1}}',
            [("o", "Name")],
        ),
        # The one that is missing and the one that is unknown.
        (ADDRESSED, {"address": {"zip": "1"}}, '{"addr": {"zip": "1"}}', [("address",)]),
        (
            {"properties": {"o": ADDRESSED}},
            {"o": {"address": {"zip": "1"}}},
            '{"o": {"addr": {"zip": "1"}}}',
            [("o", "address")],
        ),
        # Not near: an object may have more than its schema tells.
        ({"properties": {"o": NAMED}}, {"o": {"colour": 1}}, '{"o": {"colour": 1, "name": "<string>"}}', []),
    ],
)
def test_a_name_that_stands_for_a_missing_one_is_renamed_wherever_it_stands(
    schema: Any, sent: Any, words: str, renames: list[Any]
) -> None:
    error = from_schema({"type": "object", **schema}, sent, tool="t")
    assert error is not None
    assert [change.path for change in error.patch if change.op == "rename"] == renames
    assert fw.render(error.replace(sent=shown_arguments(sent, schema)), "text").endswith(f"Next: call t with {words}.")


def test_pydantic_alone_misses_a_name_and_the_schema_tells_which_one_stands_for_it() -> None:
    class Addressed(BaseModel):
        addr: dict[str, str]

    sent = {"address": {"zip": "1"}}
    with pytest.raises(ValidationError) as caught:
        Addressed.model_validate(sent)
    error = from_pydantic(caught.value, tool="t", schema=ADDRESSED, arguments=sent)
    assert fw.render(error.replace(sent=shown_arguments(sent, ADDRESSED)), "text") == (
        'addr is missing. There is no argument address. Next: call t with {"addr": {"zip": "1"}}.'
    )


def test_a_name_that_is_let_pass_is_no_mistake_beside_another() -> None:
    schema = {"properties": {"query": {"type": "string"}}, "required": ["query"]}
    error = from_schema(schema, {"colour": "red", "size": 3}, tool="search")
    assert error is not None
    assert [each.name for each in error.fields] == ["query"]
