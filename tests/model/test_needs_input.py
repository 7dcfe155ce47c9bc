"""`NeedsInput`: a question is a value like an error, and becomes one where questions are unknown."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from test_plain import ODD

import failwell as fw
from failwell.model import FieldError, Kind, Option

WHOLE: dict[str, Any] = {
    "fields": ["id", "version"],
    "reason": "There are several.",
    "suggestions": {"id": ["retry", "stream"]},
    "options": [{"label": "Retry", "value": "retry", "description": "The first", "field": "id"}, "stream"],
}


class Choose(fw.NeedsInput):
    """A user's own question, with a constructor of its own."""

    def __init__(self, what: str, *, among: list[str]) -> None:
        super().__init__(f"Which {what}?", fields=[what], suggestions={what: among})
        self.what = what


def whole() -> fw.NeedsInput:
    return fw.NeedsInput("Which pattern?", **WHOLE)


def test_every_field_comes_out_in_the_canonical_object() -> None:
    assert whole().to_dict() == {
        "failwell": 1,
        "outcome": "needs_input",
        "message": "Which pattern?",
        "fields": ["id", "version"],
        "reason": "There are several.",
        "suggestions": {"id": ["retry", "stream"]},
        "options": [
            {"label": "Retry", "value": "retry", "description": "The first", "field": "id"},
            {"label": "stream", "value": "stream"},
        ],
    }
    assert fw.NeedsInput("m").to_dict() == {"failwell": 1, "outcome": "needs_input", "message": "m"}


def test_every_field_can_be_read_back() -> None:
    question = whole()
    assert (question.message, question.fields, question.reason) == (
        "Which pattern?",
        ("id", "version"),
        "There are several.",
    )
    assert question.suggestions == {"id": ["retry", "stream"]}
    assert question.options == (Option("Retry", "retry", "The first", "id"), Option("stream", "stream"))
    assert str(question) == "Which pattern?"
    assert repr(question) == "NeedsInput('Which pattern?', fields=['id', 'version'])"


@pytest.mark.parametrize("name", ODD)
def test_no_value_of_any_field_makes_a_question_raise(name: str) -> None:
    raised = {}
    for field in ("message", "fields", "reason", "suggestions", "options", "notes", "format"):
        for value in (ODD[name], lambda: {"id": ODD[name]()}):
            try:
                question = fw.NeedsInput(**{field: value()})
                json.dumps(question.to_dict(), allow_nan=False, ensure_ascii=False).encode()
                assert repr(question)
                assert pickle.loads(pickle.dumps(question)) == copy.deepcopy(question) == question
                assert question.to_error().kind is Kind.VALIDATION
            except Exception as problem:
                raised[field] = problem
    assert raised == {}


def test_the_nearest_failure_names_the_fields_and_what_fits_them() -> None:
    assert whole().to_error() == fw.Invalid(
        "Which pattern?",
        code="VALIDATION_ERROR",
        fields=[
            FieldError(("id",), "There are several.", options=("retry", "stream")),
            FieldError(("version",), "There are several."),
        ],
        suggestion="Ask the user for id, version, then call again with the answer.",
    )
    assert fw.NeedsInput("m").to_error() == fw.Invalid("m", code="VALIDATION_ERROR")


def test_one_field_may_be_a_text() -> None:
    assert fw.NeedsInput("m", fields="id").fields == ("id",)
    assert fw.NeedsInput("m", suggestions={"id": "retry"}).suggestions == {"id": ["retry"]}


def test_questions_are_equal_when_they_ask_the_same() -> None:
    assert whole() == whole()
    assert hash(whole()) == hash(whole())
    assert fw.NeedsInput("m", notes=["n"], format="v1") == fw.NeedsInput("m")
    assert fw.NeedsInput("m") != fw.NeedsInput("n")
    assert fw.NeedsInput("m") != fw.NeedsInput("m", fields=["a"])
    assert fw.NeedsInput("m") != fw.ToolError("m")
    assert fw.NeedsInput("m") != "m"


@pytest.mark.parametrize("make", [whole, lambda: fw.NeedsInput("m", notes=["n"], format="v1")], ids=["whole", "parsed"])
def test_a_copy_asks_the_same(make: Any) -> None:
    question = make()
    twins = [copy.copy(question), copy.deepcopy(question)]
    twins += [pickle.loads(pickle.dumps(question, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for twin in twins:
        assert twin is not question
        assert (twin, twin.notes, twin.format, twin.args) == (question, question.notes, question.format, question.args)


def test_a_copied_subclass_keeps_its_class_and_attributes() -> None:
    question = Choose("id", among=["retry"])
    for twin in (copy.copy(question), copy.deepcopy(question), pickle.loads(pickle.dumps(question))):
        assert (type(twin), twin, twin.what) == (Choose, question, "id")


def test_changing_a_deep_copy_leaves_the_original_alone() -> None:
    question = whole()
    copy.deepcopy(question).suggestions["id"].append("more")
    assert question == whole()


def test_no_suggestions_for_a_field_are_as_good_as_none() -> None:
    question = fw.NeedsInput("Which?", fields=["id"], suggestions={"id": [], "category": ["errors"]})
    assert question.suggestions == {"category": ["errors"]}
    assert "id can be" not in fw.render(question)


def test_a_question_can_be_raised() -> None:
    with pytest.raises(fw.NeedsInput, match="Which pattern") as raised:
        raise whole()
    assert raised.value == whole()
