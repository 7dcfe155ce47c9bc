"""A call that a server refuses in its own words is shown as it is to be made, as if it had never been sent."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.client import patched
from failwell.recovery import explained

USER = {"type": "object", "properties": {"userId": {"type": "integer"}}, "required": ["userId"]}
STRICT = {**USER, "additionalProperties": False}


def listed(node: dict[str, Any]) -> dict[str, Any]:
    return {"put": {"inputSchema": {"type": "object", "properties": {"x": node}, "required": ["x"]}}}


def refused(text: str, arguments: dict[str, Any], node: dict[str, Any]) -> fw.ToolError:
    error = fw.read({"content": [{"type": "text", "text": text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    return explained(error, "put", arguments, listed(node), text)


PYDANTIC = "validation error for putArguments\nx{}\n  {}, input_value=0, input_type=int]"
ZOD = "MCP error -32602: Input validation error: Invalid arguments for tool put: "
JSON_SCHEMA = "Input validation error: "


@pytest.mark.parametrize(
    ("node", "sent", "expected", "texts"),
    [
        (
            {"type": "integer", "maximum": 100},
            500,
            "Must be <= 100.",
            [
                "1 " + PYDANTIC.format("", "Input should be less than or equal to 100 [type=less_than_equal"),
                ZOD + "Too big: expected number to be <=100 at x",
                JSON_SCHEMA + "500 is greater than the maximum of 100",
            ],
        ),
        (
            {"type": "integer", "multipleOf": 5},
            3,
            "Must be a multiple of 5.",
            [
                "1 " + PYDANTIC.format("", "Input should be a multiple of 5 [type=multiple_of"),
                ZOD + "Invalid number: must be a multiple of 5 at x",
                JSON_SCHEMA + "3 is not a multiple of 5",
            ],
        ),
        (
            {"type": "string", "maxLength": 5},
            "abcdef",
            "Maximum length: 5 characters.",
            [
                "1 " + PYDANTIC.format("", "String should have at most 5 characters [type=string_too_long"),
                ZOD + "Too big: expected string to have <=5 characters at x",
                JSON_SCHEMA + "'abcdef' is too long",
            ],
        ),
        (
            {"type": "array", "minItems": 1},
            [],
            "Minimum 1 item.",
            [
                "1 " + PYDANTIC.format("", "List should have at least 1 item after validation, not 0 [type=too_short"),
                ZOD + "Too small: expected array to have >=1 items at x",
                JSON_SCHEMA + "[] should be non-empty",
            ],
        ),
    ],
)
def test_a_bound_that_a_server_holds_is_told_with_its_argument(
    node: dict[str, Any], sent: Any, expected: str, texts: list[str]
) -> None:
    for text in texts:
        error = refused(text, {"x": sent}, node)
        assert [(each.path, each.expected) for each in error.fields] == [(("x",), expected)], text
        assert error.sent is not None, text
        assert error.sent.arguments == {"x": sent}, text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (USER, "1 " + PYDANTIC.format(".userId", "Field required [type=missing")),
        (USER, ZOD + "Invalid input: expected number, received undefined at x.userId"),
        (USER, JSON_SCHEMA + "'userId' is a required property"),
        (
            STRICT,
            "2 validation errors for putArguments\nx.userId\n  Field required [type=missing, input_value={'user_id': 1}, input_type=dict]"
            "\nx.user_id\n  Extra inputs are not permitted [type=extra_forbidden, input_value=1, input_type=int]",
        ),
        (
            STRICT,
            ZOD + 'Invalid input: expected number, received undefined at x.userId\nUnrecognized key: "user_id" at x',
        ),
    ],
)
def test_a_name_in_another_spelling_that_a_server_misses_is_renamed(node: dict[str, Any], text: str) -> None:
    error = refused(text, {"x": {"user_id": 1}}, node)
    assert patched(error, {"x": {"user_id": 1}}) == {"x": {"userId": 1}}


def test_what_is_missing_elsewhere_is_no_matter_of_this_call() -> None:
    text = JSON_SCHEMA + "'token' is a required property"
    assert not refused(text, {"x": {"user_id": 1}}, USER).patch
