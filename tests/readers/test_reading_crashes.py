"""A tool that broke is no refusal of what the caller sent."""

from __future__ import annotations

import pytest
from unseen import result

import failwell as fw
from failwell import read
from failwell.model import Kind

CRASHES = [
    "ZeroDivisionError: division by zero",
    "'NoneType' object has no attribute 'x'",
    "list index out of range",
    "IndexError: list index out of range",
    "'foo'",
    "KeyError: 'foo'",
    "'required'",
    "maximum recursion depth exceeded",
    "name 'client' is not defined",
    "string indices must be integers, not 'str'",
    "'<' not supported between instances of 'str' and 'int'",
    "not enough values to unpack (expected 2, got 1)",
    "fetch() missing 1 required positional argument: 'url'",
    "Object of type datetime is not JSON serializable",
    "Cannot read properties of undefined (reading 'x')",
    "x is not a function",
    "Cannot access 'db' before initialization",
    "Maximum call stack size exceeded",
    "Converting circular structure to JSON",
    "Unexpected token < in JSON at position 0",
    "Unexpected end of JSON input",
    "runtime error: index out of range [3] with length 2",
    "runtime error: integer divide by zero",
    "called `Result::unwrap()` on an `Err` value: Missing",
    "Index 5 out of bounds for length 3",
    "Object reference not set to an instance of an object.",
    "Output validation error: 'total' is a required property",
]


@pytest.mark.parametrize("wrap", ["{}", "Error: {}", "Error executing tool report: {}"])
@pytest.mark.parametrize("text", CRASHES)
def test_a_crash_is_internal(text: str, wrap: str) -> None:
    found = read(result(wrap.format(text), is_error=True))
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
    found = read(result(text, is_error=True))
    assert isinstance(found, fw.ToolError)
    assert found.kind == kind
