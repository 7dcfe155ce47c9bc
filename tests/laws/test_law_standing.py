"""Law 5 over everything that can be said of a failure: who may act on it, what the words say, and that all agree.

The oracle is the law as the design has it, and knows nothing of how `decide` comes to its answer.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import EVERY_CODE, denies_its_code, in_doubt, json_values, noted

import failwell as fw
from failwell import Policy
from failwell.formats import META_KEY, to_wire
from failwell.model import Effect, Kind, Nature, Next, Patch, Strategy, Traits
from failwell.readers import classify
from failwell.readers.failure_reader import Http, read

WIRES = ("typed", "v1", "xml", "envelope", "jsonrpc", "problem", "canonical")
FLAGGED = ("v1", "envelope", "problem")
"""The forms whose own flag says whether the call may be made again."""
MOMENT = "2026-03-01T12:00:00Z"

_hint = st.sampled_from((None, True, False))
tools = st.builds(Traits, st.sampled_from((None, "pay", "get_weather")), _hint, _hint, _hint, st.booleans())
names = st.sampled_from((*(code.name for code in EVERY_CODE), "InvoiceAlreadyPaid", None))
errors = st.builds(
    lambda code, **given: noted(fw.ToolError("It failed.", code=code, **given)),
    names,
    kind=st.sampled_from((None, *Kind)),
    effect=st.sampled_from((None, *Effect)),
    strategy=st.sampled_from((None, *Strategy)),
    recoverable=_hint,
    retry_after=st.sampled_from((None, 5)),
    reset_at=st.sampled_from((None, MOMENT)),
    conflicts=st.sampled_from((None, ["a2"])),
    verify=st.sampled_from((None, {"tool": "get_invoice", "arguments": {"id": 7}})),
    patch=st.sampled_from((None, [Patch("set", ("a",), 1)])),
    actions=st.sampled_from((None, ["list_invoices"])),
    fields=st.sampled_from((None, {"amount": "must be positive"})),
    tool=st.sampled_from((None, "pay")),
    severity=st.sampled_from(("error", "critical", "warning")),
)
said = st.fixed_dictionaries(
    {},
    optional={
        "standing": st.sampled_from(("stated", "quoted")),
        "delivery": st.sampled_from(("never_sent", "refused", "unanswered", "answered")),
        "origin": st.sampled_from(("peer", "local")),
        "legacy": st.booleans(),
        "format": st.sampled_from(WIRES),
    },
)
deliveries: st.SearchStrategy[Any] = st.sampled_from((None, "never_sent", "refused", "unanswered", "answered"))


def is_repeatable(tool: Traits, trusted: bool) -> bool:
    if trusted and tool.nature is Nature.NAMED_READ:
        return True
    reads = tool.read_only is True and tool.destructive is not True
    return (trusted or tool.told) and (reads or tool.idempotent is True)


def is_permitted(error: fw.ToolError, delivery: str | None, flag: bool | None = None) -> bool:
    """Whether a tool that is not repeatable may be called a second time. `flag` is what the form itself said."""
    delivery = delivery or error.delivery
    if delivery in ("never_sent", "refused"):
        return True
    if delivery == "unanswered" or error.standing == "quoted" or error.legacy:
        return False
    if error.effect is not None:
        return error.effect is Effect.NONE
    if error.origin == "local":
        return False
    return error.retryable or error.strategy is Strategy.FIX


def is_second_call(decision: fw.Decision) -> bool:
    """Whether a program that follows the decision calls the same tool again."""
    if decision.unproven or decision.doubtful:
        return False
    return decision.next in (Next.RETRY, Next.FIX, Next.NEGOTIATE)


def check(error: fw.ToolError, tool: Traits, delivery: Any, trusted: bool, flag: bool | None = None) -> None:
    decision = fw.decide(error, tool=tool, delivery=delivery, policy=Policy(trust_annotations=trusted))
    if is_repeatable(tool, trusted) or not is_second_call(decision):
        return
    if error.effect is Effect.PARTIAL and decision.next is Next.FIX:
        # What was done in part is not made again: the patch asks for the rest.
        assert decision.patch == error.patch != ()
        return
    assert is_permitted(error, delivery, flag), (decision, error.to_dict())


@given(errors, said, tools, deliveries, st.booleans())
def test_a_second_call_of_a_write_needs_a_permission_or_a_proof(
    error: fw.ToolError, how: dict[str, Any], tool: Traits, delivery: Any, trusted: bool
) -> None:
    check(error.replace(**how), tool, delivery, trusted)


def flag_of(wire: Any) -> bool | None:
    """What a form says outright about making the call again."""
    if not isinstance(wire, dict):
        return None
    found = wire.get("error", wire) if "success" in wire else wire
    flag = found.get("retryable")
    return flag if isinstance(flag, bool) else None


def results(error: fw.ToolError, format: str, carry: bool) -> list[dict[str, Any]]:
    """The ways in which a form arrives in a result: as the answer, as structured content, and behind words."""
    text = fw.render(error, format, carry=carry, guard=None)
    found: list[dict[str, Any]] = [
        {"content": [{"type": "text", "text": text}], "isError": True},
        {"content": [{"type": "text", "text": text}], "isError": False},
        {
            "content": [{"type": "text", "text": "The webhook answered:"}, {"type": "text", "text": text}],
            "isError": True,
        },
        {"content": [{"type": "text", "text": f"Error executing tool pay: {text}"}], "isError": True},
    ]
    if format != "xml":
        found.append({"content": [], "structuredContent": json.loads(text), "isError": True})
    return found


@given(errors, said, st.sampled_from(WIRES), st.booleans(), tools, deliveries, st.booleans())
def test_so_does_one_after_a_failure_that_came_over_a_wire(
    error: fw.ToolError, how: dict[str, Any], format: str, carry: bool, tool: Traits, delivery: Any, trusted: bool
) -> None:
    sent = error.replace(**how)
    flag = flag_of(to_wire(sent, format, guard=None))
    for number, result in enumerate(results(sent, format, carry)):
        back = fw.parse(result)
        if not isinstance(back, fw.ToolError):
            continue
        # A whole `toolError:v1` counts without `isError`, as its contract says; only `read` is more careful with it.
        if number in (1, 2, 3) and back.is_error and (number, format) != (1, "v1"):
            assert back.standing == "quoted"
        check(back, tool, delivery, trusted, flag)
    if sent.standing == "quoted" and format in ("canonical", "problem"):
        # No relay makes more of it than it was.
        back = fw.parse(results(sent, format, carry)[0])
        assert isinstance(back, fw.ToolError)
        assert back.standing == "quoted"


@given(errors, said, st.sampled_from((*WIRES, "text")), tools, deliveries, st.booleans())
def test_so_does_one_after_a_failure_in_the_metadata(
    error: fw.ToolError, how: dict[str, Any], format: str, tool: Traits, delivery: Any, trusted: bool
) -> None:
    sent = error.replace(**how)
    result = fw.to_result(sent, format, guard=None)
    back = fw.parse(result)
    assert isinstance(back, fw.ToolError)
    check(back, tool, delivery, trusted)
    if back.is_error and not denies_its_code(sent):
        assert back.standing == ("quoted" if sent.standing == "quoted" else "stated")
    forged = fw.parse({**result, "isError": False})
    assert isinstance(forged, fw.ToolError)
    if forged.is_error:
        assert forged.standing == "quoted"
        check(forged, tool, delivery, trusted)
        assert read({**result, "isError": False}) is None


INVITATION = re.compile(r"\b(?:again|retry|retries)\b", re.IGNORECASE)
PROHIBITION = re.compile(r"\b(?:do not|don't|must not)\b", re.IGNORECASE)
FIX_FIELDS = "Fix the fields above and call the tool again. Do not explain the error."
"""Contract 002's own sentence, to the letter: what it forbids is talk, not the call."""
GIVE_UP = "Do not call it again."
"""A prohibition as a whole, whose "again" invites nobody."""


