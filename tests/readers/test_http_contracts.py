"""What contracts 000 and 001 say about HTTP, wrapping and size, from the failure to the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.formats import to_wire
from failwell.readers.http import code_for

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests/data/typed-as-run.json").read_text(encoding="utf-8"))
WIRE = {"toolerror_new", "toolerror_new_with_data"}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["id"].startswith("conformance.")], ids=lambda case: case["id"]
)
@pytest.mark.checklist(54)
def test_the_upstream_conformance_cases(case: dict[str, Any]) -> None:
    kind, message = case["input"]["args"]
    error = fw.ToolError(message, kind=kind.lower(), details=case["input"].get("data"))
    made = str(error) if case["input"]["fn"] == "toolerror_str" else to_wire(fw.wrap(error), "typed")
    if isinstance(made, dict):
        # Upstream compares only the keys it lists.
        made = {key: value for key, value in made.items() if key in case["output"]}
    assert made == case["output"]


@pytest.mark.checklist(54)
def test_what_upstream_wraps_is_internal_and_not_recoverable() -> None:
    wire: Any = to_wire(fw.wrap(RuntimeError("connection string")), "typed")
    assert (wire["type"], wire["recoverable"]) == ("INTERNAL", False)


@pytest.mark.checklist(54)
def test_transient_is_recoverable_as_upstream_has_it() -> None:
    wire: Any = to_wire(fw.ToolError("later", kind="transient"), "typed")
    assert (wire["type"], wire["recoverable"]) == ("TRANSIENT", True)


@pytest.mark.checklist(36)
def test_401_and_408_are_what_the_docs_say() -> None:
    page = (ROOT / "docs/servers.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| 4") and "`" in line]
    said = {
        int(status): row.split("`")[1]
        for row in rows
        for status in row.split("|")[1].split(",")
        if status.strip().isdigit()
    }
    for status, kind in ((401, "PERMISSION"), (408, "TRANSIENT")):
        error = fw.classify.from_http(status)
        assert (error.type, error.code) == (kind, said[status])
    assert all(code_for(status) == code for status, code in said.items())


@pytest.mark.checklist(71)
def test_429_and_408_retry_unless_the_contract_is_taken_by_its_letter() -> None:
    limited = fw.classify.from_http(429, {"Retry-After": "7"})
    late = fw.classify.from_http(408)
    wire: Any = to_wire(limited, "v1")
    assert (wire["code"], wire["retryable"]) == ("RATE_LIMITED", True)
    assert wire["details"] == {"statusCode": 429, "retryAfter": 7}
    assert to_wire(late, "v1")["retryable"] is True  # type: ignore[index,call-overload]
    for error in (limited, late):
        strict: Any = to_wire(error, "v1", strict=True)
        assert (strict["code"], strict["retryable"]) == ("CLIENT_ERROR", False)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "CLIENT_ERROR"),
        (401, "AUTHENTICATION_ERROR"),
        (403, "AUTHENTICATION_ERROR"),
        (404, "NOT_FOUND"),
        (410, "CLIENT_ERROR"),
        (418, "CLIENT_ERROR"),
        (431, "CLIENT_ERROR"),
        (500, "SERVER_ERROR"),
        (503, "SERVER_ERROR"),
        (504, "SERVER_ERROR"),
        (599, "SERVER_ERROR"),
    ],
)
@pytest.mark.checklist(66, 67, 68, 69)
def test_a_status_by_the_letter_of_the_contract(status: int, code: str) -> None:
    wire: Any = to_wire(fw.classify.from_http(status), "v1", strict=True)
    assert wire["code"] == code
    assert wire["retryable"] is (code == "SERVER_ERROR")


@pytest.mark.parametrize("gate", ["markdown", "json", "both"])
@pytest.mark.checklist(108)
def test_an_oversized_error_keeps_to_its_format(gate: Any) -> None:
    error = fw.ToolError("m" * 100_000, code="SERVER_ERROR", details={f"k{n}": "v" * 1000 for n in range(1000)})
    result: Any = fw.to_result(error, "v1", gate=gate, meta=False)
    assert len(json.dumps(result)) < 30_000
    blocks = [block["mimeType"] for block in result["content"]]
    people, programs = "text/markdown", "application/json"
    assert blocks == {"markdown": [people], "json": [programs], "both": [people, programs]}[gate]
    objects = [json.loads(block["text"]) for block in result["content"] if block["mimeType"] == programs]
    for wire in [result["structuredContent"], *objects]:
        assert (wire["kind"], wire["code"], wire["retryable"]) == ("toolError:v1", "SERVER_ERROR", True)
