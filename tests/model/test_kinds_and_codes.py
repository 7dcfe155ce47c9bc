"""Which class an error is of, which code it has, and what follows from them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import failwell as fw
from failwell.model import Effect, FieldError, Kind, Severity, Strategy
from failwell.model.codes import find, humanize, upper_snake
from failwell.model.tool_error import DEFAULT_CODES, KIND_CLASSES

CLASSES = {
    Kind.NOT_FOUND: (fw.NotFound, "NOT_FOUND", "fix_and_retry", "none", LookupError),
    Kind.CONFLICT: (fw.Conflict, "CONFLICT", "fix_and_retry", "none", Exception),
    Kind.VALIDATION: (fw.Invalid, "VALIDATION_ERROR", "fix_and_retry", "none", ValueError),
    Kind.PERMISSION: (fw.Denied, "FORBIDDEN", "user_action_required", "none", PermissionError),
    Kind.TRANSIENT: (fw.Transient, "UNAVAILABLE", "retry_with_backoff", None, Exception),
    Kind.INTERNAL: (fw.Internal, "INTERNAL_ERROR", "report_and_abort", None, Exception),
}
kinds = pytest.mark.parametrize("kind", Kind)


@pytest.mark.checklist(1)
def test_there_are_six_kinds_and_no_more() -> None:
    assert [fw.ToolError("m", kind=kind).type for kind in Kind] == [
        "NOT_FOUND",
        "CONFLICT",
        "VALIDATION",
        "PERMISSION",
        "TRANSIENT",
        "INTERNAL",
    ]


@pytest.mark.checklist(254)
def test_the_closed_sets_hold_what_the_design_names() -> None:
    assert list(Strategy) == ["retry_with_backoff", "fix_and_retry", "user_action_required", "report_and_abort"]
    assert list(Severity) == ["warning", "error", "critical"]
    assert list(Effect) == ["none", "unknown", "partial", "done"]


@pytest.mark.parametrize("choice", [Kind, Strategy, Severity, Effect])
def test_a_choice_is_read_in_any_case_and_nothing_else(choice: Any) -> None:
    for member in choice:
        assert choice.of(member) is choice.of(member.value) is choice.of(member.value.upper()) is member
    assert [choice.of(value) for value in ("", "other", None, 1, [], b"error", object())] == [None] * 7


@pytest.mark.checklist(53)
@kinds
def test_each_kind_has_its_class_default_code_and_builtin_base(kind: Kind) -> None:
    cls, code, strategy, effect, base = CLASSES[kind]
    error = cls("m")
    assert (error.kind, error.code, error.strategy, error.effect) == (kind, code, strategy, effect)
    assert (error.retryable, error.recoverable) == (kind is Kind.TRANSIENT, kind is Kind.TRANSIENT)
    assert isinstance(error, base)
    assert (KIND_CLASSES[kind], DEFAULT_CODES[kind]) == (cls, code)
    with pytest.raises(base, match="m"):
        raise error


@kinds
def test_a_kind_given_to_tool_error_chooses_the_class_but_no_code(kind: Kind) -> None:
    for word in (kind, kind.value, kind.value.upper()):
        error = fw.ToolError("m", kind=word)
        assert (type(error), error.kind, error.code, error.info) == (CLASSES[kind][0], kind, None, None)
        assert (error.strategy, error.effect, error.retryable) == (*CLASSES[kind][2:4], kind is Kind.TRANSIENT)


def test_tool_error_alone_has_no_code_and_is_internal() -> None:
    error = fw.ToolError("m")
    assert (type(error), error.code, error.kind, error.title) == (fw.ToolError, None, Kind.INTERNAL, "Internal")


@pytest.mark.checklist(122, 184)
def test_a_known_code_chooses_class_retryable_and_strategy() -> None:
    error = fw.ToolError("m", code="x_rate_limited")
    assert (type(error), error.retryable, error.strategy, error.effect, error.title) == (
        fw.Transient,
        True,
        Strategy.RETRY,
        Effect.NONE,
        "X Rate Limited",
    )
    mine = fw.ToolError("m", code="InvoiceAlreadyPaid")
    assert (type(mine), mine.code, mine.info, mine.title) == (
        fw.ToolError,
        "InvoiceAlreadyPaid",
        None,
        "Invoice Already Paid",
    )


def test_a_given_kind_beats_the_codes_own() -> None:
    error = fw.ToolError("m", code="RATE_LIMITED", kind="conflict")
    assert (type(error), error.code, error.strategy, error.effect) == (
        fw.Conflict,
        "RATE_LIMITED",
        Strategy.FIX,
        Effect.NONE,
    )


@pytest.mark.checklist(184)
@pytest.mark.parametrize("code", [code for catalog in fw.catalogs.CATALOGS.values() for code in catalog], ids=str)
def test_retryable_is_always_the_catalogues_word(code: fw.Code) -> None:
    shipped = find(code.name)
    assert shipped is not None
    for kind in (None, *Kind):
        assert fw.ToolError("m", code=code.name, kind=kind).retryable is shipped.retryable
        assert code("m", kind=kind).retryable is code.retryable
    for cls in KIND_CLASSES.values():
        assert cls("m", code=code.name).retryable is shipped.retryable


def test_the_status_never_follows_from_the_code() -> None:
    assert [error.http_status for error in (fw.NotFound("m"), fw.catalogs.Core.CONFLICT("m"))] == [None, None]


def test_effects_follow_the_code_and_a_passed_one_wins() -> None:
    wanted = {"RATE_LIMITED": "none", "SERVER_BUSY": "none", "thread_partial_failure": "partial", "TIMEOUT": None, "INTERNAL_ERROR": None}  # fmt: skip
    assert {code: fw.ToolError("m", code=code).effect for code in wanted} == wanted
    assert fw.NotFound("m", effect="unknown").effect is Effect.UNKNOWN
    assert fw.Transient("m", code="RATE_LIMITED", effect="partial").effect is Effect.PARTIAL


class Plain(fw.ToolError):
    """A user's base class for errors of every kind."""


