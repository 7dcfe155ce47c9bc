"""The call that is proposed for wrong arguments fits the tool's own schema, and the wrong argument is not in it."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from failwell.formats.next_call import next_call
from failwell.readers import from_schema
from failwell.schema import restraint

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def schema(*required: str, closed: bool = True, **properties: Any) -> dict[str, Any]:
    more = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": properties, "required": list(required), **more}


def proposed(tool_schema: Any, sent: Any) -> str:
    error = from_schema(tool_schema, sent, tool="t")
    assert error is not None
    return next_call(error.replace(sent=sent))


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(
    ("properties", "sent", "call"),
    [
        ({"bike_id": TEXT}, {"id": "b1"}, {"bike_id": "b1"}),
        ({"timezone": TEXT}, {"tz": "UTC"}, {"timezone": "UTC"}),
        ({"query": TEXT}, {"sql": "SELECT 1"}, {"query": "SELECT 1"}),
        ({"path": TEXT}, {"file": "/a"}, {"path": "/a"}),
        ({"names": TEXTS}, {"names": "a"}, {"names": ["a"]}),
        ({"names": TEXTS}, {"name": "a"}, {"names": ["a"]}),
        ({"names": TEXTS}, {"id": "a"}, {"names": ["a"]}),
        ({"names": {"type": "array"}}, {"names": "a"}, {"names": ["a"]}),
        ({"count": WHOLE}, {"count": "10"}, {"count": 10}),
        ({"count": {"type": "number"}}, {"count": "1.5"}, {"count": 1.5}),
        ({"count": {"anyOf": [WHOLE, {"type": "null"}]}}, {"count": "10"}, {"count": 10}),
        # Renamed for certain, but the value does not belong there.
        ({"limit": WHOLE}, {"limt": "x"}, {"limit": "<integer>"}),
        # A number is no name.
        ({"name": TEXT}, {"colour": 7}, {"name": "<string>"}),
        ({"code": {"type": "string", "pattern": "^[a-z]+$"}}, {"word": "abc"}, {"code": "abc"}),
    ],
)
def test_the_one_missing_and_the_one_unknown_argument_are_one(
    properties: Any, sent: Any, call: Any, closed: bool
) -> None:
    told = proposed(schema(*properties, closed=closed, **properties), sent)
    assert json.loads(_ARGUMENTS.search(told)[0]) == call  # type: ignore[index]


@pytest.mark.parametrize(
    ("properties", "sent", "step"),
    [
        ({"max_results": WHOLE, "offset": WHOLE}, {"limit": 5}, '{"max_results": 5}.'),
        ({"simulate": {"type": "boolean"}}, {"dry_run": True}, '{"simulate": true}.'),
        # Two fit, none fits, or it is a confirmation.
        ({"max_results": WHOLE, "max_size": WHOLE}, {"limit": 5}, "{} and an argument it has in place of limit."),
        ({"confirmed": {"type": "boolean"}}, {"confirm": True}, "{} and an argument it has in place of confirm."),
        ({"x": TEXT}, {"dry_run": True}, "an argument it has in place of dry_run, or without dry_run if it may be done in earnest, and the rest unchanged."),
    ],
)  # fmt: skip
def test_what_restrains_a_call_goes_to_the_argument_that_restrains_it_too(
    properties: Any, sent: Any, step: str
) -> None:
    assert proposed(schema(**properties), sent) == f"Next: call t with {step}"


@pytest.mark.parametrize("required", ["confirm", "dry_run"])
def test_no_other_argument_becomes_a_confirmation(required: str) -> None:
    step = proposed(schema(required, **{required: {"type": "boolean"}}), {"really": True})
    assert step == f'Next: call t with {{"{required}": "<true or false>"}}, without really.'


_ARGUMENTS = re.compile(r"\{.*\}")
_NAMES = st.sampled_from(
    "id name names path limit max_results query user_id userId file dry_run confirm tz nmae".split()
)
_VALUES = st.one_of(
    st.sampled_from(["a", "10", "1.5", "true", "", "b c", "[1]", "a,b"]), st.integers(-3, 30), st.booleans(), st.none(),
    st.lists(st.sampled_from(["a", 1]), max_size=2), st.dictionaries(_NAMES, st.integers(0, 3), max_size=2),
)  # fmt: skip
_NODES = st.sampled_from(
    [TEXT, WHOLE, TEXTS, {}, {"type": "boolean"}, {"type": "number", "minimum": 3}, {"enum": ["a", "b"]},
     {"type": "array", "items": WHOLE, "minItems": 1}, {"anyOf": [WHOLE, {"type": "null"}]}, {"type": "array"},
     {"type": "string", "pattern": "^[a-z]$"}, {"type": "string", "minLength": 2}, {"const": "a"}, {"$ref": "#/$defs/Id"},
     {"type": "object", "properties": {"id": WHOLE}, "required": ["id"], "additionalProperties": False}],
)  # fmt: skip


@st.composite
def _schemas(draw: st.DrawFn) -> dict[str, Any]:
    properties = draw(st.dictionaries(_NAMES, _NODES, min_size=1, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True, max_size=3))
    return {**schema(*required, closed=draw(st.booleans()), **properties), "$defs": {"Id": {"type": "string"}}}


@given(_schemas(), st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_the_next_call_is_valid_by_the_schema(tool_schema: dict[str, Any], sent: dict[str, Any]) -> None:
    error = from_schema(tool_schema, sent, tool="t")
    step = next_call(error.replace(sent=sent)) if error is not None else ""
    if not step.startswith("Next: call t with {"):
        event("no whole call")
        return
    call, _ = json.JSONDecoder().raw_decode(step.removeprefix("Next: call t with "))
    event("whole call")
    for broken in jsonschema.Draft202012Validator(tool_schema).iter_errors(call):
        # What is a hole says what belongs there.
        assert isinstance(broken.instance, str), (step, broken.message)
        assert broken.instance.startswith("<"), (step, broken.message)
    assert tool_schema.get("additionalProperties") is not False or call.keys() <= tool_schema["properties"].keys()


@given(_schemas(), st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_a_restraint_is_never_left_out_in_silence(tool_schema: dict[str, Any], sent: dict[str, Any]) -> None:
    error = from_schema(tool_schema, sent, tool="t")
    step = next_call(error.replace(sent=sent)) if error is not None else ""
    for name in sent if step.startswith("Next: call t with {") else ():
        kind = restraint(name)
        if kind is not None and name not in tool_schema["properties"]:
            call, end = json.JSONDecoder().raw_decode(step, step.index("{"))
            rest = step[end:].partition("in place of")[2].partition(" without")[0]
            assert name in rest or name in call or kind in {restraint(each) for each in call}
