"""Every example the five contracts print comes out of Failwell as it stands there."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.formats.jsonrpc import check_request
from failwell.model import Action, FieldError
from recorded import cases, one

GROUP = "list", "create", "delete"


def typed_from(args: dict[str, Any]) -> fw.ToolError:
    return fw.ToolError(
        args["message"],
        kind=args["type"],
        recoverable=args.get("recoverable"),
        retry_after=args.get("data", {}).get("retry_after"),
        conflicts=args.get("data", {}).get("conflicts"),
    )


@pytest.mark.checklist(2, 15, 16, 17, 18, 19)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "000.wire."))
def test_typed_examples_byte_for_byte(vector: dict[str, Any]) -> None:
    expected = json.dumps(vector["output"], ensure_ascii=False, separators=(",", ":"))
    assert fw.render(typed_from(vector["input"]["args"]), "typed") == expected


V1_EXAMPLES = [
    case for case in cases("contracts-verbatim", "001.") if case.values[0]["input"]["fn"] == "tool_error_result"
]


@pytest.mark.checklist(57, 58, 59, 75, 76, 77, 78, 80, 81, 82)
@pytest.mark.parametrize("vector", V1_EXAMPLES)
def test_v1_examples_byte_for_byte(vector: dict[str, Any]) -> None:
    args = vector["input"]["args"]
    error = fw.ToolError(args["message"], code=args["code"], http_status=args.get("statusCode"))
    result = fw.to_result(error, "v1", gate=vector["input"]["format"], meta=False)
    assert json.dumps(result, ensure_ascii=False) == json.dumps(vector["output"], ensure_ascii=False)


def choices(code: str, message: str, recovery: str) -> fw.ToolError:
    actions = [Action("projects", None, {"action": name}) for name in GROUP]
    return fw.ToolError(message, code=code, suggestion=recovery, actions=actions)


XML_EXAMPLES = {
    "002.xml.0.error": fw.error('Project "proj_xyz" not found'),
    "002.xml.1.required": fw.required("workspace_id"),
    "002.xml.2.toolError": fw.ToolError(
        "Project 'proj_xyz' does not exist.",
        code="ProjectNotFound",
        suggestion="Call projects.list first to get valid IDs, then retry.",
        actions=["projects.list"],
    ),
    "002.xml.3.toolError": fw.ToolError(
        "Invoice not found.",
        code="NOT_FOUND",
        details={"entity_id": "inv_123", "entity_type": "invoice", "searched_workspace": "ws_42"},
    ),
    "002.xml.4.toolError": fw.ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30),
    "002.xml.5.validation": fw.Invalid(
        "The arguments are invalid.",
        tool="users",
        action="create",
        fields=[
            FieldError(
                ("email",), "Invalid email", "bad-email", "a valid email address (e.g. user@example.com)", (), "email"
            ),
            FieldError(
                ("role",),
                "Invalid enum value. Expected 'admin' | 'user', received 'superadmin'",
                "superadmin",
                options=("admin", "user"),
            ),
        ],
    ),
    "002.xml.6.validation": fw.Invalid(
        "The arguments are invalid.",
        tool="billing",
        action="create",
        fields=[
            FieldError(
                (),
                "Unrecognized key(s) in object: 'hallucinated_param'",
                expected="Remove or correct unrecognized fields: 'hallucinated_param'. Check for typos.",
            )
        ],
    ),
    "002.xml.7.route": choices(
        "MISSING_DISCRIMINATOR",
        'The required field "action" is missing.',
        'Add the "action" field and call the tool again.',
    ),
    "002.xml.8.route": choices(
        "UNKNOWN_ACTION",
        'The action "destory" does not exist.',
        "Choose a valid action from available_actions and call the tool again.",
    ),
}


@pytest.mark.checklist(110, 112, 113, 114, 115, 116, 117, 118, 119, 132, 133, 134, 135, 136)
@pytest.mark.checklist(149, 151, 152, 155, 156, 157, 175)
@pytest.mark.parametrize("id", XML_EXAMPLES)
def test_xml_examples_byte_for_byte(id: str) -> None:
    assert fw.render(XML_EXAMPLES[id], "xml") == one("contracts-verbatim", id)["output"]


@pytest.mark.parametrize("id", XML_EXAMPLES)
def test_xml_examples_survive_reading_and_writing_again(id: str) -> None:
    text = one("contracts-verbatim", id)["output"]
    error = fw.parse(text)
    assert error is not None
    assert fw.render(error, "xml") == text


@pytest.mark.checklist(124, 125)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "002.severity."))
def test_severity_decides_is_error(vector: dict[str, Any]) -> None:
    error = fw.ToolError("m", code="DEPRECATED", severity=vector["input"]["severity"])
    assert fw.to_result(error, "xml", meta=False) == {
        "content": [{"type": "text", "text": fw.render(error, "xml")}],
        **vector["output"],
    }


@pytest.mark.checklist(180, 181, 182, 183, 185, 186)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "003.code."))
def test_social_code_is_as_the_contract_tables_it(vector: dict[str, Any]) -> None:
    name, expected = vector["input"]["args"], vector["output"]
    code = fw.catalogs.Social[name]
    assert {
        "category": code.category,
        "retryable": code.retryable,
        "description": code.description,
    } == expected
    assert json.loads(fw.render(fw.ToolError("m", code=name), "envelope")) == {
        "success": False,
        "data": None,
        "error": {"code": name, "message": "m", "retryable": expected["retryable"]},
    }
    assert str(code) == name
    assert fw.ToolError("m", code=str(code)).info == code


@pytest.mark.checklist(183)
def test_social_codes_that_may_be_retried() -> None:
    assert [code.name for code in fw.catalogs.Social if code.retryable] == one(
        "contracts-verbatim", "003.retryable_set"
    )["output"]
    assert len(fw.catalogs.Social) == 27


@pytest.mark.checklist(219, 220)
@pytest.mark.parametrize("id", ["req-12345", "req-001"])
def test_request_examples_are_accepted(id: str) -> None:
    params = {"name": "system/get-overview", "arguments": {"device_id": "dev-lab-01"}}
    assert check_request({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}) is None


@pytest.mark.checklist(221)
def test_success_example_is_no_failure() -> None:
    assert fw.parse(one("jsonrpc-as-run", "seed.example.02.result.")["output"]) is None
