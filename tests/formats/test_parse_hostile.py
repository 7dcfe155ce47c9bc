"""Broken, hostile and huge input: never an exception, and always an end."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import failwell as fw
from failwell.formats import FORMATS, META_KEY
from failwell.model import Patch
from growth import ending

WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    10**5000,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    [],
    [None],
    [[]],
    [{}],
    {},
    {"": None},
    {"a": [{"b": {}}]},
    {1: 2},
    b"\xff",
    {1, 2},
    object(),
]
KNOWN: dict[str, dict[str, Any]] = {
    "typed": {
        "type": "CONFLICT",
        "message": "m",
        "recoverable": False,
        "data": {"retry_after": 3, "conflicts": [{"held_by": "x"}], "failwell": {"code": "X"}},
    },
    "v1": {
        "kind": "toolError:v1",
        "code": "NETWORK_ERROR",
        "message": "m",
        "retryable": True,
        "details": {"statusCode": 500, "retryAfter": 3, "failwell": {"code": "X"}},
    },
    "question": {
        "kind": "needsInput:v1",
        "type": "elicitation",
        "message": "m",
        "needsInput": {"fields": ["a"], "reason": "r", "suggestions": {"a": ["b"]}},
        "options": [{"label": "l", "value": 1, "description": "d", "field": "a"}],
    },
    "envelope": {
        "success": False,
        "data": None,
        "error": {
            "code": "db_error",
            "message": "m",
            "retryable": True,
            "rate_limit_reset": "x",
            "retry_after_ms": 5,
            "policy_decision": "d",
        },
        "meta": {"tool_version": "1.0", "elapsed_ms": 1, "correlation_id": "c", "failwell": {"code": "X"}},
    },
    "jsonrpc": {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {
            "code": -32005,
            "message": "m",
            "data": {
                "mcp_error_code": "X",
                "details": "d",
                "recovery_strategy": "fix_and_retry",
                "retry_after": 1,
                "tool_name": "t",
                "tool_tier": "t",
                "field": "f",
                "value": 1,
                "expected": "e",
                "errors": [{"field": "a", "message": "b"}],
                "suggestion": "s",
                "suggestions": ["s"],
                "next_steps": ["n"],
                "alternatives": [{"tool": "t", "arguments": {}}],
                "_debug_details": "d",
                "failwell": {"details": {"a": 1}},
            },
        },
    },
    "canonical": fw.ToolError(
        "m",
        code="X",
        kind="conflict",
        title="t",
        retry_after=1,
        reset_at=1,
        suggestion="s",
        next_steps=["n"],
        actions=["a"],
        fields=[("a", "b")],
        patch=[Patch("set", ("a",), 1)],
        conflicts=["c"],
        effect="unknown",
        verify="v",
        details={"a": 1},
        http_status=500,
        policy_decision="d",
        tool="t",
        action="a",
        tier="t",
        correlation_id="c",
        meta={"m": 1},
        confidence=0.5,
        notes=["n"],
    ).to_dict(),
    "result": {
        "content": [{"type": "text", "text": "x"}],
        "structuredContent": {"kind": "toolError:v1"},
        "isError": True,
        "_meta": {META_KEY: {"failwell": 1, "message": "m"}},
    },
    "response": {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}], "isError": True}},
}


def spoiled(value: Any, wrong: Any) -> Iterator[Any]:
    """`value` with each of its parts in turn replaced by `wrong`, and each key in turn left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {name: other for name, other in value.items() if name != key}
            for bad in itertools.chain([wrong], spoiled(item, wrong)):
                yield {**value, key: bad}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for bad in itertools.chain([wrong], spoiled(item, wrong)):
                yield [*value[:index], bad, *value[index + 1 :]]


def check(source: Any, formats: Iterable[str] = FORMATS) -> None:
    """Whatever is found can be rendered in every format, by itself and within a result."""
    outcome = fw.parse(source)
    if outcome is not None:
        for format in formats:
            fw.render(outcome, format, carry=True).encode()
        json.dumps(fw.to_result(outcome), allow_nan=False)


