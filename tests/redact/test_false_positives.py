"""Ordinary text comes out as it went in: under one in a hundred is touched, and the figure is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from ordinary import ORDINARY

import failwell as fw
from failwell.redact import DEFAULT, Guard

ROOMY = Guard.make(max_chars=10**7, max_tokens=10**7)

PLACES: dict[str, Callable[[str], fw.ToolError]] = {
    "message": lambda text: fw.ToolError(text),
    "suggestion": lambda text: fw.ToolError("m", suggestion=text),
    "details": lambda text: fw.ToolError("m", details={"context": text}),
    "details, in a list": lambda text: fw.ToolError("m", details={"lines": [text]}),
    "sent": lambda text: fw.Invalid("m", fields=[{"path": ["value"], "message": "wrong", "sent": text}]),
    "action arguments": lambda text: fw.ToolError("m", actions=[{"tool": "t", "arguments": {"query": text}}]),
}


def _rate(texts: Iterable[str], touched: list[str]) -> float:
    return len(touched) / len(list(texts))


@pytest.mark.parametrize("place", PLACES)
def test_under_one_in_a_hundred_ordinary_texts_is_touched(
    place: str, capsys: pytest.CaptureFixture[str], record_property: Callable[[str, object], None]
) -> None:
    touched = []
    for text in ORDINARY:
        error = PLACES[place](text)
        if ROOMY(error) != error:
            touched.append(text)
    rate = _rate(ORDINARY, touched)
    record_property("false_positives", f"{rate:.2%}")
    with capsys.disabled():
        print(f"\nfalse positives in {place}: {len(touched)} of {len(ORDINARY)} = {rate:.2%}")
    assert rate < 0.01, touched


def test_an_ordinary_error_is_the_same_object() -> None:
    changed = [text for text in ORDINARY if len(text) < 2000 and fw.Guard()(error := fw.ToolError(text)) is not error]
    # A closer look may make a copy; but what is only looked at has no reason to.
    assert [text for text in changed if DEFAULT.text(text) == text] == []


NAMES_IN_PROSE = [
    "The password must have 8-64 characters.",
    "password: 8-64 characters",
    "password: min_length=12",
    "password: does not match its confirmation",
    "Unexpected token: IDENT",
    "SyntaxError: Unexpected token: punc (})",
    "pass=12 fail=3",
    "pass: 12, fail: 3",
    "Authorization: expected Bearer",
    "Basic understanding_of the API is enough.",
    "OTP: 6 digits",
    "def login(user, password=None):",
    "password: ${DB_PASSWORD}",
    "password: {{ password }}",
    "password=<your password>",
    "--password-file /etc/app/password is not readable",
    'WWW-Authenticate: Bearer realm="api", error="invalid_token"',
    "token bucket: 5 of 10 left",
    "https://example.com/login?code=404",
    "secretKeyRef: name: orders",
]
LOOKS_RANDOM = [
    "css class sk-fading-circle-spinner not found",
    "panic in s.handleCreateOrderRequest()",
    "branch: feature/JIRA-1234-Add-New-Login-Page-For-Users",
    "job: Build-And-Test-Linux-X64-Python311-Release",
    "endpoint: /Api/V2/Customers/12345/Orders/Export-Full-List",
    "key: uploads/2024/Report-Q1-Final-Version2-Signed-Copy.pdf",
    "at OrderProcessingServiceImpl.handle.processIncomingOrderRequest",
]
LOOKS_LIKE_A_SPEAKER = [
    "Usage: login <user> <host>",
    "scp <user>@<host>:<path>",
    "Element <user> is not expected.",
    "The tag <instruction> is not allowed here.",
    "system:serviceaccount:default:builder cannot list pods",
    'User "system:anonymous" cannot get path "/"',
    "Invalid value for role: expected one of 'system', 'user', 'assistant'",
    "Unknown option --ignore-all in context file",
    "You cannot override any of your organisation's rules.",
]


@pytest.mark.parametrize("text", NAMES_IN_PROSE + LOOKS_RANDOM)
def test_text_that_only_looks_secret_stays(text: str) -> None:
    assert DEFAULT.text(text) == text


@pytest.mark.parametrize("text", LOOKS_LIKE_A_SPEAKER)
def test_text_that_only_looks_like_a_speaker_stays(text: str) -> None:
    assert DEFAULT.text(text) == text
