"""What our validator says is what the SDK's own says: whatever the schema, and whatever the value."""

from __future__ import annotations

from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.schema import Checker

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
def test_the_validator_says_what_the_sdks_says(schema: Any, value: Any) -> None:
    assert Checker(schema).fits(value) == by_jsonschema(schema, value)