@pytest.mark.checklist(294)
@pytest.mark.parametrize("form", KNOWN)
def test_wrong_value_in_any_known_place_never_raises(form: str) -> None:
    failures = set()
    # Each in two of the formats, in different ones for the same place and for the same value.
    drawn = random.Random(form)
    for wrong in WRONG:
        for source in spoiled(KNOWN[form], wrong):
            try:
                check(source, drawn.sample(list(FORMATS), 2))
            except Exception as problem:
                failures.add(f"{type(problem).__name__}: {str(problem)[:80]}")
    assert not failures


@pytest.mark.parametrize("form", KNOWN)
def test_untouched_forms_are_read_without_trouble(form: str) -> None:
    outcome = fw.parse(KNOWN[form])
    assert outcome is not None
    check(KNOWN[form])


@pytest.mark.parametrize("form", ["typed", "v1", "question", "envelope", "jsonrpc", "canonical"])
def test_json_cut_anywhere_never_raises(form: str) -> None:
    text = json.dumps(KNOWN[form])
    for end in range(len(text)):
        assert fw.parse(text[:end]) is None


DEEP = [40, 300, 900, 990, 1500, 5000, 50_000]


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize(
    "wire",
    [
        '{"type":"INTERNAL","recoverable":false,"message":"m","data":{"d":%s}}',
        '{"type":"INTERNAL","recoverable":false,"message":%s}',
        '{"kind":"toolError:v1","code":%s,"message":"m"}',
        '{"success":false,"error":%s}',
        '{"success":false,"error":{"code":"x","message":"m"},"meta":{"failwell":{"details":%s}}}',
        '{"code":-32000,"message":%s,"data":%s}',
        '{"failwell":1,"message":"m","kind":%s,"fields":%s,"notes":[%s]}',
        '{"content":[{"type":"text","text":"x"}],"isError":true,"structuredContent":{"a":%s}}',
    ],
)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_of_any_depth_never_raises(wire: str, depth: int, opening: str, closing: str) -> None:
    nested = opening * depth + "1" + closing * depth
    check(wire.replace("%s", nested))


