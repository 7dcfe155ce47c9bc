"""Law 3: a secret that goes in by any door comes out of none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import FORMATS, SENSIBLE, errors, questions, texts

import failwell as fw
from failwell.redact import Guard

sys.path.insert(0, str(Path(__file__).parents[1] / "redact"))
from canaries import CANARIES, NAMED, Canary
from hostile import beginnings

ROOMY = Guard.make(max_chars=10**7, max_tokens=10**7)
SHAPES = [canary for canary in CANARIES if canary.name.endswith("/line") and canary.text.count("\n") == 2]
"""Secrets that give themselves away, wherever they stand."""

# What may touch a secret without being part of it, and what may stand further off.
edges = st.sampled_from(
    ("", " ", "\n", "\t", '"', "'", "(", ")", ",", ";", "<", ">", "[", "]", "|", "`", "\u200b", "=")
)
neighbours = st.one_of(texts, st.sampled_from([canary.text for canary in CANARIES[::50]]))


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, str]:
    """A text with a secret in it, and the secret."""
    canary: Canary = draw(st.sampled_from(CANARIES))
    if canary in SHAPES or draw(st.booleans()):
        canary = draw(st.sampled_from(SHAPES))
        text = draw(edges) + canary.secret + draw(edges)
    else:
        text = canary.text
    # Apart by a line: what is written next to it may well be meant as its name, or end it early.
    return f"{draw(neighbours)}\n{text}\n{draw(neighbours)}", canary.secret


def _wrap(draw: st.DrawFn, text: str) -> Any:
    value: Any = text
    for way in draw(st.lists(st.sampled_from(("list", "key", "map")), max_size=4)):
        value = [1, value] if way == "list" else {"inner": value} if way == "map" else {"k": value, text: None}
    return value


PLACES = (
    *("message", "code", "title", "suggestion", "next_steps", "action", "tool", "tier", "correlation_id"),
    *("policy_decision", "notes", "details", "meta", "debug", "sent", "options", "expected", "field message"),
    *("path", "patch", "to", "arguments", "description", "verify", "conflicts"),
)


def _fields(draw: st.DrawFn, place: str, text: str) -> dict[str, Any]:
    value = _wrap(draw, text)
    problem = {"path": ["a"], "message": "wrong"}
    match place:
        case "next_steps" | "notes":
            return {place: [text]}
        case "details" | "meta":
            return {place: {"k": value}}
        case "debug":
            return {place: value}
        case "sent" | "expected":
            return {"fields": [{**problem, place: value if place == "sent" else text}]}
        case "options":
            return {"fields": [{**problem, place: [value]}]}
        case "field message":
            return {"fields": [{**problem, "message": text}]}
        case "path":
            return {"fields": [{**problem, "path": [text, 0]}]}
        case "patch":
            return {"patch": [{"op": "set", "path": ["a"], "value": value}]}
        case "to":
            return {"patch": [{"op": "rename", "path": ["a"], "to": text}]}
        case "arguments":
            return {"actions": [{"tool": "t", "arguments": {"k": value}}]}
        case "description":
            return {"actions": [{"tool": "t", "description": text}]}
        case "verify":
            return {"verify": {"tool": "t", "arguments": {"k": value}}}
        case "conflicts":
            return {"conflicts": [{"held_by": text, "k": value}]}
        case _:
            return {place: text}


def outs(outcome: fw.ToolError | fw.NeedsInput, guard: Guard, carry: bool, format: str) -> list[str]:
    clean = guard(outcome)
    return [
        fw.render(outcome, format, carry=carry, guard=guard),
        json.dumps(fw.to_result(outcome, format, carry=carry, guard=guard), ensure_ascii=False),
        json.dumps(fw.to_jsonrpc(outcome, carry=carry, guard=guard, debug=True), ensure_ascii=False),
        str(clean),
        repr(clean),
        json.dumps(clean.to_dict(), ensure_ascii=False),
    ]


def comes_out(secret: str, written: list[str]) -> bool:
    forms = {secret, json.dumps(secret, ensure_ascii=False)[1:-1], escape(secret), repr(secret)[1:-1]}
    return any(form in text for form in forms for text in written)


guards = st.sampled_from((ROOMY, Guard(), Guard.make(max_chars=600), Guard.make(fences=False)))


@given(errors, planted(), st.sampled_from(PLACES), st.sampled_from(FORMATS), st.booleans(), guards, st.data())
def test_a_secret_comes_out_of_no_format(
    error: fw.ToolError,
    what: tuple[str, str],
    place: str,
    format: str,
    carry: bool,
    guard: Guard,
    data: st.DataObject,
) -> None:
    text, secret = what
    changed = error.replace(**data.draw(st.composite(lambda draw: _fields(draw, place, text))()))
    # Unless it was there already: a neighbour may be the same canary.
    assert not comes_out(secret, outs(changed, guard, carry, format))


@given(questions, planted(), st.sampled_from(("message", "fields", "reason", "suggestions", "options", "notes")))
def test_a_secret_comes_out_of_no_question(question: fw.NeedsInput, what: tuple[str, str], place: str) -> None:
    text, secret = what
    given: dict[str, Any] = {
        "fields": question.fields,
        "reason": question.reason,
        "suggestions": question.suggestions,
        "options": question.options,
        "notes": question.notes,
    }
    message = text if place == "message" else question.message
    if place == "suggestions":
        given[place] = {**question.suggestions, "k": [text]}
    elif place == "reason":
        given[place] = text
    elif place != "message":
        given[place] = [*given[place], text]
    asked = fw.NeedsInput(message, **given)
    for format in FORMATS:
        assert not comes_out(secret, outs(asked, ROOMY, True, format))


@given(errors, st.sampled_from(NAMED), st.sampled_from(("details", "meta", "sent", "patch", "arguments", "debug")))
def test_a_value_under_a_secret_name_comes_out_of_no_format(
    error: fw.ToolError, named: tuple[str, str], place: str
) -> None:
    name, _ = named
    value = "zebraCrossing"
    fields: dict[str, Any] = {
        "details": {"details": {"k": [{name: value}]}},
        "meta": {"meta": {name: value}},
        "sent": {"fields": [{"path": [name], "message": f"'{value}' is wrong", "sent": value}]},
        "patch": {"patch": [{"op": "set", "path": ["a", name], "value": [value]}]},
        "arguments": {"actions": [{"tool": "t", "arguments": {name: value}}]},
        "debug": {"debug": {name: value}},
    }[place]
    for format in FORMATS:
        assert not comes_out(value, outs(error.replace(**fields), ROOMY, True, format))


@given(errors, guards)
def test_the_guard_is_the_same_the_second_time(error: fw.ToolError, guard: Guard) -> None:
    once = guard(error)
    twice = guard(once)
    assert twice == once
    assert twice.to_dict() == once.to_dict()


@given(errors, planted(), guards)
def test_the_guard_is_the_same_the_second_time_with_secrets(
    error: fw.ToolError, what: tuple[str, str], guard: Guard
) -> None:
    once = guard(error.replace(message=what[0], details={"k": [what[0]]}))
    assert guard(once) == once


FRAGMENTS = [part for part in beginnings(2) if 2 <= len(part) <= 60]
GLUE = (
    *(
        "password",
        "token",
        "api_key",
        "secret",
        "pin",
        "=",
        ": ",
        "'",
        '"',
        " ",
        "\n",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "|",
        ",",
    ),
    *(
        "--",
        "$.",
        "&",
        "%3D",
        "\\",
        "hunter2",
        "Kx7pQ2mZ9v",
        "1234",
        "name: ",
        "value ",
        "got ",
        "is ",
        "„",
        "“",
        "contraseña",
    ),
    *(
        "[redacted]",
        "(redacted)",
        "System: ",
        "[untrusted text, not instructions: ",
        "https://a:b@c",
        "\x1b[31m",
        "\x1b",
    ),
)
composed = st.lists(st.one_of(st.sampled_from(GLUE), st.sampled_from(FRAGMENTS)), max_size=10).map("".join)


@given(composed, guards)
def test_the_guard_is_the_same_the_second_time_whatever_the_rules_find(text: str, guard: Guard) -> None:
    once = guard(fw.ToolError(text, details={"k": text}))
    assert guard(once) == once
    assert guard.text(guard.text(text)) == guard.text(text)
    assert guard.plain(guard.plain(text)) == guard.plain(text)


@given(errors, st.integers(0, 3000), st.integers(0, 800))
def test_the_budget_holds(error: fw.ToolError, chars: int, tokens: int) -> None:
    clean = Guard.make(max_chars=chars, max_tokens=tokens)(error)
    written = json.dumps(clean.to_dict(), ensure_ascii=False, separators=(",", ":"))
    written.encode()
    back = fw.parse(clean.to_dict())
    assert back == clean
    # No error is smaller than one that says nothing; from twice that on, the budget is kept.
    assume(chars >= 300)
    assume(tokens >= 150)
    assert len(written) <= chars


@given(errors)
@example(fw.Transient("m", code="TIMEOUT", verify={"tool": "t", "arguments": {"a": "x" * 300}}))
def test_no_decision_depends_on_the_guard(error: fw.ToolError) -> None:
    clean = Guard.make(max_chars=200)(error)
    for name in ("kind", "retryable", "recoverable", "strategy", "effect", "is_error"):
        assert getattr(clean, name) == getattr(error, name), name


def test_every_text_field_is_a_place() -> None:
    elsewhere = {
        *("actions", "fields", "conflicts", "kind", "severity", "recoverable", "strategy", "retry_after", "reset_at"),
        *("effect", "http_status", "origin", "standing", "delivery", "format", "confidence", "legacy"),
    }
    assert set(SENSIBLE) - elsewhere <= set(PLACES)
