"""Plain sentences that name the next action, and prose that is read as nothing more."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (fw.ToolError("It broke"), "It broke."),
        (fw.Internal("It broke"), "It broke. Do not call again; tell the user that it failed."),
        (fw.Invalid("amount must be positive"), "amount must be positive. Correct the arguments, then call again."),
        (fw.Denied("No access."), "No access. Ask the user; do not call again before they have changed it."),
        (fw.Transient("Busy."), "Busy. Wait 5 seconds, then make the same call again."),
        (fw.Transient("Busy!", retry_after=1.5), "Busy! Wait 1.5 seconds, then make the same call again."),
        (fw.NotFound("Gone.", suggestion="Call list."), "Gone. Call list."),
        (fw.NotFound("Gone", actions=["a.list", "b.list"]), "Gone. Call a.list or b.list."),
        (
            fw.NotFound("Gone.", actions=[{"tool": "a.list", "arguments": {"q": "x", "n": 2}}]),
            'Gone. Call a.list(q="x", n=2).',
        ),
        (fw.Denied("No.", next_steps=["Ask Ann", "Then retry."]), "No. Ask Ann. Then retry."),
        (
            fw.Invalid("Bad.", fields=[fw.FieldError(("email",), "Invalid email", "x", "an address")]),
            "Bad. email: Invalid email. You sent: 'x'. Expected: an address. Correct these arguments and call again.",
        ),
        (
            fw.Invalid(
                "Bad.",
                patch=[
                    fw.Patch("rename", ("limt",), to="limit"),
                    fw.Patch("set", ("a", "b"), 1),
                    fw.Patch("remove", ("c",)),
                ],
            ),
            "Bad. Call again with limit instead of limt, a.b=1, c left out.",
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


def test_suggestion_that_names_the_call_and_delay_is_not_repeated() -> None:
    error = fw.Transient(
        "Busy.", retry_after=30, suggestion="Wait 30 seconds, or call queue.show.", actions=["queue.show"]
    )
    assert fw.render(error, "text") == "Busy. Wait 30 seconds, or call queue.show."


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        ("unknown", "It is not known whether the call took effect; do not repeat it."),
        ("partial", "Part of it was done; do not repeat it as it is."),
        ("done", "The call took effect; do not repeat it."),
    ],
)
def test_call_that_may_have_had_an_effect_is_not_to_be_repeated(effect: str, sentence: str) -> None:
    verify = {"tool": "orders.get", "arguments": {"id": 7}}
    error = fw.ToolError("Timed out.", code="TIMEOUT", effect=effect, verify=verify, retry_after=3)
    assert fw.render(error, "text") == f"Timed out. {sentence} Check with orders.get(id=7) first."


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
    assert (error.message, error.code, error.legacy, error.format, error.retryable) == (
        "Disk full",
        None,
        True,
        "text",
        False,
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
