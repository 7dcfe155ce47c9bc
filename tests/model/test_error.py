"""`ToolError` as a value: fields in, fields out, and nothing that goes in makes it raise."""

from __future__ import annotations

import copy
import itertools
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from test_plain import ODD, Text

import failwell as fw
from failwell.model import Action, Conflicting, Effect, FieldError, Kind, Patch, Severity, Strategy
from failwell.model.fields import Fields

ALL_FIELDS = ("message", *Fields.__annotations__)
WHOLE: dict[str, Any] = {
    "code": "InvoiceAlreadyPaid",
    "kind": "conflict",
    "title": "Already Paid",
    "severity": "critical",
    "recoverable": True,
    "strategy": "user_action_required",
    "retry_after": 1.5,
    "reset_at": datetime(2026, 7, 28, 12, tzinfo=UTC),
    "suggestion": "Call invoices.get.",
    "next_steps": ["Look.", "Pay another."],
    "actions": ["invoices.list", {"tool": "invoices.get", "description": "See it", "arguments": {"id": "inv_1"}}],
    "fields": [{"path": ["items", 0], "message": "is paid", "sent": None, "options": ["inv_2"], "rule": "unpaid"}],
    "patch": [{"op": "set", "path": ["id"], "value": "inv_2"}],
    "conflicts": [{"agent_id": "a2", "pattern": "src/*", "held_by": "a2"}],
    "effect": "none",
    "verify": {"tool": "invoices.get", "arguments": {"id": "inv_1"}},
    "details": {"invoice": "inv_1"},
    "http_status": 409,
    "policy_decision": "denied",
    "tool": "invoices",
    "action": "pay",
    "tier": "advanced",
    "correlation_id": "req-1",
    "meta": {"elapsed_ms": 3},
    "origin": "peer",
    "format": "v1",
    "confidence": 0.5,
    "legacy": True,
    "notes": ["odd"],
    "debug": {"sql": "select"},
}
CANONICAL = {
    **{name: value for name, value in WHOLE.items() if name != "debug"},
    "failwell": 1,
    "message": "Invoice inv_1 is paid.",
    "retryable": False,
    "reset_at": "2026-07-28T12:00:00Z",
    "actions": [{"tool": "invoices.list"}, WHOLE["actions"][1]],
}


class InvoicePaid(fw.Conflict, code="InvoiceAlreadyPaid", suggestion="Pay another.", http_status=409):
    """A user's own error, with defaults in the class statement."""


class Overdrawn(fw.Denied):
    """A user's own error, with a constructor of its own."""

    def __init__(self, account: str, missing: int) -> None:
        super().__init__(f"{account} lacks {missing}.", code="Overdrawn", details={"missing": missing})
        self.account = account


class Shop(fw.Catalog, register=False):
    SOLD_OUT = fw.Code("conflict", "Nothing is left.", retryable=True)


def whole() -> fw.ToolError:
    return fw.ToolError("Invoice inv_1 is paid.", **WHOLE)


SAMPLES = {
    "bare": lambda: fw.ToolError("m"),
    "whole": whole,
    "not found": lambda: fw.NotFound("m"),
    "denied": lambda: fw.Denied("m", http_status=403),
    "user subclass": lambda: InvoicePaid("m"),
    "catalogue": lambda: Shop.SOLD_OUT("m", details={"sku": [1, {"a": None}]}),
    "error()": lambda: fw.error("m"),
    "parsed": lambda: fw.parse('{"kind":"toolError:v1","code":"Odd","message":"m","retryable":true}'),
}
sample = pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)


def fail_in_worker() -> None:
    raise InvoicePaid("Invoice inv_1 is paid.", details={"invoice": "inv_1"})


def test_every_field_comes_out_in_the_canonical_object() -> None:
    assert whole().to_dict() == CANONICAL
    assert json.loads(json.dumps(whole().to_dict())) == CANONICAL


