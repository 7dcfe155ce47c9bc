"""Calls that are sure to fail never reach the server; whatever it might take does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from playbook import TOOLS, Table, result

from failwell.formats import META_KEY
from failwell.recovery import Tools
from failwell.relay.gate import Gate


def listed_anew(table: Table, tools: list[dict[str, Any]]) -> None:
    """The server answers that it has these tools by now."""
    (asked,) = table.heard()
    assert asked["method"] == "tools/list"
    table.server({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}})


def test_arguments_that_the_schema_refuses_never_reach_the_server() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice": "inv_1"})
    answer = table.told()[0]["result"]
    assert table.heard() == []
    error = answer["_meta"][META_KEY]
    assert (error["effect"], error["delivery"]) == ("none", "never_sent")
    assert [each["path"] for each in error["fields"]] == [["invoice_id"], []]
    assert "invoice_id" in answer["content"][0]["text"]


@pytest.mark.parametrize(
    ("mode", "arguments", "sent"),
    [
        ("auto", {"invoice_id": "i", "amount": "5"}, True),
        ("on", {"invoice_id": "i", "amount": "5"}, False),
        ("auto", {"invoice_id": "i", "amount": [5]}, False),
        ("auto", {"invoice_id": "i", "dry_run": True}, False),
        ("off", {}, True),
    ],
)
def test_what_a_server_might_take_is_sent(mode: str, arguments: dict[str, Any], sent: bool) -> None:
    table = Table(validate=mode)
    table.call(1, "pay_invoice", arguments)
    assert bool(table.heard()) is sent


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {}}, "required": ["b"]}, {"b": 1}),
        ({"properties": {"a": {}}, "required": ["b"], "additionalProperties": False}, {"b": 1}),
        ({"properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}),
        ({**DRAFT_7, "properties": {"a": {}}, "dependencies": {"a": {"required": ["b"]}}}, {"a": 1, "b": 1}),
    ],
)
@pytest.mark.parametrize("mode", ["auto", "on"])
def test_what_a_schema_asks_for_is_never_unknown(mode: str, schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    table = Table(validate=mode, connected=False)
    table.client(table.request("list", "tools/list"))
    tool = {"name": "pay_invoice", "inputSchema": {"type": "object", **schema}}
    table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": [tool]}})
    table.heard()
    table.call(1, "pay_invoice", arguments)
    assert [each["id"] for each in table.heard()] == [1]
    missing = {name: value for name, value in arguments.items() if name != "b"}
    table.call(2, "pay_invoice", missing)
    # What the first call may have changed is looked at, and the call is not made.
    listed_anew(table, [tool])
    assert not table.heard()


POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "value", "sent"),
    [
        ({"type": "boolean"}, 1, True),
        ({"type": "integer"}, True, True),
        ({"type": "integer"}, "5", True),
        ({"type": "integer"}, "1,000", True),
        ({"type": "integer"}, "abc", False),
        ({"type": ["integer", "null"]}, "none", True),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "abc", False),
        ({"type": "integer"}, 5.5, False),
        ({"type": ["integer", "number"]}, 5.5, True),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "abc", False),
        ({"type": "string", "format": "duration"}, 3600, True),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "5", True),
        ({"type": "string"}, None, True),
        ({"type": "array"}, "[1]", True),
        ({"enum": ["low", "high"]}, "High", True),
        ({"enum": ["low", "high"]}, "highest", True),
        ({"type": "string", "maxLength": 3}, "abcd", True),
        ({"type": "string", "minLength": 3}, 5, True),
        ({"type": "string", "maxLength": 3}, ["abcd"], False),
        ({"type": "string"}, {"a": 1}, False),
        ({"type": "array"}, 5, False),
        ({"type": "integer", "minimum": 1}, 0, True),
        ({"type": "integer", "maximum": 100}, "500", True),
        ({"type": "integer", "maximum": 100}, 5.5, False),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 1, True),
        ({"anyOf": [{"type": "integer", "maximum": 100}, {"type": "null"}]}, 500, True),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [], True),
        ({"type": "array", "items": {"type": "integer", "maximum": 3}, "maxItems": 2}, [1, 2, 9], True),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [1, 2, {}], False),
        ({"type": "object", "minProperties": 1}, {}, True),
        ({"anyOf": [POINT, {"type": "string"}]}, {"x": "1"}, True),
        ({"anyOf": [POINT, {"type": "string"}]}, {"x": "abc"}, False),
        ({"anyOf": [POINT, {"type": "string"}]}, {"y": 1}, False),
        ({"anyOf": [POINT, {"type": "string"}]}, 5, True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, {"x": "1"}, True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, [{"x": "1"}], True),
        ({"anyOf": [{"type": "array", "items": POINT}, POINT]}, [{"x": []}], False),
        ({"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string"}]}, 3, True),
        ({"type": "array", "uniqueItems": True}, [1, 1], True),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 5, True),
        ({"const": "v1"}, "V1", True),
        ({"const": "v1"}, "v2", True),
        ({"type": "number", "multipleOf": 0.1}, 0.35, True),
        (
            {"type": "object", "dependentRequired": {"x": ["y"]}, "properties": {"x": {"not": {"const": 1}}}},
            {"x": 1},
            False,
        ),
    ],
)
def test_only_what_is_sure_to_fail_is_refused(schema: dict[str, Any], value: Any, sent: bool) -> None:
    table = Table(connected=False)
    listed = {"type": "object", "properties": {"a": schema, "b": {"type": "string", "default": "x"}}, "required": ["b"]}
    table.client(table.request("list", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": [{"name": "put", "inputSchema": listed}]}})
    table.heard()
    table.call(1, "put", {"a": value})
    assert bool(table.heard()) is sent


USER = {"type": "object", "properties": {"userId": {"type": "integer"}}, "required": ["userId"]}
STRICT = {**USER, "additionalProperties": False}
OF = {"type": "object", "properties": {"of": USER, "note": {"type": "string"}}, "required": ["of"]}


@pytest.mark.parametrize(
    ("schema", "arguments", "sent"),
    [
        (USER, {"user_id": 1}, True),
        (USER, {"USER-ID": 1}, True),
        (USER, {"user_id": "1"}, True),
        (STRICT, {"user_id": 1}, True),
        # The value of the one that is meant is looked at.
        (USER, {"user_id": []}, False),
        # One letter more or less is no spelling of it.
        (USER, {"user_ids": 1}, False),
        (USER, {"uid": 1}, False),
        # Nobody would miss what was meant here.
        ({**USER, "required": []}, {"user_id": 1}, False),
        # An unknown name beside none that is missing is the server's to refuse.
        (USER, {"userId": 1, "user_id": 2}, True),
        (STRICT, {"user_id": 1, "more": 2}, True),
        (USER, {"user_id": 1, "dry_run": True}, False),
        (OF, {"of": {"user_id": 1}}, True),
        (OF, {"OF": {"userid": 1}}, True),
        (OF, {"of": {"user_id": 1}, "Note": "a"}, False),
        (OF, {"of": {"user_id": 1}, "mode": "a"}, True),
        ({**OF, "properties": {"of": STRICT}}, {"of": {"user_id": 1}}, True),
        ({**OF, "properties": {"of": {"anyOf": [STRICT, {"type": "integer"}]}}}, {"of": {"user_id": 1}}, True),
        ({**OF, "properties": {"of": {"type": "array", "items": STRICT}}}, {"of": [{"user_id": 1}]}, True),
        ({**OF, "properties": {"of": {"$ref": "#/$defs/U"}}, "$defs": {"U": STRICT}}, {"of": {"user_id": 1}}, True),
        ({**OF, "properties": {"of": STRICT}}, {"of": {"user_id": {}}}, False),
    ],
)
def test_a_required_name_in_another_spelling_is_the_servers_to_take_or_to_miss(
    schema: dict[str, Any], arguments: dict[str, Any], sent: bool
) -> None:
    for mode, is_sent in (("auto", sent), ("on", False)):
        table = Table(connected=False, validate=mode)
        table.client(table.request("list", "tools/list"))
        tool = {"name": "put", "inputSchema": schema, "annotations": {"readOnlyHint": False}}
        table.server({"jsonrpc": "2.0", "id": "list", "result": {"tools": [tool]}})
        table.heard()
        table.call(1, "put", arguments)
        assert bool(table.heard()) is is_sent


def test_a_misspelt_tool_is_told_with_the_nearest_one() -> None:
    table = Table()
    table.call(1, "get_invoce", {"invoice_id": "i"})
    assert (
        table.told()[0]["result"]["content"][0]["text"]
        == "There is no tool 'get_invoce'. Did you mean 'get_invoice'? Next: call get_invoice."
    )
    assert table.heard() == []
    table.call(2, "restart_reactor", {})
    assert [each["id"] for each in table.heard()] == [2]


def test_a_name_that_is_misspelt_inside_an_argument_is_renamed_and_no_reason_to_give_the_tool_up() -> None:
    gate, arguments = Gate("auto"), {"a": {"userIdd": 1}}
    schema = {"type": "object", "properties": {"a": USER}}
    tools = Tools({"put": {"inputSchema": schema}})
    listing: Any = SimpleNamespace(known=tools.listed, tools=tools, is_fresh=True, is_recalled=False)
    error = gate.refuses("put", arguments, listing)
    assert error is not None
    assert [(change.op, change.path, change.to) for change in error.patch] == [("rename", ("a", "userIdd"), "userId")]
    gate.heard(error, "put", listing)
    assert gate.refuses("put", arguments, listing) == error


def test_a_tool_whose_own_answers_contradict_its_schema_is_given_up() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    text = "1 validation error for payArguments\ncurrency\n  Field required [type=missing, input_value={}, input_type=dict]"
    table.server(result(1, text, is_error=True))
    table.told()
    table.heard()
    table.call(2, "pay_invoice", {"invoice_id": "i", "currency": "EUR"})
    assert [each["id"] for each in table.heard()] == [2]


def test_tools_are_listed_before_the_first_call_of_a_client_that_does_not() -> None:
    table = Table(connected=False)
    table.client(table.request(0, "initialize", {"protocolVersion": "2025-11-25"}))
    table.server({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}})
    table.heard()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    (first,) = table.heard()
    table.server({"jsonrpc": "2.0", "id": first["id"], "result": {"tools": TOOLS[:1], "nextCursor": "2"}})
    (second,) = table.heard()
    assert second["params"] == {"cursor": "2"}
    table.server({"jsonrpc": "2.0", "id": second["id"], "result": {"tools": TOOLS[1:]}})
    assert [each["id"] for each in table.heard()] == [1]
    assert list(table.protocol.listing.known) == ["pay_invoice", "get_invoice"]


def test_a_server_that_does_not_list_gets_its_calls_all_the_same() -> None:
    table = Table(connected=False)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.heard()
    table.passes(6)
    assert [each["id"] for each in table.heard()] == [1]


@pytest.mark.parametrize(
    ("tool", "arguments"), [("get_invoices", {}), ("get_invoice", {"invoice_ids": ["i"]})], ids=["tool", "argument"]
)
def test_what_a_server_has_got_since_it_was_asked_is_not_refused(tool: str, arguments: dict[str, Any]) -> None:
    table = Table()
    table.passes(60)
    table.call(1, tool, arguments)
    assert table.told() == []
    schema = {"type": "object", "properties": {name: {} for name in arguments}}
    others = [each for each in TOOLS if each["name"] != tool]
    listed_anew(table, [*others, {"name": tool, "inputSchema": schema, "annotations": {"readOnlyHint": True}}])
    # The client hears of it too.
    assert [each["method"] for each in table.told()] == ["notifications/tools/list_changed"]
    assert [each["params"]["name"] for each in table.heard()] == [tool]
    table.server(result(1, "two of them"))
    assert [each["result"]["content"][0]["text"] for each in table.told()] == ["two of them"]


def test_what_a_server_still_does_not_have_is_refused_and_asked_for_once() -> None:
    table = Table()
    table.passes(60)
    table.call(1, "get_invoices", {})
    listed_anew(table, TOOLS)
    assert "There is no tool 'get_invoices'" in table.told()[0]["result"]["content"][0]["text"]
    table.call(2, "get_invoices", {})
    assert table.heard() == []
    assert [each["id"] for each in table.told()] == [2]


def test_a_server_that_does_not_list_anew_is_waited_for_no_longer_than_that_is_worth() -> None:
    table = Table()
    table.passes(60)
    table.call(1, "get_invoices", {})
    table.passes(3)
    assert "There is no tool 'get_invoices'" in table.told()[0]["result"]["content"][0]["text"]


def test_a_call_that_is_cancelled_while_the_tools_are_listed_anew_is_not_made() -> None:
    table = Table()
    table.passes(60)
    table.call(1, "get_invoices", {})
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    listed_anew(table, [*TOOLS, {"name": "get_invoices", "inputSchema": {"type": "object"}}])
    assert table.heard() == []
    assert [each["method"] for each in table.told()] == ["notifications/tools/list_changed"]