def words(error: fw.ToolError) -> dict[str, str]:
    """What we write for a model to read, by where it stands."""
    found = {"text": fw.render(error, "text", guard=None)}
    recovery = re.search(r"<recovery>(.*?)</recovery>", fw.render(error, "xml", guard=None), re.DOTALL)
    found["xml"] = recovery[1] if recovery else ""
    for actionable in (False, True):
        data = to_wire(error, "jsonrpc", guard=None, actionable=actionable)["data"]
        found[f"jsonrpc {actionable}"] = data.get("suggestion", "")
    return found


@given(errors, said)
def test_no_text_invites_and_forbids(error: fw.ToolError, how: dict[str, Any]) -> None:
    error = error.replace(**how)
    for place, text in words(error).items():
        forbids, told = GIVE_UP in text, text.replace(GIVE_UP, "")
        invites = INVITATION.search(told) is not None
        if told != FIX_FIELDS:
            assert not (invites and (forbids or PROHIBITION.search(told))), (place, text)
        if error.effect in (Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE) and error.is_error:
            assert not invites, (place, told)
            assert "done" in told or place.startswith("jsonrpc"), (place, told)


@given(errors)
def test_one_truth_on_every_wire(error: fw.ToolError) -> None:
    wires = {format: to_wire(error, format, guard=None) for format in WIRES}
    doubtful = in_doubt(error)
    assert error.may_repeat is not doubtful
    said = {
        "retryable": error.retryable,
        "v1": wires["v1"]["retryable"],
        "envelope": wires["envelope"]["error"]["retryable"],
        "canonical": wires["canonical"]["retryable"],
        "problem": wires["problem"]["retryable"],
    }
    means_the_rest = error.code == "thread_partial_failure" and error.effect is Effect.PARTIAL
    if means_the_rest:
        # Only in the form of the contract that says so, and in ours, which have the code.
        assert said.pop("v1") is not error.is_error
    assert len(set(said.values())) == 1, said
    recoverable = {wires["typed"]["recoverable"], error.recoverable}
    assert len(recoverable) == 1 or means_the_rest
    if not doubtful or not error.is_error:
        return
    assert not any(said.values())
    assert wires["typed"]["recoverable"] is False
    assert wires["jsonrpc"]["data"]["recovery_strategy"] in ("user_action_required", "report_and_abort")
    for format in ("xml", "envelope"):
        # The others have an open map, where a delay stands as a fact beside the flag that forbids.
        assert not re.search(r"retry_?after|reset_at|rate_limit_reset", json.dumps(wires[format]), re.IGNORECASE)
    for format in WIRES:
        back = fw.parse(fw.render(error, format, guard=None))
        assert isinstance(back, fw.ToolError)
        for seen in (error, back):
            # Contract 000 has no word for the effect of a conflict that somebody holds.
            if not (seen is back and format == "typed" and error.kind is Kind.CONFLICT):
                assert fw.decide(seen, tool="pay").next not in (Next.RETRY, Next.NEGOTIATE), format