class Limited(fw.ToolError, code="RATE_LIMITED"):
    """A user's class named after a code of the catalogue."""


class Taken(fw.ToolError, kind="conflict", retry_after=5):
    """A user's class with a kind."""


class TakenName(Taken, code="NameTaken"):
    """A user's class below another."""


def test_a_subclass_passes_its_defaults_down() -> None:
    error = TakenName("m")
    assert (error.kind, error.code, error.retry_after) == (Kind.CONFLICT, "NameTaken", 5)
    assert TakenName("m", retry_after=9).retry_after == 9
    assert (Taken("m").code, fw.Conflict("m").retry_after) == (None, None)


def test_a_subclass_keeps_its_class_and_takes_the_kind_of_its_code() -> None:
    error = Limited("m")
    assert (type(error), error.kind, error.strategy, error.recoverable) == (
        Limited,
        Kind.TRANSIENT,
        Strategy.RETRY,
        True,
    )


def test_a_subclass_without_a_kind_takes_the_one_it_is_given() -> None:
    assert Plain("m").kind is Kind.INTERNAL
    assert Plain("m", code="NOT_FOUND").kind is Kind.NOT_FOUND
    assert Plain("m", kind="conflict").kind is Kind.CONFLICT
    assert Plain("m", kind="conflict").strategy is Strategy.FIX


def test_class_statement_defaults_give_way_to_arguments() -> None:
    assert Taken("m") == fw.ToolError("m", kind="conflict", retry_after=5)
    assert Taken("m", retry_after=1, code="Other") == fw.ToolError("m", kind="conflict", retry_after=1, code="Other")


def test_a_class_statement_may_set_the_severity() -> None:
    advisory: Any = type("Advisory", (fw.ToolError,), {}, severity="warning")
    assert (advisory("m").severity, advisory("m", severity="critical").severity) == (
        Severity.WARNING,
        Severity.CRITICAL,
    )


def test_a_class_statement_refuses_a_field_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match="has no field 'hint'"):
        type("Made", (fw.ToolError,), {}, hint="x")


def test_given_tells_what_was_stated_from_what_follows() -> None:
    error = fw.Transient("m", code="RATE_LIMITED", retry_after=3)
    names = ("code", "title", "severity", "recoverable", "strategy", "retry_after", "effect", "details", "message")
    assert [name for name in names if error.given(name)] == ["code", "severity", "retry_after", "message"]
    assert fw.error("m").given("severity") is False


