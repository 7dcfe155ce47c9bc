"""Where two validators are taken to say the same, they do: whatever the schema, and whatever the value."""

from __future__ import annotations

from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.schema.certainty import is_agreed

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False, width=32))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=4), st.sampled_from([0, 1, 1.0, True, "a"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
LIMITS = st.integers(0, 3)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
            "enum": st.lists(VALUES, min_size=1, max_size=3, unique_by=repr),
            "const": VALUES,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.one_of(st.integers(-3, 3), st.floats(-3, 3)),
            "minLength": LIMITS,
            "maxItems": LIMITS,
            "maxProperties": LIMITS,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "items": st.one_of(st.booleans(), inner),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.just("#/$defs/one"),
            "default": VALUES,
            "title": st.text(max_size=3),
        },
    )


SCHEMAS = st.builds(
    lambda node, one, draft: {**node, "$defs": {"one": one}, **({"$schema": draft} if draft else {})},
    st.recursive(schemas(st.booleans()), schemas, max_leaves=4),
    schemas(st.booleans()).map(lambda node: {name: value for name, value in node.items() if name != "$ref"}),
    st.sampled_from(["", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]),
)


def by_jsonschema(schema: Any, value: Any) -> bool:
    """As the SDK asks."""
    try:
        jsonschema.validate(instance=value, schema=schema)
    except jsonschema.ValidationError:
        return False
    return True


@given(SCHEMAS, VALUES)
@settings(max_examples=500, deadline=None)
def test_what_is_agreed_is_agreed(schema: Any, value: Any) -> None:
    if not is_agreed(schema):
        return
    assert jsonschema_rs.validator_for(schema).is_valid(value) == by_jsonschema(schema, value)


@given(SCHEMAS)
def test_what_is_built_of_plain_words_is_agreed(schema: Any) -> None:
    assert is_agreed(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^a"},
        {"properties": {"a": {"format": "date"}}},
        {"anyOf": [{"patternProperties": {"a": {}}}]},
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
        {"$ref": "https://example.com/one.json"},
        {"$ref": "#"},
        {"$defs": {"one": {"if": {}}}},
        {"multipleOf": 0.1},
        {"items": [{"type": "string"}]},
        {"properties": []},
        {"anyOf": {}},
        {"x-own": 1},
        "nonsense",
    ],
)
def test_what_validators_are_at_odds_about_is_not(schema: Any) -> None:
    assert not is_agreed(schema)