FORMS: dict[str, Any] = {
    "typed": lambda code, kind, flag, key: {"type": kind.upper(), "message": "m", "recoverable": flag, "data": key},
    "v1": lambda code, kind, flag, key: {
        "kind": "toolError:v1",
        "code": code,
        "message": "m",
        "retryable": flag,
        "details": key,
    },
    "envelope": lambda code, kind, flag, key: {
        "success": False,
        "data": None,
        "error": {"code": code, "message": "m", "retryable": flag},
        "meta": key,
    },
    "jsonrpc": lambda code, kind, flag, key: {
        "code": -32000,
        "message": "M",
        "data": {"mcp_error_code": code, "details": "m", **key},
    },
    "xml": lambda code, kind, flag, key: (
        f'<tool_error code="{code}" severity="error"><message>m</message>'
        + "".join(f'<details><detail key="{name}">{_escaped(value)}</detail></details>' for name, value in key.items())
        + "</tool_error>"
    ),
}


def _escaped(value: Any) -> str:
    return json.dumps(value).replace("&", "&amp;").replace("<", "&lt;")


bold = st.fixed_dictionaries(
    {},
    optional={
        "code": st.one_of(names, st.just("Mine")),
        "kind": st.sampled_from((*Kind, "nonsense")),
        "retryable": st.booleans(),
        "recoverable": st.booleans(),
        "strategy": st.sampled_from(list(Strategy)),
        "effect": st.sampled_from((*Effect, None)),
        "retry_after": st.sampled_from((0.5, 5)),
        "reset_at": st.just(MOMENT),
        "standing": st.sampled_from(("stated", "quoted")),
        "legacy": st.booleans(),
        "severity": st.sampled_from(("error", "warning")),
        "message": st.just("other"),
        "origin": st.just("local"),
        "delivery": st.just("never_sent"),
        "format": st.sampled_from(WIRES),
        "wire_retryable": st.booleans(),
    },
)
spoken = st.sampled_from((*(code.name for code in EVERY_CODE if "<" not in code.name), "Mine"))