def test_every_field_can_be_read_back() -> None:
    error = whole()
    assert (error.kind, error.severity, error.strategy, error.effect) == (
        Kind.CONFLICT,
        Severity.CRITICAL,
        Strategy.USER_ACTION,
        Effect.NONE,
    )
    for name in ("code", "title", "recoverable", "retry_after", "reset_at", "suggestion", "details", "http_status", "meta",
                 "policy_decision", "tool", "action", "tier", "correlation_id", "origin", "format", "confidence", "legacy",
                 "debug"):  # fmt: skip
        assert getattr(error, name) == WHOLE[name], name
    assert error.next_steps == ("Look.", "Pay another.")
    assert error.actions == (Action("invoices.list"), Action("invoices.get", "See it", {"id": "inv_1"}))
    assert error.fields == (FieldError(("items", 0), "is paid", None, options=("inv_2",), rule="unpaid"),)
    assert error.patch == (Patch("set", ("id",), "inv_2"),)
    assert error.conflicts == (Conflicting("a2", "src/*", "a2"),)
    assert error.verify == Action("invoices.get", arguments={"id": "inv_1"})
    assert error.notes == ("odd",)


@pytest.mark.parametrize("effect", ["unknown", "partial", "done"])
def test_of_a_call_that_may_have_been_done_nothing_invites_another(effect: str) -> None:
    wait = {"retry_after": 30, "reset_at": "2026-07-28T12:00:00Z"}
    error = fw.Transient("m", recoverable=True, strategy="retry_with_backoff", effect=effect, **wait)  # type: ignore[arg-type]
    assert error.to_dict() == {
        "failwell": 1,
        "code": "UNAVAILABLE",
        "kind": "transient",
        "message": "m",
        "title": "Unavailable",
        "severity": "error",
        "retryable": False,
        "recoverable": False,
        "strategy": "user_action_required",
        "effect": effect,
        **wait,
    }
    assert (error.may_repeat, error.retry_after, error.reset_at) == (False, None, None)
    assert error.replace(effect="none").to_dict() == {
        **error.to_dict(),
        "retryable": True,
        "recoverable": True,
        "strategy": "retry_with_backoff",
        "effect": "none",
    }
    assert error.replace(strategy="report_and_abort").strategy is Strategy.ABORT


def test_a_code_that_is_done_in_part_and_passes_means_the_rest() -> None:
    error = fw.ToolError("m", code="thread_partial_failure", retry_after=5)
    assert (error.may_repeat, error.retryable, error.retry_after) == (True, True, 5)
    assert [error.replace(effect=effect).retryable for effect in ("unknown", "done")] == [False, False]
    assert not fw.ToolError("m", code="PARTIAL_FAILURE").retryable


def test_standing_is_how_it_was_said_and_no_part_of_what_it_says() -> None:
    said = {standing: fw.Internal("m", standing=standing) for standing in (None, "stated", "quoted", "shouted")}
    assert [error.standing for error in said.values()] == [None, "stated", "quoted", None]
    assert said[None] == said["stated"] == said["quoted"]
    # Whoever passes a quoted error on must not make more of it than it was.
    assert [error.to_dict(provenance=False).get("standing") for error in said.values()] == [None, None, "quoted", None]


@pytest.mark.parametrize("error", [fw.NotFound("m"), fw.Conflict("m"), fw.Invalid("m"), fw.Denied("m"), fw.ToolError("m", code="RATE_LIMITED")])  # fmt: skip
def test_a_refusal_that_is_only_quoted_does_not_say_that_nothing_was_done(error: fw.ToolError) -> None:
    said = [error.replace(standing=standing).effect for standing in (None, "stated", "quoted")]
    assert said == [Effect.NONE, Effect.NONE, None]
    assert error.replace(standing="quoted", effect="none").effect is Effect.NONE


