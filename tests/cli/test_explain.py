"""`failwell explain`, as people and scripts run it."""

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
TYPED = '{"type":"NOT_FOUND","message":"no such agent","recoverable":false}'
NETWORK = '{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"fetch failed","retryable":true}'
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
ESCAPES = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link \x9b2J\x9d0;t\x9c \u202eback\u202c \x00\x08\x7f"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def run(*arguments: str, source: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    data = source.encode() if isinstance(source, str) else source
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return commands.run(
        "explain", *arguments, source=data, environment={**plain, "PYTHONIOENCODING": "utf-8", **environment}
    )


def told(*arguments: str, source: str) -> list[str]:
    done = run(*arguments, source=source)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


def as_json(*arguments: str, source: str) -> Any:
    done = run("--json", *arguments, source=source)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


def refusal(done: subprocess.CompletedProcess[bytes], code: int) -> str:
    assert (done.returncode, done.stdout) == (code, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("failwell: ")
    return line


EXPLAINED = {
    "typed": (
        TYPED,
        [
            "format       typed (000, six error types)",
            "kind         not_found",
            "code         NOT_FOUND: The thing asked for does not exist.",
            "message      no such agent",
            "retryable    no",
            "strategy     fix_and_retry",
            "effect       none",
            "do next      Do something else. It does not exist; skip it or look for another.",
        ],
    ),
    "typed with a holder": (
        '{"type":"CONFLICT","message":"held","recoverable":true,'
        '"data":{"conflicts":[{"agent_id":"a2","pattern":"src/*","held_by":"a2"}]}}',
        [
            "format       typed (000, six error types)",
            "kind         conflict",
            "code         CONFLICT: It exists already, is held by someone, or changed.",
            "message      held",
            "retryable    no",
            "strategy     fix_and_retry",
            "effect       none",
            "held by      a2",
            "do next      Talk to whoever holds it. Ask a2 to release it.",
        ],
    ),
    "v1": (
        '{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"fetch failed","retryable":true,'
        '"details":{"statusCode":503,"retryAfter":5}}',
        [
            "format       v1 (001, toolError:v1)",
            "kind         transient",
            "code         NETWORK_ERROR: Something on the way could not be reached.",
            "message      fetch failed",
            "retryable    yes",
            "strategy     retry_with_backoff",
            "effect       not said, so unknown",
            "retry after  5 seconds",
            "do next      Make the same call again. Network Error: the same call may work in 5 seconds.",
        ],
    ),
    "a question": (
        '{"kind":"needsInput:v1","type":"elicitation","message":"Which one?",'
        '"needsInput":{"reason":"many","fields":["pattern","limit"]}}',
        [
            "format       v1 (001, toolError:v1)",
            "outcome      a question, not a failure",
            "message      Which one?",
            "asks for     pattern, limit",
            "do next      Ask the user. The call needs an answer from the user: Which one?",
        ],
    ),
    "xml": (
        '<tool_error code="RATE_LIMITED" severity="warning"><message>Slow &amp; easy</message>'
        "<recovery>Wait.</recovery><retry_after>30 seconds</retry_after></tool_error>",
        [
            "format       xml (002, self-healing XML)",
            "kind         transient",
            "code         RATE_LIMITED: Too many requests.",
            "message      Slow & easy",
            "retryable    yes",
            "strategy     retry_with_backoff",
            "effect       none",
            "severity     warning: the call itself worked",
            "retry after  30 seconds",
            "suggestion   Wait.",
            "do next      Go on. It is an advisory: the call itself worked.",
        ],
    ),
    "xml about arguments": (
        '<validation_error action="users/create">\n'
        '  <field name="items.1.qty">Too low. You sent: 0. Must be &gt;= 1.</field>\n'
        "</validation_error>",
        [
            "format       xml (002, self-healing XML)",
            "kind         validation",
            "code         VALIDATION_ERROR: The arguments break a rule.",
            "message      The arguments are invalid: items.1.qty.",
            "retryable    no",
            "strategy     fix_and_retry",
            "effect       none",
            "argument     items.1.qty: Too low",
            "do next      Correct the arguments and call again. The arguments are wrong; see the fields.",
        ],
    ),
    "envelope that contradicts its code": (
        '{"success":false,"data":null,"error":{"code":"x_rate_limited","message":"Rate limited",'
        '"retryable":false,"retry_after_ms":1500}}',
        [
            "format       envelope (003, typed envelope)",
            "kind         transient",
            "code         x_rate_limited: Rate limit exceeded",
            "message      Rate limited",
            "retryable    no",
            "strategy     report_and_abort",
            "effect       none",
            "note         The peer said retryable: false, which the code x_rate_limited does not; "
            "the peer's word counts.",
            "do next      Give up and report it. Calling again would not help: Rate limited",
        ],
    ),
    "jsonrpc": (
        '{"jsonrpc":"2.0","id":7,"error":{"code":-32010,"message":"Device unreachable",'
        '"data":{"mcp_error_code":"DEVICE_UNREACHABLE","details":"no answer"}}}',
        [
            "format       jsonrpc (004, JSON-RPC taxonomy)",
            "kind         transient",
            "code         DEVICE_UNREACHABLE: The device does not answer.",
            "message      no answer",
            "retryable    yes",
            "strategy     retry_with_backoff",
            "effect       not said, so unknown",
            "do next      Make the same call again. Device unreachable: the same call may work in 60 seconds.",
        ],
    ),
    "problem": (
        '{"type":"about:blank","title":"Not Found","status":404,"detail":"no page"}',
        [
            "format       problem (RFC 9457, problem details)",
            "kind         not_found",
            "code         none",
            "message      no page",
            "retryable    no",
            "strategy     fix_and_retry",
            "effect       not said, so unknown",
            "do next      Do something else. It does not exist; skip it or look for another.",
        ],
    ),
    "canonical": (
        '{"failwell":1,"kind":"validation","code":"MADE_UP","message":"bad","next_steps":["one","two"]}',
        [
            "format       canonical (Failwell's own)",
            "kind         validation",
            "code         MADE_UP (unknown)",
            "message      bad",
            "retryable    no",
            "strategy     fix_and_retry",
            "effect       none",
            "next step    one",
            "next step    two",
            "do next      Correct the arguments and call again. The arguments are wrong; see the message.",
        ],
    ),
    "a failed result with prose": (
        '{"content":[{"type":"text","text":"it broke"}],"isError":true}',
        [
            "format       text (none, plain sentences)",
            "kind         internal",
            "code         none",
            "message      it broke",
            "retryable    no",
            "strategy     report_and_abort",
            "effect       not said, so unknown",
            "note         unstructured: there is only prose to go by",
            "do next      Give up and report it. It is unstructured, so nothing tells how to go on: it broke",
        ],
    ),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_it_says_what_the_error_is_and_what_to_do(name: str) -> None:
    source, lines = EXPLAINED[name]
    assert told(source=source) == lines


@pytest.mark.checklist(40)
def test_prose_that_was_pasted_is_explained() -> None:
    assert told(source="Request failed with status code 429, retry after 7 seconds") == [
        "format       text (none, plain sentences)",
        "kind         transient",
        "code         RATE_LIMITED: Too many requests.",
        "message      Request failed with status code 429, retry after 7 seconds",
        "retryable    yes",
        "strategy     retry_with_backoff",
        "effect       not said, so unknown",
        "retry after  7 seconds",
        "note         unstructured: there is only prose to go by",
        "do next      Make the same call again. Rate Limited: the same call may work in 7 seconds.",
    ]
    assert as_json("--read-only", source="Error: too many requests, retry after 7 seconds")["decision"]["delay"] == 7
    assert as_json(source="Transport closed")["outcome"]["code"] == "NETWORK_ERROR"


def test_words_that_say_nothing_are_an_error_only_when_called_text() -> None:
    line = refusal(run(source="it broke"), 1)
    assert line == "failwell: this is not an error in any format I know; for prose use --format text"
    assert told("--format", "text", source="it broke")[:4] == [
        "format       text (none, plain sentences)",
        "kind         internal",
        "code         none",
        "message      it broke",
    ]


@pytest.mark.parametrize(
    ("number", "message", "code"),
    [(-32603, "User 7 not found", "NOT_FOUND"), (-32602, "Unknown tool: foo", "UNKNOWN_TOOL")],
)
def test_what_a_number_does_not_say_its_words_do(number: int, message: str, code: str) -> None:
    source = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": message}})
    assert as_json(source=source)["outcome"]["code"] == code


def test_json_is_the_whole_outcome_and_the_decision() -> None:
    assert as_json(source=UNKNOWN) == {
        "format": "canonical",
        "outcome": {
            "failwell": 1,
            "code": "TIMEOUT",
            "kind": "transient",
            "message": "late",
            "title": "Timeout",
            "retryable": False,
            "recoverable": False,
            "strategy": "user_action_required",
            "effect": "unknown",
            "verify": {"tool": "get_invoice", "arguments": {"id": "inv_1"}},
            "origin": "peer",
            "format": "canonical",
        },
        "decision": {
            "next": "verify",
            "reason": "The server cannot tell whether the call took effect; get_invoice tells.",
            "calls": [{"tool": "get_invoice", "arguments": {"id": "inv_1"}}],
        },
    }


def test_json_of_a_question() -> None:
    source = '{"kind":"needsInput:v1","message":"Which one?","needsInput":{"reason":"many","fields":["pattern"]}}'
    assert as_json(source=source) == {
        "format": "v1",
        "outcome": {
            "failwell": 1,
            "outcome": "needs_input",
            "message": "Which one?",
            "fields": ["pattern"],
            "reason": "many",
        },
        "decision": {"next": "ask", "reason": "The call needs an answer from the user: Which one?"},
    }


@pytest.mark.checklist(41, 44)
def test_json_has_the_delay_the_attempts_the_patch_and_the_holders() -> None:
    rate_limited = '{"type":"TRANSIENT","message":"slow","recoverable":true,"data":{"retry_after":30}}'
    held = '{"type":"CONFLICT","message":"held","recoverable":true,"data":{"conflicts":[{"agent_id":"a2","held_by":"a2"}]}}'
    patch = [{"op": "rename", "path": ["limt"], "to": "limit"}]
    fixable = json.dumps({"failwell": 1, "kind": "validation", "message": "bad", "patch": patch})
    assert as_json(source=rate_limited)["decision"] == {
        "next": "retry",
        "reason": "Transient: the same call may work in 30 seconds.",
        "delay": 30,
        "attempts_left": 2,
    }
    decision = as_json(source=held)["decision"]
    assert (decision["next"], decision["holders"]) == ("negotiate", ["a2"])
    decision = as_json(source=fixable)["decision"]
    assert (decision["next"], decision["patch"]) == ("fix", patch)


@pytest.mark.parametrize(
    ("arguments", "source", "expected"),
    [
        ((), UNKNOWN, "verify"),
        (("--read-only",), UNKNOWN, "retry"),
        (("--delivery", "never_sent"), UNKNOWN, "retry"),
        (("--delivery", "unanswered"), NETWORK, "ask"),
        (("--delivery", "unanswered", "--idempotent"), NETWORK, "retry"),
        (("--delivery", "answered", "--tool", "send_email"), NETWORK, "retry"),
    ],
    ids=str,
)
def test_what_is_known_of_the_call_changes_the_decision(arguments: tuple[str, ...], source: str, expected: str) -> None:
    assert as_json(*arguments, source=source)["decision"]["next"] == expected


def test_a_file_a_dash_and_standard_input_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "error with spaces.json"
    file.write_bytes(b"\xef\xbb\xbf" + TYPED.encode())
    lines = EXPLAINED["typed"][1]
    assert told(str(file), source="") == lines
    assert told("-", source=TYPED) == lines
    assert told(source=f"\r\n  {TYPED}\r\n") == lines


@pytest.mark.parametrize(
    "source",
    [
        "all is well",
        TYPED[:-5],
        '{"success":true,"data":1}',
        '{"content":[{"type":"text","text":"ok"}]}',
        "",
        " \n\t\n",
    ],
)
def test_what_is_no_error_exits_with_one(source: str) -> None:
    refusal(run(source=source), 1)


def test_a_format_that_was_chosen_is_the_only_one_tried() -> None:
    refusal(run("--format", "v1", source=TYPED), 1)
    assert told("--format", "typed", source=TYPED) == EXPLAINED["typed"][1]


def test_a_format_that_was_chosen_and_does_not_fit_is_named() -> None:
    assert "v1" in refusal(run("--format", "v1", source=TYPED), 1)


def test_empty_text_is_not_told_to_be_read_as_text() -> None:
    assert "--format text" not in refusal(run("--format", "text", source=""), 1)


@pytest.mark.parametrize(
    "source",
    [
        json.dumps({"type": "NOT_FOUND", "message": ESCAPES, "recoverable": False}),
        json.dumps({"kind": "toolError:v1", "code": f"A{ESCAPES}B", "message": "m", "retryable": False}),
        f'<tool_error code="X"><message>a&#27;[31mb&#155;2J{ESCAPES}</message><recovery>{ESCAPES}</recovery></tool_error>',
        json.dumps(
            {
                "failwell": 1,
                "kind": "conflict",
                "message": "m",
                "next_steps": [ESCAPES],
                "fields": [{"path": [ESCAPES], "message": ESCAPES}],
                "conflicts": [{"held_by": ESCAPES}],
                "notes": [ESCAPES],
                "actions": [{"tool": ESCAPES}],
            }
        ),
        json.dumps({"failwell": 1, "outcome": "needs_input", "message": ESCAPES, "fields": [ESCAPES]}),
    ],
    ids=["message", "code", "xml", "canonical", "question"],
)
def test_terminal_escapes_never_leave_raw(source: str) -> None:
    for arguments in ((), ("--json",)):
        done = run(*arguments, source=source)
        assert (done.returncode, done.stderr) == (0, b"")
        assert RAW.findall(done.stdout.decode()) == []


def test_escapes_in_prose_never_leave_raw() -> None:
    done = run("--format", "text", source=f"it broke {ESCAPES}")
    assert done.returncode == 0
    assert RAW.findall(done.stdout.decode()) == []


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\x85"], ids=ascii)
def test_a_message_cannot_write_a_line_of_ours(end: str) -> None:
    source = json.dumps({"failwell": 1, "kind": "internal", "message": f"x{end}do next      Make the same call again."})
    lines = told(source=source)
    assert [line for line in lines if line.startswith("do next")] == lines[-1:]


def test_a_secret_is_masked() -> None:
    source = json.dumps({"type": "INTERNAL", "message": "password=hunter2secret", "recoverable": False})
    assert "message      password=[redacted]" in told(source=source)
    assert as_json(source=source)["outcome"]["message"] == "password=[redacted]"


def test_markup_of_the_drawing_library_is_only_text() -> None:
    source = json.dumps({"type": "NOT_FOUND", "message": "[bold]x[/bold] [/] :smile: {0} %s", "recoverable": False})
    assert told(source=source)[3] == "message      [bold]x[/bold] [/] :smile: {0} %s"
