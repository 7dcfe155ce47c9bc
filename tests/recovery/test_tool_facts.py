"""What a server's own list proves about a call that it refused, whatever the words in which it refuses."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.client import patched
from failwell.model import Traits
from failwell.recovery import explain_failure

USER = {"type": "object", "properties": {"userId": {"type": "integer"}}, "required": ["userId"]}
STRICT = {**USER, "additionalProperties": False}
TEXTS = ("Input validation error: x is bad", "Nein.", "503 Service Unavailable", "Paid. Do not call again.")


def listed(node: dict[str, Any]) -> dict[str, Any]:
    return {"put": {"inputSchema": {"type": "object", "properties": {"x": node}, "required": ["x"]}}}


def refused(text: str, arguments: dict[str, Any], node: dict[str, Any], *, reads: bool = True) -> fw.ToolError:
    error = fw.read({"content": [{"type": "text", "text": text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    return explain_failure(error, "put", arguments, listed(node), Traits("put", read_only=reads))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("node", "sent", "expected"),
    [
        ({"type": "integer", "maximum": 100}, 500, "Must be <= 100."),
        ({"type": "integer", "multipleOf": 5}, 3, "Must be a multiple of 5."),
        ({"type": "string", "maxLength": 5}, "abcdef", "Maximum length: 5 characters."),
        ({"type": "array", "minItems": 1}, [], "Minimum 1 item."),
    ],
)
def test_a_bound_that_a_server_lists_is_told_with_its_argument(
    node: dict[str, Any], sent: Any, expected: str, text: str
) -> None:
    error = refused(text, {"x": sent}, node)
    assert [(each.path, each.expected) for each in error.fields] == [(("x",), expected)]
    assert error.sent is not None
    assert error.sent.arguments == {"x": sent}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("node", [USER, STRICT])
def test_a_name_in_another_spelling_that_a_server_lists_is_renamed(node: dict[str, Any], text: str) -> None:
    error = refused(text, {"x": {"user_id": 1}}, node)
    assert patched(error, {"x": {"user_id": 1}}) == {"x": {"userId": 1}}


def test_of_a_write_only_what_no_server_takes_counts() -> None:
    number = {"type": "integer"}
    assert refused("x is bad", {"x": "5"}, number).fields
    assert not refused("x is bad", {"x": "5"}, number, reads=False).fields, "it may have been read as 5, and done"
    assert refused("x is bad", {"x": "many"}, number, reads=False).fields


def test_a_call_that_keeps_to_the_list_is_told_as_it_was() -> None:
    error = refused("x is bad", {"x": 5}, {"type": "integer"})
    assert (error.message, error.fields, error.patch) == ("x is bad", (), ())