def test_what_is_empty_is_absent() -> None:
    empty = dict.fromkeys(set(WHOLE) - {"kind", "severity"})
    bare = {"failwell": 1, "kind": "internal", "message": "m", "severity": "error", "retryable": False, "recoverable": False, "strategy": "report_and_abort"}  # fmt: skip
    assert fw.ToolError("m", **empty).to_dict() == bare
    hollow = {"actions": [], "fields": (), "details": {}, "next_steps": [""], "suggestion": "", "meta": {}, "code": ""}
    assert fw.ToolError("m", **hollow).to_dict() == bare


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] if name == "bomb" else []) for name in ODD]
)
def test_no_value_of_any_field_makes_an_error_raise(name: str) -> None:
    raised = {}
    for field in ALL_FIELDS:
        try:
            error = fw.ToolError(**{"message": "m", field: ODD[name]()})
            json.dumps(error.to_dict(), allow_nan=False, ensure_ascii=False).encode()
            assert str(error)
            assert repr(error)
            assert pickle.loads(pickle.dumps(error)) == copy.deepcopy(error) == error
            if field not in ("kind", "cause"):
                setattr(error, field, ODD[name]())
                assert error.replace(**{field: ODD[name]()}) is not error
        except Exception as problem:
            raised[field] = problem
    assert raised == {}


@pytest.mark.checklist(126)
@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("severity", "fatal", Severity.ERROR),
        ("severity", 3, Severity.ERROR),
        ("severity", "WARNING", Severity.WARNING),
        ("kind", "Conflict", Kind.CONFLICT),
        ("kind", "nonsense", Kind.INTERNAL),
        ("strategy", "pray", Strategy.ABORT),
        ("recoverable", "yes", False),
        ("retry_after", 0, None),
        ("retry_after", -1, None),
        ("retry_after", float("nan"), None),
        ("retry_after", float("inf"), None),
        ("retry_after", timedelta(seconds=30), 30),
        ("retry_after", 30.0, 30),
        ("reset_at", 0, None),
        ("reset_at", "2026-07-28T14:00:00+02:00", datetime(2026, 7, 28, 12, tzinfo=UTC)),
        ("http_status", HTTPStatus.NOT_FOUND, 404),
        ("http_status", True, None),
        ("http_status", 99, None),
        ("http_status", 1000, None),
        ("http_status", "404", None),
        ("confidence", 2, None),
        ("origin", "elsewhere", None),
        ("legacy", "yes", False),
        ("code", 404, "404"),
        ("code", Text("Mine"), "Mine"),
        ("message", None, ""),
        ("message", b"bytes", "bytes"),
        ("message", ValueError("bad"), "bad"),
        ("next_steps", "one", ("one",)),
        ("details", [1], {"value": [1]}),
        ("verify", "invoices.get", Action("invoices.get")),
        ("verify", {}, None),
        ("cause", "not an exception", None),
    ],
)
def test_a_value_that_makes_no_sense_counts_as_not_given(field: str, value: object, wanted: object) -> None:
    assert getattr(fw.ToolError(**{"message": "m", field: value}), field) == wanted


@pytest.mark.parametrize("effect", ["completed", "unsure", "nope", True, 3])
def test_an_effect_that_nobody_understands_is_not_known(effect: Any) -> None:
    """The author says that something happened: the code's own word, that nothing was done, does not stand."""
    error = fw.Transient("Slow down.", code="RATE_LIMITED", effect=effect)
    assert (error.effect, error.retryable) == ("unknown", False)
    assert fw.NotFound("Gone.", effect=effect).effect == "unknown"


def test_an_unknown_field_is_refused_with_the_list_of_fields() -> None:
    with pytest.raises(TypeError, match="has no field 'hint'; it has: message, code, kind, title"):
        fw.ToolError("m", hint="x")  # type: ignore[call-arg]


@pytest.mark.checklist(184)
def test_retryable_cannot_be_passed_or_set() -> None:
    with pytest.raises(TypeError, match="retryable") as refused:
        fw.ToolError("m", retryable=True)  # type: ignore[call-arg]
    assert "wire_retryable" not in str(refused.value)
    with pytest.raises(AttributeError):
        fw.ToolError("m").retryable = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        fw.ToolError("m").replace(retryable=True)


@pytest.mark.checklist(11, 12, 13, 14)
def test_only_the_transient_are_recoverable_unless_told_otherwise() -> None:
    kinds = {kind: fw.ToolError("m", kind=kind).recoverable for kind in Kind}
    assert kinds == {kind: kind is Kind.TRANSIENT for kind in Kind}
    assert fw.Conflict("2 conflicts", recoverable=True, conflicts=["a2"]).recoverable is True
    assert fw.Transient("m", recoverable=False).recoverable is False