@given(st.sampled_from(sorted(FORMS)), spoken, st.sampled_from(list(Kind)), st.booleans(), st.one_of(bold, json_values))
@example("typed", "X", Kind.INTERNAL, False, {"code": "Mine", "retryable": True, "reset_at": MOMENT})
@example("v1", "Mine", Kind.INTERNAL, False, {"kind": "transient", "retryable": True, "retry_after": 5})
@example("jsonrpc", "OUTCOME_UNKNOWN", Kind.INTERNAL, False, {"code": "RATE_LIMITED", "effect": "none"})
@example("v1", "Mine", Kind.INTERNAL, False, {"strategy": "fix_and_retry", "patch": [{"op": "remove", "path": ["a"]}]})
@example("typed", "X", Kind.INTERNAL, False, {"effect": "none", "strategy": "retry_with_backoff"})
@example("xml", "IDEMPOTENCY_UNFINISHED", Kind.INTERNAL, False, {"effect": "none", "standing": "stated"})
def test_what_is_carried_is_never_bolder_than_its_form(
    format: str, code: str, kind: Kind, flag: bool, carried: Any
) -> None:
    form = fw.parse(FORMS[format](code, kind.value, flag, {}))
    whole = fw.parse(FORMS[format](code, kind.value, flag, {"failwell": carried}))
    assert isinstance(form, fw.ToolError)
    assert isinstance(whole, fw.ToolError)
    assert (whole.format, whole.origin, whole.delivery) == (format, "peer", None)
    assert whole.standing in (None, "quoted")
    if in_doubt(form):
        assert in_doubt(whole)
    # What a form says in its own words stands: typed says recoverable, two have the flag, and a known code has its own.
    if format == "typed":
        assert whole.recoverable <= form.recoverable
    elif format in FLAGGED or form.info is not None:
        assert whole.retryable <= form.retryable
    # What only the carried fields permit is quoted, so that no program acts on it.
    permits = form.retryable or form.effect is Effect.NONE or form.strategy in (Strategy.RETRY, Strategy.FIX)
    if not permits:
        decision = fw.decide(whole.replace(standing=whole.standing or "stated"), tool="pay")
        assert not is_second_call(decision) or whole.effect is Effect.PARTIAL


CONTRADICTED = "Two errors in one result contradict each other; the more careful one counts."


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize("effect", ["unknown", "partial", "done"])
@pytest.mark.parametrize("wire", [
    {"failwell": 1, "kind": "transient", "code": "RATE_LIMITED", "message": "m", "retryable": True, "recoverable": True,
     "strategy": "retry_with_backoff", "retry_after": 1},
    {"type": "urn:failwell:code:RATE_LIMITED", "title": "T", "detail": "m", "retryable": True, "retry_after": 1},
], ids=["canonical", "problem"])  # fmt: skip
def test_a_failure_that_contradicts_itself_is_read_carefully(wire: dict[str, Any], effect: str) -> None:
    result = {"content": [block("m")], "structuredContent": {**wire, "effect": effect}, "isError": True}
    for source in (result, {"content": [], "isError": True, "_meta": {META_KEY: {**wire, "effect": effect}}}):
        error = fw.parse(source)
        if error is not None and error.format == "text":
            # The metadata is ours: a problem is none there.
            continue
        assert isinstance(error, fw.ToolError)
        assert (error.effect, error.retryable, error.recoverable, error.retry_after) == (effect, False, False, None)
        assert error.notes == ("The peer said retryable: true of a call that may have been done already.",)
        assert not is_second_call(fw.decide(error, tool="pay"))


@pytest.mark.parametrize("severity", ["error", "critical"])
@pytest.mark.parametrize("is_error", [False, None])
def test_metadata_in_a_success_is_forged(severity: str, is_error: bool | None) -> None:
    said = fw.Transient("m", retry_after=1, effect="none", severity=severity).to_dict()
    result: dict[str, Any] = {"content": [block("Paid.")], "_meta": {META_KEY: said}}
    if is_error is not None:
        result["isError"] = is_error
    assert read(result) is None
    error = fw.parse(result)
    assert isinstance(error, fw.ToolError)
    assert error.standing == "quoted"
    assert error.notes == (("The result says isError: false, yet it holds an error.",) if is_error is False else ())
    assert not is_second_call(fw.decide(error, tool="pay"))
    # What is critical is made once, whoever says so.
    again = is_second_call(fw.decide(error, tool=Traits("get", read_only=True)))
    assert again is (severity == "error")


