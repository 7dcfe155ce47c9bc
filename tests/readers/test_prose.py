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
from failwell.readers import from_text, trace_line, without_frames
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


def fields(text: str) -> list[dict[str, Any]]:
    return [problem.to_dict() for problem in error(text).fields]


@pytest.mark.parametrize("half", [*MEASURE.HALVES, "both"])
def test_real_answers_are_read_right(half: str) -> None:
    result = MEASURE.score(row for row in ANSWERS if half in ("both", MEASURE.half(row["server"])))
    assert result.kind >= 0.95, result.mistakes
    assert result.retryable >= 0.97, result.mistakes
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
    assert error("missing field `x`").confidence > error("It is invalid.").confidence  # type: ignore[operator]


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


PYDANTIC = """Error executing tool search: 3 validation errors for searchArguments
query
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
filters.0.limit
  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='x', input_type=str]
    For further information visit https://errors.pydantic.dev/2.14/v/int_parsing
kind
  Input should be 'a', 'b' or 'c' [type=literal_error, input_value='z', input_type=str]
    For further information visit https://errors.pydantic.dev/2.14/v/literal_error"""


def test_pydantic() -> None:
    found = error(PYDANTIC)
    assert (found.code, found.tool) == ("VALIDATION_ERROR", "search")
    assert [problem.to_dict() for problem in found.fields] == [
        {"path": ["query"], "message": "Field required", "rule": "required"},
        {
            "path": ["filters", 0, "limit"],
            "message": "Input should be a valid integer, unable to parse string as an integer",
            "expected": "integer",
            "rule": "type",
        },
        {
            "path": ["kind"],
            "message": "Input should be 'a', 'b' or 'c'",
            "expected": "'a', 'b' or 'c'",
            "options": ["a", "b", "c"],
            "rule": "enum",
        },
    ]
    assert found.message == (
        "query: Field required; filters.0.limit: Input should be a valid integer, unable to parse string as an "
        "integer; kind: Input should be 'a', 'b' or 'c'"
    )


def test_pydantic_version_1() -> None:
    text = "1 validation error for Model\nitems -> 0 -> name\n  field required (type=value_error.missing)"
    assert fields(text) == [{"path": ["items", 0, "name"], "message": "field required", "rule": "required"}]
    assert error(text).code == "MISSING_REQUIRED_FIELD"


def test_pydantic_about_what_the_tool_gave_back_is_the_tools_fault() -> None:
    text = (
        "1 validation error for getOutput\nresult\n  Input should be a valid string [type=string_type, input_value={}]"
    )
    assert (error(text).kind, error(text).fields) == ("internal", ())


def test_what_fastapi_answers() -> None:
    text = '{"detail":[{"type":"missing","loc":["body","name"],"msg":"Field required"}]}'
    assert fields(text) == [{"path": ["name"], "message": "Field required", "rule": "required"}]
    assert from_text(text) is not None


ZOD_4 = [
    {
        "expected": "string",
        "code": "invalid_type",
        "path": ["items", 0, "name"],
        "message": "Invalid input: expected string, received number",
    },
    {
        "code": "invalid_value",
        "values": ["a", "b"],
        "path": ["kind"],
        "message": 'Invalid option: expected one of "a"|"b"',
    },
    {"code": "unrecognized_keys", "keys": ["limt"], "path": [], "message": 'Unrecognized key: "limt"'},
]
ZOD_4_FIELDS = [
    {
        "path": ["items", 0, "name"],
        "message": "Invalid input: expected string, received number",
        "expected": "string",
        "rule": "type",
    },
    {"path": ["kind"], "message": 'Invalid option: expected one of "a"|"b"', "options": ["a", "b"], "rule": "enum"},
    {"path": ["limt"], "message": 'Unrecognized key: "limt"', "rule": "additionalProperties"},
]
ZOD_3 = [
    {"code": "invalid_type", "expected": "string", "received": "undefined", "path": ["id"], "message": "Required"},
    {
        "received": "z",
        "code": "invalid_enum_value",
        "options": ["a", "b"],
        "path": ["kind"],
        "message": "Invalid enum value. Expected 'a' | 'b', received 'z'",
    },
]
ZOD_3_FIELDS = [
    {"path": ["id"], "message": "Required", "expected": "string", "rule": "required"},
    {
        "path": ["kind"],
        "message": "Invalid enum value. Expected 'a' | 'b', received 'z'",
        "options": ["a", "b"],
        "rule": "enum",
    },
]


