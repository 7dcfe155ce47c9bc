"""JSON in a text: the error objects of APIs, and the lists of validators."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.readers import from_text


def error(text: str, **known: Any) -> fw.ToolError:
    found = from_text(text, **{"is_error": True, **known})
    assert found is not None
    return found


def fields(text: str) -> list[dict[str, Any]]:
    return [problem.to_dict() for problem in error(text).fields]


def test_what_fastapi_answers() -> None:
    text = '{"detail":[{"type":"missing","loc":["body","name"],"msg":"Field required"}]}'
    assert fields(text) == [{"path": ["name"], "message": "Field required", "rule": "required"}]
    assert from_text(text) is not None


ZOD_4 = [
    {
        "expected": "string",
        "code": "invalid_type",
        "path": ["items", 0, "name"],
        "message": "Invalid input: expected string, received number",
    },
    {
        "code": "invalid_value",
        "values": ["a", "b"],
        "path": ["kind"],
        "message": 'Invalid option: expected one of "a"|"b"',
    },
    {"code": "unrecognized_keys", "keys": ["limt"], "path": [], "message": 'Unrecognized key: "limt"'},
]


ZOD_4_FIELDS = [
    {
        "path": ["items", 0, "name"],
        "message": "Invalid input: expected string, received number",
        "expected": "string",
        "rule": "type",
    },
    {"path": ["kind"], "message": 'Invalid option: expected one of "a"|"b"', "options": ["a", "b"], "rule": "enum"},
    {"path": ["limt"], "message": 'Unrecognized key: "limt"', "rule": "additionalProperties"},
]


ZOD_3 = [
    {"code": "invalid_type", "expected": "string", "received": "undefined", "path": ["id"], "message": "Required"},
    {
        "received": "z",
        "code": "invalid_enum_value",
        "options": ["a", "b"],
        "path": ["kind"],
        "message": "Invalid enum value. Expected 'a' | 'b', received 'z'",
    },
]


ZOD_3_FIELDS = [
    {"path": ["id"], "message": "Required", "expected": "string", "rule": "required"},
    {
        "path": ["kind"],
        "message": "Invalid enum value. Expected 'a' | 'b', received 'z'",
        "options": ["a", "b"],
        "rule": "enum",
    },
]


@pytest.mark.parametrize(
    "lead", ["", "Error: ", "MCP error -32602: Invalid arguments for tool get: ", "Invalid arguments for get: "]
)
@pytest.mark.parametrize(("issues", "expected"), [(ZOD_4, ZOD_4_FIELDS), (ZOD_3, ZOD_3_FIELDS)], ids=["4", "3"])
def test_zod_dumps(lead: str, issues: object, expected: object) -> None:
    assert fields(lead + json.dumps(issues, indent=2)) == expected


def test_what_ajv_lists() -> None:
    text = (
        '[{"instancePath":"/a","keyword":"type","params":{"type":"string"},"message":"must be string"},'
        '{"instancePath":"","keyword":"required","params":{"missingProperty":"q"},"message":"must have q"}]'
    )
    assert fields(text) == [
        {"path": ["a"], "message": "must be string", "expected": "string", "rule": "type"},
        {"path": ["q"], "message": "must have q", "rule": "required"},
    ]


def test_sentences_are_not_taken_apart() -> None:
    found = error("Input validation error: 'query' is a required property")
    assert (found.kind, found.fields) == ("validation", ())


def test_fields_as_many_apis_send_them() -> None:
    text = '{"message":"Validation Failed","errors":[{"field":"title","code":"missing_field"},{"field":"a.b","message":"bad"}]}'
    assert fields(text) == [
        {"path": ["title"], "message": "missing_field", "rule": "required"},
        {"path": ["a", "b"], "message": "bad"},
    ]


def test_fields_by_their_names() -> None:
    text = '{"errorMessages":[],"errors":{"title":["is too short","is odd"],"kind":"is not known"}}'
    assert fields(text) == [
        {"path": ["title"], "message": "is too short; is odd"},
        {"path": ["kind"], "message": "is not known"},
    ]
    assert error(text).code == "VALIDATION_ERROR"
    assert error('{"status":403,"errors":{"base":["Access denied"]}}').code == "FORBIDDEN"
    assert error('{"errors":{"message":"gone","code":"NOT_FOUND"}}').code == "NOT_FOUND"


def test_the_message_and_the_suggestion_of_an_object() -> None:
    text = '{"success":false,"error":{"code":"NOT_FOUND","message":"No light.","suggestion":"Call list."},"id":5}'
    found = error(text)
    assert (found.message, found.suggestion) == ("No light.", "Call list.")


def test_the_words_of_an_object_lose_their_prefixes_too() -> None:
    assert error('{"error":"MCP error -32603: Error: gone"}').message == "gone"
    assert error('{"name":"access_log","error":{"message":"gone"}}').code is None


def test_what_is_called_like_a_file_is_no_argument() -> None:
    assert error('{"errors": {"/home/bob/x.txt": "is missing", "C:\\\\a\\\\b": "is missing"}}').fields == ()