@pytest.mark.checklist(123, 124, 125, 126)
def test_only_a_warning_is_no_error() -> None:
    assert [fw.ToolError("m", severity=word).is_error for word in ("warning", "error", "critical", "odd")] == [
        False,
        True,
        True,
        True,
    ]
    assert fw.ToolError("m").severity is Severity.ERROR
    assert fw.to_result(fw.ToolError("m", severity="warning"), "xml")["isError"] is False
    said = (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
    assert "any other word counts as `error`" in said


@pytest.mark.checklist(20, 22)
@pytest.mark.parametrize("message", ["gone", "100% of {it}", "%s %d %(x)s {0} {x!r}", "", "line\nbreak", "é😀"])
def test_a_message_comes_out_as_it_went_in(message: str) -> None:
    error = fw.NotFound(message)
    assert (error.message, error.args, str(error)) == (message, (message,), f"[NOT_FOUND] {message}")
    assert repr(error) == f"NotFound({message!r}, code='NOT_FOUND')"


@pytest.mark.checklist(188)
def test_policy_decision_is_absent_unless_set() -> None:
    assert fw.Denied("m", policy_decision="routed_to_approval").to_dict()["policy_decision"] == "routed_to_approval"
    assert "policy_decision" not in fw.Denied("m").to_dict()


def test_debug_and_cause_stay_out_of_the_canonical_object() -> None:
    cause = KeyError("secret")
    error = fw.Internal("m", debug={"trace": "secret"}, cause=cause)
    assert (error.cause, error.__cause__, error.debug) == (cause, cause, {"trace": "secret"})
    assert "secret" not in json.dumps(error.to_dict())
    assert error == fw.Internal("m")


def test_repr_shows_what_was_given() -> None:
    error = fw.Transient("m", code="RATE_LIMITED", retry_after=30, severity="critical", notes=["n"])
    shown = "Transient('m', code='RATE_LIMITED', retry_after=30, severity=<Severity.CRITICAL: 'critical'>)"
    assert repr(error) == shown
    assert repr(fw.ToolError("m")) == "ToolError('m')"


@sample
def test_a_copy_says_the_same(make: Any) -> None:
    error = make()
    for twin in (copy.copy(error), copy.deepcopy(error), error.replace()):
        assert twin is not error
        assert (type(twin), twin, hash(twin), repr(twin)) == (type(error), error, hash(error), repr(error))
        assert (twin.info, twin.retryable, twin.args) == (error.info, error.retryable, error.args)


@sample
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_error_says_the_same(make: Any, protocol: int) -> None:
    error = make()
    twin = pickle.loads(pickle.dumps(error, protocol))
    assert (type(twin), twin, repr(twin)) == (type(error), error, repr(error))
    assert (twin.to_dict(), twin.info, twin.debug, twin.args) == (error.to_dict(), error.info, error.debug, error.args)


def test_an_error_comes_back_from_another_process() -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool, pytest.raises(InvoicePaid) as raised:
        pool.submit(fail_in_worker).result()
    assert raised.value == InvoicePaid("Invoice inv_1 is paid.", details={"invoice": "inv_1"})


def test_a_subclass_may_have_its_own_constructor() -> None:
    error = Overdrawn("acc_1", missing=5)
    assert (str(error), error.account, error.details) == ("[PERMISSION] acc_1 lacks 5.", "acc_1", {"missing": 5})
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(twin), twin, twin.account) == (Overdrawn, error, "acc_1")


def test_a_subclass_constructor_may_take_several_positional_arguments() -> None:
    assert Overdrawn("acc_1", 5).message == "acc_1 lacks 5."


def test_changing_a_deep_copy_leaves_the_original_alone() -> None:
    error = fw.ToolError("m", details={"a": {"b": 1}})
    copy.deepcopy(error).details["a"]["b"] = 2
    assert error.details == {"a": {"b": 1}}


def test_changing_what_was_passed_in_leaves_the_error_alone() -> None:
    details = {"a": [1]}
    error = fw.ToolError("m", details=details)
    details["a"].append(2)
    assert error.details == {"a": [1]}


