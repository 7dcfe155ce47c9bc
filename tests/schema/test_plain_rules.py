"""What is found without a validator is what jsonschema finds, in its words and in its order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.readers import call_of
from failwell.schema import jsonschema_problems, told
from failwell.schema.check import _mistakes
from failwell.schema.plain_rules import plainly_broken

NAMES = st.sampled_from(["limit", "limt", "city", "a", "password"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
OPTIONS = st.lists(st.sampled_from(["open", "closed", "1", ""]), min_size=1, max_size=3)
NODES = st.fixed_dictionaries(
    {}, optional={"type": TYPES | st.lists(TYPES, min_size=1, max_size=2), "enum": OPTIONS, "title": st.just("It")}
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "required": st.lists(NAMES, max_size=3),
        "properties": st.dictionaries(NAMES, NODES | st.just(True), max_size=4),
        "additionalProperties": st.booleans(),
        "type": st.just("object"),
        "$schema": st.just("http://json-schema.org/draft-07/schema#"),
    },
)
VALUES = st.sampled_from(["open", "opne", "7", "true", 7, 7.0, 7.5, True, None, float("nan"), float("inf")])


@settings(max_examples=300, deadline=None)
@given(SCHEMAS, st.dictionaries(NAMES, VALUES, max_size=4))
def test_the_validator_finds_the_same(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    found = plainly_broken(schema, arguments)
    assert found is not None
    call = call_of(schema, arguments)
    assert told(found, call) == jsonschema_problems(list(_mistakes(call, own=True)), call)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"type": "integer", "minimum": 1}}}, {"a": 0}),
        ({"properties": {"a": {"type": "intger"}}}, {"a": 0}),
        ({"properties": {"a": {"enum": [1, True]}}}, {"a": 1}),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}}, {"a": 1}),
        ({"properties": {"a": {"type": "integer", "$schema": "http://json-schema.org/draft-04/schema"}}}, {"a": 1.0}),
        ({"properties": {"a": {"type": "integer"}}}, {"a": [1]}),
        ({"properties": {"a": False}}, {"a": 1}),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, {}),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}),
        ({"properties": {}, "patternProperties": {"^x": {}}}, {}),
        ({"required": [1]}, {}),
        ({"type": ["object", "null"]}, {}),
    ],
    ids=str,
)
def test_the_validator_is_asked_about_anything_else(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert plainly_broken(schema, arguments) is None


def test_what_is_not_sent_may_be_of_any_kind() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "tags": {"items": {"type": "string"}}}}
    assert plainly_broken(schema, {"a": 1}) == []