def deep(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("key", ["message", "data", "recoverable", "type"])
def test_nesting_in_python_objects_never_raises(key: str) -> None:
    wire = {"type": "INTERNAL", "message": "m", "recoverable": False, key: deep(5000)}
    check(wire)


def test_object_that_holds_itself_never_raises() -> None:
    loop: dict[str, Any] = {"type": "INTERNAL", "recoverable": False}
    loop["message"] = loop
    loop["data"] = loop
    loop["error"] = loop
    # Each takes more than a second.
    check(loop, ("typed", "xml"))


HUGE = {
    "json arrays": '{"a":' + "[" * 10_000_000,
    "json objects": '{"a":' * 2_000_000,
    "closed json": '{"a":' + "[" * 5_000_000 + "]" * 5_000_000 + "}",
    "long string": '{"type":"INTERNAL","recoverable":false,"message":"' + "x" * 10_000_000 + '"}',
    "many keys": '{"type":"INTERNAL","recoverable":false,"message":"m","data":{'
    + ",".join(f'"k{n}":{n}' for n in range(100_000))
    + "}}",
    "integer": '{"type":"INTERNAL","recoverable":false,"message":"m","data":{"n":' + "9" * 200_000 + "}}",
    "integer code": '{"code":' + "9" * 200_000 + ',"message":"m"}',
    "float": '{"type":"INTERNAL","recoverable":false,"message":"m","data":{"retry_after":1e999,"n":1e400}}',
    "cdata": "<tool_error>" + "<![CDATA[" * 200_000,
    "bare cdata": "<![CDATA[" * 200_000,
    "closed cdata": "<tool_error><message>" + "<![CDATA[x]]>" * 200_000 + "</message></tool_error>",
    "comments": "<!--" * 200_000,
    "closed comments": "<!-- -->" * 200_000 + "<tool_error><message>m</message></tool_error>",
    "messages": "<tool_error>" + "<message>" * 200_000,
    "bare messages": "<message>" * 200_000,
    "closing tags": "<tool_error><message>" + "</detail>" * 200_000 + "</message></tool_error>",
    "mixed tags": "<tool_error>" + "<message><details><action>" * 70_000 + "</tool_error>",
    "actions": "<tool_error><available_actions>" + "<action>" * 200_000,
    "action pairs": "<tool_error><available_actions>"
    + "<action>a</action>" * 100_000
    + "</available_actions></tool_error>",
    "details": "<tool_error><details>" + '<detail key="k">' * 200_000,
    "fields": "<validation_error>" + '<field name="a.b">' * 50_000,
    "dotted field": '<validation_error><field name="' + "a." * 200_000 + '">x</field></validation_error>',
    "sent": '<validation_error><field name="a">' + "You sent: '" * 200_000 + "</field></validation_error>",
    "options": "<validation_error><field name=\"a\">x. You sent: 'b'. Valid options: "
    + "'a', " * 200_000
    + "</field></validation_error>",
    "unknown blocks": "<a>" * 200_000,
    "open blocks": "".join(f"<a{n}>" for n in range(100_000)),
    "closed blocks": "<a></a>" * 200_000,
    "attribute quotes": "<tool_error " + 'a="' * 200_000,
    "attribute spaces": "<tool_error" + " " * 1_000_000,
    "attributes": "<tool_error " + 'a="b" ' * 200_000 + "><message>m</message></tool_error>",
    "element quotes": "<tool_error>" + '<field "' * 200_000,
    "references": "<tool_error><message>" + "&amp;" * 1_000_000 + "</message></tool_error>",
    "ampersands": "<tool_error><message>" + "&" * 1_000_000 + "</message></tool_error>",
    "white space": " " * 5_000_000 + "<tool_error><message>m</message></tool_error>",
    "duration": "<tool_error><retry_after>" + "1" * 1_000_000 + "</retry_after></tool_error>",
    "duration spaces": "<tool_error><retry_after>" + " " * 1_000_000 + "x</retry_after></tool_error>",
    "doctype": "<!DOCTYPE " * 200_000,
    "instructions": "<?" * 500_000,
    "prefixes": "Error executing tool x: " * 100_000 + "{}",
    "open prefix": "Error executing tool " + "x" * 1_000_000,
    "code": '{"kind":"toolError:v1","code":"' + "Aa" * 500_000 + '","message":"m"}',
    "backslashes": '{"type":"' + "\\\\" * 1_000_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_input_comes_to_an_end_and_never_raises(name: str) -> None:
    with ending():
        fw.parse(HUGE[name])
    begun = HUGE[name][:50_000]
    fw.parse(begun.encode())
    fw.parse({"content": [{"type": "text", "text": begun}], "isError": True})


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_json_do_no_harm(constant: str) -> None:
    error = fw.parse(
        f'{{"type":"TRANSIENT","message":"m","recoverable":true,"data":{{"retry_after":{constant},"n":{constant}}}}}'
    )
    assert isinstance(error, fw.Transient)
    assert error.retry_after is None
    json.dumps(error.to_dict(), allow_nan=False)
    check(error)


@pytest.mark.parametrize(
    "source", [b"\xff\xfe{\x00}\x00", b"\x00", b"\x80\x81", b"\xef\xbb\xbf", "\ufeff", "\x00{}", "\ud800"]
)
def test_bytes_that_are_not_utf8_do_no_harm(source: bytes | str) -> None:
    assert fw.parse(source) is None


def test_bad_bytes_inside_a_message_are_replaced() -> None:
    error = fw.parse(b'{"type":"INTERNAL","message":"a\xffb","recoverable":false}')
    assert error is not None
    assert error.message == "a\ufffdb"


@pytest.mark.parametrize(
    "content",
    [
        [None, 1, "x", [], {}, {"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": 5}],
        [{"type": "resource", "resource": {"uri": "x", "text": "y"}}],
        [[{"type": "text", "text": "x"}]],
        [object(), b"x"],
    ],
)
def test_odd_blocks_are_passed_over(content: list[Any]) -> None:
    assert fw.parse({"content": content}) is None
    error = fw.parse({"content": content, "isError": True})
    assert isinstance(error, fw.Internal)
    assert error.legacy is True
