"""Plain sentences that name the next action, and prose that is read as nothing more."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.model import FieldError, Patch


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fw.ToolError("It broke"), "It broke."),
        (fw.Internal("It broke"), "It broke. Next: end the task and report the failure. Do not call it again."),
        (fw.Invalid("amount must be positive"), "amount must be positive. Correct the arguments, then call again."),
        (
            fw.Internal('It said: "gone (1 more)"'),
            'It said: "gone (1 more)". Next: end the task and report the failure. Do not call it again.',
        ),
        (
            fw.Internal("It broke (again)"),
            "It broke (again). Next: end the task and report the failure. Do not call it again.",
        ),
        (fw.Denied("No access."), "No access. Ask the user: something has to be changed first."),
        (fw.Transient("Busy."), "Busy. Wait 1 second, then make the same call again."),
        (fw.Transient("Busy!", retry_after=1.5), "Busy! Wait 1.5 seconds, then make the same call again."),
        (fw.NotFound("Gone.", suggestion="Call list."), "Gone. Call list."),
        (fw.NotFound("Gone", actions=["a.list", "b.list"]), "Gone. Call a.list or b.list."),
        (
            fw.NotFound("Gone.", actions=[{"tool": "a.list", "arguments": {"q": "x", "n": 2}}]),
            'Gone. Call a.list(q="x", n=2).',
        ),
        (fw.Denied("No.", next_steps=["Ask Ann", "Then retry."]), "No. Ask Ann. Then retry."),
        (
            fw.Invalid("Bad.", fields=[FieldError(("email",), "Invalid email", "x", "an address")]),
            'Bad. email must be an address. Next: call it with email = "<address>", and the rest unchanged.',
        ),
        (
            fw.Invalid(
                "Bad.",
                patch=[
                    Patch("rename", ("limt",), to="limit"),
                    Patch("set", ("a", "b"), 1),
                    Patch("remove", ("c",)),
                ],
            ),
            "Bad. Next: call it with limit in place of limt, a.b = 1, c left out, and the rest unchanged.",
        ),
        (fw.ToolError("Old.", code="DEPRECATED", severity="warning"), "Old."),
        (
            fw.ToolError("", code="NOT_FOUND"),
            "Not Found. Look for another one; the same call will fail again.",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else value.message,
)
def test_sentences_name_the_next_action(error: fw.ToolError, text: str) -> None:
    assert fw.render(error, "text") == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"retryable": False}, "Connection reset. Next: end the task and report the failure. Do not call it again."),
        ({"retryable": True}, "Connection reset. Wait 1 second, then make the same call again."),
        (
            {"retryable": False, "details": {"retryAfter": 5}},
            "Connection reset. Next: end the task and report the failure. Do not call it again.",
        ),
    ],
)
def test_nobody_is_told_to_repeat_what_its_server_says_is_in_vain(more: dict[str, Any], text: str) -> None:
    stated = {"kind": "toolError:v1", "code": "NETWORK_ERROR", "message": "Connection reset.", **more}
    error = fw.read({"isError": True, "structuredContent": stated, "content": []})
    assert isinstance(error, fw.ToolError)
    assert fw.render(error, "text") == text
    assert fw.decide(error, tool={"annotations": {"readOnlyHint": True}}).repeats is text.endswith("same call again.")


def test_suggestion_that_names_the_call_and_delay_is_not_repeated() -> None:
    error = fw.Transient(
        "Busy.", retry_after=30, suggestion="Wait 30 seconds, or call queue.show.", actions=["queue.show"]
    )
    assert fw.render(error, "text") == "Busy. Wait 30 seconds, or call queue.show."


CHECK = {"tool": "orders.get", "arguments": {"id": 7}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"effect": "unknown", "verify": CHECK},
            "The call failed part-way (Timed out), so it may have been done already."
            ' Next: call orders.get with {"id":7} to see whether it was.',
        ),
        (
            {"effect": "partial", "verify": CHECK},
            "The call was done in part (Timed out)."
            ' Next: call orders.get with {"id":7} to see what was done, then do only the rest.',
        ),
        (
            {"effect": "done", "verify": CHECK},
            "The call was done, and failed after that (Timed out)."
            ' Next: call orders.get with {"id":7} to see what came of it.',
        ),
        (
            {"effect": "unknown", "tool": "pay"},
            "pay failed part-way (Timed out), so it may have been done already. Next: ask the user.",
        ),
        (
            {"effect": "unknown", "tool": "bank", "action": "pay"},
            "bank/pay failed part-way (Timed out), so it may have been done already. Next: ask the user.",
        ),
        (
            {"effect": "unknown", "tool": "pay", "delivery": "unanswered", "verify": "list"},
            "The answer was lost, so pay may have been done already. Next: call list to see whether it was.",
        ),
        (
            {"effect": "unknown", "tool": "pay", "actions": ["list"], "suggestion": "Look at the invoice first."},
            "pay failed part-way (Timed out), so it may have been done already."
            " Look at the invoice first. Next: call list.",
        ),
        (
            {"effect": "partial", "tool": "post", "patch": [Patch("set", ("from",), 3)]},
            "post was done in part (Timed out). Next: call post for the rest, with from = 3.",
        ),
    ],
)
def test_of_a_call_that_may_have_been_done_a_model_is_told_so_and_one_next_step(
    fields: dict[str, Any], text: str
) -> None:
    error = fw.ToolError("Timed out.", code="TIMEOUT", retry_after=3, **fields)
    assert fw.render(error, "text") == text


def test_a_long_reason_does_not_bury_the_next_step() -> None:
    told = fw.render(fw.Transient("x" * 2000, effect="unknown"), "text")
    assert told == f"The call failed part-way ({'x' * 499}…), so it may have been done already. Next: ask the user."


@pytest.mark.checklist(40)
@pytest.mark.parametrize(
    "text", ["It broke.", "check conflicts: intermute 500: internal error", "[NOT_FOUND] x", "7", ""]
)
def test_bare_prose_is_nothing(text: str) -> None:
    assert fw.parse(text) is None


@pytest.mark.checklist(39, 40)
def test_prose_in_a_failed_result_is_internal_and_legacy() -> None:
    error = fw.parse({"content": [{"type": "text", "text": "Disk full"}], "isError": True})
    assert isinstance(error, fw.Internal)
    assert (error.message, error.code, error.legacy, error.format, error.retryable, error.standing) == (
        "Disk full",
        None,
        True,
        "text",
        False,
        "quoted",
    )


@pytest.mark.checklist(39)
def test_json_without_a_known_form_in_a_failed_result_is_legacy_too() -> None:
    error = fw.parse({"content": [{"type": "text", "text": '{"error":"x"}'}], "isError": True})
    assert isinstance(error, fw.Internal)
    assert (error.message, error.legacy) == ('{"error":"x"}', True)


@pytest.mark.checklist(40)
def test_prose_named_as_such_is_internal_and_legacy() -> None:
    error = fw.parse("Disk full", format="text")
    assert isinstance(error, fw.Internal)
    assert (error.message, error.legacy, error.format) == ("Disk full", True, "text")


@pytest.mark.checklist(89)
@pytest.mark.parametrize("content", [[], [{"type": "image", "data": "", "mimeType": "image/png"}], [{"type": "text"}]])
def test_failed_result_without_text_is_still_a_failure(content: list[Any]) -> None:
    error = fw.parse({"content": content, "isError": True})
    assert isinstance(error, fw.Internal)
    assert (error.message, error.legacy) == ("The tool failed and gave no reason.", True)


def test_several_blocks_of_prose_are_one_message_with_its_white_space() -> None:
    blocks = [{"type": "text", "text": "  a "}, {"type": "text", "text": "b\n"}]
    error = fw.parse({"content": blocks, "isError": True})
    assert error is not None
    assert error.message == "  a \nb\n"


def test_question_names_what_to_ask_for() -> None:
    question = fw.NeedsInput("Which one", fields=["id", "kind"], suggestions={"id": [1, "b"]})
    assert fw.render(question, "text") == (
        "Which one. id can be: 1, b. Ask the user for id, kind, then call again with the answer."
    )


def test_losses_name_everything_prose_cannot_say() -> None:
    error = fw.ToolError("m", code="RATE_LIMITED", retry_after=3)
    assert set(fw.losses(error, "text")) >= {"code", "kind", "retryable", "retry_after"}