@pytest.mark.parametrize(
    "lead", ["", "Error: ", "MCP error -32602: Invalid arguments for tool get: ", "Invalid arguments for get: "]
)
@pytest.mark.parametrize(("issues", "expected"), [(ZOD_4, ZOD_4_FIELDS), (ZOD_3, ZOD_3_FIELDS)], ids=["4", "3"])
def test_zod_dumps(lead: str, issues: object, expected: object) -> None:
    assert fields(lead + json.dumps(issues, indent=2)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "MCP error -32602: Input validation error: Invalid arguments for tool get: "
            "Invalid input: expected string, received undefined at filter.name",
            [{"path": ["filter", "name"], "rule": "required", "expected": "string"}],
        ),
        (
            'Invalid arguments for tool get: Invalid option: expected one of "toon"|"json" at format',
            [{"path": ["format"], "rule": "enum", "options": ["toon", "json"]}],
        ),
        ("Invalid arguments for tool get: Required at collectionId", [{"path": ["collectionId"], "rule": "required"}]),
        (
            "Invalid arguments for tool get: Expected array, received string at files",
            [{"path": ["files"], "rule": "type", "expected": "array"}],
        ),
        (
            "Input validation error: Invalid arguments for tool q: libraryId: Invalid input: expected string, received undefined",
            [{"path": ["libraryId"], "rule": "required", "expected": "string"}],
        ),
        (
            "Input validation error: Invalid arguments for tool q: a: Invalid input: expected string, received undefined, "
            "b: Invalid input: expected number, received string",
            [
                {"path": ["a"], "rule": "required", "expected": "string"},
                {"path": ["b"], "rule": "type", "expected": "number"},
            ],
        ),
        (
            '### Error\nInvalid arguments for tool "browser_resize":\n✖ Invalid input: expected number, received string\n  → at width',
            [{"path": ["width"], "rule": "type", "expected": "number"}],
        ),
        (
            "MCP error -32602: Tool 'get_task' parameter validation failed: id: Invalid input: expected string, received "
            "undefined. Please check the parameter types and values according to the tool's schema.",
            [{"path": ["id"], "rule": "required", "expected": "string"}],
        ),
        ("Invalid fileKey: Required", [{"path": ["fileKey"], "rule": "required"}]),
        ("Invalid depth: Expected number, received string", [{"path": ["depth"], "rule": "type", "expected": "number"}]),
        (
            'Input validation error: Invalid arguments for tool list: Unrecognized keys: "a", "b"',
            [{"path": ["a"], "rule": "additionalProperties"}, {"path": ["b"], "rule": "additionalProperties"}],
        ),
        # jsonschema
        ("Input validation error: 'query' is a required property", [{"path": ["query"], "rule": "required"}]),
        ("Input validation error: 12345 is not of type 'string'", [{"path": [], "rule": "type", "expected": "string"}]),
        ("Input validation error: 'z' is not one of ['a', 'b']", [{"path": [], "rule": "enum", "options": ["a", "b"]}]),
        (
            "Input validation error: Additional properties are not allowed ('a', 'b' were unexpected)",
            [{"path": ["a"], "rule": "additionalProperties"}, {"path": ["b"], "rule": "additionalProperties"}],
        ),
        (
            "5 is not of type 'string'\n\nFailed validating 'type' in schema['properties']['a']:\n    {'type': 'string'}\n\nOn instance['a'][0]:\n    5",
            [{"path": ["a", 0], "rule": "type", "expected": "string"}],
        ),
        # ajv
        ("data/limit must be integer", [{"path": ["limit"], "rule": "type", "expected": "integer"}]),
        ("data must have required property 'q'", [{"path": ["q"], "rule": "required"}]),
        ("data/a/0 must be equal to one of the allowed values", [{"path": ["a", 0], "rule": "enum"}]),
        ('[{"instancePath":"/a","keyword":"type","params":{"type":"string"},"message":"must be string"}]', [{"path": ["a"], "rule": "type", "expected": "string"}]),
        # Go
        (
            "invalid arguments: json: cannot unmarshal number into Go struct field GetParams.uid of type string",
            [{"path": ["uid"], "rule": "type", "expected": "string"}],
        ),
        (
            "Key: 'User.Email' Error:Field validation for 'Email' failed on the 'required' tag",
            [{"path": ["Email"], "rule": "required"}],
        ),
        ('missing required parameter "owner"', [{"path": ["owner"], "rule": "required"}]),
        ('required argument "owner" not found', [{"path": ["owner"], "rule": "required"}]),
        (
            'validating "arguments": validating root: required: missing properties: ["a" "b"]',
            [{"path": ["a"], "rule": "required"}, {"path": ["b"], "rule": "required"}],
        ),
        # serde
        ("missing field `id` at line 1 column 5", [{"path": ["id"], "rule": "required"}]),
        ("invalid type: integer `12345`, expected a string", [{"path": [], "rule": "type", "expected": "a string"}]),
        (
            "unknown variant `z`, expected one of `a`, `b`",
            [{"path": [], "rule": "enum", "options": ["a", "b"]}],
        ),
        (
            "unknown field `limt`, expected `limit` or `page`",
            [{"path": ["limt"], "rule": "additionalProperties", "options": ["limit", "page"]}],
        ),
    ],
)  # fmt: skip
def test_validators(text: str, expected: list[dict[str, Any]]) -> None:
    found = fields(text)
    assert [{name: value for name, value in each.items() if name != "message"} for each in found] == expected
    assert all(each["message"] for each in found)
    assert error(text).kind == "validation"


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
        ("Failed to get the page: 404", "NOT_FOUND", 404),
        ("The server responded with a 409", "CONFLICT", 409),
        ('API request failed: 401 {"message": "invalid", "status": 401}', "UNAUTHORIZED", 401),
        ('{"status":429,"message":"Slow down"}', "RATE_LIMITED", 429),
        ('{"statusCode":"404","error":"Not Found","message":"x"}', "NOT_FOUND", 404),
        ('{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}', "NOT_FOUND", 404),
        ('[GET /pages/{id}][403] getPageForbidden {"message":"x"}', "FORBIDDEN", 403),
        ("google.api_core.exceptions.Aborted: 409 The transaction has expired. Please retry it.", "CONFLICT", 409),
        ("409 The referenced transaction has expired or is no longer valid.", "CONFLICT", 409),
        ("Room 404 does not exist", "NOT_FOUND", None),
        ("404 items were not found", "NOT_FOUND", None),
        ("Received exception, code: 516, authentication failed", "UNAUTHORIZED", None),
    ],
)
def test_statuses(text: str, code: str, status: int | None) -> None:
    found = error(text)
    assert (found.code, found.http_status) == (code, status)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # networks
        ("fetch failed", "NETWORK_ERROR"),
        ("TypeError: fetch failed", "NETWORK_ERROR"),
        ("getaddrinfo ENOTFOUND api.example.com", "NETWORK_ERROR"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "NETWORK_ERROR"),
        ("read ECONNRESET", "NETWORK_ERROR"),
        ("[Errno -2] Name or service not known", "NETWORK_ERROR"),
        ('Get "http://a/": dial tcp 127.0.0.1:3999: connect: connection refused', "NETWORK_ERROR"),
        ("HTTPSConnectionPool(host='a', port=443): Max retries exceeded with url: /x", "NETWORK_ERROR"),
        ("HTTPSConnectionPool(host='a', port=443): Read timed out. (read timeout=10)", "TIMEOUT"),
        ("ReadTimeout('')", "TIMEOUT"),
        ("context deadline exceeded", "TIMEOUT"),
        ("page.goto: Timeout 30000ms exceeded.", "TIMEOUT"),
        ("page.goto: net::ERR_NAME_NOT_RESOLVED at http://a/", "NETWORK_ERROR"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", "TLS_ERROR"),
        # the system
        ("ENOENT: no such file or directory, open '/srv/a'", "NOT_FOUND"),
        ("[Errno 2] No such file or directory: '/srv/a'", "NOT_FOUND"),
        ("EACCES: permission denied, open '/srv/a'", "FORBIDDEN"),
        ("EEXIST: file already exists, mkdir '/srv/a'", "CONFLICT"),
        ("EISDIR: illegal operation on a directory, read", "VALIDATION_ERROR"),
        ("spawn kubectl ENOENT", "NOT_CONFIGURED"),
        ("No module named 'pandas'", "NOT_CONFIGURED"),
        # gRPC
        ("rpc error: code = NotFound desc = no such pod", "NOT_FOUND"),
        ("14 UNAVAILABLE: No connection established", "UNAVAILABLE"),
        ("7 PERMISSION_DENIED: nope", "FORBIDDEN"),
        # databases
        ("SQLSTATE[28000]: nope", "UNAUTHORIZED"),
        ("1045 (28000): Access denied for user 'a'@'b' (using password: YES)", "UNAUTHORIZED"),
        ('relation "users" does not exist', "NOT_FOUND"),
        ('column "nme" does not exist', "VALIDATION_ERROR"),
        ('syntax error at or near "SELEC"', "VALIDATION_ERROR"),
        ("no such table: users", "NOT_FOUND"),
        ("SQLITE_BUSY: database is locked", "UNAVAILABLE"),
        ("UNIQUE constraint failed: users.email", "CONFLICT"),
        ("NOT NULL constraint failed: users.email", "VALIDATION_ERROR"),
        ("ER_DUP_ENTRY: Duplicate entry 'a' for key 'PRIMARY'", "CONFLICT"),
        ("ER_NO_SUCH_TABLE: Table 'a.b' doesn't exist", "NOT_FOUND"),
        # names
        ("[NOT_FOUND] nodir - nothing there", "NOT_FOUND"),
        ("RATE_LIMIT_EXCEEDED: slow down", "RATE_LIMITED"),
        ("requests.exceptions.ConnectionError: no", "NETWORK_ERROR"),
        ("FileNotFoundError: /srv/a", "NOT_FOUND"),
        ("An error occurred (ThrottlingException) when calling the Get operation: Rate exceeded", "RATE_LIMITED"),
        ("An error occurred (InvalidClientTokenId) when calling the Get operation: no", "UNAUTHORIZED"),
        ("An API error occurred: missing_scope", "FORBIDDEN"),
        ("Missing required parameter: access_token", "MISSING_REQUIRED_FIELD"),
        ("Issue does not exist or you do not have permission to see it.", "NOT_FOUND"),
        # tools
        ("Unknown tool: x", "UNKNOWN_TOOL"),
        ("MCP error -32602: Tool x not found", "UNKNOWN_TOOL"),
        ("The tool x was not found", "UNKNOWN_TOOL"),
        ("Method not found", "METHOD_NOT_FOUND"),
        # words
        ("Project 'rate limit' already exists", "CONFLICT"),
        ("Timeout must be a positive number", "VALIDATION_ERROR"),
        ("Invalid API key", "UNAUTHORIZED"),
        ("ACME_API_KEY environment variable is not set", "UNAUTHORIZED"),
        ("Command not allowed: sudo ls", "FORBIDDEN"),
        ("Only SELECT queries are allowed", "FORBIDDEN"),
        ("Negative numbers are not allowed", "VALIDATION_ERROR"),
        ("title is required", "MISSING_REQUIRED_FIELD"),
        ("Either 'a' or 'b' must be provided", "MISSING_REQUIRED_FIELD"),
        ("Unknown mode 'z'. Use one of: a, b", "VALIDATION_ERROR"),
        ("Could not connect to Blender. Make sure the addon is running.", "NETWORK_ERROR"),
        ("Service temporarily unavailable", "UNAVAILABLE"),
        ("Cannot read properties of undefined (reading 'id')", "INTERNAL_ERROR"),
        ("'int' object has no attribute 'strip'", "INTERNAL_ERROR"),
        ("Unexpected token '<', \"<html><bod\"... is not valid JSON", "INTERNAL_ERROR"),
        # objects
        ('{"error":"fetch failed"}', "NETWORK_ERROR"),
        ('{"error":{"name":"Error","message":"Too many requests"}}', "RATE_LIMITED"),
        ('{"success":false,"error":{"code":"ENTITY_NOT_FOUND","message":"No light"}}', "NOT_FOUND"),
        ('{"success":false,"error":{"code":"SERVICE_CALL_FAILED","message":"API error: 409 - Version conflict"}}', "CONFLICT"),
        ('{"message":"Validation Failed","errors":[{"resource":"Issue","field":"title","code":"missing_field"}]}', "MISSING_REQUIRED_FIELD"),
        ('{"code":"CONNECTION_FAILED","status":401,"message":"no"}', "UNAUTHORIZED"),
        ('{"toolResult":{"content":[{"type":"text","text":"Error: Unknown tool: x"}],"isError":true}}', "UNKNOWN_TOOL"),
        ('{"success": false, "error": {"code": "AUTH_INVALID_TOKEN", "message": "Invalid tok', "UNAUTHORIZED"),
        # what Elixir and Erlang say of a program that is wrong
        ("no match of right hand side value: {:error, :timeout}", "INTERNAL_ERROR"),
        ("** (MatchError) no match of right hand side value: {:error, :timeout}", "INTERNAL_ERROR"),
        ("** (CaseClauseError) no case clause matching: nil", "INTERNAL_ERROR"),
        ("Give it another go in 5 seconds.", "UNAVAILABLE"),
        ("Give it a name", "MISSING_REQUIRED_FIELD"),
        # traces
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nLookupError: no match of right hand side value: 1', "INTERNAL_ERROR"),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: \'x\'', "INTERNAL_ERROR"),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nConnectionRefusedError: [Errno 111] Connection refused', "NETWORK_ERROR"),
        ("TypeError: x is not a function\n    at f (/srv/a.js:1:2)\n    at g (/srv/a.js:3:4)", "INTERNAL_ERROR"),
        ("Error: ENOENT: no such file\n    at f (/srv/a.js:1:2)", "NOT_FOUND"),
    ],
)  # fmt: skip
def test_codes(text: str, code: str) -> None:
    found = error(text)
    assert found.code == code
    assert found.info is not None
    assert found.retryable == found.info.retryable


