"""What the relay says in its own voice of an argument is true by the tool's own schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playbook import Table, result

from failwell.formats import META_KEY

SIMPLE = st.sampled_from(
    [
        {"type": "number"},
        {"type": "integer", "minimum": 1},
        {"type": ["number", "null"]},
        {"anyOf": [{"type": "number"}, {"type": "null"}]},
        {"$ref": "#/$defs/Amount"},
        {"enum": [5, "five"]},
        {"type": "string", "minLength": 2},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "integer"}},
    ]
)
VALUES = st.sampled_from([5, 5.0, 0, "5", "five", None, True, [5], ["x"], {"amount": 5}])
NAMES = ("amount", "currency", "note")


@pytest.mark.parametrize("name", ["pay", "get_pay"])
@pytest.mark.parametrize("validate", ["auto", "on"])
@given(
    properties=st.dictionaries(st.sampled_from(NAMES), SIMPLE, min_size=1),
    required=st.lists(st.sampled_from(NAMES), unique=True),
    arguments=st.dictionaries(st.sampled_from((*NAMES, "amounts")), VALUES),
    words=st.sampled_from(["amount must be a number.", "Invalid arguments: amount: expected number", "no"]),
)
@settings(max_examples=60, deadline=None)
def test_no_argument_that_fits_the_schema_is_called_wrong(
    name: str, validate: str, properties: dict[str, Any], required: list[str], arguments: dict[str, Any], words: str
) -> None:
    defs = {"$defs": {"Amount": {"type": "number"}}}
    schema = {"type": "object", "properties": properties, "required": required, **defs}
    table = Table(connected=False, validate=validate)
    table.connect([{"name": name, "inputSchema": schema}])
    table.call(1, name, arguments)
    asked = table.heard()
    for id in [each["id"] for each in asked if each["method"] == "tools/list"]:
        table.server({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": name, "inputSchema": schema}]}})
        asked = table.heard()
    if any(each.get("method") == "tools/call" for each in asked):
        table.server(result(1, words, is_error=True))
    (told,) = table.told()
    error = told["result"]["_meta"][META_KEY]
    for problem in error.get("fields", ()):
        (path, *below) = problem["path"] or ("",)
        if path in properties and path in arguments and not below:
            fits = jsonschema_rs.is_valid({**properties[path], **defs}, arguments[path])
            assert not fits, (problem, json.dumps(schema), arguments)
