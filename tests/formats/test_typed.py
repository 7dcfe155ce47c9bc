"""Contract 000: six types, compact JSON, and a schema that our output never breaks."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import jsonschema
import pytest

import failwell as fw
from failwell.model import Conflicting, Kind
from recorded import cases, one

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["type", "message", "recoverable"],
    "properties": {
        "type": {
            "type": "string",
            "enum": ["NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"],
        },
        "message": {"type": "string", "description": "Human-readable error description"},
        "recoverable": {
            "type": "boolean",
            "description": "Whether the operation may succeed if retried (possibly with modified input)",
        },
        "data": {
            "type": "object",
            "description": "Optional structured context for error recovery",
            "additionalProperties": True,
        },
    },
    "additionalProperties": False,
}
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
TYPES = {kind: kind.value.upper() for kind in Kind}


def strict(text: str) -> Any:
    """JSON without Python's own additions."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    text.encode()
    return json.loads(text, parse_constant=refuse)


@pytest.mark.checklist(9)
def test_schema_is_the_one_the_contract_prints() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert one("contracts-verbatim", "000.schema")["output"] == SCHEMA


@pytest.mark.checklist(3, 4, 5, 6, 7, 8)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "000.schema.case."))
def test_schema_cases(vector: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(vector["input"]["value"]) is vector["output"]["valid"]


@pytest.mark.checklist(1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 16)
@pytest.mark.parametrize("kind", Kind)
def test_each_kind_is_one_of_the_six_types(kind: Kind) -> None:
    wire = strict(fw.render(fw.ToolError("m", kind=kind), "typed"))
    VALIDATOR.validate(wire)
    assert wire == {"type": TYPES[kind], "message": "m", "recoverable": kind is Kind.TRANSIENT}


@pytest.mark.parametrize("catalog", fw.catalogs.CATALOGS)
def test_every_shipped_code_renders_to_a_valid_object(catalog: str) -> None:
    for code in fw.catalogs.CATALOGS[catalog]:
        VALIDATOR.validate(strict(fw.render(code("m", details={"code": code.name}), "typed", carry=True)))


@pytest.mark.checklist(13, 14)
@pytest.mark.parametrize(
    ("error", "recoverable"),
    [
        (fw.Conflict("m"), False),
        (fw.Conflict("m", recoverable=True), True),
        (fw.Transient("m", recoverable=False), False),
        (fw.NotFound("m", recoverable=True), True),
    ],
)
def test_recoverable_can_be_passed(error: fw.ToolError, recoverable: bool) -> None:
    assert strict(fw.render(error, "typed"))["recoverable"] is recoverable


@pytest.mark.checklist(15, 17)
def test_text_is_compact_raw_utf8_in_the_contracts_order() -> None:
    error = fw.Transient("naïve 日本語 👍🏽 <b>&\u2028", retry_after=30, details={"z": 1, "a": [1, {"k": None}]})
    assert fw.render(error, "typed", guard=None) == (
        '{"type":"TRANSIENT","message":"naïve 日本語 👍🏽 <b>&\u2028","recoverable":true,'
        '"data":{"z":1,"a":[1,{"k":null}],"retry_after":30}}'
    )


@pytest.mark.checklist(18)
@pytest.mark.parametrize(("delay", "whole"), [(30, 30), (30.0, 30), (0.2, 1), (1.5, 2)])
def test_delay_is_in_whole_seconds_and_never_shorter(delay: float, whole: int) -> None:
    assert fw.render(fw.Transient("m", retry_after=delay), "typed") == (
        f'{{"type":"TRANSIENT","message":"m","recoverable":true,"data":{{"retry_after":{whole}}}}}'
    )


@pytest.mark.checklist(18)
@pytest.mark.parametrize("delay", [0, -1, float("nan"), float("inf"), "soon", True, None])
def test_delay_that_is_none_leaves_no_key(delay: Any) -> None:
    assert strict(fw.render(fw.Transient("m", retry_after=delay), "typed")) == {
        "type": "TRANSIENT",
        "message": "m",
        "recoverable": True,
    }


@pytest.mark.checklist(19)
def test_conflicts_keep_what_they_hold() -> None:
    held = [{"agent_id": "a2", "pattern": "src/*.go", "held_by": "a2", "since": 5}, {"held_by": "a3"}]
    wire = strict(fw.render(fw.Conflict("2 conflicts", conflicts=held), "typed"))
    assert wire == {"type": "CONFLICT", "message": "2 conflicts", "recoverable": False, "data": {"conflicts": held}}


@pytest.mark.checklist(20)
@pytest.mark.parametrize(
    ("kind", "message", "shown"),
    [("not_found", "gone", "[NOT_FOUND] gone"), ("internal", "", "[INTERNAL] "), ("transient", "%d", "[TRANSIENT] %d")],
)
def test_str_names_the_type(kind: str, message: str, shown: str) -> None:
    assert str(fw.ToolError(message, kind=kind)) == shown


@pytest.mark.checklist(22)
@pytest.mark.parametrize(
    "message", ["100% of %d %s", "{0} {name} {{}}", "${x}", "a\\b \"c\" 'd'", "\r\n\t\x00\x1b[31m"]
)
def test_message_comes_out_unchanged(message: str) -> None:
    assert strict(fw.render(fw.Internal(message), "typed", guard=None))["message"] == message


class Odd:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


@pytest.mark.checklist(55, 294)
@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("-inf"),
        {1, 2},
        b"\xff\x00",
        "a\ud800b",
        {"\udfff": "\ud800"},
        {1: 2, None: 3},
        Decimal("NaN"),
        Decimal("1.10"),
        datetime.max.replace(tzinfo=UTC),
        date.max,
        10**6000,
        LOOP,
        [[LOOP]],
        print,
        object(),
        Odd(),
        range(3),
        ValueError("x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_value_gives_valid_json(value: Any) -> None:
    error = fw.Conflict("m", details={"v": value}, conflicts=[{"held_by": value}])
    wire = strict(fw.render(error, "typed"))
    VALIDATOR.validate(wire)
    assert "v" in wire["data"]
    VALIDATOR.validate(strict(fw.render(fw.Internal(value), "typed")))


@pytest.mark.checklist(290)
def test_carry_keeps_everything_and_default_adds_nothing() -> None:
    error = fw.ToolError(
        "m", code="RATE_LIMITED", retry_after=1.5, suggestion="s", details={"k": 1}, severity="critical"
    )
    assert fw.render(error, "typed") == (
        '{"type":"TRANSIENT","message":"m","recoverable":true,"data":{"k":1,"retry_after":2}}'
    )
    assert fw.losses(error, "typed") == ("code", "severity", "retry_after", "suggestion", "effect")
    assert strict(fw.render(error, "typed", carry=True)) == {
        "type": "TRANSIENT",
        "message": "m",
        "recoverable": True,
        "data": {
            "k": 1,
            "retry_after": 2,
            "failwell": {
                "code": "RATE_LIMITED",
                "severity": "critical",
                "retry_after": 1.5,
                "suggestion": "s",
                "effect": "none",
            },
        },
    }
    assert fw.parse(fw.render(error, "typed", carry=True)) == error


@pytest.mark.checklist(289, 291)
def test_parse_reads_every_key() -> None:
    wire = {
        "type": "CONFLICT",
        "message": "held",
        "recoverable": True,
        "data": {"conflicts": [{"agent_id": "a", "pattern": "p", "held_by": "h"}], "retry_after": 30, "k": [1]},
    }
    error = fw.parse(json.dumps(wire))
    assert isinstance(error, fw.Conflict)
    assert (error.format, error.origin, error.notes) == ("typed", "peer", ())
    assert error == fw.Conflict(
        "held",
        recoverable=True,
        retry_after=30,
        details={"k": [1]},
        conflicts=[Conflicting("a", "p", "h")],
    )
    assert json.loads(fw.render(error, "typed")) == wire


def test_parse_reads_the_form_of_the_system_behind_the_contract() -> None:
    inner = {"type": "NOT_FOUND", "message": "gone", "recoverable": True, "data": {}}
    error = fw.parse({"error": inner})
    assert isinstance(error, fw.NotFound)
    assert (error.message, error.recoverable, error.retryable) == ("gone", True, False)


def test_parse_keeps_a_type_that_is_not_one_of_the_six_and_says_so() -> None:
    error = fw.parse('{"type":"Overloaded","message":"m","recoverable":true}')
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.recoverable) == ("Overloaded", True)
    assert error.notes == ("'Overloaded' is not one of the six types.",)