def test_the_message_of_a_trace_is_its_last_line() -> None:
    text = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\n    g()\nValueError: too big'
    assert error(text).message == "ValueError: too big"


GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/app.py", line 1, in <module>
  |     asyncio.run(main_private())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/y.py", line 3, in main_private
    |     charge(card_private)
    | KeyError: 'card'
    +---------------- 2 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/srv/y.py", line 4, in other_private
    |     charge(card_private)
    | ExceptionGroup: more (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "/srv/y.py", line 5, in third_private
      | RuntimeError: no such card
      +------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GROUP, "RuntimeError: no such card"),
        (f"Error: {GROUP}", "RuntimeError: no such card"),
        (" ".join(GROUP.split()), "RuntimeError: no such card"),
        (
            'Error: Traceback (most recent call last): File "/srv/a.py", line 1, in f private(KeyError) '
            'File "/srv/b.py", line 2, in g raise private.KeyError("x") shop.LedgerGone: it is gone',
            "shop.LedgerGone: it is gone",
        ),
        ('Traceback (most recent call last): File "/srv/a.py", line 1, in f private', "The tool crashed."),
        (
            "TypeError: x is not a function at private (/srv/a.js:10:5) at Object.<anonymous> (/srv/b.js:1:1)",
            "TypeError: x is not a function",
        ),
        ("Error: gone at a.private (b.js:1:2) at async Promise.all (index 0) Call list.", "Error: gone Call list."),
        ("java.lang.Oops: gone at com.private.A.b(C.java:3) at com.private.D.e(F.java:4)", "java.lang.Oops: gone"),
        ("\x1b[31mError: gone\x1b[0m\n\x1b[90m    at private (/srv/a.js:1:2)\x1b[39m", "Error: gone"),
        ('Traceback (most recent call last):<br>  File "/srv/a.py", line 1, in private<br>KeyError: 3', "KeyError: 3"),
        ("boom\nCallStack (from HasCallStack):\n  error, called at src/Private.hs:3:5 in main:Main", "boom"),
        ("terminate\n#0  0x00007f in private () from /srv/a.so\n#1  main () at /srv/private.cpp:3", "terminate"),
        ("abort\n/srv/private(run+0x1b) [0x55d0]\n/srv/private(+0x12) [0x55d1]", "abort"),
        (
            "Fatal error: Index out of range: file /srv/app.swift, line 3\n0 libswift 0x00007fff private + 16",
            "Fatal error: Index out of range",
        ),
    ],
)
def test_of_a_trace_in_any_form_only_its_words_are_told(text: str, words: str) -> None:
    assert trace_line(text) == words
    assert "private" not in without_frames(f"built\n{text}\n2 of 3 failed").lower()
    assert "2 of 3 failed" in without_frames(f"built\n{text}\n2 of 3 failed")


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token at src/app.js:10:5",
        "no such step at 3 (plan.yaml:10:5)",
        "Invalid value at Config (app.js:1:2)",
        "The train at 10:30:15 (on time) is late",
        "| a table |\n| of errors |",
        "Issue #3 0x12 is closed",
    ],
)
def test_what_speaks_of_a_place_is_no_trace(text: str) -> None:
    assert trace_line(text) is None


