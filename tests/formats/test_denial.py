"""Authorization denials as SEP-2643 drafts them: what they say, and that no garbage under their key does harm."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.formats import denial

DENIED = {
    "reason": "insufficient_authorization",
    "remediation": "available",
    "authorizationContextId": "authzctx_7c5d1d79",
}
RAR = {
    "type": "authorization_remediation",
    "authorization_details": [
        {"type": "payment_initiation", "instructedAmount": {"currency": "EUR", "amount": "123.50"}}
    ],
}


def load(data: object, message: str = "") -> fw.ToolError:
    found = denial.load(data, message)
    assert found is not None
    return found


def test_the_keys_are_those_of_the_draft() -> None:
    assert denial.META_KEY == "io.modelcontextprotocol/authorization"
    assert denial.CONTEXT_KEY == "io.modelcontextprotocol/authorization-context-id"


@pytest.mark.parametrize(
    ("told", "strategy", "words"),
    [
        ("available", "user_action_required", "Ask the user"),
        ("undisclosed", "user_action_required", "Ask the user"),
        ("unavailable", "report_and_abort", "no way to get access"),
    ],
)
def test_a_denial_is_a_refusal_before_anything_was_done(told: str, strategy: str, words: str) -> None:
    found = load({**DENIED, "remediation": told}, "You do not have access to this workspace.")
    assert found.to_dict() == {
        "failwell": 1,
        "code": "FORBIDDEN",
        "kind": "permission",
        "message": "You do not have access to this workspace.",
        "title": "Forbidden",
        "severity": "error",
        "retryable": False,
        "recoverable": False,
        "strategy": strategy,
        "suggestion": found.suggestion,
        "effect": "none",
        "details": {**DENIED, "remediation": told},
        "origin": "peer",
        "format": "denial",
    }
    assert words in (found.suggestion or "")
    assert fw.decide(found).next == ("ask" if strategy == "user_action_required" else "give_up")
    assert not fw.decide(found).doubtful


def test_hints_become_what_to_do_next() -> None:
    found = load({**DENIED, "remediationHints": [{"type": "url"}, {"type": "ciba", "x": 1}, RAR, {"type": "url"}]})
    assert found.suggestion is not None
    assert "approve it on the page" in found.suggestion
    assert len(found.next_steps) == 1
    assert "new credential" in found.next_steps[0]
    assert found.details["remediationHints"] == [{"type": "url"}, {"type": "ciba", "x": 1}, RAR, {"type": "url"}]
    assert "follow the task" in (load({**DENIED, "remediationHints": [{"type": "task"}]}).suggestion or "")


def test_hints_that_are_not_known_or_not_allowed_say_nothing() -> None:
    assert load({**DENIED, "remediationHints": [{"type": "ciba"}]}).suggestion == load(DENIED).suggestion
    final = load({**DENIED, "remediation": "unavailable", "remediationHints": [{"type": "url"}]})
    assert "remediationHints" not in final.details
    assert final.notes == ("The peer gave hints, which the remediation unavailable rules out.",)


def test_a_denial_without_a_text_has_words_of_its_own() -> None:
    assert load(DENIED).message == "The call was refused: insufficient authorization."
    assert load(DENIED, "  ").message == "The call was refused: insufficient authorization."


@pytest.mark.parametrize(
    ("error", "wire"),
    [
        (fw.Denied("No."), {"reason": "insufficient_authorization", "remediation": "undisclosed"}),
        (
            fw.ToolError("No.", code="POLICY_DENIED"),
            {"reason": "insufficient_authorization", "remediation": "unavailable"},
        ),
        (fw.Denied("No.", details={"remediationHints": [{"type": "url"}], "authorizationContextId": "c1"}),
         {"reason": "insufficient_authorization", "remediation": "available", "authorizationContextId": "c1",
          "remediationHints": [{"type": "url"}]}),
        (fw.Denied("No.", details={"remediation": "maybe", "authorizationContextId": 7, "remediationHints": "x"}),
         {"reason": "insufficient_authorization", "remediation": "undisclosed"}),
    ],
)  # fmt: skip
def test_a_refusal_is_written_as_a_denial(error: fw.ToolError, wire: dict[str, Any]) -> None:
    assert denial.dump(error) == wire


@pytest.mark.parametrize(
    "error",
    [
        fw.NotFound("No."),
        fw.Transient("No."),
        fw.ToolError("No."),
        # Something may have been done: the draft forbids it then.
        fw.Denied("No.", effect="partial"),
        fw.Denied("No.", effect="unknown"),
        fw.Denied("No.", legacy=True),
    ],
    ids=str,
)
def test_what_is_no_denial_or_may_have_done_something_is_not_written_as_one(error: fw.ToolError) -> None:
    assert denial.dump(error) is None


@pytest.mark.parametrize(
    "wire",
    [
        DENIED,
        {**DENIED, "remediation": "unavailable"},
        {**DENIED, "remediationHints": [RAR, {"type": "task"}]},
        {"reason": "step_up", "remediation": "undisclosed"},
    ],
)
def test_what_was_read_is_written_the_same(wire: dict[str, Any]) -> None:
    assert denial.dump(load(wire, "No.")) == wire
    assert denial.dump(load(json.loads(json.dumps(wire)), "No.")) == wire


class Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def __len__(self) -> int:
        return 1


NAMES: list[Any] = [None, "", 7, [], {}, "x" * 501]
WORDS: list[Any] = [None, "", "AVAILABLE", True, ["available"], {"a": 1}]
HINTS: list[Any] = [None, "url", 7, {"type": "url"}, [None, 7, "url", {}, {"type": 7}], [[]]]
CYCLE: dict[str, Any] = {**DENIED}
CYCLE["remediationHints"] = [{"type": "url", "self": CYCLE}]


@pytest.mark.parametrize(
    "data",
    [
        *(None, "x", 7, [], {}, {"reason": "x"}, {"remediation": "available"}, Broken()),
        *({**DENIED, "reason": bad} for bad in NAMES),
        *({**DENIED, "remediation": bad} for bad in WORDS),
    ],
    ids=lambda data: type(data).__name__,
)
def test_garbage_is_no_denial(data: object) -> None:
    assert denial.load(data, "No.") is None


@pytest.mark.parametrize(
    "more",
    [
        *({"authorizationContextId": bad} for bad in NAMES),
        *({"remediationHints": bad} for bad in HINTS),
    ],
)
def test_garbage_in_a_denial_is_left_out(more: dict[str, Any]) -> None:
    base = {"reason": "insufficient_authorization", "remediation": "available"}
    assert load({**base, **more}).details == base


def test_an_object_that_holds_itself_is_read() -> None:
    assert load(CYCLE).kind == "permission"
    json.dumps(load(CYCLE).to_dict())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "url", "x"]), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "reason": JSON | st.just("insufficient_authorization"),
            "remediation": JSON | st.sampled_from(["available", "unavailable", "undisclosed"]),
            "authorizationContextId": JSON,
            "remediationHints": JSON
            | st.lists(st.fixed_dictionaries({"type": JSON | st.sampled_from(["url", "task"])})),
        },
    ),
    JSON,
)
def test_anything_under_the_key_is_read_or_left(data: dict[str, Any], message: Any) -> None:
    found = denial.load(data, message)
    if found is not None:
        assert (found.kind, found.retryable, found.effect) == ("permission", False, "none")
        wire = denial.dump(found)
        assert wire is not None
        assert denial.dump(load(wire, found.message)) == wire
        fw.render(found, "canonical")
