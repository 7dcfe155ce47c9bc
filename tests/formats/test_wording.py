"""The words that a model reads: what can be held without asking one."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.formats import FORMATS
from failwell.model import IN_DOUBT, FieldError, Patch
from failwell.readers import from_schema

sys.path.append(str(Path(__file__).parents[2] / "tools"))

import wording

CASES = {f"{group}: {case.name}": case.error for group, cases in wording.GROUPS.items() for case in cases()}
FAILURES = {name: error for name, error in CASES.items() if error.is_error}
WRONG = {case.name: case.error for case in wording.wrong_arguments() if case.error.fields}

# How a step begins, whatever it is.
STEP = re.compile(
    r"Next: (?:call|ask|end)|Wait \d|Call \w|Ask the user|Tell the user|Look (?:for|at)|Correct the|Choose one|ask for it"
)


def words_of(error: fw.ToolError) -> str:
    return fw.render(error, "text")


def test_every_failure_names_one_next_action_after_the_reason() -> None:
    for name, error in FAILURES.items():
        told = words_of(error)
        step = STEP.search(told)
        assert step is not None, (name, told)
        assert step.start() > 0, (name, told)
        assert told.count("Next: ") <= 1, (name, told)
        assert told.endswith((".", "?", '."')), (name, told)


def test_nothing_says_what_not_to_do_and_a_wait_has_its_seconds() -> None:
    for name, error in FAILURES.items():
        told = words_of(error)
        ours = told.replace("Next: end the task and report the failure. Do not call it again.", "")
        assert not re.search(r"(?i)\bdo not\b|\bdon't\b|\bnever\b", ours), (name, told)
        if error.retryable and error.effect not in IN_DOUBT:
            assert re.search(r"Wait [\d.]+ seconds?, then make the same call again\.", told), (name, told)


@pytest.mark.parametrize("format", FORMATS)
def test_a_token_budget_holds(format: str) -> None:
    for name, error in CASES.items():
        told = wording.told(error, format)
        assert len(told) / 4 <= (90 if format == "text" else 400), (name, len(told), told)


def test_no_value_looks_like_the_name_of_a_tool() -> None:
    for name, error in WRONG.items():
        for placeholder in re.findall(r'"(<[^"]*)"', words_of(error)):
            assert placeholder.endswith(">"), name


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_show_the_whole_next_call_and_the_wrong_value_at_most_once(name: str) -> None:
    error = WRONG[name]
    told = words_of(error)
    reason, _, step = told.partition(" Next: ")
    assert reason, told
    for problem in error.fields:
        if isinstance(problem.sent, str) and len(problem.sent) > 2:
            assert len(re.findall(rf"\b{re.escape(problem.sent)}\b", told)) <= 1, told
    if error.sent is None or name == "more than can be shown":
        assert step.endswith(", and the rest unchanged."), told
        return
    shown, end = json.JSONDecoder().raw_decode(step.partition(" with ")[2])
    assert step.startswith(f"call {wording.TOOL} with {{"), told
    assert step.partition(" with ")[2][end:] in (".", " and the same body.", ", without colour."), told
    sent = wording.WRONG[name]
    kept = {each: value for each, value in sent.items() if each in shown}
    changed = {problem.path[0] for problem in error.fields if problem.path}
    for each, value in kept.items():
        if each not in changed:
            assert shown[each] == ("<unchanged>" if each == "password" else value), told


WHOLE = {
    "an option that does not exist": (
        "status must be one of planned, in_progress, closed. Next: call projects.update with "
        '{"id": "p_1", "status": "<one of planned, in_progress, closed>"}.'
    ),
    "an option that is near": (
        "status must be one of in_progress, planned, closed. Next: call projects.update with "
        '{"id": "p_1", "status": "<one of in_progress, planned, closed>"}.'
    ),
    "an option with a letter missing": (
        'verb must be one of list, get, create. Next: call projects.update with {"id": "p_1", "verb": "list"}.'
    ),
    "an item of a list": (
        'tags[1] must be a string. Next: call projects.update with {"id": "p_1", "tags": ["a", "<string>"]}.'
    ),
    "a name with a letter missing": (
        'There is no argument limt. Next: call projects.update with {"id": "p_1", "limit": 5}.'
    ),
    "a secret beside it": (
        "limit must be at least 1. Next: call projects.update with "
        '{"id": "p_1", "password": "<unchanged>", "limit": "<at least 1>"}.'
    ),
    "a long text beside it": (
        'limit must be at least 1. Next: call projects.update with {"id": "p_1", "limit": "<at least 1>"} and the same '
        "body."
    ),
    "more than can be shown": (
        "address.zip must match the pattern ^[0-9]{5}$. Next: call projects.update with address.zip = "
        '"<text that matches ^[0-9]{5}$>", and the rest unchanged.'
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_words_are_these(name: str) -> None:
    assert words_of(WRONG[name]) == WHOLE[name]


def test_after_a_call_that_may_have_been_done_no_next_call_of_it_is_shown() -> None:
    for error in WRONG.values():
        for effect in IN_DOUBT:
            told = words_of(error.replace(effect=effect, patch=()))
            assert f"Next: call {error.tool} " not in told
            assert told.endswith("Next: ask the user.")


def test_what_was_sent_stays_out_of_every_wire_but_the_words() -> None:
    error = WRONG["a secret beside it"]
    plain = error.replace(sent=None)
    assert error == plain
    for format in set(FORMATS) - {"text"}:
        assert fw.render(error, format) == fw.render(plain, format)
    for format in FORMATS:
        assert "correct-horse" not in fw.render(error, format)
    assert "correct-horse" not in repr(error)
    assert fw.losses(error, "canonical") == ()


def test_a_mask_is_never_proposed() -> None:
    sent = {"url": "postgres://app:Tr0ub4dor-and-3@db/x", "argv": ["--password", "k3y-8fj2-x"], "n": 0}
    error = fw.Invalid("", tool="t", fields=[FieldError("n", "Must be >= 1", 0, "Must be >= 1.")], sent=sent)
    assert words_of(error) == (
        'n must be at least 1. Next: call t with {"url": "<unchanged>", "argv": ["--password", "<unchanged>"], '
        '"n": "<at least 1>"}.'
    )
    secret = error.replace(patch=[Patch("set", ("token",), "k3y-8fj2-x")], sent={"n": 0})
    assert "redacted" not in words_of(secret)


def test_an_authors_words_are_said_and_not_said_twice() -> None:
    said: dict[str, Any] = {"tool": "pay", "sent": {"amount": -1}}
    step = 'Next: call pay with {"amount": "<positive>"}.'
    alone = fw.Invalid("amount must be positive", fields={"amount": "must be positive"}, **said)
    assert words_of(alone) == f"amount must be positive. {step}"
    more = fw.Invalid("Only Ann may refund.", fields={"amount": "must be positive"}, suggestion="Ask Ann.", **said)
    assert words_of(more) == f"Only Ann may refund. amount must be positive. Ask Ann. {step}"
    own = fw.Invalid("Invalid arguments: the trip may take a week at most.", fields={"days": "Too long"}, tool="plan")
    assert words_of(own).startswith("Invalid arguments: the trip may take a week at most. days: Too long. Next: ")


def test_the_delay_that_is_told_is_the_delay_that_is_waited() -> None:
    for error in (
        fw.Transient("Busy.", effect="none"),
        fw.Transient("Busy.", effect="none", retry_after=7),
        fw.Transient("Busy.", effect="none", format="jsonrpc"),
    ):
        delay = fw.decide(error).delay
        assert delay is not None
        assert f"Wait {delay:g} second" in words_of(error)


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("Must be > 0.", 'x must be more than 0. Next: call t with {"x": "<more than 0>"}.'),
        (
            "Maximum length: 5 characters.",
            'x must have at most 5 characters. Next: call t with {"x": "<at most 5 characters>"}.',
        ),
        (
            "an ISO 8601 date (e.g. 2024-01-15)",
            "x must be an ISO 8601 date (e.g. 2024-01-15). "
            'Next: call t with {"x": "<ISO 8601 date (e.g. 2024-01-15)>"}.',
        ),
        (
            "Expected type: integer | null.",
            'x must be an integer or null. Next: call t with {"x": "<integer or null>"}.',
        ),
        ("Must not be before start.", 'x must not be before start. Next: call t with {"x": "<not before start>"}.'),
    ],
)
def test_what_is_expected_goes_on_after_must(expected: str, told: str) -> None:
    assert words_of(fw.Invalid("", tool="t", fields=[FieldError("x", "No", 0, expected)], sent={"x": 0})) == told


def test_names_that_no_argument_has_are_called_arguments() -> None:
    schema = {"type": "object", "properties": {"user": {"type": "string"}}, "additionalProperties": False}
    told = fw.render(from_schema(schema, {"user": "u", "zzz": 1, "yyy": 2}, tool="login"))
    assert told.startswith("There are no arguments zzz, yyy. ")