def test_exceptions_that_were_raised_at_once_are_a_crash() -> None:
    found = error(GROUP.replace("RuntimeError: no such card", "AttributeError: 'NoneType' object has no attribute 'x'"))
    assert (found.code, found.message) == ("INTERNAL_ERROR", "AttributeError: 'NoneType' object has no attribute 'x'")


def test_what_is_called_like_a_file_is_no_argument() -> None:
    text = '{"errors": {"/home/bob/x.txt": "is missing", "C:\\\\a\\\\b": "is missing"}}'
    assert error(text).fields == ()
    assert [each.path for each in error('{"errors": {"/address/zip": "is missing"}}').fields] == [("address", "zip")]


def test_the_message_and_the_suggestion_of_an_object() -> None:
    text = '{"success":false,"error":{"code":"NOT_FOUND","message":"No light.","suggestion":"Call list."},"id":5}'
    found = error(text)
    assert (found.message, found.suggestion) == ("No light.", "Call list.")


def test_the_words_of_an_object_lose_their_prefixes_too() -> None:
    assert error('{"error":"MCP error -32603: Error: gone"}').message == "gone"
    assert error('{"name":"access_log","error":{"message":"gone"}}').code is None


def test_fields_as_many_apis_send_them() -> None:
    text = '{"message":"Validation Failed","errors":[{"field":"title","code":"missing_field"},{"field":"a.b","message":"bad"}]}'
    assert fields(text) == [
        {"path": ["title"], "message": "missing_field", "rule": "required"},
        {"path": ["a", "b"], "message": "bad"},
    ]


