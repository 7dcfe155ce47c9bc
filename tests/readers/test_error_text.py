"""The error texts of real servers, read into errors an agent can act on."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.model import Kind
from failwell.readers import from_text
from growth import wrong_growth

TOOL = Path(__file__).parents[2] / "tools" / "classification.py"


def _measure() -> Any:
    spec = importlib.util.spec_from_file_location("classification", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["classification"] = module
    spec.loader.exec_module(module)
    return module


MEASURE = _measure()
ANSWERS = MEASURE.answers()


def error(text: str, **known: Any) -> fw.ToolError:
    found = from_text(text, **{"is_error": True, **known})
    assert found is not None
    return found


@pytest.mark.parametrize("half", [*MEASURE.HALVES, "both"])
def test_real_answers_are_read_right(half: str) -> None:
    result = MEASURE.score(row for row in ANSWERS if half in ("both", MEASURE.half(row["server"])))
    assert result.kind >= 0.98, result.mistakes
    assert result.retryable >= 0.98, result.mistakes
    assert result.harmful == []
    assert result.alarms == []


def test_a_refusal_is_never_retryable() -> None:
    for row in ANSWERS:
        found = MEASURE.read(row)
        if found is not None and found.kind in (Kind.VALIDATION, Kind.PERMISSION, Kind.NOT_FOUND):
            assert not found.retryable


def test_what_is_read_says_where_it_comes_from() -> None:
    found = error("Error executing tool add: it is gone")
    assert (found.legacy, found.origin, found.format, found.tool) == (True, "peer", "text", "add")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Error executing tool x: no", "no"),
        ("Error calling tool 'x': no", "no"),
        ("MCP error -32602: no", "no"),
        ("MCP error -32603: MCP error -32603: no", "no"),
        ("Tool execution failed: no", "no"),
        ("Error: Error: no", "no"),
        ("### Error\nno", "no"),
        ("❌ Error: no", "no"),
        ("Error executing tool x: MCP error -32603: Error: no", "no"),
        ("[-32603] MCP error -32603: no", "no"),
        ("", "The tool failed and gave no reason."),
        ("Error: ", "The tool failed and gave no reason."),
    ],
)
def test_the_message_is_without_what_sdks_put_in_front(text: str, message: str) -> None:
    assert error(text).message == message


def test_an_unknown_text_is_internal_and_unsure() -> None:
    found = error("Blorp.")
    assert (found.type, found.code, found.retryable) == ("INTERNAL", None, False)
    assert found.confidence is not None
    assert found.confidence < 0.3
    assert error("fetch failed").confidence > found.confidence  # type: ignore[operator]


@pytest.mark.parametrize(
    ("number", "kind"), [(-32602, "validation"), (-32601, "not_found"), (-32700, "validation"), (-32603, "internal")]
)
def test_a_number_counts_where_the_text_says_nothing(number: int, kind: str) -> None:
    assert error("Blorp.", number=number).kind == kind
    assert error(f"MCP error {number}: Blorp.").kind == kind
    assert error("Project 'x' already exists", number=number).kind == "conflict"


@pytest.mark.parametrize(
    ("number", "text", "code"),
    [
        (429, "Too many", "RATE_LIMITED"),
        (503, "Blorp.", "UNAVAILABLE"),
        (409, "This is invalid", "CONFLICT"),
        (400, "Project 'x' already exists", "CONFLICT"),
        (404, "Unknown tool: x", "UNKNOWN_TOOL"),
        (404, "Request failed with status code 429", "RATE_LIMITED"),
        (399, "Too many", "VALIDATION_ERROR"),
    ],
)
def test_a_number_that_is_a_status_counts_as_one(number: int, text: str, code: str) -> None:
    assert error(text, number=number).code == code
    answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": text}}
    assert fw.read(answer).code == code  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [0, -1, -32000, -32001, -32002, 10**30, -(10**30)])
def test_a_number_that_means_something_else_everywhere_says_nothing(number: int) -> None:
    assert error("Blorp.", number=number).kind == "internal"


def test_of_a_long_text_the_beginning_and_the_end_are_read() -> None:
    filler = "and so on\n" * 10_000
    assert error("fetch failed\n" + filler).code == "NETWORK_ERROR"
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    assert error(trace + "    and so on\n" * 10_000 + "PermissionError: no").code == "FORBIDDEN"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Too many requests. Retry after 30 seconds.", 30),
        ("Rate limit exceeded, try again in 2 minutes", 120),
        ("HTTP 429 (Retry-After: 7)", 7),
        ("rate limited, retry in 500ms", 0.5),
        ("rate limited, retry in 500 milliseconds", 0.5),
        ("rate limited, resets in 2 hours", 7200),
        ('{"error":"rate limited","retry_after":9}', 9),
        ('{"error":"rate limited","retry_after_ms":1500}', 1.5),
        ("Too many requests", None),
        ("Invalid limit: wait 5 seconds", None),
    ],
)
def test_waits(text: str, seconds: float | None) -> None:
    assert error(text).retry_after == seconds


SUCCESSES = [
    "",
    "3 files were written.",
    "No matches found",
    "No results were found for your search query.",
    "Found 0 results",
    "Successfully updated: error rate is 3 %",
    "# Error handling in Go\n\nErrors are values. An error that is not found ...",
    "Error handling is explicit in Go.",
    "Errors: 0, warnings: 3",
    "12 passed, 1 failed in 3.2s",
    "The invalid entries were removed.",
    "ISSUE-7: Login page not found when clicking on the logo (open)",
    "Status 404 pages: 12",
    "2026-01-01 ERROR connection refused\n2026-01-02 ERROR timed out\n" * 20,
    "def f():\n    raise ValueError('not found')\n",
    '{"tools": [{"name": "x", "description": "Error: not found"}]}',
    '{"error": null, "data": {"id": 1}}',
    '{"id": 7, "status": "failed", "error": "exit code 1", "created": "2026-01-01"}',
    '{"data": {"a": 1}, "errors": [{"message": "x"}]}',
    '{"success": true, "error": ""}',
    '{"status": 200, "message": "OK"}',
    '{"status": 404}',
    '{"message": "hello"}',
    '[{"error": "x"}, {"ok": 1}]',
    "[]",
    "{}",
    "null",
    "<html><body><h1>Login</h1></body></html>",
    "[1] Smith et al. The error of our ways.",
    "Cannot be better: all 7 checks are green.\n" * 40,
    "# Error\n\nWhat it is, and how to handle it.\n" + "A chapter of a book.\n" * 400,
    "Error: connection refused\n" * 400,
    "Here is the log you asked for:\nError: connection refused",
    "A required reading list for new hires: error, fault and failure.",
]


@pytest.mark.parametrize("text", SUCCESSES)
@pytest.mark.parametrize("is_error", [None, False])
def test_a_success_is_no_error(text: str, is_error: bool | None) -> None:
    assert from_text(text, is_error=is_error) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Error: Network error while GET request Jira. Please check your internet connection.", "NETWORK_ERROR"),
        ("Error retrieving key x: Error 111 connecting to 127.0.0.1:1. Connection refused.", "NETWORK_ERROR"),
        ("MCP error -32602: no", "INVALID_PARAMS"),
        ("nope.md: Error - ENOENT: no such file or directory, open '/srv/nope.md'", "NOT_FOUND"),
        ("Failed to parse the date", "VALIDATION_ERROR"),
        ('Device "x" not found. Use the list tool to see available devices.', "NOT_FOUND"),
        ("Security violation: path is outside the workspace", "FORBIDDEN"),
        ("# Error: Note already exists\n\nChoose another title.", "CONFLICT"),
        ('{"error":"Missing required arguments: channel_id and text"}', "MISSING_REQUIRED_FIELD"),
        ('{"success": false, "message": "no"}', None),
        ('{"status":"error","message":"rate limit exceeded"}', "RATE_LIMITED"),
        (
            "1 validation error for getArguments\nkey\n  Field required [type=missing, input_value={}]",
            "VALIDATION_ERROR",
        ),
    ],
)
def test_an_error_in_a_success_is_found(text: str, code: str | None) -> None:
    found = from_text(text)
    assert found is not None
    assert found.code == code


@given(st.text(max_size=400), st.sampled_from([None, False, True]), st.none() | st.integers())
def test_any_text_is_read(text: str, is_error: bool | None, number: int | None) -> None:
    found = from_text(text, is_error=is_error, number=number)
    assert found is not None or is_error is not True
    fw.render(found, "canonical") if found is not None else None


PIECES = sorted({row["text"][:300] for row in ANSWERS[::9]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from("error errors message code status path loc msg type detail content success".split()), inner
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=4), st.sampled_from([None, True]))
def test_any_mixture_is_read(pieces: list[str], is_error: bool | None) -> None:
    found = from_text("".join(pieces), is_error=is_error)
    assert isinstance(found, fw.ToolError) or (found is None and is_error is None)


@given(JSON, st.sampled_from(["", "Error: ", "Invalid arguments for x: "]), st.sampled_from([None, True]))
def test_any_json_is_read(data: object, lead: str, is_error: bool | None) -> None:
    found = from_text(lead + json.dumps(data), is_error=is_error)
    assert isinstance(found, fw.ToolError) or (found is None and is_error is None)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"error":' * 50_000,
        "\ud800",
        '{"code":' + "9" * 5_000 + "}",
        "\x00",
        "Error: " * 50_000,
        "'" * 30_000,
    ],
)
def test_hostile_texts(text: str) -> None:
    assert error(text).kind is not None
    from_text(text)


UNITS = [
    "a", " ", "\n", "\n  ", "a\n  b ", "error ", "Error: ", "error: a ", "no a ", "'", '"', "`", "['", "{", "[{", '{"a":', '{"message":"',
    "must ", "/a must ", "a.b ", "a: ", "a_", "A_", "Aa", "A.", "E", "ERR_", "invalid type: a, ", "invalid ", "validating /properties/a: type: ",
    "Invalid input: expected ", "Required at a; ", "Expected a, received b, ", "expected one of ", " at ", "\n    at a", "failed to a ",
    'File "a", line 1\n', "Traceback (most recent call last):\n", "A: b\n", "status ", "status 4", "404 ", "api (", "http://", "http://a ",
    "\n2 validation errors for a\n", "a\n  b [type=", "1 validation error for ", "is not of type 'a'", "'a' ", "unknown field `a`, ",
    "Key: 'a' Error:", "retry after 1", "wait ", "environment variable ", "install ", "token ", "column a ", "one of a ", "not found, ",
    "ignored ", "was ignored\n", "❌", "- ", "**", "SQLSTATE ", "On instance['a']", "json: cannot unmarshal a into Go struct field A.",
    "tool a ", "Error executing tool ", "MCP error -32602: ", "é", "😀", "\\", '\\"', "tokens are ",
    "session ", "mcp session ", "denied by a ", "response exceeds ", "mcp server ", "user ", "requires a ", "tool call a ", "jwt ",
    "a.A: 409 ", "409 The ", "no case clause ", "give it ", "another go in ",
    "not found, so ", "missing a", "Unknown a, ", "failed to a, the ", "-a\n", "1-1-1 a\n", "error:a\n", "a: 1, ", "was ",
]  # fmt: skip


@pytest.mark.parametrize("is_error", [None, True])
def test_work_grows_with_the_text_and_no_faster(is_error: bool | None) -> None:
    assert wrong_growth(lambda text: from_text(text, is_error=is_error), UNITS, 64_000) == []


def test_importing_failwell_does_not_load_the_tables() -> None:
    program = "import sys, failwell; print(*({'failwell.readers.phrases', 'failwell.readers.json_errors'} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == []


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("Failed to draw: Request failed with status code 404", "NOT_FOUND", 404),
        ("Client error '404 Not Found' for url 'http://a/429'", "NOT_FOUND", 404),
        ("429 Client Error: Too Many Requests for url: http://a/404", "RATE_LIMITED", 429),
        ("HTTP 429", "RATE_LIMITED", 429),
        ("HTTP/1.1 503 Service Unavailable", "UNAVAILABLE", 503),
        ("request failed (status: 503)", "UNAVAILABLE", 503),
        ("API error (401)", "UNAUTHORIZED", 401),
        ("Some API Error: 403 \nURL: http://a/b\nMessage: Forbidden", "FORBIDDEN", 403),
        ("TransportError(500, '{}')", "UPSTREAM_ERROR", 500),
        ("The server responded with a 409", "CONFLICT", 409),
        ('API request failed: 401 {"message": "invalid", "status": 401}', "UNAUTHORIZED", 401),
        ('{"status":429,"message":"Slow down"}', "RATE_LIMITED", 429),
        ('{"statusCode":"404","error":"Not Found","message":"x"}', "NOT_FOUND", 404),
        ('{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}', "NOT_FOUND", 404),
        ("Room 404 does not exist", "NOT_FOUND", None),
        ("404 items were not found", "NOT_FOUND", None),
        ("Received exception, code: 516, authentication failed", "UNAUTHORIZED", None),
    ],
)
def test_statuses(text: str, code: str, status: int | None) -> None:
    found = error(text)
    assert (found.code, found.http_status) == (code, status)


CRASHES = [
    "'NoneType' object has no attribute 'x'",
    "list index out of range",
    "IndexError: list index out of range",
    "fetch() missing 1 required positional argument: 'url'",
    "Object of type datetime is not JSON serializable",
    "Cannot read properties of undefined (reading 'x')",
    "x is not a function",
    "Maximum call stack size exceeded",
    "Converting circular structure to JSON",
    "Unexpected token < in JSON at position 0",
    "Unexpected end of JSON input",
    "runtime error: index out of range [3] with length 2",
    "runtime error: integer divide by zero",
    "called `Result::unwrap()` on an `Err` value: Missing",
    "Object reference not set to an instance of an object.",
    "Output validation error: 'total' is a required property",
]


@pytest.mark.parametrize("wrap", ["{}", "Error: {}", "Error executing tool report: {}"])
@pytest.mark.parametrize("text", CRASHES)
def test_a_crash_is_internal(text: str, wrap: str) -> None:
    found = from_text(wrap.format(text), is_error=True)
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.code, found.retryable) == (Kind.INTERNAL, "INTERNAL_ERROR", False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Query failed: division by zero in column 'rate'", "validation"),
        ("Unexpected token '}' in expression", "validation"),
        ("TypeError: fetch failed", "transient"),
        ("TypeError: Invalid URL", "validation"),
        ("KeyError: 'User 7 not found'", "not_found"),
        ("Page index out of range", "validation"),
        ("'limit' must be a positive number", "validation"),
    ],
)
def test_what_only_looks_like_one_is_not(text: str, kind: str) -> None:
    found = from_text(text, is_error=True)
    assert isinstance(found, fw.ToolError)
    assert found.kind == kind


# What nobody flagged: answers that speak of errors are none, and the errors among them are found.
UNFLAGGED: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "successes.jsonl").read_text(encoding="utf-8").splitlines()
]
REPORTS = [row["text"] for row in UNFLAGGED if not row["error"]]
UNFLAGGED_ERRORS = [row["text"] for row in UNFLAGGED if row["error"]]


@pytest.mark.parametrize("is_error", [None, False])
def test_few_answers_about_errors_are_taken_for_one(is_error: bool | None) -> None:
    # Only who watches asks: to a caller a success is one, whatever it says.
    taken = [text for text in REPORTS if from_text(text, is_error=is_error) is not None]
    assert len(taken) <= 0.05 * len(REPORTS), taken


def test_errors_that_nobody_flagged_are_found() -> None:
    assert len(REPORTS) >= 80
    assert len(UNFLAGGED_ERRORS) >= 60
    missed = [text for text in UNFLAGGED_ERRORS if from_text(text) is None]
    assert len(missed) <= 0.1 * len(UNFLAGGED_ERRORS), missed


@pytest.mark.parametrize("said", [{"success": True}, {"ok": True}, {"status": "ok"}, {"status": "Success"}])
@pytest.mark.parametrize(
    "more", [{"error": "not found"}, {"errors": [{"message": "no"}]}, {"code": 404, "message": "no"}]
)
def test_an_object_that_says_it_worked_is_no_error(said: dict[str, Any], more: dict[str, Any]) -> None:
    assert from_text(json.dumps({**said, **more})) is None
    assert from_text(json.dumps({**more, **said})) is None


@pytest.mark.parametrize("text", REPORTS, ids=lambda text: text[:50])
def test_what_was_flagged_is_an_error_whatever_it_says(text: str) -> None:
    assert from_text(text, is_error=True) is not None