@pytest.mark.checklist(110, 111, 112)
def test_error_takes_a_message_and_perhaps_a_code() -> None:
    assert fw.error("Something failed", code=None) == fw.ToolError("Something failed")
    assert fw.error("Gone", "NOT_FOUND") == fw.NotFound("Gone")
    assert "severity" not in fw.render(fw.error("m"), "xml") + fw.render(fw.required("f"), "xml")
    assert fw.render(fw.error("m"), "xml") == "<tool_error>\n  <message>m</message>\n</tool_error>"
    assert fw.render(fw.error("m", "X"), "xml") == '<tool_error code="X">\n  <message>m</message>\n</tool_error>'
    assert fw.to_result(fw.error("m"), "xml")["isError"] is True


@pytest.mark.checklist(113)
def test_required_says_which_argument_is_missing() -> None:
    assert fw.required("f") == fw.Invalid(
        'Required field "f" is missing.',
        code="MISSING_REQUIRED_FIELD",
        suggestion='Provide the "f" parameter and retry.',
        fields=[FieldError("f", "Required", rule="required")],
    )
    assert fw.required("f").given("severity") is False


def test_a_code_needs_only_its_kind() -> None:
    code = fw.Code("conflict", name="InvoiceAlreadyPaid")
    assert code == fw.Code(
        Kind.CONFLICT,
        "",
        name="InvoiceAlreadyPaid",
        title="Invoice Already Paid",
        retryable=False,
        strategy="fix_and_retry",
        effect="none",
    )
    assert (code.category, code.http_status, code.number, code.catalog, str(code)) == (
        None,
        None,
        None,
        "",
        "InvoiceAlreadyPaid",
    )
    assert fw.Code("transient").retryable is True


@pytest.mark.parametrize("kind", ["conflicts", "", None, 3])
def test_a_code_of_no_kind_is_refused_with_the_list_of_kinds(kind: Any) -> None:
    with pytest.raises(
        ValueError, match="use one of: not_found, conflict, validation, permission, transient, internal"
    ):
        fw.Code(kind)


def test_a_code_is_a_value() -> None:
    code = fw.catalogs.Core.NOT_FOUND
    for twin in (copy.copy(code), copy.deepcopy(code), pickle.loads(pickle.dumps(code))):
        assert (twin, hash(twin)) == (code, hash(code))
    with pytest.raises(AttributeError):
        code.retryable = True  # type: ignore[misc]


def test_a_code_builds_its_error() -> None:
    error = fw.catalogs.Core.RATE_LIMITED("Slow down.", retry_after=3)
    assert error == fw.Transient("Slow down.", code="RATE_LIMITED", retry_after=3)
    assert (type(error), error.info) == (fw.Transient, fw.catalogs.Core.RATE_LIMITED)


@pytest.mark.parametrize("name", ["NOT_FOUND", "NotFound", "not-found", "Not Found", "notFound"])
def test_other_spellings_of_a_shipped_code_count(name: str) -> None:
    error = fw.ToolError("m", code=name)
    assert (error.code, type(error)) == (name, fw.NotFound)


def test_find_is_strict_when_asked() -> None:
    assert find("NotFound", exact=True) is None
    assert find("not_found", exact=True) is fw.catalogs.Social.not_found
    assert find("NOT_FOUND") is fw.catalogs.Core.NOT_FOUND
    assert [find(name) for name in ("", None, "x" * 100_000, "Mine")] == [None] * 4


@pytest.mark.parametrize(
    ("name", "title", "snake"),
    [
        ("InvoiceAlreadyPaid", "Invoice Already Paid", "INVOICE_ALREADY_PAID"),
        ("invoice-already.paid", "Invoice Already Paid", "INVOICE_ALREADY_PAID"),
        ("HTTPError", "HTTP Error", "HTTP_ERROR"),
        ("x_api_error", "X API Error", "X_API_ERROR"),
        ("", "", ""),
    ],
)
def test_a_code_reads_as_a_title(name: str, title: str, snake: str) -> None:
    assert (humanize(name), upper_snake(name)) == (title, snake)