def test_fields_by_their_names() -> None:
    text = '{"errorMessages":[],"errors":{"title":["is too short","is odd"],"kind":"is not known"}}'
    assert fields(text) == [
        {"path": ["title"], "message": "is too short; is odd"},
        {"path": ["kind"], "message": "is not known"},
    ]
    assert error(text).code == "VALIDATION_ERROR"
    assert error('{"status":403,"errors":{"base":["Access denied"]}}').code == "FORBIDDEN"
    assert error('{"errors":{"message":"gone","code":"NOT_FOUND"}}').code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("POST https://a/refs: 422 Reference already exists []", "CONFLICT"),
        ("GET https://a/search: 403 API rate limit exceeded", "RATE_LIMITED"),
        ("Request failed with status 400: Invalid API key", "UNAUTHORIZED"),
        ("Error code: 429 - You exceeded your quota, check your billing details", "FORBIDDEN"),
        ("Request failed with status 429: too many requests, upgrade your plan", "RATE_LIMITED"),
        ("Request failed with status 404: invalid name", "NOT_FOUND"),
        ("Request failed with status 503: invalid upstream", "UNAVAILABLE"),
    ],
)
def test_a_sentence_beside_a_status_counts_where_the_status_says_little(text: str, code: str) -> None:
    assert error(text).code == code


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
        ("Give it another go in 5 seconds.", 5),
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
            "MISSING_REQUIRED_FIELD",
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
    program = (
        "import sys, failwell; print(*(name for name in sys.modules if name.startswith('failwell.readers.prose.')))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == []


def test_a_trace_in_what_is_left_of_json_is_no_part_of_the_message() -> None:
    cut = '…(9 characters cut)… was not found\\n    at async stat (node:fs:1:2)\\n    at x (/srv/x.js:3:4)",\n  "name": "Error"\n}'
    error = from_text(cut, is_error=True)
    assert error is not None
    assert error.message == "…(9 characters cut)… was not found"
