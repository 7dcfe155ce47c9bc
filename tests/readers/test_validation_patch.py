"""The change that fixes a call: made only when it is certain, and then it does."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

import failwell as fw
from failwell import formats
from failwell.model import apply_patch
from failwell.readers.validation import call_of, from_pydantic
from failwell.schema import check, invalid

FORMATS = FormatChecker()


def problems(schema: dict[str, Any], arguments: dict[str, Any]) -> list[Any]:
    return list(Draft202012Validator(schema, format_checker=FORMATS).iter_errors(arguments))


def refused(schema: dict[str, Any], arguments: dict[str, Any]) -> fw.ToolError:
    return invalid(check(call_of(schema, arguments), formats=True))


def taking(property: Any, required: bool = True) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"x": property},
        "additionalProperties": False,
        "required": ["x"] if required else [],
    }


CAT = {
    "type": "object",
    "properties": {"lives": {"type": "integer"}},
    "required": ["lives"],
    "additionalProperties": False,
}

CERTAIN: list[tuple[str, Any, Any, Any]] = [
    ("whole number", {"type": "integer"}, "5", 5),
    ("negative", {"type": "integer"}, " -5 ", -5),
    ("number", {"type": "number"}, "2.5", 2.5),
    ("text", {"type": "string"}, 5, "5"),
    ("true", {"type": "boolean"}, "True", True),
    ("false", {"type": "boolean"}, "false", False),
    ("one item", {"type": "array", "items": {"type": "integer"}}, 5, [5]),
    ("one text", {"type": "array", "items": {"type": "string"}}, "a", ["a"]),
    ("list in a text", {"type": "array", "items": {"type": "string"}}, '["a","b"]', ["a", "b"]),
    ("object in a text", CAT, '{"lives": 9}', {"lives": 9}),
    ("case", {"enum": ["admin", "user"]}, "Admin", "admin"),
    ("spacing", {"enum": ["in_progress", "done"]}, "In Progress", "in_progress"),
    ("typo", {"enum": ["pending", "done"]}, "pendign", "pending"),
    ("other type", {"enum": [1, 2, 3]}, "3", 3),
    ("text of a number", {"type": "string", "enum": ["1", "2"]}, 2, "2"),
    ("literal", {"const": "always"}, "Always", "always"),
    ("nullable", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
    ("two parts", {"allOf": [{"minimum": 10}], "type": "integer", "minimum": 1}, "20", 20),
    ("reference", {"$ref": "#/properties/x/$defs/n", "$defs": {"n": {"type": "integer"}}}, "5", 5),
]
UNCERTAIN: list[tuple[str, Any, Any]] = [
    ("not a number", {"type": "integer"}, "five"),
    ("a fraction", {"type": "integer"}, "5.5"),
    ("out of range", {"type": "integer", "maximum": 3}, 5),
    ("out of range as a text", {"type": "integer", "maximum": 3}, "5"),
    ("yes", {"type": "boolean"}, "yes"),
    ("null", {"type": "string"}, None),
    ("a flag for a text", {"type": "string"}, True),
    ("a text that must match", {"type": "string", "pattern": "^a"}, 5),
    ("a text of a format", {"type": "string", "format": "date"}, 2024),
    ("several in one text", {"type": "array", "items": {"type": "string"}}, "a, b"),
    ("wrong item", {"type": "array", "items": {"type": "integer"}}, "a"),
    ("too few", {"type": "array", "items": {"type": "integer"}, "minItems": 2}, 5),
    ("wrong object in a text", CAT, '{"lives": "nine"}'),
    ("twice the same key", CAT, '{"lives": 9, "lives": 8}'),
    ("half a text", CAT, '{"lives": 9'),
    ("no such number", {"type": "array", "items": {}}, "[NaN]"),
    ("far option", {"enum": ["admin", "user"]}, "superadmin"),
    ("short option", {"enum": ["on", "off"]}, "of"),
    ("two options", {"enum": ["boot", "book"]}, "boo"),
    ("two spellings", {"enum": ["a_b", "ab"]}, "A-B"),
    ("another number", {"enum": ["version1", "version2"]}, "version3"),
    ("another sign", {"enum": ["1"]}, "-1"),
    ("two types", {"type": ["integer", "boolean"]}, "many"),
    ("another part", {"allOf": [{"type": "integer"}], "minimum": 10}, "2"),
    ("a union", {"anyOf": [{"type": "integer"}, {"type": "array"}]}, "5"),
    ("other literal", {"const": "on"}, "off"),
    ("confirmation", {"const": True}, False),
]


@pytest.mark.parametrize(("rule", "sent", "right"), [row[1:] for row in CERTAIN], ids=[row[0] for row in CERTAIN])
def test_a_certain_change_is_given_and_works(rule: Any, sent: Any, right: Any) -> None:
    schema = taking(rule)
    error = refused(schema, {"x": sent})
    assert [(change.op, change.path, change.value) for change in error.patch] == [("set", ("x",), right)]
    assert type(error.patch[0].value) is type(right)
    assert problems(schema, apply_patch({"x": sent}, error.patch)) == []


@pytest.mark.parametrize(("rule", "sent"), [row[1:] for row in UNCERTAIN], ids=[row[0] for row in UNCERTAIN])
def test_what_is_not_certain_is_left_to_the_caller(rule: Any, sent: Any) -> None:
    error = refused(taking(rule), {"x": sent})
    assert error.fields
    assert error.patch == ()


@pytest.mark.parametrize(
    ("rule", "right"),
    [({"const": "v1"}, "v1"), ({"enum": [3]}, 3), ({"type": "integer", "default": 10}, 10)],
    ids=["literal", "only option", "default"],
)
def test_what_can_only_be_one_thing_is_filled_in(rule: Any, right: Any) -> None:
    error = refused(taking(rule), {})
    assert [(change.path, change.value) for change in error.patch] == [(("x",), right)]
    assert problems(taking(rule), apply_patch({}, error.patch)) == []


@pytest.mark.parametrize(
    "rule",
    [{"type": "string"}, {"enum": ["a", "b"]}, {"const": True}, {"type": "integer", "default": "ten"}],
    ids=["any", "options", "confirmation", "bad default"],
)
def test_what_could_be_anything_is_not(rule: Any) -> None:
    assert refused(taking(rule), {}).patch == ()


RENAMES: list[tuple[str, list[str], dict[str, Any], dict[str, Any] | None]] = [
    ("typo", ["limit", "offset"], {"limt": 5}, {"limit": 5}),
    ("swap", ["limit"], {"limti": 5}, {"limit": 5}),
    ("camel case", ["user_id"], {"userId": 5}, {"user_id": 5}),
    ("snake case", ["userId"], {"user_id": 5}, {"userId": 5}),
    ("two", ["limit", "offset"], {"limt": 5, "ofset": 6}, {"limit": 5, "offset": 6}),
    ("sent too", ["limit"], {"limt": 5, "limit": 6}, None),
    ("two for one", ["limit"], {"limt": 5, "limti": 6}, None),
    ("far", ["limit"], {"bogus": 5}, None),
    ("two near", ["limit1", "limit2"], {"limit": 5}, None),
    ("short", ["id"], {"ip": 5}, None),
]


@pytest.mark.parametrize(("known", "sent", "right"), [row[1:] for row in RENAMES], ids=[row[0] for row in RENAMES])
def test_a_misspelt_argument_is_renamed_when_only_one_can_be_meant(
    known: list[str], sent: dict[str, Any], right: dict[str, Any] | None
) -> None:
    schema = {"type": "object", "properties": dict.fromkeys(known, True), "additionalProperties": False}
    error = refused(schema, sent)
    assert apply_patch(sent, error.patch) == (right or sent)
    assert all(change.op == "rename" for change in error.patch)


def test_a_rename_brings_the_argument_that_was_missing() -> None:
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "default": 10}},
        "required": ["limit"],
        "additionalProperties": False,
    }
    error = refused(schema, {"limt": 5})
    assert apply_patch({"limt": 5}, error.patch) == {"limit": 5}
    assert error.suggestion == "Did you mean 'limit' instead of 'limt'?"


def test_names_inside_are_renamed_where_they_are() -> None:
    class Item(BaseModel):
        model_config = ConfigDict(extra="forbid")
        quantity: int

    model = create_model("Order", items=(list[Item], ...))
    sent = {"items": [{"quantity": 1}, {"quantty": 2}]}
    with pytest.raises(ValidationError) as caught:
        model.model_validate(sent)
    error = from_pydantic(caught.value, schema=model.model_json_schema(), arguments=sent)
    assert apply_patch(sent, error.patch) == {"items": [{"quantity": 1}, {"quantity": 2}]}
    assert [field.name for field in error.fields] == ["items.1.quantity", "items.1"]


def test_pydantics_strict_mode_is_helped_too() -> None:
    model = create_model("Model", a=(int, ...), b=(bool, ...), c=(Literal["Red", "Blue"], ...), d=(list[str], ...))
    sent = {"a": "5", "b": "true", "c": "red", "d": "x"}
    with pytest.raises(ValidationError) as caught:
        model.model_validate(sent, strict=True)
    error = from_pydantic(caught.value, schema=model.model_json_schema(), arguments=sent)
    assert model.model_validate(apply_patch(sent, error.patch), strict=True).model_dump() == {
        "a": 5, "b": True, "c": "Red", "d": ["x"],
    }  # fmt: skip


def test_inside_a_text_nothing_is_changed() -> None:
    """The path leads into JSON that the server decoded; the arguments have no such place."""
    model = create_model("Model", items=(list[str], ...))
    sent = {"items": '["a", 5]'}
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"items": json.loads(sent["items"])})
    error = from_pydantic(caught.value, schema=model.model_json_schema(), arguments=sent)
    assert [(field.name, field.sent) for field in error.fields] == [("items.1", 5)]
    assert error.patch == ()


NAMES = st.sampled_from(["limit", "limt", "Limit", "offset", "ofset", "userId", "user_id", "x", "items", "api_key"])
LEAVES = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"},
        {"type": "integer", "minimum": 3}, {"type": "integer", "multipleOf": 5}, {"type": "string", "maxLength": 2},
        {"type": "string", "pattern": "^5"}, {"type": "string", "format": "date"}, {"type": ["integer", "string"]},
        {"enum": ["pending", "done", "Done"]}, {"enum": ["pending", "done"]}, {"enum": [1, 2, True]}, {"enum": ["5"]},
        {"const": "always"}, {"const": 5}, {"const": True}, {"type": "integer", "enum": [4, 5]},
        {"type": "integer", "default": 5}, {"type": "string", "default": 5}, {"default": None}, {}, True,
        {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"anyOf": [{"type": "integer"}, {"type": "array"}]},
        {"allOf": [{"type": "integer"}], "minimum": 10}, {"not": {"type": "integer"}, "type": ["integer", "string"]},
        {"$ref": "#/$defs/five"}, {"$ref": "#/$defs/five", "maximum": 4}, {"$ref": "#/$defs/none"},
        {"type": "integer", "not": {"const": 5}}, {"type": "string", "if": {"minLength": 1}, "then": False},
    ]
)  # fmt: skip
SCHEMAS = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": below},
            optional={
                "minItems": st.integers(0, 2),
                "uniqueItems": st.booleans(),
                "prefixItems": st.lists(below, max_size=1),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, below, max_size=3)},
            optional={
                "required": st.lists(NAMES, max_size=2, unique=True),
                "additionalProperties": st.one_of(st.booleans(), below),
                "maxProperties": st.integers(0, 2),
                "dependentRequired": st.just({"limit": ["offset"]}),
                "propertyNames": st.just({"maxLength": 5}),
            },
        ),
        st.fixed_dictionaries({"anyOf": st.lists(below, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(below, min_size=1, max_size=3)}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.sampled_from(
        [5, "5", "-5", 5.0, 5.5, "5.5", "true", "TRUE", True, False, None, "", "a", "a,b", "Pending", "pendign", "always",
         "Always", '["a"]', "[5]", '{"limit":5}', '{"x":"5"}', "2024-01-01", 1, "1", 4, "4", 10, "10"]
    ),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(NAMES, below, max_size=3)),
    max_leaves=6,
)  # fmt: skip


@given(
    properties=st.dictionaries(NAMES, SCHEMAS, max_size=4),
    required=st.lists(NAMES, max_size=2, unique=True),
    arguments=st.dictionaries(NAMES, VALUES, max_size=4),
)
def test_after_a_change_the_problem_it_is_about_is_gone(
    properties: dict[str, Any], required: list[str], arguments: dict[str, Any]
) -> None:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "$defs": {"five": {"type": "integer", "minimum": 5}},
    }
    # A reference to nothing is an error of the schema, not of the arguments.
    schema = json.loads(json.dumps(schema).replace("#/$defs/none", "#/$defs/five"))
    found = problems(schema, arguments)
    if not found:
        return
    error = refused(schema, arguments)
    fixed = apply_patch(arguments, error.patch)
    left = problems(schema, fixed)
    for change in error.patch:
        holder: Any = fixed
        for step in change.path[:-1]:
            holder = holder[step]
        if change.op == "rename":
            assert change.path[-1] not in holder
            assert change.to in holder
            continue
        assert holder[change.path[-1]] == change.value
        about = [each for each in left if tuple(each.absolute_path)[: len(change.path)] == change.path]
        assert about == [], (schema, arguments, change)
        missing = [each for each in left if each.validator == "required" and each.absolute_path == change.path[:-1]]
        assert not any(repr(change.path[-1]) in each.message for each in missing)
    for format in formats.FORMATS:
        assert fw.render(error, format)
