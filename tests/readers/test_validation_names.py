"""Names that are nearly right: of arguments, of options, of tools."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.model import apply_patch
from failwell.readers import applied_schema
from failwell.readers.validation import check_names, unknown_arguments, unknown_tool
from failwell.schema import NO_PROBLEMS, Checker, invalid, is_certain, nearest, normal, one_edit, ranked

TOOLS = ["list_projects", "create_project", "delete_project", "get_weather"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("limt", "limit"),
        ("LIMIT", "limit"),
        ("userid", "user_id"),
        ("UserID", "user_id"),
        ("user-id", "user_id"),
        ("start date", "startDate"),
        ("start_date", "startDate"),
        ("ofset", "offset"),
        ("maximum_limit", None),
        ("xyz", None),
        ("", None),
        ("l" * 1_000_000, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_nearest_name(word: str, meant: str | None) -> None:
    assert nearest(word, ["limit", "offset", "user_id", "startDate"]) == meant


@pytest.mark.parametrize(
    ("word", "match", "words", "certain"),
    [
        ("limt", "limit", [], True),
        ("limitt", "limit", [], True),
        ("lomit", "limit", [], True),
        ("ilmit", "limit", [], True),
        ("Limit", "limit", [], True),
        ("userId", "user_id", ["user_id", "limit"], True),
        ("lmt", "limit", [], False),
        ("ids", "id", [], False),
        ("boo", "book", [], False),
        ("boot", "book", ["book", "boon"], False),
        ("a_b", "ab", ["ab", "a-b"], False),
        ("us-east-1", "us-east-2", [], False),
        ("version", "version2", [], False),
        ("-1", "1", [], False),
        ("1.5", "15", [], False),
        ("x" * 1_000, "x" * 1_001, [], False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_when_a_name_is_certain(word: str, match: str, words: list[str], certain: bool) -> None:
    assert is_certain(word, match, words) is certain


@given(word=st.text(max_size=12), index=st.integers(0, 20), letter=st.characters())
def test_one_edit_is_one_edit(word: str, index: int, letter: str) -> None:
    at = min(index, len(word))
    edits = {
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    } - {word}
    for edit in edits:
        assert one_edit(word, edit)
        assert one_edit(edit, word)
    assert not one_edit(word, word)
    assert not one_edit(word, word + letter * 2)


@given(word=st.text(max_size=120), words=st.lists(st.text(max_size=120), max_size=6))
def test_the_nearest_is_one_of_them(word: str, words: list[str]) -> None:
    found = nearest(word, words)
    assert found is None or found in words
    assert set(ranked(word, words, most=3)) <= set(words)
    assert normal(normal(word)) == normal(word) or "_" in word
    for other in words:
        assert is_certain(word, other, words) in (True, False)


def test_a_tool_that_does_not_exist_is_answered_with_the_one_that_was_meant() -> None:
    error = unknown_tool("list_project", TOOLS)
    assert isinstance(error, fw.NotFound)
    assert error.code == "UNKNOWN_TOOL"
    assert error.message == "There is no tool 'list_project'."
    assert error.suggestion == "Did you mean 'list_projects'?"
    assert [action.tool for action in error.actions] == ["list_projects"]


def test_of_many_tools_only_the_nearest_are_named() -> None:
    many = [f"{verb}_{noun}{i}" for verb in ("get", "set") for noun in ("user", "order") for i in range(100)]
    near = unknown_tool("get_user", many)
    assert len(near.actions) <= 1
    assert unknown_tool("frobnicate", many).actions == ()
    assert len(unknown_tool("frobnicate", many).suggestion) < 200


def test_that_a_tool_exists_is_no_reason_to_call_it() -> None:
    error = unknown_tool("frobnicate", ["list_projects", "get_weather"])
    assert fw.render(error) == "There is no tool 'frobnicate'. Choose one of the tools: 'list_projects', 'get_weather'."
    assert unknown_tool("x", []).suggestion == "The server has no tools: tell the user."


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"limit": {"type": "integer"}, "offset": {}}}


def test_known_names_cost_nothing_and_say_nothing() -> None:
    assert check_names({"limit": 1, "offset": 2}, SCHEMA) is NO_PROBLEMS
    assert check_names({}, SCHEMA) is NO_PROBLEMS
    assert not NO_PROBLEMS


@pytest.mark.checklist(150, 151)
def test_an_unknown_name_is_refused_with_the_contracts_words() -> None:
    problems = check_names({"limt": 5}, SCHEMA)
    assert problems
    error = invalid(problems, tool="search")
    assert fw.render(error, "xml") == (
        '<validation_error action="search">\n'
        "  <field name=\"(root)\">Unrecognized key(s) in object: 'limt'. "
        "Remove or correct unrecognized fields: 'limt'. Check for typos.</field>\n"
        "  <recovery>Did you mean 'limit' instead of 'limt'? "
        "Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )
    assert error.message == "Invalid arguments for search: limt."
    assert apply_patch({"limt": 5}, error.patch) == {"limit": 5}
    assert unknown_arguments(["limt"], ["limit", "offset"], tool="search", arguments={"limt": 5}) == error


@pytest.mark.parametrize(
    ("schema", "refused"),
    [
        ({"properties": {}}, True),
        ({"properties": {}, "additionalProperties": False}, True),
        ({"properties": {}, "additionalProperties": True}, False),
        ({"properties": {}, "additionalProperties": {"type": "string"}}, False),
        ({"properties": {}, "additionalProperties": {}}, False),
        ({"properties": {}, "patternProperties": {"^x": {}}}, False),
        ({"properties": {}, "allOf": [{"properties": {"limit": {}}}]}, False),
        ({"properties": {}, "required": ["other"]}, False),
        ({"properties": {}, "required": ["another"]}, True),
        ({"properties": {}, "required": True}, True),
        ({"properties": {}, "required": ["other"], "additionalProperties": False}, False),
        ({"properties": {}, "dependentRequired": {"a": ["other"]}}, False),
        ({"properties": {}, "dependentRequired": {"other": ["a"]}}, False),
        ({"properties": {}, "dependencies": {"a": ["other"]}}, False),
        ({"properties": {}, "dependencies": {"a": ["b"]}}, True),
        ({"properties": {}, "dependencies": {"a": {"properties": {"other": {}}}}}, False),
        ({"properties": {}, "dependentSchemas": {"a": {"required": ["other"]}}}, False),
        ({"properties": {}, "if": {}, "then": {"required": ["other"]}}, False),
        ({"properties": {}, "anyOf": [{"required": ["other"]}, {"required": ["a"]}]}, False),
        ({"properties": {}, "oneOf": [{"required": ["other"]}]}, False),
        ({"properties": {}, "propertyNames": {"enum": ["other"]}}, False),
        ({"properties": {}, "unevaluatedProperties": {"type": "integer"}}, False),
        ({"type": "object"}, False),
        ({}, False),
        ({"properties": None}, False),
        (None, False),
        (True, False),
    ],
    ids=str,
)
def test_a_schema_that_allows_more_is_believed(schema: Any, refused: bool) -> None:
    assert bool(check_names({"other": 1}, schema)) is refused


def test_a_name_that_is_only_asked_for_is_meant_by_one_that_is_misspelt() -> None:
    problems = check_names({"currncy": "EUR"}, {"properties": {"amount": {}}, "required": ["currency"]})
    assert [(change.path, change.to) for change in problems.patch] == [(("currncy",), "currency")]


@pytest.mark.parametrize("extra", ["reject", "auto"])
def test_a_server_that_takes_no_other_arguments_takes_what_its_schema_asks_for(extra: str) -> None:
    schema = {"properties": {"a": {}}, "required": ["b"]}
    assert Checker(applied_schema(schema, extra)).fits({"b": 1})
    assert Checker(applied_schema(schema, extra)).fits({"b": 1, "c": 1}) is (extra == "auto")


def test_problems_of_several_origins_are_joined_and_said_once() -> None:
    names = check_names({"limt": 5}, SCHEMA)
    error = invalid(names, NO_PROBLEMS, names, tool="t")
    assert len(error.fields) == 1
    assert len(error.patch) == 1
    assert error == invalid(names, tool="t")


def test_many_unknown_names_are_counted() -> None:
    error = invalid(check_names({f"other{i}": 1 for i in range(30)}, SCHEMA))
    assert error.fields[0].message.endswith("'other9' and 20 more")
    assert error.message == "Invalid arguments: other0, other1, other2, other3, other4 and 25 more."
