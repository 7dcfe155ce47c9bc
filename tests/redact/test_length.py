"""The size budget: what comes out fits, is whole, says what was cut, and keeps what helps recovery longest."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import failwell as fw
from failwell.formats import FORMATS
from failwell.redact import Guard, guard
from failwell.redact.length import MAX_CHARS, MAX_TOKENS, estimate_tokens, shorten, within


def size(outcome: fw.ToolError | fw.NeedsInput) -> int:
    return len(said(outcome))


def said(outcome: fw.ToolError | fw.NeedsInput) -> str:
    return json.dumps(outcome.to_dict(), ensure_ascii=False, separators=(",", ":"))


def fits(outcome: fw.ToolError | fw.NeedsInput, chars: int = MAX_CHARS, tokens: int = MAX_TOKENS) -> bool:
    return size(outcome) <= chars and estimate_tokens(said(outcome)) <= tokens


EVERY_CODE = [code for catalog in fw.catalogs.CATALOGS.values() for code in catalog]

LARGE: dict[str, Any] = {
    "message": lambda: fw.ToolError("word " * 9_000),
    "message of one word": lambda: fw.ToolError("x" * 9_000),
    "megabyte": lambda: fw.ToolError("word " * 100_000),
    "quotes": lambda: fw.ToolError('"' * 5_300),
    "newlines": lambda: fw.ToolError("a\n" * 2_650),
    "backslashes": lambda: fw.ToolError("\\" * 5_300),
    "not ascii": lambda: fw.ToolError("語" * 1_990),
    "emoji": lambda: fw.ToolError("😀" * 5_000),
    "suggestion": lambda: fw.ToolError("m", suggestion="word " * 9_000),
    "next_steps": lambda: fw.ToolError("m", next_steps=["word " * 50] * 900),
    "actions": lambda: fw.ToolError(
        "m", actions=[{"tool": f"t{n}", "arguments": {"q": "w " * 99}} for n in range(900)]
    ),
    "fields": lambda: fw.Invalid("m", fields=[{"path": [f"f{n}"], "message": "wrong " * 20} for n in range(900)]),
    "field path": lambda: fw.Invalid("m", fields=[{"path": ["p " * 9_000], "message": "wrong"}]),
    "field sent": lambda: fw.Invalid("m", fields=[{"path": ["p"], "message": "wrong", "sent": "w " * 9_000}]),
    "patch": lambda: fw.Invalid("m", patch=[{"op": "set", "path": ["a"], "value": "w " * 9_000}]),
    "conflicts": lambda: fw.Conflict("m", conflicts=["someone " * 9] * 900),
    "verify": lambda: fw.Transient("m", verify={"tool": "t", "arguments": {"q": "w " * 9_000}}),
    "details": lambda: fw.ToolError("m", details={f"k{n}": "word " * 40 for n in range(900)}),
    "details of numbers": lambda: fw.ToolError("m", details={"rows": list(range(100_000, 105_000))}),
    "details of flags": lambda: fw.ToolError("m", details={"rows": [True] * 4_000}),
    "details of nothing": lambda: fw.ToolError("m", details={"rows": [[], {}, None] * 2_000}),
    "long number": lambda: fw.ToolError("m", details={"rows": [2**2000] * 40}),
    "deep": lambda: fw.ToolError("m", details={"a": json.loads("[" * 30 + '"' + "w " * 9_000 + '"' + "]" * 30)}),
    "meta": lambda: fw.ToolError("m", meta={"a": ["word " * 40] * 900}),
    "code": lambda: fw.ToolError("m", code="C " * 9_000),
    "title": lambda: fw.ToolError("m", title="T " * 9_000),
    "tool": lambda: fw.ToolError("m", tool="t " * 9_000),
    "correlation_id": lambda: fw.ToolError("m", correlation_id="t " * 9_000),
    "policy_decision": lambda: fw.ToolError("m", policy_decision="t " * 9_000),
    "notes": lambda: fw.ToolError("m", notes=["word " * 900] * 50),
    "format": lambda: fw.ToolError("m", format="word " * 9_000),
    "question": lambda: fw.NeedsInput("word " * 9_000, reason="word " * 9_000),
    "question fields": lambda: fw.NeedsInput("m", fields=["word " * 900] * 90),
    "question suggestions": lambda: fw.NeedsInput("m", suggestions={str(n): ["w " * 300] * 9 for n in range(20)}),
    "question options": lambda: fw.NeedsInput("m", options=["word " * 900] * 90),
    "question notes": lambda: fw.NeedsInput("m", notes=["word " * 900] * 90),
}


@pytest.mark.checklist(169)
@pytest.mark.parametrize("where", LARGE)
def test_whatever_is_large_comes_out_within_the_default_budget(where: str) -> None:
    clean = guard(LARGE[where]())
    assert fits(clean)
    assert guard(clean) == clean
    said(clean).encode()


@pytest.mark.parametrize("where", LARGE)
@pytest.mark.parametrize("chars", [300, 600, 2_000])
def test_a_smaller_budget_is_kept_too(where: str, chars: int) -> None:
    clean = Guard.make(max_chars=chars)(LARGE[where]())
    assert size(clean) <= chars
    by_tokens = Guard.make(max_tokens=chars // 4)(LARGE[where]())
    assert estimate_tokens(said(by_tokens)) <= chars // 4


@pytest.mark.parametrize("where", LARGE)
def test_what_was_cut_is_said(where: str) -> None:
    assert re.search(r"cut|…", said(guard(LARGE[where]())))


@pytest.mark.parametrize("where", LARGE)
def test_debug_is_no_way_around_the_budget(where: str) -> None:
    outcome = LARGE[where]()
    error = fw.ToolError("m", debug=outcome.to_dict())
    assert len(json.dumps(fw.to_jsonrpc(error, debug=True), ensure_ascii=False)) <= 3 * MAX_CHARS


@pytest.mark.parametrize("where", ["message", "details", "notes", "emoji", "fields", "question options"])
@pytest.mark.parametrize("format", FORMATS)
def test_no_format_blows_it_up_again(where: str, format: str) -> None:
    outcome = LARGE[where]()
    assert len(fw.render(outcome, format)) <= 2 * MAX_CHARS
    assert len(json.dumps(fw.to_result(outcome, format), ensure_ascii=False)) <= 6 * MAX_CHARS


def test_what_fits_is_not_touched() -> None:
    error = fw.ToolError("m", details={"a": "word " * 700, "b": list(range(50))})
    assert guard(error) is error
    assert within(error) is error


@pytest.mark.parametrize("over", [-60, -10, -1])
def test_what_just_fits_is_not_touched(over: int) -> None:
    room = MAX_CHARS - size(fw.ToolError(""))
    error = fw.ToolError("x y " * (room // 4) + "x" * (room % 4 + over))
    assert size(error) <= MAX_CHARS
    assert guard(error) == error


@pytest.mark.parametrize("limit", [*range(60), 100, 999])
@pytest.mark.parametrize("text", ["word " * 200, "😀" * 1000, "é\u0301" * 500, '\\"\n' * 400])
def test_a_shortened_text_fits_and_is_whole(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    short.encode()
    assert shorten(short, limit) == short


def cut(text: str) -> int:
    return sum(int(number) for number in re.findall(r"\((\d+) characters cut\)", text))


@pytest.mark.parametrize("limit", [60, 100, 500, 2000])
def test_the_number_of_characters_cut_is_right(limit: int) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(5000))
    short = shorten(text, limit)
    kept = sum(0x4E00 <= ord(character) < 0x4E00 + 5000 for character in short)
    assert cut(short) == len(text) - kept


def test_problems_cut_are_counted_right() -> None:
    clean = guard(fw.Invalid("m", fields=[{"path": [f"f{n}"], "message": "wrong " * 30} for n in range(900)]))
    told = [int(number) for number in re.findall(r"(\d+) of 900 fields", said(clean))]
    kept = sum(bool(problem.path) for problem in clean.fields)
    assert sum(told) == 900 - kept


@pytest.mark.parametrize("field", ["next_steps", "actions", "conflicts"])
def test_items_that_were_left_out_are_mentioned(field: str) -> None:
    clean = guard(fw.ToolError("m", **{field: [f"item {n} " + "word " * 30 for n in range(300)]}))
    assert len(getattr(clean, field)) < 300
    assert re.search(r"\b\d+ more|cut", said(clean).replace("characters cut", ""))


def test_every_part_that_was_cut_is_named() -> None:
    clean = guard(
        fw.ToolError(
            "m",
            meta={"a": list(range(100)) * 5},
            details={"a": [["x" * 50] * 50] * 50},
            conflicts=[{"held_by": "x" * 50}] * 50,
            patch=[{"op": "set", "path": ["a"], "value": "v " * 9000}],
        )
    )
    for name, gone in (("details", "a" not in clean.details), ("patch", not clean.patch), ("meta", not clean.meta)):
        assert not gone or name in str(clean.details), name


HELP: dict[str, Any] = {
    "suggestion": "Call orders.list first, then take the first order whose state is open and try again with its id.",
    "next_steps": ["Call orders.list with the customer's id, sorted by date, newest first, and no more than ten. " * 2],
    "actions": [{"tool": f"orders.list_{n}", "arguments": {"customer": "c_1 " * 40}} for n in range(12)],
    "patch": [{"op": "rename", "path": ["limt"], "to": "limit"}, {"op": "set", "path": ["q"], "value": "w " * 90}],
    "verify": {"tool": "orders.get", "arguments": {"id": "o_1"}},
    "fields": [{"path": ["limt"], "message": "Unknown argument. " * 10, "options": ["limit", "offset"]}],
    "retry_after": 30,
    "effect": "unknown",
}
CONTEXT: dict[str, Any] = {
    "details": {f"k{n}": "word " * 90 for n in range(300)},
    "meta": {f"m{n}": "word " * 90 for n in range(300)},
    "conflicts": ["someone " * 90] * 90,
}


@pytest.mark.parametrize("context", CONTEXT)
@pytest.mark.parametrize("help", HELP)
def test_context_goes_before_anything_that_helps(help: str, context: str) -> None:
    error = fw.ToolError("m", **{help: HELP[help], context: CONTEXT[context]})
    clean = guard(error)
    assert fits(clean)
    assert getattr(clean, help) == getattr(error, help)


def test_all_that_helps_outlives_all_that_does_not() -> None:
    error = fw.ToolError("m", **HELP, **CONTEXT)
    clean = guard(error)
    assert fits(clean)
    assert [name for name in HELP if getattr(clean, name) != getattr(error, name)] == []


def test_arguments_of_an_action_are_whole_or_gone() -> None:
    query = "word " * 3000
    for action in guard(fw.ToolError("m", actions=[{"tool": "t", "arguments": {"q": query, "n": 5}}])).actions:
        assert action.tool == "t"
        assert not action.arguments or action.arguments == {"q": query, "n": 5}


def test_options_that_are_left_are_options() -> None:
    options = [f"option {n}" for n in range(3000)]
    for problem in guard(fw.Invalid("m", fields=[{"path": ["a"], "message": "m", "options": options}])).fields:
        assert set(problem.options) <= set(options)


def test_the_tool_to_call_is_never_half_a_name() -> None:
    name = "a_very_long_but_still_possible_tool_name_of_a_server_with_groups.and_actions"
    clean = Guard.make(max_chars=700)(fw.ToolError("word " * 300, actions=[name] * 20, details={"a": "w " * 900}))
    assert {action.tool for action in clean.actions} <= {name}


@pytest.mark.parametrize("chars", [-1, 0, 100, 160, 250])
@pytest.mark.parametrize("where", LARGE)
def test_the_smallest_error_is_valid(where: str, chars: int) -> None:
    small = Guard.make(max_chars=chars)
    outcome = LARGE[where]()
    clean = small(outcome)
    assert type(clean) is type(outcome)
    back = fw.parse(clean.to_dict())
    assert back == clean
    # From here on nothing is large any more.
    for format in FORMATS:
        fw.render(clean, format, guard=small).encode()


def test_no_budget_is_overrun_while_a_smaller_error_exists() -> None:
    error = fw.ToolError("A message of some length that can be cut.", code="SomeCode", suggestion="Do something.")
    smallest = size(fw.ToolError("", severity=None))
    for chars in range(smallest, 400, 7):
        assert size(Guard.make(max_chars=chars)(error)) <= chars


@pytest.mark.parametrize("code", EVERY_CODE, ids=lambda code: f"{code.catalog}.{code.name}")
def test_a_small_budget_changes_nothing_an_agent_decides_by(code: fw.Code) -> None:
    error = code("A message that is long enough to be cut somewhere.", suggestion="word " * 100)
    for chars in (60, 200):
        clean = Guard.make(max_chars=chars)(error)
        for name in ("kind", "retryable", "recoverable", "strategy", "effect", "is_error"):
            assert getattr(clean, name) == getattr(error, name), name


@pytest.mark.parametrize("chars", [0, 60, 200, 300])
def test_a_warning_does_not_become_an_error(chars: int) -> None:
    error = fw.ToolError("word " * 100, code="TIMEOUT", severity="warning", suggestion="word " * 100)
    assert Guard.make(max_chars=chars)(error).is_error is False


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("語", 1), ("ab語", 2)])
def test_tokens_are_estimated(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_the_token_budget_counts_for_itself() -> None:
    clean = Guard.make(max_chars=10**6, max_tokens=200)(fw.ToolError("語" * 5000, suggestion="Wait."))
    assert estimate_tokens(said(clean)) <= 200
    assert clean.suggestion == "Wait."
