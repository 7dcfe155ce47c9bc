"""What an agent should do next, and above all when it must not do the same again."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import failwell as fw
from failwell.model import Action, Effect, Kind, Next, Patch, Strategy
from failwell.model.tool import Traits
from recorded import cases

NOW = datetime(2026, 7, 28, 12, tzinfo=UTC)
READ_ONLY, IDEMPOTENT, WRITE = Traits("r", read_only=True), Traits("i", idempotent=True), Traits("w", False, False, True)  # fmt: skip
AGENT = {
    "RETRY": Next.RETRY,
    "FIX_INPUT": Next.FIX,
    "SKIP_TRY_ALTERNATIVES": Next.ALTERNATIVE,
    "NEGOTIATE": Next.NEGOTIATE,
    "WAIT_AND_RETRY": Next.RETRY,
    "ESCALATE": Next.ASK,
    "GIVE_UP": Next.GIVE_UP,
}


def received(text: str) -> fw.ToolError:
    error = fw.parse({"content": [{"type": "text", "text": text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    return error


@pytest.mark.checklist(40, 41, 42, 43, 44, 45, 46, 47)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "000.agent."))
def test_contract_000_tells_an_agent_what_to_do(vector: dict[str, Any]) -> None:
    error, wanted = received(vector["input"]["error_text"]), vector["output"]
    decision = fw.decide(error)
    assert decision.next is AGENT[wanted["action"]]
    assert error.legacy is wanted.get("legacy", False)
    if "delay" in wanted:
        assert decision.delay == (wanted["delay"] if wanted["delay"] != "default_backoff" else fw.Policy().base_delay)
    if wanted["action"] == "RETRY":
        assert fw.Policy().max_attempts == wanted["max_attempts"]
        assert fw.decide(error, history=[error] * wanted["max_attempts"]).next is Next.GIVE_UP
    if wanted["action"] == "FIX_INPUT":
        assert (decision.attempts_left, decision.log) == (wanted["max_attempts"], wanted["log"])
        assert fw.decide(error, history=[error]).next is Next.GIVE_UP
    assert list(decision.holders) == wanted.get("with", [])


@pytest.mark.checklist(41, 94)
@pytest.mark.parametrize(
    ("error", "tool"), [(fw.Transient("m"), READ_ONLY), (fw.Transient("m"), IDEMPOTENT), (fw.ToolError("m", code="RATE_LIMITED"), WRITE)]
)  # fmt: skip
def test_waits_grow_until_the_attempts_run_out(error: fw.ToolError, tool: Traits) -> None:
    made = [fw.decide(error, tool=tool, history=[error] * n) for n in range(4)]
    assert [(one.next, one.delay, one.attempts_left) for one in made] == [
        (Next.RETRY, 1.0, 2),
        (Next.RETRY, 2.0, 1),
        (Next.GIVE_UP, None, 0),
        (Next.GIVE_UP, None, 0),
    ]
    assert made[2].reason == "3 of 3 attempts failed."
    patient = fw.Policy(max_attempts=99, base_delay=2, max_delay=50)
    waits = [fw.decide(error, tool=tool, history=[error] * n, policy=patient).delay for n in (0, 3, 5, 60)]
    assert waits == [2, 16, 50, 50]


@pytest.mark.parametrize("tool", [None, "pay", "get_weather", WRITE])
@pytest.mark.parametrize("error", [fw.Transient("m"), fw.ToolError("m", code="TIMEOUT"), fw.ToolError("m", code="x_api_error")])  # fmt: skip
def test_who_states_a_code_that_passes_invites_the_same_call(error: fw.ToolError, tool: Any) -> None:
    decision = fw.decide(error, tool=tool)
    assert (decision.repeats, decision.delay) == (True, 1.0)


@pytest.mark.parametrize(("tool", "next"), [("pay", Next.ASK), (WRITE, Next.ASK), ("work", Next.RETRY), (None, Next.RETRY)])  # fmt: skip
def test_a_code_that_was_only_read_from_words_has_no_program_repeat_a_call(tool: Any, next: Next) -> None:
    decision = fw.decide(fw.ToolError("m", code="TIMEOUT", standing="quoted"), tool=tool)
    assert (decision.next, decision.repeats) == (next, False)
    assert decision.doubtful or decision.unproven


def v1(code: str, retryable: bool) -> fw.ToolError:
    return received(json.dumps({"kind": "toolError:v1", "code": code, "message": "m", "retryable": retryable}))


@pytest.mark.checklist(94)
@pytest.mark.parametrize(("code", "retryable"), [*((code.name, code.retryable) for code in fw.catalogs.V1), ("Mine", True), ("Mine", False), ("CONFLICT", False), ("RATE_LIMITED", True)])  # fmt: skip
def test_contract_001_repeats_only_what_is_retryable(code: str, retryable: bool) -> None:
    assert fw.decide(v1(code, retryable)).repeats is retryable
    assert fw.decide(v1(code, retryable), tool=READ_ONLY).repeats is retryable


def rpc(code: fw.Code, **data: Any) -> fw.ToolError:
    sent = {"code": code.number, "message": code.title, "data": {"mcp_error_code": code.name, "details": "m", **data}}
    error = fw.parse({"jsonrpc": "2.0", "id": 1, "error": sent})
    assert isinstance(error, fw.ToolError)
    return error


GROUPS = [
    pytest.param(numbers, next, marks=pytest.mark.checklist(line), id=next)
    for line, numbers, next in [
        (255, (-32006, -32007, -32010), Next.RETRY),
        (256, (-32002, -32030, -32031), Next.ASK),
        (257, (-32005, -32602), Next.FIX),
        (258, (-32012, -32020, -32021), Next.GIVE_UP),
    ]
]


@pytest.mark.parametrize(("numbers", "next"), GROUPS)
def test_contract_004_tells_clients_what_to_do_by_group(numbers: tuple[int, ...], next: Next) -> None:
    found = [code for code in fw.catalogs.JsonRpc if code.number in numbers]
    assert [fw.decide(rpc(code)).next for code in found] == [next] * len(numbers)


@pytest.mark.checklist(255)
@pytest.mark.parametrize("name", ["RATE_LIMITED", "TIMEOUT", "DEVICE_UNREACHABLE"])
def test_contract_004_waits_as_long_as_it_is_told_or_a_minute(name: str) -> None:
    code = fw.catalogs.JsonRpc[name]
    assert (fw.decide(rpc(code)).delay, fw.decide(rpc(code, retry_after=7)).delay) == (60, 7)


def test_a_number_alone_means_nothing_but_jsonrpcs_own_do() -> None:
    assert fw.decide(fw.parse({"code": -32006, "message": "RouterOS error"})).next is Next.GIVE_UP  # type: ignore[arg-type]
    assert fw.decide(fw.parse({"code": -32602, "message": "Invalid params"})).next is Next.FIX  # type: ignore[arg-type]


R, F, A, G, K = Next.RETRY, Next.FIX, Next.ASK, Next.GIVE_UP, Next.ALTERNATIVE
# The strategy passed: none, retry, fix, user action, abort.
ROWS = {
    "not_found": (K, R, K, A, G),
    "conflict": (R, R, R, A, G),
    "validation": (F, R, F, A, G),
    "permission": (A, R, F, A, G),
    "transient": (R, R, F, A, G),
    # Nothing says that what broke may be called twice, whatever the strategy hopes for.
    "internal": (G, A, F, A, G),
}


@pytest.mark.parametrize(
    ("kind", "strategy", "next"),
    [
        (kind, strategy, next)
        for kind, row in ROWS.items()
        for strategy, next in zip((None, *Strategy), row, strict=True)
    ],
)
def test_kind_and_strategy_decide_together(kind: str, strategy: str | None, next: Next) -> None:
    assert fw.decide(fw.ToolError("m", kind=kind, strategy=strategy)).next is next


def test_a_strategy_on_the_wire_beats_the_codes_own() -> None:
    timeout = fw.catalogs.JsonRpc.TIMEOUT
    assert fw.decide(rpc(timeout, recovery_strategy="report_and_abort")).next is Next.GIVE_UP
    assert fw.decide(rpc(timeout, recovery_strategy="user_action_required")).next is Next.ASK


def test_what_is_transient_but_not_worth_repeating_is_given_up() -> None:
    assert fw.decide(fw.ToolError("m", code="TLS_ERROR")).next is Next.GIVE_UP
    assert fw.decide(fw.Transient("m", recoverable=False)).next is Next.GIVE_UP


CODES = ("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", "FORBIDDEN", "TIMEOUT", "RATE_LIMITED", "TLS_ERROR", "INTERNAL_ERROR", "thread_partial_failure")  # fmt: skip
SAID = (
    *itertools.product((None, "peer"), (False,), (None, "stated", "quoted")),
    ("local", False, None),
    ("peer", True, None),
)
TRAITS = (Traits(), READ_ONLY, IDEMPOTENT, WRITE)
DELIVERIES = (None, "never_sent", "refused", "unanswered", "answered")


@pytest.mark.parametrize("code", [*CODES, None, "Mine"])
def test_a_call_that_may_have_had_an_effect_is_never_repeated(code: str | None) -> None:
    broken = []
    policies = {trusted: fw.Policy(trust_annotations=trusted) for trusted in (True, False)}
    for strategy, effect, (origin, legacy, standing), kind, recoverable, held in itertools.product(
        (None, *Strategy), (None, *Effect), SAID, (None, "transient", "internal"), (None, True), (None, ["a2"]),
    ):  # fmt: skip
        error = fw.ToolError(
            "m", code=code, kind=kind, strategy=strategy, effect=effect, origin=origin, legacy=legacy,
            standing=standing, recoverable=recoverable, conflicts=held,
        )  # fmt: skip
        for delivery, tool, trusted in itertools.product(DELIVERIES, TRAITS, (True, False)):
            decision = fw.decide(error, delivery=delivery, tool=tool, policy=policies[trusted])  # type: ignore[arg-type]
            nothing_ran = delivery in ("never_sent", "refused")
            harmless = trusted and (tool.read_only is True or tool.idempotent is True)
            stated = delivery != "unanswered" and standing != "quoted" and not legacy
            none = stated and error.effect is Effect.NONE
            invited = stated and origin != "local" and error.effect is None
            if decision.repeats and not (nothing_ran or harmless or none or (invited and error.retryable)):
                broken.append((error, delivery, tool, trusted))
            acts = decision.next in (Next.FIX, Next.NEGOTIATE) and not decision.unproven
            # What was done in part is resumed by another call, which asks for the rest.
            if acts and not (nothing_ran or harmless or none or invited or error.effect is Effect.PARTIAL):
                broken.append((error, delivery, tool, trusted))
    assert broken[:3] == []


@pytest.mark.parametrize(
    ("delivery", "tool", "next"),
    [
        ("never_sent", WRITE, Next.RETRY),
        ("unanswered", READ_ONLY, Next.RETRY),
        ("unanswered", IDEMPOTENT, Next.RETRY),
        ("unanswered", WRITE, Next.ASK),
        ("unanswered", None, Next.ASK),
        (None, WRITE, Next.ASK),
    ],
)
def test_a_lost_answer_is_retried_only_where_it_cannot_hurt(delivery: Any, tool: Any, next: Next) -> None:
    lost = fw.Transient("No answer came.", code="TIMEOUT", origin="local")
    assert fw.decide(lost, delivery=delivery, tool=tool).next is next


def test_annotations_of_a_server_that_is_not_trusted_are_no_proof() -> None:
    lost = fw.Transient("m", origin="local")
    assert fw.decide(lost, tool=READ_ONLY, policy=fw.Policy(trust_annotations=False)).repeats is False


def test_where_a_call_can_tell_the_agent_is_sent_there() -> None:
    error = fw.Transient("m", effect="unknown", verify={"tool": "get", "arguments": {"id": 1}}, actions=["list"])
    assert fw.decide(error) == fw.Decision(
        Next.VERIFY,
        "The server cannot tell whether the call took effect; get tells.",
        calls=(Action("get", arguments={"id": 1}),),
        doubtful=True,
    )
    assert fw.decide(error, tool=IDEMPOTENT).next is Next.RETRY


@pytest.mark.parametrize(
    ("fields", "next"),
    [({"verify": "get", "patch": [Patch("remove", ("a",))]}, Next.VERIFY), ({"patch": [Patch("remove", ("a",))]}, Next.FIX), ({"actions": ["resume"]}, Next.ALTERNATIVE), ({}, Next.ASK)],
)  # fmt: skip
def test_what_was_done_in_part_is_resumed_and_never_repeated(fields: dict[str, Any], next: Next) -> None:
    error = fw.ToolError("m", code="thread_partial_failure", **fields)
    assert {fw.decide(error, tool=tool).next for tool in (None, READ_ONLY, IDEMPOTENT)} == {next}


def test_what_was_done_is_not_done_again() -> None:
    error = fw.Transient("m", effect="done", verify="get")
    decision = fw.decide(error, tool=READ_ONLY, delivery="answered")
    assert (decision.next, decision.calls) == (Next.GIVE_UP, (Action("get"),))


def test_a_question_goes_to_the_user() -> None:
    wanted = fw.Decision(Next.ASK, "The call needs an answer from the user: Which one?")
    assert fw.decide(fw.NeedsInput("Which one?", fields=["id"])) == wanted


def test_an_advisory_stops_nothing() -> None:
    for kind in Kind:
        decision = fw.decide(fw.ToolError("m", kind=kind, severity="warning", actions=["new"]))
        assert decision == fw.Decision(Next.PROCEED, "It is an advisory: the call itself worked.", calls=(Action("new"),))  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "next", "delay"),
    [
        ({"retry_after": 300}, Next.RETRY, 300),
        ({"retry_after": 301}, Next.GIVE_UP, 301),
        ({"retry_after": 0.5}, Next.RETRY, 0.5),
        ({"reset_at": NOW + timedelta(seconds=90)}, Next.RETRY, 90),
        ({"reset_at": NOW - timedelta(seconds=90)}, Next.RETRY, 0),
        ({"reset_at": NOW + timedelta(hours=1)}, Next.GIVE_UP, 3600),
        ({"retry_after": 5, "reset_at": NOW + timedelta(hours=1)}, Next.RETRY, 5),
    ],
)
def test_a_wait_is_as_long_as_asked_but_not_longer_than_allowed(fields: Any, next: Next, delay: float) -> None:
    error = fw.Transient("m", code="RATE_LIMITED", **fields)
    decision = fw.decide(error, now=NOW)
    assert (decision.next, decision.delay) == (next, delay)
    assert fw.decide(error, now=NOW, policy=fw.Policy(max_delay=9999)).delay == delay


def test_a_clock_without_a_time_zone_is_read_as_utc() -> None:
    error = fw.Transient("m", code="RATE_LIMITED", reset_at=NOW + timedelta(seconds=90))
    assert fw.decide(error, now=NOW.replace(tzinfo=None)).delay == 90


def test_the_reason_is_one_sentence_with_the_wait_in_it() -> None:
    assert fw.decide(fw.Transient("m", code="RATE_LIMITED", retry_after=30)) == fw.Decision(
        Next.RETRY, "Rate Limited: the same call may work in 30 seconds.", delay=30, attempts_left=2
    )
    assert fw.decide(fw.Transient("m", retry_after=999)).reason == "It asks to wait 999 seconds, longer than the 300 allowed."  # fmt: skip
    assert fw.decide(fw.Denied("No.\n" * 500)).reason.count("\n") == 0
    assert len(fw.decide(fw.Denied("No.\n" * 500)).reason) < 250


@pytest.mark.checklist(42)
@pytest.mark.parametrize("kind", ["validation", "internal", "permission", "transient"])
def test_corrections_run_out(kind: str) -> None:
    patch = Patch("rename", ("limt",), to="limit")
    error = fw.ToolError("limt is unknown", kind=kind, strategy="fix_and_retry", patch=[patch], actions=["help"])
    first = fw.decide(error)
    assert (first.next, first.patch, first.calls, first.attempts_left) == (Next.FIX, (patch,), (Action("help"),), 1)
    assert first.log == "bad input: limt is unknown"
    assert [fw.decide(error, history=[error] * n).next for n in (1, 2, 9)] == [Next.GIVE_UP] * 3
    patient = fw.Policy(max_fixes=2)
    assert [fw.decide(error, history=[error] * n, policy=patient).next for n in (1, 2)] == [Next.FIX, Next.GIVE_UP]


@pytest.mark.checklist(44)
def test_each_holder_is_asked_once() -> None:
    error = fw.Conflict("m", conflicts=[{"held_by": "a2"}, {"agent_id": "a3"}, {"held_by": "a2"}, {"pattern": "x"}])
    assert fw.decide(error) == fw.Decision(Next.NEGOTIATE, "Ask a2, a3 to release it.", holders=("a2", "a3"))


@pytest.mark.checklist(43)
def test_what_is_missing_is_replaced_by_what_helps() -> None:
    assert fw.decide(fw.NotFound("m", actions=["list", "search"])) == fw.Decision(
        Next.ALTERNATIVE, "It does not exist; try list, search.", calls=(Action("list"), Action("search"))
    )


def test_an_unknown_delivery_is_refused() -> None:
    with pytest.raises(ValueError, match="un-answered"):
        fw.decide(fw.Transient("m"), delivery="un-answered")  # type: ignore[arg-type]


HINTS = {"readOnlyHint": False, "idempotentHint": True, "destructiveHint": False}


def test_traits_are_read_from_a_tool_as_it_is_listed() -> None:
    wanted = Traits("pay", read_only=False, idempotent=True, destructive=False)
    assert Traits.of({"name": "pay", "annotations": HINTS}) == wanted
    assert Traits.of(HINTS) == Traits(None, False, True, False)
    assert Traits.of({"name": "pay", "annotations": {}}) == Traits.of("pay") == Traits("pay")
    assert Traits.of({"name": 3, "annotations": {"readOnlyHint": "yes"}}) == Traits.of(None) == Traits()
    assert Traits.of(wanted) is wanted
    assert [traits.repeatable for traits in (*TRAITS, wanted)] == [False, True, True, False, True]


def test_traits_are_read_from_the_sdks_own_objects() -> None:
    types = pytest.importorskip("mcp_types")
    tool = types.Tool.model_validate({"name": "pay", "inputSchema": {"type": "object"}, "annotations": HINTS})
    assert Traits.of(tool) == Traits("pay", False, True, False)
    assert Traits.of(tool.annotations) == Traits(None, False, True, False)
    bare = types.Tool.model_validate({"name": "pay", "inputSchema": {"type": "object"}})
    assert Traits.of(bare) == Traits("pay")
    lost = fw.Transient("m", origin="local")
    assert [fw.decide(lost, tool=one).repeats for one in (tool, bare)] == [True, False]


def test_a_peer_that_says_no_is_believed_whatever_the_code_means() -> None:
    wire = '{"success":false,"data":null,"error":{"code":"db_error","message":"x","retryable":false}}'
    assert fw.decide(fw.parse(wire), tool={"name": "pay_invoice"}).next is Next.GIVE_UP


def test_a_status_alone_is_no_permission_to_repeat_a_call() -> None:
    wire = '{"type":"about:blank","title":"Internal Server Error","status":500}'
    assert not fw.decide(fw.parse(wire), tool={"name": "pay_invoice"}).repeats
    turned_away = '{"type":"about:blank","title":"Too Many Requests","status":429}'
    # A gateway says so too, after the upstream took the request.
    assert not fw.decide(fw.parse(turned_away), tool={"name": "pay_invoice"}).repeats
    assert fw.decide(fw.parse(turned_away), tool=READ_ONLY).repeats
    invited = '{"type":"about:blank","title":"Too Many Requests","status":429,"retryable":true}'
    # Any HTTP service speaks so of its own call; who means this one says the kind, as our own form does.
    assert not fw.decide(fw.parse(invited), tool={"name": "pay_invoice"}).repeats
    ours = invited.replace("}", ',"kind":"transient"}')
    assert fw.decide(fw.parse(ours), tool={"name": "pay_invoice"}).repeats


def test_a_conflict_that_waiting_does_not_solve_is_not_waited_for() -> None:
    class Shop(fw.Catalog):
        ALREADY_PAID = fw.Code("conflict", "The invoice has been paid already.")

    assert fw.decide(Shop.ALREADY_PAID("Invoice inv_1 was paid on 3 May.")).next is Next.ASK
    assert fw.decide(fw.Conflict("taken", fields={"email": "is taken"})).next is Next.FIX
    assert fw.decide(fw.Conflict("exists", actions=["get"])).next is Next.ALTERNATIVE


def test_who_names_a_way_to_find_out_does_not_know() -> None:
    error = fw.Transient("The bank did not answer.", verify="get_invoice")
    assert (error.effect, fw.decide(error, tool={"name": "pay"}).next) == (Effect.UNKNOWN, Next.VERIFY)


def test_corrections_run_out_where_it_does_not_matter_what_was_done() -> None:
    error = fw.ToolError("m", kind="permission", strategy="fix_and_retry", effect="unknown")
    made = [fw.decide(error, tool=IDEMPOTENT, history=[error] * n).next for n in range(3)]
    assert made == [Next.FIX, Next.GIVE_UP, Next.GIVE_UP]


def test_a_flag_that_only_follows_from_the_effect_does_not_stop_a_tool_that_may_be_called_twice() -> None:
    error = fw.parse(fw.to_result(fw.Transient("m", code="TIMEOUT", effect="unknown"), "v1"))
    assert isinstance(error, fw.ToolError)
    told = Traits("t").known(reads=["t"])
    assert [fw.decide(error, tool=tool).next for tool in (READ_ONLY, told, IDEMPOTENT, WRITE)] == [
        Next.RETRY,
        Next.RETRY,
        Next.RETRY,
        Next.ASK,
    ]


@pytest.mark.parametrize("effect", ["partial", "done"])
def test_a_server_that_says_that_a_read_has_done_something_is_believed(effect: str) -> None:
    error = fw.parse(fw.to_result(fw.Transient("m", code="TIMEOUT", effect=effect), "v1"))
    assert isinstance(error, fw.ToolError)
    assert fw.decide(error, tool=READ_ONLY).doubtful


@pytest.mark.parametrize(
    ("error", "next"),
    [
        (fw.Invalid("m"), Next.FIX),
        (fw.Denied("m"), Next.ASK),
        (fw.Conflict("m", conflicts=["a2"]), Next.NEGOTIATE),
        (fw.NotFound("m"), Next.ALTERNATIVE),
        (fw.Internal("m"), Next.GIVE_UP),
    ],
)
def test_a_refusal_that_was_only_quoted_is_for_those_who_read_the_words(error: fw.ToolError, next: Next) -> None:
    said = {
        standing: fw.decide(error.replace(standing=standing), tool=WRITE) for standing in (None, "stated", "quoted")
    }
    assert {standing: (one.next, one.unproven, one.doubtful) for standing, one in said.items()} == {
        None: (next, False, False),
        "stated": (next, False, False),
        "quoted": (next, True, False),
    }
    refused = fw.decide(error.replace(standing="quoted"), tool=WRITE, delivery="refused")
    assert refused == said["stated"]
    assert fw.decide(error.replace(standing="quoted"), tool=READ_ONLY).unproven is False


def test_a_strategy_that_somebody_insists_on_is_an_invitation() -> None:
    for strategy, next in (("retry_with_backoff", Next.RETRY), ("fix_and_retry", Next.FIX)):
        # NETWORK_ERROR of the kind internal would be given up by itself.
        error = fw.ToolError("m", code="NETWORK_ERROR", kind="internal", strategy=strategy)
        made = [
            fw.decide(one, tool="pay")
            for one in (error, error.replace(standing="stated"), error.replace(standing="quoted"), error.replace(origin="local"), error.replace(legacy=True))
        ]  # fmt: skip
        assert [one.next is next and not one.unproven for one in made] == [True, True, False, False, False]


def named(*tools: str, **more: Any) -> fw.ToolError:
    """What a server states under a code that no catalogue knows, with other calls beside it."""
    error = fw.ToolError("No.", code="ProjectNotFound", actions=list(tools), origin="peer", format="xml", **more)
    return error.replace(standing="stated")


@pytest.mark.parametrize(
    ("error", "tool", "next_", "calls"),
    [
        (named("projects.list"), "projects.get", "alternative", ["projects.list"]),
        (
            named("projects.list"),
            {"name": "pay", "annotations": {"readOnlyHint": False}},
            "alternative",
            ["projects.list"],
        ),
        # The call itself is no way out, unless it may be made again anyway.
        (named("pay", "projects.list"), "pay", "alternative", ["projects.list"]),
        (named("pay"), "pay", "give_up", []),
        (named("get"), {"name": "get", "annotations": {"readOnlyHint": True}}, "alternative", ["get"]),
        # Whether it was done is what has to be found out first.
        (named("projects.list", effect="unknown"), "pay", "ask", []),
        # A code that is known means what its catalogue says.
        (fw.Internal("No.", actions=["status"]), "pay", "give_up", ["status"]),
    ],
)
def test_a_code_that_nobody_knows_leads_to_the_calls_it_names(
    error: fw.ToolError, tool: object, next_: str, calls: list[str]
) -> None:
    decision = fw.decide(error, tool=tool)
    assert (decision.next, [call.tool for call in decision.calls]) == (next_, calls)
    assert not decision.repeats


@pytest.mark.checklist(40, 42, 47)
@pytest.mark.parametrize(
    ("error", "log"),
    [
        (fw.Invalid("m"), "bad input: m"),
        (fw.Internal("m"), "internal error: m"),
        (fw.parse({"content": [{"type": "text", "text": "m"}], "isError": True}), "unstructured error: m"),
        (fw.NotFound("m"), ""),
        (fw.Transient("m"), ""),
    ],
)
def test_what_contract_000_has_an_agent_log(error: fw.ToolError, log: str) -> None:
    assert fw.decide(error, tool={"name": "get", "annotations": {"readOnlyHint": True}}).log == log
