"""A failure as the result of a tool call: which carriers go out, and what each says."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.formats import FORMATS

KEY = "io.github.failwell/tool-error"
ERROR = fw.NotFound("Project p_1 does not exist.", suggestion="Call projects.list first.", actions=["projects.list"])
SENTENCE = "Project p_1 does not exist. Call projects.list first."
OBJECTS = ["typed", "v1", "envelope", "jsonrpc", "canonical"]
QUESTION = fw.NeedsInput("Which pattern?", fields=["id"], reason="No such id", suggestions={"id": ["a", "b"]})


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_default_is_sentences_and_the_canonical_error_in_meta() -> None:
    assert fw.to_result(ERROR) == {
        "content": [block(SENTENCE)],
        "isError": True,
        "_meta": {KEY: ERROR.to_dict()},
    }


@pytest.mark.parametrize("format", [*OBJECTS, "xml"])
def test_every_format_is_read_back_from_its_result(format: str) -> None:
    result = json.loads(json.dumps(fw.to_result(ERROR, format)))
    assert fw.parse(result) == ERROR
    assert result["_meta"] == {KEY: ERROR.to_dict()}


@pytest.mark.checklist(10)
def test_typed_result() -> None:
    wire = {"type": "NOT_FOUND", "message": "gone", "recoverable": False}
    assert fw.to_result(fw.NotFound("gone"), "typed", meta=False) == {
        "content": [block('{"type":"NOT_FOUND","message":"gone","recoverable":false}')],
        "structuredContent": wire,
        "isError": True,
    }


@pytest.mark.checklist(110)
def test_xml_result_has_no_structured_content() -> None:
    for gate in (None, "markdown", "json", "both"):
        assert fw.to_result(fw.error("m"), "xml", gate=gate, meta=False) == {
            "content": [block("<tool_error>\n  <message>m</message>\n</tool_error>")],
            "isError": True,
        }


@pytest.mark.parametrize("format", ["typed", "envelope", "jsonrpc", "canonical"])
def test_gate_applies_to_every_object_format(format: str) -> None:
    people, programs = block(SENTENCE), block(fw.render(ERROR, format))

    def content(gate: Any) -> Any:
        return fw.to_result(ERROR, format, gate=gate)["content"]

    assert content("markdown") == [people]
    assert content("json") == [programs]
    assert content("both") == [people, programs]
    assert content(None) == [people if format == "canonical" else programs]


@pytest.mark.parametrize("format", OBJECTS)
def test_tool_with_an_output_schema_gets_no_structured_content(format: str) -> None:
    with_schema = fw.to_result(ERROR, format, output_schema=True)
    without = fw.to_result(ERROR, format)
    assert without.pop("structuredContent") == json.loads(fw.render(ERROR, format))
    assert with_schema == without


@pytest.mark.parametrize("format", FORMATS)
def test_modern_era_names_the_result_type(format: str) -> None:
    assert fw.to_result(ERROR, format, era="2026-07-28")["resultType"] == "complete"
    assert "resultType" not in fw.to_result(ERROR, format, era="2025-11-25")


@pytest.mark.checklist(82, 124, 125, 200)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("severity", "is_error"), [("warning", False), ("error", True), ("critical", True)])
def test_only_a_warning_is_no_error(format: str, severity: str, is_error: bool) -> None:
    error = fw.ToolError("Use v2.", code="DEPRECATED", severity=severity)
    result = fw.to_result(error, format)
    # Contract 003 knows no remark: what is no success is an error.
    assert result["isError"] is (is_error or format == "envelope")
    read = fw.parse(result)
    assert isinstance(read, fw.ToolError)
    assert read == error
    assert bool(read.notes) is (result["isError"] is not is_error)


@pytest.mark.parametrize("format", ["xml", "canonical"])
def test_warning_survives_without_meta(format: str) -> None:
    error = fw.ToolError("Use v2.", code="DEPRECATED", severity="warning", actions=["v2"])
    read = fw.parse(fw.to_result(error, format, meta=False, gate="both"))
    assert isinstance(read, fw.ToolError)
    assert (read.severity, read.is_error, read.notes) == ("warning", False, ())


@pytest.mark.parametrize(
    ("severity", "flag", "note"),
    [
        ("warning", True, "The result says isError: true, the error calls itself a warning."),
        ("error", False, "The result says isError: false, yet it holds an error."),
    ],
)
def test_flag_that_contradicts_the_severity_is_noted(severity: str, flag: bool, note: str) -> None:
    text = fw.render(fw.ToolError("m", code="X", severity=severity), "xml")
    error = fw.parse({"content": [block(text)], "isError": flag})
    assert isinstance(error, fw.ToolError)
    assert (error.severity, error.notes) == (severity, (note,))


def test_prefix_stands_before_the_text_for_people_only() -> None:
    assert fw.to_result(ERROR, "typed", gate="both", prefix="Error: ")["content"] == [
        block("Error: " + SENTENCE),
        block(fw.render(ERROR, "typed")),
    ]


@pytest.mark.checklist(294)
@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("nope", {}),
        ("", {}),
        ("v1", {"gate": "html"}),
        ("v1", {"gate": ""}),
        ("v1", {"era": "modern"}),
        ("v1", {"era": ""}),
        ("v1", {"layout": "flush"}),
        ("typed", {"strict": True}),
        ("xml", {"layout": "zigzag"}),
        ("envelope", {"profile": "api", "mode": "autopilot"}),
        ("text", {"number": 5}),
        ("canonical", {"actionable": True}),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(format: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        fw.to_result(ERROR, format, **options)


@pytest.mark.checklist(294)
def test_unknown_formats_and_options_are_refused_everywhere() -> None:
    with pytest.raises(ValueError, match="'nope'"):
        fw.render(ERROR, "nope")
    with pytest.raises(ValueError, match="'nope'"):
        fw.losses(ERROR, "nope")
    with pytest.raises(ValueError, match="'nope'"):
        fw.parse("{}", format="nope")
    with pytest.raises(ValueError, match="'colour'"):
        fw.render(ERROR, "xml", colour="red")


@pytest.mark.checklist(294)
@pytest.mark.parametrize("format", FORMATS)
def test_equal_errors_give_equal_bytes(format: str) -> None:
    def make() -> fw.ToolError:
        return fw.ToolError("m", code="X", details={"b": {3, 1, 2}, "a": 1}, actions=["t"], retry_after=2)

    assert fw.render(make(), format) == fw.render(make(), format)
    assert json.dumps(fw.to_result(make(), format)) == json.dumps(fw.to_result(make(), format))


@pytest.mark.checklist(292)
@pytest.mark.parametrize("format", ["v1", "xml", "envelope", "canonical"])
@pytest.mark.parametrize("delay", [1, 30, 0.5, 1.5, 0.001, 86400, 0.1, 3.3])
def test_delay_passes_through_without_drift(format: str, delay: float) -> None:
    error = fw.parse(fw.render(fw.ToolError("m", code="RATE_LIMITED", retry_after=delay), format))
    assert isinstance(error, fw.ToolError)
    assert error.retry_after == delay


@pytest.mark.checklist(292)
def test_delay_goes_round_all_formats_without_drift() -> None:
    error: Any = fw.ToolError("m", code="RATE_LIMITED", retry_after=45, reset_at="2026-02-25T12:00:00.250Z")
    for format in ("typed", "xml", "envelope", "v1", "jsonrpc", "envelope", "canonical"):
        error = fw.parse(fw.render(error, format, carry=True))
    assert (error.retry_after, error.to_dict()["reset_at"]) == (45, "2026-02-25T12:00:00.25Z")


@pytest.mark.checklist(95)
@pytest.mark.parametrize("format", ["v1", "text", "canonical"])
def test_question_is_no_error_where_the_format_knows_questions(format: str) -> None:
    result = fw.to_result(QUESTION, format)
    assert "isError" not in result
    assert result["_meta"] == {KEY: QUESTION.to_dict()}
    assert fw.parse(result) == QUESTION


@pytest.mark.parametrize("format", ["typed", "xml", "envelope", "jsonrpc"])
def test_question_elsewhere_is_a_validation_failure_and_still_a_question_in_meta(format: str) -> None:
    result = fw.to_result(QUESTION, format)
    assert result["isError"] is True
    assert fw.parse(result) == QUESTION
    error = fw.parse(fw.to_result(QUESTION, format, meta=False))
    assert isinstance(error, fw.Invalid)


def test_question_as_typed_failure() -> None:
    assert fw.render(QUESTION, "typed") == '{"type":"VALIDATION","message":"Which pattern?","recoverable":false}'


def test_question_as_envelope_failure() -> None:
    assert json.loads(fw.render(QUESTION, "envelope")) == {
        "success": False,
        "data": None,
        "error": {"code": "validation_error", "message": "Which pattern?", "retryable": False},
    }


def test_question_as_xml_failure() -> None:
    assert fw.render(QUESTION, "xml") == (
        "<validation_error>\n"
        "  <field name=\"id\">No such id. Valid options: 'a', 'b'.</field>\n"
        "  <recovery>Ask the user for id, then call again with the answer.</recovery>\n"
        "</validation_error>"
    )


def test_question_as_json_rpc_failure() -> None:
    error = json.loads(fw.render(QUESTION, "jsonrpc"))
    assert error["code"] == -32602
    assert error["data"]["details"] == "Which pattern?"
    choice = {"expected": "One of: a, b", "options": ["a", "b"]}
    assert error["data"]["errors"] == [{"field": "id", "message": "No such id", **choice}]


def test_question_as_json_rpc_response() -> None:
    response = fw.to_jsonrpc(QUESTION, id="r1")
    assert (response["jsonrpc"], response["id"]) == ("2.0", "r1")
    assert isinstance(fw.parse(response), fw.Invalid)
