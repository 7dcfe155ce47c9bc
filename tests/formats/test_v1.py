"""Contract 001: the versioned objects, their codes, and what a gate lets through."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.model import Option
from recorded import vectors

ERROR = {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "m", "retryable": True}
PRETTY = '{\n  "kind": "toolError:v1",\n  "code": "NETWORK_ERROR",\n  "message": "m",\n  "retryable": true\n}'
QUESTION = fw.NeedsInput(
    "Which pattern?",
    fields=["id"],
    reason="The id is unknown",
    suggestions={"id": ["retry", "stream"]},
    options=[Option("Retry", "retry", "Pattern ID: retry", "id")],
)
ASKED = {
    "kind": "needsInput:v1",
    "type": "elicitation",
    "message": "Which pattern?",
    "needsInput": {"fields": ["id"], "reason": "The id is unknown", "suggestions": {"id": ["retry", "stream"]}},
    "options": [{"label": "Retry", "value": "retry", "description": "Pattern ID: retry", "field": "id"}],
}
# The crosswalk's names for core codes, where they differ from the code in lower case.
CORE = {
    "validation": "VALIDATION_ERROR",
    "missing_field": "MISSING_REQUIRED_FIELD",
    "unauthenticated": "UNAUTHORIZED",
    "permission": "FORBIDDEN",
    "network": "NETWORK_ERROR",
    "upstream": "UPSTREAM_ERROR",
    "busy": "SERVER_BUSY",
    "device_auth": "DEVICE_AUTH_FAILED",
    "io": "IO_ERROR",
    "internal": "INTERNAL_ERROR",
    "unknown": "UNKNOWN_ERROR",
}
ROWS: dict[str, Any] = {CORE.get(name, name.upper()): row for name, row in dict(vectors("code-crosswalk")).items()}


@pytest.mark.checklist(57, 58)
def test_keys_stand_in_the_contracts_order() -> None:
    error = fw.ToolError("m", code="SERVER_ERROR", http_status=503, retry_after=1.5, details={"host": "h"})
    assert fw.render(error, "v1") == (
        '{\n  "kind": "toolError:v1",\n  "code": "SERVER_ERROR",\n  "message": "m",\n  "retryable": true,\n'
        '  "details": {\n    "statusCode": 503,\n    "retryAfter": 1.5,\n    "host": "h"\n  }\n}'
    )


@pytest.mark.checklist(59, 60, 61, 62, 63, 64, 65)
@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        ("NETWORK_ERROR", True),
        ("SERVER_ERROR", True),
        ("CLIENT_ERROR", False),
        ("NOT_FOUND", False),
        ("AUTHENTICATION_ERROR", False),
        ("UNKNOWN_ERROR", False),
    ],
)
def test_the_contracts_own_codes(code: str, retryable: bool) -> None:
    wire = {"kind": "toolError:v1", "code": code, "message": "m", "retryable": retryable}
    assert to_wire(fw.ToolError("m", code=code), "v1") == wire
    error = fw.parse(wire)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.retryable, error.notes) == (code, retryable, ())


@pytest.mark.checklist(59)
@pytest.mark.parametrize("code", ROWS)
def test_core_codes_map_by_the_crosswalk_unless_that_changes_retryable(code: str) -> None:
    error = fw.catalogs.Core[code]("m")
    mapped = ROWS[code]["001_code"]
    kept = ROWS[code]["001_retryable"] is not error.passes
    assert to_wire(error, "v1") == {
        "kind": "toolError:v1",
        "code": code if kept else mapped,
        "message": "m",
        "retryable": error.retryable,
    }


@pytest.mark.parametrize("effect", ["unknown", "partial", "done"])
def test_the_code_of_a_call_that_may_have_been_done_names_the_cause(effect: str) -> None:
    error = fw.ToolError("m", code="TIMEOUT", retry_after=3, effect=effect)
    wire = {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "m", "retryable": False}
    # The delay is a fact; the flag forbids.
    wire["details"] = {"retryAfter": 3}
    assert to_wire(error, "v1") == to_wire(error, "v1", strict=True) == wire
    back = fw.parse(wire)
    assert isinstance(back, fw.ToolError)
    assert not fw.decide(back).repeats
    for strict in (False, True):
        assert fw.parse(fw.render(error, "v1", strict=strict, carry=True)) == error


@pytest.mark.checklist(59)
@pytest.mark.parametrize(
    ("code", "retryable"),
    [("RATE_LIMITED", True), ("TLS_ERROR", False), ("InvoiceAlreadyPaid", False), ("x_rate_limited", True)],
)
def test_codes_that_are_kept_as_written(code: str, retryable: bool) -> None:
    assert to_wire(fw.ToolError("m", code=code), "v1") == {
        "kind": "toolError:v1",
        "code": code,
        "message": "m",
        "retryable": retryable,
    }


@pytest.mark.checklist(65)
def test_what_nothing_classifies_is_unknown() -> None:
    assert to_wire(fw.ToolError("m"), "v1") == {
        "kind": "toolError:v1",
        "code": "UNKNOWN_ERROR",
        "message": "m",
        "retryable": False,
    }


@pytest.mark.parametrize("format", ["typed", "v1", "xml", "envelope", "jsonrpc", "canonical"])
@pytest.mark.parametrize("catalog", fw.catalogs.CATALOGS)
def test_no_format_changes_retryable(format: str, catalog: str) -> None:
    for code in fw.catalogs.CATALOGS[catalog]:
        error = fw.parse(fw.render(code("m"), format, carry=True))
        assert isinstance(error, fw.ToolError)
        assert (code.name, error.retryable, error.notes) == (code.name, code.retryable, ())


@pytest.mark.checklist(74, 75, 76, 77, 78, 80, 81, 82)
@pytest.mark.parametrize("gate", [None, "markdown", "json", "both"])
def test_gate_picks_the_blocks(gate: Any) -> None:
    people = {"type": "text", "text": "m", "mimeType": "text/markdown"}
    programs = {"type": "text", "text": PRETTY, "mimeType": "application/json"}
    assert fw.to_result(fw.ToolError("m", code="NETWORK_ERROR"), "v1", gate=gate, meta=False) == {
        "content": {None: [people], "markdown": [people], "json": [programs], "both": [people, programs]}[gate],
        "structuredContent": ERROR,
        "isError": True,
    }


@pytest.mark.checklist(79)
def test_prefix_is_opt_in_and_only_before_the_text_for_people() -> None:
    result = fw.to_result(fw.ToolError("m", code="NETWORK_ERROR"), "v1", gate="both", prefix="**Error:** ", meta=False)
    assert result == {
        "content": [
            {"type": "text", "text": "**Error:** m", "mimeType": "text/markdown"},
            {"type": "text", "text": PRETTY, "mimeType": "application/json"},
        ],
        "structuredContent": ERROR,
        "isError": True,
    }


@pytest.mark.checklist(87, 90, 91)
def test_parse_reads_the_json_block_alone() -> None:
    error = fw.parse({"content": [{"type": "text", "text": "for people"}, {"type": "text", "text": PRETTY}]})
    assert isinstance(error, fw.Transient)
    assert (error.format, error.code, error.message, error.retryable) == ("v1", "NETWORK_ERROR", "m", True)


@pytest.mark.checklist(88)
def test_parse_falls_back_to_structured_content() -> None:
    error = fw.parse({"content": [{"type": "text", "text": "for people"}], "structuredContent": ERROR})
    assert isinstance(error, fw.Transient)
    assert (error.format, error.message) == ("v1", "m")


@pytest.mark.checklist(89, 93)
def test_markdown_without_structured_content_is_its_message() -> None:
    error = fw.parse({"content": [{"type": "text", "text": "Network error: Request timeout"}], "isError": True})
    assert isinstance(error, fw.Internal)
    assert (error.message, error.code, error.format, error.legacy) == (
        "Network error: Request timeout",
        None,
        "text",
        True,
    )


@pytest.mark.checklist(92)
def test_the_last_valid_block_counts() -> None:
    blocks = [{"type": "text", "text": json.dumps({**ERROR, "message": name})} for name in ("first", "last")]
    error = fw.parse({"content": [*blocks, {"type": "text", "text": "{not json"}]})
    assert error is not None
    assert error.message == "last"


def test_block_wins_over_structured_content_and_says_so() -> None:
    error = fw.parse(
        {
            "content": [{"type": "text", "text": json.dumps({**ERROR, "message": "block"})}],
            "structuredContent": {**ERROR, "message": "structured"},
        }
    )
    assert error is not None
    assert (error.message, error.notes) == (
        "block",
        ("The text block and the structured content disagree; the block counts.",),
    )


def test_details_of_real_servers_are_read() -> None:
    details = {"statusCode": 429, "retryAfter": 30, "errorType": "timeout", "hasApiKey": False}
    error = fw.parse({**ERROR, "details": details})
    assert isinstance(error, fw.ToolError)
    assert (error.http_status, error.retry_after, error.details) == (
        429,
        30,
        {"errorType": "timeout", "hasApiKey": False},
    )
    assert fw.parse({**ERROR, "details": {}}) == fw.ToolError("m", code="NETWORK_ERROR")


@pytest.mark.checklist(199)
def test_retryable_against_the_catalogue_is_reported() -> None:
    error = fw.parse({**ERROR, "retryable": False})
    assert isinstance(error, fw.ToolError)
    assert (error.retryable, error.recoverable, error.strategy) == (False, False, "report_and_abort")
    assert error.notes == (
        "The peer said retryable: false, which the code NETWORK_ERROR does not; the peer's word counts.",
    )
    back = fw.parse(fw.render(error, "canonical"))
    assert isinstance(back, fw.ToolError)
    assert not back.retryable


@pytest.mark.parametrize(("flag", "kind"), [(True, "transient"), (False, "internal"), (None, "internal")])
def test_retryable_of_an_unknown_code_is_the_wires(flag: bool | None, kind: str) -> None:
    wire = {"kind": "toolError:v1", "code": "Blocked", "message": "m"}
    error = fw.parse(wire if flag is None else {**wire, "retryable": flag})
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.kind, error.retryable, error.notes) == ("Blocked", kind, bool(flag), ())


@pytest.mark.checklist(98)
def test_question_has_its_own_kind_and_pretty_text() -> None:
    assert to_wire(QUESTION, "v1") == ASKED
    assert fw.render(QUESTION, "v1") == json.dumps(ASKED, indent=2, ensure_ascii=False)


@pytest.mark.checklist(98)
def test_question_without_extras_has_no_empty_keys() -> None:
    assert to_wire(fw.NeedsInput("What?", fields=["q"]), "v1") == {
        "kind": "needsInput:v1",
        "type": "elicitation",
        "message": "What?",
        "needsInput": {"fields": ["q"], "reason": "What?"},
    }


@pytest.mark.checklist(95)
@pytest.mark.parametrize("gate", ["markdown", "json", "both"])
def test_question_is_no_error(gate: Any) -> None:
    people = {
        "type": "text",
        "text": "Which pattern? id can be: retry, stream. Options: retry (Retry). Ask the user for id, then call again with the answer.",
        "annotations": {"priority": 1, "audience": ["user"]},
    }
    programs = {"type": "text", "text": fw.render(QUESTION, "v1"), "mimeType": "application/json"}
    result = fw.to_result(QUESTION, "v1", gate=gate, meta=False)
    assert result == {
        "content": {"markdown": [people], "json": [programs], "both": [people, programs]}[gate],
        "structuredContent": ASKED,
    }
    parsed = fw.parse(result)
    assert isinstance(parsed, fw.NeedsInput)
    assert (parsed, parsed.format) == (QUESTION, "v1")


SCHEMA = jsonschema.Draft202012Validator(
    {
        "oneOf": [
            {
                "type": "object",
                "required": ["kind", "code", "message"],
                "properties": {
                    "kind": {"const": "toolError:v1"},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "retryable": {"type": "boolean"},
                    "details": {"type": "object", "minProperties": 1},
                },
                "additionalProperties": False,
            },
            {
                "type": "object",
                "required": ["kind", "type", "message", "needsInput"],
                "properties": {
                    "kind": {"const": "needsInput:v1"},
                    "type": {"const": "elicitation"},
                    "message": {"type": "string"},
                    "needsInput": {
                        "type": "object",
                        "required": ["fields", "reason"],
                        "properties": {
                            "fields": {"type": "array", "items": {"type": "string"}},
                            "reason": {"type": "string"},
                            "suggestions": {"type": "object", "additionalProperties": {"type": "array"}},
                        },
                        "additionalProperties": False,
                    },
                    "options": {"type": "array", "minItems": 1, "items": {"type": "object"}},
                },
                "additionalProperties": False,
            },
        ]
    }
)


@pytest.mark.checklist(57, 98, 102)
@pytest.mark.parametrize(
    "outcome",
    [
        fw.ToolError(""),
        fw.ToolError(None, code="X", details={"a": {1}}),
        fw.Transient("m", retry_after=3, http_status=503),
        fw.NeedsInput(),
        QUESTION,
    ],
)
def test_output_fits_the_schema_of_both_kinds(outcome: fw.ToolError | fw.NeedsInput) -> None:
    SCHEMA.validate(to_wire(outcome, "v1"))
    SCHEMA.validate(to_wire(outcome, "v1", carry=True))
    assert not SCHEMA.is_valid({**to_wire(outcome, "v1"), "kind": "toolError:v2"})


@pytest.mark.checklist(102)
@pytest.mark.parametrize("kind", ["toolError:v2", "patternDetails:v1", "toolerror:v1", "", None, 1, ["toolError:v1"]])
def test_other_kinds_are_not_ours(kind: Any) -> None:
    assert fw.parse({"kind": kind, "code": "X", "message": "m"}) is None


def test_carry_keeps_everything_under_details() -> None:
    error = fw.Conflict("m", recoverable=True, suggestion="s", conflicts=["a2"], details={"k": 1})
    assert to_wire(error, "v1", carry=True) == {
        "kind": "toolError:v1",
        "code": "CLIENT_ERROR",
        "message": "m",
        "retryable": False,
        "details": {
            "k": 1,
            "failwell": {
                "code": "CONFLICT",
                "kind": "conflict",
                "recoverable": True,
                "suggestion": "s",
                "conflicts": [{"held_by": "a2"}],
            },
        },
    }
    assert fw.parse(fw.render(error, "v1", carry=True)) == error
