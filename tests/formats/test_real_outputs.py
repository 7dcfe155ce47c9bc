"""What the real systems behind the contracts send is read right: format, code, kind, message and hints."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.model import Kind
from recorded import cases

SIX = {kind.value.upper(): kind for kind in Kind}
STANDARD = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "JSONRPC_INTERNAL_ERROR",
}


def kind_of(code: str | None, flag: bool | None = None) -> Kind:
    """The kind of a code by its catalogue; of an unknown one, by what the peer said about retrying."""
    for catalog in fw.catalogs.CATALOGS.values():
        if code in catalog:
            return catalog[str(code)].kind
    return Kind.TRANSIENT if flag else Kind.INTERNAL


def found(vector: dict[str, Any]) -> tuple[Any, fw.ToolError | fw.NeedsInput | None]:
    output = vector["output"]
    wire = output["raises"] if isinstance(output, dict) and "raises" in output else output
    return wire, fw.parse(wire)


def as_object(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def said(error: fw.ToolError) -> dict[str, Any]:
    """What the error tells an agent to go by, without what follows from code and kind."""
    return {
        "format": error.format,
        "code": error.code,
        "kind": error.kind,
        "message": error.message,
        "retry_after": error.retry_after,
        "actions": [action.tool for action in error.actions],
        "fields": [field.name for field in error.fields],
        "details": dict(error.details),
    }


def expect(format: str, code: str | None, kind: Kind, message: str, **more: Any) -> dict[str, Any]:
    nothing = {"retry_after": None, "actions": [], "fields": [], "details": {}}
    return {"format": format, "code": code, "kind": kind, "message": message, **nothing, **more}


@pytest.mark.checklist(2, 11, 12, 14, 39, 55)
@pytest.mark.parametrize("vector", cases("typed-as-run"))
def test_typed(vector: dict[str, Any]) -> None:
    wire, error = found(vector)
    sent = as_object(wire)
    if not isinstance(sent, dict) or "type" not in sent:
        assert error is None
        return
    assert isinstance(error, fw.ToolError)
    data = dict(sent.get("data", {}))
    conflicts = data.pop("conflicts", [])
    code = sent["type"]
    message = sent["message"] if isinstance(sent["message"], str) else json.dumps(sent["message"])
    details = {key: "nan" if value != value else value for key, value in data.items()}
    kind = SIX.get(code) or kind_of(code, sent.get("recoverable"))
    if code == "transient":
        # Not one of the six as the contract spells them, but there is no doubt what was meant.
        kind = Kind.TRANSIENT
    assert said(error) == expect("typed", code or None, kind, message.replace("\ud800", "\ufffd"), details=details)
    assert [conflict.to_dict() for conflict in error.conflicts] == conflicts
    if "recoverable" in sent:
        assert error.recoverable is sent["recoverable"]
    assert bool(error.notes) is (code not in SIX or not isinstance(sent["message"], str))


@pytest.mark.checklist(57, 87, 88, 90, 91, 92, 95, 98)
@pytest.mark.parametrize("vector", cases("v1-as-run"))
def test_v1(vector: dict[str, Any]) -> None:
    output = vector["input"].get("result") if vector["id"].startswith("parse.") else vector["output"]
    outcome = fw.parse(output)
    blocks = output.get("content", []) if isinstance(output, dict) else []
    objects = [wire for block in blocks if isinstance(wire := as_object(block["text"]), dict)]
    if isinstance(output, dict) and not objects:
        objects = [output["structuredContent"]] if "structuredContent" in output else [output]
    sent = objects[-1] if objects else {}
    if sent.get("kind") == "needsInput:v1":
        assert isinstance(outcome, fw.NeedsInput)
        needs = sent["needsInput"]
        assert (outcome.message, list(outcome.fields), outcome.reason) == (
            sent["message"],
            needs["fields"],
            needs["reason"],
        )
        assert outcome.suggestions == needs.get("suggestions", {})
        assert [option.to_dict() for option in outcome.options] == sent.get("options", [])
        return
    if sent.get("kind") != "toolError:v1":
        assert outcome is None
        return
    assert isinstance(outcome, fw.ToolError)
    details = dict(sent.get("details", {}))
    # 600 and 999 are no HTTP statuses: they are kept as what they are, a detail.
    status = details.pop("statusCode") if details.get("statusCode", 999) <= 599 else None
    flag = sent.get("retryable")
    message = sent.get("message", "")
    assert said(outcome) == expect("v1", sent["code"], kind_of(sent["code"], flag), message, details=details)
    assert outcome.http_status == status
    contradiction = outcome.info is not None and flag not in (None, outcome.info.retryable)
    disagreement = vector["id"] == "parse.structured_wins"
    assert len(outcome.notes) == contradiction + disagreement


@pytest.mark.checklist(176, 177, 187, 188, 189, 199, 200)
@pytest.mark.parametrize("vector", cases("envelope-as-run"))
def test_envelope(vector: dict[str, Any]) -> None:
    wire, error = found(vector)
    sent = as_object(wire["content"][0]["text"] if isinstance(wire, dict) and "content" in wire else wire)
    if not isinstance(sent, dict) or sent.get("success") is not False:
        assert error is None
        return
    assert isinstance(error, fw.ToolError)
    reason = sent["error"]
    delay = reason["retry_after_ms"] / 1000 if "retry_after_ms" in reason else None
    kind = kind_of(reason["code"], reason["retryable"])
    assert said(error) == expect("envelope", reason["code"], kind, reason["message"], retry_after=delay)
    assert error.retryable is reason["retryable"]
    assert error.to_dict().get("reset_at") == reason.get("rate_limit_reset")
    assert error.policy_decision == reason.get("policy_decision")
    assert error.meta == sent.get("meta", {})
    assert error.notes == ()


@pytest.mark.checklist(222, 223, 246, 247, 264)
@pytest.mark.parametrize("vector", cases("jsonrpc-as-run"))
def test_jsonrpc(vector: dict[str, Any]) -> None:
    wire, error = found(vector)
    sent = wire.get("error", wire) if isinstance(wire, dict) else {}
    if not isinstance(sent, dict) or "message" not in sent or not isinstance(sent.get("code"), int):
        assert error is None
        return
    assert isinstance(error, fw.ToolError)
    data = dict(sent.get("data", {}))
    code = data.pop("mcp_error_code", None)
    kind = kind_of(code or STANDARD.get(sent["code"]))
    if code == "INVALID_DEVICE_ID":
        kind = Kind.VALIDATION
    message = data.pop("details", sent["message"])
    fields = [item["field"] for item in data.pop("errors", [])]
    if "field" in data:
        fields = [data.pop("field")]
        assert (error.fields[0].sent, error.fields[0].expected) == (data.pop("value"), data.pop("expected"))
    delay = data.pop("retry_after", None)
    assert error.strategy == data.pop("recovery_strategy", error.strategy)
    assert error.tool == data.pop("tool_name", None)
    assert error.tier == data.pop("tool_tier", None)
    assert error.debug == data.pop("_debug_details", None)
    assert list(error.next_steps) == data.pop("suggestions", [])
    # The contract's own sentence for the strategy says nothing that the strategy does not.
    assert error.suggestion in (data.pop("suggestion", None), None)
    assert said(error) == expect(
        "jsonrpc",
        code or STANDARD.get(sent["code"], str(sent["code"])),
        kind,
        message,
        retry_after=delay,
        fields=fields,
        details=data,
    )


def test_jsonrpc_suggestion_of_the_author_is_kept() -> None:
    for case in cases("jsonrpc-as-run", "seed.concise."):
        _, error = found(case.values[0])
        assert isinstance(error, fw.ToolError)
        assert error.suggestion == "Check device configuration or parameters"
