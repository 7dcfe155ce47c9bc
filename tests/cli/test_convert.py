"""`failwell convert`, as people and scripts run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import commands

FAILWELL = Path(sys.executable).with_name("failwell")
FORMATS = ("typed", "v1", "xml", "envelope", "jsonrpc", "problem", "text", "canonical")
CARRIERS = ("typed", "v1", "xml", "envelope", "jsonrpc", "problem", "canonical")
TYPED = '{"type":"NOT_FOUND","message":"no such agent","recoverable":false}'
XML = '<tool_error code="NOT_FOUND" severity="error">\n  <message>no such agent</message>\n</tool_error>'
UNKNOWN = json.dumps(
    {
        "failwell": 1,
        "kind": "transient",
        "code": "TIMEOUT",
        "message": "late",
        "effect": "unknown",
        "verify": {"tool": "get_invoice", "arguments": {"id": "inv_1"}},
    }
)
ERRORS: list[dict[str, Any]] = [
    {
        "code": "NOT_FOUND",
        "kind": "not_found",
        "message": "Project 'p_1' does not exist.",
        "severity": "error",
        "suggestion": "Call projects.list first.",
        "actions": [{"tool": "projects.list", "description": "all of them", "arguments": {"limit": 5}}],
        "details": {"project": "p_1", "n": [1, 2.5, None, True], "deep": {"a": {"b": "ü"}}},
    },
    {
        "code": "InvoiceAlreadyPaid",
        "kind": "conflict",
        "message": 'Rechnung <inv_1> & "mehr" ist bezahlt: ☃ 日本 ]]>',
        "severity": "critical",
        "conflicts": [{"agent_id": "a2", "pattern": "src/*", "held_by": "a2"}],
        "next_steps": ["look", "ask"],
        "http_status": 409,
        "tool": "pay",
        "correlation_id": "c-1",
    },
    {
        "code": "RATE_LIMITED",
        "kind": "transient",
        "message": "Too many requests.",
        "severity": "error",
        "retry_after": 1.5,
        "policy_decision": "denied",
        "meta": {"tool_version": "1.0"},
    },
    {
        "code": "VALIDATION_ERROR",
        "kind": "validation",
        "message": "The arguments are invalid.",
        "severity": "error",
        "tool": "search",
        "action": "run",
        "fields": [{"path": ["items", 1, "limt"], "message": "Unknown argument", "sent": 5}],
        "patch": [{"op": "rename", "path": ["limt"], "to": "limit"}],
    },
    {**json.loads(UNKNOWN), "severity": "error"},
    {"kind": "internal", "message": "Line one\nline two\twith a tab", "severity": "error"},
    {"code": "DEPRECATED", "kind": "validation", "message": "Going away.", "severity": "warning"},
]
LINES = "".join(json.dumps({**error, "failwell": 1}) + "\n" for error in ERRORS)


def run(*arguments: str, source: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    data = source.encode() if isinstance(source, str) else source
    return commands.run(
        "convert", *arguments, source=data, environment={**os.environ, "PYTHONIOENCODING": "utf-8", **environment}
    )


def written(*arguments: str, source: str) -> str:
    done = run(*arguments, source=source)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def lines(*arguments: str, source: str) -> list[Any]:
    return [json.loads(line) for line in written("--jsonl", *arguments, source=source).split("\n") if line]


def refusal(done: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    assert (done.returncode, done.stdout) == (code, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("failwell: ")
    return line


CHECK = 'Next: call get_invoice with {"id":"inv_1"} to see whether it was.'
DOUBT = f"The call failed part-way, so it may have been done already. {CHECK}"
WRITTEN = {
    "typed": '{"type":"TRANSIENT","message":"late","recoverable":false}',
    "v1": '{\n  "kind": "toolError:v1",\n  "code": "NETWORK_ERROR",\n  "message": "late",\n  "retryable": false\n}',
    "xml": (
        f'<tool_error code="TIMEOUT">\n  <message>late</message>\n  <recovery>{DOUBT}</recovery>\n'
        '  <details>\n    <detail key="effect">unknown</detail>\n  </details>\n</tool_error>'
    ),
    "envelope": (
        '{\n  "success": false,\n  "data": null,\n  "error": {\n    "code": "timeout",\n    "message": "late",\n'
        '    "retryable": false\n  }\n}'
    ),
    "jsonrpc": (
        '{"code":-32007,"message":"Timeout","data":{"mcp_error_code":"TIMEOUT","details":"late",'
        f'"recovery_strategy":"user_action_required","suggestion":{json.dumps(DOUBT)}}}}}'
    ),
    "problem": (
        '{"type":"urn:failwell:code:TIMEOUT","title":"Timeout","detail":"late","code":"TIMEOUT","kind":"transient",'
        '"retryable":false,"recoverable":false,"strategy":"user_action_required","effect":"unknown",'
        '"verify":{"tool":"get_invoice","arguments":{"id":"inv_1"}}}'
    ),
    "text": f"The call failed part-way (late), so it may have been done already. {CHECK}",
    "canonical": (
        '{"failwell":1,"code":"TIMEOUT","kind":"transient","message":"late","title":"Timeout","retryable":false,'
        '"recoverable":false,"strategy":"user_action_required","effect":"unknown",'
        '"verify":{"tool":"get_invoice","arguments":{"id":"inv_1"}}}'
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_it_writes_the_contracts_own_form(name: str) -> None:
    assert written("--to", name, source=UNKNOWN) == WRITTEN[name] + "\n"


def test_a_question_keeps_being_one_where_the_format_has_questions() -> None:
    question = '{"failwell":1,"outcome":"needs_input","message":"Which one?","fields":["pattern"],"reason":"many"}'
    assert written("--to", "text", source=question) == (
        "Which one? Ask the user for pattern, then call again with the answer.\n"
    )
    assert json.loads(written("--to", "v1", source=question)) == {
        "kind": "needsInput:v1",
        "type": "elicitation",
        "message": "Which one?",
        "needsInput": {"fields": ["pattern"], "reason": "many"},
    }
    assert json.loads(written("--to", "canonical", source=question)) == json.loads(question)
    assert written("--to", "typed", source=question) == (
        '{"type":"VALIDATION","message":"Which one?","recoverable":false}\n'
    )


def test_options_reach_the_format() -> None:
    modern = written("--to", "jsonrpc", "--option", "era=2026-07-28", "--option", "number=-31999", source=TYPED)
    assert json.loads(modern)["code"] == -31999
    assert json.loads(written("--to", "jsonrpc", "--option", "era=2026-07-28", source=TYPED))["code"] == -31003
    assert written("--to", "xml", "--option", "layout=flush", source=TYPED) == XML.replace("  ", "") + "\n"
    meta = json.loads(written("--to", "envelope", "--option", "elapsed_ms=12", source=TYPED))["meta"]
    assert meta == {"tool_version": "1.0", "elapsed_ms": 12}


def test_losses_are_the_names_of_the_fields_one_per_line() -> None:
    error = json.dumps({**ERRORS[0], "failwell": 1})
    assert written("--to", "typed", "--losses", source=error) == "suggestion\nactions\n"
    assert written("--to", "canonical", "--losses", source=error) == ""


def test_losses_and_jsonl_do_not_go_together() -> None:
    assert refusal(run("--to", "xml", "--losses", "--jsonl", source=TYPED)) == (
        "failwell: --losses and --jsonl do not go together; leave one of them out"
    )


def test_carry_keeps_what_the_format_cannot_say() -> None:
    error = json.dumps({**json.loads(UNKNOWN), "severity": "error"})
    carried = json.loads(written("--to", "typed", "--carry", source=error))
    assert carried["data"]["failwell"]["verify"] == {"tool": "get_invoice", "arguments": {"id": "inv_1"}}
    back = json.loads(written("--to", "canonical", source=json.dumps(carried)))
    assert back == {**json.loads(WRITTEN["canonical"]), "severity": "error"}


@pytest.mark.parametrize("target", CARRIERS)
def test_between_all_formats_that_carry_nothing_is_lost(target: str) -> None:
    expected = lines("--to", "canonical", source=LINES)
    assert [found["message"] for found in expected] == [error["message"] for error in ERRORS]
    seen = [line for source in CARRIERS for line in _carried(source)]
    there = written("--to", target, "--carry", "--jsonl", source="\n".join(seen))
    back = lines("--to", "canonical", source=there)
    # A code that nobody knows is given up in these forms: what is carried says more, and so is only quoted.
    quoted = {error["code"] for error in back if error.pop("standing", None) == "quoted"}
    assert back == expected * len(CARRIERS)
    assert quoted == {"InvoiceAlreadyPaid"}


_made: dict[str, list[str]] = {}


def _carried(name: str) -> list[str]:
    """The errors in one format with everything carried, made once per test process."""
    if name not in _made:
        _made[name] = written("--to", name, "--carry", "--jsonl", source=LINES).splitlines()
    return _made[name]


def test_from_reads_only_the_format_it_names() -> None:
    assert written("--to", "xml", "--from", "typed", source=TYPED) == XML + "\n"
    refusal(run("--to", "text", "--from", "xml", source=TYPED), 1)
    prose = written("--to", "typed", "--from", "text", source="it broke")
    assert prose == '{"type":"INTERNAL","message":"it broke","recoverable":false}\n'


def test_a_format_that_was_chosen_and_does_not_fit_is_named() -> None:
    assert "v1" in refusal(run("--to", "text", "--from", "v1", source=TYPED), 1)


@pytest.mark.parametrize("source", ["all is well", TYPED[:-1], ""])
def test_what_is_no_error_exits_with_one(source: str) -> None:
    assert refusal(run("--to", "xml", source=source), 1) == (
        "failwell: this is not an error in any format I know; for prose use --from text"
    )


JSONL = {
    "a wire text in quotes": json.dumps(TYPED),
    "xml in quotes": json.dumps(XML),
    "a canonical error": '{"failwell":1,"code":"NOT_FOUND","kind":"not_found","message":"no such agent","severity":"error"}',
    "an object of a format": TYPED,
    "a tool result": json.dumps({"content": [{"type": "text", "text": TYPED}], "isError": True}),
    "a JSON-RPC response": (
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"Not Found",'
        '"data":{"mcp_error_code":"NOT_FOUND","details":"no such agent"}}}'
    ),
    "a result in a JSON-RPC response": json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": XML}], "isError": True}}
    ),
}
NO_ERRORS = (
    '"all is well"', '""', "12", "1.5", "true", "null", "[]", "{}", '{"success":true,"data":1}',
    '{"content":[{"type":"text","text":"ok"}]}', '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}', f"[{TYPED}]",
)  # fmt: skip


@pytest.mark.parametrize("target", FORMATS)
def test_jsonl_takes_texts_and_objects_and_writes_what_the_format_is(target: str) -> None:
    found = lines("--to", target, source="\n".join(JSONL.values()))
    plain = written("--to", target, source=TYPED).removesuffix("\n")
    whole: Any = plain if target in ("xml", "text") else json.loads(plain)
    assert len(found) == len(JSONL)
    if target in ("typed", "v1", "xml", "envelope", "jsonrpc", "text"):
        assert dict(zip(JSONL, found, strict=True)) == dict.fromkeys(JSONL, whole)
    else:
        assert found[0] == whole
        assert {type(value) for value in found} == {type(whole)}


def test_jsonl_gives_null_for_a_line_that_is_no_error() -> None:
    source = "\n".join([*NO_ERRORS, TYPED])
    assert lines("--to", "typed", source=source) == [*[None] * len(NO_ERRORS), json.loads(TYPED)]


def test_jsonl_skips_blank_lines_and_splits_only_at_newlines() -> None:
    odd = '{"type":"NOT_FOUND","message":"a\u2028b\x85c\u2029d","recoverable":false}'
    source = f"\ufeff\r\n\n{TYPED}\r\n  \n{odd}\n\n"
    found = written("--to", "typed", "--jsonl", source=source)
    assert found.count("\n") == 2
    assert json.loads(found.split("\n")[0]) == json.loads(TYPED)
    assert written("--to", "typed", "--jsonl", source="") == ""
    assert written("--to", "typed", "--jsonl", source="\n \n") == ""


@pytest.mark.parametrize("broken", ["{", TYPED + TYPED, "[" * 100_000], ids=len)
def test_jsonl_names_the_line_that_is_broken_and_writes_nothing(broken: str) -> None:
    line = refusal(run("--to", "typed", "--jsonl", source=f"{TYPED}\n\n{broken}\n{TYPED}\n"))
    assert line == "failwell: line 3 is not JSON; each line holds a text in quotes or an object"


def test_jsonl_reads_numbers_of_any_length() -> None:
    error = '{"type":"NOT_FOUND","message":"m","recoverable":false,"data":{"n":' + "9" * 10_000 + "}}"
    (found,) = lines("--to", "typed", source=error)
    assert found["message"] == "m"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("layout", "--option 'layout' has no value; write it as NAME=VALUE"),
        ("colour=red", "The format 'xml' has no option 'colour'; it has layout."),
        ("=1", "The format 'xml' has no option ''; it has layout."),
        ("layout=nope", "There is no layout 'nope'; use 'indent' or 'flush'."),
        ("layout=[1]", "There is no layout [1]; use 'indent' or 'flush'."),
    ],
)
def test_a_bad_option_is_said_in_one_line(option: str, said: str) -> None:
    assert refusal(run("--to", "xml", "--option", option, source=TYPED)) == f"failwell: {said}"


@pytest.mark.parametrize("name", ["guard", "carry", "format", "outcome"])
def test_only_options_of_the_format_are_options(name: str) -> None:
    line = refusal(run("--to", "xml", "--option", f"{name}=null", source=TYPED))
    assert line == f"failwell: The format 'xml' has no option '{name}'; it has layout."


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 10_000, '"\\ud800"', ""], ids=len)
def test_no_value_of_an_option_breaks_it(value: str) -> None:
    refusal(run("--to", "jsonrpc", "--option", f"number={value}", source=TYPED))


def test_a_secret_does_not_come_out() -> None:
    error = json.dumps({"type": "INTERNAL", "message": "password=hunter2secret", "recoverable": False})
    for target in ("typed", "xml", "text", "canonical"):
        assert "hunter2secret" not in written("--to", target, "--carry", source=error)


@pytest.mark.parametrize("name", ["nope", "TYPED", "", "../typed"])
def test_an_unknown_format_is_bad_usage(name: str) -> None:
    said = f"failwell: there is no format {name!r}; use one of: {', '.join(FORMATS)}"
    assert refusal(run("--to", name, source=TYPED)) == said
    assert refusal(run("--to", "xml", "--from", name, source=TYPED)) == said


def test_without_a_target_it_asks_for_one() -> None:
    assert "--to" in refusal(run(source=TYPED))
    assert "--to" in refusal(run("--to", source=TYPED))


@pytest.mark.parametrize("target", FORMATS)
def test_terminal_escapes_never_leave_raw(target: str) -> None:
    escapes = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\l \x9b2J\x9d0;t\x9c \u202eb\u202c \x00\x08\x7f"
    sources = [
        json.dumps({"type": "NOT_FOUND", "message": escapes, "recoverable": False, "data": {escapes: escapes}}),
        json.dumps({"kind": "toolError:v1", "code": f"A{escapes}", "message": "m", "retryable": False}),
        json.dumps(f"<tool_error><message>a&#27;[31mb&#155;2J{escapes}</message></tool_error>"),
        json.dumps(
            {"failwell": 1, "kind": "internal", "message": "m", "actions": [{"tool": escapes}], "meta": {"a": escapes}}
        ),
        json.dumps({"failwell": 1, "outcome": "needs_input", "message": escapes, "fields": [escapes]}),
    ]
    found = written("--to", target, "--carry", "--jsonl", source="\n".join(sources))
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", found) == []
    if target in ("text", "xml", "canonical"):
        found = written("--to", target, "--carry", source=sources[0])
        assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", found) == []


@pytest.mark.parametrize(
    "arguments", [("--to", "canonical"), ("--to", "canonical", "--jsonl"), ("--to", "xml")], ids=str
)
def test_without_utf_8_what_is_written_still_reads_the_same(arguments: tuple[str, ...]) -> None:
    source = json.dumps({"type": "NOT_FOUND", "message": "nö ☃ 日本 😀", "recoverable": False})
    done = run(*arguments, source=source, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, b"")
    back = json.loads(written("--to", "typed", source=done.stdout.decode()))
    assert back["message"] == "nö ☃ 日本 😀"