def test_errors_are_equal_when_they_say_the_same() -> None:
    same = fw.ToolError("m", kind="not_found", code="NOT_FOUND")
    assert same == fw.NotFound("m") == fw.NotFound("m", origin="peer", format="v1", debug=1, notes=["n"], confidence=1)
    assert hash(same) == hash(fw.NotFound("m"))
    assert fw.error("m") == fw.ToolError("m")
    assert fw.NotFound("m", title="Not Found") == same
    assert same != "m"
    others = [fw.NotFound("other"), fw.Conflict("m"), fw.NotFound("m", code="x"), fw.NotFound("m", severity="warning"),
              fw.NotFound("m", title="Gone"), fw.NotFound("m", effect="done"), fw.NotFound("m", details={"a": 1})]  # fmt: skip
    assert all(one != two for one, two in itertools.combinations([same, *others], 2))


def test_replace_changes_a_copy() -> None:
    error = InvoicePaid("m", retry_after=3)
    changed = error.replace(message="n", retry_after=None, kind="transient")
    assert (changed.message, changed.retry_after, type(changed), changed.args) == ("n", None, fw.Transient, ("n",))
    assert (error.message, error.retry_after, error.kind) == ("m", 3, Kind.CONFLICT)
    cause = KeyError("k")
    assert error.replace(cause=cause).cause is cause


@pytest.mark.checklist(28)
def test_details_are_merged_or_replaced() -> None:
    error = fw.NotFound("Gone.", details={"a": 1}).note("odd")
    error = error.replace(details={**error.details, "b": 2, "c": 3})
    assert error == fw.NotFound("Gone.", details={"a": 1, "b": 2, "c": 3})
    assert error.notes == ("odd",)
    error.details = {"d": 4}
    assert error.details == {"d": 4}
    assert '<detail key="d">4</detail>' in fw.render(error, "xml")


def test_what_follows_cannot_be_set() -> None:
    error = fw.NotFound("Gone.")
    with pytest.raises(AttributeError, match="retryable of NotFound follows from the rest"):
        error.retryable = True  # type: ignore[misc]
    with pytest.raises(AttributeError, match="kind"):
        error.kind = "conflict"  # type: ignore[assignment]
    assert not error.retryable


def test_what_follows_changes_with_what_it_follows_from() -> None:
    error = fw.Transient("Busy.", retry_after=5)
    assert (error.retryable, error.retry_after, error.strategy) == (True, 5, "retry_with_backoff")
    error.effect = "unknown"
    assert (error.retryable, error.retry_after, error.strategy) == (False, None, "user_action_required")
    error.effect = None
    error.code = "TLS_ERROR"
    assert (error.retryable, error.retry_after, error.title) == (False, 5, "TLS Error")
    assert error.replace(kind="conflict").kind == "conflict"


def test_fields_in_the_body_of_a_class_are_defaults_as_well() -> None:
    class Paid(fw.Conflict):
        code = "PAID"
        suggestion = "Look at the invoice."

        def __init__(self, invoice: str) -> None:
            super().__init__(f"{invoice} is paid.")
            self.invoice = invoice

        @property
        def title(self) -> str:  # type: ignore[override]
            return "Paid Already"

    class Odd(fw.ToolError):
        kind = "validation"  # type: ignore[assignment]

    error = Paid("inv_1")
    assert error.to_dict() | {"code": "PAID", "suggestion": "Look at the invoice."} == error.to_dict()
    assert error.title == "Paid Already"
    assert Odd("m").kind == "validation"
    # What whoever raised it has put on it stays on every copy.
    for copied in (error.replace(message="m"), error.replace(code="OTHER"), copy.copy(error), copy.deepcopy(error)):
        assert copied.invoice == "inv_1"


def test_a_copy_keeps_nothing_of_what_followed_from_what_was_changed() -> None:
    error = fw.Transient("Busy.", retry_after=5, details={"a": 1})
    assert error.retryable
    other = error.replace(effect="unknown")
    assert (other.retryable, other.retry_after) == (False, None)
    same = error.replace(message="m")
    same.details["b"] = 2
    assert (dict(error.details), same.to_dict()["details"]) == ({"a": 1}, {"a": 1, "b": 2})
    assert error.replace(details=None).details == {}