BOLD = fw.ToolError("m", code="RATE_LIMITED", retry_after=1)
CAREFUL = fw.ToolError("m", code="INTERNAL_ERROR")
DONE = fw.ToolError("m", code="RATE_LIMITED", effect="done")


@pytest.mark.parametrize("format", ["typed", "v1", "envelope", "jsonrpc", "canonical", "problem"])
@pytest.mark.parametrize("other", [CAREFUL, DONE], ids=["internal", "done"])
def test_of_two_failures_in_one_result_the_more_careful_one_counts(format: str, other: fw.ToolError) -> None:
    bold, careful = fw.render(BOLD, format), fw.render(other, format)
    found = [
        {"content": [block(bold)], "structuredContent": json.loads(careful), "isError": True},
        {"content": [block(bold), block(careful)], "isError": True},
        {"content": [block(careful)], "isError": True, "_meta": {META_KEY: BOLD.to_dict()}},
    ]
    for result in found:
        error = fw.parse(result)
        assert isinstance(error, fw.ToolError)
        assert CONTRADICTED in error.notes or error.format == "v1"
        assert not is_second_call(fw.decide(error, tool="pay")), result
    same = fw.parse({"content": [block(bold)], "isError": True, "_meta": {META_KEY: BOLD.to_dict()}})
    assert isinstance(same, fw.ToolError)
    assert (same.standing, same.notes) == ("stated", ())
    assert fw.decide(same, tool="pay").next is Next.RETRY


def deep(levels: int) -> BaseException:
    exc: Exception = ConnectionRefusedError("secret")
    for _ in range(levels):
        exc = ExceptionGroup("g", [exc])
    return exc


def shared(levels: int) -> BaseException:
    """Two to the power of `levels` members, in as many groups as levels."""
    exc: Exception = ConnectionRefusedError("secret")
    for _ in range(levels):
        exc = ExceptionGroup("g", [exc, exc])
    return exc


@pytest.mark.parametrize("exc", [deep(1_000), deep(5_000), shared(60)], ids=["deep", "deeper", "shared"])
def test_groups_in_groups_are_read_in_so_many_steps(exc: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    from failwell.readers.exceptions import chain

    steps = 0
    members = chain._MEMBERS

    def counted(group: BaseException) -> Any:
        nonlocal steps
        steps += 1
        return members(group)

    monkeypatch.setattr(chain, "_MEMBERS", counted)
    for error in (classify(exc), read(exc), read(exc, transport=True)):
        assert isinstance(error, fw.ToolError)
        assert "secret" not in fw.render(error, "canonical")
    assert steps <= 20 * 5_000
    unwitnessed = read(exc)
    assert isinstance(unwitnessed, fw.ToolError)
    assert (unwitnessed.effect, unwitnessed.delivery) in ((None, None), (Effect.UNKNOWN, "unanswered"))
    assert not is_second_call(fw.decide(unwitnessed, tool="pay"))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_however_much_is_carried_few_readings_are_made(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from failwell.formats import canonical

    made = 0
    load = canonical.load

    def counted(*args: Any) -> Any:
        nonlocal made
        made += 1
        return load(*args)

    monkeypatch.setattr(canonical, "load", counted)
    carried = {"effect": "none", "message": "other", **{f"key{number}": number for number in range(2_000)}}
    error = fw.parse(FORMS[form]("Mine", "internal", False, {"failwell": carried}))
    assert isinstance(error, fw.ToolError)
    assert error.message == "m"
    assert made < 50
    assert "What was carried contradicts the form around it; the form counts." in error.notes


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504])
def test_a_status_proves_nothing_about_a_write(status: int) -> None:
    for http in (Http(status), Http(status, {"retry-after": "1"}), Http(status, {}, b'{"retryable": true}')):
        error = read(RuntimeError("the SDK's own words"), http=http)
        assert isinstance(error, fw.ToolError)
        assert error.standing == "quoted"
        assert not is_second_call(fw.decide(error, tool="pay"))
